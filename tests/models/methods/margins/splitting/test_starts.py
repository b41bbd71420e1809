"""The starts of a split and the swaps: clusters within the bounds on sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.margins.splitting.alternating import Problem, Terms
from models.methods.margins.splitting.objective import Ancestors, Kind, Regularizer
from models.methods.margins.splitting.split import (
    N_LEADING,
    N_SCREENED,
    STARTS,
    Start,
    _leading_axes,
    started,
    swapped,
)


def problem(rows: np.ndarray, k: int = 3, kind: Kind = "group") -> Problem:
    terms = Terms(k, Regularizer(kind, 0.1, 1.0), 0.9, 1.1, True, 500, 1e-6)
    return Problem.of(rows, terms, Ancestors.root(rows.shape[1]))


def points(n: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    return rng.normal(size=(n, 4)) + 2.0 * np.eye(4)[rng.integers(4, size=n)]


def assert_within_bounds(case: Problem, cluster: np.ndarray) -> None:
    size = np.bincount(cluster, minlength=case.terms.n_clusters)
    assert case.low <= size.min() <= size.max() <= case.high


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("n", [6, 200, 5000])
def test_starts_are_within_the_bounds(start: Start, n: int) -> None:
    case = problem(points(n))
    clusterings = started(case, start, np.random.default_rng(1))
    assert len(clusterings) == (N_SCREENED if start in ("features", "gaps") else 1)
    for cluster in clusterings:
        assert_within_bounds(case, cluster)
    same = started(case, start, np.random.default_rng(1))
    np.testing.assert_array_equal(clusterings, same)


def test_equal_points_have_no_start_by_means_spectra_or_features() -> None:
    case = problem(np.ones((20, 3)))
    starts: tuple[Start, ...] = ("k-means", "spectral", "features", "gaps")
    for start in starts:
        assert not started(case, start, np.random.default_rng(0)), start


def test_features_are_ordered_by_their_gaps() -> None:
    """Columns of ten points: no gap near the middle, a narrow one, a wide one, no spread at all."""
    half = np.repeat([0.0, 1.0], 5)
    noise = np.linspace(-0.1, 0.1, 10)
    rows = np.column_stack([noise, noise + 0.5 * half, noise[::-1] + 3.0 * half, np.ones(10)])
    clusterings = started(problem(rows, k=2), "features", np.random.default_rng(0))
    assert len(clusterings) == 3
    for cluster in clusterings[:2]:
        assert cluster.tolist() == half.astype(int).tolist()
    assert started(problem(rows, k=2, kind="l2"), "features", np.random.default_rng(0)) == []


def test_a_gap_in_no_feature_is_seen_along_a_direction() -> None:
    """Two long bars beside each other, turned by 30 degrees."""
    rng = np.random.default_rng(0)
    bars = np.column_stack([rng.uniform(-4, 4, 60), np.repeat([-1.5, 1.5], 30)])
    angle = np.pi / 6
    rows = bars @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    (first, *_) = started(problem(rows, k=2), "gaps", rng)
    assert len(set(zip(first, bars[:, 1], strict=True))) == 2


@pytest.mark.parametrize("scale", [1.0, 1e59])
def test_random_directions_prefer_none_of_the_leading_components(scale: float) -> None:
    """Rows that spread 50 to 30 along 20 turned axes and 1 along 20 more."""
    rng = np.random.default_rng(5)
    spread = np.append(np.linspace(50, 30, N_LEADING), np.ones(20))
    turn, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    rows = scale * (rng.normal(size=(400, 40)) * spread) @ turn.T
    axes = _leading_axes(problem(rows), 4000, rng)
    share = ((axes @ turn) ** 2).mean(axis=0)
    np.testing.assert_allclose(share[:N_LEADING], 1.0, atol=0.15)
    assert share[N_LEADING:].max() < 0.01


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(5, 60))
def test_swaps_move_about_their_share_and_keep_the_sizes(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    case = problem(rng.normal(size=(n, 2)), k)
    (cluster,) = started(case, "random", rng)
    moved = swapped(case, cluster, 0.3, rng)
    np.testing.assert_array_equal(np.bincount(moved), np.bincount(cluster))
    assert (moved != cluster).mean() <= 0.3 * k / (k - 1) + 1 / n


def test_swaps_move_their_share_on_average() -> None:
    rng = np.random.default_rng(0)
    case = problem(rng.normal(size=(3000, 2)), 3)
    (cluster,) = started(case, "random", rng)
    assert (swapped(case, cluster, 0.3, rng) != cluster).mean() == pytest.approx(0.3, abs=0.02)


def test_swaps_bring_the_rows_of_a_sample_within_the_bounds() -> None:
    case = problem(points(30))
    assert_within_bounds(
        case, swapped(case, np.zeros(30, dtype=np.int64), 0.3, np.random.default_rng(0))
    )
