"""From a mixture with one spread to Gaussian clusters with one covariance, or with one each.

EM goes on from clusters that a mixture of one spread v has ended in, of the rows or of `Evened`
ones. Each covariance S has a
prior proportional to |S|^(-n/2) exp(-n v tr(S^-1) / 2), which counts as n = r + 2 more rows of
covariance v I, so that a cluster of few rows keeps a shape; an iteration never lowers the
posterior. Rows known to be of a cluster stay there.

Source: Dempster, Laird and Rubin (1977); Fraley and Raftery, "Bayesian Regularization for Normal
Mixture Estimation and Model-Based Clustering" (2007), whose degrees of freedom these are; the scale
is v here, where theirs is a share of the variance of all rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Array, Float, row_blocks
from models.clusters.placing import normalize
from models.methods.labelled.discovery.mixture import Mixture, MixtureFit, PartlyLabelledRows

Covariance: TypeAlias = Literal["spherical", "tied", "full"]
"""One spread for all clusters, one covariance for all, or one for each."""

SHAPES: tuple[Covariance, ...] = ("spherical", "tied", "full")

MAX_ITER = 100
TOL = 1e-5
"""The least rise of the log posterior, for each row."""


def covariance_of(mixture: Mixture) -> Covariance:
    """Which of them a mixture has."""
    if mixture.factors is None:
        return "spherical"
    return "full" if mixture.has_each else "tied"


@dataclass(frozen=True, slots=True)
class ShapedFit:
    """fit : its likelihood is without the prior. log_posteriors : after each iteration, from the
    start on, without what is constant in the prior."""

    fit: MixtureFit
    log_posteriors: list[float]


@dataclass(frozen=True, slots=True)
class Evened:
    """Rows turned and stretched until they are as wide in all directions, so that the longest
    direction of the rows does not decide what a mixture of one spread divides.

    rows : (N, r) turned ones. turn : (r, r) T, by which rows x become T x. variance : of the
        mixture of one spread of the rows as they were.
    """

    rows: PartlyLabelledRows
    turn: Float
    variance: float

    @classmethod
    def of(cls, rows: PartlyLabelledRows, variance: float) -> Evened:
        """O(N r^2)."""
        counts = np.array([float(rows.code.size)])
        scatter = np.zeros((1, rows.values.shape[1], rows.values.shape[1]))
        # Rows known to be of a cluster about its mean, so that known clusters count by their shape.
        for cluster in np.unique(rows.code).tolist():
            values = rows.values[rows.code == cluster]
            scatter += scatter_of(values, values.mean(axis=0, dtype=np.float64))
        turn = factors_of(scatter, counts, variance)[0]
        turned = np.asarray(rows.values @ turn.T)
        return cls(PartlyLabelledRows.of(turned, rows.code), turn, variance)

    def as_given(self, mixture: Mixture) -> Mixture:
        """A mixture of turned rows as one of the rows as they were."""
        means = np.asarray(np.linalg.solve(self.turn, mixture.means.T).T, dtype=np.float64)
        factors = np.asarray(self.turn[None] / math.sqrt(mixture.variance))
        return Mixture(mixture.kind, means, mixture.weights, self.variance, factors)


def shaped(rows: PartlyLabelledRows, start: Mixture, covariance: Covariance) -> ShapedFit:
    """EM from a mixture of Gaussians with one spread, or with one covariance.

    covariance : 'tied' or 'full'.

    O(N K r^2) each iteration for full covariances, O(N K r + N r^2) for a tied one; memory 16 N K
    bytes of a block of rows.
    """
    n_rows, n_columns = rows.values.shape
    n_factors = 1 if covariance == "tied" else start.weights.size
    factors = start.factors
    if factors is None:
        factors = np.eye(n_columns)[None] / math.sqrt(start.variance)
    factors = np.repeat(factors, n_factors, axis=0)
    mixture = replace(start, factors=factors, has_each=covariance == "full")
    products = rows.values.T.astype(np.float64) @ rows.values if covariance == "tied" else None
    log_posteriors: list[float] = []
    while True:
        evidence, mass, sums, own = _expected(mixture, rows, products is None)
        log_posteriors.append(evidence + _log_prior(mixture))
        risen = len(log_posteriors) < 2 or (log_posteriors[-1] - log_posteriors[-2] > TOL * n_rows)
        if not risen or len(log_posteriors) > MAX_ITER:
            end = MixtureFit(mixture, evidence, len(log_posteriors) - 1, not risen)
            return ShapedFit(end, log_posteriors)
        filled = mass > 1e-12 * n_rows
        means = np.where(filled[:, None], sums / np.maximum(mass, 1e-300)[:, None], mixture.means)
        weights = np.where(filled, mass, 1e-12 * n_rows)
        away = mass[:, None, None] * means[:, :, None] * means[:, None, :]
        if products is None:
            scatter, counts = own - away, mass
        else:
            scatter, counts = (products - away.sum(axis=0))[None], np.array([float(n_rows)])
        factors = factors_of(scatter, counts, mixture.variance)
        mixture = replace(mixture, means=means, weights=weights / weights.sum(), factors=factors)


def factors_of(scatter: Float, counts: Float, variance: float) -> Float:
    """(k, r, r) R, R'R the inverse of the covariance of highest posterior.

    scatter : (k, r, r) squares and products about the mean, of this many rows (k,).
    """
    n_columns = scatter.shape[1]
    prior = n_columns + 2
    covariance = scatter + prior * variance * np.eye(n_columns)
    covariance /= (counts + prior)[:, None, None]
    variances, axes = np.linalg.eigh((covariance + covariance.swapaxes(1, 2)) / 2.0)
    # The prior bounds them from below; only rounding can take them under it.
    least = prior * variance / (counts + prior)
    variances = np.maximum(variances, least[:, None])
    return np.asarray(axes.swapaxes(1, 2) / np.sqrt(variances)[:, :, None])


def scatter_of(values: Array, mean: Float) -> Float:
    """(r, r) squares and products about a mean. O(N r^2)."""
    away = values - mean
    return np.asarray(away.T @ away, dtype=np.float64)


def _log_prior(mixture: Mixture) -> float:
    assert mixture.factors is not None
    prior = mixture.means.shape[1] + 2
    volumes = np.linalg.slogdet(mixture.factors)[1]
    traces = np.square(mixture.factors).sum(axis=(1, 2))
    return float((prior * volumes - 0.5 * prior * mixture.variance * traces).sum())


def _expected(
    mixture: Mixture, rows: PartlyLabelledRows, each: bool
) -> tuple[float, Float, Float, Float]:
    """The log-likelihood, and by the posteriors the number (K,), the sum (K, r) and, for `each`,
    the products (K, r, r) of each cluster's rows."""
    n_clusters, n_columns = mixture.means.shape
    evidence, mass, sums = 0.0, np.zeros(n_clusters), np.zeros((n_clusters, n_columns))
    products = np.zeros((n_clusters if each else 0, n_columns, n_columns))
    for block in row_blocks(rows.code.size, n_clusters + n_columns):
        values = rows.values[block].astype(np.float64)
        code = rows.code[block]
        joint = mixture.log_joint(values)
        known = np.flatnonzero(code >= 0)
        own = joint[known, code[known]]
        logs = normalize(joint)
        logs[known] = own
        evidence += float(logs.sum())
        posterior = np.exp(joint, out=joint)
        posterior[known] = 0.0
        posterior[known, code[known]] = 1.0
        mass += posterior.sum(axis=0)
        sums += posterior.T @ values
        for cluster in range(len(products)):
            products[cluster] += (values * posterior[:, cluster, None]).T @ values
    return evidence, mass, sums, products
