"""Bisecting k-means: the cluster with the largest inertia, or the largest one, is split in two.

Each split is a k-means with two clusters. The result is the tree of the splits; its leaves are the
clusters, ordered from the largest to the smallest. Cut to k leaves, the tree is that of a run with
k clusters.

Source: Steinbach, Karypis and Kumar, "A Comparison of Document Clustering Techniques" (2000);
scikit-learn's BisectingKMeans, which does not expose its tree. k-means at each node is compiled
here (`clusters.loops`), from greedy k-means++ seeds as in scikit-learn; a seed fixes all bits.

Cost: O(N D) time for each iteration of k-means at the root, less below. Memory: one copy of a
node's features, two where they are no floats.

Measured: CPU time as N^1.1 D^0.8 K^0.4, from 40,000 x 64 and 16 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.clusters.kmeans import KMeansEffort
from models.clusters.lloyd import require_usable_points
from models.inputs.checks import require_distinct, require_point_rows
from models.inputs.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.features.growing.frontier import Choice
from models.methods.features.growing.means import bytes_to_grow, descend, grow_by_means, model_of
from models.parameters import MaxIter, Params, Seed
from models.running.budget import Cost
from models.tree.tree import Tree


class BisectingKMeansParams(Params):
    n_clusters: int = Field(8, ge=1, le=100_000, description="Number of clusters.")
    bisecting_strategy: Literal["biggest_inertia", "largest_cluster"] = Field(
        "biggest_inertia",
        description=(
            "Which cluster is split next: 'biggest_inertia' the cluster with the largest sum "
            "of squared distances to its centre, 'largest_cluster' the cluster with the most "
            "points."
        ),
    )
    n_init: int = Field(
        10, ge=1, le=1000, description="Number of k-means runs at each node; the best run is kept."
    )
    max_iter: MaxIter = 300
    tol: float = Field(
        1e-4,
        ge=0,
        le=1,
        description=(
            "A run ends when the sum of the centres' squared displacements is below this times "
            "the mean variance of the features."
        ),
    )
    seed: Seed = 0


class BisectingKMeans(Method[BisectingKMeansParams]):
    """See the module's docstring."""

    title = "Bisecting k-means"
    paper = Paper(
        "A Comparison of Document Clustering Techniques", 2000, "KDD Workshop on Text Mining"
    )
    Params = BisectingKMeansParams
    cost = Cost(2e-8, rows=1.2, k="n_clusters", times=("n_init",))
    inputs = {
        "features": Input(by_rows=True, description="One row per point."),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model")
    placing = "the leaf reached by following the nearest centre at each split"
    advice = "The methods 'birch' and 'minibatch-kmeans' need less memory."
    example = {"n_clusters": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: BisectingKMeansParams) -> int:
        return bytes_to_grow(shapes, params.n_clusters)

    def _check(self, data: Data, params: BisectingKMeansParams) -> None:
        features = require_point_rows(data)
        data.leaf_names(params.n_clusters, "cluster")
        require_usable_points(features)
        require_distinct(features, params.n_clusters)

    def _fit(self, data: Data, params: BisectingKMeansParams, run: Run) -> Fitted:
        features = data.rows("features")
        choice: Choice = "inertia" if params.bisecting_strategy == "biggest_inertia" else "size"
        grown, notes = grow_by_means(
            features,
            choice,
            2,
            params.n_clusters,
            KMeansEffort(params.n_init, params.max_iter, params.tol),
            run,
        )
        run.progress(0.95, "building the tree")
        tree = grown.tree(data.leaf_names(params.n_clusters, "cluster"))
        return Fitted(
            tree=tree,
            model=model_of(grown, features.shape[1]),
            metrics={"inertia": float(grown.inertia[tree.leaves].sum())},
            warnings=notes,
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf reached by following the nearest centre at each split."""
        return descend(model, tree, data)
