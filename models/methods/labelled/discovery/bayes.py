"""A mixture with one full covariance, with priors on it and on the means; EM to the mode.

Means m_k are N(0, v I), rows being measured from their mean. The covariance S has a prior
proportional to |S|^(-n/2) exp(-n s tr(S^-1) / 2), the inverse Wishart's form, which counts as n
more rows of covariance s I. A row is of each cluster that it may be of with the same chance, and
N(m_k, S). Rows known to be of a cluster stay there. An iteration raises the posterior in turn over
the posteriors of rows, the means at the old covariance, and the covariance at the new means, so
that it never falls.

v and s stay as they are: with v free the posterior has no bound, as all means can meet.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.6.1 (BP); Meng and Rubin, "Maximum
Likelihood Estimation via the ECM Algorithm" (1993).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.clusters.placing import normalize

LEAST = 1e-6
"""The least variance that a prior has; the mean variance of a column is 1."""


@dataclass(frozen=True, slots=True)
class Prior:
    """variance : v of means. spread : s. n_rows : n that the prior of the covariance counts for."""

    variance: float
    spread: float
    n_rows: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows of a fit by what EM needs of them.

    free : (n_free, D) the rows that are not labelled. sums, size : (n_known, D) and (n_known,) of
        the rows known to be of each cluster. products : (D, D) of all rows with themselves.
    """

    free: Float
    sums: Float
    size: Float
    products: Float

    @classmethod
    def of(cls, points: Float, code: Int, n_known: int) -> Sample:
        """code : the cluster that a row is known to be of, -1 for others. O(N D^2)."""
        labelled = np.flatnonzero(code >= 0)
        sums = np.zeros((n_known, points.shape[1]))
        np.add.at(sums, code[labelled], points[labelled])
        size = np.bincount(code[labelled], minlength=n_known).astype(np.float64)
        return cls(points[code < 0], sums, size, points.T @ points)

    @property
    def n_rows(self) -> int:
        return int(self.free.shape[0] + self.size.sum())

    def empirical(self, shrinkage: float, within: Float) -> tuple[Prior, Float]:
        """The prior from the known clusters alone, and the mode of the covariance there.

        v is their means' mean square; s the mean variance within them; n `shrinkage` rows for each
        column. within : (D, D) squares and products about their means.
        """
        n_known, n_columns = self.sums.shape
        n_labelled = float(self.size.sum())
        means = self.sums / self.size[:, None]
        spread = float(np.trace(within)) / (n_columns * max(n_labelled - n_known, 1.0))
        n_rows = shrinkage * n_columns
        prior = Prior(max(float(np.square(means).mean()), LEAST), max(spread, LEAST), n_rows)
        return prior, _mode(within, n_labelled, prior)


@dataclass(frozen=True, slots=True)
class PriorFit:
    """means : (K, D), known clusters first. precision : (D, D) the covariance's inverse.

    log_likelihood : of all rows, those that are labelled under their cluster.
    log_posteriors : after each iteration, from the start on, up to the constant of the covariance's
        prior.
    """

    means: Float
    precision: Float
    log_likelihood: float
    log_posteriors: list[float]
    converged: bool


def climb(
    sample: Sample,
    means: Float,
    covariance: Float,
    prior: Prior,
    *,
    first: int,
    max_iter: int,
    tol: float,
) -> PriorFit:
    """EM until the log posterior rises by less than `tol` for each row.

    means : (K, D), known clusters first. first : the first cluster that rows may be of that are not
        labelled.

    O(N K D + K D^2 + D^3) each iteration; memory 16 N K bytes.
    """
    log_posteriors: list[float] = []
    while True:
        variances, axes = np.linalg.eigh(covariance)
        precision = (axes / variances) @ axes.T
        posterior, log_likelihood = _expected(sample, means, precision, variances, first)
        log_posteriors.append(log_likelihood + _log_prior(means, variances, prior))
        converged = (
            len(log_posteriors) > 1
            and log_posteriors[-1] - log_posteriors[-2] <= tol * sample.n_rows
        )
        if converged or len(log_posteriors) > max_iter:
            return PriorFit(means, precision, log_likelihood, log_posteriors, converged)
        size = np.zeros(means.shape[0])
        sums = np.zeros_like(means)
        size[: sample.size.size], sums[: sample.size.size] = sample.size, sample.sums
        size[first:] += posterior.sum(axis=0)
        sums[first:] += posterior.T @ sample.free
        tightness = size[:, None] / variances + 1.0 / prior.variance
        means = ((sums @ axes) / variances / tightness) @ axes.T
        cross = sums.T @ means
        squares = sample.products - cross - cross.T + (means.T * size) @ means
        covariance = _mode(squares, sample.n_rows, prior)


def _expected(
    sample: Sample, means: Float, precision: Float, variances: Float, first: int
) -> tuple[Float, float]:
    """(n_free, K - first) posteriors of the rows that are not labelled, and the log likelihood."""
    image = means @ precision
    half = 0.5 * np.einsum("kd,kd->k", image, means)
    posterior = sample.free @ image[first:].T - half[first:]
    posterior -= math.log(means.shape[0] - first)
    free = float(normalize(posterior).sum())
    np.exp(posterior, out=posterior)
    n_known, n_columns = sample.sums.shape
    known = float(np.vdot(sample.sums, image[:n_known]) - sample.size @ half[:n_known])
    common = n_columns * math.log(2.0 * math.pi) + float(np.log(variances).sum())
    squares = float(np.vdot(precision, sample.products))
    return posterior, free + known - 0.5 * (squares + sample.n_rows * common)


def _log_prior(means: Float, variances: Float, prior: Prior) -> float:
    of_means = means.size * math.log(2.0 * math.pi * prior.variance)
    of_means += float(np.square(means).sum()) / prior.variance
    of_covariance = float((np.log(variances) + prior.spread / variances).sum())
    return -0.5 * (of_means + prior.n_rows * of_covariance)


def _mode(squares: Float, n_rows: float, prior: Prior) -> Float:
    """(D, D) the covariance of highest posterior for squares and products about the means."""
    covariance = squares / (n_rows + prior.n_rows)
    own = prior.n_rows * prior.spread / (n_rows + prior.n_rows)
    covariance[np.diag_indices_from(covariance)] += own
    return covariance
