"""k-means: a partition into clusters around centres, and a soft assignment from it.

The best of `n_init` runs of Lloyd's iterations from k-means++ seeds, by inertia. Clusters are
ordered by size, largest first, those of one size by their centres' coordinates, so their numbers do
not depend on the order of the rows.

Soft assignment: the clusters are read as a mixture of Gaussians with equal weights and one shared
spherical variance (`models.clusters.kmeans`), so the largest logit is the nearest centre.

The number of clusters is given, or chosen: by the lowest BIC, the highest mean silhouette, or the
gap statistic (`models.clusters.kmeans.bic`, `models.clusters.criteria`).

Source: Lloyd (1982); Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding"
(2007); scikit-learn's KMeans. Cost: O(N K D) time for each iteration of each run; memory one copy
of the features in single or double precision, whichever they have, and 8 N K bytes for the logits.
A choice fits each number of clusters, with the gap statistic once more for each reference.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.arrays import Float, Int
from models.checks import (
    require_columns,
    require_distinct,
    require_rows,
    require_squares,
    require_width,
)
from models.clusters.choosing import Choice, Count, check_count
from models.clusters.kmeans import KMeansEffort, best_run, nearest, spherical, unconverged_warnings
from models.clusters.placing import bytes_of_logits, empty_cluster_warnings, placed
from models.data import Data, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.means.by_criterion import choose_number, require_dense_for_gap
from models.parameters import MaxIter, NInit, Seed
from models.progress import subprogress
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
    inputs = {
        "features": Input(sparse=True, description="One row per point."),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    placing = "the cluster with the nearest centre"
    advice = "Ask for fewer clusters, or use a sample of the points."
    example = {"n_clusters": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: KMeansParams) -> int:
        return bytes_of_logits(shapes, params.most)

    def _check(self, data: Data, params: KMeansParams) -> None:
        features = data.matrix("features")
        require_columns(features)
        require_rows(features, params.fewest, params.count_parameter)
        check_count(data, params)
        require_dense_for_gap(data, params)
        require_finite(features, "features")
        require_squares(features)
        require_distinct(features, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: KMeansParams, run: Run) -> Fitted:
        features = data.matrix("features")
        effort = KMeansEffort(params.n_init, params.max_iter, params.tol)
        within = subprogress(run.progress, 0.05, 0.9)
        choice = Choice.given(params.n_clusters)
        if params.choose is None:
            best = best_run(features, params.n_clusters, effort, run.rng, within)
        else:
            choice, runs = choose_number(
                features, params, effort, params.n_references, run.rng, within
            )
            best = runs[choice.n_clusters]
        run.progress(0.9, "assigning points")
        partition = spherical(features, best.centers)
        n_clusters = len(partition.centers)
        names = data.leaf_names(n_clusters, "cluster")
        return Fitted(
            tree=from_partition(partition.cluster, n_clusters, names=names),
            model=Model(arrays=partition.arrays),
            logits=partition.logits,
            metrics={
                "inertia": partition.inertia,
                "variance": partition.variance,
                "n_iter": float(best.n_iter),
                **choice.metrics,
            },
            curves=choice.curves,
            warnings=(
                *choice.warnings,
                *unconverged_warnings(best, params.max_iter),
                *partition.warnings,
                *empty_cluster_warnings(partition.cluster, n_clusters),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest centre; its probability is the mixture's posterior."""
        return placed(tree, *self._placed(model, data))

    def _logits(self, model: Model, data: Data) -> Float:
        return self._placed(model, data)[1]

    def _placed(self, model: Model, data: Data) -> tuple[Int, Float]:
        features = data.matrix("features")
        require_width(features, model.arrays["centers"].shape[1])
        return nearest(model, features)
