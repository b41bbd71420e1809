"""The conditional likelihood of known clusters whose columns are gamma distributed.

A transformed row u = L x, L >= 0, has in cluster k the density prod_p Gamma(u_p; shape alpha_kp,
rate alpha_kp / a_kp), where a_kp is the mean of the cluster's u_p. The likeliest shape solves
log alpha - digamma(alpha) = log a_kp - mean log u_p. Shapes and means are part of the objective and
of its gradient (the shape's by the implicit function theorem), so that one function of L is
minimised; the thesis alternates between shapes and L.

Multiplying a row of L by a number changes nothing.

Source: Gopal, "Large-scale Structured Learning" (2014), §C.2, whose gradient lacks signs and a
factor alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln, polygamma

from models.arrays import Array, Float, Int, Matrix
from models.errors import UsageError
from models.methods.labelled.densities.minimum import (
    Effort,
    LocalMinimum,
    identity,
    local_minimum,
    penalized,
)
from models.methods.labelled.supervision.inputs import KnownClusters
from models.running.progress import Progress

LARGEST_SHAPE = 1e4
"""A cluster whose rows hardly differ in a column is taken to have this shape there: a standard
deviation of a hundredth of its mean."""

NEWTON_STEPS = 50


def shapes(spread: Float) -> Float:
    """The alpha with log(alpha) - digamma(alpha) = spread, for spreads above 0.

    Newton's steps on 1 / alpha from a closed form within 2 %: Minka, "Estimating a Gamma
    distribution" (2002). Four steps or so.
    """
    shape = (3.0 - spread + np.sqrt((spread - 3.0) ** 2 + 24.0 * spread)) / (12.0 * spread)
    for _ in range(NEWTON_STEPS):
        excess = np.log(shape) - digamma(shape) - spread
        inverse = 1.0 / shape + excess / (shape * shape * (1.0 / shape - polygamma(1, shape)))
        moved = np.abs(inverse * shape - 1.0)
        shape = 1.0 / inverse
        if float(moved.max(initial=0.0)) <= 1e-14:
            break
    return np.asarray(shape)


LEAST_DIAGONAL = 1e-3


def least_entries(n_columns: int) -> Float:
    """(D, D) lower bounds of L: nothing is negative, and row d keeps a share of column d.

    Without the share a row could shrink to 0, where it has no density: no length of it changes the
    likelihood, and a row without its own column is the closer to the identity the shorter it is.
    """
    return LEAST_DIAGONAL * np.eye(n_columns)


LEAST_SPREAD = float(np.log(LARGEST_SHAPE) - digamma(LARGEST_SHAPE))


@dataclass(frozen=True, slots=True)
class Shaped:
    """The objective for given shapes.

    value : minus the log likelihood. of_rows : (N, P) its derivative in each transformed value,
        those through the clusters' means included. of_shapes : (K, P) in each shape.
    """

    value: float
    of_rows: Float
    of_shapes: Float


class GammaLikelihood:
    """points : (N, D) positive. code : (N,) the cluster of each.

    Products are in double precision.
    """

    def __init__(self, points: Array, code: Int, n_clusters: int) -> None:
        self._points = points.astype(np.float64)
        self._code = code
        self._member = np.zeros((code.size, n_clusters))
        self._member[np.arange(code.size), code] = 1.0
        self._mean = (self._member / self._member.sum(axis=0)).T

    def of_matrix(self, matrix: Float) -> tuple[float, Float]:
        """Minus the log likelihood under (P, D) L, and its gradient. O(N P (D + K))."""
        image = self._points @ matrix.T
        means, logs = self._mean @ image, self._mean @ np.log(image)
        spread = np.log(means) - logs
        open_ended = spread > LEAST_SPREAD
        shape = shapes(np.maximum(spread, LEAST_SPREAD))
        shaped = self.shaped(image, shape)
        slope = open_ended / (1.0 / shape - polygamma(1, shape))
        through = shaped.of_shapes * slope / self._member.sum(axis=0)[:, None]
        back = shaped.of_rows + (through / means)[self._code] - through[self._code] / image
        return shaped.value, back.T @ self._points

    def shaped(self, image: Float, shape: Float) -> Shaped:
        """The objective for (K, P) shapes, of (N, P) transformed rows."""
        logs, means = np.log(image), self._mean @ image
        rate = shape / means
        constant = (shape * np.log(rate) - gammaln(shape)).sum(axis=1)
        logits = logs @ (shape - 1.0).T - image @ rate.T + constant
        own = logits[np.arange(self._code.size), self._code]
        top = logits.max(axis=1)
        excess = np.exp(logits - top[:, None])
        total = excess.sum(axis=1)
        value = float((top + np.log(total) - own).sum())
        excess = excess / total[:, None] - self._member
        sums, surplus = excess.T @ image, excess.sum(axis=0)[:, None]
        of_means = rate * (sums / means - surplus)
        direct = (excess @ (shape - 1.0)) / image - excess @ rate
        of_rows = direct + (of_means / self._member.sum(axis=0)[:, None])[self._code]
        of_shapes = surplus * (np.log(rate) + 1.0 - digamma(shape)) + excess.T @ logs - sums / means
        return Shaped(value, of_rows, of_shapes)


def fitted(known: KnownClusters, gamma: float, effort: Effort, progress: Progress) -> LocalMinimum:
    """(D, D) L near the identity, held by `gamma` |L - I|^2; the clusters' rows are positive."""
    likelihood = GammaLikelihood(known.points, known.code, known.n_clusters)
    n_columns = known.points.shape[1]
    return local_minimum(
        penalized(likelihood.of_matrix, identity, gamma),
        np.eye(n_columns),
        least=least_entries(n_columns),
        effort=effort,
        progress=progress,
    )


def require_positive(features: Matrix) -> None:
    """Raises UsageError for a value that is not above 0."""
    if sp.issparse(features):
        n_positive = np.asarray((features > 0).sum(axis=1)).ravel()
    else:
        n_positive = np.count_nonzero(features > 0, axis=1)
    low = np.flatnonzero(n_positive < features.shape[1])
    if low.size:
        raise UsageError(
            f"Input 'features' has a value that is not above 0 in row {low[0]} (counted from 0); "
            "density 'gamma' takes values above 0. Add a small number to counts or shares first.",
            code="wrong-input",
            role="features",
            row=int(low[0]),
        )
