"""A node split by spectral clustering on its graph of nearest neighbours.

Affinities are exp(-d^2 / 2 s^2) along the edges of the graph of 5 nearest neighbours, s the mean
distance over all nearest neighbours. The rows of the k leading eigenvectors of the normalized
affinity, scaled to length 1, are clustered by k-means (Ng, Jordan and Weiss 2001).

Where the graph has more than k connected components, the components are clustered in the same way:
by the edges between them, with s the mean of the lengths of these; if necessary, repeatedly. Edges
so long that their affinity is below 1e-4 connect nothing. Hence no cluster cuts a component, and
neighbouring components stay together; the eigenvectors of the graph itself would tell the
components apart, but not which of them are near.

Points that coincide count as one point and stay together, however many they are.

A new point goes to the leaf of the nearest fitted point. The probability of a node is the share of
the nearest fitted points, including the nearest itself, that lie under it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, row_blocks
from models.clusters.kmeans import KMeansEffort, best_run
from models.graphs.nearest_points import PointSearch, new_features
from models.graphs.neighbours import Graph, neighbour_graph
from models.graphs.spectra import Spectrum, Unresolved
from models.inputs.checks import count_distinct
from models.inputs.data import Data
from models.inputs.rows import Rows
from models.method import Model, Predictions
from models.methods.features.growing.frontier import Split
from models.running.progress import Progress
from models.tree.parents import places
from models.tree.tree import Tree
from models.tree.walk import paths


def place_nearby(model: Model, tree: Tree, data: Data, n_neighbors: int) -> Predictions:
    """New rows of the input 'features', each placed at the leaf of the nearest fitted point.

    The model holds the points, `fitted`, in the tree's order. O(n_rows N D), less in few
    dimensions.
    """
    fitted = model.arrays["fitted"]
    features = new_features(data, fitted.shape[1])
    near, _ = PointSearch(fitted, min(n_neighbors, len(fitted)), "euclidean").nearest(features)
    leaf = tree.leaf_of_point[near].astype(np.int64)
    first, width = places(tree.parent, np.ones(tree.n_nodes, dtype=np.int64))
    start, node = paths(tree, leaf[:, 0])
    row = np.repeat(np.arange(len(leaf)), np.diff(start))
    share = np.empty(node.size)
    for block in row_blocks(node.size, leaf.shape[1], 1 << 20):
        at = first[leaf[row[block]]]
        low = first[node[block]][:, None]
        share[block] = ((at >= low) & (at < low + width[node[block]][:, None])).mean(axis=1)
    return Predictions(leaf[:, 0], start, node, share)


TINY = 1e-300
WEAK = (1e-4, 1e-3, 1e-2, 1e-1)
"""Affinities below this are dropped; the next is tried where eigenvectors do not converge."""


class Spectral:
    """Splits points into `branching` clusters, or fewer where fewer points are distinct.

    n_apart : nodes whose graph had more than one connected component. n_lost : nodes that were not
        split because no eigenvectors were found.
    recall : the lowest recall of an approximate index over the nodes; None where none was used.
    """

    def __init__(
        self,
        branching: int,
        n_neighbors: int,
        effort: KMeansEffort,
        rng: np.random.Generator,
        threads: int,
        progress: Progress,
    ) -> None:
        self._branching, self._n_neighbors, self._effort = branching, n_neighbors, effort
        self._rng, self._threads, self._progress = rng, threads, progress
        self.n_apart = self.n_lost = 0
        self.recall: float | None = None

    def warnings(self) -> tuple[str, ...]:
        """One warning for each kind of approximation."""
        messages = []
        if self.n_apart:
            messages.append(
                f"At {self.n_apart} node(s) the graph of nearest neighbours fell into parts; where "
                "there were more parts than clusters, the parts themselves were clustered."
            )
        if self.n_lost:
            messages.append(
                f"{self.n_lost} node(s) could not be split: their eigenvectors were not found."
            )
        if self.recall is not None:
            messages.append(
                "Neighbours among many points come from an approximate index, which found "
                f"{self.recall:.1%} of the neighbours of a sample of points."
            )
        return tuple(messages)

    def __call__(self, points: Rows) -> Split | None:
        return self.split(points.values(0, points.shape[0]))

    def split(self, points: Array) -> Split | None:
        graph = neighbour_graph(
            points, self._n_neighbors, "euclidean", self._threads, self._progress
        )
        if graph.n_nodes < 2:
            return None
        if graph.recall is not None:
            self.recall = min(graph.recall, self.recall or 1.0)
        of_node = self._clustered(graph, min(self._branching, graph.n_nodes))
        if of_node is None:
            return None
        cluster = of_node[graph.place]
        size = np.bincount(cluster)
        centre = np.stack(
            [points[cluster == c].mean(axis=0, dtype=np.float64) for c in range(size.size)]
        )
        return Split.of(points, cluster, centre)

    def _clustered(self, graph: Graph, k: int) -> Int | None:
        """(n_nodes,) cluster of each node of a graph; None where all would be in one."""
        self._progress(0.0, "finding eigenvectors")
        for least in WEAK:
            try:
                return self._without_weak(graph, k, least)
            except Unresolved:
                # A barely connected graph has eigenvalues that are nearly equal.
                continue
        self.n_lost += 1
        return None

    def _without_weak(self, graph: Graph, k: int, least: float) -> Int | None:
        """As `_clustered`, with affinities below `least` dropped."""
        part = graph.part[graph.ends]
        own = part[:, 0] == part[:, 1]
        affinity = _affinity(graph.ends[own], graph.length[own], graph.scale, least, graph.n_nodes)
        degree, spectrum = _degrees(affinity), Spectrum(affinity)
        self.n_apart += spectrum.n_parts > 1
        # For each node of the whole graph, its node in the graph that is clustered.
        label = np.arange(graph.n_nodes)
        ends, length = graph.ends.astype(np.int64), graph.length
        while spectrum.n_parts > k:
            label, ends = spectrum.parts[label], spectrum.parts[ends]
            between = ends[:, 0] != ends[:, 1]
            ends, length = ends[between], length[between]
            affinity = _affinity(ends, length, float(length.mean()), least, spectrum.n_parts)
            degree, spectrum = _degrees(affinity), Spectrum(affinity)
        if degree.size <= k:
            return label
        _, vectors = spectrum.leading(k, self._rng)
        # From the eigenvectors of the random walk to the symmetric matrix's.
        vectors *= np.sqrt(np.where(degree > 0, degree, 1.0))[:, None]
        vectors /= np.linalg.norm(vectors, axis=0)
        rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
        n_distinct = count_distinct(rows, k)
        if n_distinct < 2:
            return None
        run = best_run(rows, min(k, n_distinct), self._effort, self._rng, self._progress)
        used, cluster = np.unique(run.cluster, return_inverse=True)
        return cluster[label] if used.size > 1 else None


def _affinity(ends: Array, length: Float, width: float, least: float, n_nodes: int) -> sp.csr_array:
    """Symmetric Gaussian affinities along edges; parallel edges' affinities are added."""
    weight = np.exp(-0.5 * (length / width) ** 2)
    strong = weight >= least
    ends, weight = ends[strong], weight[strong]
    first, second = ends.T.astype(np.int32)
    pairs = (np.concatenate([first, second]), np.concatenate([second, first]))
    return sp.coo_array((np.tile(weight, 2), pairs), shape=(n_nodes, n_nodes)).tocsr()


def _degrees(affinity: sp.csr_array) -> Float:
    degree: Float = np.asarray(affinity.sum(axis=1)).ravel()
    return degree
