"""Classes in blocks that can be trained at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.penalty import Penalty


@dataclass(frozen=True, eq=False)
class BlockedClasses:
    """The classes of a penalty in blocks of at most `size`, none of whose classes are neighbours.

    color : (n_classes,) neighbours differ.
    """

    penalty: Penalty
    color: Int
    size: int

    @classmethod
    def of(cls, problem: Problem, penalty: Penalty, size: int) -> BlockedClasses:
        """The problem's classes; the penalty is over its tree or graph."""
        color = np.zeros(problem.n_classes, dtype=np.int64)
        if problem.graph is not None:
            color = problem.graph.colors[: problem.n_classes]
        return cls(penalty, color, size)

    @property
    def n_classes(self) -> int:
        return int(self.penalty.node.size)

    @cached_property
    def to_inner(self) -> sp.csr_array:
        """(n_inner, n_classes) of the penalty's matrix."""
        return sp.csr_array(self.penalty.matrix[self.penalty.inner][:, self.penalty.node])

    @cached_property
    def nested(self) -> bool:
        """Whether each class has a parent, an inner node, and no other neighbour: on a tree."""
        n_neighbors = np.diff(self.penalty.matrix.indptr)[self.penalty.node] - 1
        hung = bool((n_neighbors == 1).all()) and self.to_inner.nnz == self.n_classes
        return hung and self.penalty.parent is not None

    @cached_property
    def inner_parent(self) -> Int:
        """(n_inner,) the parent of each inner node among them; -1 for the root, and on a graph."""
        inner, parent = self.penalty.inner, self.penalty.parent
        if parent is None:
            return np.full(inner.size, -1, dtype=np.int64)
        above = parent[inner]
        return np.where(above < 0, -1, np.searchsorted(inner, above))

    @cached_property
    def class_parent(self) -> Int:
        """(n_classes,) the inner node that each class is tied to, where they are nested."""
        return np.asarray(sp.csc_array(self.to_inner).indices, dtype=np.int64)

    @cached_property
    def stiffness(self) -> Float:
        """(n_classes,) the diagonal of the penalty's matrix."""
        return np.asarray(self.penalty.matrix.diagonal()[self.penalty.node])

    @cached_property
    def blocks(self) -> list[Int]:
        """The classes of each block, colour by colour; those below one parent together."""
        columns = sp.csc_array(self.to_inner)
        adjoining = np.flatnonzero(np.diff(columns.indptr))
        above = np.full(self.n_classes, -1, dtype=np.int64)
        above[adjoining] = columns.indices[columns.indptr[adjoining]]
        order = np.lexsort((above, self.color))
        ends = np.flatnonzero(np.diff(self.color[order])) + 1
        return [
            classes[begin : begin + self.size]
            for classes in np.split(order, ends)
            for begin in range(0, classes.size, self.size)
        ]

    @property
    def largest(self) -> int:
        """Number of classes of the largest block."""
        return max(classes.size for classes in self.blocks)

    @cached_property
    def turns(self) -> list[list[int]]:
        """The blocks of each colour."""
        color = np.array([self.color[classes[0]] for classes in self.blocks])
        return [np.flatnonzero(color == some).tolist() for some in np.unique(color)]

    @cached_property
    def position(self) -> tuple[Int, Int]:
        """(n_classes,) the block of each class, and its place there."""
        block, place = np.empty((2, self.n_classes), dtype=np.int64)
        for number, classes in enumerate(self.blocks):
            block[classes], place[classes] = number, np.arange(classes.size)
        return block, place

    @cached_property
    def _number(self) -> tuple[Int, Int]:
        """(n_nodes,) the class of each node, and its place among the inner nodes, or -1."""
        class_of, inner = np.full((2, self.penalty.n_nodes), -1, dtype=np.int64)
        class_of[self.penalty.node] = np.arange(self.n_classes)
        inner[self.penalty.inner] = np.arange(self.penalty.inner.size)
        return class_of, inner

    def neighbors(self, class_: int) -> Iterator[tuple[int, int, float]]:
        """The neighbours of a class: (class or -1, place among inner nodes or -1, strength)."""
        matrix, node = self.penalty.matrix, int(self.penalty.node[class_])
        class_of, inner = self._number
        for at in range(int(matrix.indptr[node]), int(matrix.indptr[node + 1])):
            other = int(matrix.indices[at])
            if other != node:
                yield int(class_of[other]), int(inner[other]), -float(matrix.data[at])
