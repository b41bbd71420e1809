"""Merging along a graph against all pairs (where the graph is whole), scikit-learn and the naive
definition (where it is not)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist

from models.errors import Cancelled
from models.graphs.neighbours import Graph, neighbour_graph
from models.methods.features.linkage.graph_linkage import GRAPH_RULES, GraphRule, agglomerate
from models.running.progress import silent


def knn(points: np.ndarray, k: int) -> Graph:
    return neighbour_graph(points, k, "euclidean", 1, silent)


def cophenetic(merges: np.ndarray, height: np.ndarray) -> np.ndarray:
    n_points = len(height) + 1
    under = [{i} for i in range(n_points)]
    distance = np.zeros((n_points, n_points))
    for (a, b), at in zip(merges, height, strict=True):
        for i in under[a]:
            for j in under[b]:
                distance[i, j] = distance[j, i] = at
        under.append(under[a] | under[b])
    return distance[np.triu_indices(n_points, 1)]


@pytest.mark.parametrize("rule", GRAPH_RULES)
def test_the_whole_graph_gives_the_tree_of_all_pairs(rule: GraphRule) -> None:
    points = np.random.default_rng(0).normal(size=(30, 3))
    merges, height = agglomerate(knn(points, 29), rule, points, silent)
    if rule == "spread":
        expected = np.sqrt(cophenet(scipy_linkage(pdist(points, "sqeuclidean"), "average")))
    else:
        expected = cophenet(scipy_linkage(points, rule))
    assert cophenetic(merges, height) == pytest.approx(expected, rel=1e-9)


def naive(graph: Graph, rule: GraphRule, points: np.ndarray) -> list[tuple[frozenset[int], float]]:
    """Each merge by its definition: the nearest pair of all groups with an edge."""
    edges = {(int(a), int(b)): float(d) for (a, b), d in zip(graph.ends, graph.length, strict=True)}
    length = {frozenset([frozenset([a]), frozenset([b])]): d for (a, b), d in edges.items()}
    middle = {frozenset([i]): point for i, point in enumerate(points)}
    merges = []
    while length:
        pair = min(length, key=lambda both: length[both])
        first, second = pair
        group = first | second
        merges.append((group, length.pop(pair)))
        middle[group] = (middle[first] + middle[second]) / 2
        for other in {end for both in length for end in both} - {first, second}:
            old = [length.pop(frozenset([part, other]), None) for part in (first, second)]
            known = [d for d in old if d is not None]
            if known:
                length[frozenset([group, other])] = between(
                    rule, group, other, known, points, edges, middle
                )
    return merges


def between(rule, group, other, known, points, edges, middle) -> float:  # type: ignore[no-untyped-def]
    a, b = points[sorted(group)], points[sorted(other)]
    apart = float(np.linalg.norm(a.mean(axis=0) - b.mean(axis=0)))
    if rule == "single":
        return min(known)
    if rule == "complete":
        return max(known)
    if rule == "weighted":
        return sum(known) / len(known)
    if rule == "average":
        return float(
            np.mean([d for (i, j), d in edges.items() if {i, j} & group and {i, j} & other])
        )
    if rule == "ward":
        return apart * np.sqrt(2 * len(a) * len(b) / (len(a) + len(b)))
    if rule == "centroid":
        return apart
    if rule == "median":
        return float(np.linalg.norm(middle[group] - middle[other]))
    return float(np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2).mean()))


@pytest.mark.parametrize("rule", GRAPH_RULES)
@given(seed=st.integers(0, 10**6), n_points=st.integers(2, 10), k=st.integers(1, 4))
def test_linkage_along_a_graph_is_its_definition(
    rule: GraphRule, seed: int, n_points: int, k: int
) -> None:
    points = np.random.default_rng(seed).normal(size=(n_points, 2))
    graph = knn(points, k)
    merges, height = agglomerate(graph, rule, points, silent)
    under = [frozenset([i]) for i in range(n_points)]
    for a, b in merges:
        under.append(under[a] | under[b])
    expected = naive(graph, rule, points)
    assert under[n_points:] == [group for group, _ in expected]
    assert height == pytest.approx([at for _, at in expected], rel=1e-9)


def test_ward_along_a_graph_is_scikit_learns() -> None:
    from scipy.sparse import csr_array
    from sklearn.cluster import ward_tree

    points = np.random.default_rng(3).normal(size=(150, 4))
    graph = knn(points, 6)
    both = np.concatenate([graph.ends, graph.ends[:, ::-1]])
    connected = csr_array((np.ones(len(both)), both.T), shape=(150, 150))
    expected = ward_tree(points, connectivity=connected, return_distance=True)
    merges, height = agglomerate(graph, "ward", points, silent)
    assert cophenetic(merges, height) == pytest.approx(
        cophenetic(expected[0], expected[-1]), rel=1e-9
    )


@pytest.mark.parametrize("rule", GRAPH_RULES)
def test_equal_points_merge_first_and_count(rule: GraphRule) -> None:
    points = np.random.default_rng(4).normal(size=(12, 2))
    points[[3, 5, 9]] = points[1]
    points[7] = points[2]
    merges, height = agglomerate(knn(points, 11), rule, points, silent)
    assert (height[:4] == 0).all()
    assert (height[4:] > 0).all()
    if rule in ("weighted", "median"):
        return
    if rule == "spread":
        expected = np.sqrt(cophenet(scipy_linkage(pdist(points, "sqeuclidean"), "average")))
    else:
        expected = cophenet(scipy_linkage(points, rule))
    assert cophenetic(merges, height) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_nothing_but_equal_points() -> None:
    points = np.ones((4, 2))
    merges, height = agglomerate(knn(points, 3), "average", None, silent)
    assert merges.tolist() == [[0, 1], [4, 2], [5, 3]]
    assert height.tolist() == [0, 0, 0]


def test_large_random_graphs_use_each_node_once() -> None:
    points = np.random.default_rng(5).normal(size=(3000, 2))
    for rule in ("average", "ward"):
        merges, _ = agglomerate(knn(points, 5), rule, points, silent)  # type: ignore[arg-type]
        assert np.sort(merges.ravel()).tolist() == list(range(2 * 3000 - 2))


def test_cancel_is_obeyed() -> None:
    def cancel(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    points = np.random.default_rng(6).normal(size=(20, 2))
    with pytest.raises(Cancelled):
        agglomerate(knn(points, 3), "single", None, cancel)


def test_the_rules_are_named_once() -> None:
    assert all(one != other for one, other in combinations(GRAPH_RULES, 2))
