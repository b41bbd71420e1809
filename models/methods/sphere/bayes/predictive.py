"""The predictive density of new rows under posteriors of means and concentrations.

p(x | k) = E over q(kappa) of C_D(kappa) C_D(gamma) / C_D(|kappa x + gamma psi|), mu_k ~ vMF(psi,
gamma) being integrated out (vMF distributions are conjugate to each other); over kappa, taken as
log-normal with q's first two moments of its logarithm, by Gauss-Hermite's rule.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from models.arrays import Arrays, Float
from models.clusters.placing import normalize
from models.methods.sphere.mixture.passes import log_joint
from models.methods.sphere.mixture.rows import TimedRows, UnitRows
from models.numerics import bessel

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

    log_weights : (K,) logarithms of E[pi_k]. log_mean, log_sd : (K,) of log kappa. O(N D K), and
    some tens of nanoseconds for each of N K `N_NODES` constants.
    """
    from models.methods.sphere.mixture.loops import sweeps
    from models.methods.sphere.mixture.loops.constants import table

    n_features = psi.shape[1]
    known = table(n_features)
    kappa = np.exp(log_mean[:, None] + log_sd[:, None] * _NODES)
    offsets = _LOG_WEIGHTS + bessel.log_c(n_features, kappa)
    offsets += bessel.log_c(n_features, gamma)[:, None]
    joint = log_joint(points, psi, np.zeros(len(gamma)))

    def fill(rows: slice) -> None:
        sweeps.predict(joint[rows], gamma, kappa, offsets, known)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, points.slices(len(gamma) * N_NODES)))
    joint += log_weights
    return joint, normalize(joint)


def log_predictive_in_time(
    timed: TimedRows, arrays: Arrays, c0: float, threads: int = 1
) -> tuple[Float, Float]:
    """As `log_predictive`, each row by the clusters of its own period, in the rows' order.

    arrays : `psi` (T, K, D), `gamma` and `weights` (T, K), `log_mean` and `log_sd` (K,). Of periods
    after the last one, h steps on, mu is taken as vMF with the mean that h steps of vMF(., c0)
    leave, of length A(gamma) A(c0)^h; the weights' means stay.
    """
    psi, gamma, log_weights = arrays["psi"], arrays["gamma"], np.log(arrays["weights"])
    last, n_features = len(psi) - 1, psi.shape[2]
    n_points = timed.points.shape[0]
    joint, evidence = np.empty((n_points, psi.shape[1])), np.empty(n_points)
    for t, part in enumerate(timed.parts()):
        if not part.shape[0]:
            continue
        at, known = min(t, last), gamma[min(t, last)]
        if t > last:
            length = bessel.ratio(n_features, known) * bessel.ratio(n_features, c0) ** (t - last)
            known = bessel.concentration(n_features, length)
        rows = timed.order[timed.start[t] : timed.start[t + 1]]
        joint[rows], evidence[rows] = log_predictive(
            part, log_weights[at], psi[at], known, arrays["log_mean"], arrays["log_sd"], threads
        )
    return joint, evidence
