"""Affinities and coordinates by their literal definitions; similarities that are refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.methods.partitions.means import affinity
from models.methods.partitions.means.affinity import (
    NeighbourSearch,
    check_similarity,
    gaussian,
    through,
    through_gaussian,
)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affinity, "TILE", 64)


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_gaussian_affinities_are_symmetric_to_the_last_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(affinity, "TILE", 1 << 17)
    features = drawn(0, 1100, 3)
    values = gaussian(features, 0.7)
    literal = np.exp(-0.7 * ((features[:, None] - features[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(values, literal, rtol=1e-9)
    assert (values == values.T).all()


def test_coordinates_are_weighted_means() -> None:
    fitted, vectors, new = drawn(1, 20, 2), drawn(2, 20, 4), drawn(3, 7, 2)
    squared = ((new[:, None] - fitted[None]) ** 2).sum(axis=2)
    weight = np.exp(-0.5 * squared)
    literal = weight @ vectors / weight.sum(axis=1, keepdims=True)
    assert through_gaussian(new, fitted, vectors, 0.5) == pytest.approx(literal)
    for form in (weight, sp.csr_array(weight)):
        assert through(form, vectors) == pytest.approx(literal)
    nearest = np.argsort(squared, axis=1)[:, :3]
    coordinates = through(NeighbourSearch(fitted, 3).graph(new), vectors)
    assert coordinates == pytest.approx(vectors[nearest].mean(axis=1))


def test_far_from_every_point_the_nearest_one_counts() -> None:
    fitted, vectors = drawn(4, 10, 2), drawn(5, 10, 3)
    new = np.array([[1e4, 0.0]])
    coordinates = through_gaussian(new, fitted, vectors, 10.0)
    assert coordinates[0] == pytest.approx(vectors[fitted[:, 0].argmax()])


def test_the_scale_is_the_mean_distance_to_neighbours() -> None:
    features = np.array([[0.0], [1.0], [3.0]])
    assert NeighbourSearch(features, 2).scale(features) == pytest.approx((1 + 1 + 2) / 3)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("row", "column", "value", "code", "part"),
    [
        (11, 2, -1.0, "not-similarities", "must not be negative"),
        (11, 2, np.nan, "not-finite", "NaN at row 11, column 2"),
        (11, 2, 0.5, "not-similarities", "the matrix must be symmetric"),
    ],
)
def test_a_bad_similarity_is_named(
    row: int, column: int, value: float, code: str, part: str, sparse: bool
) -> None:
    values = np.ones((20, 20))
    values[row, column] = value
    form = sp.csr_array(values) if sparse else values
    with pytest.raises(UsageError) as caught:
        check_similarity(form, advice="")
    assert caught.value.code == code
    assert part in caught.value.detail
    assert {caught.value.where["row"], caught.value.where["column"]} == {row, column}


def test_a_row_that_is_similar_to_nothing_is_named() -> None:
    values = np.ones((20, 20))
    values[13] = 0.0
    for form in (values, sp.csr_array(values)):
        with pytest.raises(UsageError, match="Row 13 of input 'similarity'"):
            through(form, drawn(6, 20, 2))
