"""EM of Gaussians over rows that need not fit in memory, by a crew.

Where features hold more than `WHOLE` values, runs of EM and a choice are made on a sample of them
(`gaussian.best_mixture`), and the best goes on over all rows here, by passes that read them block
by block (`clusters.row_sums`): each adds up the responsibilities, the rows and their products about
a fixed place, in double precision. The updates are scikit-learn's; so is the end of a run.

Cost of a pass: O(N K D^2) with full and tied covariances, else O(N K D). Memory: a block and the
sums of a share, K D^2 values with full covariances; on the wire, for each share as many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.arrays import Arrays, Float, row_blocks
from models.clusters import lloyd, row_sums
from models.clusters.placing import normalize
from models.inputs.rows import Rows
from models.method import Run
from models.methods.partitions.mixtures.gaussian import (
    Covariance,
    GaussianEffort,
    GaussianRun,
    Gaussians,
    singular,
)
from models.running.progress import Piece, Progress

WHOLE = 1 << 24
"""Values of features whose runs of EM are made on all rows, at most."""

SAMPLE, LARGEST_SAMPLE = 1 << 22, 1 << 24
"""Values of the sample on which they are made otherwise: at least, and at most where full
covariances need more."""

ROWS_OF_A_COVARIANCE = 20
"""Rows of the sample for each feature of each full covariance."""

TINY = 10.0 * float(np.finfo(np.float64).eps)
"""Added to the size of each cluster, as scikit-learn does."""


def sampled(
    features: Rows, n_clusters: int, kind: Covariance, rng: np.random.Generator
) -> Float | None:
    """The random rows on which the runs are made; None where they are made on all rows."""
    n_points, n_features = features.shape
    if n_points * n_features <= WHOLE:
        return None
    each = n_features if kind == "full" else 1
    wanted = ROWS_OF_A_COVARIANCE * n_clusters * each * n_features
    values = max(SAMPLE, min(wanted, LARGEST_SAMPLE))
    return lloyd.sampled(features, n_clusters, rng, values)


def continued(
    features: Rows, best: GaussianRun, effort: GaussianEffort, run: Run, progress: Progress
) -> GaussianRun:
    """EM over all rows from the mixture that the best run on a sample found.

    Raises UsageError for a covariance that becomes singular.
    """
    kind, n_points = effort.kind, features.shape[0]
    rounding = np.dtype(np.float64)

    def iterate(before: row_sums.Estimate) -> tuple[row_sums.Estimate, float]:
        mixture = Gaussians.of(kind, before)
        cut = _cut(features, mixture)
        parts = row_sums.sums_of_shares(run.crew, len(cut), mixture.arrays, {"kind": kind})
        sums = row_sums.total(parts)
        after = updated(mixture, sums, effort.reg_covar)
        try:
            flat = bool((after.least_variance() <= after.rounding(rounding)).any())
        except np.linalg.LinAlgError:
            flat = True
        if flat:
            raise singular(len(after.means), effort)
        return after.arrays, float(sums["evidence"][0]) / n_points

    def settled(_: row_sums.Estimate, values: Sequence[float]) -> bool:
        return len(values) > 1 and abs(values[-1] - values[-2]) < effort.tol

    climber = row_sums.Climber(
        start=lambda number: best.mixture.arrays,
        iterate=iterate,
        settled=settled,
        max_iter=effort.max_iter,
    )
    end = climber.best(1, run.checkpoint, progress)
    mixture = Gaussians.of(kind, end.estimate)
    n_iter = best.n_iter + len(end.values)
    return GaussianRun(mixture, end.values[-1], n_iter, end.ended, best.n_failed)


def piece(features: Rows, given: Piece, threads: int, progress: Progress) -> Arrays:
    """What the crew of `continued` computes: for each share what `sums_of` gives."""
    mixture = Gaussians.of(given["kind"], row_sums.shared_of(given))
    return row_sums.piece(
        given,
        _cut(features, mixture),
        lambda share: sums_of(features, mixture, *share),
        progress,
        threads,
    )


def _cut(features: Rows, mixture: Gaussians) -> list[row_sums.Share]:
    n_clusters, n_features = mixture.means.shape
    n_squares = _shape_of_squares(mixture.kind, n_clusters, n_features)
    n_values = int(np.prod(n_squares)) + n_clusters * (n_features + 1)
    return row_sums.shares(features.shape[0], 8 * n_values, max(n_features, n_clusters))


def _shape_of_squares(kind: Covariance, n_clusters: int, n_features: int) -> tuple[int, ...]:
    shapes: dict[Covariance, tuple[int, ...]] = {
        "full": (n_clusters, n_features, n_features),
        "tied": (n_features, n_features),
    }
    return shapes.get(kind, (n_clusters, n_features))


def places(mixture: Gaussians) -> Float:
    """(K, D) from where each cluster's rows are measured in sums: its mean with full covariances,
    otherwise the mean of all means, the same bits in any order of the clusters."""
    if mixture.kind == "full":
        return mixture.means
    origin: Float = np.sort(mixture.means, axis=0).mean(axis=0)
    return np.broadcast_to(origin, mixture.means.shape)


def sums_of(features: Rows, mixture: Gaussians, start: int, stop: int) -> dict[str, Float]:
    """The sums over rows [start, stop) under the mixture's responsibilities.

    size : (K,) of these. total : (K, D) of rows less `places`. square : of products of these rows:
    (K, D, D) full, (D, D) tied, otherwise (K, D) of squares. evidence : (1,) of log p(x).
    """
    n_clusters, n_features = mixture.means.shape
    size, total = np.zeros(n_clusters), np.zeros((n_clusters, n_features))
    square = np.zeros(_shape_of_squares(mixture.kind, n_clusters, n_features))
    evidence, at = 0.0, places(mixture)
    for block in row_blocks(stop - start, max(n_features, n_clusters)):
        rows = features.values(start + block.start, start + block.stop).astype(np.float64)
        part = mixture.log_joint(rows)
        evidence += float(normalize(part).sum())
        np.exp(part, out=part)
        size += part.sum(axis=0)
        if mixture.kind == "full":
            roots = np.sqrt(part)
            for cluster, mean in enumerate(at):
                moved = rows - mean
                total[cluster] += part[:, cluster] @ moved
                moved *= roots[:, cluster, None]
                # One array twice, so a product of half the cost.
                square[cluster] += moved.T @ moved
            continue
        rows -= at[0]
        total += part.T @ rows
        square += rows.T @ rows if mixture.kind == "tied" else part.T @ rows**2
    return {"size": size, "total": total, "square": square, "evidence": np.array([evidence])}


def updated(before: Gaussians, sums: Arrays, reg_covar: float) -> Gaussians:
    """The likeliest mixture given sums under the responsibilities of `before`."""
    size: Float = sums["size"] + TINY
    # The means, as seen from the places.
    moved: Float = sums["total"] / size[:, None]
    square: Float = sums["square"]
    n_features = moved.shape[1]
    if before.kind == "full":
        covariances = square / size[:, None, None] - moved[:, :, None] * moved[:, None, :]
        covariances[:, np.arange(n_features), np.arange(n_features)] += reg_covar
    elif before.kind == "tied":
        covariances = (square - (size[:, None] * moved).T @ moved) / size.sum()
        covariances[np.arange(n_features), np.arange(n_features)] += reg_covar
    else:
        covariances = square / size[:, None] - moved**2 + reg_covar
        if before.kind == "spherical":
            covariances = covariances.mean(axis=1)
    return Gaussians(before.kind, size / size.sum(), moved + places(before), covariances)
