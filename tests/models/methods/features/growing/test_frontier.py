"""Growth: which leaf is split, when growth ends, and the columns and warnings of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import Cancelled
from models.inputs.rows import ArrayRows
from models.methods.features.growing.frontier import Choice, GrownTree, Split, grow
from models.running.progress import Progress, silent
from models.tree.cut import cut


def halves(points: np.ndarray) -> Split | None:
    """The split at the middle of the first column; None where the column has one value."""
    low, high = points[:, 0].min(), points[:, 0].max()
    if low == high:
        return None
    cluster = (points[:, 0] > (low + high) / 2).astype(np.int64)
    return Split.of(points, cluster, np.array([points[cluster == c].mean(axis=0) for c in (0, 1)]))


def growth(
    points: np.ndarray,
    split: Callable[[np.ndarray], Split | None],
    choice: Choice,
    max_leaves: int,
    progress: Progress,
) -> GrownTree:
    return grow(
        ArrayRows(points),
        lambda rows: split(rows.values(0, rows.shape[0])),
        choice,
        max_leaves,
        progress,
    )


def spread(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points - points.mean(axis=0), axis=1)


def naive(points: np.ndarray, choice: Choice, n_leaves: int) -> list[frozenset[int]]:
    """The leaves when each choice tries all leaves again by the literal definition."""
    leaves = [np.arange(len(points))]
    while len(leaves) < n_leaves:
        best, worth = None, np.inf
        for at, rows in enumerate(leaves):
            division = halves(points[rows]) if len(rows) > 1 else None
            if division is None:
                continue
            parts = [points[rows][division.cluster == c] for c in (0, 1)]
            value = {
                "compact": np.concatenate([spread(part) for part in parts]).mean(),
                "scattered": -spread(points[rows]).sum(),
                "inertia": -(spread(points[rows]) ** 2).sum(),
                "size": -len(rows),
            }[choice]
            if value < worth - 1e-12:
                best, worth = at, value
        if best is None:
            break
        rows = leaves.pop(best)
        cluster = halves(points[rows]).cluster
        # Leaves keep the order in which they were split off.
        leaves += [rows[cluster == c] for c in (0, 1)]
    return [frozenset(rows.tolist()) for rows in leaves]


def leaves_of(grown: GrownTree) -> set[frozenset[int]]:
    return {
        frozenset(np.flatnonzero(grown.leaf_of_point == leaf).tolist())
        for leaf in np.flatnonzero(grown.step < 0)
    }


@pytest.mark.parametrize("choice", get_args(Choice))
@given(seed=st.integers(0, 10**6), n_points=st.integers(1, 25), n_leaves=st.integers(1, 12))
def test_leaves_are_those_of_the_definition(
    choice: Choice, seed: int, n_points: int, n_leaves: int
) -> None:
    points = np.random.default_rng(seed).normal(size=(n_points, 2)) ** 3
    grown = growth(points, halves, choice, n_leaves, silent)
    assert leaves_of(grown) == set(naive(points, choice, n_leaves))
    grown.tree().validate()


@pytest.mark.parametrize("choice", get_args(Choice))
def test_cut_to_k_leaves_it_is_the_tree_with_max_leaves_k(choice: Choice) -> None:
    points = np.random.default_rng(0).normal(size=(40, 2))
    tree = growth(points, halves, choice, 15, silent).tree()
    for k in range(1, 16):
        partition = cut(tree, k)
        small = growth(points, halves, choice, k, silent)
        groups = {
            frozenset(np.flatnonzero(partition.cluster_of_point == c).tolist()) for c in range(k)
        }
        assert groups == leaves_of(small)


def thirds(points: np.ndarray) -> Split | None:
    order = np.argsort(points[:, 0])
    cluster = np.empty(len(points), dtype=np.int64)
    cluster[order] = np.arange(len(points)) * 3 // len(points)
    return Split.of(
        points, cluster, np.array([points[cluster == c].mean(axis=0) for c in range(3)])
    )


def test_splits_in_more_than_two_never_pass_the_limit() -> None:
    points = np.random.default_rng(1).normal(size=(60, 2))
    grown = growth(points, thirds, "size", 8, silent)
    assert len(leaves_of(grown)) == 7
    (note,) = grown.end_warnings(8)
    assert "7 leaves, not max_leaves = 8: splitting the next leaf" in note
    assert grown.end_warnings(7) == ()


@pytest.mark.parametrize("choice", get_args(Choice))
def test_points_that_cannot_be_split(choice: Choice) -> None:
    points = np.repeat([[0.0], [1.0], [5.0]], [4, 2, 1], axis=0)
    grown = growth(points, halves, choice, 10, silent)
    tree = grown.tree()
    # Named from the largest leaf on.
    assert [tree.name[leaf] for leaf in tree.leaf_of_point] == list("0000112")
    assert tree.height.max() == 2
    (note,) = grown.end_warnings(10)
    assert "no leaf could be split further" in note
    alone = growth(points[:4], halves, choice, 5, silent)
    assert alone.tree().name.tolist() == ["0"]


def test_sums_are_those_of_the_nodes() -> None:
    points = np.random.default_rng(2).normal(size=(50, 3))
    grown = growth(points, halves, "inertia", 8, silent)
    tree = grown.tree(list("abcdefgh"))
    above = [set() for _ in range(tree.n_nodes)]
    for row, leaf in enumerate(tree.leaf_of_point):
        node = int(leaf)
        while node >= 0:
            above[node].add(row)
            node = int(tree.parent[node])
    for node, rows in enumerate(above):
        inside = points[sorted(rows)]
        assert grown.centre[node] == pytest.approx(inside.mean(axis=0))
        assert tree.extra["inertia"][node] == pytest.approx((spread(inside) ** 2).sum())
        assert tree.extra["spread"][node] == pytest.approx(spread(inside).mean())
    sizes = {name: tree.size[node] for node, name in enumerate(tree.name) if name}
    assert [sizes[name] for name in "abcdefgh"] == sorted(sizes.values(), reverse=True)


def test_cancel_is_obeyed() -> None:
    def cancel(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        growth(np.eye(4), halves, "size", 3, cancel)
