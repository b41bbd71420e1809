"""PERCH written plainly: sets of points and a matrix of distances, no bounds."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from models.tree.tree import Tree


class Node:
    def __init__(self, points: list[int], left: Node | None = None, right: Node | None = None):
        self.points, self.left, self.right, self.parent = points, left, right, None
        for child in (left, right):
            if child is not None:
                child.parent = self

    @property
    def sibling(self) -> Node:
        return self.parent.right if self.parent.left is self else self.parent.left

    @property
    def aunt(self) -> Node | None:
        return self.parent.sibling if self.parent and self.parent.parent else None

    @property
    def is_leaf(self) -> bool:
        return self.left is None


class Naive:
    """The tree over rows of `points`, in order; `max_leaves` None for no limit."""

    def __init__(self, points: np.ndarray, balance: bool, max_leaves: int | None = None) -> None:
        self.at = points
        self.distance = cdist(points, points)
        self.balance = balance
        self.leaf = {0: Node([0])}
        self.n_rotations = 0
        for row in range(1, len(points)):
            self.insert(row)
            if max_leaves is not None and len(set(self.leaf.values())) > max_leaves:
                self.collapse()

    @property
    def root(self) -> Node:
        node = self.leaf[0]
        while node.parent:
            node = node.parent
        return node

    def between(self, one: Node, other: Node) -> np.ndarray:
        return self.distance[np.ix_(one.points, other.points)]

    def insert(self, row: int) -> None:
        nearest = int(self.distance[row, :row].argmin())
        leaf = self.leaf[nearest]
        if self.distance[row, nearest] == 0:
            self.leaf[row] = node = leaf
            while node:
                node.points.append(row)
                node = node.parent
            return
        self.leaf[row] = new = Node([row])
        above = leaf.parent
        both = Node([*leaf.points], leaf, new)
        both.parent = above
        if above and above.left is leaf:
            above.left = both
        elif above:
            above.right = both
        node = both
        while node:
            node.points.append(row)
            node = node.parent
        self.settle(leaf)
        if self.balance:
            self.level(leaf)

    def settle(self, node: Node) -> None:
        while node.aunt:
            if self.between(node, node.sibling).min() > self.between(node, node.aunt).max():
                self.rotate(node)
            elif not node.is_leaf:
                return
            node = node.parent

    def level(self, node: Node) -> None:
        while node.aunt:
            sides = sorted((node.sibling, node), key=lambda side: len(side.points))
            if len(node.sibling.points) == len(node.points):
                sides = [node, node.sibling]
            above = node.parent
            for side in sides:
                if self.evens_out(side) and self.drawn(side):
                    self.rotate(side)
                    break
            node = above

    @staticmethod
    def evens_out(node: Node) -> bool:
        own, sibling, aunt = (len(one.points) for one in (node, node.sibling, node.aunt))
        return abs(sibling - aunt - own) < abs(sibling + own - aunt)

    def drawn(self, node: Node) -> bool:
        farthest = self.between(node, node.sibling).max(axis=1)
        return bool((farthest > self.between(node, node.aunt).min(axis=1)).any())

    def rotate(self, node: Node) -> None:
        sibling, aunt, above = node.sibling, node.aunt, node.parent
        top = above.parent
        above.left, above.right, above.points = node, aunt, node.points + aunt.points
        top.left, top.right = above, sibling
        aunt.parent, sibling.parent = above, top
        self.n_rotations += 1

    def diagonal(self, node: Node) -> float:
        rows = self.at[node.points]
        return float(((rows.max(axis=0) - rows.min(axis=0)) ** 2).sum())

    def collapse(self) -> None:
        leaves = set(self.leaf.values())
        above = {leaf.parent for leaf in leaves if leaf.sibling.is_leaf}
        node = min(above, key=self.diagonal)
        for row in node.points:
            self.leaf[row] = node
        node.left = node.right = None

    def clades(self) -> set[frozenset[int]]:
        clades, waiting = set(), [self.root]
        while waiting:
            node = waiting.pop()
            clades.add(frozenset(node.points))
            if not node.is_leaf:
                waiting += [node.left, node.right]
        return clades


def clades(tree: Tree) -> set[frozenset[int]]:
    """The points under each node."""
    under: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for row, leaf in enumerate(tree.leaf_of_point):
        under[leaf].add(row)
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    return {frozenset(points) for points in under}
