"""Ward's tree of some rows: size, spread and mean of each of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int
from models.numerics.agglomeration import merged_points


@dataclass(frozen=True, slots=True)
class WardTree:
    """Nodes 0 .. n - 1 are the rows, and later ones merges, children before parents.

    children : (n - 1, 2) of the merges. size : (2 n - 1,). mean : (2 n - 1, r).
    variance : (2 n - 1,) the sum over columns of the rows' variances, 0 for a row.
    """

    children: Int
    size: Int
    mean: Float
    variance: Float

    @classmethod
    def of(cls, points: Array) -> WardTree:
        """points : (n, r), n > 0. O(n^2 r) time, O(n r) memory."""
        n_rows, n_columns = points.shape
        children = np.empty((0, 2), dtype=np.int64)
        if n_rows > 1:
            children = merged_points(points, "ward")[:, :2].astype(np.int64)
        n_nodes = 2 * n_rows - 1
        size = np.ones(n_nodes, dtype=np.int64)
        mean = np.empty((n_nodes, n_columns))
        mean[:n_rows] = points
        squares = np.zeros(n_nodes)
        for node, (left, right) in enumerate(children.tolist(), start=n_rows):
            size[node] = size[left] + size[right]
            share = size[right] / size[node]
            away = mean[right] - mean[left]
            mean[node] = mean[left] + share * away
            squares[node] = squares[left] + squares[right] + size[left] * share * (away @ away)
        return cls(children, size, mean, squares / np.maximum(size - 1, 1))

    @property
    def n_rows(self) -> int:
        return int(self.children.shape[0]) + 1

    def below(self, node: int) -> list[int]:
        """The two children of a node, none of a row."""
        merge = node - self.n_rows
        return self.children[merge].tolist() if merge >= 0 else []

    def rows(self, node: int) -> Int:
        """The rows at or below a node."""
        rows, waiting = [], [node]
        while waiting:
            some = waiting.pop()
            if some < self.n_rows:
                rows.append(some)
            else:
                waiting.extend(self.below(some))
        return np.array(rows, dtype=np.int64)

    def means(self, values: Float) -> Float:
        """(2 n - 1, c) the mean over the rows of each node. values : (n, c)."""
        means = np.empty((self.size.size, values.shape[1]))
        means[: self.n_rows] = values
        for node, pair in enumerate(self.children, start=self.n_rows):
            means[node] = (self.size[pair] @ means[pair]) / self.size[node]
        return means
