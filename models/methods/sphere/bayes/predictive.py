"""The predictive density of new rows under posteriors of means and concentrations.

p(x | k) is the expectation over q(kappa) of C_D(kappa) C_D(gamma) / C_D(|kappa x + gamma psi|):
mu_k ~ vMF(psi, gamma) is integrated out exactly (vMF distributions are conjugate to each other),
and kappa, approximated by a log-normal with the first two moments of log kappa under q, by
Gauss-Hermite quadrature.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from models.arrays import Arrays, Float
from models.clusters.placing import normalize
from models.methods.sphere.mixture.passes import log_joint
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import sphere

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
    from models.methods.sphere.mixture.loops import sweeps
    from models.methods.sphere.mixture.loops.constants import table

    n_features = psi.shape[1]
    known = table(n_features)
    kappa = np.exp(log_mean[:, None] + log_sd[:, None] * _NODES)
    offsets = _LOG_WEIGHTS + sphere.log_c(n_features, kappa)
    offsets += sphere.log_c(n_features, gamma)[:, None]
    joint = log_joint(points, psi, np.zeros(len(gamma)))

    def fill(rows: slice) -> None:
        sweeps.predict(joint[rows], gamma, kappa, offsets, known)

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
