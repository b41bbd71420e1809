"""The loops of Gibbs sampling, compiled by numba.

State of a cluster t: v_t = kappa_t S_t + C0 mu0, column t of `field` (D, K); `square` its squared
length, `whole` log C_D of its length, `size` its rows; `single` is log C_D(kappa_t). A row's
length is taken as it is: what it is off 1 by, rounded to single precision or to some decimals,
counts times kappa^2 where a cluster is left without a row.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from models.vmf.constants import log_constant


@njit(cache=True, nogil=True)
def _pick(own, dots, norm, kappa, size, single, square, whole, alpha, u, known, parts):
    """The new cluster of a row that is in `own`; `dots` are its products with the fields, `norm`
    its squared length.

    P(z = t) proportional to (alpha + n_t) C(kappa_t) C(|v_t|) / C(|v_t + kappa_t x|), the row
    itself taken out of its cluster first (thesis, the last line of 5.3.2, its x_i added for each
    candidate). Gives the cluster too what a move changes: lengths of both clusters.
    """
    n_clusters = kappa.size
    k = kappa[own]
    less = max(0.0, square[own] - 2.0 * k * dots[own] + k * k * norm)
    less_whole = log_constant(math.sqrt(less), known)
    high = -np.inf
    for t in range(n_clusters):
        if t == own:
            with_row, base, n = whole[t], less_whole, size[t] - 1.0
        else:
            k = kappa[t]
            length = math.sqrt(max(0.0, square[t] + 2.0 * k * dots[t] + k * k * norm))
            with_row, base, n = log_constant(length, known), whole[t], size[t]
        parts[t] = math.log(alpha + n) + single[t] + base - with_row
        high = max(high, parts[t])
    total = 0.0
    for t in range(n_clusters):
        total += math.exp(parts[t] - high)
        parts[t] = total
    for t in range(n_clusters):
        if u * total < parts[t]:
            return t
    return n_clusters - 1


@njit(cache=True, nogil=True)
def _move(own, new, dots, norm, kappa, size, square, whole, known):
    """Sizes and lengths after a row has gone from one cluster to another."""
    k = kappa[own]
    square[own] = max(0.0, square[own] - 2.0 * k * dots[own] + k * k * norm)
    whole[own] = log_constant(math.sqrt(square[own]), known)
    size[own] -= 1.0
    k = kappa[new]
    square[new] = max(0.0, square[new] + 2.0 * k * dots[new] + k * k * norm)
    whole[new] = log_constant(math.sqrt(square[new]), known)
    size[new] += 1.0


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def sweep(rows, at, cluster, kappa, field, size, single, square, whole, alpha, uniform, known):
    """Draw the cluster of each of the dense rows `rows[at[i]]` in turn, by `uniform[i]`."""
    n_features, n_clusters = field.shape
    dots, parts = np.empty(n_clusters), np.empty(n_clusters)
    moved = 0
    for turn in range(at.size):
        i = at[turn]
        row = rows[i]
        for t in range(n_clusters):
            dots[t] = 0.0
        norm = 0.0
        for d in range(n_features):
            x, own_field = np.float64(row[d]), field[d]
            norm += x * x
            for t in range(n_clusters):
                dots[t] += x * own_field[t]
        own = cluster[i]
        new = _pick(
            own, dots, norm, kappa, size, single, square, whole, alpha, uniform[turn], known, parts
        )
        if new == own:
            continue
        moved += 1
        cluster[i] = new
        _move(own, new, dots, norm, kappa, size, square, whole, known)
        for d in range(n_features):
            x = np.float64(row[d])
            field[d, own] -= kappa[own] * x
            field[d, new] += kappa[new] * x
    return moved


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def sweep_sparse(
    start, column, data, at, cluster, kappa, field, size, single, square, whole, alpha, uniform,
    known,
):  # fmt: skip
    """The same of sparse rows."""
    n_clusters = field.shape[1]
    dots, parts = np.empty(n_clusters), np.empty(n_clusters)
    moved = 0
    for turn in range(at.size):
        i = at[turn]
        for t in range(n_clusters):
            dots[t] = 0.0
        norm = 0.0
        for place in range(start[i], start[i + 1]):
            x, own_field = np.float64(data[place]), field[column[place]]
            norm += x * x
            for t in range(n_clusters):
                dots[t] += x * own_field[t]
        own = cluster[i]
        new = _pick(
            own, dots, norm, kappa, size, single, square, whole, alpha, uniform[turn], known, parts
        )
        if new == own:
            continue
        moved += 1
        cluster[i] = new
        _move(own, new, dots, norm, kappa, size, square, whole, known)
        for place in range(start[i], start[i + 1]):
            x, d = np.float64(data[place]), column[place]
            field[d, own] -= kappa[own] * x
            field[d, new] += kappa[new] * x
    return moved


@njit(cache=True, nogil=True)
def walk(
    log_kappa, size, length, along, c0, m, sigma, most, n_features, normal, exponential, known
):  # fmt: skip
    """Steps of Metropolis for each log kappa, given the clusters; (accepted steps).

    Its density: n log C(kappa) - log C(|kappa S + C0 mu0|) - (log kappa - m)^2 / (2 sigma^2), which
    is that of kappa with the factor kappa' / kappa of a walk in log kappa; it stays below
    `most`. length : |S_k|^2. along : S_k . mu0. normal, exponential : (n_steps, K) draws.
    """
    n_steps, n_clusters = normal.shape
    accepted = 0
    for k in range(n_clusters):
        # About the posterior's width; it hangs on nothing that a step changes.
        scale = 2.4 / math.sqrt(0.5 * size[k] * (n_features - 1.0) + 1.0 / sigma**2)
        here = log_kappa[k]
        value = _log_density(here, size[k], length[k], along[k], c0, m, sigma, known)
        for step in range(n_steps):
            there = here + scale * normal[step, k]
            if there > most:
                continue
            other = _log_density(there, size[k], length[k], along[k], c0, m, sigma, known)
            if value - other <= exponential[step, k]:
                here, value = there, other
                accepted += 1
        log_kappa[k] = here
    return accepted


@njit(cache=True, nogil=True)
def _log_density(t, size, length, along, c0, m, sigma, known):
    kappa = math.exp(t)
    square = kappa * kappa * length + 2.0 * kappa * c0 * along + c0 * c0
    found = size * log_constant(kappa, known)
    found -= log_constant(math.sqrt(max(0.0, square)), known)
    off = (t - m) / sigma
    return found - 0.5 * off * off
