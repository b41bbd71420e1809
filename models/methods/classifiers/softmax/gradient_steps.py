"""L-BFGS on all weights at once (SciPy's L-BFGS-B, without bounds).

The memory of the last steps begins anew every `ROUND` steps, where the state is saved: what a
resumed fit does depends on the saved weights alone.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.5 (LBFGS), there with 5 steps.
Cost: O(N D K) a step; memory 42 times the weights (2 `DEPTH` + 5 of them SciPy's).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from models.arrays import Array, Float
from models.method import Checkpoint
from models.methods.classifiers.softmax.objective import (
    Curve,
    Minimum,
    SoftmaxObjective,
)
from models.running.progress import Progress

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
