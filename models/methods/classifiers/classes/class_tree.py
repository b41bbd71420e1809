"""The hierarchy over the classes, as the solvers use it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.arrays import Int, Mask
from models.tree.parents import children, under


@dataclass(frozen=True, eq=False)
class ClassTree:
    """A tree whose leaves are the classes.

    parent : (n_nodes,) -1 for the root, node 0; parents come before children.
    node : (n_classes,) the leaf of each class; every leaf is a class.
    """

    parent: Int
    node: Int

    @property
    def n_nodes(self) -> int:
        return int(self.parent.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.node.shape[0])

    @cached_property
    def children(self) -> tuple[Int, Int]:
        """The children of node v are `child[start[v]:start[v + 1]]`: (start, child)."""
        return children(self.parent.astype(np.int32))

    @cached_property
    def n_children(self) -> Int:
        return np.bincount(self.parent[1:], minlength=self.n_nodes)

    @cached_property
    def depth(self) -> Int:
        """(n_nodes,) number of nodes above each node."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node in range(1, self.n_nodes):
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @cached_property
    def below(self) -> tuple[Int, Int, Int]:
        """For each node the classes below it, and the child of the node that leads to each.

        Those of node v are at `start[v]:start[v + 1]`, classes ascending: (start, class, child).
        O(K x depth).
        """
        nodes, classes, children = [], [], []
        class_, child = np.arange(self.n_classes), self.node
        while child.size:
            node = self.parent[child]
            class_, child, node = class_[node >= 0], child[node >= 0], node[node >= 0]
            nodes.append(node)
            classes.append(class_)
            children.append(child)
            child = node
        above = np.concatenate(nodes)
        order = np.lexsort((np.concatenate(classes), above))
        start = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(above, minlength=self.n_nodes), out=start[1:])
        return start, np.concatenate(classes)[order], np.concatenate(children)[order]

    @classmethod
    def over(cls, parent: Int, node: Int) -> ClassTree:
        """The part of a tree that leads to classes; other nodes are left out.

        parent : (n_nodes,) of the whole tree. node : (n_classes,) leaves in it. O(n_nodes).
        """
        times = np.bincount(node, minlength=parent.shape[0])
        return _kept(parent, node, under(parent.astype(np.int32), times) > 0)

    def contracted(self) -> ClassTree:
        """The tree without inner nodes that have one child; a root with one child goes as well.

        O(n_nodes).
        """
        return _kept(self.parent, self.node, self.n_children != 1)


def _kept(parent: Int, node: Int, keep: Mask) -> ClassTree:
    """The tree of the nodes to keep; each hangs below the nearest kept node above it."""
    above = np.full(parent.shape[0], -1, dtype=np.int64)
    for child in range(1, parent.shape[0]):
        over = parent[child]
        above[child] = over if keep[over] else above[over]
    number = np.cumsum(keep) - 1
    kept_above = above[keep]
    return ClassTree(np.where(kept_above < 0, -1, number[kept_above]), number[node])
