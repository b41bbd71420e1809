"""k-means: a partition into clusters around centres, and a soft assignment from it.

The best of `n_init` runs of Lloyd's iterations from k-means++ seeds, by inertia. Clusters are
ordered by size, largest first, and at equal size by their centres' coordinates, so their numbers do
not depend on the order of the rows.

Soft assignment: the clusters are read as a mixture of Gaussians with equal weights and one shared
spherical variance (`models.clusters.kmeans`), so the largest logit is the nearest centre.

The number of clusters is given, or chosen: by the lowest BIC, the highest mean silhouette, or the
gap statistic (`models.clusters.kmeans.bic`, `models.clusters.choosing`).

Weights of rows count as that many equal rows: in the seeds, the centres, the inertia and the
variance; not in a choice of the number of clusters, nor in features too large for memory, where a
warning says so.

Source: Lloyd (1982); Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding"
(2007); scikit-learn's KMeans. Cost: O(N K D) time for each iteration of each run; memory one copy
of the features in single or double precision, whichever they have, and 8 N K bytes for the logits.
A choice fits each number of clusters, with the gap statistic once more for each reference.

Dense features of more than 134 million values are never held as a whole: the `n_init` runs, and a
choice, are made on a sample of 16.8 million values (at least 50 rows a cluster), and the best run's
centres go on over all rows, which are read by rows in each iteration (`models.clusters.lloyd`), on
several threads and workers, from checkpoints. Memory is then the sample and the logits.

Measured: CPU time as N^1.2 D^1.1 K^1.1, from 40,000 x 64 and 16 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Arrays, Float, Int, Matrix
from models.clusters import lloyd
from models.clusters.choosing import Choice, Count, check_count
from models.clusters.kmeans import (
    KMeansEffort,
    KMeansRun,
    best_run,
    nearest,
    spherical,
    unconverged_warnings,
)
from models.clusters.lloyd import require_usable_points, whole_or_rows
from models.clusters.placing import bytes_of_logits, empty_cluster_warnings, placed
from models.clusters.row_weights import WEIGHT_INPUTS, row_weights, unused
from models.inputs.checks import (
    by_rows,
    require_columns,
    require_distinct,
    require_rows,
    require_width,
)
from models.inputs.data import Data
from models.inputs.rows import Rows
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.means.by_criterion import choose_number, require_dense_for_gap
from models.parameters import MaxIter, NInit, Seed
from models.running.budget import Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.build import from_partition
from models.tree.tree import Tree


class KMeansParams(Count):
    choose: Literal["bic", "silhouette", "gap"] | None = Field(
        None,
        description=(
            "Choose the number of clusters between 'min_clusters' and 'max_clusters': the lowest "
            "'bic' of spherical Gaussians, the highest mean 'silhouette', or by the 'gap' "
            "statistic the fewest within one standard error of the next."
        ),
    )
    n_references: int = Field(
        20, ge=2, le=1000, description="Draws of reference points for the gap statistic."
    )
    n_init: NInit = 10
    max_iter: MaxIter = 300
    tol: float = Field(
        1e-4,
        ge=0,
        le=1,
        description=(
            "A run ends when the centres' squared moves sum to less than this times the mean "
            "variance of the features."
        ),
    )
    seed: Seed = 0


class KMeans(Method[KMeansParams]):
    """See the module's docstring."""

    title = "k-means"
    paper = Paper("k-means++: The Advantages of Careful Seeding", 2007, "SODA")
    Params = KMeansParams
    cost = Cost(2e-8, rows=1.2, k="n_clusters", times=("n_init",))
    inputs = {
        "features": Input(sparse=True, by_rows=True, description="One row per point."),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
        **WEIGHT_INPUTS,
    }
    outputs = ("tree", "model", "logits")
    placing = "the cluster with the nearest centre"
    advice = "Ask for fewer clusters, or use a sample of the points."
    example = {"n_clusters": 3, "n_init": 2}
    resumes = True

    def _memory(self, shapes: Shapes, params: KMeansParams) -> int:
        return bytes_of_logits(shapes, params.most)

    def _check(self, data: Data, params: KMeansParams) -> None:
        features = whole_or_rows(data)
        require_columns(features)
        require_rows(features, params.fewest, params.count_parameter)
        check_count(data, params)
        require_dense_for_gap(data, params)
        require_usable_points(features)
        require_distinct(features, params.fewest, params.count_parameter)
        weight = _weights(data, params)[0]
        if weight is not None:
            counts = data.matrix("features")[np.flatnonzero(weight)]
            require_distinct(counts, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: KMeansParams, run: Run) -> Fitted:
        features = whole_or_rows(data)
        effort = KMeansEffort(params.n_init, params.max_iter, params.tol)
        within = subprogress(run.progress, 0.05, 0.9)
        weight, unweighted = _weights(data, params)
        notes: list[str] = [*unweighted]
        end: KMeansRun | lloyd.Settled
        if isinstance(features, Rows):
            drawn = lloyd.sampled(features, params.most, run.rng)
            first = subprogress(within, 0.0, 0.3)
            choice, best = _best(drawn, params, effort, run.rng, first)
            summing = lloyd.in_pieces(features, run.crew)
            rest = subprogress(within, 0.3, 1.0)
            end = lloyd.settle(features, best.centers, effort, summing, rest, run.checkpoint)
            notes.append(
                f"The features are too large to be clustered as a whole: the n_init = "
                f"{params.n_init} runs were made on a sample of {len(drawn):,} of "
                f"{features.shape[0]:,} rows, and the best was continued over all rows."
            )
        else:
            choice, end = _best(features, params, effort, run.rng, within, weight)
        run.progress(0.9, "assigning points")
        partition = spherical(features, end.centers, weight)
        n_clusters = len(partition.centers)
        names = data.leaf_names(n_clusters, "cluster")
        return Fitted(
            tree=from_partition(partition.cluster, n_clusters, names=names),
            model=Model(arrays=partition.arrays),
            logits=partition.logits,
            metrics={
                "inertia": partition.inertia,
                "variance": partition.variance,
                "n_iter": float(end.n_iter),
                **choice.metrics,
            },
            curves=choice.curves,
            warnings=(
                *choice.warnings,
                *notes,
                *unconverged_warnings(end.ended, params.max_iter),
                *partition.warnings,
                *empty_cluster_warnings(partition.cluster, n_clusters),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest centre; its probability is the mixture's posterior."""
        return placed(tree, *self._placed(model, data))

    def _logits(self, model: Model, data: Data) -> Float:
        return self._placed(model, data)[1]

    def _piece(
        self, data: Data, params: KMeansParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return lloyd.piece(data.rows("features"), piece, threads, progress)

    def _placed(self, model: Model, data: Data) -> tuple[Int, Float]:
        features = by_rows(data)
        require_width(features, model.arrays["centers"].shape[1])
        return nearest(model, features)


def _weights(data: Data, params: KMeansParams) -> tuple[Float | None, tuple[str, ...]]:
    """The weights of the rows where they count, and a warning where they do not."""
    features = whole_or_rows(data)
    weight = row_weights(data, features.shape[0])
    if weight is None:
        return None, ()
    if params.choose is not None:
        return None, unused("a choice of the number of clusters has no weights; give 'n_clusters'")
    if isinstance(features, Rows):
        return None, unused("the features are too large to be clustered as a whole")
    return weight, ()


def _best(
    features: Matrix,
    params: KMeansParams,
    effort: KMeansEffort,
    rng: np.random.Generator,
    progress: Progress,
    weight: Float | None = None,
) -> tuple[Choice, KMeansRun]:
    """The best run on features in memory, with the number of clusters given or chosen."""
    if params.choose is None:
        choice = Choice.given(params.n_clusters)
        return choice, best_run(features, params.n_clusters, effort, rng, progress, weight)
    choice, runs = choose_number(features, params, effort, params.n_references, rng, progress)
    return choice, runs[choice.n_clusters]
