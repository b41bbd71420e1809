"""Weights of clusters that change with time: the softmax of Gaussian random walks.

eta_1 ~ N(0, s0^2 I), eta_t ~ N(eta_{t-1}, s^2 I), z_ti ~ Cat(softmax(eta_t)) (thesis 5.5, whose
Dirichlet in between is not indexed by time). q(eta) is Gaussian and factorises over clusters, with
the precision P + diag(w_k): P is the precision of the prior and w >= 0, so periods are coupled as
in the prior. E[log softmax(eta_t)_k] >= m_tk - log sum_j exp(m_tj + v_tj / 2), by Jensen.

At the bound's maximum w_tk = N_t softmax(m_t + v_t / 2)_k, so Newton's steps in m, with that
precision, and w are taken together, shortened until the bound does not fall. O(T K) a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax

from models.arrays import Arrays, Float, Int

STEPS = 8
"""The most Newton steps in one update."""

HALVINGS = 12

LEAST_SD, MOST_SD = 0.01, 10.0
"""Bounds of the estimates of s and s0."""


@dataclass(frozen=True, slots=True)
class WeightPaths:
    """mean, precision (T, K) m and w; variance (T, K) v; link (T - 1, K) covariances of t and
    t + 1; log_det (K,) of the precisions P + diag(w_k); first_sd, sd : s0 and s."""

    mean: Float
    precision: Float
    variance: Float
    link: Float
    log_det: Float
    first_sd: float
    sd: float

    @classmethod
    def of_precision(cls, mean: Float, precision: Float, first_sd: float, sd: float) -> WeightPaths:
        variance, link, log_det = _chain(precision, first_sd, sd)
        return cls(mean, precision, variance, link, log_det, first_sd, sd)

    @property
    def log_weights(self) -> Float:
        """(T, K) the bound of E[log pi_tk]; 0 for a single cluster."""
        if self.mean.shape[1] == 1:
            return np.zeros_like(self.mean)
        high = self.mean + 0.5 * self.variance
        return np.asarray(self.mean - logsumexp(high, axis=1, keepdims=True))

    @property
    def weights(self) -> Float:
        """(T, K) softmax(m + v / 2), the shares that the bound expects; also after the last period,
        since all variances grow alike."""
        return np.asarray(softmax(self.mean + 0.5 * self.variance, axis=1))

    def divergence(self) -> float:
        """KL(q || prior)."""
        n_periods, n_clusters = self.mean.shape
        if n_clusters == 1:
            return 0.0
        first, steps = self._spread()
        value = first / self.first_sd**2 + steps / self.sd**2 - self.mean.size
        prior = 2.0 * n_clusters * (np.log(self.first_sd) + (n_periods - 1) * np.log(self.sd))
        return 0.5 * float(value + prior + self.log_det.sum())

    def gain(self, size: Float) -> float:
        """The weights' part of the lower bound: E[log p(z)] - KL, for numbers of rows (T, K)."""
        return float((size * self.log_weights).sum()) - self.divergence()

    def updated(self, size: Float) -> WeightPaths:
        """The optimum for `size`, (T, K); never worse than the current weights."""
        if self.mean.shape[1] == 1:
            return self
        n_rows = size.sum(axis=1, keepdims=True)
        best, value = self, self.gain(size)
        for _ in range(STEPS):
            target = n_rows * best.weights
            pull = size - target - _times_prior(best.mean, best.first_sd, best.sd)
            move = _solved(target, best.first_sd, best.sd, pull)
            low = np.log(np.maximum(best.precision, 1e-12))
            far = np.log(np.maximum(target, 1e-12)) - low
            for halving in range(HALVINGS):
                step = 0.5**halving
                tried = WeightPaths.of_precision(
                    best.mean + step * move, np.exp(low + step * far), best.first_sd, best.sd
                )
                after = tried.gain(size)
                if after > value:
                    break
            else:
                return best
            rise, best, value = after - value, tried, after
            if rise < 1e-8 * (1.0 + abs(value)):
                break
        return best

    def estimated(self) -> WeightPaths:
        """With s0 and s by empirical Bayes; q stays."""
        n_periods, n_clusters = self.mean.shape
        if n_clusters == 1:
            return self
        first, steps = self._spread()
        first_sd = float(np.clip(np.sqrt(first / n_clusters), LEAST_SD, MOST_SD))
        sd = self.sd
        if n_periods > 1:
            sd = float(np.clip(np.sqrt(steps / ((n_periods - 1) * n_clusters)), LEAST_SD, MOST_SD))
        return replace(self, first_sd=first_sd, sd=sd)

    def _spread(self) -> tuple[float, float]:
        """E[|eta_1|^2], and the sum over t > 1 of E[|eta_t - eta_{t-1}|^2]."""
        first = self.mean[0] ** 2 + self.variance[0]
        step = np.diff(self.mean, axis=0) ** 2 + self.variance[1:] + self.variance[:-1]
        return float(first.sum()), float((step - 2.0 * self.link).sum())

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {
            f"{prefix}walk": np.stack([self.mean, self.precision, self.variance]),
            f"{prefix}walk_link": self.link,
            f"{prefix}walk_log_det": self.log_det,
            f"{prefix}walk_sd": np.array([self.first_sd, self.sd]),
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> WeightPaths:
        mean, precision, variance = np.asarray(arrays[f"{prefix}walk"], dtype=np.float64)
        first_sd, sd = arrays[f"{prefix}walk_sd"].tolist()
        link, log_det = arrays[f"{prefix}walk_link"], arrays[f"{prefix}walk_log_det"]
        return cls(mean, precision, variance, link, log_det, first_sd, sd)

    def reordered(self, order: Int) -> WeightPaths:
        return replace(
            self,
            mean=self.mean[:, order],
            precision=self.precision[:, order],
            variance=self.variance[:, order],
            link=self.link[:, order],
            log_det=self.log_det[order],
        )


def _prior_diagonal(n_periods: int, first_sd: float, sd: float) -> Float:
    """(T,) the diagonal of P, whose neighbours are -1 / s^2."""
    diagonal = np.full(n_periods, 2.0 / sd**2)
    diagonal[-1] = 1.0 / sd**2
    diagonal[0] = first_sd**-2 + (sd**-2 if n_periods > 1 else 0.0)
    return diagonal


def _times_prior(mean: Float, first_sd: float, sd: float) -> Float:
    """P times each column."""
    product = _prior_diagonal(len(mean), first_sd, sd)[:, None] * mean
    product[1:] -= mean[:-1] / sd**2
    product[:-1] -= mean[1:] / sd**2
    return product


def _pivots(diagonal: Float, sd: float) -> Float:
    """(T, K) the pivots of the elimination from the first row on."""
    pivots = diagonal.copy()
    for t in range(1, len(pivots)):
        pivots[t] -= sd**-4 / pivots[t - 1]
    return pivots


def _chain(precision: Float, first_sd: float, sd: float) -> tuple[Float, Float, Float]:
    """Variances (T, K), covariances (T - 1, K) of neighbours, log determinants (K,) of the
    precisions."""
    diagonal = precision + _prior_diagonal(len(precision), first_sd, sd)[:, None]
    down = _pivots(diagonal, sd)
    up = _pivots(diagonal[::-1], sd)[::-1]
    variance = 1.0 / (down + up - diagonal)
    link = variance[1:] / (sd**2 * down[:-1])
    return variance, link, np.asarray(np.log(down).sum(axis=0))


def _solved(precision: Float, first_sd: float, sd: float, right: Float) -> Float:
    """(P + diag(w_k))^-1 times each column."""
    diagonal = precision + _prior_diagonal(len(precision), first_sd, sd)[:, None]
    down, solution = _pivots(diagonal, sd), right.copy()
    for t in range(1, len(solution)):
        solution[t] += solution[t - 1] / (sd**2 * down[t - 1])
    solution[-1] /= down[-1]
    for t in range(len(solution) - 2, -1, -1):
        solution[t] = (solution[t] + solution[t + 1] / sd**2) / down[t]
    return solution
