"""Bounds that hold and searches that are exact, against all pairs of points."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models.methods.features.boxes import state
from models.methods.features.boxes.loops import layout, search
from models.methods.features.boxes.loops.layout import FOLLOW, HOME, LEFT, OWNER, RIGHT, ROOT, Grown
from models.methods.features.boxes.loops.rotation import Rule
from models.methods.features.boxes.loops.search import ALL

PLAIN = Rule(1 << 40, 64, 1 << 40, 0, 0, 1.0)


def grown(points: np.ndarray, max_leaves: int = 1 << 40) -> Grown:
    t = state.empty(points, max_leaves)
    rule = PLAIN._replace(most_leaves=max_leaves)
    state.grow(t, 0, rule, 1, lambda *_: None, lambda n: None)
    return t


def points_of(t: Grown, node: int) -> list[int]:
    """All points under a node, with the points of chains."""
    points, waiting = [], [node]
    while waiting:
        v = waiting.pop()
        if not layout.is_end(t, v):
            waiting += [int(t.link[v, LEFT]), int(t.link[v, RIGHT])]
            continue
        i = int(layout.first(t, v))
        while i >= 0:
            points.append(i)
            i = int(t.chain[i, FOLLOW])
    return points


@cache
def cases() -> list[tuple[np.ndarray, int]]:
    rng = np.random.default_rng(0)
    drawn = []
    for n_columns in (1, 2, 3, 7, 40, 300):
        for kind in (np.float32, np.float64):
            plain = rng.normal(size=(60, n_columns))
            centres = 6 * rng.normal(size=(4, n_columns))[rng.integers(4, size=60)]
            doubled = rng.integers(0, 3, size=(60, n_columns))
            for points in (plain, centres + plain, doubled):
                drawn += [(points.astype(kind), 1 << 40), (points.astype(kind), 12)]
    return drawn


@pytest.mark.parametrize("number", range(len(cases())))
def test_bounds_hold_and_searches_are_exact(number: int) -> None:
    points, max_leaves = cases()[number]
    t = grown(points, max_leaves)
    squared = cdist(points.astype(np.float64), points.astype(np.float64), "sqeuclidean")
    slack = 1e-5 * squared.max()
    rng = np.random.default_rng(number)
    boxes = state.boxes_in_use(t)
    nodes = np.concatenate([boxes, np.unique(t.chain[t.chain[:, OWNER], HOME])])
    for _ in range(60):
        v, w = (int(node) for node in rng.choice(nodes, size=2))
        pairs = squared[np.ix_(points_of(t, v), points_of(t, w))]
        assert search.gap(t, v, w) <= pairs.min() + slack
        assert search.span(t, v, w) >= pairs.max() - slack
        assert search.closest(t, v, w, -1.0, ALL) == (
            pytest.approx(pairs.min(), abs=slack),
            True,
        )
        assert search.farthest(t, v, w, 1e30, ALL) == (
            pytest.approx(pairs.max(), abs=slack),
            True,
        )
        # A first pair below the limit; the best of a few comparisons; both are real pairs.
        for limit, looks in ((float(np.median(pairs)), ALL), (-1.0, 2), (-1.0, 0)):
            near, _ = search.closest(t, v, w, limit, looks)
            assert np.abs(pairs - near).min() <= slack
            assert near < limit or near >= pairs.min() - slack
            far, _ = search.farthest(t, v, w, limit if limit > 0 else 1e30, looks)
            assert np.abs(pairs - far).min() <= slack
        of_v, of_w = (np.empty(len(points) + 2, dtype=np.int64) for _ in range(2))
        n, m = search.points_under(t, v, of_v), search.points_under(t, w, of_w)
        assert layout.extreme(points, of_v[:n], of_w[:m], -1.0, True) == pytest.approx(
            pairs.min(), abs=slack
        )


@pytest.mark.parametrize("number", range(len(cases())))
def test_the_nearest_is_that_of_all_points(number: int) -> None:
    points, max_leaves = cases()[number]
    t = grown(points, max_leaves)
    rng = np.random.default_rng(number)
    rows = (points[rng.permutation(60)[:30]] + 0.3 * rng.normal(size=(30, points.shape[1]))).astype(
        points.dtype
    )
    rows[:10] = points[:10]
    squared = cdist(rows.astype(np.float64), points.astype(np.float64), "sqeuclidean")
    # Ties go to the first.
    expected = squared.argmin(axis=1)
    by_scan, away = np.full(30, -1), np.full(30, np.inf)
    search.scan(rows, points, 0, 60, by_scan, away)
    for row in range(30):
        nearest, far = search.nearest(t, rows[row], int(t.counts[ROOT]), ALL)
        assert squared[row, nearest] == pytest.approx(squared[row, expected[row]], rel=1e-5)
        assert far == pytest.approx(squared[row, expected[row]], rel=1e-5, abs=1e-12)
        if row < 10:
            assert (nearest, far) == (expected[row], 0.0)
        assert by_scan[row] == nearest
    assert (state.find(t, rows) == by_scan).all()


def test_the_first_of_points_at_equal_distance_wins() -> None:
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [5.0, 5.0]])
    for order in ([0, 1, 2, 3, 4], [3, 4, 2, 1, 0]):
        t = grown(points[order])
        nearest, far = search.nearest(t, np.zeros(2), int(t.counts[ROOT]), ALL)
        assert (nearest, far) == (0, 1.0)
        near, away = np.full(1, -1), np.full(1, np.inf)
        search.scan(np.zeros((1, 2)), t.points, 0, 5, near, away)
        assert near[0] == 0


def test_a_search_gives_up_at_its_limit() -> None:
    points = np.random.default_rng(0).normal(size=(500, 30))
    t = grown(points)
    x = np.zeros(30)
    assert search.nearest(t, x, int(t.counts[ROOT]), 3)[0] == layout.NONE
    near, away = np.empty(1, dtype=np.int64), np.empty(1)
    assert search.search(t, x[None], 3, near, away) == 1
    assert (state.find(t, x[None]) == cdist(x[None], points).argmin()).all()


def test_bounds_from_corners_would_not_hold() -> None:
    """A box beside a longer box: every corner of each is far from the other."""
    #   +--------------------+
    #   |      +--+          |
    #   +------|--|----------+
    #          +--+
    box = np.array([[[0.0, 0.0], [100.0, 2.0]], [[40.0, -1.0], [42.0, 1.0]]])
    t = grown(box.reshape(4, 2))._replace(box=box)
    corners = [np.array([x, y]) for x in (0.0, 100.0) for y in (0.0, 2.0)]
    from_corners = min(layout.reach(corner, box[1, 0], box[1, 1], np.inf) for corner in corners)
    assert search.gap(t, 0, 1) == 0.0
    assert from_corners >= 1600
