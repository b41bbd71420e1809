"""Constraints along a graph, against the literal definition and scikit-learn."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any, get_args

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.inputs.data import Data
from models.methods.features.linkage.all_pairs import Linkage
from models.methods.features.linkage.constrained_merges import edges_of
from models.methods.features.linkage.constraints import (
    ACROSS,
    APART,
    EDGE,
    read_constraints,
)
from models.tree.tree import Tree
from tests.models.methods.features.linkage.constrained_kit import (
    ByLinkage,
    Known,
    Rows,
    components,
    euclidean,
    expected,
    fit,
    heights_of,
    inputs_of,
    merges_of,
    random_known,
    same,
)


class Edges:
    """Distances and levels of clusters by the edges between their rows.

    kinds : the kinds of the edges of each pair of rows, the lower first.
    """

    def __init__(
        self, linkage: str, points: np.ndarray, known: Known, kinds: dict[Any, Any]
    ) -> None:
        self.linkage, self.known, self.kinds = linkage, known, kinds
        self.distances = euclidean(points)
        self.by_centre = ByLinkage(linkage, self.distances, known.groups())
        # The rank of the edges that count, and their mean, for weighted linkage.
        self.weighted: dict[frozenset[Rows], tuple[int, float]] = {}
        for one, other in combinations(known.groups(), 2):
            if edges := self.edges(one, other):
                rank = min(edges)[0]
                mean = np.mean([length for at, length in edges if at == rank])
                self.weighted[frozenset([one, other])] = rank, float(mean)

    def edges(self, one: Rows, other: Rows) -> list[tuple[int, float]]:
        """The rank of each edge, 0 of the graph, 1 between its parts, 2 of neither; its length."""
        return [
            (0 if kind & EDGE else 1 if kind & ACROSS else 2, float(self.distances[a, b]))
            for a, b in product(one, other)
            for kind in self.kinds.get((min(a, b), max(a, b)), ())
        ]

    def level(self, one: Rows, other: Rows) -> int | None:
        union = (one | other) & self.known.over
        if any(union & c and union - c and c - union for c in self.known.clades):
            return None
        kinds = 0
        for a, b in product(one, other):
            for kind in self.kinds.get((min(a, b), max(a, b)), ()):
                kinds |= kind
        if not self.edges(one, other):
            return None
        if not kinds & (EDGE | ACROSS):
            return 3
        return 2 if kinds & APART else 0 if kinds & EDGE else 1

    def __call__(self, one: Rows, other: Rows) -> float:
        if self.linkage in ("ward", "centroid", "median"):
            return self.by_centre(one, other)
        if self.linkage == "average":
            block = self.distances[np.ix_(sorted(one), sorted(other))]
            return float(np.sqrt((block**2).mean()))
        if self.linkage == "weighted":
            return self.weighted[frozenset([one, other])][1]
        edges = self.edges(one, other)
        counted = [length for rank, length in edges if rank == min(edges)[0]]
        return min(counted) if self.linkage == "single" else max(counted)

    def merge(self, one: Rows, other: Rows) -> None:
        self.by_centre.merge(one, other)
        for third in {rows for pair in self.weighted for rows in pair} - {one, other}:
            parts = [self.weighted.pop(frozenset([part, third]), None) for part in (one, other)]
            known = [part for part in parts if part is not None]
            if known:
                rank = min(known)[0]
                mean = np.mean([length for at, length in known if at == rank])
                self.weighted[frozenset([one | other, third])] = rank, float(mean)


def kinds_of(inputs: dict[str, Any], points: np.ndarray) -> dict[Any, Any]:
    names = [str(row) for row in range(len(points))]
    constraints = read_constraints(Data(inputs), names)
    assert constraints is not None
    ends, kinds = edges_of(constraints, points, 1)
    found: dict[Any, Any] = {}
    for pair, kind in zip(np.sort(ends, axis=1).tolist(), kinds.tolist(), strict=True):
        found.setdefault(tuple(pair), []).append(kind)
    return found


@pytest.mark.parametrize("linkage", get_args(Linkage))
@settings(max_examples=settings().max_examples // 2)
@given(
    which=st.sampled_from(["g", "gm", "gc", "gt", "gmc", "gct", "gmct"]),
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
)
def test_merges_along_a_graph_are_their_definition(
    linkage: str, which: str, seed: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    known, points = random_known(rng, n, which), rng.normal(size=(n, 3))
    inputs = inputs_of(known, rng)
    fitted = fit({"features": points, **inputs}, linkage=linkage)
    along = Edges(linkage, points, known, kinds_of(inputs, points))
    merges = merges_of(known, along, along.merge, along.level)
    same(heights_of(fitted.tree), expected(known, merges))
    assert fitted.metrics["n_forced"] == sum(level > 0 for _, _, level in merges)


@pytest.mark.parametrize("which", ["g", "gm", "gc", "gmc"])
@given(seed=st.integers(0, 10**6), n=st.integers(2, 14))
def test_constraints_hold_as_long_as_anything_may_merge(which: str, seed: int, n: int) -> None:
    """By the graph and the pairs alone, whatever edges are added to it. Heights of single linkage
    do not fall along a graph, so that they give the order of the merges."""
    rng = np.random.default_rng(seed)
    known, points = random_known(rng, n, which), rng.normal(size=(n, 3))
    fitted = fit({"features": points, **inputs_of(known, rng)}, linkage="single")
    n_left = int(fitted.metrics["n_forced"]) + 1
    clusters = cut(fitted.tree, n_left)
    assert len(clusters) == n_left
    assert not any(known.level(*pair) == 0 for pair in combinations(clusters, 2))
    for cluster in clusters:
        inside = [pair for pair in known.graph or [] if set(pair) <= cluster]
        within = [group for group in components(n, [*known.must, *inside]) if group & cluster]
        assert within == [cluster]
        assert not any({a, b} <= cluster for a, b in known.cannot)


def cut(tree: Tree, n_clusters: int) -> list[Rows]:
    """The clusters that are left before the last merges."""
    nodes = heights_of(tree)
    rows = sorted(nodes, key=lambda each: (nodes[each], len(each)))
    clusters = [frozenset([row]) for row in range(tree.n_points)]
    for each in rows:
        if len(clusters) <= n_clusters:
            break
        clusters = [cluster for cluster in clusters if not cluster <= each] + [each]
    return clusters


@pytest.mark.parametrize("linkage", ["ward", "single", "complete", "average"])
@given(seed=st.integers(0, 10**6), n=st.integers(3, 20))
def test_scikit_learns_definitions_along_a_graph(linkage: str, seed: int, n: int) -> None:
    """Average linkage is scikit-learn's where the graph has all edges; for 'cityblock' both are
    means over edges."""
    from sklearn.cluster import AgglomerativeClustering

    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    near = rng.random((n, n)) < (1.0 if linkage == "average" else 0.3)
    near |= np.eye(n, k=1, dtype=bool)
    graph = sp.csr_array((near | near.T).astype(float))
    metric = "euclidean" if linkage == "ward" else "cityblock"
    theirs = AgglomerativeClustering(
        n_clusters=1, linkage=linkage, metric=metric, connectivity=graph, compute_distances=True
    ).fit(points)
    under = [frozenset([row]) for row in range(n)]
    wanted = {}
    for (a, b), height in zip(theirs.children_, theirs.distances_, strict=True):
        under.append(under[a] | under[b])
        wanted[under[-1]] = float(height)
    fitted = fit({"features": points, "graph": graph}, linkage=linkage, metric=metric)
    same(heights_of(fitted.tree), wanted)
