"""Inner nodes eliminated from the quadratic penalty of a tree of weights.

The penalty is 1/2 sum_n e_n |w_n - w_parent|^2, with 1/2 e_0 |w_0|^2 at the root and a precision
e_n for each node, or for each node and feature. For given weights of the leaves the best ones of
the inner nodes follow by one pass up and one down: the penalty of what is under a node is a
quadratic of the node's weights, r_n (w_n - m_n)^2 / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.classifiers.classes.class_tree import ClassTree


@dataclass(frozen=True, eq=False)
class Levels:
    """The nodes of a tree by depth.

    nodes : for each depth from 1 on, the nodes there in the order of their parents. parents, first
        : their distinct parents, and where the children of each begin in `nodes`.
    """

    nodes: tuple[Int, ...]
    parents: tuple[Int, ...]
    first: tuple[Int, ...]

    @classmethod
    def of(cls, tree: ClassTree) -> Levels:
        order = np.lexsort((tree.parent, tree.depth))
        ends = np.flatnonzero(np.diff(tree.depth[order])) + 1
        nodes = np.split(order, ends)[1:]
        parents, first = [], []
        for level in nodes:
            distinct, begins = np.unique(tree.parent[level], return_index=True)
            parents.append(distinct)
            first.append(begins)
        return cls(tuple(nodes), tuple(parents), tuple(first))


class Elimination:
    """The penalty as a function of the leaves' weights, for given precisions.

    precision : (n_nodes, 1) or (n_nodes, n_features), positive.
    """

    def __init__(self, tree: ClassTree, levels: Levels, precision: Float) -> None:
        self._tree, self._levels, self._precision = tree, levels, precision
        below = np.zeros_like(precision)
        pull = precision.copy()
        inner = tree.n_children > 0
        for nodes, parents, first in _upwards(levels):
            within = nodes[inner[nodes]]
            joint = below[within] + precision[within]
            pull[within] = precision[within] * (below[within] / joint)
            below[parents] += np.add.reduceat(pull[nodes], first, axis=0)
        self._inner, self._below, self._pull = inner, below, pull

    def nodes(self, leaves: Float) -> Float:
        """(n_nodes, n_features) the weights of all nodes, the inner ones' being the best.

        leaves : (n_classes, n_features). O(n_nodes n_features).
        """
        tree, below, precision = self._tree, self._below, self._precision
        weights = np.zeros((tree.n_nodes, leaves.shape[1]))
        weights[tree.node] = leaves
        for nodes, parents, first in _upwards(self._levels):
            pulled = np.add.reduceat(self._pull[nodes] * weights[nodes], first, axis=0)
            weights[parents] += pulled / below[parents]
        weights[0] *= below[0] / (below[0] + precision[0])
        for nodes in self._levels.nodes:
            within = nodes[self._inner[nodes]]
            above = weights[tree.parent[within]]
            pulled = below[within] * weights[within] + precision[within] * above
            weights[within] = pulled / (below[within] + precision[within])
        return weights

    def gradient(self, leaves: Float) -> Float:
        """(n_classes, n_features) of the penalty at its least over the inner nodes.

        It is linear in the leaves, and half its product with them is the penalty.
        """
        weights, node = self.nodes(leaves), self._tree.node
        return np.asarray(self._precision[node] * (leaves - weights[self._tree.parent[node]]))


def _upwards(levels: Levels) -> zip[tuple[Int, Int, Int]]:
    return zip(levels.nodes[::-1], levels.parents[::-1], levels.first[::-1], strict=True)
