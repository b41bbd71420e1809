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

Above average and Ward's linkage in dendrogram purity by more than .01 on 12 of 22 sets, and below
them on 2; docs/points.md has the figures. Where groups are round, 'ward' of `hac` gives as
much for far less. Columns count by their scale, as in `hac`.

A new row, of which this says nothing, goes to the leaf of the nearest point of the fit by `metric`.

Cost: O(N^2 D + N^3) time: two products of matrices, for 'walk' at most one, and three more where
walks reach many of all points. Memory: 24 N^2 bytes. More than `MOST_POINTS` points are refused.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field

from models.errors import UsageError
from models.graphs.lengths import Neighbours
from models.graphs.nearest_points import PlacesNearest, model_of
from models.graphs.neighbours import nearest
from models.inputs.checks import distinct, require_points, require_squares
from models.inputs.data import Data, require_finite
from models.method import Fitted, Input, Paper, Run, Shapes
from models.methods.features.linkage.graph_linkage import all_merges, equal_points
from models.numerics.distances import flat
from models.parameters import Params
from models.running.budget import Cost
from models.running.progress import subprogress
from models.tree.build import from_merges

MOST_POINTS = 20_000
"""So many points take 9.6 GB, and tens of minutes."""

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


class PointTree(PlacesNearest[PointTreeParams]):
    """See the module's docstring."""

    title = "Tree of points by walks and linkages"
    paper = Paper("Umbel: docs/points.md", 2026)
    Params = PointTreeParams
    cost = Cost(2e-8, rows=2.5, columns=0, start=0.1)
    inputs = {
        "features": Input(description="One row per point."),
        "names": Input(required=False, one_per="row", description="One name per point."),
    }
    outputs = ("tree", "model")
    advice = (
        "The methods 'hac' with connectivity 'knn' and 'scc' handle millions of points; or use a "
        "sample."
    )

    def _memory(self, shapes: Shapes, params: PointTreeParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        return 24 * n_points**2 + n_points * (24 * n_features + 400 * params.n_neighbors)

    def _check(self, data: Data, params: PointTreeParams) -> None:
        features = require_points(data)
        if len(features) > MOST_POINTS:
            raise UsageError(
                f"Method {self.id!r} compares all pairs of {len(features):,} points; it accepts at "
                f"most {MOST_POINTS:,}. {self.advice}",
                code="too-large",
                role="features",
            )
        require_finite(features, "features")
        require_squares(features)
        data.leaf_names(len(features), "point")

    def _fit(self, data: Data, params: PointTreeParams, run: Run) -> Fitted:
        # Compiled code, which the catalogue must not load.
        from models.methods.features.walks.consensus import Places, widest

        features = data.dense("features")
        names = data.leaf_names(len(features), "point")
        run.progress(0.0, "neighbours", "looking for equal points")
        within = partial(subprogress, run.progress)
        first, place = distinct(features)
        early, node, size = equal_points(first, place)
        n_places = first.size
        warnings: tuple[str, ...] = ()
        late, height = np.empty((0, 2), dtype=np.int64), np.empty(0)
        found = None
        if n_places > 1:
            rows = flat(features[first], params.metric, first)
            reach = widest(params.n_neighbors, n_places)
            near = nearest(rows, reach, "euclidean", run.threads, within(0.0, 0.1))
            places = Places(rows, size.astype(np.float64), near, params.n_neighbors)
            found = places.agreed(params.rule, params.steps, within(0.1, 0.95))
            late, height = found.merges[:, :2].astype(np.int64), found.merges[:, 2]
            warnings = (*_reach_warnings(params, near, n_places), *_top_warnings(found.top))
        run.progress(0.95, "building the tree")
        merges, height = all_merges(len(features), early, node, late, height)
        extra, metrics = {}, {"n_places": float(n_places)}
        if found is not None and found.agreement is not None:
            below = np.full(len(features) + len(early), np.nan)
            extra["agreement"] = np.concatenate([below, found.agreement])
            metrics["top_agreement"] = found.top
        return Fitted(
            tree=from_merges(merges[:, 0], merges[:, 1], height, names=names, extra=extra),
            model=model_of(features, "features", params.metric),
            metrics=metrics,
            warnings=warnings,
        )


def _reach_warnings(params: PointTreeParams, near: Neighbours, n_places: int) -> tuple[str, ...]:
    warnings = []
    wanted = params.n_neighbors if params.rule == "walk" else 2 * params.n_neighbors
    if wanted >= n_places:
        warnings.append(
            f"There are {n_places} distinct points, so that no point has {wanted} neighbours; "
            f"graphs have at most {n_places - 1}."
        )
    if near.recall is not None:
        warnings.append(
            "Neighbours were sought by an approximate index that keeps points in half precision, "
            f"which found {near.recall:.1%} of the neighbours of a sample of points."
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
