"""Gaussian clusters under a transformation to few columns.

With L of `rank` rows, A = L'L has at most that rank. The objective of A (`metric`) is convex, that
of L is not: its gradient is 2 L times the objective's gradient at A. Several starts are compared.
Where `rank` is above that of the best metric (K - 1 for K known clusters bounds it for 'l2' and
'nuclear'), local minima of L are minima of A as well (Journée et al., "Low-rank optimization on the
cone of positive semidefinite matrices", 2010); below, they need not be the best of that rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from models.arrays import Float
from models.errors import UsageError
from models.methods.labelled.densities.minimum import Effort, LocalMinimum, local_minimum
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.methods.labelled.supervision.inputs import KnownClusters
from models.running.progress import Progress, subprogress

N_STARTS = 3
"""From the directions in which known means differ most, filled up by those in which rows do; then
from random ones."""

Loss = Callable[[Float], tuple[float, Float]]


def _identity(metric: Float) -> tuple[float, Float]:
    away = metric - np.eye(metric.shape[0])
    return float(np.vdot(away, away)), 2.0 * away


REGULARIZERS: Mapping[str, Loss] = {
    "identity": _identity,
    "l2": lambda metric: (float(np.vdot(metric, metric)), 2.0 * metric),
    "nuclear": lambda metric: (float(np.trace(metric)), np.eye(metric.shape[0])),
}
"""The regularizers of A; 'logdet' is infinite for a singular one."""


def objective(loss: Loss, regularizer: str, gamma: float) -> Loss:
    """A function of (rank, D) L: the loss of A = L'L and `gamma` times its regularizer, and the
    gradient."""

    def of_rows(matrix: Float) -> tuple[float, Float]:
        metric = matrix.T @ matrix
        value, gradient = loss(metric)
        held, slope = REGULARIZERS[regularizer](metric)
        return value + gamma * held, 2.0 * matrix @ (gradient + gamma * slope)

    return of_rows


def starts(known: KnownClusters, rank: int, rng: np.random.Generator) -> list[Float]:
    """`N_STARTS` (rank, D) matrices, the first with rows of length 1 and at right angles."""
    means = known.means - known.means.mean(axis=0)
    away = known.points - known.points.mean(axis=0)
    spread = np.asarray(away.T @ away, dtype=np.float64) / known.code.size
    between = means.T @ means
    # The means' directions come first, whatever the rows' spread in others.
    scale = 1e-6 * np.trace(between) / max(float(np.trace(spread)), 1e-300)
    first = np.linalg.eigh(between + scale * spread)[1][:, ::-1].T[:rank]
    n_columns = known.points.shape[1]
    drawn = rng.normal(size=(N_STARTS - 1, rank, n_columns)) / np.sqrt(n_columns)
    return [np.ascontiguousarray(first), *drawn]


def fitted(
    known: KnownClusters,
    rank: int,
    regularizer: str,
    gamma: float,
    effort: Effort,
    rng: np.random.Generator,
    progress: Progress,
) -> LocalMinimum:
    """(rank, D) L, the lowest of the local minima near the starts.

    regularizer : a name in `REGULARIZERS`.

    Raises UsageError for a rank above the number of columns.
    """
    points = known.points.astype(np.float64)
    if rank > points.shape[1]:
        raise UsageError(
            f"Parameter 'rank' is {rank}, but rows have {points.shape[1]} columns.",
            code="wrong-parameter",
            parameter="rank",
        )
    likelihood = ConditionalLikelihood(points, known.code, known.n_clusters)
    of_rows = objective(likelihood.of_matrix, regularizer, gamma)
    minima = []
    for number, start in enumerate(starts(known, rank, rng)):
        within = subprogress(progress, number / N_STARTS, (number + 1) / N_STARTS)
        minima.append(local_minimum(of_rows, start, effort=effort, progress=within))
    return min(minima, key=lambda minimum: minimum.objectives[-1])
