"""The hinge loss with a recursive penalty, minimised in the dual.

The dual has a variable for each row and class, 0 <= alpha <= C, and maximises the sum of alpha
minus a' R^-1 a / 2, where a_k sums alpha y x over the rows for class k, and R is the penalty's
matrix. Classes take turns, each by dual coordinate descent with shrinking from where it was, on the
rows that matter: one product of the rows with the weights finds them. Between sweeps over the
classes the other nodes move to their optimum, all at once. The duality gap tells when to stop.

Source: Gopal, "Large-scale Structured Learning" (2014), §3.3.1, eq. 3.2 to 3.7 and algorithm 1;
Hsieh et al., "A Dual Coordinate Descent Method for Large-scale Linear SVM" (2008). The thesis
updates inner nodes one at a time (eq. 3.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from models.arrays import Arrays, Float, Int
from models.method import Checkpoint, Run
from models.methods.classifiers.classes.answers import Link
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.dual_fit import DualFit, together
from models.methods.classifiers.classes.problem import Problem, has_constant
from models.methods.classifiers.recursive import interior
from models.methods.classifiers.recursive.inputs import Effort
from models.methods.classifiers.recursive.interior import against_the_rest
from models.methods.classifiers.recursive.penalty import Penalty
from models.running.progress import Progress, subprogress

EPOCHS = 1000
"""The most passes over a class's rows before the next class takes its turn."""

MOST_ROWS = 4_096
"""Rows that a class takes at a time, the worst first; two more for each free variable."""

TIGHTER = 0.1
"""A sweep leaves violations of this share of the largest one that the sweep before it met."""


class Coupling:
    """The weights while the dual variables of one class change.

    A class's weights are the best for its parent's or neighbours' weights, which are held
    meanwhile; the weights of nodes that are no class are the best for all classes, anew for each
    sweep. O(degree x D) for each operation.

    kappa : (n_classes,) how much a class's weights change with its own a_k.
    """

    def __init__(self, penalty: Penalty, sums: Float, weights: Float) -> None:
        """sums : (n_classes, n_columns) a. weights : (n_nodes, n_columns) to start from."""
        self._matrix, self._node, self._sums = penalty.matrix, penalty.node, sums
        self._weights = penalty.extended(weights[penalty.node])
        self.kappa = 1.0 / penalty.matrix.diagonal()[penalty.node]

    def weights(self, class_: int) -> Float:
        """(n_columns,) the weights of the class as they follow from its a_k and from the others."""
        node, kappa = self._node[class_], self.kappa[class_]
        row = slice(self._matrix.indptr[node], self._matrix.indptr[node + 1])
        pull = self._matrix.data[row] @ self._weights[self._matrix.indices[row]]
        return np.asarray(kappa * (self._sums[class_] - pull) + self._weights[node])

    def place(self, class_: int, weights: Float) -> None:
        """Give the class these weights."""
        self._weights[self._node[class_]] = weights

    def nodes(self) -> Float:
        """(n_nodes, n_columns) all weights."""
        return self._weights


class Descent:
    """Dual coordinate descent on the rows of one class."""

    def __init__(self, problem: Problem, C: float) -> None:
        design = problem.design
        self._design = design
        self._C = C
        self._rows: Any
        if isinstance(design, np.ndarray):
            self._rows = design
            self._squares = np.einsum("ij,ij->i", design, design)
        else:
            self._rows = design.data, design.indices, design.indptr
            self._squares = np.asarray(design.multiply(design).sum(axis=1)).ravel()
        self._empty = self._squares == 0.0

    @property
    def n_empty(self) -> int:
        """The number of rows that are 0 throughout; their variables are C for any weights."""
        return int(self._empty.sum())

    def gradient(self, sign: Float, weights: Float) -> Float:
        """(n_rows,) of the dual objective."""
        return np.asarray(sign * (self._design @ weights) - 1.0)

    def improve(
        self,
        sign: Float,
        kappa: float,
        weights: Float,
        alpha: Float,
        tol: float,
        seed: int,
        rounds: int = 1,
    ) -> tuple[float, float]:
        """Change weights and alpha in place.

        rounds : how often at most the rows that matter are looked for.

        Returns the largest violation before, and C times the sum of the hinge losses after.
        """
        gradient = self.gradient(sign, weights)
        first = self._improve(sign, kappa, weights, alpha, tol, seed, gradient)
        worst = first
        while worst > tol and rounds > 0:
            gradient, rounds = self.gradient(sign, weights), rounds - 1
            if rounds:
                worst = self._improve(sign, kappa, weights, alpha, tol, seed + rounds, gradient)
        return first, self._C * float(np.maximum(-gradient, 0.0).sum())

    def _improve(
        self,
        sign: Float,
        kappa: float,
        weights: Float,
        alpha: Float,
        tol: float,
        seed: int,
        gradient: Float,
    ) -> float:
        """Descend over the rows that matter; returns the largest violation before."""
        from models.methods.classifiers.recursive import loops

        at_most = alpha >= self._C
        free = (alpha > 0.0) & ~at_most
        violation = np.maximum(-gradient, 0.0)
        violation[at_most] = np.maximum(gradient[at_most], 0.0)
        violation[free] = np.abs(gradient[free])
        violation[self._empty] = 0.0
        worst = float(violation.max())
        if worst > tol:
            matter = (violation > 0.1 * tol) | free
            most = MOST_ROWS + 2 * int(free.sum())
            if matter.sum() > most:
                matter &= violation >= np.partition(violation, -most)[-most]
                matter |= free
            active = np.flatnonzero(matter)
            state = np.uint64(2 * seed + 1)
            own = (sign, self._squares, kappa, weights, alpha, self._C, active, tol, EPOCHS, state)
            loops.descend(self._rows, *own)
        return worst


def minimize(
    problem: Problem,
    penalty: Penalty,
    effort: Effort,
    progress: Progress,
    checkpoint: Checkpoint,
) -> DualFit:
    """The weights of all nodes; sweeps end when the duality gap is `tol` times the objective.

    Columns that are far from 0 or large take an interior point, where that has room.

    Cost: O(N D) each pass over the rows of a class, or O(nnz), tens of passes; memory `fit_bytes`.
    """
    if interior.taken(problem, _system(problem, penalty)):
        return _by_interior_point(problem, penalty, effort, progress)
    descent, state = Descent(problem, effort.C), _State.start(problem, penalty.n_nodes, checkpoint)
    of_empty, message = effort.C * descent.n_empty * problem.n_classes, ""
    while True:
        # From the variables anew, so that no rounding adds up and a resumed fit ends the same.
        coupling = Coupling(penalty, state.sums(problem), state.weights)
        worst = loss = 0.0
        rng = np.random.default_rng([effort.seed, len(state.duals)])
        n_sweeps = len(state.duals)
        for number, class_ in enumerate(rng.permutation(problem.n_classes).tolist()):
            progress(_fraction(n_sweeps + number / problem.n_classes), "fitting", message)
            sign, alpha = problem.signs(class_), state.alpha(class_)
            weights = coupling.weights(class_)
            kappa = float(coupling.kappa[class_])
            violation, own_loss = descent.improve(
                sign, kappa, weights, alpha, state.allowed, int(rng.integers(2**62))
            )
            worst, loss = max(worst, violation), loss + own_loss
            coupling.place(class_, weights)
            if violation > state.allowed:
                state.keep(class_, alpha)
        state.weights = coupling.nodes()
        sums = np.zeros_like(state.weights)
        sums[penalty.node] = state.sums(problem)
        state.objectives.append(penalty.value(state.weights) + loss)
        state.duals.append(state.total() + of_empty - penalty.form(sums))
        state.allowed = min(state.allowed, TIGHTER * worst)
        objective = state.objectives[-1]
        gap = objective - max(state.duals)
        message = f"gap {gap / objective:.2g}"
        converged = gap <= effort.tol * objective
        if converged or n_sweeps + 1 >= effort.max_iter:
            break
        checkpoint.save(state.arrays())
    return DualFit(
        state.weights, objective, gap, state.objectives, state.duals, state.n_support, converged
    )


def train(
    problem: Problem, penalty: Penalty, effort: Effort, run: Run, warnings: tuple[str, ...] = ()
) -> Trained:
    """The classifier of `minimize`."""
    fit = minimize(problem, penalty, effort, run.progress, run.checkpoint)
    link: Link = "softmax" if problem.one_each else "logistic"
    return fit.trained(fit.weights[penalty.node], link, warnings=warnings)


def _system(problem: Problem, penalty: Penalty) -> int:
    """The number of values of the systems of an interior point."""
    if penalty.parts is not None:
        return problem.n_columns**2
    if penalty.parent is not None:
        return 2 * penalty.n_nodes * problem.n_columns**2
    return (penalty.n_nodes * problem.n_columns) ** 2


def _by_interior_point(
    problem: Problem, penalty: Penalty, effort: Effort, progress: Progress
) -> DualFit:
    """The minimum, class by class where none knows of another."""
    n_classes = problem.n_classes
    if penalty.parts is None:
        both = [
            margins
            for class_, node in enumerate(penalty.node.tolist())
            for margins in against_the_rest(problem, class_, node, penalty.n_nodes)
        ]
        return interior.minimize(problem, both, penalty, effort.C, effort.tol, progress)
    fits = []
    for class_, own in enumerate(penalty.parts):
        begin, end = class_ / n_classes, (class_ + 1) / n_classes
        within = subprogress(progress, begin, end, f"class {class_ + 1}/{n_classes}")
        margins = against_the_rest(problem, class_, 0, 1)
        fits.append(interior.minimize(problem, margins, own, effort.C, effort.tol, within))
    fit = together(fits)
    weights = np.empty_like(fit.weights)
    weights[penalty.node] = fit.weights
    return replace(fit, weights=weights)


def fit_bytes(problem: Problem, penalty: Penalty) -> int:
    """About how many bytes `minimize` takes besides the design, and 16 for each variable that is
    not 0."""
    n_values = _system(problem, penalty)
    if interior.taken(problem, n_values):
        n_nodes = 1 if penalty.parts is not None else penalty.n_nodes
        return interior.fit_bytes(problem, n_values, n_nodes, n_nodes * problem.n_rows)
    return 48 * penalty.n_nodes * problem.n_columns + 64 * problem.n_rows


def _fraction(n_sweeps: float) -> float:
    """The progress after so much of an unknown number of sweeps."""
    return 1.0 - 1.0 / (1.0 + 0.1 * n_sweeps)


class _State:
    """The dual variables, of which only those that are not 0 are kept, and the sweeps so far.

    allowed : violation that the next sweep leaves. weights : (n_nodes, n_columns).
    """

    def __init__(self, n_rows: int, n_classes: int, weights: Float) -> None:
        self.allowed = 1.0
        self.weights = weights
        self.objectives: list[float] = []
        self.duals: list[float] = []
        self._n_rows = n_rows
        self._kept: list[tuple[Int, Float]] = [
            (np.zeros(0, dtype=np.int64), np.zeros(0)) for _ in range(n_classes)
        ]

    @classmethod
    def start(cls, problem: Problem, n_nodes: int, checkpoint: Checkpoint) -> _State:
        """All variables 0, or as in the checkpoint."""
        weights = np.zeros((n_nodes, problem.n_columns))
        if has_constant(problem.design):
            # Every row lies just outside every class, so that only rows of a class move it.
            weights[:, -1] = -1.0
        state = cls(problem.n_rows, problem.n_classes, weights)
        saved = checkpoint.load()
        if saved is None:
            return state
        state.allowed, state.weights = float(saved["allowed"][0]), np.array(saved["weights"])
        state.objectives, state.duals = saved["objectives"].tolist(), saved["duals"].tolist()
        for class_ in range(problem.n_classes):
            own = slice(int(saved["start"][class_]), int(saved["start"][class_ + 1]))
            state._kept[class_] = saved["row"][own], saved["value"][own]
        return state

    def sums(self, problem: Problem) -> Float:
        """(n_classes, n_columns) each class's sum of alpha y x."""
        sums = np.zeros((problem.n_classes, problem.n_columns))
        for class_, (row, value) in enumerate(self._kept):
            if row.size:
                sums[class_] = problem.design[row].T @ (value * problem.signs(class_)[row])
        return sums

    def arrays(self) -> Arrays:
        sizes = [row.size for row, _ in self._kept]
        return {
            "allowed": np.array([self.allowed]),
            "weights": self.weights,
            "objectives": np.array(self.objectives),
            "duals": np.array(self.duals),
            "start": np.concatenate([[0], np.cumsum(sizes)]),
            "row": np.concatenate([row for row, _ in self._kept]),
            "value": np.concatenate([value for _, value in self._kept]),
        }

    def alpha(self, class_: int) -> Float:
        """(n_rows,)"""
        alpha = np.zeros(self._n_rows)
        row, value = self._kept[class_]
        alpha[row] = value
        return alpha

    def keep(self, class_: int, alpha: Float) -> None:
        row = np.flatnonzero(alpha)
        self._kept[class_] = row, alpha[row]

    def total(self) -> float:
        return float(sum(value.sum() for _, value in self._kept))

    @property
    def n_support(self) -> int:
        return sum(row.size for row, _ in self._kept)
