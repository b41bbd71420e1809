"""The gap statistic: its rule, its reference, the number it finds on generated data."""

from __future__ import annotations

import numpy as np
import pytest

from models.clusters.choosing import GapReference, by_gap, first_within
from models.running.progress import silent


@pytest.mark.parametrize(
    ("gap", "error", "at", "is_met"),
    [
        ([1.0, 0.5, 2.0], [0.1, 0.1, 0.1], 0, True),
        ([1.0, 1.05, 2.0], [0.0, 0.1, 0.1], 0, True),
        ([1.0, 1.2, 1.1], [0.0, 0.1, 0.1], 1, True),
        ([1.0, 2.0, 3.0], [0.9, 0.1, 0.1], 2, False),
        ([1.0], [0.1], 0, False),
    ],
)
def test_the_rule_takes_the_first_within_one_error_of_the_next(
    gap: list[float], error: list[float], at: int, is_met: bool
) -> None:
    assert first_within(np.array(gap), np.array(error)) == (at, is_met)


def test_the_reference_fills_the_box_along_the_principal_components() -> None:
    rng = np.random.default_rng(0)
    turn = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]) / np.sqrt(2)
    scores = rng.uniform(size=(4000, 2)) * [10.0, 2.0]
    reference = GapReference(scores @ turn)
    drawn = reference.draw(np.random.default_rng(1))
    # The third column varies nowhere, so no reference point does either.
    assert drawn.shape == (4000, 2)
    widths = drawn.max(axis=0) - drawn.min(axis=0)
    assert sorted(widths) == pytest.approx([2.0, 10.0], rel=0.05)


def test_value_and_error_are_those_of_the_logarithms() -> None:
    features = np.random.default_rng(2).normal(size=(20, 2))
    seen: list[np.ndarray] = []

    def dispersion(points: np.ndarray, n_clusters: int) -> float:
        if n_clusters == 1:
            seen.append(points)
        return float(((points - points.mean(axis=0)) ** 2).sum() / n_clusters)

    choice = by_gap(features, (1, 2), (3.0, 2.0), dispersion, 7, np.random.default_rng(3), silent)
    logs = np.array([[np.log(dispersion(points, k)) for k in (1, 2)] for points in seen[:7]])
    assert choice.value == pytest.approx(logs.mean(axis=0) - np.log([3.0, 2.0]))
    assert choice.error == pytest.approx(logs.std(axis=0) * np.sqrt(1 + 1 / 7))
