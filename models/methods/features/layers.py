"""Layers of embeddings: nested clusterings at the few sizes at which clusters persist, without a
number of clusters; rows in no cluster are noise.

The rows are joined to their nearest neighbours by cosine, with weights exp(-(d - least) / scale) of
the distance d, least and scale (mean of d - least) being of the row; an edge has w + w' - w w' of
its two ends. The leading eigenvectors of the random walk on this graph, times their eigenvalues to
the power `steps`, are coordinates after so many steps (a diffusion map); rows of length 1 are
merged by Ward's rule, and `models.levels.layers` finds the sizes at which clusters of this tree
persist.

A layer is kept if its p-value is at most `largest_p`. There are two nulls, and a layer has to stand
out from both: that the columns are independent, and that the principal coordinates of the rows are.
The first alone would call every correlation a cluster, the second alone every tail: rows far out in
one of many independent columns are alike by cosine. Each reference permutes each column, or
coordinate, anew. At most `TESTED` rows, an equal share in the order of their hash, are joined and
merged alike, in the data and in each of `n_references` references of both nulls; the modularity of
the cut into the layer's number of clusters is compared by Student's t for one further value, times
the number of layers (Bonferroni): a p-value far below one in the number of references says that it
is small, and not how small. Both nulls are without any structure: a finer layer may split what are
clusters in truth, by what chance is left within them. Layers of more clusters than a third of these
rows are not kept.

The result has the clusters of all layers, from the coarsest below the root to the finest; rows in a
coarse cluster and in none of the finer ones lie in a leaf of noise below it. Extra columns: `layer`
and `until`, the finest and the coarsest layer that a node belongs to, 0 the finest of all, or -1;
`smallest`, `strength` and `p_value` of the former; `noise`.

Measured by `python -m bench layers`, at most 3,000 rows of a set: NMI and ARI with the classes of
the layer that is best by each, noise being one more cluster, and of PLSCAN by its defaults
(fast_plscan 0.2.1): 20 newsgroups .602 and .415 (PLSCAN .250 and .021), emoji .528 and .393 (.434
and .161), WordNet's nouns .611 and .680 (.157 and .025), TinyImageNet .576 and .125 (.107 and
.000), usps .796 and .748 (.491 and .184). EVoC (0.3.2, its defaults) has on the same rows, as means
of five seeds with their ranges: 20 newsgroups .542 [.508, .570] and .225 [.176, .294], emoji .484
[.471, .509] and .256 [.173, .342], WordNet's nouns .513 [.423, .601] and .530 [.392, .629],
TinyImageNet .435 [.421, .443] and .022 [.020, .026], usps .765 [.716, .803] and .639 [.525, .711],
optdigits .855 [.793, .920] and .769 [.658, .906] (`layers` .888 and .829; single seeds are
above it there, and by NMI on usps). So `layers` has the better layers, and EVoC needs a tenth of
the time or less. None of 100 sets of 300 x 32 normal values has a layer (at most .037 by Wilson's
interval).

Source: Bot, Peeters, Liesenborgs and Aerts (PLSCAN, 2025) and McInnes (EVoC) for layers; Coifman
and Lafon, "Diffusion maps" (2006). EVoC embeds the graph by random steps; here it is a spectrum, so
that the order of rows, their scale and the seed's runs change nothing but the references.

Cost: O(N^2 D) time for neighbours (less beyond 10,000 rows) and O(N^2) for merging, and for each
reference, 2 `n_references` of them, the same of at most `TESTED` rows; O(N (D + k)) memory.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.graphs.neighbours import Graph, neighbour_graph
from models.graphs.spectra import Spectrum
from models.inputs.checks import require_points, require_squares
from models.inputs.data import Data, require_finite
from models.inputs.frames import CENTRE, Aside
from models.levels.layers import MIN_SIZE, SIGNIFICANT, Layer, layers
from models.method import Fitted, Input, Method, Paper, Run, Shapes
from models.numerics.agglomeration import merged_points
from models.numerics.rows import canonical
from models.parameters import Params, Seed
from models.running.budget import Cost
from models.running.progress import Progress, silent, subprogress
from models.tree.build import from_merges, from_parents
from models.tree.noise import COLUMN, NAME
from models.tree.parents import nearest
from models.tree.tree import Tree

LEAST_ANGLE = 2.0**-10
"""Rows whose spread is less than this share of their distance from 0 have no directions to compare,
and are refused."""
NARROW = 2.0**-4
"""Below this share a warning names the column: the angles are more of the offset than of the
rows."""
TESTED = 1_000
"""The most rows that a layer is held against chance with."""

MOST_POINTS = 200_000
FEW = 100
"""Rows below which a warning says that layers are seldom found."""


class LayersParams(Params):
    min_size: int = Field(
        MIN_SIZE, ge=2, le=1_000_000, description="The smallest size of a cluster."
    )
    n_neighbors: int = Field(
        15, ge=2, le=1000, description="Nearest neighbours that each row is joined to."
    )
    n_components: int = Field(15, ge=1, le=200, description="Eigenvectors of the graph.")
    steps: int = Field(8, ge=0, le=1000, description="Steps of the random walk on the graph.")
    largest_p: float = Field(
        SIGNIFICANT, gt=0, le=1, description="The largest p-value of a layer; 1 keeps all."
    )
    n_references: int = Field(
        9, ge=3, le=1000, description="Sets without structure that layers are compared with."
    )
    seed: Seed = 0


class LayersMethod(Method[LayersParams]):
    """See the module's docstring."""

    title = "Layers of embeddings"
    paper = Paper("Persistent Leaf Spatial Clustering", 2025)
    Params = LayersParams
    cost = Cost(1e-8, rows=2)
    inputs = {
        "features": Input(
            description="One embedding per row: floats, quantised integers or 0 and 1."
        )
    }
    outputs = ("tree",)
    advice = "Use a sample of the rows; 'scc' takes millions."
    example = {"min_size": 3, "n_neighbors": 4, "n_components": 3, "n_references": 3}

    def _memory(self, shapes: Shapes, params: LayersParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        if n_points > MOST_POINTS:
            raise UsageError(
                f"Method 'layers' accepts at most {MOST_POINTS:,} rows; there are {n_points:,}. "
                f"{self.advice}",
                code="too-large",
                role="features",
            )
        each = 32 * n_features + 120 * params.n_neighbors + 100 * params.n_components + 1000
        return n_points * each + 8 * min(n_points, TESTED) * (6 * n_features + 2 * TESTED)

    def _check(self, data: Data, params: LayersParams) -> None:
        features = require_points(data)
        require_finite(features, "features")
        require_squares(features)
        if len(features) < 2 * params.min_size:
            raise UsageError(
                f"Input 'features' has {len(features)} row(s); two clusters of 'min_size' = "
                f"{params.min_size} need {2 * params.min_size} or more.",
                code="too-few-rows",
                role="features",
            )
        Aside.of(features).require_directions(LEAST_ANGLE)
        (zero,) = np.nonzero(~features.any(axis=1))
        if zero.size:
            raise UsageError(
                f"Row {zero[0]} of input 'features' is 0 throughout: its cosine with others is not "
                "defined. Leave such rows out.",
                code="zero-row",
                role="features",
            )

    def _fit(self, data: Data, params: LayersParams, run: Run) -> Fitted:
        features = data.dense("features")
        order = canonical(features)
        points = features[order].astype(np.float64)
        points /= np.abs(points).max()
        notes = list[str]()
        aside = Aside.of(features)
        if aside.share < NARROW:
            notes.append(f"{aside.reason}: layers are by cosine, and so by this offset. {CENTRE}")
        if len(points) < FEW:
            notes.append(f"{len(points)} rows are few: layers among them are seldom significant.")
        if (points == points[0]).all():
            notes.append("All rows are equal: there is no layer.")
            return Fitted(tree=_nested(None, (), order), warnings=tuple(notes))
        tree, _ = _merged(points, params, run.threads, subprogress(run.progress, 0.0, 0.5))
        found = layers(tree, params.min_size, largest_p=1.0)
        notes += found.warnings
        ks = [layer.nodes.size for layer in found.layers]
        within = subprogress(run.progress, 0.5, 0.98)
        p_values = _p_values(points[:TESTED], ks, params, run, within)
        run.progress(0.98, "building the tree")
        kept = tuple(
            Layer(layer.smallest, layer.strength, p, layer.nodes, layer.n_noise)
            for layer, p in zip(found.layers, p_values, strict=True)
            if p <= params.largest_p
        )
        if not kept:
            notes.append(
                "No layer was found: all rows are noise. "
                + (found.reason or "Data of independent columns or coordinates give as much.")
            )
        metrics = {"n_layers": float(len(kept))}
        if kept:
            best = max(kept, key=lambda layer: layer.strength)
            metrics |= {"n_clusters": float(best.nodes.size), "n_noise": float(best.n_noise)}
        return Fitted(
            tree=_nested(tree, kept, order),
            metrics=metrics,
            curves={"p_value": list(zip(ks, p_values, strict=True))},
            warnings=tuple(notes),
        )


def _merged(
    points: Float, params: LayersParams, threads: int, progress: Progress
) -> tuple[Tree, tuple[sp.csr_array, Graph]]:
    """The tree of the rows by Ward's rule in the diffusion map, and the graph."""
    whole = subprogress(progress, 0.0, 0.5)
    graph = neighbour_graph(points, params.n_neighbors, "cosine", threads, whole)
    n_nodes = graph.first.size
    weights = _weights(graph, n_nodes)
    number = min(params.n_components + 1, n_nodes - 1)
    progress(0.5, "eigenvectors")
    rng = np.random.default_rng(0)
    value, vector = Spectrum(weights.copy()).leading(max(number, 1), rng)
    place = vector[:, 1:] * np.maximum(value[1:], 0.0) ** params.steps
    length = np.linalg.norm(place, axis=1, keepdims=True)
    place = np.divide(place, length, out=np.zeros_like(place), where=length > 0)
    if not place.shape[1]:
        place = vector
    size = np.bincount(graph.place, minlength=n_nodes).astype(np.float64)
    merges = merged_points(place, "ward", subprogress(progress, 0.6, 1.0), size)
    left, right = merges[:, 0].astype(np.int64), merges[:, 1].astype(np.int64)
    tree = from_merges(left, right, merges[:, 2], leaf_of_point=graph.place)
    return tree, (weights, graph)


def _weights(graph: Graph, n_nodes: int) -> sp.csr_array:
    """(n_nodes, n_nodes) symmetric weights of the edges."""
    start, end = graph.ends[:, 0].astype(np.int64), graph.ends[:, 1].astype(np.int64)
    d = graph.length.astype(np.float64)
    rows, columns, both = np.r_[start, end], np.r_[end, start], np.r_[d, d]
    least = np.full(n_nodes, np.inf)
    np.minimum.at(least, rows, both)
    beyond = both - least[rows]
    count = np.maximum(np.bincount(rows, minlength=n_nodes), 1)
    scale = np.bincount(rows, beyond, n_nodes) / count
    usable = scale[rows] > 1e-12
    ratio = np.divide(beyond, scale[rows], out=np.zeros_like(beyond), where=usable)
    one_way = sp.csr_array((np.exp(-ratio), (rows, columns)), shape=(n_nodes, n_nodes))
    other = one_way.T.tocsr()
    return sp.csr_array(one_way + other - one_way.multiply(other))


def _p_values(
    points: Float, ks: list[int], params: LayersParams, run: Run, progress: Progress
) -> list[float]:
    """The p-value of the cut into each number of clusters, all together: the larger one of both
    nulls."""
    from scipy.special import stdtr

    if not ks:
        return []
    measured = np.array(_modularities(points, ks, params, run.threads))
    mean = points.mean(axis=0)
    u, s, axes = np.linalg.svd(points - mean, full_matrices=False)
    p_value = np.zeros(len(ks))
    for null, own in enumerate((points, u * s)):
        references = np.empty((params.n_references, len(ks)))
        for number in range(params.n_references):
            progress((null + number / params.n_references) / 2, "references")
            drawn = run.rng.permuted(own, axis=0)
            if null:
                drawn = drawn @ axes + mean
            drawn[~drawn.any(axis=1)] = mean  # Columns that are mostly 0 may meet in such rows.
            references[number] = _modularities(drawn, ks, params, run.threads)
        above = measured - references.mean(axis=0)
        error = references.std(axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / params.n_references)
        by_error = np.divide(above, error, out=np.zeros_like(above), where=error > 0)
        p_value = np.maximum(p_value, stdtr(params.n_references - 1, -by_error))
    p_value = np.minimum(len(ks) * p_value, 1.0)
    p_value[3 * np.array(ks) > len(points)] = 1.0
    return [float(p) for p in p_value]


def _modularities(points: Float, ks: list[int], params: LayersParams, threads: int) -> list[float]:
    """Newman's modularity, in the graph of the rows, of the cut into each number of clusters."""
    from models.tree.cut import nodes_of_cuts

    tree, (weights, graph) = _merged(points, params, threads, silent)
    most = min(max(ks), tree.n_leaves)
    cuts = nodes_of_cuts(tree, most)
    degree = np.asarray(weights.sum(axis=1)).ravel()
    total = degree.sum()
    edges = weights.tocoo()
    node = np.empty(graph.first.size, dtype=np.int64)
    node[graph.place] = tree.leaf_of_point
    answer = []
    for k in ks:
        inside = np.zeros(tree.n_nodes, dtype=bool)
        inside[cuts[min(k, most)]] = True
        cluster = nearest(tree.parent, inside)[node]
        same = edges.data[cluster[edges.row] == cluster[edges.col]].sum()
        of_each = np.bincount(cluster, degree)
        answer.append(float(same / total - ((of_each / total) ** 2).sum()))
    return answer


def _nested(tree: Tree | None, found: tuple[Layer, ...], order: Int) -> Tree:
    """The clusters of the layers, from fine to coarse, with leaves of noise.

    order : (n_points,) the row of each point of `tree`.
    """
    n_points = order.size
    nodes = np.unique(np.concatenate([np.zeros(1, np.int64), *(each.nodes for each in found)]))
    row = np.full(1 if tree is None else tree.n_nodes, -1, dtype=np.int64)
    row[nodes] = np.arange(nodes.size)
    parent, height = np.full(nodes.size, -1, dtype=np.int64), np.zeros(nodes.size)
    at = np.zeros(n_points, dtype=np.int64)
    if tree is not None:
        above = nearest(tree.parent, row >= 0)
        parent[1:] = row[above[tree.parent[nodes[1:]]]]
        at[order] = row[above[tree.leaf_of_point]]
        height = tree.height[nodes].copy()
    layer, until = np.full(nodes.size, -1), np.full(nodes.size, -1)
    smallest, strength, p_value = np.full(nodes.size, -1), np.zeros(nodes.size), np.ones(nodes.size)
    for number in range(len(found) - 1, -1, -1):
        each, rows = found[number], row[found[number].nodes]
        until[rows] = np.where(until[rows] < 0, number, until[rows])
        layer[rows], smallest[rows] = number, each.smallest
        strength[rows], p_value[rows] = each.strength, each.p_value
    inner = np.zeros(nodes.size, dtype=bool)
    inner[parent[1:]] = True
    inner[0] = True
    height[~inner] = 0.0
    lost = np.unique(at[inner[at]])
    leaf = np.full(nodes.size, -1)
    leaf[lost] = nodes.size + np.arange(lost.size)
    at = np.where(leaf[at] >= 0, leaf[at], at)
    name = np.full(nodes.size + lost.size, None, dtype=object)
    name[nodes.size :] = NAME
    more = lost.size
    extra: dict[str, Array] = {
        "layer": np.append(layer, np.full(more, -1)),
        "until": np.append(until, np.full(more, -1)),
        "smallest": np.append(smallest, np.full(more, -1)),
        "strength": np.append(strength, np.zeros(more)),
        "p_value": np.append(p_value, np.ones(more)),
        COLUMN: np.append(np.zeros(nodes.size, dtype=bool), np.ones(more, dtype=bool)),
    }
    above_all = np.append(parent, lost)
    return from_parents(above_all, np.append(height, np.zeros(more)), name, at, extra=extra)
