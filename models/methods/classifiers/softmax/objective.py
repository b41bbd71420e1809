"""The objective of multiclass logistic regression, and its minimum by L-BFGS on all weights.

J(W) = 1/2 sum_k |w_k|^2 + C sum_i [log sum_k exp(w_k.x_i) - w_{y_i}.x_i], which is C times the
thesis's OPT 1 with lambda = 1 / C. J is 1-strongly convex, so J(W) - min J <= |grad J(W)|^2 / 2:
this is the gap by which all minimisations end.

Where columns are of very different sizes they are in units, and weights belong to columns in
units: a square in the penalty and a square in the gap then have factors.

`minimize_jointly` is SciPy's L-BFGS-B, without bounds. The memory of the last steps begins anew
every `ROUND` steps, where the state is saved: what a resumed fit does depends on the saved weights
alone. Cost: O(N D K) a step; memory 42 times the weights (2 `DEPTH` + 5 of them SciPy's).

Source: Gopal, "Large-scale Structured Learning" (2014), §4.3 and §4.5 (LBFGS), there with 5 steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, row_blocks
from models.method import Checkpoint
from models.methods.classifiers.classes.coordinates import column_units, in_units
from models.numerics.rows import log_softmax
from models.running.progress import Progress

BLOCK = 1 << 20
"""Scores that are computed at a time (8 MiB)."""

Curve = list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class SoftmaxObjective:
    """J for rows with one class each.

    design : (n_rows, n_columns) float64, columns divided by their units. code : (n_rows,) class of
        each row. C : weight of the loss. units : (n_columns,), or (1,) for all.
    """

    design: Float | sp.csr_array
    code: Int
    n_classes: int
    C: float
    units: Float = field(default_factory=lambda: np.ones(1))

    @classmethod
    def in_units(
        cls, design: Float | sp.csr_array, code: Int, n_classes: int, C: float
    ) -> SoftmaxObjective:
        """J of a design in the columns as they came. O(N D)."""
        # Below this size the penalty alone decides.
        units = column_units(design, least=1.0 / np.sqrt(C * design.shape[0]))
        return cls(in_units(design, units), code, n_classes, C, units)

    @cached_property
    def ridge(self) -> Float:
        """(n_columns,) or (1,) factors of half the squared weights in J."""
        return np.asarray(1.0 / self.units**2)

    def gap(self, gradient: Float) -> float:
        """The most by which J lies above its minimum. gradient : (n, n_columns) of J."""
        return gap(self.norm(gradient))

    def norm(self, gradient: Float) -> float:
        """The length of a gradient in the columns as they came."""
        return float(np.linalg.norm(gradient * self.units))

    def plain(self, weights: Float) -> Float:
        """(n_classes, n_columns) of the columns as they came."""
        return np.asarray(weights / self.units)

    @property
    def n_rows(self) -> int:
        return int(self.design.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.design.shape[1])

    @cached_property
    def class_sums(self) -> Float:
        """(n_classes, n_columns) sums of the rows of each class."""
        ones = np.ones(self.n_rows)
        members = sp.csr_array(
            (ones, (self.code, np.arange(self.n_rows))), shape=(self.n_classes, self.n_rows)
        )
        sums = members @ self.design
        return np.asarray(sums.toarray() if sp.issparse(sums) else sums)

    def zeros(self) -> Float:
        """(n_classes, n_columns) weights to start from."""
        return np.zeros((self.n_classes, self.n_columns))

    def linear(self, weights: Float, classes: slice = slice(None)) -> float:
        """The part of J that is a sum over classes, for weights of some of them."""
        inner = float(np.vdot(weights, self.class_sums[classes]))
        return 0.5 * float(np.vdot(weights, self.ridge * weights)) - self.C * inner

    def scores_by_rows(self, weights: Float) -> Iterator[tuple[slice, Float]]:
        """(n, n_classes) scores of the rows, a block of rows after the other."""
        for rows in row_blocks(self.n_rows, self.n_classes, BLOCK):
            yield rows, np.asarray(self.design[rows] @ weights.T)

    def class_blocks(self) -> list[slice]:
        """The classes in blocks whose scores of all rows are at most `BLOCK`."""
        n_each = max(1, BLOCK // max(1, self.n_rows))
        starts = range(0, self.n_classes, n_each)
        return [slice(first, min(first + n_each, self.n_classes)) for first in starts]

    def value(self, weights: Float) -> float:
        """J. O(N D K)."""
        total = sum(float(log_sums(scores).sum()) for _, scores in self.scores_by_rows(weights))
        return self.linear(weights) + self.C * total

    def value_and_gradient(self, weights: Float) -> tuple[float, Float]:
        """J and its (n_classes, n_columns) gradient. O(N D K)."""
        total, gradient = 0.0, self.ridge * weights - self.C * self.class_sums
        for rows, scores in self.scores_by_rows(weights):
            log_probability = log_softmax(scores)
            total += float((scores[:, 0] - log_probability[:, 0]).sum())
            gradient += self.C * (self.design[rows].T @ np.exp(log_probability)).T
        return self.linear(weights) + self.C * total, gradient

    def curved(self, weights: Float, direction: Float) -> Float:
        """The Hessian of J at weights times a direction, (n_classes, n_columns) all. O(N D K)."""
        product = self.ridge * direction
        for rows, scores in self.scores_by_rows(weights):
            chance = np.exp(log_softmax(scores))
            along = chance * np.asarray(self.design[rows] @ direction.T)
            along -= chance * along.sum(axis=1, keepdims=True)
            product += self.C * np.asarray(self.design[rows].T @ along).T
        return product


def log_sums(scores: Float) -> Float:
    """(n,) log sum_k exp(scores[:, k])."""
    most = scores.max(axis=1)
    return np.asarray(most + np.log(np.exp(scores - most[:, None]).sum(axis=1)))


def gap(gradient_norm: float) -> float:
    """The most by which a 1-strongly convex objective lies above its minimum."""
    return 0.5 * gradient_norm**2


@dataclass(frozen=True, slots=True)
class Effort:
    """When a minimisation ends: at a gap of `tol` times the value, or after `max_iter` steps."""

    tol: float
    max_iter: int


@dataclass(frozen=True, eq=False, slots=True)
class Minimum:
    """The end of a minimisation.

    value : what was minimised: J, or the least of a bound over its shifts. objective : J.
    gradient_norm : of what was minimised, in the weights. weights : of the columns as they came.
    """

    weights: Float
    value: float
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool
    curves: Mapping[str, Curve] = field(default_factory=dict)

    @property
    def relative_gap(self) -> float:
        """The most by which `value` lies above its minimum, as a share of it."""
        return gap(self.gradient_norm) / abs(self.value)


DEPTH = 10
"""Steps that are remembered; 10 take 5 to 15 per cent fewer steps than 5."""

ROUND = 100


Ends: TypeAlias = Callable[[float, Float], bool]
"""Whether a value of J and its (n_classes, n_columns) gradient are an end."""


def by_gap(objective: SoftmaxObjective, tol: float) -> Ends:
    """The end where J is shown to be within this share of its minimum."""

    def ends(value: float, gradient: Float) -> bool:
        return objective.gap(gradient) <= tol * abs(value)

    return ends


NEWTON_STEPS = 20
MOST_PRODUCTS = 200
EXACT = 1e-3
"""The share of the gradient that a step of Newton's method leaves."""


def minimize_jointly(
    objective: SoftmaxObjective,
    ends: Ends,
    max_iter: int,
    progress: Progress,
    checkpoint: Checkpoint,
) -> Minimum:
    """The minimum of J. Curves: `objective` and `gradient`, its norm, after each step.

    Where rounding of J ends L-BFGS early, steps of Newton's method follow that make the gradient
    smaller.
    """
    from scipy.optimize import OptimizeResult, minimize

    saved = checkpoint.load()
    shape = objective.zeros().shape
    flat, values, norms = np.zeros(shape[0] * shape[1]), [], []
    if saved is not None:
        flat, (values, norms) = np.array(saved["weights"]), saved["curves"].tolist()
    last = (np.inf, np.inf, False)

    def evaluate(flat: Array) -> tuple[float, Array]:
        nonlocal last
        value, gradient = objective.value_and_gradient(flat.reshape(shape))
        last = value, objective.norm(gradient), ends(value, gradient)
        return value, gradient.ravel()

    def after_step(intermediate_result: OptimizeResult) -> None:
        values.append(last[0])
        norms.append(last[1])
        progress(len(values) / max_iter, "steps", f"step {len(values)}")
        if last[2]:
            raise StopIteration

    while len(values) < max_iter:
        n_before = len(values)
        result = minimize(
            evaluate,
            flat,
            jac=True,
            method="L-BFGS-B",
            callback=after_step,
            options={
                "maxcor": DEPTH,
                "maxiter": min(ROUND, max_iter - n_before),
                "maxfun": 20 * ROUND,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
        flat = np.asarray(result.x)
        if len(values) == n_before or last[2]:
            break
        if len(values) < max_iter:
            checkpoint.save({"weights": flat, "curves": np.array([values, norms])})
    weights: Float = flat.reshape(shape)
    value, gradient = objective.value_and_gradient(weights)
    if not ends(value, gradient):
        progress(len(values) / max_iter, "steps", f"step {len(values)}")
        most = min(NEWTON_STEPS, max_iter - len(values))
        for step in newton_steps(objective, weights, most):
            weights, value, gradient = step
            values.append(value)
            norms.append(objective.norm(gradient))
            if ends(value, gradient):
                break
    return Minimum(
        objective.plain(weights),
        value,
        value,
        objective.norm(gradient),
        len(values),
        ends(value, gradient),
        {"objective": _curve(values), "gradient": _curve(norms)},
    )


def newton_steps(
    objective: SoftmaxObjective, weights: Float, most: int
) -> Iterator[tuple[Float, float, Float]]:
    """Weights, J and its gradient after each of at most so many steps of Newton's method, as long
    as the gradient shrinks. They go on where rounding of J hides whether it falls.

    O(N D K) for each product with the Hessian, of which a step takes tens.
    """
    value, gradient = objective.value_and_gradient(weights)
    for _ in range(most):
        moved = weights - _newton(objective, weights, gradient)
        value, after = objective.value_and_gradient(moved)
        if not np.linalg.norm(after) < np.linalg.norm(gradient):
            return
        weights, gradient = moved, after
        yield weights, value, gradient


def _newton(objective: SoftmaxObjective, weights: Float, gradient: Float) -> Float:
    """The Hessian's inverse with the gradient, by conjugate gradients."""
    result, residual = np.zeros_like(gradient), gradient.copy()
    towards, square = residual, float(np.vdot(residual, residual))
    goal = EXACT**2 * square
    for _ in range(MOST_PRODUCTS):
        if square <= goal:
            break
        product = objective.curved(weights, towards)
        length = square / float(np.vdot(towards, product))
        result = result + length * towards
        residual = residual - length * product
        before, square = square, float(np.vdot(residual, residual))
        towards = residual + (square / before) * towards
    return result


def _curve(values: list[float]) -> Curve:
    return list(enumerate(values, start=1))
