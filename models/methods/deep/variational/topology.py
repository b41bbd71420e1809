"""The shape of a binary tree that grows: nodes by number, children after their parents.

A node keeps its number for good. A leaf that is pruned leaves its sibling as an only child.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Int

NONE = -1
ROOT = 0


@dataclass(frozen=True, slots=True)
class Topology:
    """children : (n_numbers, 2) the children's numbers, `NONE` where there is none.

    Numbers of nodes that were removed occur nowhere else.
    """

    children: Int

    @classmethod
    def stump(cls) -> Topology:
        """A root with two leaves."""
        return cls(np.array([[1, 2], [NONE, NONE], [NONE, NONE]], dtype=np.int64))

    def below(self, node: int) -> list[int]:
        """The children of a node: two, one or none."""
        return [int(child) for child in self.children[node] if child != NONE]

    def nodes(self, top: int = ROOT) -> list[int]:
        """The nodes at and under `top`, ascending: parents before children."""
        reached = [top]
        for node in reached:  # grows while it is read
            reached.extend(self.below(node))
        return sorted(reached)

    def leaves(self, top: int = ROOT) -> list[int]:
        """The leaves at and under `top`, ascending."""
        return [node for node in self.nodes(top) if not self.below(node)]

    def routers(self, top: int = ROOT) -> list[int]:
        """The nodes with two children, ascending."""
        return [node for node in self.nodes(top) if len(self.below(node)) == 2]

    def parent(self) -> Int:
        """(n_numbers,) the parent of each node; `NONE` for the root and for removed nodes."""
        parent = np.full(len(self.children), NONE, dtype=np.int64)
        for node in self.nodes():
            parent[self.below(node)] = node
        return parent

    def depth(self) -> Int:
        """(n_numbers,) edges from the root; 0 for removed nodes."""
        depth = np.zeros(len(self.children), dtype=np.int64)
        for node in self.nodes():
            depth[self.below(node)] = depth[node] + 1
        return depth

    def split(self, leaf: int) -> Topology:
        """The tree with two new leaves under a leaf; they get the next two numbers."""
        first = len(self.children)
        children = np.concatenate([self.children, np.full((2, 2), NONE, dtype=np.int64)])
        children[leaf] = first, first + 1
        return Topology(children)

    def pruned(self, leaf: int) -> Topology:
        """The tree without a leaf, and without ancestors that lose their only child.

        The root stays: the last leaf is not to be pruned.
        """
        children, parent = self.children.copy(), self.parent()
        node = leaf
        while True:
            above = int(parent[node])
            children[above][children[above] == node] = NONE
            if (children[above] != NONE).any():
                return Topology(children)
            node = above

    def paths(self) -> tuple[list[int], dict[int, list[int]]]:
        """The leaves, and for each node the places of the leaves at or under it among them."""
        leaves, parent = self.leaves(), self.parent()
        under: dict[int, list[int]] = {node: [] for node in self.nodes()}
        for place, leaf in enumerate(leaves):
            node = leaf
            while node != NONE:
                under[node].append(place)
                node = int(parent[node])
        return leaves, under
