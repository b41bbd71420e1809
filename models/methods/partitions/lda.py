"""Latent Dirichlet allocation: topics of rows of counts, each row a mixture of them.

The best of `n_init` runs of variational Bayes, in batch or online, by perplexity. The soft
assignment is the row's mean topic proportions, the logits their logarithms; the partition takes
each row's largest topic. Clusters are ordered by size, largest first, and at equal size by their
topics.

Likelihoods are lower bounds, of a row as a sequence of its counts, in nats. With `held_out` a
random share of the rows is kept out of the fit, to measure their likelihood; they are placed like
new rows. The number of topics is given, or chosen by the highest held-out likelihood.

Source: Blei, Ng and Jordan, "Latent Dirichlet Allocation" (2003); Hoffman, Blei and Bach, "Online
Learning for Latent Dirichlet Allocation" (2010); scikit-learn's LatentDirichletAllocation. Cost:
O(S K) time, S the values stored (N D if dense), a few dozen times for each iteration; sparse counts
stay sparse, memory 8 (N + 3 D) K bytes and, with rows held out, a copy of the others.

In batch, counts of more than 16.8 million stored values have their `n_init` runs, and a choice, on
a sample (about 2.1 million values, at least 50 rows a topic), and the best run goes on for
`max_iter` passes over all rows (`mixtures.topic_rows`, compiled), on several threads and workers,
from checkpoints. Dense counts are then read by rows and never held.

Measured: CPU time as N^1.0 D^0.3 K^0.2, from 5,000 x 64 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Arrays, Float, Mask, Matrix
from models.clusters.choosing import Choice, Count, candidates, check_count, highest
from models.clusters.counts import (
    check_held_out,
    cluster_names,
    held_out,
    n_stored,
    require_counts,
    require_some,
    sample_warning,
    sampled_rows,
    some_rows,
    term_names,
    top_terms,
    totals,
    zero_rows,
)
from models.clusters.placing import by_size, bytes_of_logits, empty_cluster_warnings, placed
from models.inputs.checks import (
    Points,
    as_floats,
    by_rows,
    require_columns,
    require_distinct,
    require_width,
    take,
)
from models.inputs.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.mixtures import topic_rows
from models.methods.partitions.mixtures.topics import (
    LDAEffort,
    Topics,
    best_topics,
    bounds,
    log_proportions,
    mixtures,
)
from models.parameters import HeldOut, NInit, Seed
from models.running.budget import Cost
from models.running.progress import Piece, Progress, progress_parts, subprogress
from models.tree.build import from_partition
from models.tree.tree import Tree


class LDAParams(Count):
    choose: Literal["held-out"] | None = Field(
        None,
        description=(
            "Choose the number of clusters between 'min_clusters' and 'max_clusters': the highest "
            "mean log-likelihood of rows 'held-out'."
        ),
    )
    doc_topic_prior: float | None = Field(
        None,
        ge=1e-9,
        le=1,
        description="Dirichlet parameter of a row's topics; default: 1 / number of topics.",
    )
    topic_word_prior: float | None = Field(
        None,
        ge=1e-9,
        le=1,
        description="Dirichlet parameter of a topic's columns; default: 1 / number of topics.",
    )
    learning: Literal["batch", "online"] = Field(
        "batch",
        description="'batch': all rows for each update; 'online': 'batch_size' rows for each.",
    )
    batch_size: int = Field(
        128, ge=1, le=1_000_000, description="Rows of an update where 'learning' is 'online'."
    )
    held_out: HeldOut = 0.0
    n_init: NInit = 1
    max_iter: int = Field(10, ge=1, le=100_000, description="Passes over the rows in a run.")
    seed: Seed = 0


class LDA(Method[LDAParams]):
    """See the module's docstring."""

    title = "Latent Dirichlet allocation"
    paper = Paper("Latent Dirichlet Allocation", 2003, "Journal of Machine Learning Research 3")
    Params = LDAParams
    cost = Cost(9e-4, columns=0.2, times=("n_init", "max_iter"))
    inputs = {
        "features": Input(sparse=True, by_rows=True, description="One row of counts per point."),
        "feature_names": Input(
            required=False,
            description="One name per column; clusters are named by their distinctive terms.",
        ),
        "names": Input(
            required=False, description="One name per topic, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    placing = "the topic with the largest proportion"
    advice = "Ask for fewer clusters, or use a sample of the points."
    resumes = True
    distances = False
    example = {"n_clusters": 3}

    def _memory(self, shapes: Shapes, params: LDAParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        return bytes_of_logits(shapes, params.most) + 24 * shapes["features"][1] * params.most

    def _check(self, data: Data, params: LDAParams) -> None:
        features = by_rows(data)
        require_columns(features)
        check_held_out(features, params, params.held_out)
        check_count(data, params)
        term_names(data, features.shape[1])
        require_counts(features, whole=False)
        require_some(features)
        require_distinct(features, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: LDAParams, run: Run) -> Fitted:
        features = by_rows(data)
        n_points, n_terms = features.shape
        out = held_out(n_points, params.held_out, run.rng)
        within = subprogress(run.progress, 0.05, 0.8)
        effort = LDAEffort(
            params.doc_topic_prior,
            params.topic_word_prior,
            params.learning,
            params.batch_size,
            params.n_init,
            params.max_iter,
        )
        notes: list[str] = []
        drawn = None
        if params.learning == "batch":
            whole_up_to, sampled = topic_rows.WHOLE, topic_rows.SAMPLE
            drawn = sampled_rows(features, whole_up_to, sampled, 50 * params.most, run.rng)
        if drawn is None:
            whole = as_floats(some_rows(features, 0, n_points))
            choice, topics = _best(whole, params, out, effort, run, within)
            mixture = mixtures(whole, topics.arrays, topics.facts)
        else:
            sample = as_floats(take(features, drawn))
            first = subprogress(within, 0.0, 0.3)
            choice, topics = _best(sample, params, out[drawn], effort, run, first)
            rest = subprogress(within, 0.3, 1.0)
            topics = topic_rows.continued(features, topics, out, effort, run, rest)
            mixture = topic_rows.mixtures(features, topics.arrays, topics.facts)
            notes.append(sample_warning(len(drawn), n_points, params.n_init))
        run.progress(0.8, "assigning points")
        # Rows without counts are tied between all topics, so they do not affect the order of
        # topics.
        informative = totals(features) > 0
        n_clusters = mixture.shape[1]
        size = np.bincount(mixture[informative].argmax(axis=1), minlength=n_clusters)
        order = by_size(size, topics.arrays["components"])
        topics, mixture = topics.reordered(order), mixture[:, order]
        metrics = _metrics(features, mixture, topics, out)
        logits = log_proportions(mixture)
        cluster = logits.argmax(axis=1)
        names = term_names(data, n_terms)
        top = None if names is None else top_terms(topics.terms, topics.share, names)
        facts = {} if top is None else {"top_terms": top}
        return Fitted(
            tree=from_partition(cluster, n_clusters, names=cluster_names(data, n_clusters, top)),
            model=Model(topics.arrays, {**topics.facts, **facts}),
            logits=logits,
            metrics={**metrics, **choice.metrics},
            curves=choice.curves,
            warnings=(
                *choice.warnings,
                *notes,
                *zero_rows(features, "equal shares"),
                *empty_cluster_warnings(cluster, n_clusters),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest topic, its proportion as probability."""
        logits = self._logits(model, data)
        return placed(tree, logits.argmax(axis=1), logits)

    def _piece(
        self, data: Data, params: LDAParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return topic_rows.piece(by_rows(data), piece, threads, progress)

    def _logits(self, model: Model, data: Data) -> Float:
        features = by_rows(data)
        require_width(features, model.arrays["components"].shape[1])
        require_counts(features, whole=False)
        if n_stored(features) > topic_rows.WHOLE:
            return log_proportions(topic_rows.mixtures(features, model.arrays, model.facts))
        whole = as_floats(some_rows(features, 0, features.shape[0]))
        return log_proportions(mixtures(whole, model.arrays, model.facts))


def _best(
    features: Matrix, params: LDAParams, out: Mask, effort: LDAEffort, run: Run, progress: Progress
) -> tuple[Choice, Topics]:
    """The best run on counts in memory, with the number of topics given or chosen."""
    fitted = features[np.flatnonzero(~out)] if out.any() else features
    if params.choose is not None:
        return _chosen(features, fitted, params, out, effort, run, progress)
    topics = best_topics(fitted, params.n_clusters, effort, run.rng, progress)
    return Choice.given(params.n_clusters), topics


def _chosen(
    features: Matrix,
    fitted: Matrix,
    params: LDAParams,
    out: Mask,
    effort: LDAEffort,
    run: Run,
    progress: Progress,
) -> tuple[Choice, Topics]:
    """The number of topics with the highest likelihood of the rows held out."""
    numbers, notes = candidates(features, params)
    rows = features[np.flatnonzero(out)]
    values: list[float] = []
    errors: list[float] = []
    best: Topics | None = None
    for part, number in progress_parts(progress, 1.0, numbers):
        topics = best_topics(fitted, number, effort, run.rng, part)
        mixture = mixtures(rows, topics.arrays, topics.facts)
        bound = bounds(rows, mixture, topics.arrays, topics.facts)
        mean = float(bound.mean())
        if best is None or mean > max(values):
            best = topics
        values.append(mean)
        errors.append(float(bound.std() / math.sqrt(max(1, bound.size - 1))))
    assert best is not None
    return highest("held_out_log_likelihood", numbers, values, errors, notes), best


def _metrics(features: Points, mixture: Float, topics: Topics, out: Mask) -> dict[str, float]:
    metrics = {"perplexity": topics.perplexity}
    if out.any():
        rows = np.flatnonzero(out)
        likelihood = bounds(
            as_floats(take(features, rows)), mixture[rows], topics.arrays, topics.facts
        )
        metrics["held_out_log_likelihood"] = float(likelihood.mean())
        counts = float(totals(features)[rows].sum())
        if counts > 0:
            mean = float(likelihood.sum()) / counts
            metrics["held_out_perplexity"] = math.exp(min(-mean, 700.0))
    return metrics
