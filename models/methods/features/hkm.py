"""Hierarchical k-means (HKM): a tree grown from the root, each node split by k-means.

All leaves are split on trial and the one whose points then lie nearest to their centres on average
is split for good ('compact', HKM), or the leaf with the largest sum of distances of its points to
its centre ('scattered', HKM-D); `growing.frontier` has the rules. The tree has at most `max_leaves`
leaves; with as many as there are points it goes down to single points.

Source: Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015), section 5, baselines HKM and
HKM-D. k-means is compiled here (`clusters.loops`), from greedy k-means++ seeds as in scikit-learn;
a seed fixes all bits. Deviation: 'max_leaves' is never exceeded, whereas the paper stops once it
is.

Cost: O(N K D) time for each iteration of k-means at the root, less below: a balanced tree takes log
L times as long, and twice that with 'compact'. Memory: one copy of a node's features, two where
they are no floats.

Measured: CPU time as N^1.0 D^0.7, from 20,000 x 64 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.clusters.kmeans import KMeansEffort
from models.clusters.lloyd import require_usable_points
from models.inputs.checks import require_point_rows
from models.inputs.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.features.growing.means import bytes_to_grow, descend, grow_by_means, model_of
from models.node_names.by_input import POINT_NAMES, by_points
from models.parameters import MaxIter, Params, Seed
from models.running.budget import Cost
from models.tree.tree import Tree


class HKMParams(Params):
    grow: Literal["compact", "scattered"] = Field(
        "scattered",
        description=(
            "Which leaf is split next: 'compact' the leaf whose clusters would be the most "
            "compact (HKM), 'scattered' the leaf whose points are the most scattered (HKM-D)."
        ),
    )
    branching: int = Field(
        2, ge=2, le=1000, description="Number of clusters that a node is split into."
    )
    max_leaves: int = Field(
        64, ge=2, le=1_000_000, description="Largest number of leaves of the tree."
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


class HKM(Method[HKMParams]):
    """See the module's docstring."""

    title = "Hierarchical k-means"
    paper = Paper("Hierarchical Maximum-Margin Clustering", 2015, "section 5")
    Params = HKMParams
    cost = Cost(4e-7, times=("n_init",))
    inputs = {
        "features": Input(by_rows=True, description="One row per point."),
        "names": POINT_NAMES,
    }
    outputs = ("tree", "model")
    placing = "the leaf reached by following the nearest centre at each split"
    advice = "The methods 'birch' and 'minibatch-kmeans' need less memory."
    example = {"max_leaves": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: HKMParams) -> int:
        return bytes_to_grow(shapes, params.max_leaves)

    def _check(self, data: Data, params: HKMParams) -> None:
        features = require_point_rows(data)
        require_usable_points(features)
        data.leaf_names(features.shape[0], "point")

    def _fit(self, data: Data, params: HKMParams, run: Run) -> Fitted:
        features = data.rows("features")
        grown, notes = grow_by_means(
            features,
            params.grow,
            params.branching,
            params.max_leaves,
            KMeansEffort(params.n_init, params.max_iter, params.tol),
            run,
        )
        run.progress(0.95, "building the tree")
        tree = grown.tree()
        return Fitted(
            tree=by_points(tree, data.names()),
            model=model_of(grown, features.shape[1]),
            metrics={"inertia": float(grown.inertia[tree.leaves].sum())},
            warnings=(*notes, *grown.end_warnings(params.max_leaves)),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """The leaf reached by following the nearest centre at each split."""
        return descend(model, tree, data)
