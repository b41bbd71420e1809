"""The local minimum near a start, by L-BFGS (SciPy's L-BFGS-B), and what holds a transformation.

`identity` and `logdet` hold a transformation: they are functions of L, or of its diagonal, with
their gradients.

A likelihood that the length of L, or of its rows, does not change has no minimum where a penalty
only shrinks L ('l2', 'nuclear'): the objective falls all the way to 0, where L tells nothing. These
two have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float
from models.running.progress import Progress

Function = Callable[[Float], tuple[float, Float]]
"""From (D, D) L, or (D,) its diagonal, to a value and its gradient."""


def identity(matrix: Float) -> tuple[float, Float]:
    """|L - I|^2, the squares of entries summed."""
    away = matrix - (np.eye(matrix.shape[0]) if matrix.ndim == 2 else 1.0)
    return float(np.vdot(away, away)), 2.0 * away


def logdet(matrix: Float) -> tuple[float, Float]:
    """trace(L'L) - log det(L'L); infinite for a singular L. O(D^3) for a matrix.

    Its least value, D, is at every rotation.
    """
    squares = float(np.vdot(matrix, matrix))
    if matrix.ndim == 1:
        if not matrix.all():
            return np.inf, np.zeros_like(matrix)
        value = squares - 2.0 * float(np.log(np.abs(matrix)).sum())
        return value, 2.0 * (matrix - 1.0 / matrix)
    sign, log = np.linalg.slogdet(matrix)
    if sign == 0.0:
        return np.inf, np.zeros_like(matrix)
    return squares - 2.0 * float(log), 2.0 * (matrix - np.linalg.inv(matrix).T)


PENALTIES: Mapping[str, Function] = {"identity": identity, "logdet": logdet}


def penalized(loss: Function, penalty: Function, gamma: float) -> Function:
    """The loss and `gamma` times the penalty."""

    def objective(matrix: Float) -> tuple[float, Float]:
        value, gradient = loss(matrix)
        held, slope = penalty(matrix)
        return value + gamma * held, gradient + gamma * slope

    return objective


SHARE_OF_TOL = 1e-3
"""Steps end where one lowers the objective by less than this share of `tol`: a single step tells
little of how far the minimum is."""


@dataclass(frozen=True, slots=True)
class Effort:
    """tol : steps end where the objective falls by less than `SHARE_OF_TOL` of this share."""

    tol: float
    max_iter: int


Objective = Callable[[Float], tuple[float, Float]]


@dataclass(frozen=True, slots=True)
class LocalMinimum:
    """point : where it is, shaped like the start. objectives : from the start on, never rising."""

    point: Float
    objectives: list[float]
    converged: bool

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.converged:
            return ()
        return (
            f"Not converged after {len(self.objectives) - 1} steps, at the objective "
            f"{self.objectives[-1]:.6g}. Raise 'max_iter' or 'tol'.",
        )


def local_minimum(
    objective: Objective,
    start: Float,
    *,
    least: Float | None = None,
    effort: Effort,
    progress: Progress,
) -> LocalMinimum:
    """The point that steps from the start end at.

    objective : from a point to its value and gradient. least : of each entry; None: no bounds.

    One or two values of the objective with its gradient a step; memory of twenty points.
    """
    from scipy.optimize import OptimizeResult, minimize

    objectives = [objective(start)[0]]

    def flat(point: Array) -> tuple[float, Array]:
        value, gradient = objective(point.reshape(start.shape))
        return value, gradient.ravel()

    def after_step(intermediate_result: OptimizeResult) -> None:
        objectives.append(float(intermediate_result.fun))
        done = 1.0 - 1.0 / (1.0 + 0.02 * len(objectives))
        progress(done, "learning", f"{objectives[-1]:.6g}")

    result = minimize(
        flat,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=None if least is None else [(low, None) for low in least.ravel().tolist()],
        callback=after_step,
        options={
            "maxiter": effort.max_iter,
            "maxfun": 20 * effort.max_iter,
            "ftol": SHARE_OF_TOL * effort.tol,
            "gtol": 0.0,
        },
    )
    # A line search that finds nothing lower (status 2) ends at the limit of rounding.
    return LocalMinimum(np.asarray(result.x).reshape(start.shape), objectives, result.status != 1)
