"""The nodes of a binary tree, as it grows by splits and shrinks by pruning.

A shape is never changed: a split and a pruning give a new one. Nodes are numbered parents first,
the root 0. Leaves are taken in the order of their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.arrays import Int, Mask


@dataclass(frozen=True)
class TreeShape:
    """A binary tree: every node has two children or none.

    parent : (n_nodes,) of each node, -1 for the root.
    """

    parent: Int

    @classmethod
    def root(cls) -> TreeShape:
        """The tree of one node."""
        return cls(np.array([-1]))

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def n_leaves(self) -> int:
        return (self.n_nodes + 1) // 2

    @cached_property
    def leaves(self) -> Int:
        """(n_leaves,) the nodes without children."""
        return np.flatnonzero(np.bincount(self.parent[1:], minlength=self.n_nodes) == 0)

    @cached_property
    def sibling(self) -> Int:
        """(n_nodes,) the other child of each node's parent; the root's is itself."""
        sibling = np.zeros(self.n_nodes, dtype=np.int64)
        # Sorted by parent, the children of a node stand side by side.
        pairs = 1 + np.argsort(self.parent[1:], kind="stable").reshape(-1, 2)
        sibling[pairs] = pairs[:, ::-1]
        return sibling

    @cached_property
    def below(self) -> Mask:
        """(n_nodes, n_leaves) whether a leaf is the node or below it."""
        below = np.zeros((self.n_nodes, self.n_leaves), dtype=bool)
        below[self.leaves, np.arange(self.n_leaves)] = True
        for node in range(self.n_nodes - 1, 0, -1):
            below[self.parent[node]] |= below[node]
        return below

    @cached_property
    def paths(self) -> Int:
        """(n_leaves, depth) the nodes from each leaf up to below the root, then `n_nodes`."""
        above = np.append(np.where(self.parent <= 0, self.n_nodes, self.parent), self.n_nodes)
        nodes = np.where(self.leaves == 0, self.n_nodes, self.leaves)
        columns = []
        while (nodes < self.n_nodes).any():
            columns.append(nodes)
            nodes = above[nodes]
        return np.stack(columns, axis=1) if columns else np.empty((self.n_leaves, 0), np.int64)

    def split(self, leaf: int) -> TreeShape:
        """The tree in which a leaf has two children, the last two nodes."""
        return TreeShape(np.append(self.parent, [leaf, leaf]))

    def pruned(self, leaf: int) -> tuple[TreeShape, Int]:
        """The tree without a leaf, whose sibling takes the place of their parent; and the nodes
        that are left, by their former numbers. The leaf is not the root."""
        above = int(self.parent[leaf])
        parent = self.parent.copy()
        parent[self.sibling[leaf]] = parent[above]
        left = np.delete(np.arange(self.n_nodes), [above, leaf])
        number = np.full(self.n_nodes + 1, -1)
        number[left] = np.arange(left.size)
        return TreeShape(number[parent[left]]), left
