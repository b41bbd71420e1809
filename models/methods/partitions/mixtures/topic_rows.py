"""Variational Bayes of topics over rows that need not fit in memory, by a crew.

Counts of more than `WHOLE` stored values have their runs, and a choice, on a sample of the rows
(`topics.best_topics`), and the best goes on over all rows here, by passes that read them block by
block (`clusters.row_sums`). A pass finds the topics of each row, from equal ones, and adds up the
counts by topic and the rows' bounds of the likelihood; nothing of size N K is kept. A step is that
of scikit-learn in batch but for the start of a row's topics, which there is random.

Source: Hoffman, Blei and Bach, "Online Learning for Latent Dirichlet Allocation" (2010), algorithm
1. Cost of a pass: O(S K) a few dozen times, S the values stored, compiled. Memory: a block, and
8 K V bytes for each share; on the wire as many for each share, and a byte for each row where some
are held out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from models.arrays import Array, Arrays, Float, Mask, row_blocks
from models.clusters import row_sums
from models.clusters.counts import n_stored, some_rows, totals
from models.inputs.checks import Points
from models.method import Run
from models.methods.partitions.mixtures.topics import LDAEffort, Topics, bounds, expected_log
from models.running.progress import Piece, Progress

WHOLE = 1 << 24
"""Stored values of counts whose runs are made on all rows, at most."""

SAMPLE = 1 << 21
"""Stored values of the sample on which they are made otherwise, about."""

ROW_ITER, ROW_TOL = 100, 1e-3
"""Iterations of a row at most, and the mean change of its parameters at which it ends, as in
scikit-learn."""


def continued(
    features: Points, best: Topics, out: Mask, effort: LDAEffort, run: Run, progress: Progress
) -> Topics:
    """Passes over all rows from the topics that the best run on a sample found.

    out : (n_points,) rows that are held out. Topics stay in the order of `best`.
    """
    counted = (~out).astype(np.uint8) if out.any() else np.ones(1, dtype=np.uint8)
    prior = float(best.facts["topic_word_prior"])
    facts = {"doc_topic_prior": float(best.facts["doc_topic_prior"])}
    n_topics, n_terms = best.arrays["components"].shape

    def iterate(before: row_sums.Estimate) -> tuple[row_sums.Estimate, float]:
        components = before["next"]
        cut = _cut(features, n_topics, n_terms)
        given: Arrays = {"components": components, "counted": counted}
        parts = row_sums.sums_of_shares(run.crew, len(cut), given, facts)
        sums = row_sums.total(parts)
        bound = float(sums["bound"][0]) + topic_bound(components, prior)
        after = prior + sums["sums"].T * np.exp(expected_log(components))
        return {"components": components, "next": after}, bound

    # The bound of the topics that an iteration began with: one more, for the last topics.
    climber = row_sums.Climber(
        start=lambda number: {"next": best.arrays["components"].astype(np.float64)},
        iterate=iterate,
        settled=lambda now, values: False,
        max_iter=effort.max_iter + 1,
    )
    end = climber.best(1, run.checkpoint, progress)
    n_counts = float(totals(features)[~out].sum())
    return Topics(
        {"components": end.estimate["components"], "order": np.arange(n_topics)},
        best.facts,
        math.exp(min(-end.values[-1] / n_counts, 700.0)),
    )


def piece(features: Points, given: Piece, threads: int, progress: Progress) -> Arrays:
    """What the crew of `continued` computes: for each share what `sums_of` gives."""
    shared = row_sums.shared_of(given)
    components = shared["components"]
    counted = np.broadcast_to(shared["counted"], features.shape[0])
    prior = float(given["doc_topic_prior"])
    return row_sums.piece(
        given,
        _cut(features, *components.shape),
        lambda share: sums_of(features, components, prior, counted, *share),
        progress,
        threads,
    )


def sums_of(
    features: Points, components: Float, prior: float, counted: Array, start: int, stop: int
) -> dict[str, Float]:
    """The sums over rows [start, stop).

    components : (K, V) Dirichlet parameters of the topics. prior : that of a row's topics.
    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.

    sums : (V, K) of counts by topic, each yet to be multiplied by exp E[log] of its term. bound :
    (1,) of the rows' bounds.
    """
    n_topics, n_terms = components.shape
    sums, bound = np.zeros((n_terms, n_topics)), 0.0
    weights = np.ascontiguousarray(np.exp(expected_log(components)).T)
    facts = {"doc_topic_prior": prior}
    for block in row_blocks(stop - start, _length(features, n_topics)):
        first, last = start + block.start, start + block.stop
        rows = some_rows(features, first, last)
        fitted = np.flatnonzero(counted[first:last])
        if fitted.size < last - first:
            rows = rows[fitted]
        mixture = row_topics(rows, weights, prior, sums)
        bound += float(bounds(rows, mixture, {"components": components}, facts).sum())
    return {"sums": sums, "bound": np.array([bound])}


def row_topics(rows: Array | sp.csr_array, weights: Float, prior: float, sums: Float) -> Float:
    """(n, K) Dirichlet parameters of each row's topics; adds the rows' counts by topic to `sums`.

    weights, sums : (V, K), as `loops.topics_of_rows` has them.
    """
    from models.methods.partitions.mixtures import loops

    sparse = sp.csr_array(rows)
    mixture = np.empty((sparse.shape[0], weights.shape[1]))
    loops.topics_of_rows(
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int64),
        sparse.data.astype(np.float64),
        weights,
        prior,
        ROW_ITER,
        ROW_TOL,
        mixture,
        sums,
    )
    return mixture


def mixtures(features: Points, arrays: Arrays, facts: Mapping[str, Any]) -> Float:
    """As `topics.mixtures`, by blocks of rows, in double precision and compiled."""
    order = arrays["order"]
    components = np.empty(arrays["components"].shape)
    components[order] = arrays["components"]
    weights = np.ascontiguousarray(np.exp(expected_log(components)).T)
    n_topics = len(components)
    out, none = np.empty((features.shape[0], n_topics)), np.empty((0, n_topics))
    for block in row_blocks(features.shape[0], _length(features, n_topics)):
        rows = some_rows(features, block.start, block.stop)
        out[block] = row_topics(rows, weights, float(facts["doc_topic_prior"]), none)[:, order]
    return out


def topic_bound(components: Float, prior: float) -> float:
    """The part of the bound that the topics have, beside that of the rows."""
    expected, n_terms = expected_log(components), components.shape[1]
    bound = float(((prior - components) * expected + gammaln(components)).sum())
    bound -= components.size * float(gammaln(prior))
    whole = gammaln(n_terms * prior) - gammaln(components.sum(axis=1))
    return bound + float(whole.sum())


def _length(features: Points, n_topics: int) -> int:
    n_values = n_stored(features) // max(1, features.shape[0])
    return n_values if n_values > n_topics else n_topics


def _cut(features: Points, n_topics: int, n_terms: int) -> list[row_sums.Share]:
    return row_sums.shares(features.shape[0], 8 * n_topics * n_terms, _length(features, n_topics))
