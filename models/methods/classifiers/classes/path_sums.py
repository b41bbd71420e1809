"""Weights of very many classes as sums along the paths of a tree, each node's own part compressed.

What a node adds to its parent is large at few words, where its whole weights are not: a class
whose bias is far below 0 has weights at nearly all words, which it shares with its family.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.arrays import Arrays, Float, Int, Matrix
from models.methods.classifiers.classes.compressed import CompressedRows


@dataclass(frozen=True, eq=False)
class PathSums:
    """Rows of a matrix.

    own : what each node adds to the row of its parent. parent : (n_nodes,) -1 for none; parents
        come first. node : (n_rows,) the node of each row.
    """

    own: CompressedRows
    parent: Int
    node: Int

    @classmethod
    def alone(cls, rows: CompressedRows) -> PathSums:
        """Rows that share nothing."""
        return cls(rows, np.full(rows.n_rows, -1, dtype=np.int64), np.arange(rows.n_rows))

    @property
    def n_rows(self) -> int:
        return int(self.node.size)

    @property
    def n_columns(self) -> int:
        return self.own.n_columns

    def row(self, number: int) -> Float:
        """(n_columns,) one row, dense. O(D depth)."""
        node = int(self.node[number])
        row = self.own.row(node)
        while self.parent[node] >= 0:
            node = int(self.parent[node])
            row += self.own.row(node)
        return row

    def columns(self, some: slice) -> Float:
        """(n_rows, n_some) some columns, dense."""
        values = self.own.columns(some)
        for nodes in self._levels:
            values[nodes] += values[self.parent[nodes]]
        return np.asarray(values[self.node])

    def scores(self, features: Matrix) -> Float:
        """(n_points, n_rows) products with features, as `CompressedRows.scores`."""
        values = self.own.scores(features)
        for nodes in self._levels:
            values[:, nodes] += values[:, self.parent[nodes]]
        return np.asarray(values[:, self.node])

    @cached_property
    def _levels(self) -> list[Int]:
        """The nodes that have a parent, level by level from the top."""
        depth = np.zeros(self.parent.size, dtype=np.int64)
        for node in np.flatnonzero(self.parent >= 0).tolist():
            depth[node] = depth[self.parent[node]] + 1
        order = np.argsort(depth, kind="stable")
        ends = np.cumsum(np.bincount(depth, minlength=1))
        return np.split(order, ends[:-1])[1:]

    def arrays(self, prefix: str = "") -> Arrays:
        own = self.own.arrays(prefix)
        return {**own, f"{prefix}parent": self.parent, f"{prefix}node": self.node}

    @classmethod
    def of_arrays(cls, arrays: Arrays, n_columns: int, prefix: str = "") -> PathSums:
        """Those of `arrays`, not copied."""
        own = CompressedRows.of_arrays(arrays, n_columns, prefix)
        parent, node = (np.asarray(arrays[f"{prefix}{name}"]) for name in ("parent", "node"))
        return cls(own, parent, node)
