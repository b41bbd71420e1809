"""EM of multinomials over rows that need not fit in memory, by a crew.

Counts of more than `WHOLE` stored values have their runs, and a choice, on a sample of the rows
(`multinomial.best_run`), and the best goes on over all rows here, by passes that read them block by
block (`clusters.row_sums`): each adds up the responsibilities and the counts under them.

Cost of a pass: O(S K), S the values stored. Memory: a block, and 8 K V bytes for each share; on the
wire as many for each share, and a byte for each row where some are held out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Float, Mask, row_blocks
from models.clusters import row_sums
from models.clusters.counts import in_doubles, n_stored, some_rows
from models.clusters.placing import normalize
from models.inputs.checks import Points
from models.method import Run
from models.methods.partitions.mixtures.multinomial import (
    MultinomialEffort,
    MultinomialRun,
    Multinomials,
    maximize,
)
from models.running.progress import Piece, Progress

WHOLE = 1 << 24
"""Stored values of counts whose runs of EM are made on all rows, at most."""

SAMPLE = 1 << 22
"""Stored values of the sample on which they are made otherwise, about."""


def continued(
    features: Points,
    best: MultinomialRun,
    out: Mask,
    effort: MultinomialEffort,
    run: Run,
    progress: Progress,
) -> MultinomialRun:
    """EM over all rows from the mixture that the best run on a sample found.

    out : (n_points,) rows that are held out.
    """
    counted = (~out).astype(np.uint8) if out.any() else np.ones(1, dtype=np.uint8)
    n_fitted = float(np.count_nonzero(~out))

    def iterate(before: row_sums.Estimate) -> tuple[row_sums.Estimate, float]:
        mixture = Multinomials(before["log_weights"], before["log_terms"])
        if "size" in before:
            mixture = maximize(before["size"], before["counts"], n_fitted, effort.smoothing)
        cut = _cut(features, mixture)
        given: Arrays = {**_arrays(mixture), "counted": counted}
        sums = row_sums.total(row_sums.sums_of_shares(run.crew, len(cut), given))
        prior = effort.smoothing * float(mixture.log_terms.sum())
        objective = float(sums["evidence"][0]) + prior
        after = {name: sums[name] for name in ("size", "counts")}
        return {**_arrays(mixture), **after}, objective

    def settled(_: row_sums.Estimate, values: Sequence[float]) -> bool:
        rise = values[-1] - values[-2] if len(values) > 1 else np.inf
        return rise <= effort.tol * abs(values[-1])

    climber = row_sums.Climber(
        start=lambda number: _arrays(best.mixture),
        iterate=iterate,
        settled=settled,
        max_iter=effort.max_iter,
    )
    end = climber.best(1, run.checkpoint, progress)
    mixture = Multinomials(end.estimate["log_weights"], end.estimate["log_terms"])
    logits = mixture.log_joint(features)
    evidence = normalize(logits)
    return MultinomialRun(mixture, logits, evidence, (*best.objective, *end.values), end.ended)


def piece(features: Points, given: Piece, threads: int, progress: Progress) -> Arrays:
    """What the crew of `continued` computes: for each share what `sums_of` gives."""
    shared = row_sums.shared_of(given)
    mixture = Multinomials(shared["log_weights"], shared["log_terms"])
    counted = np.broadcast_to(shared["counted"], features.shape[0])
    return row_sums.piece(
        given,
        _cut(features, mixture),
        lambda share: sums_of(features, mixture, counted, *share),
        progress,
        threads,
    )


def _arrays(mixture: Multinomials) -> dict[str, Float]:
    return {"log_weights": mixture.log_weights, "log_terms": mixture.log_terms}


def _cut(features: Points, mixture: Multinomials) -> list[row_sums.Share]:
    n_points, n_clusters = features.shape[0], len(mixture.log_weights)
    each = max(n_stored(features) // max(1, n_points), n_clusters)
    return row_sums.shares(n_points, 8 * (mixture.log_terms.size + n_clusters), each)


def sums_of(
    features: Points, mixture: Multinomials, counted: Float, start: int, stop: int
) -> dict[str, Float]:
    """The sums over rows [start, stop) under the mixture's responsibilities.

    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.

    size : (K,) of these. counts : (K, V) under them. evidence : (1,) of log p(x).
    """
    n_clusters, n_terms = mixture.log_terms.shape
    size, counts = np.zeros(n_clusters), np.zeros((n_clusters, n_terms))
    evidence = 0.0
    length = max(n_stored(features) // max(1, features.shape[0]), n_clusters)
    for block in row_blocks(stop - start, length):
        first, last = start + block.start, start + block.stop
        rows = in_doubles(some_rows(features, first, last)).astype(np.float64, copy=False)
        part = mixture.log_joint(rows)
        fitted = counted[first:last].astype(np.float64)
        evidence += float(normalize(part) @ fitted)
        np.exp(part, out=part)
        part *= fitted[:, None]
        size += part.sum(axis=0)
        counts += (rows.T @ part).T if isinstance(rows, sp.csr_array) else part.T @ rows
    return {"size": size, "counts": counts, "evidence": np.array([evidence])}
