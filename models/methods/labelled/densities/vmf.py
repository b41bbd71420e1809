"""The conditional likelihood of known clusters whose rows are directions, under a transformation.

A row x, measured from the mean of all rows, is turned to n = L x / |L x|. A cluster's direction
mu_k is that of the sum of its turned rows, the likeliest one, and a row of cluster k has the
probability softmax_k(kappa mu_k.n). The mean directions are part of the objective and of its
gradient, so that one function of L is minimised; the printed algorithm alternates between mu and L
by two steps that share no objective.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4.2 (TCS-VM), algorithm 4.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.methods.labelled.densities.minimum import (
    PENALTIES,
    Effort,
    LocalMinimum,
    local_minimum,
    penalized,
)
from models.methods.labelled.supervision.inputs import KnownClusters
from models.running.progress import Progress

LEAST_RESULTANT = 1e-12
"""The mean of a cluster's directions that counts as none."""


class DirectionLikelihood:
    """points : (N, D) without rows of zeros. code : (N,) the cluster of each. kappa : concentration
    that all clusters have.

    Neither the rows' length nor that of L changes anything. Products are in double precision.
    """

    def __init__(self, points: Array, code: Int, n_clusters: int, kappa: float) -> None:
        self._points = points / np.linalg.norm(points, axis=1, keepdims=True).astype(np.float64)
        self._code, self._kappa = code, kappa
        self._member = np.zeros((code.size, n_clusters))
        self._member[np.arange(code.size), code] = 1.0

    def of_matrix(self, matrix: Float) -> tuple[float, Float]:
        """Minus the log likelihood under (r, D) L, and its gradient. O(N r (D + K)).

        Raises UsageError where L turns a row to zeros, or a cluster's directions cancel out.
        """
        value, back = self._value(self._points @ matrix.T)
        return value, back.T @ self._points

    def of_diagonal(self, diagonal: Float) -> tuple[float, Float]:
        """The same for (D,) the diagonal of L. O(N K D)."""
        value, back = self._value(self._points * diagonal)
        return value, np.einsum("nd,nd->d", back, self._points)

    def _value(self, image: Float) -> tuple[float, Float]:
        """From (N, r) transformed rows: minus the log likelihood, its gradient in each of them."""
        length = np.linalg.norm(image, axis=1, keepdims=True)
        if not length.all():
            raise UsageError(
                "The transformation turns a known row to zeros, which have no direction; use "
                "density 'gaussian'.",
                code="wrong-parameter",
                parameter="density",
            )
        turned = image / length
        sums = self._member.T @ turned
        resultant = np.linalg.norm(sums, axis=1, keepdims=True)
        flat = np.flatnonzero(resultant[:, 0] <= LEAST_RESULTANT * self._member.sum(axis=0))
        if flat.size:
            raise UsageError(
                f"The directions of the rows of known cluster {flat[0]} (counted from 0) cancel "
                "out, so that it has no mean direction; use density 'gaussian'.",
                code="wrong-input",
                role="labels",
            )
        means = sums / resultant
        logits = self._kappa * (turned @ means.T)
        own = logits[np.arange(self._code.size), self._code]
        top = logits.max(axis=1)
        excess = np.exp(logits - top[:, None])
        total = excess.sum(axis=1)
        value = float((top + np.log(total) - own).sum())
        excess = self._kappa * (excess / total[:, None] - self._member)
        # Through the mean directions, then through the rows' own.
        of_means = excess.T @ turned
        of_means -= np.einsum("kr,kr->k", of_means, means)[:, None] * means
        back = excess @ means + (of_means / resultant)[self._code]
        back -= np.einsum("nr,nr->n", back, turned)[:, None] * turned
        return value, back / length


def fitted(
    known: KnownClusters,
    kappa: float,
    diagonal: bool,
    penalty: str,
    gamma: float,
    effort: Effort,
    progress: Progress,
) -> LocalMinimum:
    """(D, D) L near the identity, or (D,) its diagonal. penalty : a name in `PENALTIES`."""
    likelihood = DirectionLikelihood(known.points, known.code, known.n_clusters, kappa)
    loss = likelihood.of_diagonal if diagonal else likelihood.of_matrix
    n_columns = known.points.shape[1]
    return local_minimum(
        penalized(loss, PENALTIES[penalty], gamma),
        np.ones(n_columns) if diagonal else np.eye(n_columns),
        effort=effort,
        progress=progress,
    )


def require_directions(points: Array) -> None:
    """Raises UsageError for rows of one column, and for a row of zeros.

    points : (N, D) measured from their mean, on one scale: their mean square is 1.
    """
    if points.shape[1] < 2:
        raise UsageError(
            "Rows have one column, so that there are only two directions; use density 'gaussian'.",
            code="wrong-parameter",
            parameter="density",
        )
    length = np.linalg.norm(points, axis=1)
    zero = np.flatnonzero(length <= 100.0 * np.finfo(points.dtype).eps)
    if zero.size:
        raise UsageError(
            f"Row {zero[0]} (counted from 0) is the mean of all rows and has no direction from "
            "it; leave it out, or use density 'gaussian'.",
            code="wrong-input",
            role="features",
            row=int(zero[0]),
        )
