"""The metric of max-margin clusters, by cutting planes.

Minimises gamma |A - I|^2 + slack over semidefinite A, such that <A, normal> >= loss - slack for
each plane and slack >= 0. Rounds add the plane that a search finds most violated, and end when it
finds none.

The master problem of a round is solved by its dual: A = P(I + sum of a_c normal_c / (2 gamma)), P
the nearest semidefinite matrix, for the multipliers a >= 0 of sum at most 1 that maximise
gamma (D - |A|^2) + sum of a_c loss_c, a smooth concave function whose derivative in a_c is what
plane c lacks. It is below the optimum for any a, and never falls as planes are added.

Source: Gopal, "Large-scale Structured Learning" (2014), §7.3.2, whose constraint has the slack's
sign wrong and no loss, so that it is unbounded; Tsochantaridis et al. (2005); Joachims, Finley and
Yu, "Cutting-Plane Training of Structural SVMs" (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Float
from models.methods.labelled.margin.clusterings import Plane
from models.methods.labelled.metric.cone import on_cone
from models.running.progress import Progress

PRECISE = 1e-15
"""The change of the dual at which steps end: the gap is of the order of its root."""

MOST_STEPS = 500

Search = Callable[[Float], Plane]
"""From a (D, D) metric to a plane that it keeps badly."""


@dataclass(frozen=True, slots=True)
class Master:
    """metric : (D, D) A. multipliers : of the planes. slack : the least for this metric.

    objective : gamma |A - I|^2 + slack. bound : the optimum is at least this.
    """

    metric: Float
    multipliers: Float
    slack: float
    objective: float
    bound: float


@dataclass(frozen=True, slots=True)
class MarginFit:
    """planes : all that were found. bounds : of the optimum, by round.

    lacks : by how much the last plane found was violated beyond the slack.
    """

    master: Master
    planes: tuple[Plane, ...]
    bounds: list[float]
    lacks: float
    converged: bool


def separate(
    search: Search, n_columns: int, gamma: float, *, tol: float, max_iter: int, progress: Progress
) -> MarginFit:
    """Rounds until the search finds no plane violated by more than `tol`.

    Cost: a round searches once, and solves its master problem in tens of steps of
    O(D^3 + n_planes D^2), from the last round's multipliers; memory 8 D^2 bytes a plane.
    """
    planes: list[Plane] = []
    bounds: list[float] = []
    master = solve(planes, n_columns, gamma, np.zeros(0))
    for turn in range(max_iter + 1):
        plane = search(master.metric)
        lacks = plane.lacks(master.metric) - master.slack
        if lacks <= tol or turn == max_iter:
            break
        planes.append(plane)
        master = solve(planes, n_columns, gamma, np.append(master.multipliers, 0.0))
        bounds.append(master.bound)
        share = 1.0 - 1.0 / (1.0 + 0.1 * turn)
        progress(share, "learning", f"round {turn + 1}, objective {master.objective:.6g}")
    return MarginFit(master, tuple(planes), bounds, lacks, lacks <= tol)


def solve(planes: Sequence[Plane], n_columns: int, gamma: float, start: Float) -> Master:
    """The master problem of these planes, from multipliers that it may take."""
    from scipy.optimize import LinearConstraint, minimize

    losses = np.array([plane.loss for plane in planes])
    normals = np.array([plane.normal.ravel() for plane in planes]).reshape(-1, n_columns**2)
    identity = np.eye(n_columns)

    def at(multipliers: Float) -> tuple[Float, float]:
        moved = (multipliers @ normals).reshape(n_columns, n_columns) / (2.0 * gamma)
        metric, squares = on_cone(identity + moved)
        return metric, gamma * (n_columns - squares) + float(multipliers @ losses)

    def fallen(multipliers: Float) -> tuple[float, Float]:
        metric, value = at(multipliers)
        return -value, normals @ metric.ravel() - losses

    multipliers = start
    if len(planes):
        best = minimize(
            fallen,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(planes),
            constraints=[LinearConstraint(np.ones(len(planes)), -np.inf, 1.0)],
            options={"maxiter": MOST_STEPS, "ftol": PRECISE},
        )
        multipliers = np.maximum(best.x, 0.0)
        multipliers /= max(1.0, float(multipliers.sum()))
        if at(multipliers)[1] < at(start)[1]:
            multipliers = start
    metric, bound = at(multipliers)
    slack = max(0.0, float((losses - normals @ metric.ravel()).max(initial=0.0)))
    objective = gamma * float(np.linalg.norm(metric - identity) ** 2) + slack
    return Master(metric, multipliers, slack, objective, bound)
