"""Rows as the networks take them, and back as pixels."""

from __future__ import annotations

import json

import numpy as np
import pytest

from models.errors import UsageError
from models.methods.deep.variational.placing import Scaling


def scaled(rows: np.ndarray, scaling: Scaling) -> np.ndarray:
    whole = np.concatenate([values for _, values in scaling.blocks(rows, 3)])
    np.testing.assert_allclose(scaling.singles(rows, np.arange(len(rows))), whole, rtol=1e-6)
    return whole


def of(rows: np.ndarray, images: bool = False, **options: str) -> Scaling:
    likelihood = options.get("likelihood")
    return Scaling.of(rows, np.arange(len(rows)), likelihood, images)  # type: ignore[arg-type]


def test_gaussian_rows_get_mean_0_and_mean_variance_1() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 4)) * [1, 2, 3, 4] + 7.0
    scaling = of(rows)
    values = scaled(rows, scaling)
    assert scaling.likelihood == "gaussian"
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-12)
    assert values.var(axis=0).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(values.std(axis=0) / rows.std(axis=0), 1.0 / scaling.scale.factor)


def test_values_from_0_to_1_stay_as_they_are() -> None:
    rows = np.random.default_rng(0).random((20, 4))
    scaling = of(rows)
    assert scaling.likelihood == "bernoulli"
    np.testing.assert_array_equal(scaled(rows, scaling), rows)
    assert of(rows, likelihood="gaussian").likelihood == "gaussian"
    bits = rows > 0.5
    np.testing.assert_array_equal(scaled(bits, of(bits)), bits.astype(float))


@pytest.mark.parametrize("offset", [0.0, 2.0**-10, 0.5])
def test_small_values_are_no_probabilities(offset: float) -> None:
    rows = np.random.default_rng(0).random((20, 4))
    small = of(rows * 2.0**-23 + offset)
    assert small.likelihood == "gaussian"
    expected = scaled(rows, of(rows, likelihood="gaussian"))
    np.testing.assert_allclose(scaled(rows * 2.0**-23 + offset, small), expected, atol=1e-8)
    assert of(rows * 2.0**-23, likelihood="bernoulli").likelihood == "bernoulli"
    assert of(rows / 32).likelihood == "bernoulli"


def test_images_are_divided_by_their_largest_value() -> None:
    levels = np.random.default_rng(0).integers(0, 256, (20, 4)).astype(np.uint8)
    levels[0, 0] = 255
    scaling = of(levels, images=True)
    assert scaling.likelihood == "bernoulli"
    np.testing.assert_allclose(scaled(levels, scaling), levels / 255.0)
    np.testing.assert_array_equal(scaling.pixels(levels / 255.0), levels)
    assert of(levels).likelihood == "gaussian", "vectors are not images"
    dark = np.full((2, 3), 0.25)
    np.testing.assert_array_equal(scaled(dark, of(dark, images=True)), dark)
    assert (of(dark, images=True).pixels(dark) == 64).all()


def test_signed_images_are_drawn_between_their_least_and_largest_value() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 4))
    scaling = of(rows, images=True)
    pixels = scaling.pixels(scaled(rows, scaling))
    span = (rows - rows.min()) / (rows.max() - rows.min())
    np.testing.assert_array_equal(pixels, np.rint(255 * span))
    assert (scaling.pixels(np.full(4, 1e9)) == 255).all()


def test_it_is_the_same_from_a_model() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 4))
    scaling = of(rows)
    facts = json.loads(json.dumps(scaling.facts()))
    again = Scaling.from_model({"centre": scaling.scale.mean}, facts)
    np.testing.assert_array_equal(scaled(rows, again), scaled(rows, scaling))
    assert again.facts() == scaling.facts()


def test_values_that_are_no_probabilities_or_not_finite_are_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(UsageError, match="needs values from 0 to 1"):
        of(rows, likelihood="bernoulli")
    scaling = of(rows)
    rows[5, 2] = np.nan
    with pytest.raises(UsageError, match="row 5, column 2"):
        list(scaling.blocks(rows, 3))
