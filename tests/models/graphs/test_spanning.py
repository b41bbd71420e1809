"""The minimum spanning tree against all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import cdist, pdist, squareform

from models.errors import Cancelled
from models.graphs import spanning as module
from models.graphs.spanning import (
    SpanningMetric,
    condensed_rows,
    core_distances,
    joining_edges,
    spanning_tree,
    tree_by_rows,
)
from models.running.progress import silent

KINDS = ("scattered", "grid", "copies", "far", "groups", "equal", "tiny")


def hostile(kind: str, n_points: int, n_columns: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points: Any = rng.normal(size=(n_points, n_columns))
    if kind == "grid":
        return np.round(points)
    if kind == "copies":
        return points[rng.integers(0, max(1, n_points // 5), n_points)]
    if kind == "far":
        return points + 1e6 * rng.integers(0, 3, (n_points, 1))
    if kind == "groups":
        centre = 8 * rng.normal(size=(6, n_columns))
        return (points + centre[rng.integers(0, 6, n_points)]).astype(np.float32)
    if kind == "equal":
        return np.full((n_points, n_columns), 0.3)
    return points * 1e-300 if kind == "tiny" else points


def lengths(points: np.ndarray, rank: int, metric: str = "euclidean") -> np.ndarray:
    """Merge heights of single linkage by mutual reachability distances of all pairs."""
    apart = squareform(pdist(points.astype(np.float64), metric))
    core = np.sort(apart, axis=1)[:, rank] if rank else np.zeros(len(points))
    between = np.maximum(apart, np.maximum.outer(core, core))
    np.fill_diagonal(between, 0.0)
    return scipy_linkage(squareform(between, checks=False), "single")[:, 2]


@given(
    st.sampled_from(KINDS),
    st.integers(2, 300),
    st.sampled_from([1, 2, 3, 16, 17, 70, 130]),
    st.integers(0, 20),
    st.integers(0, 10**6),
)
def test_edges_are_as_long_as_those_of_all_pairs(
    kind: str, n_points: int, n_columns: int, rank: int, seed: int
) -> None:
    points = hostile(kind, n_points, n_columns, seed)
    rank = min(rank, n_points - 1)
    found = spanning_tree(points, rank, 1, silent)
    np.testing.assert_allclose(found.length, lengths(points, rank), rtol=1e-9, atol=1e-300)
    exact = points.astype(np.float64)
    apart = np.linalg.norm(exact[found.ends[:, 0]] - exact[found.ends[:, 1]], axis=1)
    assert (apart <= found.length * (1 + 1e-9)).all()
    assert found.linkage()[-1, 3] == n_points


@given(
    st.sampled_from(["cityblock", "chebyshev", "canberra"]),
    st.sampled_from(KINDS),
    st.integers(2, 300),
    st.sampled_from([1, 2, 3, 10, 11, 17, 70]),
    st.integers(0, 20),
    st.integers(0, 10**6),
)
def test_other_metrics_have_edges_as_long_as_those_of_all_pairs(
    metric: SpanningMetric, kind: str, n_points: int, n_columns: int, rank: int, seed: int
) -> None:
    points = hostile(kind, n_points, n_columns, seed)
    rank = min(rank, n_points - 1)
    found = spanning_tree(points, rank, 1, silent, metric)
    np.testing.assert_allclose(found.length, lengths(points, rank, metric), rtol=1e-12, atol=1e-300)
    exact = points.astype(np.float64)
    pairs = found.ends.tolist()
    apart = np.array([float(cdist(exact[[a]], exact[[b]], metric)[0, 0]) for a, b in pairs])
    assert (apart <= found.length * (1 + 1e-12)).all()
    assert found.linkage()[-1, 3] == n_points


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "canberra"])
def test_by_boxes_and_by_rows_are_the_same(
    metric: SpanningMetric, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = hostile("groups", 1_500, 9, 5)
    for rank in (0, 6):
        by_boxes = spanning_tree(points, rank, 1, silent, metric)
        threaded = spanning_tree(points, rank, 3, silent, metric)
        with monkeypatch.context() as patched:
            patched.setattr(module, "MOST_IN_BOXES", 8)
            by_rows = spanning_tree(points, rank, 1, silent, metric)
        np.testing.assert_array_equal(by_boxes.length, threaded.length)
        np.testing.assert_array_equal(by_boxes.length, by_rows.length)
        edges = [{frozenset(pair) for pair in tree.ends.tolist()} for tree in (by_boxes, by_rows)]
        assert rank or edges[0] == edges[1]


@given(st.sampled_from(KINDS), st.integers(2, 80), st.integers(0, 9), st.integers(0, 10**6))
def test_a_tree_by_rows_of_given_distances(kind: str, n_points: int, rank: int, seed: int) -> None:
    points, rank = hostile(kind, n_points, 3, seed), min(rank, n_points - 1)
    row_of = condensed_rows(pdist(points.astype(np.float64)), n_points)
    square = squareform(pdist(points.astype(np.float64)))
    assert all((row_of(point) == square[point]).all() for point in range(n_points))
    core = np.zeros(n_points)
    if rank:
        core = core_distances(row_of, n_points, rank, silent)
        np.testing.assert_array_equal(core, np.sort(square, axis=1)[:, rank])
    np.testing.assert_array_equal(tree_by_rows(row_of, core, silent).length, lengths(points, rank))


def test_linkage_is_scipys() -> None:
    points = np.random.default_rng(0).normal(size=(500, 5))
    found = spanning_tree(points, 0, 1, silent).linkage()
    np.testing.assert_allclose(found, scipy_linkage(points, "single"), rtol=1e-12)


@pytest.mark.parametrize("rank", [0, 5])
@pytest.mark.parametrize("kind", ["scattered", "groups", "copies"])
def test_threads_and_the_order_of_points_change_nothing(kind: str, rank: int) -> None:
    points = hostile(kind, 5_000, 30, 1)
    found = spanning_tree(points, rank, 1, silent)
    threaded = spanning_tree(points, rank, 3, silent)
    np.testing.assert_array_equal(found.ends, threaded.ends)
    np.testing.assert_array_equal(found.length, threaded.length)
    order = np.random.default_rng(2).permutation(len(points))
    mixed = spanning_tree(points[order], rank, 1, silent)
    np.testing.assert_array_equal(found.length, mixed.length)
    if kind == "scattered":
        edges = {frozenset(pair) for pair in found.ends.tolist()}
        assert edges == {frozenset(pair) for pair in order[mixed.ends].tolist()}


@pytest.mark.parametrize("rank", [0, 4])
def test_groups_joined_by_pairs_and_by_search_have_the_same_edges(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty groups that lie apart, some inside others' reach."""
    rng = np.random.default_rng(3)
    centre = 6 * rng.normal(size=(40, 24))
    spread = rng.uniform(0.2, 2.0, 40)
    group = rng.integers(0, 40, 2_000)
    points = centre[group] + spread[group, None] * rng.normal(size=(2_000, 24))
    used = []

    def counted(*given: Any) -> Any:
        used.append(len(given[2]))
        return joining_edges(*given)

    monkeypatch.setattr(module, "joining_edges", counted)
    by_pairs = spanning_tree(points, rank, 1, silent)
    assert used[0] > 5
    monkeypatch.setattr(module, "FEW_COLUMNS", 24)
    by_search = spanning_tree(points, rank, 1, silent)
    assert len(used) == 1
    np.testing.assert_array_equal(by_pairs.length, by_search.length)
    np.testing.assert_array_equal(np.sort(by_pairs.ends), np.sort(by_search.ends))


def test_groups_that_share_a_place_are_joined() -> None:
    """Centres coincide, so that nothing is known from the line between them."""
    rng = np.random.default_rng(4)
    way = rng.normal(size=(60, 20))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    way -= way.mean(axis=0)
    points = np.concatenate([way, 50 * way, -50 * way])
    core = np.zeros(len(points))
    groups = [np.arange(60), np.arange(60, 120), np.arange(120, 180)]
    edges = list(joining_edges(points, core, groups, silent))
    apart = squareform(pdist(points))
    assert len(edges) == 2
    first = min(
        apart[np.ix_(a, b)].min() for n, a in enumerate(groups) for b in groups[n + 1 :]
    )  # fmt: skip
    assert np.sqrt(edges[0].length) == pytest.approx(first)
    for edge in edges:
        assert apart[edge.ends] == pytest.approx(np.sqrt(edge.squared))


def test_cancel_is_obeyed() -> None:
    """While neighbours are found, and while groups are joined."""
    for stage in ("finding neighbours", "joining"):

        def cancel(fraction: float, at: str, message: str = "", wanted: str = stage) -> None:
            if at == wanted:
                raise Cancelled

        with pytest.raises(Cancelled):
            spanning_tree(hostile("groups", 5_000, 20, 0), 5, 2, cancel)
        with pytest.raises(Cancelled):
            spanning_tree(hostile("groups", 500, 20, 0), 5, 2, cancel, "cityblock")
