"""Posteriors of the concentrations given everything else, and the density of new rows under them.

Given n_k rows and s_k = sum_i lambda_ik x_i . E[mu_k], the mean-field optimum is q(kappa_k)
proportional to exp(n_k log C_D(kappa) + s_k kappa) times the log-normal prior (equation 5.7 of the
thesis). For a shared kappa the sums of n_k and of s_k replace them.

`by_grid` computes its expectations by the trapezoidal rule in log kappa, so the bound stays a lower
bound, which the thesis loses by drawing from the same distribution by MCMC. `by_bound` (5.3.1.2)
takes q(kappa_k) log-normal and log I_v by an upper bound of it (equation 5.8, its integral
corrected): log I_v(u) <= sqrt(u^2 + v^2) + v log(u / (v + sqrt(u^2 + v^2))) + v log v - v - log
Gamma(v + 1), from I_v'(u) / I_v(u) <= sqrt(1 + v^2 / u^2); expectations are by Gauss-Hermite
quadrature instead of the delta method, which gives no bound (5.10).

Neither lets kappa grow without limit where rows are identical: q lies below `max_kappa` (with
`by_bound` its median), and the bound remains valid.

New rows: p(x | k) is the expectation over q(kappa) of C_D(kappa) C_D(gamma) / C_D(|kappa x + gamma
psi|): mu_k ~ vMF(psi, gamma) is integrated out exactly (vMF distributions are conjugate to each
other), and kappa, approximated by a log-normal with the first two moments of log kappa under q, by
Gauss-Hermite quadrature.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from models.arrays import Arrays, Float, Int
from models.clusters.placing import normalize
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture.passes import log_joint
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import sphere

NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
NODE_WEIGHTS = _NODE_WEIGHTS / math.sqrt(2.0 * math.pi)

LEAST_LOG = -35.0
"""The least log kappa."""


def best_log_normal(
    size: Float,
    along: Float,
    n_features: int,
    priors: Priors,
    before: tuple[Float, Float] | None,
    max_kappa: float,
) -> tuple[Float, Float]:
    """(K,) each: a and b of the best log-normals exp N(a, b^2), starting from those `before`.

    L-BFGS with exact gradients, over two numbers per cluster.
    """
    from scipy.optimize import minimize

    v = sphere.order_of(n_features)
    if before is None:
        # The bounded likelihood is highest where kappa / (v + sqrt(v^2 + kappa^2)) is r.
        r = np.divide(along, size, out=np.zeros_like(along), where=size > 1e-12)
        peak = 2.0 * v * np.clip(r, 0.0, 1.0 - 1e-12) / (1.0 - np.clip(r, 0.0, 1.0 - 1e-12) ** 2)
        a = np.where(peak > 0, np.log(np.where(peak > 0, peak, 1.0)), priors.m)
    else:
        a = before[0]
    most = math.log(max_kappa)
    a = np.clip(a, LEAST_LOG, most)
    kappa = np.exp(a)
    s = np.sqrt(v * v + kappa * kappa)
    scale = 1.0 / np.sqrt(size * kappa * kappa * v / (s * (s + v)) + priors.sigma**-2)
    b = scale if before is None else np.maximum(before[1], 1e-8)

    def negative(z: Float) -> tuple[float, Float]:
        shift, stretch = z.reshape(2, -1)
        value, by_a, by_b = log_normal_bound(
            a + shift * scale, b * np.exp(stretch), size, along, n_features, priors
        )
        by_stretch = by_b * b * np.exp(stretch)
        return -float(value.sum()), -np.concatenate([by_a * scale, by_stretch])

    optimum = minimize(
        negative,
        np.zeros(2 * len(size)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-50.0, min(50.0, gap)) for gap in ((most - a) / scale).tolist()]
        + [(-4.0, 4.0)] * len(size),
        options={"maxiter": 200, "ftol": 1e-13, "gtol": 1e-7},
    )
    shift, stretch = optimum.x.reshape(2, -1)
    return a + shift * scale, b * np.exp(stretch)


def log_c_bound(n_features: int, kappa: Any) -> Float:
    """A lower bound of log C_D(kappa), from the upper bound of log I_v; equal at 0."""
    v = sphere.order_of(n_features)
    s = np.sqrt(v * v + kappa * kappa)
    # At 0 it is that of the uniform density; log1p and s - v avoid cancellation.
    grown = kappa * kappa / (s + v) if v else kappa
    lead = v * np.log1p(0.5 * grown / v) if v else 0.0
    return np.asarray(sphere.log_uniform(n_features) + lead - grown)


def log_normal_bound(
    a: Float, b: Float, size: Float, along: Float, n_features: int, priors: Priors
) -> tuple[Float, Float, Float]:
    """(K,) each: the part of the bound for q(kappa) = exp N(a, b^2), and its slopes in a and b."""
    v = sphere.order_of(n_features)
    kappa = np.exp(a[:, None] + b[:, None] * NODES)
    gain = size[:, None] * log_c_bound(n_features, kappa) + along[:, None] * kappa
    value = gain @ NODE_WEIGHTS
    steep = kappa / (v + np.sqrt(v * v + kappa * kappa))
    rise = kappa * (along[:, None] - size[:, None] * steep)
    off = (a - priors.m) / priors.sigma**2
    value += np.log(b / priors.sigma) - 0.5 * (b / priors.sigma) ** 2
    value -= 0.5 * (a - priors.m) * off
    by_b = (rise * NODES) @ NODE_WEIGHTS + 1.0 / b - b / priors.sigma**2
    return value, rise @ NODE_WEIGHTS - off, by_b


Form = Literal["grid", "bound"]

ZOOM, FINE = 33, 257
"""The sizes of the grids that locate a posterior, and of the grid over which it is summed."""

DROP = 45.0
"""A posterior is neglected this many nats below its peak."""

_INTERVAL = (0.025, 0.975)

_COLUMNS = ("mean", "log_c", "log_mean", "log_square", "divergence", "low", "high")


@dataclass(frozen=True, slots=True)
class Concentrations:
    """q(kappa) of each cluster, (K,) each; or of a shared kappa, (1,) each.

    mean, log_c, log_mean, log_square : E[kappa], E[log C_D(kappa)] (or of its bound),
    E[log kappa], E[(log kappa)^2].
    divergence : KL(q || prior) for the prior `m`, `sigma` under which q was computed.
    low, high : the 95% credible interval.
    """

    mean: Float
    log_c: Float
    log_mean: Float
    log_square: Float
    divergence: Float
    low: Float
    high: Float
    m: float
    sigma: float

    @classmethod
    def at(cls, kappa: Float, n_features: int, priors: Priors) -> Concentrations:
        """q concentrated at a single value each, to start a run; without its divergence."""
        log = np.log(np.maximum(kappa, 1e-12))
        log_c, none = sphere.log_c(n_features, kappa), np.zeros(len(kappa))
        return cls(kappa, log_c, log, log**2, none, kappa, kappa, priors.m, priors.sigma)

    @classmethod
    def fitted(
        cls,
        form: Form,
        size: Float,
        along: Float,
        n_features: int,
        priors: Priors,
        before: Concentrations | None,
        max_kappa: float,
    ) -> Concentrations:
        """q in the given form at its optimum for n_k = `size` and s_k = `along`, (K,) each.

        before : where the search starts with `by_bound`; None: at the mode of the likelihood.
        """
        if form == "grid":
            return by_grid(size, along, n_features, priors, max_kappa)
        return by_bound(size, along, n_features, priors, before, max_kappa)

    def divergence_from(self, priors: Priors) -> Float:
        """KL(q || prior) for other m and sigma, (K,)."""

        def surprise(m: float, sigma: float) -> Float:
            square = self.log_square - 2.0 * m * self.log_mean + m * m
            return math.log(sigma) + 0.5 * square / sigma**2

        return self.divergence + surprise(priors.m, priors.sigma) - surprise(self.m, self.sigma)

    def reordered(self, order: Int) -> Concentrations:
        """The concentrations with cluster `order[k]` as cluster k; a shared one stays."""
        if len(self.mean) == 1:
            return self
        return replace(self, **{name: getattr(self, name)[order] for name in _COLUMNS})

    def arrays(self, prefix: str = "") -> dict[str, Float]:
        return {
            f"{prefix}concentrations": np.stack([getattr(self, name) for name in _COLUMNS]),
            f"{prefix}made_with": np.array([self.m, self.sigma]),
        }

    @classmethod
    def of(cls, arrays: Arrays, prefix: str = "") -> Concentrations:
        m, sigma = arrays[f"{prefix}made_with"].tolist()
        table = np.asarray(arrays[f"{prefix}concentrations"], dtype=np.float64)
        return cls(**dict(zip(_COLUMNS, table, strict=True)), m=m, sigma=sigma)

    def per_cluster(self, n_clusters: int) -> Concentrations:
        """The same concentrations with (K,) numbers, also where they are shared."""
        if len(self.mean) > 1:
            return self
        return replace(self, **{name: getattr(self, name).repeat(n_clusters) for name in _COLUMNS})

    @property
    def intervals(self) -> dict[str, Float]:
        """The columns for a tree: the mean of each kappa and the ends of its interval."""
        return {"kappa": self.mean, "kappa_low": self.low, "kappa_high": self.high}

    @property
    def model_arrays(self) -> dict[str, Float]:
        """The arrays of a model."""
        return {**self.intervals, "log_mean": self.log_mean, "log_sd": self.log_sd}

    @property
    def log_sd(self) -> Float:
        """Standard deviation of log kappa."""
        return np.asarray(np.sqrt(np.maximum(0.0, self.log_square - self.log_mean**2)))


def by_grid(
    size: Float, along: Float, n_features: int, priors: Priors, max_kappa: float = 1e9
) -> Concentrations:
    """The mean-field optimum for n_k = `size` and s_k = `along`, (K,) each.

    O(K) grids of a few hundred points.
    """
    low, high = _range(size, along, n_features, priors, math.log(max_kappa))
    for _ in range(24):
        t, log_q, _ = _log_q(low, high, ZOOM, size, along, n_features, priors)
        inside = log_q > log_q.max(axis=1, keepdims=True) - DROP
        first = np.maximum(inside.argmax(axis=1) - 1, 0)
        last = np.minimum(ZOOM - inside[:, ::-1].argmax(axis=1), ZOOM - 1)
        rows = np.arange(len(size))
        low, high = t[rows, first], t[rows, last]
        if (last - first > ZOOM // 2).all():
            break
    t, log_q, log_c = _log_q(low, high, FINE, size, along, n_features, priors)
    top = log_q.max(axis=1, keepdims=True)
    mass = np.exp(log_q - top)
    mass[:, [0, -1]] *= 0.5
    total = mass.sum(axis=1)
    step = (high - low) / (FINE - 1)
    log_z = top[:, 0] + np.log(total * step) - 0.5 * np.log(2.0 * np.pi * priors.sigma**2)
    mass /= total[:, None]
    kappa = np.exp(t)
    mean, mean_log_c = (mass * kappa).sum(axis=1), (mass * log_c).sum(axis=1)
    log_mean, log_square = (mass * t).sum(axis=1), (mass * t * t).sum(axis=1)
    below = np.cumsum(mass, axis=1) - 0.5 * mass
    ends = [
        [np.interp(level, b, grid) for b, grid in zip(below, t, strict=True)] for level in _INTERVAL
    ]
    return Concentrations(
        mean,
        mean_log_c,
        log_mean,
        log_square,
        size * mean_log_c + along * mean - log_z,
        np.exp(ends[0]),
        np.exp(ends[1]),
        priors.m,
        priors.sigma,
    )


def by_bound(
    size: Float,
    along: Float,
    n_features: int,
    priors: Priors,
    before: Concentrations | None,
    max_kappa: float = 1e9,
) -> Concentrations:
    """The best log-normal under the bound of log I_v, never worse than `before`.

    The search starts from `before`, or without it from the mode of the likelihood.
    """
    known = None if before is None else (before.log_mean, before.log_sd)
    a, b = best_log_normal(size, along, n_features, priors, known, max_kappa)
    kappa = np.exp(a[:, None] + b[:, None] * NODES)
    square = b * b + (a - priors.m) ** 2
    divergence = np.log(priors.sigma / b) + 0.5 * square / priors.sigma**2 - 0.5
    reach = float(ndtri(0.975)) * b
    return Concentrations(
        np.exp(a + 0.5 * b * b),
        log_c_bound(n_features, kappa) @ NODE_WEIGHTS,
        a,
        a * a + b * b,
        divergence,
        np.exp(a - reach),
        np.exp(a + reach),
        priors.m,
        priors.sigma,
    )


def _peaks(size: Float, along: Float, n_features: int, priors: Priors) -> tuple[Float, Float]:
    """(K,) each: an interval that contains the log kappa of maximum likelihood.

    It comes from Amos's bounds of the Bessel ratio; where there is no maximum it is the prior's
    mean.
    """
    r = np.divide(along, size, out=np.zeros_like(along), where=size > 1e-12)
    r = np.clip(r, 0.0, 1.0 - 1e-12)
    has_peak = r > 0
    scale = np.where(has_peak, r / (1.0 - r * r), 1.0)
    low, high = np.log((n_features - 1) * scale), np.log(n_features * scale)
    return np.where(has_peak, low, priors.m), np.where(has_peak, high, priors.m)


def _range(
    size: Float, along: Float, n_features: int, priors: Priors, most: float
) -> tuple[Float, Float]:
    """The range of log kappa that matters: beyond both maxima, prior and likelihood fall."""
    left, right = _peaks(size, along, n_features, priors)
    reach = math.sqrt(2.0 * DROP) * priors.sigma
    low, high = np.minimum(left, priors.m) - reach, np.maximum(right, priors.m) + reach
    return np.clip(low, LEAST_LOG, most - 1.0), np.clip(high, LEAST_LOG + 1.0, most)


def _log_q(
    low: Float,
    high: Float,
    n: int,
    size: Float,
    along: Float,
    n_features: int,
    priors: Priors,
) -> tuple[Float, Float, Float]:
    """(K, n) each: a grid of log kappa, the log density there but for a constant, log C_D."""
    from models.methods.sphere.mixture.loops import log_c as quick_log_c

    t = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, n)
    kappa = np.exp(t)
    log_c = quick_log_c(n_features, kappa)
    off = (t - priors.m) / priors.sigma
    return t, size[:, None] * log_c + along[:, None] * kappa - 0.5 * off * off, log_c


N_NODES = 5

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(N_NODES)
_LOG_WEIGHTS = np.log(_WEIGHTS) - 0.5 * math.log(2.0 * math.pi)


def log_predictive(
    points: UnitRows,
    log_weights: Float,
    psi: Float,
    gamma: Float,
    log_mean: Float,
    log_sd: Float,
    threads: int = 1,
) -> tuple[Float, Float]:
    """(n_points, K) log p(k | x), and (n_points,) log p(x).

    log_weights : (K,) logarithms of E[pi_k].
    log_mean, log_sd : (K,) mean and standard deviation of log kappa.

    O(N D K), and some tens of nanoseconds for each of the N K `N_NODES` constants.
    """
    from models.methods.sphere.mixture import loops
    from models.methods.sphere.mixture.loops import table

    n_features = psi.shape[1]
    known = table(n_features)
    kappa = np.exp(log_mean[:, None] + log_sd[:, None] * _NODES)
    offsets = _LOG_WEIGHTS + sphere.log_c(n_features, kappa)
    offsets += sphere.log_c(n_features, gamma)[:, None]
    joint = log_joint(points, psi, np.zeros(len(gamma)))

    def fill(rows: slice) -> None:
        loops.predict(joint[rows], gamma, kappa, offsets, known)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, points.slices(len(gamma) * N_NODES)))
    joint += log_weights
    return joint, normalize(joint)


def predict(points: UnitRows, arrays: Arrays, threads: int) -> tuple[Float, Float]:
    """Log posterior and log-likelihood of rows, as `log_predictive`, under a model's arrays."""
    return log_predictive(
        points,
        arrays["log_weights"],
        arrays["psi"],
        arrays["gamma"],
        arrays["log_mean"],
        arrays["log_sd"],
        threads,
    )
