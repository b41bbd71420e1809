"""HDBSCAN: clusters of any shape and density; points outside all clusters are noise.

The mutual reachability distance of two points is their distance, but at least that of either to its
`min_samples`-th neighbour. Single linkage by these distances gives a tree. Where one side of a
split has fewer than `min_cluster_size` points, these fall out of the cluster instead; the remaining
splits form the condensed tree. The clusters are chosen from it: those that are stable over the
widest range of densities ('eom'), or its leaves ('leaf'). By default ('auto') they are the stable
ones, unless one of these holds nearly all rows in clusters and the others are crumbs
(`models.tree.noise.lump_and_crumbs`): then the leaves. The result says in `chosen` which and why.
Why so, and why `min_samples` is 1 by default: docs/decisions/default-density.md.

The result is the condensed tree from the root to the chosen clusters, which are its leaves, named
by their numbers from the largest to the smallest, or after their points where these have names.
With 'leaf' this is the whole condensed tree. Noise lies in the leaf `noise` below the root, which
no cut counts as a cluster: its rows have the cluster -1 (`models.tree.noise`), except in the cut
into the root alone, of which they are a part. Heights are the distances at which nodes split. Extra
columns of a node: `cluster`, its number or -1; `noise`, whether it is the leaf of noise; `birth`,
the density (1 / distance) at which it split off; `stability`; `probability`, the mean strength with
which its points belong to their clusters; `outlier_score`, the mean of their outlier scores
(GLOSH).

With `noise` 'nearest' each point of noise goes to the cluster of the point that is nearest to it by
mutual reachability distance, of equals the one nearer by distance; beyond `noise_within` it stays
noise. Its `probability` stays 0, by which it is known.

Labels can differ from what the libraries hdbscan and scikit-learn give. Distances that count as a
neighbour's are equal by the dozen. All splits at one distance are made at once, as defined, so the
order of the points does not matter (`density.clusters`); the libraries make them one after the
other. So a point that falls out at the very distance at which a cluster splits is noise here, and
may belong to a part of it there. In the library hdbscan's own tests, 18 of 152 expect labels that
differ. scikit-learn also counts a point among its own neighbours: its `min_samples` is one more
than that of the library hdbscan and of this method.

Source: Campello, Moulavi, Zimek and Sander, "Hierarchical Density Estimates for Data Clustering,
Visualization, and Outlier Detection" (2015); the exact minimum spanning tree of
`models.graphs.spanning`. Details that the paper leaves open follow the library hdbscan.

Beyond 200,000 points, or 2,000,000 with at most 10 features, the spanning tree of features by
'euclidean', 'cosine' or 'correlation' follows the graph of each point's 15 nearest
neighbours, or `min_samples` if that is more (`models.graphs.reachability`): the result warns of it,
with the share of neighbours that were found. The neighbours are sought by all workers. The spanning
tree is a checkpoint.

Cost: O(N^2 D) time and O(N D) memory; about O(N log N) time with few features, and less than all
pairs where points lie in groups. For given distances, and for 'braycurtis', 'hamming' and
'jaccard', which no search tree supports, O(N^2) time and 4 N^2 bytes; 8 N^2 bytes more for items
and for features with empty values, of which all distances are measured (`models.graphs.measured`).

New rows are placed as by that library's `approximate_predict` (`density.placing`), at O(N D) each,
also for metrics that it leaves out; with distances, each comes with those to all points. The model
keeps the features as they are: as many bytes again as the input.

Measured: CPU time as N^1.5 D^0.7, from 3,000 x 32 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from models.arrays import Array, Arrays, Float, Int
from models.clusters.placing import by_size, reorder
from models.errors import UsageError
from models.graphs.measured import (
    ITEMS_INPUT,
    bytes_of_measured,
    check_metric,
    distances_to,
    kept,
    measured,
)
from models.graphs.neighbours import graph_piece
from models.graphs.reachability import Reached, bytes_to_reach, tree_along_neighbours
from models.graphs.spanning import (
    METRICS,
    SpanningTree,
    bytes_to_span,
    condensed_rows,
    core_distances,
    spanning_tree,
    tree_by_rows,
)
from models.inputs.checks import refuse_clusters, require_points, require_squares
from models.inputs.data import Data, require_finite
from models.inputs.rows import ArrayRows
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.features.density.clusters import Chosen, Clustering, along, tree_of
from models.methods.features.density.placing import (
    Given,
    core_of_pairs,
    cores_of_features,
    given_cores,
    model_of,
    nearest_clusters,
    of_features,
    of_pairs,
    place,
)
from models.node_names.by_input import POINT_NAMES, by_points
from models.numerics.distances import (
    BY_PAIRS,
    FLAT,
    DistanceMetric,
    as_metric,
    flat_exactly,
    pairwise,
    presence_warnings,
)
from models.numerics.distances import condensed as condensed_distances
from models.numerics.gower import ROLE as ITEMS
from models.parameters import Choice, Params, Weights
from models.running import budget
from models.running.budget import ALONG_GRAPH, Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.noise import lump_and_crumbs
from models.tree.parents import under
from models.tree.tree import Tree

HdbscanMetric = Literal[
    "euclidean",
    "cityblock",
    "chebyshev",
    "canberra",
    "cosine",
    "correlation",
    "braycurtis",
    "hamming",
    "jaccard",
    "gower",
]

FEW_FEATURES = 10
"""Up to this many features, search trees find spanning trees faster than comparing all pairs."""

REASONS = {
    "eom": "The most stable clusters are more than one lump and crumbs.",
    "leaf": "The most stable clusters are one of nearly all rows, and crumbs: its parts say more.",
}
"""Why clusters were selected so."""

MOST_POINTS = 200_000
MOST_POINTS_FEW = 2_000_000
"""Up to so many points the spanning tree is exact, the second with few features; beyond, that of a
metric of `FLAT` follows the graph of neighbours, and others are refused."""

WIDE = 16
"""The highest splits, across which the shortest edges are sought widely along the graph."""

MOST_SAMPLES = 1_000
"""Along the graph `min_samples` is at most this."""


class HdbscanParams(Params):
    min_cluster_size: int = Field(5, ge=2, le=1_000_000, description="Smallest size of a cluster.")
    min_samples: int | None = Field(
        1,
        ge=1,
        le=1_000_000,
        description=(
            "Which nearest neighbour's distance measures the density at a point; larger values "
            "give more noise and fewer clusters. null: 'min_cluster_size', as in the library "
            "hdbscan."
        ),
    )
    metric: HdbscanMetric = Field(
        "euclidean",
        description=(
            "Distance between points, as SciPy's pdist defines it; 'jaccard' takes values other "
            "than 0 as present. It applies to the input "
            "'features' and must stay 'euclidean' with 'distances'; 'items' are compared by "
            "'gower', which applies to them alone."
        ),
    )
    weights: Weights = None
    cluster_selection_method: Literal["auto", "eom", "leaf"] = Field(
        "auto",
        description=(
            "Which clusters of the condensed tree are chosen: 'eom' the most stable "
            "clusters, 'leaf' the leaves of the tree, which are smaller and more even in size; "
            "'auto' the most stable ones, unless these are one cluster of nearly all rows beside "
            "crumbs: then the leaves."
        ),
    )
    cluster_selection_epsilon: float = Field(
        0.0,
        ge=0,
        le=1e15,
        description="Clusters are not split at distances smaller than this.",
    )
    max_cluster_size: int | None = Field(
        None,
        ge=2,
        le=1_000_000_000,
        description="Largest size of one of the most stable clusters. Default: no limit.",
    )
    allow_single_cluster: bool = Field(
        False, description="Whether the root may be chosen as the only cluster."
    )
    noise: Literal["keep", "nearest"] = Field(
        "keep",
        description=(
            "What becomes of points outside all clusters: 'keep' leaves them noise, with the "
            "cluster -1; 'nearest' gives each to the cluster of the nearest point in one, by "
            "mutual reachability distance."
        ),
    )
    noise_within: float | None = Field(
        None,
        ge=0,
        le=1e15,
        description=(
            "With 'nearest': points further than this from the nearest cluster, by mutual "
            "reachability distance, stay noise. Default: none is too far."
        ),
    )

    @property
    def distance(self) -> DistanceMetric:
        """The metric of features."""
        return "euclidean" if self.metric == "gower" else self.metric


class Hdbscan(Method[HdbscanParams]):
    """See the module's docstring."""

    title = "HDBSCAN"
    paper = Paper(
        "Hierarchical Density Estimates for Data Clustering, Visualization, and Outlier Detection",
        2015,
        "ACM TKDD 10(1)",
    )
    Params = HdbscanParams
    cost = Cost(1e-9, rows=2)
    inputs = {
        "features": Input(required=False, description="One row per point."),
        "distances": Input(
            required=False,
            description="Square symmetric matrix of distances between points, zero diagonal.",
        ),
        ITEMS: ITEMS_INPUT,
        "names": POINT_NAMES,
    }
    one_of = ("features", "distances", ITEMS)
    outputs = ("tree", "model")
    takes_gaps = True
    placing = (
        "the cluster of the point that it joins by mutual reachability, if it is dense enough "
        "(`approximate_predict` of the library hdbscan), else to the leaf of noise, or where "
        "`noise` sends the noise of the fit"
    )
    advice = (
        "More points take the metrics 'euclidean' and 'cosine' of 'features', the method 'scc', or "
        "'hac' with connectivity 'knn'."
    )
    resumes = True

    def seconds(self, shapes: Shapes, params: Mapping[str, Any]) -> float | None:
        """As of `Method`, along the graph of neighbours with more points than the tree is exact."""
        shape, metric = shapes.get("features", ()), params["metric"]
        if len(shape) != 2 or metric not in FLAT or shape[0] <= most_points(metric, shape[1]):
            return super().seconds(shapes, params)
        return ALONG_GRAPH.seconds(shape[0], shape[1], params, self.Params)

    def _memory(self, shapes: Shapes, params: HdbscanParams) -> int:
        role = next((role for role in self.one_of if len(shapes.get(role, ())) == 2), None)
        if role is None:
            return 0
        n_points, n_columns = shapes[role]
        by_tree = role == "features" and params.distance not in BY_PAIRS
        most = most_points(params.distance, n_columns)
        min_samples = params.min_samples or params.min_cluster_size
        if role == "features" and n_points > most and params.distance in FLAT:
            _require_graph(params, most)
            found = bytes_to_reach(n_points, n_columns, min_samples)
            return max(found, 250 * n_points) + 60 * n_points
        if role == ITEMS or not by_tree:
            most = MOST_POINTS
        if n_points > most:
            raise UsageError(
                f"Method 'hdbscan' accepts at most {most:,} points of {n_columns} features by "
                f"{params.metric!r}; there are {n_points:,}. {self.advice}",
                code="too-large",
                role=role,
            )
        if by_tree:
            copies = (
                16 * n_points * n_columns if params.distance in ("cosine", "correlation") else 0
            )
            copies += 40 * n_points * n_columns if params.noise == "nearest" else 0
            return copies + bytes_to_span(n_points, n_columns, min_samples) + 200 * n_points
        copied = 8 * n_points * n_columns if role == "features" else 0
        if role == ITEMS:
            copied = bytes_of_measured(n_points, n_columns)
        return 4 * n_points * n_points + copied + 400 * n_points

    def _check(self, data: Data, params: HdbscanParams) -> None:
        role = _role(data)
        check_metric(role, params.metric, params.weights)
        pairs = measured(data, params.distance, params.weights)
        if pairs is None:
            values = require_points(data, role)
            n_points, n_columns = values.shape
        else:
            n_points = n_columns = pairs.n_points
            needed = bytes_of_measured(*pairs.points.shape) + 4 * n_points**2
            budget.require(self.id, needed, self.advice)
        if role == "distances" and n_points != n_columns:
            raise UsageError(
                f"Input 'distances' has {n_points} rows and {n_columns} columns; it must be "
                "square.",
                code="wrong-shape",
                role=role,
            )
        if role == "distances" and params.distance != "euclidean":
            raise UsageError(
                "Parameter 'metric' applies to the input 'features'; leave it out when 'distances' "
                "are given.",
                code="wrong-parameter",
                parameter="metric",
            )
        if params.noise_within is not None and params.noise != "nearest":
            raise UsageError(
                "Parameter 'noise_within' limits the 'noise' that is given to the 'nearest' "
                "cluster; set 'noise' to 'nearest', or leave it out.",
                code="wrong-parameter",
                parameter="noise_within",
            )
        data.leaf_names(n_points, "point")
        if params.min_cluster_size > n_points:
            refuse_clusters(params.min_cluster_size, n_points, "point(s)", "min_cluster_size")
        if (params.min_samples or 0) >= n_points:
            refuse_clusters(params.min_samples or 0, n_points, "point(s)", "min_samples")
        if pairs is not None:
            return
        require_finite(values, role)
        if role == "features":
            require_squares(values)
            if along_graph(values, params):
                _require_graph(params, most_points(params.distance, values.shape[1]))

    def _fit(self, data: Data, params: HdbscanParams, run: Run) -> Fitted:
        own = _role(data)
        pairs = measured(data, params.distance, params.weights)
        notes = list[str]()
        if pairs is not None:
            notes += pairs.warnings
            square = pairs.square(subprogress(run.progress, 0.0, 0.05))
            others = {role: value for role, value in data.values.items() if role != own}
            data = Data({**others, "distances": square})
        role = _role(data)
        values = data.dense(role)
        n_points = len(values)
        min_samples = min(params.min_samples or params.min_cluster_size, n_points - 1)
        linkage, reached = _linkage(values, role, params, min_samples, run)
        run.progress(0.8, "clustering")
        clustering, chosen = selected(linkage, params)
        if reached is not None:
            within = subprogress(run.progress, 0.8, 0.9)
            first = clustering.condensed
            reached = reached.between(first.cluster, first.sides(WIDE), run.threads, within)
            clustering, chosen = selected(reached.tree.linkage(), params)
        run.progress(0.9, "building the tree")
        label = _by_size(clustering.label)
        condensed = clustering.condensed
        given = label
        if params.noise == "nearest" and (label >= 0).any():
            given = _with_nearest(values, role, params, min_samples, label)
            notes += _given_warnings(label, given)
        tree = _with_points(
            tree_of(condensed, label, given), clustering.probability, clustering.outlier
        )
        n_clusters = int(label.max(initial=-1)) + 1
        if n_clusters == 0:
            notes.append(
                "No cluster was found: all points are noise. Lower 'min_cluster_size' or "
                "'min_samples', or set 'allow_single_cluster'."
            )
        notes += _noise_warnings(n_clusters, int((given < 0).sum()), n_points)
        if role == "features":
            notes += presence_warnings(values, params.distance)
        elif pairs is not None and own == "features":
            notes += presence_warnings(np.nan_to_num(pairs.points), params.distance)
        gives = None if params.noise == "keep" else Given(params.noise_within)
        model = model_of(data, role, params.distance, min_samples, condensed, label, tree, gives)
        if reached is not None:
            notes += reached.warnings(most_points(params.distance, values.shape[1]))
            model = Model({**model.arrays, "core": reached.core}, model.facts)
        return Fitted(
            tree=by_points(tree, data.names()),
            model=model if pairs is None else pairs.with_points(model),
            metrics={
                "n_clusters": float(n_clusters),
                "n_noise": float((given < 0).sum()),
                **({} if reached is None else reached.facts()),
            },
            point_columns={
                "probability": clustering.probability,
                "outlier_score": clustering.outlier,
            },
            warnings=tuple(notes),
            chosen={}
            if params.cluster_selection_method != "auto"
            else {"cluster_selection_method": Choice(chosen, REASONS[chosen])},
        )

    def _piece(
        self, data: Data, params: HdbscanParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return graph_piece(data.rows("features"), piece, threads, progress)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the cluster, with the strength as its probability; the leaf of noise has 1."""
        pairs = kept(model)
        if pairs is None:
            return place(self.id, model, tree, data)
        distances, notes = distances_to(pairs, data, self.id)
        placed = place(self.id, model, tree, Data({"distances": distances}))
        return replace(placed, warnings=(*placed.warnings, *notes))


def _role(data: Data) -> str:
    return next(role for role in Hdbscan.one_of if role in data)


def most_points(metric: DistanceMetric, n_columns: int) -> int:
    """Up to how many points of features the spanning tree is exact."""
    few = n_columns <= FEW_FEATURES and metric not in BY_PAIRS and metric != "canberra"
    return MOST_POINTS_FEW if few else MOST_POINTS


def along_graph(values: Array, params: HdbscanParams) -> bool:
    """Whether the spanning tree of features follows the graph of neighbours."""
    n_points, n_columns = values.shape
    return params.distance in FLAT and n_points > most_points(params.distance, n_columns)


def _require_graph(params: HdbscanParams, most: int) -> None:
    """Raises UsageError for parameters that need the distances from points to all points."""
    min_samples = params.min_samples or params.min_cluster_size
    if params.noise == "nearest":
        parameter, reason = "noise", "'noise' 'nearest' compares points of noise with all points"
    elif min_samples > MOST_SAMPLES:
        parameter = "min_samples" if params.min_samples else "min_cluster_size"
        reason = f"'min_samples' is at most {MOST_SAMPLES:,}, here {min_samples:,}"
    else:
        return
    raise UsageError(
        f"With more than {most:,} points the tree of 'hdbscan' follows the graph of nearest "
        f"neighbours: {reason}; {'keep the noise' if parameter == 'noise' else 'lower it'}, or use "
        "a sample of the points.",
        code="too-large",
        parameter=parameter,
    )


def _linkage(
    values: Array, role: str, params: HdbscanParams, min_samples: int, run: Run
) -> tuple[Float, Reached | None]:
    """The merges of single linkage, and what is known of neighbours if the tree is along them."""
    within, reached = subprogress(run.progress, 0.05, 0.8), None
    if role == "features" and along_graph(values, params):
        reached = tree_along_neighbours(
            ArrayRows(values), min_samples, params.distance, run.threads, within, run.crew,
            run.checkpoint,
        )  # fmt: skip
        return reached.tree.linkage(), reached
    saved = run.checkpoint.load()
    if saved is not None and "tree_ends" in saved:
        tree = SpanningTree(np.array(saved["tree_ends"]), np.array(saved["tree_length"]))
    else:
        tree = _exact_tree(values, role, params.distance, min_samples, run.threads, within)
        run.checkpoint.save({"tree_ends": tree.ends, "tree_length": tree.length})
    linkage = tree.linkage()
    if role == "features" and params.distance in FLAT:
        linkage[:, 2] = as_metric(linkage[:, 2], params.distance)
    return linkage, reached


def _exact_tree(
    values: Array,
    role: str,
    metric: DistanceMetric,
    min_samples: int,
    threads: int,
    progress: Progress,
) -> SpanningTree:
    """The exact tree; for a metric of `FLAT` by Euclidean distance."""
    if role == "features" and metric in FLAT:
        return spanning_tree(flat_exactly(values, metric), min_samples, threads, progress)
    if role == "features" and metric in METRICS:
        return spanning_tree(values, min_samples, threads, progress, metric)
    return _tree_of_pairs(values, role, metric, min_samples, progress)


def selected(linkage: Float, params: HdbscanParams) -> tuple[Clustering, str]:
    """The clusters along merges of single linkage, and their selection: 'eom' or 'leaf'.

    Where the root may be the only cluster, 'auto' is 'eom'.
    """
    rule = params.cluster_selection_method
    method = "leaf" if rule == "leaf" else "eom"
    chosen = Chosen(
        params.min_cluster_size,
        method,
        params.cluster_selection_epsilon,
        params.max_cluster_size or 0,
        params.allow_single_cluster,
    )
    found = along(linkage, chosen)
    if rule != "auto" or params.allow_single_cluster:
        return found, method
    if not lump_and_crumbs(np.bincount(found.label[found.label >= 0])):
        return found, method
    return along(linkage, replace(chosen, cluster_selection_method="leaf")), "leaf"


def _tree_of_pairs(
    values: Array, role: str, metric: DistanceMetric, min_samples: int, progress: Progress
) -> SpanningTree:
    """By the distances of all pairs, which are stored."""
    progress(0.0, "measuring distances")
    pairs = condensed_distances(values) if role == "distances" else pairwise(values, metric)
    row_of = condensed_rows(pairs, len(values))
    core = core_distances(row_of, len(values), min_samples, subprogress(progress, 0.2, 0.5))
    return tree_by_rows(row_of, core, subprogress(progress, 0.5, 1.0))


def _with_nearest(
    values: Array, role: str, params: HdbscanParams, min_samples: int, label: Int
) -> Int:
    """The labels, with the nearest clusters of points of noise."""
    inside, noise = np.flatnonzero(label >= 0), np.flatnonzero(label < 0)
    if not inside.size or not noise.size:
        return label
    # A point is the nearest to itself.
    rank = min_samples + 1
    if role == "distances":
        search, cores = of_pairs(values, noise, inside), given_cores(core_of_pairs(values, rank))
    else:
        search = of_features(values[noise], values, inside, params.distance)
        cores = cores_of_features(values, rank, params.distance)
    found = nearest_clusters(cores(noise), search, inside, cores, label)
    given = label.copy()
    given[noise] = found.within(params.noise_within)
    return given


def _noise_warnings(n_clusters: int, n_noise: int, n_points: int) -> list[str]:
    """A warning with the better way, where clusters were found and most rows are in none."""
    if not n_clusters or 2 * n_noise <= n_points:
        return []
    return [
        f"{n_noise:,} of {n_points:,} rows are noise: their density hardly varies, as in many "
        "columns. 'hac' and 'kmeans' give each row a cluster, 'layers' finds clusters of "
        "embeddings without their number; here, 'noise' 'nearest' gives these rows to clusters."
    ]


def _given_warnings(label: Int, given: Int) -> list[str]:
    n_noise, n_left = int((label < 0).sum()), int((given < 0).sum())
    if not n_noise:
        return []
    left = f", {n_left} further than 'noise_within' stay noise" if n_left else ""
    return [
        f"{n_noise - n_left} of {n_noise} points of noise were given to the nearest clusters"
        f"{left}: 'noise' is 'nearest'. Their probability is 0."
    ]


def _by_size(label: Int) -> Int:
    """Labels renumbered from the largest cluster on, ties ordered by their first points."""
    used, first, size = np.unique(label[label >= 0], return_index=True, return_counts=True)
    if not used.size:
        return label
    order = by_size(size, first[:, None].astype(np.float64))
    renumbered = label.copy()
    renumbered[label >= 0] = reorder(label[label >= 0], order)
    return renumbered


def _with_points(tree: Tree, probability: Float, outlier: Float) -> Tree:
    """The tree with columns for the mean probability and outlier score of each node's points."""
    columns = {"probability": probability, "outlier_score": outlier}
    means = {
        name: under(tree.parent, np.bincount(tree.leaf_of_point, value, tree.n_nodes)) / tree.size
        for name, value in columns.items()
    }
    return replace(tree, extra={**tree.extra, **means})
