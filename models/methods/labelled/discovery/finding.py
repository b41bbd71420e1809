"""The likeliest mixture of several runs: known clusters with their rows, and new ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

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
from models.running.progress import Progress
from models.running.threads import limited

MAX_ITER = 300
"""E-steps of a run."""

TOL = 1e-6
"""The least rise of a row's mean log-likelihood."""


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
) -> Discovery:
    """New clusters among the rows without a known one.

    points : (n_rows, r) transformed. code : (n_rows,) the known cluster, -1 for none.
    may_join : whether rows without a known cluster may be of a known one.
    threads : runs at a time; the result does not depend on them.

    O(n_init N K r) for each of tens of iterations; memory 8 N K bytes for the posteriors.
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
        finally:
            pool.shutdown(cancel_futures=True)
    best = max(fits, key=lambda fit: fit.log_likelihood)
    return _result(points, code, best, fits, known, may_join)


def _result(
    points: Array, code: Int, best: MixtureFit, fits: list[MixtureFit], known: Float, may_join: bool
) -> Discovery:
    n_known, free = known.shape[0], np.flatnonzero(code < 0)
    mixture = best.mixture
    bic = mixture.n_parameters * np.log(max(points.shape[0] if may_join else free.size, 1))
    bic = float(bic - 2.0 * best.log_likelihood)
    if not may_join:
        share = np.bincount(code[code >= 0], minlength=n_known) / code.size
        mixture = Mixture(
            mixture.kind,
            np.vstack([known, mixture.means]),
            np.concatenate([share, mixture.weights * free.size / code.size]),
            mixture.variance,
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
