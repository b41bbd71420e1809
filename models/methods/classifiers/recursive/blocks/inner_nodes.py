"""The inner nodes' weights between the turns of the classes.

Where classes tell nothing but their weights, the inner nodes get the best ones for these. But then
they move slowly: with little loss a family of n children and their parent would move together, and
turns take it a share of about 1 / n of the way. On a tree with the logistic loss a block therefore
tells how much its classes hold to their places (`held`), by a bound of their curvature, and inner
nodes move as far as they would with classes that follow: the minimum of a quadratic bound of the
joint objective (majorization), with momentum that starts anew when the objective rises.

Source: Hunter and Lange, "A Tutorial on MM Algorithms" (2004); O'Donoghue and Candes, "Adaptive
Restart for Accelerated Gradient Schemes" (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Float, Int, row_blocks
from models.methods.classifiers.classes.compressed import NEGLIGIBLE, CompressedRows
from models.methods.classifiers.recursive.blocks.blocked_classes import BlockedClasses
from models.methods.classifiers.recursive.penalty import DiagonalElimination, Penalty

MOST_VALUES = 1 << 23
"""Weights of inner nodes that are solved for at a time (64 MiB)."""


Columns = Callable[[slice], Float]
"""From some columns to the weights of the inner nodes there."""


def momentum(objectives: Sequence[float]) -> float:
    """The factor after these sweeps: 0 after the first one and after one that rose."""
    n_falls = 0
    for last, before in zip(reversed(objectives), reversed(objectives[:-1]), strict=False):
        if last > before:
            break
        n_falls += 1
    return n_falls / (n_falls + 3.0)


@dataclass
class InnerNodes:
    """weights : what classes are trained with. reached : where the last move ended, without
    momentum; None before the first, and where classes do not tell how they hold.
    """

    blocked: BlockedClasses
    weights: CompressedRows
    reached: CompressedRows | None = None
    _sums: dict[int, tuple[Int, CompressedRows]] = field(default_factory=dict)
    _held: dict[int, tuple[Int, CompressedRows]] = field(default_factory=dict)

    @classmethod
    def of_arrays(cls, blocked: BlockedClasses, arrays: Arrays, n_columns: int) -> InnerNodes:
        weights = CompressedRows.of_arrays(arrays, n_columns, "inner.")
        if "reached.start" not in arrays:
            return cls(blocked, weights)
        return cls(blocked, weights, CompressedRows.of_arrays(arrays, n_columns, "reached."))

    def arrays(self) -> Arrays:
        """Of both."""
        reached = {} if self.reached is None else self.reached.arrays("reached.")
        return {**self.weights.arrays("inner."), **reached}

    def keep(self, block: int, arrays: Arrays) -> None:
        """Take what a piece tells of its classes by parent."""
        for name, kept in (("sums.", self._sums), ("held.", self._held)):
            if f"{name}start" in arrays:
                rows = CompressedRows.of_arrays(arrays, self.weights.n_columns, name)
                kept[block] = np.asarray(arrays["parent"]), rows

    @property
    def penalty(self) -> float:
        """The part of the objective that is the inner nodes' own."""
        weights = self.weights.matrix().astype(np.float64)
        return 0.5 * float((weights * (self._form @ weights)).sum())

    def move(self, classes: CompressedRows | None, factor: float) -> None:
        """Move to where the classes draw them. O(n_inner D).

        classes : the classes' weights, where blocks tell no sums. factor : of the momentum.
        """
        if classes is None:
            pull = self._by_parent(self._sums)
        else:
            pull = sp.csc_array(-(self.blocked.to_inner @ classes.matrix()))
        if not self._held:
            self.weights = self._compressed(
                lambda columns: self.blocked.penalty.solve_inner(pull[:, columns].toarray())
            )
            return
        held, before = self._by_parent(self._held), sp.csc_array(self.weights.matrix())
        reached = self._compressed(lambda columns: self._followed(pull, held, before, columns))
        if self.reached is None or not factor:
            self.weights = reached
        else:
            ends = [sp.csc_array(rows.matrix()) for rows in (reached, self.reached)]
            self.weights = self._compressed(lambda columns: _ahead(ends, factor, columns))
        self.reached = reached

    def _followed(
        self, pull: sp.csc_array, held: sp.csc_array, before: sp.csc_array, columns: slice
    ) -> Float:
        weights = before[:, columns].toarray().astype(np.float64)
        gradient = self._form @ weights - pull[:, columns].toarray()
        system = DiagonalElimination(self._alone, held[:, columns].toarray())
        return np.asarray(weights - system(gradient))

    @cached_property
    def _form(self) -> sp.csr_array:
        """(n_inner, n_inner) the penalty's matrix."""
        penalty = self.blocked.penalty
        return sp.csr_array(penalty.matrix[penalty.inner][:, penalty.inner])

    @cached_property
    def _alone(self) -> Penalty:
        """The penalty of a tree without its classes."""
        penalty = self.blocked.penalty
        ties = sp.diags_array(-np.asarray(self.blocked.to_inner.sum(axis=1)).ravel())
        assert penalty.parent is not None
        above = penalty.parent[penalty.inner]
        parent = np.where(above < 0, -1, np.searchsorted(penalty.inner, above))
        return Penalty(sp.csr_array(self._form - ties), np.arange(penalty.inner.size), parent)

    def _by_parent(self, kept: dict[int, tuple[Int, CompressedRows]]) -> sp.csc_array:
        """(n_inner, n_columns) the sums of what blocks told."""
        parents, sums = zip(*(kept[block] for block in sorted(kept)), strict=True)
        parent = np.concatenate(parents)
        place = sp.csr_array(
            (np.ones(parent.size, dtype=np.float32), (parent, np.arange(parent.size))),
            shape=(self.weights.n_rows, parent.size),
        )
        rows = CompressedRows.stacked(list(sums), self.weights.n_columns)
        return sp.csc_array(place @ rows.matrix())

    def _compressed(self, solved: Columns) -> CompressedRows:
        """Weights that are computed for some columns at a time."""
        n_rows, n_columns = self.weights.n_rows, self.weights.n_columns
        largest, parts = np.zeros((n_rows, 1)), []
        # From the constant on, whose weights are large, so that little is kept that will go.
        for columns in reversed(list(row_blocks(n_columns, n_rows, MOST_VALUES))):
            weights = solved(columns)
            size = np.abs(weights)
            np.maximum(largest, size.max(axis=1, keepdims=True), out=largest)
            weights[size <= NEGLIGIBLE * largest] = 0.0
            parts.append(sp.csr_array(weights.astype(np.float32)))
        whole = sp.csr_array(sp.hstack(parts[::-1], format="csr"))
        whole.data[np.abs(whole.data) <= NEGLIGIBLE * np.repeat(largest, np.diff(whole.indptr))] = 0
        whole.eliminate_zeros()
        return CompressedRows.of_matrix(whole)


def _ahead(ends: list[sp.csc_array], factor: float, columns: slice) -> Float:
    """From the last of two ends on, by a factor of the way between them."""
    end, start = (rows[:, columns].toarray().astype(np.float64) for rows in ends)
    return np.asarray(end + factor * (end - start))
