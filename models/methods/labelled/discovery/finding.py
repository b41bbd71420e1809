"""The likeliest mixture of several runs: known clusters with their rows, and new ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from models.arrays import Array, Float, Int
from models.clusters.placing import by_size, normalize
from models.inputs.checks import require_distinct
from models.methods.labelled.discovery.mixture import (
    Clusterer,
    Mixture,
    MixtureFit,
    PartlyLabelledRows,
    climb,
    clustered,
)
from models.methods.labelled.discovery.shapes import (
    Covariance,
    Evened,
    factors_of,
    scatter_of,
    shaped,
)
from models.running.progress import Progress
from models.running.threads import limited

MAX_ITER = 300
"""E-steps of a run."""

TOL = 1e-6
"""The least rise of a row's mean log-likelihood."""

GO_ON = 1 / 5
FEWEST_GO_ON = 3
"""Clusters with covariances start from this share of the runs, the likeliest ones, but at least
from so many, and from as many runs on rows that are as wide in all directions."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """New clusters, the largest first.

    mixture : of the known clusters, in their order, then the new ones.
    logits : (n_rows, n_known + n_new) log posteriors; rows that are labelled are of their cluster.
    log_likelihood, bic : of the best run. log_likelihoods : of all runs.
    warnings : about the best run's end.
    """

    mixture: Mixture
    logits: Float
    log_likelihood: float
    log_likelihoods: Float
    bic: float
    warnings: tuple[str, ...]

    @property
    def cluster(self) -> Int:
        return np.asarray(self.logits.argmax(axis=1))


CERTAIN = -50.0
"""The logit of a cluster that a row is known not to be of."""


def find(
    points: Array,
    code: Int,
    n_new: int,
    *,
    clusterer: Clusterer,
    may_join: bool,
    n_init: int,
    rng: np.random.Generator,
    progress: Progress,
    threads: int = 1,
    covariance: Covariance = "spherical",
) -> Discovery:
    """New clusters among the rows without a known one.

    points : (n_rows, r) transformed. code : (n_rows,) the known cluster, -1 for none.
    may_join : whether rows without a known cluster may be of a known one.
    threads : runs at a time; the result does not depend on them.
    covariance : of Gaussian clusters; others have one spread.

    O(n_init N K r) for each of tens of iterations, with covariances O(N K r^2) for each of a fifth
    of the runs more; memory 8 N K bytes for the posteriors.
    """

    points = clustered(points, clusterer)
    free = np.flatnonzero(code < 0)
    require_distinct(points[free], n_new)
    n_known = int(code.max()) + 1
    rows = (
        PartlyLabelledRows.of(points, code)
        if may_join
        else PartlyLabelledRows.of(points[free], code[free])
    )
    known = _known_means(points, code, n_known, clusterer)
    near = known if may_join else known[:0]
    seeds = [_start(points[free], rows, near, n_new, clusterer, rng) for _ in range(n_init)]
    fits = []
    with limited(1), ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(climb, rows, seed, MAX_ITER, TOL) for seed in seeds]
        try:
            for number, run in enumerate(runs):
                progress(number / n_init, "finding clusters", f"run {number + 1} of {n_init}")
                fits.append(run.result())
            likeliest = sorted(fits, key=lambda fit: -fit.log_likelihood)
            best = likeliest[0]
            if covariance != "spherical" and clusterer != "vmf":
                progress(0.99, "finding clusters", f"{covariance} covariances")
                n_starts = max(FEWEST_GO_ON, round(GO_ON * n_init))
                even = Evened.of(rows, best.mixture.variance)
                near = near @ even.turn.T
                seeds = [
                    _start(even.rows.values[rows.code < 0], even.rows, near, n_new, clusterer, rng)
                    for _ in range(n_starts)
                ]
                round_ones = pool.map(partial(climb, even.rows, max_iter=MAX_ITER, tol=TOL), seeds)
                starts = [fit.mixture for fit in likeliest[:n_starts]]
                starts += [even.as_given(fit.mixture) for fit in round_ones]
                ends = pool.map(partial(shaped, rows, covariance=covariance), starts)
                best = max(ends, key=lambda end: end.log_posteriors[-1]).fit
        finally:
            pool.shutdown(cancel_futures=True)
    return _result(points, code, best, fits, known, may_join, _bic(best, rows))


def _bic(fit: MixtureFit, rows: PartlyLabelledRows) -> float:
    """The Bayesian information criterion (Schwarz 1978) of a fit of these rows."""
    penalty = fit.mixture.n_parameters * np.log(max(rows.code.size, 1))
    return float(penalty - 2.0 * fit.log_likelihood)


def _result(
    points: Array,
    code: Int,
    best: MixtureFit,
    fits: list[MixtureFit],
    known: Float,
    may_join: bool,
    bic: float,
) -> Discovery:
    n_known, free = known.shape[0], np.flatnonzero(code < 0)
    mixture = best.mixture
    if not may_join:
        share = np.bincount(code[code >= 0], minlength=n_known) / code.size
        factors = mixture.factors
        if factors is not None and n_known and best.mixture.has_each:
            own = [points[code == cluster] for cluster in range(n_known)]
            scatter = np.stack(
                [scatter_of(some, mean) for some, mean in zip(own, known, strict=True)]
            )
            counts = np.array([len(some) for some in own], dtype=np.float64)
            factors = np.concatenate([factors_of(scatter, counts, mixture.variance), factors])
        mixture = Mixture(
            mixture.kind,
            np.vstack([known, mixture.means]),
            np.concatenate([share, mixture.weights * free.size / code.size]),
            mixture.variance,
            factors,
            mixture.has_each,
        )
    mixture, logits = assigned(points, code, mixture, n_known, may_join)
    return Discovery(
        mixture,
        logits,
        best.log_likelihood,
        np.array([fit.log_likelihood for fit in fits]),
        bic,
        () if best.converged else unconverged(),
    )


def unconverged() -> tuple[str, ...]:
    return (f"The best run was stopped after {MAX_ITER} iterations.",)


def assigned(
    points: Array, code: Int, mixture: Mixture, n_known: int, may_join: bool
) -> tuple[Mixture, Float]:
    """The mixture with its new clusters in order of size, and (n_rows, K) log posteriors as in
    `Found`.

    mixture : of the known clusters, then the new ones. O(N K r).
    """
    free = np.flatnonzero(code < 0)
    logits = mixture.log_joint(points)
    if not may_join:
        logits[free, :n_known] = -np.inf
    size = np.bincount(logits[free].argmax(axis=1), minlength=logits.shape[1])[n_known:]
    order = n_known + by_size(size, mixture.means[n_known:])
    order = np.concatenate([np.arange(n_known), order])
    mixture, logits = mixture.some(order), logits[:, order]
    normalize(logits)
    labelled = np.flatnonzero(code >= 0)
    logits[labelled] = CERTAIN
    logits[labelled, code[labelled]] = 0.0
    np.maximum(logits, CERTAIN, out=logits)
    return mixture, logits


def _known_means(points: Array, code: Int, n_known: int, clusterer: Clusterer) -> Float:
    """(n_known, r) means of the known clusters, of length 1 for directions."""
    labelled = np.flatnonzero(code >= 0)
    means = np.zeros((n_known, points.shape[1]))
    np.add.at(means, code[labelled], points[labelled])
    size = np.bincount(code[labelled], minlength=n_known)[:, None]
    length = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / (np.maximum(length, 1e-300) if clusterer == "vmf" else size))


def _start(
    free: Array,
    rows: PartlyLabelledRows,
    known: Float,
    n_new: int,
    clusterer: Clusterer,
    rng: np.random.Generator,
) -> Mixture:
    """Seeds far from known clusters that rows may join, with the spread of rows around them."""
    seeds, nearest = distant(free, known, n_new, rng)
    means = np.concatenate([known, free[seeds].astype(np.float64)])
    n_clusters = means.shape[0]
    variance = max(float(nearest.mean()) / free.shape[1], 1e-12)
    return Mixture(clusterer, means, np.full(n_clusters, 1.0 / n_clusters), variance)


def distant(
    rows: Array, centers: Float, n_seeds: int, rng: np.random.Generator
) -> tuple[Int, Float]:
    """Numbers of rows drawn by k-means++, far from each other and from centers, and (n_rows,) the
    squared distance of each row to the nearest of these. O(N K r)."""
    seeds: list[int] = []
    nearest = np.full(rows.shape[0], np.inf)
    for center in centers:
        np.minimum(nearest, _squares(rows, center), out=nearest)
    for _ in range(n_seeds):
        total = float(nearest.sum())
        chance = nearest / total if 0.0 < total < np.inf else None
        seeds.append(int(rng.choice(rows.shape[0], p=chance)))
        np.minimum(nearest, _squares(rows, rows[seeds[-1]]), out=nearest)
    return np.array(seeds, dtype=np.int64), nearest


def _squares(rows: Array, mean: Float) -> Float:
    away = rows - mean.astype(rows.dtype)
    return np.asarray(np.einsum("nr,nr->n", away, away), dtype=np.float64)
