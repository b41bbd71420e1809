"""Mixtures whose clusters have one spread in common, some of them with rows known to be theirs.

`shapes` goes on from these to clusters with covariances.

A Gaussian cluster has a mean m and the common variance v: its logit at a row z is log w +
(z.m - |m|^2 / 2) / v, up to what all clusters share. A von Mises-Fisher cluster of directions has
a mean direction m and the common concentration 1 / v: log w + z.m / v. So one E-step and one M-step
serve both. Rows known to be of a cluster stay there (constrained EM).

Source: Gopal, "Large-scale Structured Learning" (2014), §6.6.1 (GM), §5.2; Basu, Banerjee and
Mooney, "Semi-supervised Clustering by Seeding" (2002), for rows that stay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import softmax

from models.arrays import Array, Float, Int, row_blocks
from models.errors import UsageError
from models.numerics import sphere

Clusterer: TypeAlias = Literal["gmm", "vmf", "log-gmm"]
"""A mixture of the rows themselves, of their directions, or of the logarithms of positive rows."""

LEAST_VARIANCE = 1e-9
"""The least common variance, in shares of the rows' own."""

MOST_KAPPA = 1e6


@dataclass(frozen=True, slots=True)
class Mixture:
    """means : (K, r), of length 1 for directions. weights : (K,) sum to 1. variance : v.

    factors : (1, r, r) or (K, r, r) R of Gaussians with one covariance or with one each, whose
        inverse is R'R; None: v times the identity.
    has_each : whether it is one each, also where K is 1.
    """

    kind: Clusterer
    means: Float
    weights: Float
    variance: float
    factors: Float | None = None
    has_each: bool = False

    def log_joint(self, rows: Array) -> Float:
        """(n_rows, K) log densities and weights, without what is common to a row. O(N K r), with
        factors O(N K r^2)."""
        if self.factors is not None:
            return self._log_densities(rows, self.factors)
        offset = np.log(self.weights)
        if self.kind != "vmf":
            offset = offset - 0.5 * np.einsum("kr,kr->k", self.means, self.means) / self.variance
        scaled = (self.means / self.variance).astype(rows.dtype)
        return np.asarray(rows @ scaled.T, dtype=np.float64) + offset

    def _log_densities(self, rows: Array, factors: Float) -> Float:
        """With all that rows have in common."""
        n_columns = self.means.shape[1]
        joint = np.empty((rows.shape[0], self.weights.size))
        for cluster, mean in enumerate(self.means):
            factor = factors[cluster % len(factors)]
            if cluster < len(factors):
                turned = np.asarray(rows @ factor.T, dtype=np.float64)
                volume = float(np.linalg.slogdet(factor)[1])
            away = turned - factor @ mean
            joint[:, cluster] = volume - 0.5 * np.einsum("nr,nr->n", away, away)
        joint += np.log(self.weights) - 0.5 * n_columns * math.log(2.0 * math.pi)
        return joint

    def common(self, squares: float, n_rows: int) -> float:
        """What `log_joint` leaves out, summed over rows with this sum of squares."""
        n_columns = self.means.shape[1]
        if self.kind == "vmf":
            return n_rows * float(sphere.log_c(n_columns, 1.0 / self.variance))
        constant = 0.5 * n_columns * math.log(2.0 * math.pi * self.variance)
        return float(-0.5 * squares / self.variance - n_rows * constant)

    @property
    def n_parameters(self) -> int:
        n_clusters, n_columns = self.means.shape
        of_mean = n_columns - 1 if self.kind == "vmf" else n_columns
        each = n_columns * (n_columns + 1) // 2
        of_spread = 1 if self.factors is None else len(self.factors) * each
        return int(n_clusters * of_mean + (n_clusters - 1) + of_spread)

    def some(self, clusters: Int) -> Mixture:
        """With these clusters alone, in this order."""
        weights = self.weights[clusters]
        factors = self.factors
        if factors is not None and self.has_each:
            factors = factors[clusters]
        means = self.means[clusters]
        return replace(self, means=means, weights=weights / weights.sum(), factors=factors)


def clustered(rows: Array, clusterer: Clusterer) -> Array:
    """What the mixture is one of: the rows, their directions or their logarithms.

    Raises UsageError for a row that has none.
    """
    if clusterer == "gmm":
        return rows
    return directions(rows) if clusterer == "vmf" else logarithms(rows)


def logarithms(rows: Array) -> Array:
    """Raises UsageError for a row with a value that is not above 0."""
    low = np.flatnonzero((rows <= 0.0).any(axis=1))
    if low.size:
        raise UsageError(
            f"Row {low[0]} (counted from 0) is transformed to a value that is not above 0 and has "
            "no logarithm; density 'gamma' takes positive features only.",
            code="wrong-input",
            role="features",
            row=int(low[0]),
        )
    return np.asarray(np.log(rows))


def directions(rows: Array) -> Array:
    """Rows of length 1.

    Raises UsageError for a row of zeros, and for rows of a single column, whose directions are two.
    """
    if rows.shape[1] < 2:
        raise UsageError(
            "The transformed rows have one column, so that there are only two directions; use "
            "'clusterer' gmm.",
            code="wrong-parameter",
            parameter="clusterer",
        )
    length = np.linalg.norm(rows, axis=1)
    zero = np.flatnonzero(length == 0.0)
    if zero.size:
        raise UsageError(
            f"Row {zero[0]} (counted from 0) is transformed to zeros, which have no direction; use "
            "'clusterer' gmm.",
            code="wrong-input",
            role="features",
            row=int(zero[0]),
        )
    return np.asarray(rows / length[:, None].astype(rows.dtype))


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """log_likelihood : of all rows, those known to be of a cluster under that cluster."""

    mixture: Mixture
    log_likelihood: float
    n_iter: int
    converged: bool


@dataclass(frozen=True, slots=True)
class PartlyLabelledRows:
    """The rows of a fit.

    values : (N, r). code : (N,) the cluster that a row is known to be of, -1 for others.
    squares : the sum of all squares.
    """

    values: Array
    code: Int
    squares: float

    @classmethod
    def of(cls, values: Array, code: Int) -> PartlyLabelledRows:
        return cls(values, code, float(np.square(values, dtype=np.float64).sum()))


def climb(rows: PartlyLabelledRows, start: Mixture, max_iter: int, tol: float) -> MixtureFit:
    """EM from a mixture until an EM step raises the mean log-likelihood of a row by at most `tol`.

    Every second step goes on from a point beyond, extrapolated from the last two (`beyond`), unless
    the likelihood is lower there; so it never falls, and clusters that overlap take a third of the
    steps of plain EM.

    max_iter : E-steps. O(N K r) each; memory that of a block of rows.
    """
    least = tol * rows.code.size
    steps = _Steps(rows, max_iter)
    first = steps.taken(start)
    stretch = LEAST_STRETCH
    while steps.left:
        second = steps.taken(first.after)
        if second.log_likelihood - first.log_likelihood <= least:
            return MixtureFit(second.mixture, second.log_likelihood, steps.n_taken, True)
        if not steps.left:
            return MixtureFit(second.mixture, second.log_likelihood, steps.n_taken, False)
        far, reached = beyond(first.mixture, second.mixture, second.after, stretch)
        if reached:
            stretch *= 4.0
        third = steps.taken(far)
        if third.log_likelihood >= second.log_likelihood:
            first = third
            continue
        stretch = max(stretch / 4.0, LEAST_STRETCH)
        first = steps.taken(second.after) if steps.left else second
    return MixtureFit(first.mixture, first.log_likelihood, steps.n_taken, False)


LEAST_STRETCH = 1.0


@dataclass(frozen=True, slots=True)
class _Step:
    """An EM step. log_likelihood : of `mixture`, from which it leads to `after`."""

    mixture: Mixture
    log_likelihood: float
    after: Mixture


@dataclass(slots=True)
class _Steps:
    """EM steps on rows. left : those that may still be taken."""

    rows: PartlyLabelledRows
    left: int
    n_taken: int = 0

    def taken(self, mixture: Mixture) -> _Step:
        self.left -= 1
        self.n_taken += 1
        log_likelihood, mass, sums = expected(mixture, self.rows)
        return _Step(mixture, log_likelihood, maximized(mixture, self.rows, mass, sums))


def beyond(first: Mixture, second: Mixture, third: Mixture, stretch: float) -> tuple[Mixture, bool]:
    """Where the steps of EM from `first` to `second` to `third` lead if they go on alike, at most
    `stretch` of them, and whether it is that many.

    With r = second - first and c = (third - second) - r it is first + 2 a r + a^2 c, a = |r| / |c|
    at least 1, which is `third`. Logarithms of weights and of the variance are extrapolated, and
    mean directions return to length 1.

    Source: Varadhan and Roland, "Simple and Globally Convergent Methods for Accelerating the
    Convergence of Any EM Algorithm" (2008), scheme S3.
    """
    points = [_coordinates(mixture) for mixture in (first, second, third)]
    step = points[1] - points[0]
    curve = points[2] - points[1] - step
    length = float(np.linalg.norm(step)) / max(float(np.linalg.norm(curve)), 1e-300)
    ahead = min(max(length, 1.0), stretch)
    if ahead == 1.0:
        return third, stretch == 1.0
    point = points[0] + 2.0 * ahead * step + ahead**2 * curve
    n_clusters = first.weights.size
    means = point[: -n_clusters - 1].reshape(first.means.shape)
    if first.kind == "vmf":
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-300)
    weights = np.maximum(softmax(point[-n_clusters - 1 : -1]), np.finfo(np.float64).tiny)
    within = third.variance * 1e-3, third.variance * 1e3
    variance = float(np.clip(math.exp(min(point[-1], 700.0)), *within))
    return Mixture(first.kind, means, weights, variance), ahead == stretch


def _coordinates(mixture: Mixture) -> Float:
    return np.concatenate(
        [mixture.means.ravel(), np.log(mixture.weights), [math.log(mixture.variance)]]
    )


def expected(mixture: Mixture, rows: PartlyLabelledRows) -> tuple[float, Float, Float]:
    """The log-likelihood, and by the posteriors the number (K,) and the sum (K, r) of each
    cluster's rows. O(N K r)."""
    n_clusters = mixture.weights.size
    evidence, mass, sums = 0.0, np.zeros(n_clusters), np.zeros(mixture.means.shape)
    for block in row_blocks(rows.code.size, n_clusters):
        values, code = rows.values[block], rows.code[block]
        # Clusters by rows: numpy's maxima and sums over a long last axis are far faster.
        joint = np.ascontiguousarray(mixture.log_joint(values).T)
        known = np.flatnonzero(code >= 0)
        own = joint[code[known], known]
        top = joint.max(axis=0)
        joint -= top
        posterior = joint.astype(values.dtype)
        np.exp(posterior, out=posterior)
        total = posterior.sum(axis=0)
        posterior /= total
        logs = top + np.log(total, dtype=np.float64)
        logs[known] = own
        evidence += float(logs.sum())
        posterior[:, known] = 0.0
        posterior[code[known], known] = 1.0
        mass += posterior.sum(axis=1, dtype=np.float64)
        sums += posterior @ values
    return evidence + mixture.common(rows.squares, rows.code.size), mass, sums


def maximized(mixture: Mixture, rows: PartlyLabelledRows, mass: Float, sums: Float) -> Mixture:
    """The likeliest mixture for what `expected` gave of the clusters."""
    n_rows, n_columns = rows.values.shape
    filled = mass > 1e-12 * n_rows
    weights = np.where(filled, mass, 1e-12 * n_rows)
    weights /= weights.sum()
    if mixture.kind != "vmf":
        means = np.where(filled[:, None], sums / np.maximum(mass, 1e-300)[:, None], mixture.means)
        within = rows.squares - float((mass[:, None] * means * means)[filled].sum())
        floor = LEAST_VARIANCE * rows.squares / rows.values.size
        return Mixture(
            mixture.kind, means, weights, max(within / (n_rows * n_columns), floor, 1e-300)
        )
    length = np.linalg.norm(sums, axis=1)
    turned = length > 0.0
    means = np.where(turned[:, None], sums / np.maximum(length, 1e-300)[:, None], mixture.means)
    resultant = min(float(length.sum()) / n_rows, 1.0 - 1e-12)
    kappa = min(float(sphere.concentration(n_columns, resultant)), MOST_KAPPA)
    return Mixture("vmf", means, weights, 1.0 / max(kappa, 1e-6))
