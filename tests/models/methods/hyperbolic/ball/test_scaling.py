"""Scaling of features into the ball, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.methods.hyperbolic.ball import points
from models.methods.hyperbolic.ball.parameters import ScalingKind
from models.methods.hyperbolic.ball.points import from_model, measure_scaling
from models.running.progress import silent

VALUES = np.random.default_rng(0).normal(size=(50, 4)) * 30 + 5


def test_unit_keeps_directions_from_the_mean() -> None:
    scaled = measure_scaling(ArrayRows(VALUES), "unit", 0.9, silent).apply(VALUES)
    moved = VALUES - VALUES.mean(axis=0)
    assert scaled == pytest.approx(
        0.9 * moved / np.linalg.norm(moved, axis=1, keepdims=True), abs=1e-6
    )
    assert scaled.dtype == np.float32


def test_largest_keeps_ratios_of_distances() -> None:
    scaled = measure_scaling(ArrayRows(VALUES), "largest", 0.9, silent).apply(VALUES)
    moved = VALUES - VALUES.mean(axis=0)
    assert scaled == pytest.approx(0.9 * moved / np.linalg.norm(moved, axis=1).max(), abs=1e-6)
    assert np.linalg.norm(scaled, axis=1).max() == pytest.approx(0.9)


def test_none_takes_points_of_the_ball_as_they_are() -> None:
    inside = VALUES / 1000
    measured = measure_scaling(ArrayRows(inside), "none", 0.9, silent)
    assert measured.apply(inside) == pytest.approx(inside, abs=1e-7)
    inside[17] *= 100
    with pytest.raises(UsageError, match=r"norm .*, row 17: with 'scaling': 'none'") as caught:
        measure_scaling(ArrayRows(inside), "none", 0.9, silent)
    assert caught.value.code == "outside-the-ball"
    assert caught.value.where == {"role": "features", "row": 17}


@pytest.mark.parametrize("kind", ["unit", "largest"])
def test_a_point_at_the_mean_lies_at_the_centre(kind: ScalingKind) -> None:
    values = np.array([[0.1, 0.7], [0.3, 0.7], [0.2, 0.7], [0.2, 0.7]])
    scaled = measure_scaling(ArrayRows(values), kind, 0.9, silent).apply(values)
    assert scaled == pytest.approx(np.array([[-0.9, 0], [0.9, 0], [0, 0], [0, 0]]), abs=1e-7)
    alike = np.full((7, 3), 0.1)
    assert (measure_scaling(ArrayRows(alike), "unit", 0.9, silent).apply(alike) == 0).all()


def test_blocks_and_kinds_of_numbers_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    integers = np.random.default_rng(0).integers(-9, 9, size=(40, 3))
    whole = measure_scaling(ArrayRows(integers.astype(np.float64)), "largest", 0.5, silent)
    monkeypatch.setattr(points, "_BLOCK", 10)
    for values in (integers, integers.astype(np.float32), np.asfortranarray(integers)):
        measured = measure_scaling(ArrayRows(values), "largest", 0.5, silent)
        assert measured.mean == pytest.approx(whole.mean)
        assert measured.factor == pytest.approx(whole.factor)


def test_it_is_kept_as_arrays_and_facts() -> None:
    measured = measure_scaling(ArrayRows(VALUES), "largest", 0.9, silent)
    restored = from_model(measured.arrays(), measured.facts())
    assert (restored.apply(VALUES) == measured.apply(VALUES)).all()


@pytest.mark.parametrize(
    ("value", "code"), [(np.nan, "not-finite"), (np.inf, "not-finite"), (1e200, "too-large")]
)
def test_what_cannot_be_scaled_is_refused(value: float, code: str) -> None:
    values = VALUES.copy()
    values[33, 2] = value
    for kind in ("unit", "largest", "none"):
        with pytest.raises(UsageError) as caught:
            measure_scaling(ArrayRows(values), kind, 0.9, silent)
        assert caught.value.code == (code if kind != "none" else caught.value.code)


@pytest.mark.parametrize("kind", ["unit", "largest"])
@pytest.mark.parametrize("factor", [1e7, 1e12, 1e100])
def test_a_row_far_from_all_others_leaves_them_where_they_are(
    kind: ScalingKind, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "_BLOCK", 7 * 4)
    values = VALUES.copy()
    values[33] *= factor
    others = np.arange(50) != 33
    measured = measure_scaling(ArrayRows(values), kind, 0.9, silent)
    expected = measure_scaling(ArrayRows(VALUES[others]), kind, 0.9, silent)
    assert (measured.far_rows, expected.far_rows) == ((33,), ())
    scaled = measured.apply(values)
    assert scaled[others] == pytest.approx(expected.apply(VALUES[others]), abs=1e-6)
    direction = VALUES[33] / np.linalg.norm(VALUES[33])
    assert scaled[33] == pytest.approx(0.9 * direction, abs=1e-4)


@pytest.mark.parametrize("kind", ["unit", "largest"])
def test_rows_that_are_many_or_not_so_far_count_in_the_mean(kind: ScalingKind) -> None:
    for n_far, factor in ((1, 1e3), (25, 1e12)):
        values = VALUES.copy()
        values[:n_far] *= factor
        measured = measure_scaling(ArrayRows(values), kind, 0.9, silent)
        assert measured.far_rows == ()
        assert measured.mean == pytest.approx(values.mean(axis=0), rel=1e-12)
