"""From leaves on a sphere to a binary tree: those groups merge whose leaves part deepest.

Greedily, over pairs of leaves from the deepest ancestor up, with union-find. On a sphere an
ancestor is the deeper the nearer two directions are, so this is single linkage of directions:

    2 dimensions    sorted by angle, only neighbours in that order can be next: exact, O(N log N)
    more, few       fastcluster's minimum spanning tree of all pairs: exact, O(N^2 D), memory O(N D)
    more, many      along the graph of nearest neighbours (`models.graphs.graph`): approximate

A node's height is how far above the leaves it lies: their radius less the ancestor's depth.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.hyperbolic.leaves.ancestors import Sphere
from models.progress import silent

EXACT_POINTS = 5_000
"""Up to so many leaves in three dimensions or more, all pairs are compared."""
N_NEIGHBORS = 15


@dataclass(frozen=True, slots=True)
class Decoded:
    """merges : (n_points - 1, 2) in SciPy's numbering, the deepest first.
    quarter : (n_points - 1,) |u - v|^2 / 4 of the directions that part there, ascending.
    warnings : what was approximated."""

    merges: Int
    quarter: Float
    warnings: tuple[str, ...] = ()

    def heights(self, sphere: Sphere) -> Float:
        """(n_points - 1,) ascending, 0 or more."""
        import torch

        depth = sphere.depths(torch.from_numpy(self.quarter))[0].numpy()
        return np.maximum.accumulate(np.maximum(sphere.radius - depth, 0.0))


def decode(directions: Float, threads: int = 1) -> Decoded:
    """directions : (n_points, D) of length one; two points or more."""
    n_points, dimension = directions.shape
    if dimension == 2:
        return _by_angle(directions)
    if n_points <= EXACT_POINTS:
        return _of_all(directions)
    return _along_graph(directions, threads)


def _by_angle(directions: Float) -> Decoded:
    angle = np.arctan2(directions[:, 1], directions[:, 0])
    order = np.argsort(angle, kind="stable")
    ends = np.stack([order, np.roll(order, -1)], axis=1)
    apart = directions[ends[:, 0]] - directions[ends[:, 1]]
    quarter = np.einsum("nd,nd->n", apart, apart) / 4
    # All around they are a circle: the widest gap is the edge too many.
    by_gap = np.argsort(quarter, kind="stable")[:-1]
    return _joined(ends[by_gap], quarter[by_gap])


def _of_all(directions: Float) -> Decoded:
    import fastcluster

    found = fastcluster.linkage_vector(np.ascontiguousarray(directions), method="single")
    return Decoded(found[:, :2].astype(np.int64), (found[:, 2] / 2) ** 2)


def _along_graph(directions: Float, threads: int) -> Decoded:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    from models.graphs.graph import neighbour_graph

    graph = neighbour_graph(directions, N_NEIGHBORS, "euclidean", threads, silent)
    # Zero is no edge there: of points at one place only the first is a node, so none is that short.
    ends = graph.ends.astype(np.int64)
    lengths = coo_array((graph.length, (ends[:, 0], ends[:, 1])), shape=(graph.n_nodes,) * 2)
    chosen = minimum_spanning_tree(lengths.tocsr()).tocoo()
    others = np.setdiff1d(np.arange(len(directions)), graph.first)
    twins = np.stack([graph.first[graph.place[others]], others], axis=1)
    length = np.concatenate([np.zeros(len(twins)), chosen.data])
    pairs = np.concatenate([twins, graph.first[np.stack([chosen.row, chosen.col], axis=1)]])
    by_length = np.argsort(length, kind="stable")
    found = _joined(pairs[by_length], (length[by_length] / 2) ** 2)
    said = (
        f"The tree was decoded along the graph of each leaf's {N_NEIGHBORS} nearest leaves, not "
        "from all pairs."
    )
    return Decoded(found.merges, found.quarter, (said,))


def _joined(ends: Int, quarter: Float) -> Decoded:
    """Merges along the edges of a tree over the points, in the order given. O(N log N)."""
    n_points = len(ends) + 1
    link, node = list(range(n_points)), list(range(n_points))
    size = [1] * n_points
    merges = np.empty((n_points - 1, 2), dtype=np.int64)
    for number, (one, other) in enumerate(ends.tolist()):
        while link[one] != one:
            link[one] = one = link[link[one]]
        while link[other] != other:
            link[other] = other = link[link[other]]
        merges[number] = node[one], node[other]
        if size[one] < size[other]:
            one, other = other, one
        link[other] = one
        size[one] += size[other]
        node[one] = n_points + number
    return Decoded(merges, quarter)
