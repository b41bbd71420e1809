"""Compiled k-means beside its literal definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.clusters import loops

NO_SQUARES, NO_SUMS = np.empty((0, 0)), np.empty(0)
KINDS = ("float32", "float64")


def cloud(seed: int, n_points: int = 200, n_columns: int = 3, kind: str = "float64") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_points, n_columns)).astype(kind)


def n_draws(k: int) -> int:
    return 1 + (k - 1) * (2 + int(np.log(k)))


def seeds(points: np.ndarray, k: int, seed: int = 0) -> np.ndarray:
    return loops.seeds(points, np.random.default_rng(seed).random(n_draws(k)), k)


def settled(
    points: np.ndarray, centre: np.ndarray, max_iter: int = 300, tol: float = 0.0
) -> tuple[np.ndarray, ...]:
    """The centres at the end, and what `loops.settle` returns."""
    moved = centre.astype(np.float64)
    return moved, *loops.settle(points, moved, max_iter, tol, loops.variance(points))


def assigned(points: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, ...]:
    k, cluster = len(centre), np.full(len(points), -1)
    size, distance, inertia = np.zeros(k, np.int64), np.zeros(k), np.zeros(k)
    loops.assign(points, centre, cluster, NO_SQUARES, NO_SQUARES, size, distance, inertia)
    return cluster, size, distance, inertia


def squares(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    wide = points.astype(np.float64)
    return ((wide[:, None] - centre.astype(np.float64)) ** 2).sum(axis=2)


def literal_seeds(points: np.ndarray, draws: np.ndarray, k: int) -> np.ndarray:
    wide = points.astype(np.float64)
    chosen = [int(draws[0] * len(wide))]
    for trials in draws[1:].reshape(k - 1, 2 + int(np.log(k))):
        weight = squares(wide, wide[chosen]).min(axis=1)
        reached = np.cumsum(weight)
        candidates = np.searchsorted(reached, trials * reached[-1], side="right")
        left = [squares(wide, wide[[*chosen, c]]).min(axis=1).sum() for c in candidates]
        chosen.append(int(candidates[int(np.argmin(left))]))
    return wide[chosen]


def literal_lloyd(points: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cluster = np.full(len(points), -1)
    while True:
        near = squares(points, centre).argmin(axis=1)
        if (near == cluster).all():
            return centre, cluster
        cluster = near
        centre = np.array(
            [points[cluster == c].mean(axis=0, dtype="f8") for c in range(len(centre))]
        )


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12))
def test_seeds_are_those_of_the_definition(kind: str, seed: int, k: int) -> None:
    points = cloud(seed, 60, 3, kind)
    draws = np.random.default_rng(seed).random(n_draws(k))
    assert (loops.seeds(points, draws, k) == literal_seeds(points, draws, k)).all()


@given(seed=st.integers(0, 10**6), k=st.integers(1, 9))
def test_seeds_are_distinct_while_points_are(seed: int, k: int) -> None:
    points = np.random.default_rng(seed).integers(0, 3, size=(80, 2)).astype(float)
    n_distinct = len(np.unique(points, axis=0))
    assert len(np.unique(seeds(points, k, seed), axis=0)) == min(k, n_distinct)


@pytest.mark.parametrize("draw", [0.0, np.nextafter(1.0, 0.0)])
def test_seeds_of_the_first_and_the_last_draw(draw: float) -> None:
    points = np.repeat([[0.1], [5.0], [5.3], [0.1]], [3, 1, 1, 3], axis=0)
    found = loops.seeds(points, np.full(n_draws(3), draw), 3)
    assert sorted(found.ravel().tolist()) == [0.1, 5.0, 5.3]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([1, 2, 3, 6, 7, 35]))
def test_iterations_end_where_those_of_the_definition_do(kind: str, seed: int, k: int) -> None:
    points = cloud(seed, 150, 3, kind)
    start = seeds(points, k, seed)
    centre, cluster, size, _, _, ended = settled(points, start)
    known, own = literal_lloyd(points, start)
    assert ended
    assert (cluster == own).all()
    assert (size == np.bincount(own, minlength=k)).all()
    assert centre == pytest.approx(known, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("max_iter", "tol"), [(300, 0.0), (300, 0.05), (2, 0.0)])
@pytest.mark.parametrize("k", [2, 3, 8, 41])
def test_sums_are_those_of_the_centres_at_the_end(
    kind: str, max_iter: int, tol: float, k: int
) -> None:
    points = cloud(k, 500, 5, kind)
    centre, cluster, size, distance, inertia, ended = settled(
        points, seeds(points, k), max_iter, tol
    )
    assert ended == (max_iter > 2)
    apart = squares(points, centre)
    assert (cluster == apart.argmin(axis=1)).all()
    nearest = apart.min(axis=1)
    assert size.tolist() == np.bincount(cluster, minlength=k).tolist()
    assert inertia == pytest.approx(np.bincount(cluster, nearest, k), rel=1e-12)
    assert distance == pytest.approx(np.bincount(cluster, np.sqrt(nearest), k), rel=1e-12)
    # The same numbers as for new points.
    again = assigned(points, centre)
    for one, other in zip(again, (cluster, size, distance, inertia), strict=True):
        assert (one == other).all()


def test_a_run_ends_at_the_first_move_within_the_tolerance() -> None:
    points = cloud(5, 400, 4)
    start, variance = seeds(points, 6), points.var(axis=0).mean()
    steps = []
    before = start
    for n_iter in range(1, 12):
        after, *_ = settled(points, start, n_iter)
        steps.append(((after - before) ** 2).sum())
        before = after
    for n_iter in (3, 6, 9):
        tol = steps[n_iter - 1] / variance * (1 + 1e-9)
        first = next(at for at, step in enumerate(steps, 1) if step <= tol * variance)
        centre, *_, ended = settled(points, start, 300, tol)
        assert ended
        assert (centre == settled(points, start, first)[0]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_ties_go_to_the_first_centre(kind: str) -> None:
    points = np.array([[0.0, 0], [1, 0], [2, 0], [1, 5]], dtype=kind)
    centre = np.array([[2.0, 0], [0, 0], [2, 0], [0, 0], [1, 1]])
    for k in (2, 3, 4):
        assert assigned(points, centre[:k])[0].tolist() == [1, 0, 0, 0]
    assert assigned(points, np.tile(centre[:4], (15, 1)))[0].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_cluster_gets_the_farthest_point(kind: str) -> None:
    far = 2.0**60
    points = np.array([[0], [1], [2], [3], [50], [far]], dtype=kind)
    centre = np.array([[1.5], [1.5], [51.0], [1.5]])
    once, *_ = settled(points, centre, 1)
    # The second cluster gets the farthest, and the rest of its cluster is not left with the
    # rounding of a sum that it was in; the fourth gets the next, the first of those as far.
    assert once.ravel().tolist() == [2.0, far, 50.0, 0.0]
    moved, _, size, *_, ended = settled(points, centre)
    assert ended
    assert (size > 0).all()
    assert moved == pytest.approx(literal_lloyd(points, once)[0], rel=1e-12)


@given(seed=st.integers(0, 10**6), most=st.integers(1, 9))
def test_places_are_the_distinct_points(seed: int, most: int) -> None:
    points = np.random.default_rng(seed).integers(-1, 2, size=(12, 2)) * -0.5
    cluster, first = np.full(12, -1), np.full(most, -1)
    n_places = loops.places(points, most, cluster, first)
    known = len(np.unique(points + 0.0, axis=0))
    assert n_places == min(known, most + 1)
    if known <= most:
        assert (points[first[cluster]] == points).all()
        assert first[:known].tolist() == sorted(first[:known])
        assert (first[cluster] <= np.arange(12)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_variance_is_the_mean_over_the_columns(kind: str) -> None:
    points = (cloud(0, 300, 4) + np.array([0, 1e6, -1e3, 0])).astype(kind)
    known = points.astype(np.float64).var(axis=0).mean()
    assert loops.variance(points) == pytest.approx(known, rel=1e-9)
    far = np.concatenate([[[1e9] * 4], points.astype(np.float64)])
    for order in (1, -1):
        assert loops.variance(far[::order].copy()) == pytest.approx(far.var(axis=0).mean())
    assert loops.variance(np.full((5, 2), 0.1)) == 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 9])
def test_inertia_is_on_average_as_scikit_learns(kind: str, k: int) -> None:
    from sklearn.cluster import KMeans

    points = cloud(0, 600, 4, kind)
    points[:200] += 2.0
    tol = 1e-4
    ours = [settled(points, seeds(points, k, seed), 300, tol)[4].sum() for seed in range(40)]
    known = [
        KMeans(k, n_init=1, tol=tol, random_state=seed).fit(points).inertia_ for seed in range(40)
    ]
    assert np.mean(ours) <= 1.01 * np.mean(known)
