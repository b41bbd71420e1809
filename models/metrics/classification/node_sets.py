"""A set of nodes for each row, and the paths from the root to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.arrays import Int, Mask
from models.tree import walk
from models.tree.parents import under
from models.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class NodeSets:
    """Distinct pairs of a row and a node of its set, by row, then in preorder.

    In preorder, the paths of two neighbours share what the later one shares with all before it, so
    that paths are counted from neighbours alone: no cost depends on the depth of the tree.
    """

    tree: Tree
    n_rows: int
    row: Int
    node: Int

    @classmethod
    def of(cls, tree: Tree, n_rows: int, row: Int, node: Int) -> NodeSets:
        """The sets of pairs in any order, which may occur more than once. O(n_pairs log n_pairs)"""
        rank, _ = walk.ranks(tree.parent)
        order = np.empty_like(rank)
        order[rank] = np.arange(rank.size)
        rows, ranks = np.divmod(np.unique(row * tree.n_nodes + rank[node]), tree.n_nodes)
        return cls(tree, n_rows, rows, order[ranks])

    @cached_property
    def key(self) -> Int:
        """(n_pairs,) a number that stands for the pair."""
        return self.row * self.tree.n_nodes + self.node

    @cached_property
    def n_each(self) -> Int:
        """(n_rows,) size of each set."""
        return np.bincount(self.row, minlength=self.n_rows)

    @cached_property
    def path_sizes(self) -> Int:
        """(n_rows,) number of nodes that are in the set or above one of it, without the root."""
        row, meet = self._meets
        depth = self.tree.depth
        longer = np.bincount(self.row, depth[self.node], minlength=self.n_rows)
        return (longer - np.bincount(row, depth[meet], minlength=self.n_rows)).astype(np.int64)

    @cached_property
    def n_through(self) -> Int:
        """(n_nodes,) number of rows whose set has the node or one below it."""
        _, meet = self._meets
        n_nodes = self.tree.n_nodes
        ends = np.bincount(self.node, minlength=n_nodes) - np.bincount(meet, minlength=n_nodes)
        return under(self.tree.parent, ends)

    def union(self, other: NodeSets) -> NodeSets:
        """The union of both sets of each row."""
        row = np.concatenate([self.row, other.row])
        return NodeSets.of(self.tree, self.n_rows, row, np.concatenate([self.node, other.node]))

    def has(self, row: Int, node: Int) -> Mask:
        """Whether the node of each pair is in the set of its row."""
        return np.isin(row * self.tree.n_nodes + node, self.key)

    def deepest(self) -> NodeSets:
        """The sets without nodes that lie above another one of theirs."""
        rank, weight = walk.ranks(self.tree.parent)
        own, following = rank[self.node[:-1]], rank[self.node[1:]]
        above = np.zeros(self.row.size, dtype=bool)
        above[:-1] = (self.row[:-1] == self.row[1:]) & (following < own + weight[self.node[:-1]])
        return NodeSets(self.tree, self.n_rows, self.row[~above], self.node[~above])

    @cached_property
    def _meets(self) -> tuple[Int, Int]:
        """Row and lowest common ancestor of every two neighbours in one set."""
        same = np.flatnonzero(self.row[1:] == self.row[:-1])
        return self.row[same], walk.lca(self.tree, self.node[same], self.node[same + 1])
