"""Agglomerative clustering (HAC): a binary tree over points, merging the two closest groups.

Leaves are the points, one each; the height of a node is the distance at which its two parts were
merged (for ward the increase of the error sum of squares as SciPy scales it). Centroid and median
linkage can merge at a smaller distance than one of the parts was merged at; the tree then is not
monotone. By default the linkage is 'ward' where variances are defined, else 'average'.

All pairs are compared, or with `connectivity: "knn"` groups merge only along the graph of nearest
neighbours, which avoids the time and memory of all pairs. There 'ward', 'centroid' and 'median'
keep their definitions, except that only groups joined by an edge may merge; 'average' is the mean
over all pairs of two groups for 'sqeuclidean', 'cosine' and 'correlation', the root of the mean
squared distance for 'euclidean', and the mean over the graph's edges for the other metrics;
'single', 'complete' and 'weighted' use the edges. A merge can lie lower than one below it.

With `epsilon`, merges along nearest neighbours by 'average' (where it goes by centres as above),
'ward', 'centroid' and 'median' are made in rounds, each at most 1 + epsilon times as long as the
shortest possible at its time (`linkage.graph_rounds`). What it gives away is the order: a height is
the distance of the two groups that merge. A fit in rounds resumes from checkpoints.

Items, rows of a table with columns of several kinds, are compared by Gower's distance
(`models.numerics.gower`), and features whose empty values distances leave out over the columns in
which both rows have one (`models.numerics.distances`). They are then merged as given distances
are, at 8 N^2 bytes more (`models.graphs.measured`).

Weights of rows are the sizes of the first groups in 'average', 'ward' and 'centroid' linkage.

Constraints, in any combination, with every linkage and every input: a graph of which only groups
that an edge joins may merge, pairs of points that must or cannot link, and a known tree.

- Points that must link, directly or through others, are one node at height 0 with all of them for
  children. Its distances follow from the linkage as if all its points had merged at once.
- Every clade of the known tree is a clade of the result: the points under one of its nodes, without
  points that the known tree does not name.
- The graph and the pairs that cannot link hold as long as anything may merge. What is left then
  merges all the same, with a warning: first parts of the graph that no edge joins, then groups that
  pairs keep apart, by their distances. These merges lie above all that break nothing, so that a cut
  below them does not break what they break; the metric `n_forced` counts them.
- With features, distances along a graph are as for nearest neighbours above, and parts of the graph
  are joined by edges between points of parts that lie next to each other. With distances or
  similarities, the linkage counts all pairs of points.
- Constraints that contradict each other are refused with the rows and pairs that lead there: pairs
  that link two points which another pair keeps apart; linked points in parts of the graph that no
  path joins; linked points that cross a clade of the known tree.

A merge may lie lower than one below it along a graph, and where a known tree lets points merge only
late.

Source: Müllner, "Modern hierarchical, agglomerative clustering algorithms" (2011), with SciPy's
definitions of the linkages and metrics (`models.numerics.agglomeration`); single linkage along the
minimum spanning tree (`models.graphs.spanning`); along a graph `linkage.graph_linkage`; must-links
as in Davidson and Ravi, "Agglomerative Hierarchical Clustering with Constraints" (2005), section 2
(`linkage.constraints`).

Cost: O(N^2 D) time, for single linkage often far less; memory O(N D) for single linkage of features
and for ward, centroid and median, otherwise, and for at most 11,000 points with hundreds of
features, 4 N^2 bytes for the distances. Along the graph of k neighbours, O(N k log^2 N) after the
neighbours are found (`models.graphs.neighbours`), times D where distances follow from centres;
O(N (D + k)) memory. Along a graph of E edges given with features the same, with E for N k, but
that 'average', 'centroid' and 'median' measure all edges of a group anew when it merges, which is
quadratic where one group takes up the others one by one. Must-links alone take the time of the same
linkage without them, and its memory where no distances are stored; other constraints without a
graph, or with distances, O(N^2) time usually and 4.5 N^2 bytes; must-links add 4 N^2 bytes where
distances are stored. A run that would not fit is refused before it starts.

A new row, of which agglomeration says nothing, goes to the leaf of the nearest point of the fit by
`metric`, at O(N D) (`models.graphs.nearest_points`); with distances or similarities it comes with
those to all points. The model keeps the features as they are: as many bytes again as the input.

Measured: CPU time as N^2.1 D^0.7, from 2,500 x 64 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.arrays import Arrays, Float, Int
from models.clusters.row_weights import WEIGHT_INPUTS, row_weights
from models.errors import UsageError
from models.graphs.cells import bytes_to_find
from models.graphs.measured import (
    ITEMS_INPUT,
    bytes_of_measured,
    check_metric,
    kept,
    measured,
    place_measured,
)
from models.graphs.nearest_points import PlacesNearest, model_of
from models.graphs.neighbours import (
    EXACT_POINTS,
    Graph,
    graph_piece,
    neighbour_graph,
    require_index,
)
from models.graphs.spanning import bytes_to_span
from models.inputs.checks import require_points, require_squares
from models.inputs.data import Data, require_finite
from models.inputs.pairs import CANNOT, MUST
from models.method import Fitted, Input, Model, Paper, Predictions, Run, Shapes
from models.methods.features.linkage.all_pairs import (
    EUCLIDEAN_ONLY,
    Linkage,
    follows_tree,
    keeps_no_distances,
    merges_among_all,
    n_inversions,
    refuse_overflow,
    sizes_of,
    tie_warnings,
)
from models.methods.features.linkage.constrained_merges import (
    bytes_of_edges,
    bytes_of_pairs,
    keeps_all_distances,
    merges_along,
    merges_under,
)
from models.methods.features.linkage.constraints import (
    CONSTRAINT_INPUTS,
    GRAPH,
    Constraints,
    grouped_tree,
    merge_warnings,
    raised,
    read_constraints,
)
from models.methods.features.linkage.default_linkage import REASONS, automatic, has_variances
from models.methods.features.linkage.graph_linkage import (
    BY_CENTRE,
    EDGE_BYTES,
    NODE_BYTES,
    GraphRule,
    agglomerate,
    approximations,
    rule_of,
)
from models.methods.features.linkage.graph_rounds import (
    agglomerate_nearly,
    check_epsilon,
    slack_warnings,
)
from models.numerics.distances import FLAT, DistanceMetric, as_metric, flat, presence_warnings
from models.numerics.gower import ROLE as ITEMS
from models.parameters import Choice, Params, Weights
from models.running import budget
from models.running.budget import ALONG_GRAPH, Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.build import from_merges
from models.tree.tree import Tree

MOST_POINTS, MOST_POINTS_FEW, FEW_FEATURES = 200_000, 2_000_000, 10
"""The limits at which even the linkages that need little memory take the better part of an hour;
more for single linkage along the spanning tree of points with few features."""


class HACParams(Params):
    linkage: Literal["auto", Linkage] = Field(
        "auto",
        description=(
            "Distance between groups: 'single' closest points, 'complete' farthest, 'average' mean "
            "over pairs, 'weighted' mean over the two parts, 'ward' increase of the within-group "
            "variance, 'centroid' between means, 'median' between midpoints. 'auto': 'ward' for "
            "features by 'euclidean' distance, whose cuts are clusters of like size, also of unit "
            "vectors; else 'average', which any distance has. The result says which it was."
        ),
    )
    metric: Literal[DistanceMetric, "gower"] = Field(
        "euclidean",
        description=(
            "Distance between points, as SciPy's pdist defines it; 'jaccard' takes values other "
            "than 0 as present. 'ward', 'centroid' and 'median' "
            "linkage accept only 'euclidean'. It applies to the input 'features' and must stay "
            "'euclidean' with the other inputs, but that 'items' are compared by 'gower', which "
            "applies to them alone."
        ),
    )
    connectivity: Literal["none", "knn"] = Field(
        "none",
        description=(
            "Which groups may merge: 'none' any two, in quadratic time; 'knn' only groups joined "
            "by an edge of the nearest-neighbour graph, for many points, from the input "
            "'features'."
        ),
    )
    n_neighbors: int = Field(
        15,
        ge=1,
        le=1000,
        description="With 'knn': number of nearest neighbours that each point is joined to.",
    )
    epsilon: float = Field(
        0.0,
        ge=0,
        le=1,
        description=(
            "With 'knn' and linkage 'average', 'ward', 'centroid' or 'median': each merge is at "
            "most 1 + epsilon times as long as the shortest possible at its time, so that many are "
            "made in a round, on several threads; 0 merges the closest two every time."
        ),
    )
    weights: Weights = None

    @property
    def distance(self) -> DistanceMetric:
        """The metric of features."""
        return "euclidean" if self.metric == "gower" else self.metric

    @property
    def rule(self) -> Linkage:
        """The linkage, where it is known which 'auto' is (`_resolved`)."""
        assert self.linkage != "auto"
        return self.linkage


class HAC(PlacesNearest[HACParams]):
    """See the module's docstring."""

    title = "Agglomerative clustering"
    paper = Paper(
        "Modern hierarchical, agglomerative clustering algorithms",
        2011,
        "arXiv:1109.2378",
    )
    Params = HACParams
    cost = Cost(1e-9, rows=2)
    inputs = {
        "features": Input(required=False, description="One row per point."),
        "distances": Input(
            required=False,
            description="Square symmetric matrix of distances between points, zero diagonal.",
        ),
        "similarity": Input(
            required=False,
            description=(
                "Square symmetric matrix of similarities between points; a distance is the "
                "largest value of the matrix minus the similarity."
            ),
        ),
        ITEMS: ITEMS_INPUT,
        **CONSTRAINT_INPUTS,
        "names": Input(required=False, one_per="row", description="One name per point."),
        **WEIGHT_INPUTS,
    }
    one_of = ("features", "distances", "similarity", ITEMS)
    outputs = ("tree", "model")
    resumes = True
    takes_gaps = True
    advice = (
        "For points with features, connectivity 'knn' or the method 'scc' handles millions of "
        "them, and linkages 'single' and 'ward' need no distances between all pairs."
    )

    def seconds(self, shapes: Shapes, params: Mapping[str, Any]) -> float | None:
        """As of `Method`; with 'knn' along the graph of neighbours, if that takes less."""
        whole, shape = super().seconds(shapes, params), shapes.get("features", ())
        if whole is None or len(shape) != 2 or params["connectivity"] != "knn":
            return whole
        along = ALONG_GRAPH.seconds(shape[0], shape[1], params, self.Params)
        return whole if along is None or params["metric"] not in FLAT else min(whole, along)

    def _memory(self, shapes: Shapes, params: HACParams) -> int:
        role = next((role for role in self.one_of if role in shapes), None)
        if role is None or len(shapes[role]) != 2:
            return 0
        params = _taken(params, role, fits=True)
        n_points, n_columns = shapes[role]
        if params.connectivity == "knn":
            # Rows in float32 and their index; neighbours, edges and the state of merging.
            for_rows = 20 if params.rule not in ("single", "complete", "weighted") else 12
            for_edges = params.n_neighbors * (EDGE_BYTES + 48)
            held = n_points * (for_rows * n_columns + for_edges + NODE_BYTES)
            if n_points <= EXACT_POINTS or params.distance not in FLAT:
                return held
            return max(held, bytes_to_find(n_points, n_columns, params.n_neighbors))
        if role == "features" and GRAPH in shapes:
            # How many edges a matrix has is not known yet; `_check` counts them.
            n_edges = shapes[GRAPH][0] if shapes[GRAPH][1:] == (2,) else n_points
            return bytes_of_edges(n_points, n_columns, n_edges)
        along_tree = follows_tree(params.rule, role, params.distance)
        few = along_tree and params.distance in FLAT and n_columns <= FEW_FEATURES
        most = MOST_POINTS_FEW if few else MOST_POINTS
        if n_points > most:
            raise UsageError(
                f"Method 'hac' compares all pairs of {n_points:,} points; it accepts at most "
                f"{most:,}. {self.advice}",
                code="too-large",
                role=role,
            )
        if role != "features" or GRAPH in shapes or CANNOT in shapes:
            kinds = GRAPH in shapes or CANNOT in shapes
            table = bytes_of_measured(n_points, n_columns) if role == ITEMS else 0
            return table + bytes_of_pairs(n_points, kinds=kinds, grouped=MUST in shapes)
        if MUST in shapes and keeps_all_distances(params.rule, role, alone=True):
            return bytes_of_pairs(n_points, kinds=False, grouped=True)
        if along_tree:
            copied = params.distance in ("sqeuclidean", "cosine", "correlation")
            copies = 16 * n_points * n_columns if copied else 0
            return copies + bytes_to_span(n_points, n_columns)
        if keeps_no_distances(params.rule, role, n_points, n_columns):
            # The points in tiles, and half of them again while those that are left move together.
            return n_points * (12 * n_columns + 150)
        return 4 * n_points * (n_points - 1) + 8 * n_points * n_columns

    def _check(self, data: Data, params: HACParams) -> None:
        role = _role(data)
        check_metric(role, params.metric, params.weights)
        params = _resolved(data, params)
        pairs = measured(data, params.distance, params.weights)
        if pairs is not None:
            n_points = n_columns = pairs.n_points
        else:
            values = require_points(data, role)
            n_points, n_columns = values.shape
        if params.distance != "euclidean" and params.rule in EUCLIDEAN_ONLY:
            raise UsageError(
                f"Linkage {params.rule!r} is only defined for the metric 'euclidean', not for "
                f"{params.distance!r}.",
                code="wrong-parameter",
                parameter="metric",
            )
        if pairs is not None:
            self._require_pairs(role, pairs.points.shape, params)
        if role != "features":
            _check_square(role, n_points, n_columns, params)
        names = data.leaf_names(n_points, "point")
        row_weights(data, n_points, zeros=False)
        if params.epsilon:
            given = next((role for role in CONSTRAINT_INPUTS if role in data), None)
            by_knn = params.connectivity == "knn"
            check_epsilon(params.rule, params.distance, given, along_neighbours=by_knn)
        if params.connectivity == "knn":
            if GRAPH in data:
                raise UsageError(
                    f"Input {GRAPH!r} says which points are neighbours; leave out 'connectivity', "
                    "or the input.",
                    code="wrong-parameter",
                    parameter="connectivity",
                )
            require_index(n_points, params.distance)
        if pairs is None:
            require_finite(values, role)
        if (
            role == "features"
            and pairs is None
            and (params.connectivity == "knn" or GRAPH in data or params.rule in EUCLIDEAN_ONLY)
        ):
            require_squares(values)
        constraints = read_constraints(data, names)
        if constraints is not None:
            given = role if pairs is None else "distances"
            self._require_room(constraints, given, (n_points, n_columns), params)

    def _require_pairs(self, role: str, shape: tuple[int, ...], params: HACParams) -> None:
        """Raises UsageError for points whose distances are all measured, where that would not fit,
        or where they are to be neighbours."""
        if role == "features" and params.connectivity == "knn":
            raise UsageError(
                "Connectivity 'knn' finds neighbours among features without empty values; use "
                "'none', or fill empty values by their mean or median.",
                code="wrong-parameter",
                parameter="connectivity",
            )
        needed = bytes_of_measured(*shape) + bytes_of_pairs(shape[0], kinds=False, grouped=False)
        budget.require(self.id, needed, self.advice)

    def _require_room(
        self, constraints: Constraints, role: str, shape: tuple[int, ...], params: HACParams
    ) -> None:
        """Raises UsageError for constraints that would not fit, where that shows in their values
        alone."""
        if params.connectivity == "knn":
            return
        if role == "features" and constraints.edges is not None:
            needed = bytes_of_edges(shape[0], shape[1], len(constraints.edges))
        elif keeps_all_distances(params.rule, role, alone=constraints.links_alone):
            kinds = constraints.edges is not None or constraints.apart.size > 0
            needed = bytes_of_pairs(shape[0], kinds=kinds, grouped=constraints.n_groups < shape[0])
        else:
            return
        budget.require(self.id, needed, self.advice)

    def _fit(self, data: Data, params: HACParams, run: Run) -> Fitted:
        given = _role(data)
        is_auto = params.linkage == "auto"
        params = _resolved(data, params)
        pairs = measured(data, params.distance, params.weights)
        by_pairs = data
        if pairs is not None:
            square = pairs.square(subprogress(run.progress, 0.0, 0.05))
            others = {role: value for role, value in data.values.items() if role != given}
            by_pairs = Data({**others, "distances": square})
        role = _role(by_pairs)
        values = np.asarray(by_pairs.dense(role))
        names = data.leaf_names(len(values), "point")
        constraints = read_constraints(data, names)
        by_knn = params.connectivity == "knn"
        weight, notes = sizes_of(data, len(values), params.rule, constraints is not None, by_knn)
        if constraints is not None:
            merged = _constrained(values, role, params, constraints, run)
        elif by_knn:
            merged = _along_graph(values, params, run)
        else:
            merges, height = merges_among_all(
                values, role, params.rule, params.distance, run.threads, run.progress, weight
            )
            merged = _Merged(merges, height)
        merges, height, notes = merged.merges, merged.height, notes + merged.warnings
        run.progress(0.95, "building the tree")
        if not np.isfinite(height).all():
            refuse_overflow(role)
        if role == "features":
            notes += presence_warnings(values, params.distance)
        if pairs is not None and given == "features":
            notes += presence_warnings(np.nan_to_num(pairs.points), params.distance)
        if constraints is None:
            notes += tie_warnings(values, role, height)
        n_lower = n_inversions(merges, height)
        monotone = n_lower == 0
        if constraints is None:
            tree = from_merges(merges[:, 0], merges[:, 1], height, names=names, monotone=monotone)
        else:
            tree = grouped_tree(merges, height, constraints, names, monotone=monotone)
        if n_lower:
            notes += (
                f"{n_lower} merge(s) lie lower than a merge below them, as "
                f"{_cause(params, constraints)} allows: the tree is not monotone.",
            )
        if role != "features" and params.rule in EUCLIDEAN_ONLY:
            notes += (
                f"Linkage {params.rule!r} treats the given {role} as Euclidean; this is not "
                "checked."
                if role == "distances"
                else f"Linkage {params.rule!r} treats the distances derived from the given "
                "similarity as Euclidean; this is not checked.",
            )
        model = model_of(values, role, params.distance)
        return Fitted(
            tree=tree,
            model=model if pairs is None else pairs.with_points(model),
            metrics={"n_inversions": float(n_lower), **merged.metrics},
            warnings=notes if pairs is None else (*pairs.warnings, *notes),
            chosen={"linkage": Choice(params.rule, REASONS[params.rule])} if is_auto else {},
        )

    def _piece(
        self, data: Data, params: HACParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return graph_piece(data.rows("features"), piece, threads, progress)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        pairs = kept(model)
        if pairs is not None:
            return place_measured(self.id, pairs, tree, data)
        return super()._predict(model, tree, data)


def _role(data: Data) -> str:
    return next(role for role in HAC.one_of if role in data)


def _resolved(data: Data, params: HACParams) -> HACParams:
    """The parameters with the linkage that 'auto' is for these data. O(N D)."""
    fits = params.linkage != "auto" or has_variances(data, _role(data))
    return _taken(params, _role(data), fits=fits)


def _taken(params: HACParams, role: str, *, fits: bool) -> HACParams:
    """The same, by the role of the points and whether variances can be computed of them."""
    if params.linkage != "auto":
        return params
    return params.model_copy(update={"linkage": automatic(role, params.metric, fits=fits)})


def _check_square(role: str, n_points: int, n_columns: int, params: HACParams) -> None:
    """Raises UsageError for parameters that only features take, and for a matrix that is not
    square."""
    for parameter, given in (
        ("metric", params.distance != "euclidean"),
        ("connectivity", params.connectivity != "none"),
    ):
        if given:
            raise UsageError(
                f"Parameter {parameter!r} applies to the input 'features'; leave it out when "
                f"{role!r} is given.",
                code="wrong-parameter",
                parameter=parameter,
            )
    if n_points != n_columns:
        raise UsageError(
            f"Input {role!r} has {n_points} rows and {n_columns} columns; it must be square.",
            code="wrong-shape",
            role=role,
        )


@dataclass(frozen=True, slots=True)
class _Merged:
    """merges, height : in SciPy's numbering. metrics, warnings : of the way to them."""

    merges: Int
    height: Float
    metrics: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def _along_graph(values: npt.NDArray[Any], params: HACParams, run: Run) -> _Merged:
    """Merges along the graph of nearest neighbours."""
    rule, points, graph = _graph(values, params, run)
    progress, metrics = subprogress(run.progress, 0.5, 0.95), graph.facts()
    warnings = graph.warnings(params.n_neighbors) + approximations(params.rule, params.distance)
    if params.epsilon:
        merges, height = agglomerate_nearly(
            graph, rule, points, params.epsilon, run.threads, progress, run.checkpoint
        )
        warnings += slack_warnings(params.epsilon)
    else:
        merges, height = agglomerate(graph, rule, points if rule in BY_CENTRE else None, progress)
    if rule == "spread":
        height = as_metric(height, params.distance)
    return _Merged(merges, height, metrics, warnings)


def _constrained(
    values: npt.NDArray[Any], role: str, params: HACParams, constraints: Constraints, run: Run
) -> _Merged:
    """Merges of groups that must link, under all constraints."""
    metrics: dict[str, float] = {}
    warnings = constraints.warnings
    progress = subprogress(run.progress, 0.05, 0.95)
    by_edges = constraints
    if params.connectivity == "knn":
        _, _, graph = _graph(values, params, run)
        progress = subprogress(run.progress, 0.5, 0.95)
        by_edges = constraints.with_graph(graph.edges_of_rows())
        metrics = graph.facts()
        warnings += graph.warnings(params.n_neighbors)
    elif constraints.edges is not None and constraints.part is not None:
        metrics = {
            "n_edges": float(len(constraints.edges)),
            "n_parts": float(constraints.part.max() + 1),
        }
    if role == "features" and by_edges.edges is not None:
        rule, metric, points = _rule(values, params)
        merges, height, level = merges_along(by_edges, points, rule, metric, run.threads, progress)
        if rule == "spread":
            height = as_metric(height, params.distance)
        warnings += approximations(params.rule, params.distance)
    else:
        merges, height, level = merges_under(
            constraints, values, role, params.rule, params.distance, run.threads, progress
        )
    height = raised(height, level)
    metrics |= {"n_groups": float(constraints.n_groups), "n_forced": float((level > 0).sum())}
    return _Merged(merges, height, metrics, warnings + merge_warnings(level, height, constraints))


def _graph(
    values: npt.NDArray[Any], params: HACParams, run: Run
) -> tuple[GraphRule, npt.NDArray[Any], Graph]:
    """As `_rule`, with the graph of nearest neighbours."""
    rule, metric, points = _rule(values, params)
    # Blocks of 16 bits a value would be made flat in single precision, the whole is in double.
    crew = run.crew if values.dtype.itemsize > 2 else None
    progress = subprogress(run.progress, 0.05, 0.5)
    graph = neighbour_graph(
        points, params.n_neighbors, metric, run.threads, progress, crew, params.distance
    )
    return rule, points, graph


def _rule(
    values: npt.NDArray[Any], params: HACParams
) -> tuple[GraphRule, DistanceMetric, npt.NDArray[Any]]:
    """The rule, the metric and the points with which a graph has the linkage's definition."""
    rule = rule_of(params.rule, params.distance)
    if rule == "spread":
        return rule, "euclidean", flat(values, params.distance)
    return rule, params.distance, values


def _cause(params: HACParams, constraints: Constraints | None) -> str:
    """What allows a merge lower than one below it."""
    causes = []
    if params.connectivity == "knn" or (constraints is not None and constraints.edges is not None):
        causes.append("merging along a graph")
    if constraints is not None and constraints.clades is not None:
        causes.append("keeping the clades of a known tree")
    if not causes:
        causes.append(f"{params.rule} linkage")
    return " or ".join(causes)
