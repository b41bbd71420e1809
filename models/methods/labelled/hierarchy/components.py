"""The components of a node's rows: its known leaves and as many new ones as its rows show.

Known leaves keep their labelled rows, others may join them; all components have one variance, so
that known leaves say how wide a new one is. New ones are added one at a time, each by the likeliest
of several runs of EM. Of all numbers the one of least

    -2 log likelihood + penalty (r sum_k log n_k + K log n)

is taken for K components of n_k of n rows in r columns: BIC where the penalty is 1, but that a mean
costs the logarithm of the rows that it is estimated from, not of all rows. Among many known leaves
log n would hide small new ones. The search is greedy: it may end with a component too many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Array, Int
from models.methods.labelled.discovery.finding import distant
from models.methods.labelled.discovery.mixture import Mixture, MixtureFit, Rows, climb

MAX_ITER = 100
TOL = 1e-4
PATIENCE = 2
"""Numbers are tried until this many in a row are worse than the best so far."""


@dataclass(frozen=True, slots=True)
class Search:
    """How new components are looked for.

    most : number of new ones at a node. least_size : rows of a new one, at least. n_init : runs of
        EM for each number. penalty : of a parameter, 1 for BIC.
    """

    most: int
    least_size: int
    n_init: int
    penalty: float


@dataclass(frozen=True, slots=True)
class Components:
    """mixture : of the known leaves, then the new ones. of_row : (n,) the component of each row.

    full : whether the criterion still fell at the largest number.
    """

    mixture: Mixture
    of_row: Int
    n_known: int
    converged: bool
    full: bool = False

    @property
    def n_new(self) -> int:
        return int(self.mixture.means.shape[0]) - self.n_known


def find_components(
    points: Array, code: Int, n_known: int, search: Search, rng: np.random.Generator
) -> Components:
    """points : (n, r) of the node's rows in its space, r > 0. code : (n,) the known leaf of each,
    -1 for none; each leaf has a row.

    O(n_init n K r) for each of some iterations and each number.
    """
    rows = Rows.of(points, code)
    free = np.flatnonzero(code < 0)
    fit = climb(rows, _known_mixture(points, code, n_known), MAX_ITER, TOL)
    best, least, worse = fit, _criterion(fit, search.penalty, code.size), 0
    for _ in range(min(search.most, free.size // search.least_size)):
        fit = _one_more(points[free], rows, fit.mixture, search, rng)
        criterion = _criterion(fit, search.penalty, code.size)
        if criterion < least:
            best, least, worse = fit, criterion, 0
        else:
            worse += 1
        if worse >= PATIENCE:
            break
    full = search.most > 0 and best.mixture.means.shape[0] == n_known + search.most
    return replace(_large_ones(points, rows, free, best, n_known, search.least_size), full=full)


def _criterion(fit: MixtureFit, penalty: float, n_rows: int) -> float:
    n_components, n_columns = fit.mixture.means.shape
    size = np.maximum(fit.mixture.weights * n_rows, 1.0)
    complexity = n_columns * float(np.log(size).sum()) + n_components * float(np.log(n_rows))
    return float(-2.0 * fit.log_likelihood + penalty * complexity)


def _known_mixture(points: Array, code: Int, n_known: int) -> Mixture:
    """Equally large leaves with the spread of labelled rows about their means."""
    labelled = np.flatnonzero(code >= 0)
    indicator = np.zeros((n_known, labelled.size), dtype=points.dtype)
    indicator[code[labelled], np.arange(labelled.size)] = 1.0
    size = np.bincount(code[labelled], minlength=n_known)
    means = (indicator @ points[labelled]).astype(np.float64) / size[:, None]
    away = points[labelled] - means[code[labelled]]
    variance = float(np.square(away, dtype=np.float64).mean())
    if not variance > 0.0:
        variance = float(points.var(dtype=np.float64))
    weights = np.full(n_known, 1.0 / n_known)
    return Mixture("gmm", means, weights, max(variance, 1e-12))


def _one_more(
    free: Array, rows: Rows, before: Mixture, search: Search, rng: np.random.Generator
) -> MixtureFit:
    """The likeliest mixture with one more component.

    It begins at the mean of a row far from the others and its nearest neighbours: in many columns a
    single row is farther from those of its cluster than their common mean is.
    """
    fits = []
    for _ in range(search.n_init):
        seed, _ = distant(free, before.means, 1, rng)
        squares = np.square(free - free[seed]).sum(axis=1)
        near = np.argpartition(squares, search.least_size - 1)[: search.least_size]
        means = np.concatenate([before.means, free[near].mean(axis=0, dtype=np.float64)[None]])
        share = 1.0 / means.shape[0]
        weights = np.append(before.weights * (1.0 - share), share)
        start = Mixture(before.kind, means, weights, before.variance)
        fits.append(climb(rows, start, MAX_ITER, TOL))
    return max(fits, key=lambda fit: fit.log_likelihood)


def _large_ones(
    points: Array, rows: Rows, free: Int, fit: MixtureFit, n_known: int, least_size: int
) -> Components:
    """Without new components that have fewer rows, the smallest first."""
    while True:
        mixture = fit.mixture
        of_row = np.where(rows.code >= 0, rows.code, mixture.log_joint(points).argmax(axis=1))
        size = np.bincount(of_row, minlength=mixture.means.shape[0])[n_known:]
        if not size.size or size.min() >= least_size:
            return Components(mixture, of_row, n_known, fit.converged)
        kept = np.delete(np.arange(mixture.means.shape[0]), n_known + int(size.argmin()))
        fit = climb(rows, mixture.some(kept), MAX_ITER, TOL)
