"""Sub-cluster components (SCC): a tree over points in rounds, for millions of points.

Points are joined to their nearest neighbours; an edge of length d has the similarity s / (s + d), s
the mean length of the edges from points to their neighbours, and pairs without an edge have 0. In
each round every cluster selects the most similar cluster by average linkage: the mean similarity
over all pairs of their points. Selected pairs at least as similar as the round's threshold are
joined, and each connected component becomes one cluster. The threshold falls geometrically, in
`n_rounds` steps, once nothing more is joined; the last threshold is 0, so the result is one tree.

Nodes may have many children. Each leaf is one point; heights count the rounds in which anything was
joined. `similarity` is the threshold at which a node was formed; 1 for leaves and for points that
coincide or must link, which are joined before the first round. A cluster is joined to all clusters
that tie as its most similar, so that the order of rows does not matter.

Constraints, in any combination: a graph, pairs of points that must or cannot link, a known tree.

- Points that must link are contracted first. The graph, where one is given, is in place of that of
  nearest neighbours. Points that coincide are joined before the first round only where permitted.
- In each round a cluster's most similar is sought only among permitted clusters: an edge joins the
  two, no pair keeps points of theirs apart, and they lie below one open node of the known tree,
  which is complete before anything joins it from outside. Points that it does not name may be
  anywhere.
- A connected component that would break a constraint by transitivity is merged greedily instead,
  by falling similarity, skipping what is not permitted by then; rows decide between ties.
- Where nothing may merge, clusters that complete nodes of the known tree are joined there, and
  at last all that is left at the root, with a warning; the metric `n_forced` counts these nodes.
- Constraints that contradict each other are refused with their rows, as by `hac`.

Source: Monath et al., "Scalable Hierarchical Agglomerative Clustering" (2021), definition 3 and
algorithm 1, on the graph of neighbours as in section 5. With `n_rounds: 1` it is affinity
clustering: Bateni et al., "Affinity Clustering: Hierarchical Clustering at Scale" (2017).

Cost: that of the neighbours (`models.graphs.neighbours`), then O(N k) a round at first, less as
clusters grow; under constraints, points that coincide have edges one by one. Memory about 9 N D +
70 N k bytes, or what the neighbours take (`graphs.cells`). More than 134 million features are read
by rows, where the metric has an index: edges and similarities are kept in single precision, and
memory is about N times the largest of 2 D + 8 k + 150, 40 k + 120 and 600 bytes, and 1 GB.

A new row, of which the rounds say nothing, goes to the leaf of the nearest point of the fit by
`metric`, at O(N D) (`models.graphs.nearest_points`). The model keeps the features as they are, a
mapped file mapped: as many bytes again as the input.

Measured: CPU time as N^1.5 D^0.4, from 20,000 x 32 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from models.arrays import Array, Arrays, Float, Int, Int32, Single, row_blocks
from models.clusters import lloyd
from models.graphs.cells import bytes_to_find
from models.graphs.nearest_points import PlacesNearest, model_of
from models.graphs.neighbours import (
    EXACT_POINTS,
    Graph,
    graph_piece,
    neighbour_graph,
    require_index,
)
from models.inputs.checks import require_point_rows
from models.inputs.data import Data
from models.inputs.rows import Rows
from models.method import Fitted, Input, Paper, Run, Shapes
from models.methods.features.linkage.constrained_rounds import (
    EDGE_BYTES,
    Permits,
    lengths_along,
    n_row_edges,
    row_edges,
)
from models.methods.features.linkage.constraints import (
    CONSTRAINT_INPUTS,
    GRAPH,
    Constraints,
    clades_within,
    read_constraints,
)
from models.numerics.distances import FLAT, DistanceMetric, presence_warnings
from models.parameters import Params
from models.running import budget
from models.running.budget import Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.build import from_parents
from models.tree.tree import Tree

AT_ONCE = 1 << 22
"""Pairs of clusters whose similarities are computed together."""


class SCCParams(Params):
    metric: DistanceMetric = Field(
        "euclidean",
        description=(
            "Distance between points, as SciPy's pdist defines it; 'jaccard' takes values other "
            "than 0 as present."
        ),
    )
    n_neighbors: int = Field(
        10,
        ge=1,
        le=1000,
        description=(
            "Number of nearest neighbours that each point is joined to; not used with the input "
            "'graph'."
        ),
    )
    n_rounds: int = Field(
        100,
        ge=1,
        le=10_000,
        description=(
            "Number of similarity thresholds; with more of them the tree is finer and closer to "
            "merging two clusters at a time."
        ),
    )


class SCC(PlacesNearest[SCCParams]):
    """See the module's docstring."""

    title = "Sub-cluster components"
    paper = Paper("Scalable Hierarchical Agglomerative Clustering", 2021, "KDD")
    Params = SCCParams
    cost = Cost(2e-7, rows=1.5, columns=0.5)
    inputs = {
        "features": Input(by_rows=True, description="One row per point."),
        **CONSTRAINT_INPUTS,
        "names": Input(required=False, one_per="row", description="One name per point."),
    }
    outputs = ("tree", "model")
    advice = "Lower 'n_neighbors' or use a sample of the points."

    def _memory(self, shapes: Shapes, params: SCCParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_features = shapes["features"]
        held = n_points * (9 * n_features + 70 * params.n_neighbors + 300)
        if GRAPH in shapes:
            # How many edges a matrix has is not known yet; `_check` counts them.
            n_edges = shapes[GRAPH][0] if shapes[GRAPH][1:] == (2,) else n_points
            return n_points * (9 * n_features + 300) + n_edges * EDGE_BYTES
        if n_points <= EXACT_POINTS or params.metric not in FLAT:
            return held
        # The neighbours; the first rounds; the tree and its names.
        neighbours = bytes_to_find(n_points, n_features, params.n_neighbors) + 60 * n_points
        if n_points * n_features <= lloyd.WHOLE:
            return max(held, neighbours)
        joining = n_points * (40 * params.n_neighbors + 120)
        return max(neighbours, joining, n_points * 600)

    def _check(self, data: Data, params: SCCParams) -> None:
        features = require_point_rows(data)
        names = data.leaf_names(features.shape[0], "point")
        constraints = read_constraints(data, names)
        if constraints is not None and constraints.edges is not None:
            budget.require(self.id, len(constraints.edges) * EDGE_BYTES, self.advice)
        require_index(features.shape[0], params.metric)
        lloyd.require_usable_points(features)

    def _fit(self, data: Data, params: SCCParams, run: Run) -> Fitted:
        features = data.rows("features")
        points = _held(features, params.metric)
        names = data.leaf_names(features.shape[0], "point")
        constraints = read_constraints(data, names)
        warnings = presence_warnings(features, params.metric)
        if constraints is not None and constraints.edges is not None:
            graph = _given_graph(constraints, points, params.metric)
        else:
            graph = neighbour_graph(
                points,
                params.n_neighbors,
                params.metric,
                run.threads,
                subprogress(run.progress, 0.05, 0.6),
                run.crew,
            )
            warnings = graph.warnings(params.n_neighbors) + warnings
        metrics = graph.facts()
        permits = None
        if constraints is not None:
            warnings += constraints.warnings
            if not constraints.links_alone:
                graph = self._over_rows(graph)
                permits = Permits(constraints)
        n_nodes = graph.n_nodes
        clusters = _Clusters(graph)
        if constraints is not None and permits is None:
            clusters.link(graph.place[Permits(constraints).linked])
        equal = graph.ends[graph.length == 0] if permits is not None else None
        del graph  # its edges are the clusters' own by now
        if permits is not None and equal is not None:
            _start(clusters, permits, equal)
        joined = _join(
            clusters, n_nodes, params.n_rounds, subprogress(run.progress, 0.6, 0.9), permits
        )
        if constraints is not None and permits is not None:
            joined = joined.with_clades(constraints, permits.first)
            metrics |= {
                "n_groups": float(constraints.n_groups),
                "n_forced": float(joined.n_forced),
            }
            warnings += _forced_warnings(joined.n_forced, constraints)
        run.progress(0.9, "building the tree")
        return Fitted(
            tree=joined.tree(names),
            model=model_of(points, "features", params.metric),
            metrics={"n_rounds": float(joined.height.max()), **metrics},
            warnings=warnings,
        )

    def _over_rows(self, graph: Graph) -> Graph:
        """The graph with a node for each row. Raises UsageError where that would not fit."""
        if graph.n_nodes == graph.place.size and (graph.first == graph.place).all():
            return graph
        budget.require(self.id, n_row_edges(graph) * EDGE_BYTES, self.advice)
        ends, length = row_edges(graph)
        each = np.arange(graph.place.size)
        return replace(graph, first=each, place=each, ends=ends.astype(np.int32), length=length)

    def _piece(
        self, data: Data, params: SCCParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return graph_piece(data.rows("features"), piece, threads, progress)


def _held(features: Rows, metric: DistanceMetric) -> Array | Rows:
    """The rows as an array where they are held as a whole, as for metrics without an index."""
    if metric not in FLAT:
        return features.values(0, features.shape[0])
    return lloyd.whole(features)


def _given_graph(constraints: Constraints, points: Array | Rows, metric: DistanceMetric) -> Graph:
    """The graph that the user gives, over rows."""
    edges, part = constraints.edges, constraints.part
    assert edges is not None
    assert part is not None
    length = lengths_along(edges, points, metric)
    scale = float(length.mean(dtype=np.float64)) if length.size else 0.0
    each = np.arange(part.size)
    return Graph(each, each, edges.astype(np.int32), length, 0, scale, part, None)


def _forced_warnings(n_forced: int, constraints: Constraints) -> tuple[str, ...]:
    notes = []
    if constraints.part is not None and (n_parts := int(constraints.part.max()) + 1) > 1:
        notes.append(f"The graph has {n_parts} parts that no edge joins.")
    if n_forced:
        notes.append(
            f"{n_forced} node(s), the root or nodes of the known tree, join what the constraints "
            "keep apart: nothing else could merge."
        )
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class _Joined:
    """(n_nodes,) parent, height and similarity of each node; the points come first."""

    parent: Int
    height: Float
    similarity: Float
    n_forced: int = 0

    def with_clades(self, constraints: Constraints, first: Int) -> _Joined:
        """With the clades of the known tree within groups that must link.

        first : (n_groups,) the first row of each group.
        """
        inner, leaf = clades_within(constraints, self.parent.size, self.parent[first])
        parent = np.concatenate([self.parent, inner])
        row = np.flatnonzero(leaf >= 0)
        parent[row] = leaf[row]
        return replace(
            self,
            parent=parent,
            height=np.concatenate([self.height, np.zeros(inner.size)]),
            similarity=np.concatenate([self.similarity, np.ones(inner.size)]),
        )

    def tree(self, names: list[str]) -> Tree:
        n_points = len(names)
        name = np.full(self.parent.size, None, dtype=object)
        name[:n_points] = names
        return from_parents(
            self.parent,
            self.height,
            name,
            np.arange(n_points),
            extra={"similarity": self.similarity},
        )


class _Clusters:
    """The clusters of a round, and the tree above the points so far.

    size, node : (n,) number of points and tree node of each cluster.
    ends, total : (n_pairs, 2) clusters joined by edges, and (n_pairs,) sums of the similarities
        between their points.
    """

    def __init__(self, graph: Graph) -> None:
        n_points = graph.place.size
        self.size: Float = np.bincount(graph.place).astype(np.float64)
        self._parent = [np.full(n_points, -1, dtype=np.int64)]
        self._height, self._similarity = [np.zeros(n_points)], [np.ones(n_points)]
        self._n_nodes = n_points
        self.node = np.arange(n_points)
        self._unite(graph.place, 0, 1.0)
        self.ends: Int32 = graph.ends
        self.total: Float | Single = np.ones_like(graph.length)
        far = graph.length > 0
        self.total[far] = graph.scale / (graph.scale + graph.length[far])
        self.total *= self.size[self.ends[:, 0]]
        self.total *= self.size[self.ends[:, 1]]

    def similarities(self) -> Float | Single:
        """(n_pairs,) mean similarity of the points of each pair of clusters."""
        mean = np.empty_like(self.total)
        for block in row_blocks(mean.size, 1, AT_ONCE):
            low, high = self.ends[block].T
            mean[block] = self.total[block] / self.size[low] / self.size[high]
        return mean

    def link(self, pairs: Int | Int32) -> Int32:
        """Merge each connected component of any pairs of clusters before the first round."""
        return self.join(pairs, 0, 1.0)

    def join(self, pairs: Int | Int32, height: int, similarity: float) -> Int32:
        """Merge each connected component of pairs of clusters; (n,) the new cluster of each."""
        n = self.size.size
        ones = np.ones(len(pairs), dtype=np.int8)
        _, component = connected_components(
            coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n)), directed=False
        )
        label: Int32 = component.astype(np.int32)
        self.size = np.bincount(label, self.size).astype(np.float64)
        self._unite(label, height, similarity)
        low, high = label[self.ends[:, 0]], label[self.ends[:, 1]]
        apart = low != high
        low, high = low[apart], high[apart]
        n = self.size.size
        sums = coo_array(
            (self.total[apart], (np.minimum(low, high), np.maximum(low, high))), shape=(n, n)
        ).tocsr()
        del low, high, apart
        self.total = sums.data
        self.ends = np.empty((sums.nnz, 2), dtype=np.int32)
        self.ends[:, 0] = np.repeat(np.arange(n, dtype=np.int32), np.diff(sums.indptr))
        self.ends[:, 1] = sums.indices
        return label

    def joined(self) -> _Joined:
        return _Joined(
            np.concatenate(self._parent),
            np.concatenate(self._height),
            np.concatenate(self._similarity),
        )

    def _unite(self, label: Int | Int32, height: int, similarity: float) -> None:
        """Add a node above the nodes of each label that has several."""
        several = np.bincount(label) > 1
        new = np.full(several.size, -1, dtype=np.int64)
        new[several] = self._n_nodes + np.arange(several.sum())
        moved = several[label]
        self._above(self.node[moved], new[label[moved]])
        new[label[~moved]] = self.node[~moved]
        self.node = new
        n_new = int(several.sum())
        self._n_nodes += n_new
        self._parent.append(np.full(n_new, -1, dtype=np.int64))
        self._height.append(np.full(n_new, float(height)))
        self._similarity.append(np.full(n_new, similarity))

    def _above(self, node: Int, parent: Int) -> None:
        self._parent = [np.concatenate(self._parent)]
        self._parent[0][node] = parent


def _start(clusters: _Clusters, permits: Permits, equal: Int32) -> None:
    """Join what must link, then points that coincide, along edges between rows where permitted."""
    permits.regroup(clusters.link(permits.linked)[permits.cluster].astype(np.int64))
    ends = np.sort(permits.cluster[equal], axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    while (may := permits.allowed(ends)).any():
        pairs = permits.kept(ends[may].astype(np.int32), np.ones(int(may.sum())))
        label = clusters.link(pairs)
        permits.regroup(label[permits.cluster].astype(np.int64))
        ends = np.sort(label[ends], axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]


def _join(
    clusters: _Clusters,
    n_nodes: int,
    n_rounds: int,
    progress: Progress,
    permits: Permits | None = None,
) -> _Joined:
    rounds, step, threshold, n_forced = 0, 0, np.inf, 0
    first = 0.0
    while (n := clusters.size.size) > 1:
        done = 1.0 - np.log(n) / np.log(n_nodes)
        progress(done, "joining", f"{n:,} clusters after {rounds} rounds")
        similarity = clusters.similarities()
        if permits is not None:
            similarity[~permits.allowed(clusters.ends)] = 0
        top = float(similarity.max(initial=0))
        rounds += 1
        if permits is not None and top == 0:
            pairs, whole = permits.forced()
            label = clusters.join(pairs, rounds, 0.0 if whole else min(threshold, 1.0))
            n_forced += np.unique(label[pairs]).size
            permits.regroup(label[permits.cluster].astype(np.int64))
            continue
        first = first or top
        # From the similarity of the nearest points down to that of two halves joined by one edge.
        while threshold > top:
            step += 1
            threshold = first * float(n_nodes) ** (-2 * step / n_rounds) if step <= n_rounds else 0
        best = np.zeros(n, dtype=similarity.dtype)
        for side in range(2):
            np.maximum.at(best, clusters.ends[:, side], similarity)
        chosen = similarity == best[clusters.ends[:, 0]]
        chosen |= similarity == best[clusters.ends[:, 1]]
        chosen &= similarity >= threshold
        if permits is None:
            clusters.join(clusters.ends[chosen], rounds, threshold)
            continue
        chosen &= similarity > 0
        pairs = permits.kept(clusters.ends[chosen], similarity[chosen])
        label = clusters.join(pairs, rounds, threshold)
        permits.regroup(label[permits.cluster].astype(np.int64))
    return replace(clusters.joined(), n_forced=n_forced)
