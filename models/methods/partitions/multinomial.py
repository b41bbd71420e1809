"""Mixture of multinomials: a partition of rows of counts, such as terms of texts, by EM.

Each cluster is one distribution over the columns, smoothed by a Dirichlet prior. EM climbs to a
mode of the posterior (`mixtures.multinomial`); the best of `n_init` runs from k-means++ seeds is
kept. The logits are the log responsibilities; a row lies in the cluster with the largest one.
Clusters are ordered by size, largest first, and at equal size by their distributions.

Likelihoods are of a row as a sequence of its counts, without the multinomial coefficient, in nats.
With `held_out` a random share of the rows is kept out of the fit, to measure their likelihood; they
are placed like new rows. The number of clusters is given, or chosen by the lowest BIC (columns
that are 0 everywhere do not count) or by the highest held-out likelihood.

Source: Rigouste, Cappé and Yvon, "Inference and evaluation of the multinomial mixture model for
text clustering" (2007), section 2; own code, sums in double precision. Cost: O(S K) time for each
iteration of each run, S the values stored (N D if dense); sparse counts stay sparse, one copy in
double precision and one for the seeds, and 8 N K bytes twice.

Counts of more than 16.8 million stored values have their `n_init` runs, and a choice, on a sample
(about 4.2 million values, at least 50 rows a cluster), and the best run goes on by EM over all rows
(`mixtures.multinomial_rows`), on several threads and workers, from checkpoints. Dense counts are
then read by rows and never held; memory is 8 N K bytes and at most 256 MiB of sums.

Measured: CPU time as N^0.6 D^0.4 K^0.4, from 20,000 x 64 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Arrays, Float, Mask, Matrix
from models.clusters import row_sums
from models.clusters.choosing import Choice, Count, candidates, check_count, highest, lowest
from models.clusters.counts import (
    check_held_out,
    cluster_names,
    column_totals,
    held_out,
    in_doubles,
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
from models.clusters.placing import (
    by_size,
    bytes_of_logits,
    empty_cluster_warnings,
    normalize,
    permute,
    placed,
    reorder,
)
from models.inputs.checks import (
    Points,
    by_rows,
    require_columns,
    require_distinct,
    require_width,
    take,
)
from models.inputs.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.mixtures import multinomial_rows
from models.methods.partitions.mixtures.multinomial import (
    MultinomialEffort,
    MultinomialRun,
    Multinomials,
    best_run,
)
from models.parameters import HeldOut, MaxIter, NInit, Seed
from models.running.budget import Cost
from models.running.progress import Piece, Progress, progress_parts, subprogress
from models.tree.build import from_partition
from models.tree.tree import Tree


class MultinomialParams(Count):
    choose: Literal["bic", "held-out"] | None = Field(
        None,
        description=(
            "Choose the number of clusters between 'min_clusters' and 'max_clusters': the lowest "
            "'bic', or the highest mean log-likelihood of rows 'held-out'."
        ),
    )
    smoothing: float = Field(
        0.1,
        ge=1e-9,
        le=1e6,
        description="Added to the count of each column in each cluster (Dirichlet prior less 1).",
    )
    held_out: HeldOut = 0.0
    n_init: NInit = 5
    max_iter: MaxIter = 200
    tol: float = Field(
        1e-6,
        ge=0,
        le=1,
        description="A run ends when its objective rises by less than this share of it.",
    )
    seed: Seed = 0


class Multinomial(Method[MultinomialParams]):
    """See the module's docstring."""

    title = "Mixture of multinomials"
    paper = Paper(
        "Inference and evaluation of the multinomial mixture model for text clustering",
        2007,
        "Information Processing & Management 43(5), section 2",
    )
    Params = MultinomialParams
    cost = Cost(2e-7, k="n_clusters", times=("n_init",))
    inputs = {
        "features": Input(sparse=True, by_rows=True, description="One row of counts per point."),
        "feature_names": Input(
            required=False,
            description="One name per column; clusters are named by their distinctive terms.",
        ),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    placing = "the cluster with the largest responsibility"
    advice = "Ask for fewer clusters, or use a sample of the points."
    resumes = True
    distances = False
    example = {"n_clusters": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: MultinomialParams) -> int:
        shape = shapes.get("features", ())
        if len(shape) == 2 and shape[0] * shape[1] > multinomial_rows.WHOLE:
            # Dense counts go by rows; of sparse ones the number of values is not known here.
            return bytes_of_logits(shapes, params.most) + row_sums.SHARE_BYTES
        return 2 * bytes_of_logits(shapes, params.most)

    def _check(self, data: Data, params: MultinomialParams) -> None:
        features = by_rows(data)
        require_columns(features)
        check_held_out(features, params, params.held_out)
        check_count(data, params)
        term_names(data, features.shape[1])
        require_counts(features, whole=True)
        require_some(features)
        require_distinct(features, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: MultinomialParams, run: Run) -> Fitted:
        counts = by_rows(data)
        n_points, n_terms = counts.shape
        out = held_out(n_points, params.held_out, run.rng)
        within = subprogress(run.progress, 0.05, 0.9)
        effort = MultinomialEffort(params.smoothing, params.n_init, params.max_iter, params.tol)
        notes: list[str] = []
        whole_up_to, sampled = multinomial_rows.WHOLE, multinomial_rows.SAMPLE
        drawn = sampled_rows(counts, whole_up_to, sampled, 50 * params.most, run.rng)
        if drawn is None:
            whole = in_doubles(some_rows(counts, 0, n_points))
            choice, best = _best(whole, params, out, effort, run, within)
        else:
            sample = in_doubles(take(counts, drawn))
            first = subprogress(within, 0.0, 0.3)
            choice, best = _best(sample, params, out[drawn], effort, run, first)
            rest = subprogress(within, 0.3, 1.0)
            best = multinomial_rows.continued(counts, best, out, effort, run, rest)
            notes.append(sample_warning(len(drawn), n_points, params.n_init))
        run.progress(0.9, "assigning points")
        logits, mixture = best.logits, best.mixture
        n_clusters = logits.shape[1]
        cluster = logits.argmax(axis=1)
        terms = np.exp(mixture.log_terms)
        order = by_size(np.bincount(cluster, minlength=n_clusters), terms)
        permute(logits, order)
        cluster, terms = reorder(cluster, order), terms[order]
        mixture = Multinomials(mixture.log_weights[order], mixture.log_terms[order])
        names = term_names(data, n_terms)
        top = None if names is None else top_terms(terms, np.exp(mixture.log_weights), names)
        notes.extend(zero_rows(counts, "the clusters' shares"))
        if not best.ended:
            notes.append(
                f"The best run was stopped after max_iter = {params.max_iter} iterations, before "
                "it converged."
            )
        return Fitted(
            tree=from_partition(cluster, n_clusters, names=cluster_names(data, n_clusters, top)),
            model=Model(
                {"log_weights": mixture.log_weights, "log_terms": mixture.log_terms},
                {} if top is None else {"top_terms": top},
            ),
            logits=logits,
            metrics={**_metrics(counts, best, out), **choice.metrics},
            curves=choice.curves,
            warnings=(*choice.warnings, *notes, *empty_cluster_warnings(cluster, n_clusters)),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest responsibility, with it as probability."""
        logits = self._logits(model, data)
        return placed(tree, logits.argmax(axis=1), logits)

    def _piece(
        self, data: Data, params: MultinomialParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return multinomial_rows.piece(by_rows(data), piece, threads, progress)

    def _logits(self, model: Model, data: Data) -> Float:
        features = by_rows(data)
        mixture = Multinomials(model.arrays["log_weights"], model.arrays["log_terms"])
        require_width(features, mixture.log_terms.shape[1])
        require_counts(features, whole=True)
        logits = mixture.log_joint(features)
        normalize(logits)
        return logits


def _best(
    features: Matrix,
    params: MultinomialParams,
    out: Mask,
    effort: MultinomialEffort,
    run: Run,
    progress: Progress,
) -> tuple[Choice, MultinomialRun]:
    """The best run on counts in memory, with the number of clusters given or chosen."""
    if params.choose is not None:
        return _chosen(features, params, out, effort, run, progress)
    counted = (~out).astype(np.float64)
    best = best_run(features, params.n_clusters, counted, effort, run.rng, progress)
    return Choice.given(params.n_clusters), best


def _chosen(
    features: Matrix,
    params: MultinomialParams,
    out: Mask,
    effort: MultinomialEffort,
    run: Run,
    progress: Progress,
) -> tuple[Choice, MultinomialRun]:
    """The choice by `params.choose` and the best run of that number."""
    numbers, notes = candidates(features, params)
    values: list[float] = []
    errors: list[float] = []
    best: MultinomialRun | None = None
    by_bic = params.choose == "bic"
    counted = (~out).astype(np.float64)
    for part, number in progress_parts(progress, 1.0, numbers):
        fitted = best_run(features, number, counted, effort, run.rng, part)
        held = fitted.evidence[out]
        value = -_bic(features, fitted, out) if by_bic else float(held.mean())
        if best is None or value > max(values):
            best = fitted
        values.append(value)
        errors.append(float(held.std() / math.sqrt(max(1, held.size - 1))) if out.any() else 0)
    assert best is not None
    if by_bic:
        return lowest("bic", numbers, [-value for value in values], notes), best
    return highest("held_out_log_likelihood", numbers, values, errors, notes), best


def _bic(features: Points, best: MultinomialRun, out: Mask) -> float:
    column = column_totals(features)
    free = best.mixture.n_parameters(int(np.count_nonzero(column)))
    fitted = ~out
    return free * math.log(np.count_nonzero(fitted)) - 2.0 * float(best.evidence[fitted].sum())


def _metrics(features: Points, best: MultinomialRun, out: Mask) -> dict[str, float]:
    """Likelihoods of the rows that were fitted and, where some were held out, of those."""
    counts, fitted = totals(features), ~out
    metrics = {
        "log_likelihood": float(best.evidence[fitted].sum()),
        "bic": _bic(features, best, out),
        "n_iter": float(len(best.objective)),
    }
    for name, rows in (("perplexity", fitted), ("held_out_perplexity", out)):
        if counts[rows].sum() > 0:
            mean = float(best.evidence[rows].sum() / counts[rows].sum())
            metrics[name] = math.exp(min(-mean, 700.0))
    if out.any():
        metrics["held_out_log_likelihood"] = float(best.evidence[out].mean())
    return metrics
