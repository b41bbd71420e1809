"""The tree: one frozen table of columns, a node is a row number.

Every result of every method is a `Tree`: a hierarchy, or a partition as a tree of depth one. All
algorithms over trees are functions elsewhere in this package; none recurses, so depth is no limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree
from models.tree import parents

Kind = Literal["hierarchy", "partition"]


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree over `n_nodes` nodes with `n_points` input rows at its leaves.

    Parameters
    ----------
    parent : (n_nodes,) int32. Row of the parent, -1 for the root. Parents come before children.
    height : (n_nodes,) float64, finite. Never falls from child to parent while `monotone`.
    size : (n_nodes,) int64. Number of points under the node.
    name : (n_nodes,) object, `str` or `None` each.
    leaf_of_point : (n_points,) int32. The leaf node of each input row.
    kind : "hierarchy" or "partition" (depth one).
    monotone : False where heights may fall from child to parent (centroid and median linkage).
    extra : further columns by name, each of length n_nodes (`parent_probability`, ...).
    warnings : what its reader dropped or decided, where it was read from another tool's text.

    Children of a node are ordered by row number.
    """

    parent: npt.NDArray[np.int32]
    height: npt.NDArray[np.float64]
    size: npt.NDArray[np.int64]
    name: npt.NDArray[np.object_]
    leaf_of_point: npt.NDArray[np.int32]
    kind: Kind = "hierarchy"
    monotone: bool = True
    extra: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def n_nodes(self) -> int:
        return int(self.parent.shape[0])

    @property
    def n_points(self) -> int:
        return int(self.leaf_of_point.shape[0])

    @property
    def n_leaves(self) -> int:
        return int(self.leaves.shape[0])

    @cached_property
    def n_children(self) -> npt.NDArray[np.int64]:
        """(n_nodes,) number of children of each node."""
        return np.bincount(self.parent[1:], minlength=self.n_nodes)

    @cached_property
    def leaves(self) -> npt.NDArray[np.int64]:
        """(n_leaves,) rows of the leaves, in row order."""
        return np.flatnonzero(self.n_children == 0)

    @cached_property
    def children(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Children in compressed rows: node v has `child[start[v]:start[v + 1]]`.

        Returns `start` (n_nodes + 1,) and `child` (n_nodes - 1,), each node's in row order.
        """
        return parents.children(self.parent)

    @cached_property
    def depth(self) -> npt.NDArray[np.int64]:
        """(n_nodes,) edges to the root, by pointer doubling: O(n_nodes log depth), no recursion."""
        jump = self.parent.astype(np.int64)
        jump[0] = 0
        depth = np.ones(self.n_nodes, dtype=np.int64)
        depth[0] = 0
        while jump.any():
            depth += depth[jump]
            jump = jump[jump]
        return depth

    @property
    def max_depth(self) -> int:
        return int(self.depth.max())

    def validate(self) -> Tree:
        """Check every invariant; returns self so that builders can return the result. O(n_nodes).

        Raises
        ------
        InvalidTree : columns of different lengths, no node, a parent that does not come before its
            child, more than one root, a height that is not finite or falls from child to parent
            while `monotone`, a point at an inner node, a size that is not the number of points
            under the node, a partition deeper than one.
        """
        n = self.n_nodes
        if n == 0:
            raise InvalidTree("A tree needs at least one node.")
        for column in ("height", "size", "name"):
            if len(getattr(self, column)) != n:
                got = len(getattr(self, column))
                raise InvalidTree(f"Column {column!r} has {got} rows, the tree has {n} nodes.")
        for column, values in self.extra.items():
            if len(values) != n:
                raise InvalidTree(
                    f"Column {column!r} has {len(values)} rows, the tree has {n} nodes."
                )
        if self.parent[0] != -1:
            raise InvalidTree("Node 0 must be the root (parent -1).", node=0)
        late = np.flatnonzero(
            (self.parent[1:] < 0) | (self.parent[1:] >= np.arange(1, n, dtype=np.int64))
        )
        if late.size:
            node = int(late[0]) + 1
            raise InvalidTree(
                f"Node {node} has parent {int(self.parent[node])}; parents come before children "
                "and only node 0 is a root.",
                node=node,
            )
        odd = np.flatnonzero(~np.isfinite(self.height))
        if odd.size:
            raise InvalidTree(f"The height of node {int(odd[0])} is not finite.", node=int(odd[0]))
        if self.monotone and n > 1:
            falls = np.flatnonzero(self.height[1:] > self.height[self.parent[1:]])
            if falls.size:
                node = int(falls[0]) + 1
                raise InvalidTree(
                    f"Node {node} lies higher than its parent in a tree that claims to be "
                    "monotone.",
                    node=node,
                )
        if self.n_points:
            low, high = int(self.leaf_of_point.min()), int(self.leaf_of_point.max())
            if low < 0 or high >= n:
                raise InvalidTree(f"A point lies in node {low if low < 0 else high}: no such node.")
        inside = np.bincount(self.leaf_of_point, minlength=n)
        inner = np.flatnonzero((inside > 0) & (self.n_children > 0))
        if inner.size:
            point = int(np.flatnonzero(np.isin(self.leaf_of_point, inner))[0])
            raise InvalidTree(
                f"Point {point} lies in node {int(self.leaf_of_point[point])}, which is not a "
                "leaf.",
                point=point,
            )
        wrong = np.flatnonzero(self.size != inside + np.bincount(self.parent[1:], self.size[1:], n))
        if wrong.size:
            # The sizes below the last one are correct.
            node = int(wrong[-1])
            raise InvalidTree(f"The size of node {node} is not its number of points.", node=node)
        if self.kind == "partition" and n > 1 and self.parent[1:].any():
            raise InvalidTree("A partition is a tree of depth one.")
        return self


def sizes(
    parent: npt.NDArray[np.int32], leaf_of_point: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """(n_nodes,) number of points under each node. O(n_nodes log depth + n_points)."""
    return parents.under(parent, np.bincount(leaf_of_point, minlength=parent.shape[0]))
