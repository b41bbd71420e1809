"""Hierarchical spectral clustering (HSC): a tree grown from the root, each node split by spectral
clustering on its own graph of nearest neighbours (`growing.spectral`).

All leaves are split on trial and the one whose points then lie nearest to the means of their
clusters on average is split for good ('compact', HSC), or the leaf with the largest sum of
distances of its points to their mean ('scattered', HSC-D); `growing.frontier` has the rules. The
tree has at most `max_leaves` leaves.

A new point goes to the leaf of the nearest fitted point; the model keeps the fitted points.

Source: Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015), section 5, baselines HSC and
HSC-D; Ng, Jordan and Weiss, "On Spectral Clustering" (2001). Deviations: 'max_leaves' is never
exceeded, whereas the paper stops once it is; a graph with more connected components than a split
has clusters is split by components.

Cost: at the root, finding the neighbours (`models.graphs.neighbours`: O(N^2 D), less beyond 10,000
points) and a few eigenvectors of a sparse matrix; less below. Memory: O(N (D + k)).

Measured: CPU time as N^0.5 D^0.1, from 2,000 x 32 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.clusters.kmeans import KMeansEffort
from models.inputs.checks import require_points, require_squares
from models.inputs.data import Data, require_finite
from models.inputs.rows import ArrayRows
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.features.growing.frontier import grow
from models.methods.features.growing.spectral import Spectral, place_nearby
from models.node_names.by_input import POINT_NAMES, by_points
from models.parameters import Params, Seed
from models.running.budget import Cost
from models.running.progress import held_progress, subprogress
from models.tree.tree import Tree


class HSCParams(Params):
    grow: Literal["compact", "scattered"] = Field(
        "scattered",
        description=(
            "Which leaf is split next: 'compact' the leaf whose clusters would be the most "
            "compact (HSC), 'scattered' the leaf whose points are the most scattered (HSC-D)."
        ),
    )
    branching: int = Field(
        2, ge=2, le=100, description="Number of clusters that a node is split into."
    )
    max_leaves: int = Field(
        64, ge=2, le=1_000_000, description="Largest number of leaves of the tree."
    )
    n_neighbors: int = Field(
        5,
        ge=1,
        le=1000,
        description=(
            "Number of nearest neighbours that each point is joined to; the mean distance to "
            "them is the width of the Gaussian that weights the edges."
        ),
    )
    n_init: int = Field(
        10,
        ge=1,
        le=1000,
        description="Number of k-means runs at each node, on the eigenvectors; the best is kept.",
    )
    seed: Seed = 0


class HSC(Method[HSCParams]):
    """See the module's docstring."""

    title = "Hierarchical spectral clustering"
    paper = Paper("Hierarchical Maximum-Margin Clustering", 2015, "section 5")
    Params = HSCParams
    cost = Cost(1e-5, rows=1.5, columns=0, times=("n_init",), start=0.7)
    inputs = {
        "features": Input(description="One row per point."),
        "names": POINT_NAMES,
    }
    outputs = ("tree", "model")
    placing = "the leaf of the nearest point of the fit"
    advice = "The methods 'hkm' and 'scc' need less memory."
    example = {"max_leaves": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: HSCParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        nodes = 2 * min(params.max_leaves, n_points)
        each = 24 * n_features + 120 * params.n_neighbors + 50 * 8 * params.branching
        return n_points * each + nodes * (8 * n_features + 1000)

    def _check(self, data: Data, params: HSCParams) -> None:
        features = require_points(data)
        require_finite(features, "features")
        require_squares(features)
        data.leaf_names(len(features), "point")

    def _fit(self, data: Data, params: HSCParams, run: Run) -> Fitted:
        features = data.dense("features")
        whole, within = held_progress(subprogress(run.progress, 0.05, 0.95))
        split = Spectral(
            params.branching,
            params.n_neighbors,
            KMeansEffort(params.n_init),
            run.rng,
            run.threads,
            within,
        )
        grown = grow(ArrayRows(features), split, params.grow, params.max_leaves, whole)
        run.progress(0.95, "building the tree")
        return Fitted(
            tree=by_points(grown.tree(), data.names()),
            model=Model(arrays={"fitted": features}, facts={"n_neighbors": params.n_neighbors}),
            warnings=(*split.warnings(), *grown.end_warnings(params.max_leaves)),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest fitted point; a node's probability is the share of the nearest fitted
        points that lie under it."""
        return place_nearby(model, tree, data, model.facts["n_neighbors"])
