"""The graph of neighbours: its edges, equal points, parts that are joined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from models.graphs.neighbours import Graph, neighbour_graph
from models.running.progress import silent


def graph(points: np.ndarray, k: int, metric: str = "euclidean") -> Graph:
    return neighbour_graph(np.asarray(points, dtype=float), k, metric, 1, silent)  # type: ignore[arg-type]


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in graph.ends}


def in_one_piece(graph: Graph) -> bool:
    seen = {0}
    while True:
        more = {b for a, b in pairs(graph) if a in seen} | {a for a, b in pairs(graph) if b in seen}
        if more <= seen:
            return len(seen) == graph.n_nodes
        seen |= more


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 5))
def test_edges_join_neighbours_and_the_graph_is_connected(seed: int, n_points: int, k: int) -> None:
    points = np.random.default_rng(seed).integers(0, 6, size=(n_points, 2)).astype(float)
    points += np.random.default_rng(seed + 1).normal(size=points.shape) * 1e-3
    neighbours = graph(points, k)
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, : neighbours.n_neighbors]
    expected = {(min(i, int(j)), max(i, int(j))) for i in range(n_points) for j in near[i]}
    assert expected <= pairs(neighbours)
    assert len(pairs(neighbours)) == len(neighbours.ends)
    assert (neighbours.n_parts > 1) == (pairs(neighbours) != expected)
    assert in_one_piece(neighbours)
    length = distances[neighbours.ends[:, 0], neighbours.ends[:, 1]]
    assert neighbours.length == pytest.approx(length, rel=1e-9)


# Two pairs far apart, one neighbour each: two parts, joined by the shortest edge between them.
#
#   0--1                    2--3
def test_parts_are_joined_where_they_are_nearest() -> None:
    neighbours = graph([[0.0], [1.0], [10.0], [11.0]], 1)
    assert pairs(neighbours) == {(0, 1), (2, 3), (1, 2)}
    assert neighbours.n_parts == 2
    assert any("2 parts" in warning for warning in neighbours.warnings(1))


def test_many_parts_about_one_mean() -> None:
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    neighbours = graph(np.concatenate([ring * radius for radius in (1.0, 50.0, 2500.0)]), 2)
    assert neighbours.n_parts == 3
    assert in_one_piece(neighbours)


def test_equal_points_are_one_node() -> None:
    points = np.array([[5.0], [0.0], [5.0], [1.0], [0.0]])
    neighbours = graph(points, 9)
    assert neighbours.first.tolist() == [0, 1, 3]
    assert neighbours.place.tolist() == [0, 1, 0, 2, 1]
    assert pairs(neighbours) == {(0, 1), (0, 2), (1, 2)}
    assert neighbours.warnings(9) == ("There are 3 distinct points, so n_neighbors = 9 became 2.",)


def test_one_place_has_no_edge() -> None:
    neighbours = graph(np.ones((4, 2)), 3)
    assert (neighbours.n_nodes, len(neighbours.ends), neighbours.n_parts) == (1, 0, 1)
