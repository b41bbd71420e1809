"""Blocks of classes that can be trained at the same time, and a piece: the classes of one block.

The weights of a class's neighbours, which lie in other blocks, are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Float, Int
from models.methods.classifiers.classes.compressed import CompressedRows
from models.methods.classifiers.classes.problem import Problem, has_constant
from models.methods.classifiers.classes.structure import PathSums
from models.methods.classifiers.recursive import hinge, logistic
from models.methods.classifiers.recursive.blocks import newton
from models.methods.classifiers.recursive.inputs import LossName
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.progress import SHARED, Piece


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


ROUNDS = 8
"""How often at most a class looks for the rows that matter to it in one sweep."""

LEAST_HELD = 0.01
"""A class that holds to its place in a column by less than this, in shares of its tie to its
parent, follows the parent there."""

CACHED = 8
"""Neighbours' weights that a piece keeps dense."""


def piece_bytes(problem: Problem, size: int, loss: LossName) -> int:
    """About how many bytes `piece` takes besides the design and the dual variables that are not 0.

    size : number of classes.
    """
    n_rows, n_columns = problem.n_rows, problem.n_columns
    if loss == "hinge":
        return 64 * n_rows + 8 * (CACHED + 6) * n_columns
    stored = problem.design.size if isinstance(problem.design, np.ndarray) else problem.design.nnz
    return 24 * stored + 28 * n_rows * size + (8 * CACHED + 40 * size) * n_columns


def piece(problem: Problem, blocked: BlockedClasses, loss: LossName, given: Piece) -> Arrays:
    """Train the classes of one block.

    Returns what they add to the objective, and what the next sweep starts from: `dual` variables or
    `weights`. On a tree these are what classes add to their parent's; then it also returns their
    sums by parent (`sums`), with the logistic loss also of how much each holds its place when the
    parent moves (`held`).
    """
    number, shared = int(given["block"]), given[SHARED]
    block = _Block(
        problem,
        blocked,
        blocked.blocks[number],
        under(f"{number}.", shared),
        _Neighbors(problem, blocked, shared),
        C=float(given["C"]),
        tol=float(given["tol"]),
        seeds=(int(given["seed"]), int(given["sweep"])),
    )
    return block.train_hinge() if loss == "hinge" else block.train_logistic()


def under(prefix: str, arrays: Arrays) -> Arrays:
    """Those whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def first_row(problem: Problem) -> Float:
    """(n_columns,) the weights of every node before the first sweep."""
    row = np.zeros(problem.n_columns)
    if has_constant(problem.design):
        row[-1] = -1.0
    return row


def dual_sum(problem: Problem, kept: Arrays, place: int, class_: int) -> Float:
    """(n_columns,) a class's sum of alpha y x, from the variables kept for its block."""
    row, value = _dual(kept, place)
    return np.asarray(problem.design[row].T @ (value * problem.signs(class_)[row]))


def _dual(kept: Arrays, place: int) -> tuple[Int, Float]:
    """The rows whose dual variables are not 0, and these."""
    own = slice(int(kept["dual.start"][place]), int(kept["dual.start"][place + 1]))
    return kept["dual.row"][own], kept["dual.value"][own]


class _Neighbors:
    """The weights of other nodes, and how they pull at a class."""

    def __init__(self, problem: Problem, blocked: BlockedClasses, shared: Arrays) -> None:
        self._blocked, self._shared = blocked, shared
        self._n_columns = problem.n_columns
        self._inner = PathSums.of_arrays(shared, problem.n_columns, "inner.")
        self._first = first_row(problem)
        self._weights = lru_cache(CACHED)(self._weights_of)

    def _weights_of(self, class_: int, inner: int) -> Float:
        if class_ < 0:
            return self._inner.row(inner)
        block, place = (int(part[class_]) for part in self._blocked.position)
        if f"{block}.weights.start" not in self._shared:
            return self._first
        rows = CompressedRows.of_arrays(self._shared, self._n_columns, f"{block}.weights.")
        return rows.row(place)

    def pull(self, class_: int) -> tuple[Float, Float]:
        """(n_columns,) the sum of the neighbours' weights, and the part of it that the class counts
        in the objective: an edge of two classes counts with the one whose turn is later."""
        pull, counted = np.zeros((2, self._n_columns))
        color = self._blocked.color
        for other, inner, strength in self._blocked.neighbors(class_):
            weights = strength * self._weights(other, inner)
            pull += weights
            if other < 0 or color[other] < color[class_]:
                counted += weights
        return pull, counted


@dataclass(frozen=True, eq=False)
class _Block:
    """state : what the sweep before kept of the block; nothing before the first.
    seeds : the seed, and the number of the sweep.
    """

    problem: Problem
    blocked: BlockedClasses
    classes: Int
    state: Arrays
    neighbors: _Neighbors
    C: float
    tol: float
    seeds: tuple[int, int]

    def train_hinge(self) -> Arrays:
        """Dual coordinate descent, one class after the other."""
        problem, n_columns = self.problem, self.problem.n_columns
        descent, objective = hinge.Descent(problem, self.C), 0.0
        sums, rows, values = _Sums(self.blocked, n_columns), [], []
        compressed: list[CompressedRows] = []
        for place, class_ in enumerate(self.classes.tolist()):
            pull, counted = self.neighbors.pull(class_)
            stiffness = float(self.blocked.stiffness[class_])
            sign, alpha = problem.signs(class_), np.zeros(problem.n_rows)
            weights = pull / stiffness
            if self.state:
                row, value = _dual(self.state, place)
                alpha[row] = value
                weights += dual_sum(problem, self.state, place, class_) / stiffness
            seed = int(np.random.default_rng([*self.seeds, class_]).integers(2**62))
            _, lost = descent.improve(sign, 1.0 / stiffness, weights, alpha, self.tol, seed, ROUNDS)
            objective += lost + self._tie(class_, weights, counted)
            rows.append(np.flatnonzero(alpha).astype(np.int32))
            values.append(alpha[rows[-1]])
            if self.blocked.nested:
                sums.add(class_, weights - pull)
            else:
                compressed.append(CompressedRows.of([weights], n_columns))
        kept = CompressedRows.stacked(compressed, n_columns)
        return {
            "objective": np.array([objective]),
            "dual.start": np.concatenate([[0], np.cumsum([row.size for row in rows])]),
            "dual.row": np.concatenate(rows),
            "dual.value": np.concatenate(values),
            **(sums.arrays("sums.") if self.blocked.nested else kept.arrays("weights.")),
        }

    def _tie(self, class_: int, weights: Float, counted: Float) -> float:
        """The penalty of a class's edges but for what its counted neighbours alone decide; on a
        tree, half the square of what it adds to its parent."""
        stiffness = float(self.blocked.stiffness[class_])
        if self.blocked.nested:
            return 0.5 * stiffness * float(np.square(weights - counted / stiffness).sum())
        return 0.5 * stiffness * float(weights @ weights) - float(counted @ weights)

    def train_logistic(self) -> Arrays:
        """Newton's method, in single precision."""
        problem = _of_classes(self.problem, self.classes)
        shape = problem.n_columns, self.classes.size
        stiffness = self.blocked.stiffness[self.classes].astype(np.float32)
        center = np.empty(shape, dtype=np.float32)
        for place, class_ in enumerate(self.classes.tolist()):
            center[:, place] = self.neighbors.pull(class_)[0] / stiffness[place]
        start = center.copy()
        if self.state:
            before = CompressedRows.of_arrays(self.state, problem.n_columns, "weights.")
            if not self.blocked.nested:
                start[:] = 0.0
            for place in range(before.n_rows):
                start[:, place] += before.row(place)
        elif has_constant(problem.design):
            start[-1] = logistic.log_odds(problem)
        weights, own, scores = newton.minimize(problem, stiffness, center, start, self.C, self.tol)
        sums, objective = _Sums(self.blocked, problem.n_columns), float(own.sum())
        held = _Sums(self.blocked, problem.n_columns)
        bound = newton.curvature_bound(problem, scores, self.C) if self.blocked.nested else None
        del scores
        compressed = []
        for place, class_ in enumerate(self.classes.tolist()):
            row, middle = (part[:, place].astype(np.float64) for part in (weights, center))
            if bound is None:
                # The edges that other classes count are left out.
                counted = self.neighbors.pull(class_)[1]
                objective += self._tie(class_, row, counted)
                objective -= 0.5 * float(stiffness[place]) * float(np.square(row - middle).sum())
            else:
                row -= middle
                sums.add(class_, row)
                held.add(class_, _held(bound[:, place].astype(np.float64), stiffness[place]))
            compressed.append(CompressedRows.of([row], problem.n_columns))
        return {
            "objective": np.array([objective]),
            **sums.arrays("sums."),
            **held.arrays("held."),
            **CompressedRows.stacked(compressed, problem.n_columns).arrays("weights."),
        }


class _Sums:
    """The sums of classes' rows by parent; classes of one parent come after each other."""

    def __init__(self, blocked: BlockedClasses, n_columns: int) -> None:
        self._blocked, self._n_columns = blocked, n_columns
        self._parents: list[int] = []
        self._done: list[CompressedRows] = []
        self._sum = np.zeros(n_columns)

    def add(self, class_: int, weights: Float) -> None:
        ((_, parent, _),) = self._blocked.neighbors(class_)
        if self._parents[-1:] != [parent]:
            self._close()
            self._parents.append(parent)
        self._sum += weights

    def _close(self) -> None:
        if self._parents:
            self._done.append(CompressedRows.of([self._sum], self._n_columns))
            self._sum = np.zeros(self._n_columns)

    def arrays(self, prefix: str) -> Arrays:
        if not self._parents:
            return {}
        self._close()
        rows = CompressedRows.stacked(self._done, self._n_columns)
        return {"parent": np.array(self._parents), **rows.arrays(prefix)}


def _held(bound: Float, stiffness: float) -> Float:
    """s h / (s + h): how stiffly a class with the curvatures h holds to its place, where it is tied
    to its parent by s; 0 where that is next to nothing."""
    held = stiffness * bound / (stiffness + bound)
    held[held < LEAST_HELD * stiffness] = 0.0
    return held


def _of_classes(problem: Problem, classes: Int) -> Problem:
    """The problem of some classes against the rest; rows may have none of them."""
    number = np.full(problem.n_classes, -1, dtype=np.int64)
    number[classes] = np.arange(classes.size)
    code = number[problem.code]
    kept = np.concatenate([[0], np.cumsum(code >= 0)])
    return replace(
        problem,
        design=problem.design.astype(np.float32),
        start=kept[problem.start],
        code=code[code >= 0],
        n_classes=classes.size,
        tree=None,
        graph=None,
    )
