"""K-means in which labelled rows stay, against its literal form; leaves that are dropped."""

from __future__ import annotations

import numpy as np
import pytest

from models.arrays import Array, Int
from models.methods.labelled.hierarchy.gathering import MOST_PASSES, gathered
from models.methods.labelled.hierarchy.new_nodes import NewNode


def literal(points: Array, row_leaf: Int, start: list[Int]) -> list[list[int]]:
    """Row by row, leaf by leaf."""
    group: list[object] = [int(leaf) if leaf > 0 else None for leaf in row_leaf]
    for number, rows in enumerate(start):
        for row in rows.tolist():
            group[row] = f"new {number}"
    for _ in range(MOST_PASSES):
        means = {
            own: np.mean([points[row] for row in range(len(group)) if group[row] == own], axis=0)
            for own in set(group) - {None}
        }
        before = list(group)
        for row in range(len(group)):
            if row_leaf[row] == 0:
                away = {own: float(np.square(points[row] - means[own]).sum()) for own in means}
                group[row] = min(away, key=lambda own: away[own])
        if group == before:
            break
    return [
        [row for row in range(len(group)) if group[row] == f"new {n}"] for n in range(len(start))
    ]


def drawn(seed: int) -> tuple[Array, Int, list[Int]]:
    """Rows of six leaves, three of them known, and the first rows of the others."""
    rng = np.random.default_rng(seed)
    truth = np.arange(6).repeat(12)
    points = 3.0 * rng.normal(size=(6, 3))[truth] + rng.normal(size=(truth.size, 3))
    row_leaf = np.where((truth < 3) & (np.arange(truth.size) % 2 == 0), truth + 1, 0)
    return points, row_leaf, [np.flatnonzero(truth == own)[:4] for own in (3, 4, 5)]


@pytest.mark.parametrize("seed", range(4))
def test_rows_go_to_the_nearest_mean_and_labelled_ones_stay(seed: int) -> None:
    points, row_leaf, start = drawn(seed)
    near = np.zeros(row_leaf.size)
    found = gathered(points, row_leaf, [NewNode(rows, 0) for rows in start], 1, near, 0.5)
    assert [node.rows.tolist() for node in found] == [
        rows for rows in literal(points, row_leaf, start) if rows
    ]
    assert not any((row_leaf[node.rows] > 0).any() for node in found)
    moved = gathered(points + 1e8, row_leaf, [NewNode(rows, 0) for rows in start], 1, near, 0.5)
    assert [node.rows.tolist() for node in moved] == [node.rows.tolist() for node in found]


def test_rows_of_new_classes_take_no_part() -> None:
    points, row_leaf, start = drawn(0)
    row_leaf[start[0]] = -1
    near = np.zeros(row_leaf.size)
    found = gathered(points, row_leaf, [NewNode(rows, 0) for rows in start[1:]], 1, near, 0.5)
    assert not np.isin(start[0], np.concatenate([node.rows for node in found])).any()


def test_leaves_that_are_small_or_not_new_are_dropped_and_lone_children_are_their_parents() -> None:
    """Node 0 holds the leaves 1 and 2; leaf 3 is beside it. Leaf 2 is not new, leaf 3 is small."""
    points = np.repeat(np.array([[0.0], [10], [20], [30]]), [6, 6, 6, 2], axis=0)
    row_leaf = np.zeros(20, dtype=np.int64)
    row_leaf[:3] = 1
    rows = [np.arange(6, 18), np.arange(6, 12), np.arange(12, 18), np.arange(18, 20)]
    nodes = [NewNode(own, above) for own, above in zip(rows, (7, -1, -1, 0), strict=True)]
    near = np.zeros(20)
    whole = gathered(points, row_leaf, nodes, 1, near, 0.5)
    assert [(node.rows.tolist(), node.above) for node in whole] == [
        (rows[0].tolist(), 7),
        (rows[1].tolist(), -1),
        (rows[2].tolist(), -1),
        (rows[3].tolist(), 0),
    ]
    near[12:18] = 0.5
    found = gathered(points, row_leaf, nodes, 3, near, 0.5)
    assert [(node.rows.tolist(), node.above) for node in found] == [(rows[1].tolist(), 7)]
