"""Support vector machines over the tree of the classes, solved in the dual.

The weights of nodes w minimise a penalty plus C times the sum over rows of the largest violation:
a candidate c of the row violates by its loss minus its scale times how far the row's own class is
ahead of c (`loops` says what candidates are). The dual has a variable for each row and candidate,
not negative and at most C in all for a row. Rows take turns; within a row's turn pairs of variables
change along scores of nodes, which needs the features once before and once after, so that a turn
is nearly exact. Settled rows, and candidates that never mattered, wait for the next sweep over all.
The duality gap tells when to stop.

Source: Crammer and Singer, "On the Algorithmic Implementation of Multiclass Kernel-based Vector
Machines" (2001); Keerthi et al., "A Sequential Dual Method for Large Scale Multi-Class Linear SVMs"
(2008), for rows in turn and shrinking.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Float, Int
from models.method import Checkpoint
from models.methods.classifiers.classes.dual_fit import DualFit
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.recursive import interior
from models.methods.classifiers.recursive.interior import along_the_tree
from models.methods.classifiers.structured.penalty import Orthogonal, Plain
from models.running.progress import Progress

EPOCHS = 30
"""The most passes over rows that are not settled, and the candidates that mattered so far, before
the next sweep over all rows and candidates."""

TIGHTER = 0.1
"""A sweep leaves violations of this share of the largest one that it met."""

FIRST_WIDTH = 4
"""Places for variables of a row at the start; rows that need more double all."""


def minimize(
    problem: Problem,
    tree: ClassTree,
    penalty: Plain | Orthogonal,
    C: float,
    *,
    candidates: Literal["paths", "siblings"],
    rescaled: Literal["margin", "slack"] = "margin",
    tol: float,
    max_iter: int,
    seed: int,
    progress: Progress,
    checkpoint: Checkpoint,
) -> DualFit:
    """The weights of all nodes; sweeps end when the duality gap is `tol` times the objective.

    problem : of one class a row. tree : over its classes. Columns that are far from 0 or large take
        an interior point, where that has room.

    Cost: a sweep O(N T D) for T nodes, or O(nnz T); tens to hundreds of sweeps, each with tens of
    passes over the nodes that matter to a row. With `Orthogonal` also T^2 for each change, and some
    times T^3 a sweep. Memory: `fit_bytes`.
    """
    if interior.taken(problem, (tree.n_nodes * problem.n_columns) ** 2):
        margins = along_the_tree(problem, tree, candidates, rescaled)
        return interior.minimize(problem, margins, penalty, C, tol, progress)
    rows = _Rows(problem, tree, candidates, rescaled)
    state = _State.start(rows, penalty, checkpoint)
    while True:
        rng = np.random.default_rng([seed, len(state.duals)])
        weights = state.penalty.weights(state.sums)
        worst = rows.improve(state, weights, np.arange(rows.n_rows), C, rng)
        for _ in range(EPOCHS):
            some = np.flatnonzero(state.violation > 0.0)
            if rows.improve(state, weights, some, C, rng, narrow=True) <= state.allowed:
                break
        linear = state.summed(rows)
        state.penalty = state.penalty.fitted(state.sums)
        weights = state.penalty.weights(state.sums)
        objective = penalty.value(weights) + C * rows.losses(weights)
        state.objectives.append(objective)
        state.duals.append(linear - state.penalty.form(state.sums))
        state.allowed = min(state.allowed, TIGHTER * worst)
        gap = objective - max(state.duals)
        n_sweeps = len(state.duals)
        progress(1.0 - 1.0 / (1.0 + 0.1 * n_sweeps), "fitting", f"gap {gap / objective:.2g}")
        converged = gap <= tol * objective
        if converged or n_sweeps >= max_iter:
            break
        checkpoint.save(state.arrays())
    n_support = int(np.count_nonzero(state.value))
    return DualFit(weights, objective, gap, state.objectives, state.duals, n_support, converged)


def fit_bytes(problem: Problem, n_nodes: int) -> int:
    """About how many bytes `minimize` takes besides the design, and 12 for each place of a
    variable."""
    n_values = (n_nodes * problem.n_columns) ** 2
    if interior.taken(problem, n_values):
        return interior.fit_bytes(problem, n_values, n_nodes, n_nodes * problem.n_rows)
    columns = 4 * problem.design.size if isinstance(problem.design, np.ndarray) else 0
    return 32 * n_nodes * problem.n_columns + columns + 48 * problem.n_rows


class _State:
    """The variables and the sweeps so far.

    node_of, value : (n_rows, width) as in `loops.sweep`. violation : (n_rows,) when last seen.
    sums : (n_nodes, n_columns) of variables times rows and directions.
    """

    def __init__(self, penalty: Plain | Orthogonal, node_of: Int, value: Float) -> None:
        self.penalty = penalty
        self.node_of, self.value = node_of, value
        self.violation = np.zeros(len(value))
        self.allowed = 1.0
        self.objectives: list[float] = []
        self.duals: list[float] = []
        self.sums = np.zeros((0, 0))

    @classmethod
    def start(cls, rows: _Rows, penalty: Plain | Orthogonal, checkpoint: Checkpoint) -> _State:
        saved = checkpoint.load()
        if saved is None:
            shape = (rows.n_rows, FIRST_WIDTH)
            state = cls(penalty, np.zeros(shape, dtype=np.int32), np.zeros(shape))
        else:
            signed = penalty.with_signs(np.array(saved["signs"]))
            state = cls(signed, np.array(saved["node_of"]), np.array(saved["value"]))
            state.allowed = float(saved["allowed"][0])
            state.objectives, state.duals = saved["objectives"].tolist(), saved["duals"].tolist()
        state.summed(rows)
        return state

    def arrays(self) -> Arrays:
        return {
            "signs": self.penalty.signs,
            "node_of": self.node_of,
            "value": self.value,
            "allowed": np.array([self.allowed]),
            "objectives": np.array(self.objectives),
            "duals": np.array(self.duals),
        }

    def summed(self, rows: _Rows) -> float:
        """Compute the sums anew, so that no rounding adds up; the dual's linear part."""
        self.sums, linear = rows.sums(self.node_of, self.value)
        return linear

    def widen(self) -> None:
        self.node_of = np.hstack([self.node_of, np.zeros_like(self.node_of)])
        self.value = np.hstack([self.value, np.zeros_like(self.value)])


class _Rows:
    """The rows as the compiled loops read them."""

    def __init__(self, problem: Problem, tree: ClassTree, candidates: str, rescaled: str) -> None:
        from models.methods.classifiers.structured import loops

        self._loops = loops
        design = problem.design
        self.n_rows, self._n_columns = problem.n_rows, problem.n_columns
        self._n_nodes = tree.n_nodes
        if isinstance(design, sp.csr_array):
            compressed = (design.data, design.indices, design.indptr)
            self._squares = np.asarray(design.multiply(design).sum(axis=1)).ravel()
        else:
            columns = np.tile(np.arange(self._n_columns, dtype=np.int32), self.n_rows)
            starts = self._n_columns * np.arange(self.n_rows + 1)
            compressed = (np.ascontiguousarray(design).ravel(), columns, starts)
            self._squares = np.einsum("ij,ij->i", design, design)
        kind = loops.PATHS if candidates == "paths" else loops.SIBLINGS
        is_leaf = np.zeros(tree.n_nodes, dtype=bool)
        is_leaf[tree.node] = True
        leaf = tree.node[problem.code]
        self._given = (kind, rescaled == "slack", tree.parent, is_leaf, leaf, *compressed)

    def improve(
        self,
        state: _State,
        weights: Float,
        rows: Int,
        C: float,
        rng: np.random.Generator,
        narrow: bool = False,
    ) -> float:
        """Give each row its turn, in random order; the largest violation that they met.

        narrow : whether only candidates take part that had a variable before.
        """
        order = rng.permutation(rows)
        coupling = state.penalty.inverse
        first = 0
        while True:
            first = self._loops.sweep(
                *self._given, self._squares, state.penalty.coupled, coupling, C, weights,
                state.node_of, state.value, order, first, narrow, 0.5 * state.allowed,
                state.violation,
            )  # fmt: skip
            if first == order.size:
                return float(state.violation[rows].max(initial=0.0))
            state.widen()

    def sums(self, node_of: Int, value: Float) -> tuple[Float, float]:
        total = np.zeros((self._n_nodes, self._n_columns))
        return total, self._loops.sums(*self._given, node_of, value, total)

    def losses(self, weights: Float) -> float:
        return float(self._loops.losses(*self._given, np.ascontiguousarray(weights)))
