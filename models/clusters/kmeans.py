"""k-means: its seeds, the best of several runs, and its centres read as a mixture of Gaussians.

`best_run` gives the best of several runs of Lloyd's iterations from compiled k-means++ seeds,
`scikit_run` that from other seeds; trees of many small nodes have `clusters.loops`. `spherical`
gives the soft assignment of points to centres: the clusters get equal weights and one shared
spherical variance s^2 = inertia / (N D), its maximum-likelihood value under the hard assignment.
The logits are the mixture's log posterior, -d(x, centre)^2 / (2 s^2) up to a constant of the row,
so the largest logit is the nearest centre.

Greedy k-means++ is done by compiled loops (`seeds`), or by scikit-learn (`seed_rows`). Both do the
same with other random numbers, so neither can take the other's place in a method without another
result for the same seed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix, row_blocks
from models.clusters.placing import by_size, normalize, permute, reorder
from models.inputs.checks import Points, as_floats, blocks, for_loops, require_usable
from models.method import Model
from models.running.progress import Progress
from models.running.threads import limited


def seeds(points: Matrix, n_clusters: int, rng: np.random.Generator) -> Float:
    """(n_clusters, D) points drawn by greedy k-means++ (`clusters.loops`).

    points : (N, D) float32 or float64. Sparse and dense ones give the same seeds, unless a draw
        falls between two points to the last digit.
    """
    from models.clusters import loops

    n_trials = 2 + int(math.log(n_clusters))
    draws = rng.random(1 + (n_clusters - 1) * n_trials)
    if isinstance(points, sp.csr_array):
        return _sparse_seeds(points, n_clusters, draws[0], draws[1:].reshape(-1, n_trials))
    drawn: Float = loops.seeds(for_loops(points), draws, n_clusters)
    return drawn


def _sparse_seeds(points: sp.csr_array, n_clusters: int, first: float, draws: Float) -> Float:
    """As `loops.seeds`. draws : (n_clusters - 1, n_trials)."""
    n_points = points.shape[0]
    wide = points.astype(np.float64)
    own: Float = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()

    def squared(chosen: Int) -> Float:
        apart: Float = (wide @ wide[chosen].T).toarray()
        apart *= -2.0
        apart += own[:, None] + own[chosen]
        # What cancels would make a chance of a point that is drawn already.
        apart[apart <= 1e-12 * (own[:, None] + own[chosen])] = 0.0
        return apart

    seed = [min(int(first * n_points), n_points - 1)]
    weight = squared(np.array(seed))[:, 0]
    for drawn in draws:
        reached = np.cumsum(weight)
        at = np.minimum(np.searchsorted(reached, drawn * reached[-1], side="right"), n_points - 1)
        left = np.minimum(squared(at), weight[:, None])
        best = int(left.sum(axis=0).argmin())
        seed.append(int(at[best]))
        weight = left[:, best]
    dense: Float = wide[np.array(seed)].toarray()
    return dense


def seed_rows(
    features: Matrix, n_clusters: int, rng: np.random.Generator, weight: Float | None = None
) -> Int:
    """(n_clusters,) numbers of rows, drawn by scikit-learn's greedy k-means++; O(N K D log K).

    features : at least `n_clusters` rows. weight : (N,) of the rows. Unit rows are drawn by cosine:
    their squared distances are 2 - 2 cosine.
    """
    from sklearn.cluster import kmeans_plusplus

    seed = int(rng.integers(2**31))
    with limited(1):
        _, rows = kmeans_plusplus(features, n_clusters, sample_weight=weight, random_state=seed)
    return np.asarray(rows, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class KMeansEffort:
    """The effort of k-means.

    n_init, max_iter : the number of runs, and the most iterations of a run.
    tol : a run ends when the sum of the centres' squared moves is below this times the features'
        mean variance.
    """

    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-4


@dataclass(frozen=True, slots=True)
class KMeansRun:
    """The end of a run of k-means.

    centers : (n_clusters, n_features) in double precision.
    cluster : (n_points,) the nearest centre of each point. ended : whether it converged.
    """

    centers: Float
    cluster: Int
    inertia: float
    n_iter: int
    ended: bool

    @property
    def size(self) -> Int:
        return np.bincount(self.cluster, minlength=len(self.centers))


def best_run(
    features: Matrix,
    n_clusters: int,
    effort: KMeansEffort,
    rng: np.random.Generator,
    progress: Progress,
    weight: Float | None = None,
) -> KMeansRun:
    """The run with the least inertia of `effort.n_init`; of those with the same clusters the first.

    features : finite, with at least `n_clusters` distinct rows. weight : (N,) of the rows.

    O(N K D) for each iteration; one copy of the features.
    """

    n_begun = 0

    def begin(values: Matrix, n_clusters: int, random_state: object) -> Array:
        nonlocal n_begun
        message = f"run {n_begun + 1} of {effort.n_init}"
        progress(n_begun / effort.n_init, "fitting", message)
        n_begun += 1
        if weight is None:
            return seeds(values, n_clusters, rng)
        chosen = values[seed_rows(values, n_clusters, rng, weight)]
        return chosen.toarray() if isinstance(chosen, sp.csr_array) else chosen

    # With more threads the order of the sums, and so the last digits, would vary from run to run.
    with limited(1):
        return scikit_run(features, n_clusters, begin, effort, weight=weight)


Init: TypeAlias = Literal["k-means++"] | Float | Callable[[Matrix, int, object], Array]
"""scikit-learn's seeds, or given ones (K, D), or what draws them for a run."""


def scikit_run(
    features: Matrix,
    n_clusters: int,
    init: Init,
    effort: KMeansEffort,
    seed: int = 0,
    weight: Float | None = None,
) -> KMeansRun:
    """As `best_run`, from seeds of any kind; with several threads the last digits may vary."""
    from sklearn import config_context
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    # All runs in one call, which checks, moves and measures the features once.
    best = KMeans(
        n_clusters=n_clusters,
        init=init,
        n_init=effort.n_init,
        max_iter=effort.max_iter,
        tol=effort.tol,
        random_state=seed,
    )
    with config_context(assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best.fit(as_floats(features), sample_weight=weight)
    return KMeansRun(
        centers=np.asarray(best.cluster_centers_, dtype=np.float64),
        cluster=best.labels_,
        inertia=float(best.inertia_),
        n_iter=int(best.n_iter_),
        ended=bool(best.n_iter_ < effort.max_iter),
    )


def unconverged_warnings(ended: bool, max_iter: int) -> tuple[str, ...]:
    """A warning if the best run was stopped before it converged."""
    if ended:
        return ()
    return (
        f"The best run was stopped after max_iter = {max_iter} iterations, before it converged.",
    )


SMALLEST_VARIANCE = 1e-12
"""The least shared variance, relative to that of the centres, if points lie on their centres."""

TINY = float(np.finfo(np.float64).tiny)
"""Replaces an inertia of 0 where logarithms are taken."""


@dataclass(frozen=True, slots=True)
class Spherical:
    """A partition around centres, clusters from the largest to the smallest.

    centers : (n_clusters, n_features).
    cluster : (n_points,) the nearest centre of each point, the first of several.
    logits : (n_points, n_clusters) log posterior.
    inertia : sum of squared distances to the nearest centres.
    variance : the mixture's shared variance.
    warnings : one if the variance had to be raised from (nearly) zero.
    """

    centers: Float
    cluster: Int
    logits: Float
    inertia: float
    variance: float
    warnings: tuple[str, ...]

    @property
    def arrays(self) -> dict[str, Float]:
        """What `nearest` needs."""
        return {"centers": self.centers, "variance": np.array([self.variance])}


def spherical(features: Points, centers: Float, weight: Float | None = None) -> Spherical:
    """The partition of points among centres. O(N K D); one (n_points, n_clusters) matrix.

    weight : (N,) of the points in the inertia and the variance; None: 1 each.
    """
    squared = squared_distances(features, centers)
    cluster = squared.argmin(axis=1)
    order = by_size(np.bincount(cluster, minlength=len(centers)), centers)
    if (np.diff(order) != 1).any():
        centers = centers[order]
        if isinstance(features, sp.csr_array):
            # Sparse distances suffer from cancellation, so ties are decided by the sums that new
            # points get.
            squared = squared_distances(features, centers)
            cluster = squared.argmin(axis=1)
        else:
            cluster = reorder(cluster, order)
            permute(squared, order)
    own = squared[np.arange(len(squared)), cluster]
    inertia = float(own.sum() if weight is None else weight @ own)
    total = features.shape[0] if weight is None else float(weight.sum())
    variance, floored = _variance(inertia, total * features.shape[1], centers)
    notes = (
        "Every point lies on its cluster's centre, so the variance behind the soft assignment is "
        "0; a tiny one was used instead.",
    )
    return Spherical(
        centers,
        cluster,
        log_posterior(squared, variance),
        inertia,
        variance,
        notes if floored else (),
    )


def nearest(model: Model, features: Points) -> tuple[Int, Float]:
    """Cluster and log posterior of new rows, from a model with `Spherical.arrays`."""
    squared = squared_distances(features, model.arrays["centers"], less_least=True)
    return squared.argmin(axis=1), log_posterior(squared, float(model.arrays["variance"][0]))


def squared_distances(features: Points, centers: Float, *, less_least: bool = False) -> Float:
    """(n_points, n_clusters) squared Euclidean distances in float64, by blocks of rows.

    |x|^2 - 2 x.c + |c|^2 with both moved to the centres' mean, where dense, so that little cancels;
    beside centres that seem to be one, squares of differences. less_least : of rows so far away
    that the centres seem to be one, less the least one, which the centres alone then decide.

    Raises UsageError naming the first value that is not finite, and for squares that overflow.
    """
    n_points, n_features = features.shape
    out = np.empty((n_points, len(centers)))
    sparse = isinstance(features, sp.csr_array)
    # Sorted, so that the mean is the same to the last bit for centres in another order.
    origin = np.zeros(n_features) if sparse else np.sort(centers, axis=0).mean(axis=0)
    moved = centers - origin
    length = np.einsum("kd,kd->k", moved, moved)
    widest = float(length.max(initial=0.0))
    cancels = _seem_one(moved, length)
    for block, part in blocks(features, len(centers)):
        rows, squared = part.astype(np.float64), out[block]
        own = _lengths(rows, origin)
        if not np.isfinite(own).all():
            whole = isinstance(features, sp.csr_array)
            require_usable(features if whole else part, 0 if whole else block.start, n_points)
        if isinstance(rows, sp.csr_array):
            squared[:] = rows @ moved.T
        else:
            np.matmul(rows, moved.T, out=squared)
        squared *= -2.0
        squared += own[:, None]
        squared += length
        np.maximum(squared, 0.0, out=squared)
        if cancels:
            doubtful = squared.min(axis=1) < CANCELS * (own + widest)
            _by_differences(part, np.flatnonzero(doubtful), centers, squared)
        far = np.flatnonzero(CANCELS * own > widest) if less_least and len(centers) > 1 else ()
        if len(far):
            # |x|^2 is left out: beside it, all else would be rounding.
            squared[far] = length - 2.0 * (rows[far] @ moved.T)
            squared[far] -= squared[far].min(axis=1)[:, None]
    return out


CANCELS = 2.0**-40
"""Squared distances below this share of the squares that they are the difference of are rounding;
centres whose squares are below this share of a row's seem to be one to it."""


def _seem_one(centers: Float, length: Float) -> bool:
    """Whether some centres are so near to each other, for how far others lie, that products cannot
    tell them apart. O(K^2 D)."""
    room = CANCELS * float(length.max(initial=0.0))
    for block in row_blocks(*(2 * (len(centers),))):
        apart = length[block, None] + length - 2.0 * (centers[block] @ centers.T)
        apart[np.arange(len(apart)), np.arange(block.start, block.stop)] = np.inf
        if apart.min(initial=np.inf) < room:
            return True
    return False


def _by_differences(part: Matrix, rows: Int, centers: Float, squared: Float) -> None:
    """Put into some rows of squared distances the sums of squares of differences."""
    for some in row_blocks(rows.size, centers.shape[1]):
        at = rows[some]
        wide = part[at].toarray() if isinstance(part, sp.csr_array) else part[at]
        wide = wide.astype(np.float64)
        for k, center in enumerate(centers):
            apart = wide - center
            squared[at, k] = np.einsum("nd,nd->n", apart, apart)


def total_inertia(features: Points, centers: Float) -> float:
    """The sum of squared distances to the nearest centres, by blocks of rows."""
    return sum(
        float(squared_distances(part, centers).min(axis=1).sum())
        for _, part in blocks(features, len(centers))
    )


def log_posterior(squared: Float, variance: float) -> Float:
    """(n_points, n_clusters) the soft assignment; overwrites the squared distances."""
    squared /= -2.0 * variance
    normalize(squared)
    return squared


def bic(inertia: float, size: Int, n_features: int) -> float:
    """Bayesian information criterion of a partition around centres; the lowest is best.

    -2 L + p log N, L the log-likelihood of the points in their clusters: spherical Gaussians of
    one variance, s^2 = inertia / (N D), weighted by the clusters' sizes; p = K D + K. Pelleg and
    Moore, "X-means" (2000), section 3.2, with the maximum-likelihood variance.
    """
    n_points = int(size.sum())
    filled = size[size > 0]
    mixing = float((filled * np.log(filled / n_points)).sum())
    variance = max(inertia, TINY) / (n_points * n_features)
    gaussian = -0.5 * n_points * n_features * (math.log(2.0 * math.pi * variance) + 1.0)
    return -2.0 * (mixing + gaussian) + len(size) * (n_features + 1) * math.log(n_points)


def _lengths(rows: Matrix, origin: Float) -> Float:
    """Squared length of each row, which is moved by `origin` in place where dense."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(rows, sp.csr_array):
            return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        rows -= origin
        own: Float = np.einsum("nd,nd->n", rows, rows)
    return own


def _variance(inertia: float, n_values: float, centers: Float) -> tuple[float, bool]:
    """Shared variance of the mixture, and whether it had to be raised from (nearly) zero."""
    spread = float(centers.var(axis=0).mean()) or 1.0
    variance = inertia / n_values
    floor = SMALLEST_VARIANCE * spread
    return (floor, True) if variance < floor else (variance, False)
