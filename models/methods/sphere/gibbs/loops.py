"""The loops of Gibbs sampling, compiled by numba.

The state of a cluster t is v_t = kappa_t S_t + C0 mu0, column t of `field` (D, K); `square` is its
squared length, `whole` log C_D of its length, `size` its number of rows; `single` is log
C_D(kappa_t). The length of a row is used as stored, not as 1: its rounding error, from single
precision or few decimals, is multiplied by kappa^2 where a cluster loses its last row.
"""

from __future__ import annotations

import math

import numpy as np

from models.methods.sphere.mixture.loops import log_constant
from models.running.loops import njit


@njit(cache=True, nogil=True)
def _pick(own, dots, norm, kappa, size, single, square, whole, prior, u, want, known, parts):
    """The new cluster of a row now in `own`, and its log probability.

    `dots` are the products of the row with the fields, `norm` its squared length. The cluster is
    `want` if that is at least 0, else drawn by `u`. P(z = t) is proportional to (alpha + n_t)
    C(kappa_t) C(|v_t|) / C(|v_t + kappa_t x|), with the row removed from its cluster first (thesis,
    the last line of 5.3.2, its x_i added for each candidate). prior : alpha, and the weight that
    all clusters without a row share evenly.
    """
    n_clusters = kappa.size
    k = kappa[own]
    less = max(0.0, square[own] - 2.0 * k * dots[own] + k * k * norm)
    less_whole = log_constant(math.sqrt(less), known)
    alpha, shared = prior
    if shared > 0.0:
        n_empty = 0
        for t in range(n_clusters):
            n_empty += size[t] == (t == own)
        shared /= max(1, n_empty)
    high = -np.inf
    for t in range(n_clusters):
        if t == own:
            with_row, base, n = whole[t], less_whole, size[t] - 1.0
        else:
            k = kappa[t]
            length = math.sqrt(max(0.0, square[t] + 2.0 * k * dots[t] + k * k * norm))
            with_row, base, n = log_constant(length, known), whole[t], size[t]
        weight = alpha + n if n > 0.0 else alpha + shared
        parts[t] = math.log(weight) + single[t] + base - with_row
        high = max(high, parts[t])
    total = 0.0
    for t in range(n_clusters):
        total += math.exp(parts[t] - high)
    new = want
    if want < 0:
        new, below = n_clusters - 1, 0.0
        for t in range(n_clusters):
            below += math.exp(parts[t] - high)
            if u * total < below:
                new = t
                break
    return new, parts[new] - high - math.log(total)


@njit(cache=True, nogil=True)
def _move(own, new, dots, norm, kappa, size, square, whole, known):
    """Updates sizes and lengths after a row has moved from one cluster to another."""
    k = kappa[own]
    square[own] = max(0.0, square[own] - 2.0 * k * dots[own] + k * k * norm)
    whole[own] = log_constant(math.sqrt(square[own]), known)
    size[own] -= 1.0
    k = kappa[new]
    square[new] = max(0.0, square[new] + 2.0 * k * dots[new] + k * k * norm)
    whole[new] = log_constant(math.sqrt(square[new]), known)
    size[new] += 1.0


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def sweep(
    rows, at, cluster, kappa, field, size, single, square, whole, prior, uniform, wanted, known
):  # fmt: skip
    """Draws the cluster of each dense row `rows[at[i]]` in turn, by `uniform[i]`.

    A row goes into `wanted[i]` instead if that is at least 0. Returns the log probability of all
    these choices.
    """
    n_features, n_clusters = field.shape
    dots, parts = np.empty(n_clusters), np.empty(n_clusters)
    log_all = 0.0
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
        new, log_p = _pick(
            own, dots, norm, kappa, size, single, square, whole, prior, uniform[turn],
            wanted[turn], known, parts,
        )  # fmt: skip
        log_all += log_p
        if new == own:
            continue
        cluster[i] = new
        _move(own, new, dots, norm, kappa, size, square, whole, known)
        for d in range(n_features):
            x = np.float64(row[d])
            field[d, own] -= kappa[own] * x
            field[d, new] += kappa[new] * x
    return log_all


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def sweep_sparse(
    start, column, data, at, cluster, kappa, field, size, single, square, whole, prior, uniform,
    wanted, known,
):  # fmt: skip
    """The same for sparse rows."""
    n_clusters = field.shape[1]
    dots, parts = np.empty(n_clusters), np.empty(n_clusters)
    log_all = 0.0
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
        new, log_p = _pick(
            own, dots, norm, kappa, size, single, square, whole, prior, uniform[turn],
            wanted[turn], known, parts,
        )  # fmt: skip
        log_all += log_p
        if new == own:
            continue
        cluster[i] = new
        _move(own, new, dots, norm, kappa, size, square, whole, known)
        for place in range(start[i], start[i + 1]):
            x, d = np.float64(data[place]), column[place]
            field[d, own] -= kappa[own] * x
            field[d, new] += kappa[new] * x
    return log_all


@njit(cache=True, nogil=True)
def walk(
    log_kappa, size, length, along, c0, m, sigma, most, n_features, normal, exponential, known
):  # fmt: skip
    """Makes Metropolis steps for each log kappa, given the clusters.

    Its log density is n log C(kappa) - log C(|kappa S + C0 mu0|) - (log kappa - m)^2 / (2 sigma^2),
    that of kappa with the factor kappa' / kappa of a walk in log kappa; it stays below `most`.
    length : |S_k|^2. along : S_k . mu0. normal, exponential : (n_steps, K) draws.
    """
    n_steps, n_clusters = normal.shape
    for k in range(n_clusters):
        # About the posterior's width; it depends on nothing that a step changes.
        scale = 2.4 / math.sqrt(0.5 * size[k] * (n_features - 1.0) + 1.0 / sigma**2)
        here = log_kappa[k]
        value = _log_density(here, size[k], length[k], along[k], c0, m, sigma, known)
        for step in range(n_steps):
            proposed = here + scale * normal[step, k]
            if proposed > most:
                continue
            other = _log_density(proposed, size[k], length[k], along[k], c0, m, sigma, known)
            if value - other <= exponential[step, k]:
                here, value = proposed, other
        log_kappa[k] = here


@njit(cache=True, nogil=True)
def walk_together(
    log_kappa, size, length, along, c0, m, sigma, most, n_features, normal, exponential, known
):  # fmt: skip
    """The same for one log kappa, (1,), of all clusters; normal, exponential : (n_steps, 1)."""
    scale = 2.4 / math.sqrt(0.5 * size.sum() * (n_features - 1.0) + 1.0 / sigma**2)
    here = log_kappa[0]
    value = _log_density_together(here, size, length, along, c0, m, sigma, known)
    for step in range(normal.shape[0]):
        proposed = here + scale * normal[step, 0]
        if proposed > most:
            continue
        other = _log_density_together(proposed, size, length, along, c0, m, sigma, known)
        if value - other <= exponential[step, 0]:
            here, value = proposed, other
    log_kappa[0] = here


@njit(cache=True, nogil=True)
def _log_density_together(t, size, length, along, c0, m, sigma, known):
    kappa = math.exp(t)
    off = (t - m) / sigma
    density = size.sum() * log_constant(kappa, known) - 0.5 * off * off
    for k in range(size.size):
        square = kappa * kappa * length[k] + 2.0 * kappa * c0 * along[k] + c0 * c0
        density -= log_constant(math.sqrt(max(0.0, square)), known)
    return density


@njit(cache=True, nogil=True)
def peaks(size, length, along, c0, m, sigma, most, n_features, known):
    """(K, 2) the approximate mode of each log kappa's density, and its width.

    The mode is located by a fixed number of golden sections, the width by the curvature of the
    density there.
    """
    out = np.empty((size.size, 2))
    part = 0.5 * (math.sqrt(5.0) - 1.0)
    for k in range(size.size):
        r = min(math.sqrt(length[k]) / size[k], 1.0 - 1e-12) if size[k] > 0.0 else 0.0
        high = math.log(n_features * r / (1.0 - r * r)) if r > 0.0 else m
        low = max(min(high - 3.0, m - 6.0 * sigma), -35.0)
        high = min(max(high + 1.0, m + 6.0 * sigma), most)
        low = min(low, high - 1.0)
        one, two = high - part * (high - low), low + part * (high - low)
        at_one = _log_density(one, size[k], length[k], along[k], c0, m, sigma, known)
        at_two = _log_density(two, size[k], length[k], along[k], c0, m, sigma, known)
        for _ in range(40):
            if at_one > at_two:
                high, two, at_two = two, one, at_one
                one = high - part * (high - low)
                at_one = _log_density(one, size[k], length[k], along[k], c0, m, sigma, known)
            else:
                low, one, at_one = one, two, at_two
                two = low + part * (high - low)
                at_two = _log_density(two, size[k], length[k], along[k], c0, m, sigma, known)
        out[k, 0] = 0.5 * (low + high)
        step = 0.1 / math.sqrt(0.5 * size[k] * (n_features - 1.0) + 1.0 / sigma**2)
        here = _log_density(out[k, 0], size[k], length[k], along[k], c0, m, sigma, known)
        up = _log_density(out[k, 0] + step, size[k], length[k], along[k], c0, m, sigma, known)
        down = _log_density(out[k, 0] - step, size[k], length[k], along[k], c0, m, sigma, known)
        bent = (2.0 * here - up - down) / (step * step)
        least = 1.0 / sigma**2
        out[k, 1] = 1.0 / math.sqrt(max(bent, 0.25 * least))
    return out


@njit(cache=True, nogil=True)
def log_densities(log_kappa, size, length, along, c0, m, sigma, known):
    """(K,) the log density of each cluster's log kappa, as `walk` uses it."""
    out = np.empty(size.size)
    for k in range(size.size):
        out[k] = _log_density(log_kappa[k], size[k], length[k], along[k], c0, m, sigma, known)
    return out


@njit(cache=True, nogil=True)
def _log_density(t, size, length, along, c0, m, sigma, known):
    kappa = math.exp(t)
    square = kappa * kappa * length + 2.0 * kappa * c0 * along + c0 * c0
    density = size * log_constant(kappa, known)
    density -= log_constant(math.sqrt(max(0.0, square)), known)
    off = (t - m) / sigma
    return density - 0.5 * off * off
