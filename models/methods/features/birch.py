"""BIRCH: points summarized one by one in subclusters, which are merged by ward linkage.

Each point descends a height-balanced tree by the nearest centre and joins the subcluster that it
reaches, if the subcluster's radius (root mean squared distance to its centre) stays within the
threshold; otherwise it starts a new subcluster. A node with more than `branching` subclusters is
split in two. Finally every point is assigned to the nearest of all subclusters, which are the
leaves.

The subclusters are then merged by ward linkage of what they summarize, each with the weight of its
points (the paper's phase 3), exactly; heights are the distances of these merges. With `n_clusters`
the tree has the levels root, clusters, subclusters, of the same merges (scikit-learn's have no
weights). `tree: "inserted"` is the height-balanced tree itself; its heights count the levels below,
and its upper nodes are where the order of the points put them, so that cuts hardly ever stand out.
Inner nodes with a single child are left out. `radius` is the radius of each node's summary.

NMI at the true number of clusters, and dendrogram purity, 300 rows of eleven sets, three draws
each, of the merged tree and of the inserted one: .557 and .522, .323 and .341 (`python -m bench
choices`). That merges count better with weights than without was chosen on five sets and holds on
six others.

More than 16.8 million values are summed up in at most 16 shares of the rows, a tree for each, and
one tree takes up the subclusters of all (`summaries.subclusters`): by a crew, with the same tree
for any number of workers and threads, which is another one than that of the rows in a row.

The tree depends on the order of the points, which is the order of the rows. Points are centred
first, which keeps the radii of data far from the origin from being lost to rounding.

By default the threshold starts at `FIRST_THRESHOLD` of the points' root mean squared distance from
their mean. While there are more than `max_leaves` subclusters, it is raised by half and the run
starts again; then three lower thresholds are tried. Memory is therefore bounded whatever the
threshold, and the tree is that of a run with the final threshold.

Source: Zhang, Ramakrishnan and Livny, "BIRCH: An Efficient Data Clustering Method for Very Large
Databases" (1996); scikit-learn's Birch. Cost: O(N D branching depth) for the tree, O(N L D) for
assigning points to L leaves, O(L^2 D) for merging them; memory O(L D branching) besides the points.

A new point goes to the leaf of the nearest centre. For probabilities, the leaves are a mixture of
Gaussians with equal weights and one shared spherical variance, the mean squared distance of the
points to their nearest centres divided by D; the probability of a node is the mass of the leaves
under it.

Measured: CPU time as N^1.0, from 10,000 x 32 to four times each, iterations bounded (`python -m
bench costs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Arrays, Float, Int, row_blocks
from models.clusters.kmeans import SMALLEST_VARIANCE, squared_distances
from models.errors import UsageError
from models.inputs.checks import refuse_clusters, require_points, require_squares, require_width
from models.inputs.data import Data, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.features.summaries import subclusters
from models.node_names.by_input import POINT_NAMES, by_points
from models.numerics.agglomeration import merged_points
from models.numerics.rows import log_softmax
from models.parameters import Params
from models.running.budget import Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.build import from_merges, from_parents, levels_below
from models.tree.parents import places
from models.tree.tree import Tree
from models.tree.walk import contract_unary, paths


def model_of(centres: Float, total: float, shape: tuple[int, ...]) -> Model:
    """The model for `place`.

    centres : (n_leaves, D) in the order of the tree's leaves. total : sum of the points' squared
    distances to their nearest centres. shape : the shape of the points.
    """
    spread = float(centres.var(axis=0).mean()) or 1.0
    variance = max(total / (shape[0] * shape[1]), SMALLEST_VARIANCE * spread)
    return Model(arrays={"centers": centres, "variance": np.array([variance])})


def place(model: Model, tree: Tree, data: Data) -> Predictions:
    """New rows of the input 'features', each placed at the leaf of the nearest centre."""
    features = data.dense("features")
    centres = model.arrays["centers"]
    require_width(features, centres.shape[1])
    require_finite(features, "features")
    if features.size:
        require_squares(features)
    first, width = places(tree.parent, (tree.n_children == 0).astype(np.int64))
    # Leaves from left to right, so that the leaves under a node are contiguous.
    order = np.argsort(first[tree.leaves])
    near = np.empty(len(features), dtype=np.int64)
    masses = []
    for block in row_blocks(len(features), max(len(centres), features.shape[1]), 1 << 20):
        squared = squared_distances(features[block], centres)
        near[block] = squared.argmin(axis=1)
        posterior = np.exp(log_softmax(squared / (-2.0 * float(model.arrays["variance"][0]))))
        upto = np.zeros((len(posterior), len(centres) + 1))
        np.cumsum(posterior[:, order], axis=1, out=upto[:, 1:])
        start, node = paths(tree, tree.leaves[near[block]])
        row = np.repeat(np.arange(len(posterior)), np.diff(start))
        mass = upto[row, first[node] + width[node]] - upto[row, first[node]]
        mass[start[1:] - 1] = posterior[np.arange(len(posterior)), near[block]]
        mass[start[:-1]] = 1.0
        masses.append(_falling(mass, start))
    start, node = paths(tree, tree.leaves[near])
    probability = np.concatenate([np.empty(0), *masses])
    return Predictions(tree.leaves[near], start, node, probability)


def _falling(mass: Float, start: Int) -> Float:
    """Masses along paths, root first, made to decrease where rounding broke that."""
    length = np.diff(start)
    for step in range(int(length.max(initial=1)) - 2, 0, -1):
        at = start[:-1][length > step + 1] + step
        mass[at] = np.clip(mass[at], mass[at + 1], 1.0)
    # A root that is also a leaf stays 1.
    mass[start[:-1]] = 1.0
    return mass


FIRST_THRESHOLD = 0.1
RAISE_FACTOR = 1.5
N_REFINEMENTS = 3


class BirchParams(Params):
    threshold: float | None = Field(
        None,
        gt=0,
        le=1e15,
        description=(
            "Largest radius of a subcluster, in the units of the features. Default: a tenth of the "
            "points' root mean squared distance from their mean, raised by half while there are "
            "more than 'max_leaves' subclusters."
        ),
    )
    branching: int = Field(
        10, ge=2, le=1000, description="Largest number of subclusters of a node of the tree."
    )
    max_leaves: int = Field(
        5000,
        ge=1,
        le=1_000_000,
        description="Largest number of subclusters; with more, the threshold is raised.",
    )
    n_clusters: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description=(
            "Number of clusters into which the subclusters are grouped by ward linkage; the tree "
            "is then the clusters with their subclusters. Default: all merges."
        ),
    )
    tree: Literal["merged", "inserted"] = Field(
        "merged",
        description=(
            "Without 'n_clusters': the subclusters merged by ward linkage, or the nodes into which "
            "the order of the points put them."
        ),
    )


class Birch(Method[BirchParams]):
    """See the module's docstring."""

    title = "BIRCH"
    paper = Paper(
        "BIRCH: An Efficient Data Clustering Method for Very Large Databases", 1996, "SIGMOD"
    )
    Params = BirchParams
    cost = Cost(1e-6, rows=1.5, columns=0.3)
    inputs = {
        "features": Input(description="One row per point."),
        "names": POINT_NAMES,
    }
    outputs = ("tree", "model")
    placing = "the leaf of the nearest subcluster"
    advice = "Lower 'max_leaves' or 'branching'."

    def _memory(self, shapes: Shapes, params: BirchParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        n_leaves = min(n_points, params.max_leaves + subclusters.BATCH)
        # A node has room for all its centres, about half of it used; a subcluster has two vectors.
        tree = n_leaves * (8 * n_features * (2 * 2 + 2) + 2000)
        shares = subclusters.SHARES * 8 * n_leaves * (n_features + 2)
        joined = 2 * shares if subclusters.is_large((n_points, n_features)) else 0
        return tree + 16 * n_points + joined

    def _check(self, data: Data, params: BirchParams) -> None:
        features = require_points(data)
        if params.n_clusters is not None:
            if params.n_clusters > params.max_leaves:
                raise UsageError(
                    f"Parameter 'n_clusters' is {params.n_clusters}, more than 'max_leaves' = "
                    f"{params.max_leaves} subclusters.",
                    code="wrong-parameter",
                    parameter="n_clusters",
                )
            if params.n_clusters > len(features):
                refuse_clusters(params.n_clusters, len(features), "point(s)", "n_clusters")
        require_finite(features, "features")
        require_squares(features)
        data.leaf_names(len(features), "point")

    def _fit(self, data: Data, params: BirchParams, run: Run) -> Fitted:
        features = data.dense("features")
        mean = features.mean(axis=0, dtype=np.float64)
        grown, threshold, notes = _grow(features, mean, params, run)
        parent, leaf, sums = _nodes(grown)
        below = sums.at(leaf - 1)
        n_clusters = params.n_clusters
        if n_clusters is not None and len(leaf) < n_clusters:
            refuse_clusters(n_clusters, len(leaf), "subcluster(s)", "n_clusters")
        is_whole = n_clusters is None and params.tree == "inserted"
        merges = None if is_whole else _merges(below, subprogress(run.progress, 0.5, 0.8))
        run.progress(0.8, "placing points")
        centres = below.centre + mean
        near, total = subclusters.placed(features, centres, run.crew)
        if merges is None:
            radius = np.concatenate([_grouped(sums.at(parent[1:] == 0), None), sums.radius])
            tree = _with_levels(parent, leaf, near, radius)
        elif n_clusters is None:
            tree = _merged(merges, below, near)
        else:
            group = _groups(merges, len(leaf), n_clusters)
            radius = np.concatenate([_grouped(below, None), _grouped(below, group), below.radius])
            parent = np.concatenate([[-1], np.zeros(n_clusters, dtype=np.int64), group + 1])
            tree = _with_levels(parent, np.arange(len(leaf)) + 1 + n_clusters, near, radius)
        empty = int((tree.size[tree.leaves] == 0).sum())
        if empty:
            notes += (
                f"{empty} subcluster(s) have no point: all points that they summarized lie nearer "
                "to other subclusters.",
            )
        return Fitted(
            tree=by_points(tree, data.names()),
            model=model_of(centres, total, features.shape),
            metrics={"threshold": threshold, "n_subclusters": float(len(leaf))},
            warnings=notes,
        )

    def _piece(
        self, data: Data, params: BirchParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return subclusters.piece(data.dense("features"), piece, threads, progress)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest subcluster; a node's probability is the mass of those under it."""
        return place(model, tree, data)


def _grow(
    features: Array, mean: Float, params: BirchParams, run: Run
) -> tuple[Any, float, tuple[str, ...]]:
    """scikit-learn's tree within `max_leaves`, its threshold, and warnings."""
    bounds = params.branching, params.max_leaves

    def grown_by(threshold: float) -> Any:
        if subclusters.is_large(features.shape):
            return subclusters.joined(features, mean, threshold, *bounds, run.crew, run.progress)
        return subclusters.grown(features, mean, threshold, *bounds, run.progress)

    first = low = high = params.threshold or _first_threshold(features, mean)
    grown = grown_by(first)
    while grown is None:
        low, high = high, high * RAISE_FACTOR
        grown = grown_by(high)
    if high == first:
        return grown, first, ()
    # The number of subclusters can fall steeply: of a few thresholds, the lowest that suffices.
    for _ in range(N_REFINEMENTS):
        middle = float(np.sqrt(low * high))
        finer = grown_by(middle)
        if finer is None:
            low = middle
        else:
            grown, high = finer, middle
    notes = (
        f"With threshold = {first:g} there were more than max_leaves = {params.max_leaves} "
        f"subclusters; the threshold was raised to {high:.4g}.",
    )
    return grown, high, notes if params.threshold is not None else ()


def _first_threshold(features: Array, mean: Float) -> float:
    total = 0.0
    for block in row_blocks(len(features), features.shape[1], 1 << 20):
        total += float(((features[block] - mean) ** 2).sum())
    # Where all points are equal, any threshold will do.
    return FIRST_THRESHOLD * float(np.sqrt(total / len(features))) or 1.0


@dataclass(frozen=True, slots=True)
class _Sums:
    """What nodes summarize: number of points, centre, root mean squared distance to the centre."""

    count: Float
    centre: Float
    radius: Float

    def at(self, which: Array) -> _Sums:
        return _Sums(self.count[which], self.centre[which], self.radius[which])


def _nodes(grown: Any) -> tuple[Int, Int, _Sums]:
    """Parent of each node, root first; node of each leaf; summaries of all nodes but the root."""
    parent, leaf = [-1], []
    parts = []
    waiting = [(grown.root_, 0)]
    while waiting:
        level, waiting = waiting, []
        for node, at in level:
            for part in node.subclusters_:
                if part.child_ is None:
                    leaf.append(len(parent))
                else:
                    waiting.append((part.child_, len(parent)))
                parent.append(at)
                parts.append(part)
    sums = _Sums(
        np.array([part.n_samples_ for part in parts], dtype=np.float64),
        np.array([part.centroid_ for part in parts], dtype=np.float64),
        np.array([part.radius for part in parts], dtype=np.float64),
    )
    return np.array(parent), np.array(leaf), sums


def _grouped(sums: _Sums, group: Int | None) -> Float:
    """(n_groups,) radius of each group of nodes. group : of each node; None for a single group."""
    if group is None:
        group = np.zeros(sums.count.size, dtype=np.int64)
    count = np.bincount(group, sums.count)
    centre = np.zeros((count.size, sums.centre.shape[1]))
    np.add.at(centre, group, sums.centre * (sums.count / count[group])[:, None])
    apart = ((sums.centre - centre[group]) ** 2).sum(axis=1)
    squared: Float = np.bincount(group, sums.count * (sums.radius**2 + apart)) / count
    return np.sqrt(squared)


def _merges(below: _Sums, progress: Progress) -> Float:
    """(L - 1, 4) merges of the subclusters as SciPy's, by the rise of the squared distances."""
    if below.count.size == 1:
        return np.empty((0, 4))
    return merged_points(below.centre, "ward", progress, below.count)


def _merged(merges: Float, below: _Sums, near: Int) -> Tree:
    """The tree of all merges. near : (n_points,) the subcluster of each point."""
    n_leaves = below.count.size
    left, right = merges[:, :2].astype(np.int64).T
    count, squares = np.empty((2, n_leaves + len(merges)))
    count[:n_leaves], squares[:n_leaves] = below.count, below.count * below.radius**2
    for node, (one, other, height) in enumerate(merges[:, :3].tolist(), start=n_leaves):
        count[node] = count[int(one)] + count[int(other)]
        # Ward's height is the root of twice what the merge adds to the squared distances.
        squares[node] = squares[int(one)] + squares[int(other)] + height**2 / 2.0
    return from_merges(
        left,
        right,
        merges[:, 2],
        leaf_of_point=near,
        extra={"radius": np.sqrt(squares / count)},
    )


def _with_levels(parent: Int, leaf: Int, near: Int, radius: Float) -> Tree:
    """The tree of these nodes, whose heights count levels. leaf : (L,) the node of each."""
    name = np.full(len(parent), None, dtype=object)
    name[leaf] = [str(number) for number in range(len(leaf))]
    heights = levels_below(parent.astype(np.int32))
    tree = from_parents(parent, heights, name, leaf[near], extra={"radius": radius})
    return contract_unary(tree)


def _groups(merges: Float, n_leaves: int, n_clusters: int) -> Int:
    """(L,) group of each subcluster, `n_clusters` groups in order of occurrence."""
    kept = merges[: n_leaves - n_clusters, :2].astype(np.int64)
    merged = np.arange(n_leaves, n_leaves + len(kept))
    pairs = coo_array(
        (np.ones(merged.size * 2), (kept.ravel(), np.repeat(merged, 2))),
        shape=(n_leaves + merged.size, n_leaves + merged.size),
    )
    group = connected_components(pairs, directed=False)[1][:n_leaves].astype(np.int64)
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]
