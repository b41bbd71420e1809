"""L-BFGS on all weights at once (SciPy's L-BFGS-B, without bounds).

The memory of the last steps begins anew every `ROUND` steps, where the state is saved: what a
resumed fit does depends on the saved weights alone.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.5 (LBFGS), there with 5 steps.
Cost: O(N D K) a step; memory 42 times the weights (2 `DEPTH` + 5 of them SciPy's).
"""

from __future__ import annotations

import numpy as np

from models.arrays import Array, Float
from models.method import Checkpoint
from models.methods.classifiers.softmax.objective import (
    Curve,
    Effort,
    Minimum,
    SoftmaxObjective,
    gap,
)
from models.running.progress import Progress

DEPTH = 10
"""Steps that are remembered; 10 take 5 to 15 per cent fewer steps than 5."""

ROUND = 100


def minimize_jointly(
    objective: SoftmaxObjective, effort: Effort, progress: Progress, checkpoint: Checkpoint
) -> Minimum:
    """The minimum of J. Curves: `objective` and `gradient`, its norm, after each step."""
    from scipy.optimize import OptimizeResult, minimize

    saved = checkpoint.load()
    shape = objective.zeros().shape
    flat, values, norms = np.zeros(shape[0] * shape[1]), [], []
    if saved is not None:
        flat, (values, norms) = np.array(saved["weights"]), saved["curves"].tolist()
    last = (np.inf, np.inf)

    def evaluate(flat: Array) -> tuple[float, Array]:
        nonlocal last
        value, gradient = objective.value_and_gradient(flat.reshape(shape))
        last = value, float(np.linalg.norm(gradient))
        return value, gradient.ravel()

    def after_step(intermediate_result: OptimizeResult) -> None:
        values.append(last[0])
        norms.append(last[1])
        progress(len(values) / effort.max_iter, "steps", f"step {len(values)}")
        if gap(last[1]) <= effort.tol * abs(last[0]):
            raise StopIteration

    while len(values) < effort.max_iter:
        n_before = len(values)
        result = minimize(
            evaluate,
            flat,
            jac=True,
            method="L-BFGS-B",
            callback=after_step,
            options={
                "maxcor": DEPTH,
                "maxiter": min(ROUND, effort.max_iter - n_before),
                "maxfun": 20 * ROUND,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
        flat = np.asarray(result.x)
        if len(values) == n_before or gap(norms[-1]) <= effort.tol * abs(values[-1]):
            break
        if len(values) < effort.max_iter:
            checkpoint.save({"weights": flat, "curves": np.array([values, norms])})
    weights: Float = flat.reshape(shape)
    value, gradient = objective.value_and_gradient(weights)
    norm = float(np.linalg.norm(gradient))
    return Minimum(
        weights,
        value,
        value,
        norm,
        len(values),
        gap(norm) <= effort.tol * abs(value),
        {"objective": _curve(values), "gradient": _curve(norms)},
    )


def _curve(values: list[float]) -> Curve:
    return list(enumerate(values, start=1))
