"""Trees grown from the root: the best leaf is split until the tree has `max_leaves` leaves.

The best leaf (Zhou et al., "Hierarchical Maximum-Margin Clustering", 2015, section 5, and
scikit-learn's BisectingKMeans):

- 'compact': each leaf is split on trial; the best is the leaf whose points then lie nearest to
  their centres on average.
- 'scattered': the leaf with the largest sum of distances of its points to its centre.
- 'inertia': the leaf with the largest sum of squared distances; 'size': with the most points.

Ties go to the oldest leaf. A trial is kept until its leaf is split, so each leaf is tried only
once. Heights count the splits: the last split has height 1 and the root the largest height. Cutting
the tree to k leaves therefore gives the tree as it was when it had k leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.clusters.placing import by_size
from models.inputs.rows import ChosenRows, Rows
from models.running.progress import Progress
from models.tree.build import from_parents
from models.tree.parents import under
from models.tree.tree import Tree

Choice = Literal["compact", "scattered", "inertia", "size"]


@dataclass(frozen=True, slots=True)
class Split:
    """Points in `k` >= 2 clusters, none of them empty.

    cluster : (n_points,) 0 .. k - 1. centre : (k, D).
    distance, inertia : (k,) sums of the points' distances to their centres, and of the squares.
    """

    cluster: Int
    centre: Float
    distance: Float
    inertia: Float

    @classmethod
    def of(cls, points: Array, cluster: Int, centre: Float) -> Split:
        """With the sums, by one pass over the points."""
        k = len(centre)
        distance, inertia = np.zeros(k), np.zeros(k)
        for block in row_blocks(*points.shape):
            apart = centre[cluster[block]] - points[block]
            squared = np.einsum("nd,nd->n", apart, apart)
            inertia += np.bincount(cluster[block], squared, k)
            distance += np.bincount(cluster[block], np.sqrt(squared), k)
        return cls(cluster, centre, distance, inertia)


Splitter: TypeAlias = Callable[[Rows], Split | None]
"""Splits points; returns None where they cannot be split."""


@dataclass(frozen=True, slots=True)
class GrownTree:
    """A tree with the centre of each node.

    parent : (n_nodes,) parents first. step : (n_nodes,) number of the split, -1 for a leaf.
    distance, inertia : (n_nodes,) sums of distances, and of their squares, to the node's centre.
    n_stuck : leaves that could not be split when their turn came.
    """

    parent: Int
    step: Int
    centre: Float
    distance: Float
    inertia: Float
    leaf_of_point: Int
    n_stuck: int

    @property
    def size(self) -> Int:
        """(n_nodes,) points under each node."""
        inside = np.bincount(self.leaf_of_point, minlength=self.parent.size)
        return under(self.parent.astype(np.int32), inside)

    def tree(self, names: list[str] | None = None) -> Tree:
        """The tree, with columns `inertia` and `spread`, the mean distance of points to the centre.

        names : of the leaves from the largest to the smallest, ties ordered by their centres;
            None for numbers. Rows keep their numbers.
        """
        size = self.size
        leaf = np.flatnonzero(self.step < 0)
        order = leaf[by_size(size[leaf], self.centre[leaf])]
        name = np.full(self.parent.size, None, dtype=object)
        name[order] = names or [str(number) for number in range(order.size)]
        height = np.where(self.step < 0, 0, self.step.max(initial=-1) + 1 - self.step)
        extra = {"inertia": self.inertia, "spread": self.distance / size}
        return from_parents(self.parent, height, name, self.leaf_of_point, extra=extra)

    def end_warnings(self, max_leaves: int) -> tuple[str, ...]:
        """A warning where there are fewer than `max_leaves` leaves."""
        n_leaves = int((self.step < 0).sum())
        if n_leaves >= max_leaves:
            return ()
        reason = (
            "no leaf could be split further"
            if self.n_stuck == n_leaves
            else "splitting the next leaf would have exceeded it"
        )
        return (f"The tree has {n_leaves} leaves, not max_leaves = {max_leaves}: {reason}.",)


def grow(
    points: Rows, split: Splitter, choice: Choice, max_leaves: int, progress: Progress
) -> GrownTree:
    """The tree with at most `max_leaves` leaves.

    It has fewer where no leaf can be split or the next split would exceed the limit.
    """
    growing = _Growing(points, split, choice)
    while growing.n_leaves < max_leaves:
        progress(
            growing.n_leaves / max_leaves, "splitting", f"{growing.n_leaves:,} of {max_leaves:,}"
        )
        if not growing.split_best(max_leaves):
            break
    return growing.grown()


class _Growing:
    """A tree while it grows; a leaf's `rows` are the points in it, None for all points."""

    def __init__(self, points: Rows, split: Splitter, choice: Choice) -> None:
        self._points, self._split, self._choice = points, split, choice
        self._parent: list[int] = []
        self._step: list[int] = []
        self._centre: list[Float] = []
        self._sums: list[tuple[float, float]] = []
        self._rows: dict[int, Int | None] = {}
        self._trial: dict[int, Split | None] = {}
        self._waiting: list[tuple[float, int]] = []
        self._n_steps = 0
        self._n_stuck = 0
        self.n_leaves = 1
        mean = _mean(points)
        self._add(-1, None, mean, _sums(points, mean))

    def split_best(self, max_leaves: int) -> bool:
        """Split the best leaf; False where none can be split within `max_leaves`."""
        while self._waiting:
            _, node = heapq.heappop(self._waiting)
            division = self._tried(node)
            if division is None:
                self._n_stuck += 1
                continue
            if self.n_leaves + len(division.centre) - 1 > max_leaves:
                return False
            self._step[node] = self._n_steps
            self._n_steps += 1
            self.n_leaves += len(division.centre) - 1
            rows = self._rows.pop(node)
            # Numbers of one or two bytes are sorted by radix.
            short = division.cluster.astype(np.min_scalar_type(len(division.centre)))
            order = np.argsort(short, kind="stable")
            ends = np.cumsum(np.bincount(division.cluster, minlength=len(division.centre)))
            for child, part in enumerate(np.split(order, ends[:-1])):
                inside = part if rows is None else rows[part]
                sums = float(division.distance[child]), float(division.inertia[child])
                self._add(node, inside, division.centre[child], sums)
            return True
        return False

    def grown(self) -> GrownTree:
        leaf = np.zeros(self._points.shape[0], dtype=np.int64)
        for node, rows in self._rows.items():
            if rows is not None:
                leaf[rows] = node
        distance, inertia = np.array(self._sums).T
        return GrownTree(
            np.array(self._parent),
            np.array(self._step),
            np.array(self._centre),
            distance,
            inertia,
            leaf,
            self._n_stuck,
        )

    def _add(self, parent: int, rows: Int | None, centre: Float, sums: tuple[float, float]) -> None:
        node = len(self._parent)
        self._parent.append(parent)
        self._step.append(-1)
        self._centre.append(centre)
        self._sums.append(sums)
        self._rows[node] = rows
        n_points = self._points.shape[0] if rows is None else len(rows)
        if self._choice == "compact":
            trial = self._trial[node] = self._try(rows)
            if trial is None:
                self._n_stuck += 1
                return
            badness = float(trial.distance.sum()) / n_points
        else:
            badness = -{"scattered": sums[0], "inertia": sums[1], "size": n_points}[self._choice]
        heapq.heappush(self._waiting, (badness, node))

    def _tried(self, node: int) -> Split | None:
        if node in self._trial:
            return self._trial.pop(node)
        return self._try(self._rows[node])

    def _try(self, rows: Int | None) -> Split | None:
        if rows is not None and len(rows) < 2:
            return None
        return self._split(self._inside(rows))

    def _inside(self, rows: Int | None) -> Rows:
        return self._points if rows is None else ChosenRows(self._points, rows)


def _mean(points: Rows) -> Float:
    n_points, n_columns = points.shape
    total = np.zeros(n_columns)
    for block in row_blocks(n_points, n_columns):
        total += points.values(block.start, block.stop).sum(axis=0, dtype=np.float64)
    return total / n_points


def _sums(points: Rows, centre: Float) -> tuple[float, float]:
    """Sums of the points' distances to a centre, and of their squares."""
    total = squares = 0.0
    for block in row_blocks(*points.shape):
        apart = points.values(block.start, block.stop) - centre
        squared = np.einsum("nd,nd->n", apart, apart)
        squares += float(squared.sum())
        total += float(np.sqrt(squared).sum())
    return total, squares
