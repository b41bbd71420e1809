"""The spanning tree along the graph of neighbours, against SciPy's of the same edges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from models.arrays import Array, Arrays
from models.graphs import reachability
from models.graphs.neighbours import Nodes
from models.graphs.reachability import Reached, tree_along_neighbours
from models.inputs.rows import ArrayRows
from models.method import Checkpoint
from models.running.progress import silent


def points(n: int = 300, n_columns: int = 4, seed: int = 0) -> np.ndarray:
    """Groups with noise about them, some rows twice and three times."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_columns)) + 5.0 * rng.integers(0, 3, size=(n, 1))
    values[n // 2 :: 5] = values[: len(values[n // 2 :: 5])]
    values[-1] = values[-2]
    return values


def along(values: Array, rank: int, threads: int = 1, kept: Checkpoint | None = None) -> Reached:
    return tree_along_neighbours(
        ArrayRows(values), rank, "euclidean", threads, silent, checkpoint=kept
    )


def reachable(values: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Mutual reachability of all pairs by definition, and core distances."""
    apart = squareform(pdist(values))
    core = np.sort(apart, axis=1)[:, rank]
    return np.maximum(apart, np.maximum.outer(core, core)), core


@pytest.mark.parametrize("rank", [1, 2, 7])
def test_with_all_neighbours_it_is_the_exact_tree(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachability, "N_NEAR", 1000)
    values = points()
    between, core = reachable(values, rank)
    found = along(values, rank)
    assert found.core == pytest.approx(core, rel=1e-6)
    one, other = np.triu_indices(len(values), 1)
    # SciPy takes zeros for missing edges.
    whole = coo_array((between[one, other] + 1.0, (one, other)), shape=between.shape)
    known = np.sort(minimum_spanning_tree(whole).data) - 1.0
    assert found.tree.length == pytest.approx(known, rel=1e-6, abs=1e-9)
    ends = found.tree.ends
    assert found.tree.length == pytest.approx(between[ends[:, 0], ends[:, 1]], rel=1e-6)
    assert found.warnings(10)[0].startswith("With more than 10 points")


def test_it_is_the_shortest_along_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "N_NEAR", 6)
    values = np.random.default_rng(1).normal(size=(1000, 3))
    monkeypatch.setattr(reachability, "LEAST_EDGES", 1000)
    found = [along(values, 3, threads) for threads in (1, 2, 5)]
    assert found[0].n_parts == 1
    core = found[0].core
    between = np.maximum(squareform(pdist(values)), np.maximum.outer(core, core))
    near = Nodes.of(ArrayRows(values), "euclidean").neighbours(6, 1, silent)
    own = np.repeat(np.arange(len(values)), 6)
    there = near.index.ravel()
    graph = coo_array((between[own, there], (own, there)), shape=between.shape)
    known = np.sort(minimum_spanning_tree(graph.maximum(graph.T)).data)
    assert found[0].tree.length == pytest.approx(known, rel=1e-6)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].tree.ends, other.tree.ends)
        np.testing.assert_array_equal(found[0].tree.length, other.tree.length)


def test_parts_are_joined_and_their_edges_are_no_shorter_than_the_exact_ones() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(400, 3)) + 40.0 * rng.integers(0, 5, size=(400, 1))
    between, _ = reachable(values, 2)
    exact = np.sort(minimum_spanning_tree(between).data)
    found = along(values, 2)
    assert found.n_parts == 5
    assert "5 parts" in found.warnings(10)[1]
    assert (found.tree.length >= exact * (1 - 1e-6)).all()
    assert found.tree.length[-4:] == pytest.approx(exact[-4:], rel=0.1)


def test_equal_lengths_stay_equal_across_clusters() -> None:
    rng = np.random.default_rng(3)
    values = 0.1 * rng.integers(0, 8, size=(400, 3))
    found = along(values, 1)
    label = rng.integers(0, 3, size=len(values))
    side = np.array([1, 2, 2])
    length = np.unique(found.between(label, [side], 1, silent).tree.length)
    assert np.unique(np.round(100 * length**2)).size == length.size


class _Kept(Checkpoint):
    """States in memory."""

    def __init__(self) -> None:
        self.states = list[Arrays]()

    def load(self) -> Arrays | None:
        return self.states[-1] if self.states else None

    def save(self, state: Arrays) -> None:
        self.states.append({name: np.array(array) for name, array in state.items()})


@contextmanager
def no_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.delattr(Nodes, "neighbours")
        yield


def test_an_attempt_goes_on_without_looking_for_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(400, 3)) + 40.0 * rng.integers(0, 5, size=(400, 1))
    kept = _Kept()
    whole = along(values, 2, kept=kept)
    assert len(kept.states) == 2
    for state in kept.states:
        again = _Kept()
        again.save(state)
        with no_search(monkeypatch):
            found = along(values, 2, kept=again)
        np.testing.assert_array_equal(found.tree.ends, whole.tree.ends)
        np.testing.assert_array_equal(found.tree.length, whole.tree.length)
        assert (found.recall, found.n_parts) == (whole.recall, whole.n_parts)


def test_rows_that_all_coincide() -> None:
    found = along(np.ones((50, 3)), 4)
    assert not found.tree.length.any()
    assert sorted(found.tree.ends[:, 1].tolist()) == list(range(1, 50))
    assert found.warnings(10) == ()
