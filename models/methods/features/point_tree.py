"""Tree of points by walks and linkages: a binary tree over points that six trees agree on.

Average linkage and Ward's linkage compare points over any distance, and tear what is long, bent or
of unlike density; walks along a graph of neighbours follow it, and say little of what is far apart.
The tree is the average linkage of how much of all points lies, on average over six trees, in the
smallest group that has both points (its logarithm): average linkage; Ward's linkage; and average
linkage of how often a walk from one point ends at the other, over how often any long walk ends
there, along the graphs of half as many, `n_neighbors` and twice as many neighbours, and along the
second one with four times the steps. A node's `agreement` is the share of the six trees that have
it; its height is the mean above, from 0 to 1. 'walk' is the second of the walks alone, with
1 - similarity over the greatest similarity for heights.

An edge of the graphs weighs exp(-d^2 / (w w')), d its length and w, w' the distances of its ends to
their seventh neighbours, or their last (Zelnik-Manor and Perona, "Self-Tuning Spectral Clustering",
2004); a walk may stay, along an edge of weight 1. Points that coincide are one place, which counts
as often as it has points, and merge first.
Distance decides between places that no walk joins, and where there are ties.

More than `max_places` places are first merged into so many groups, by Ward's linkage along the
graph of `n_neighbors`; the trees are then of the groups' means, which count as often as they have
points. Merges within groups have no `agreement`, and for heights what six trees that all have them
would give; 0 by 'walk'. docs/points.md has what that loses.

Above average and Ward's linkage in dendrogram purity by more than .01 on 12 of 22 sets, and below
them on 2; docs/points.md has the figures. Where groups are round, 'ward' of `hac` gives as
much for far less. Columns count by their scale, as in `hac`.

A new row, of which this says nothing, goes to the leaf of the nearest point of the fit by `metric`.

Cost: O(N^2 (D + k t)) time for N places, k neighbours and t steps, O(N^3) at most; memory 14 N^2
bytes, 24 N^2 where walks are dense. Beyond `max_places` that of 'hac' along the graph besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import Field

from models.arrays import Array, Float
from models.graphs.cells import bytes_to_find
from models.graphs.lengths import Neighbours
from models.graphs.nearest_points import PlacesNearest, model_of
from models.graphs.neighbours import EXACT_POINTS, nearest, neighbour_graph
from models.inputs.checks import distinct, require_points, require_squares
from models.inputs.data import Data, require_finite
from models.method import Fitted, Input, Paper, Run, Shapes
from models.methods.features.linkage.graph_linkage import all_merges, equal_points
from models.methods.features.walks.consensus import Places, walks_of, widest
from models.methods.features.walks.grouping import Groups, grouped
from models.methods.features.walks.similarities import by_columns
from models.numerics.distances import flat
from models.parameters import Params
from models.running.budget import ALONG_GRAPH, Cost
from models.running.progress import subprogress
from models.tree.build import from_merges

_ALIKE = 0.6
"""Trees whose parts at the top share less of their points, on average, disagree."""


class PointTreeParams(Params):
    rule: Literal["consensus", "walk"] = Field(
        "consensus",
        description=(
            "'consensus': of six trees, by walks, average linkage and Ward's linkage. 'walk': one "
            "tree, average linkage of walks."
        ),
    )
    metric: Literal["euclidean", "cosine", "correlation"] = Field(
        "euclidean", description="Distance between points, as SciPy's pdist defines it."
    )
    n_neighbors: int = Field(
        10,
        ge=1,
        le=1000,
        description=(
            "Number of nearest neighbours that each point is joined to; a consensus has half as "
            "many and twice as many, too."
        ),
    )
    steps: int = Field(
        4, ge=1, le=64, description="Steps of a walk; a consensus has four times as many, too."
    )
    max_places: int = Field(
        20_000,
        ge=2,
        le=20_000,
        description=(
            "More distinct points are first merged into so many groups along the graph of "
            "neighbours."
        ),
    )


class PointTree(PlacesNearest[PointTreeParams]):
    """See the module's docstring."""

    title = "Tree of points by walks and linkages"
    paper = Paper("Umbel: docs/points.md", 2026)
    Params = PointTreeParams
    cost = Cost(4e-7, rows=2, columns=0, start=0.1)
    inputs = {
        "features": Input(description="One row per point."),
        "names": Input(required=False, one_per="row", description="One name per point."),
    }
    outputs = ("tree", "model")
    advice = "Use a smaller 'max_places', or the methods 'hac' with connectivity 'knn' and 'scc'."

    def seconds(self, shapes: Shapes, params: Mapping[str, Any]) -> float | None:
        """As of `Method`; beyond `max_places`, of so many and along the graph of neighbours."""
        shape = shapes.get("features", ())
        most = params["max_places"]
        if len(shape) != 2 or shape[0] <= most:
            return super().seconds(shapes, params)
        whole = self.cost.seconds(most, shape[1], params, self.Params)
        along = ALONG_GRAPH.seconds(*shape, params, self.Params)
        return None if whole is None or along is None else whole + along

    def _memory(self, shapes: Shapes, params: PointTreeParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        n_places = min(n_points, params.max_places)
        walks = [(params.n_neighbors, params.steps)]
        if params.rule == "consensus":
            walks = walks_of(params.n_neighbors, params.steps)
        dense = any(not by_columns(n_places, k, steps) for k, steps in walks)
        held = (24 if dense else 14) * n_places**2
        held += n_points * (24 * n_features + 400 * params.n_neighbors)
        if n_points <= EXACT_POINTS:
            return held
        return max(held, bytes_to_find(n_points, n_features, params.n_neighbors))

    def _check(self, data: Data, params: PointTreeParams) -> None:
        features = require_points(data)
        require_finite(features, "features")
        require_squares(features)
        data.leaf_names(len(features), "point")

    def _fit(self, data: Data, params: PointTreeParams, run: Run) -> Fitted:
        features = data.dense("features")
        names = data.leaf_names(len(features), "point")
        run.progress(0.0, "neighbours", "looking for equal points")
        start, warnings, early_height = _start(features, params, run)
        n_places = len(start.rows)
        late, height = np.empty((0, 2), dtype=np.int64), np.empty(0)
        found = None
        within = partial(subprogress, run.progress)
        if n_places > 1:
            reach = widest(params.n_neighbors, n_places)
            near = nearest(start.rows, reach, "euclidean", run.threads, within(0.1, 0.15))
            places = Places(start.rows, start.size.astype(np.float64), near, params.n_neighbors)
            found = places.agreed(params.rule, params.steps, within(0.15, 0.95))
            # Distance, which decides ties, is a little beyond.
            late, height = found.merges[:, :2].astype(np.int64), np.minimum(found.merges[:, 2], 1.0)
            what = "groups" if warnings else "distinct points"
            reaching = _reach_warnings(params, near, n_places, what)
            warnings = (*warnings, *reaching, *_top_warnings(found.top))
        run.progress(0.95, "building the tree")
        merges, height = all_merges(len(features), start.merges, start.node, late, height)
        height[: len(early_height)] = early_height
        extra, metrics = {}, {"n_places": float(n_places)}
        if found is not None and found.agreement is not None:
            below = np.full(len(features) + len(start.merges), np.nan)
            extra["agreement"] = np.concatenate([below, found.agreement])
            metrics["top_agreement"] = found.top
        return Fitted(
            tree=from_merges(merges[:, 0], merges[:, 1], height, names=names, extra=extra),
            model=model_of(features, "features", params.metric),
            metrics=metrics,
            warnings=warnings,
        )


def _start(
    features: Array, params: PointTreeParams, run: Run
) -> tuple[Groups, tuple[str, ...], Float]:
    """The places of points, or groups of places where these are many; what to warn of; the heights
    of merges within them."""
    first, place = distinct(features)
    if first.size <= params.max_places:
        merges, node, size = equal_points(first, place)
        rows = flat(features[first], params.metric, first)
        return Groups(merges, node, size, rows), (), np.zeros(len(merges))
    rows = flat(features, params.metric, np.arange(len(features)))
    within = partial(subprogress, run.progress)
    graph = neighbour_graph(rows, params.n_neighbors, "euclidean", run.threads, within(0.0, 0.05))
    if graph.n_nodes <= params.max_places:
        # Rows of one direction may be one place.
        merges, node, size = equal_points(graph.first, graph.place)
        return Groups(merges, node, size, rows[graph.first]), (), np.zeros(len(merges))
    groups, under = grouped(rows, graph, params.max_places, within(0.05, 0.1))
    largest = int(groups.size.max())
    note = (
        f"There are {graph.n_nodes:,} distinct points: Ward's linkage along the graph of "
        f"neighbours merged them into {params.max_places:,} groups of up to {largest:,} points, "
        "which walks and linkages then compared by their means. Nodes within groups have no "
        "'agreement'."
    )
    height = np.zeros(len(under))
    if params.rule == "consensus":
        equal = graph.place.size - graph.n_nodes
        height[equal:] = np.log(under[equal:]) / np.log(len(features))
    return groups, (note, *graph.warnings(params.n_neighbors)), height


def _reach_warnings(
    params: PointTreeParams, near: Neighbours, n_places: int, what: str
) -> tuple[str, ...]:
    """what : the places are."""
    warnings = []
    wanted = params.n_neighbors if params.rule == "walk" else 2 * params.n_neighbors
    if wanted >= n_places:
        warnings.append(
            f"There are {n_places} {what}, none of which has {wanted} neighbours; graphs have at "
            f"most {n_places - 1}."
        )
    if near.recall is not None:
        points = "points" if what != "groups" else what
        warnings.append(
            f"Neighbours were sought by an approximate index that keeps {points} in half "
            f"precision, which found {near.recall:.1%} of the neighbours of a sample of {points}."
        )
    return tuple(warnings)


def _top_warnings(top: float) -> tuple[str, ...]:
    if not top < _ALIKE:
        return ()
    return (
        "The trees of the consensus disagree at the top: the smaller part of the first split "
        f"shares {top:.0%} of its points with theirs on average. Trust lower merges more; "
        "`agreement` has each node's.",
    )
