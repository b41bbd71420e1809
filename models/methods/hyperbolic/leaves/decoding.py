"""The binary tree of leaves on a sphere: the groups with the deepest common ancestor merge.

Decoding is greedy, over pairs of leaves from the deepest ancestor up, with union-find. On a sphere
the ancestor of two directions is the deeper the closer they are, so this is single linkage of
directions:

    2 dimensions    sorted by angle, only neighbours in that order can be next: exact, O(N log N)
    more, few       the minimum spanning tree (`models.graphs.spanning`): exact, O(N^2 D) at most
    more, many      along the graph of nearest neighbours (`models.graphs.graph`): approximate

The height of a node is its distance above the leaves: their radius minus the depth of the ancestor.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.graphs.spanning.rows import SpanningTree
from models.graphs.spanning.tree import spanning_tree
from models.methods.hyperbolic.leaves.ancestors import Sphere
from models.running.progress import silent

EXACT_POINTS = 20_000
"""Up to this many leaves the spanning tree is that of all pairs, in three dimensions or more."""

N_NEIGHBORS = 15


@dataclass(frozen=True, slots=True)
class DecodedTree:
    """The merges of leaves on a sphere.

    merges : (n_points - 1, 2) in SciPy's numbering, the deepest first.
    quarter : (n_points - 1,) |u - v|^2 / 4 of the directions that are joined, ascending.
    warnings : what was approximated.
    """

    merges: Int
    quarter: Float
    warnings: tuple[str, ...] = ()

    def heights(self, sphere: Sphere) -> Float:
        """(n_points - 1,) heights of the merges, ascending, 0 or more."""
        import torch

        depth = sphere.depths(torch.from_numpy(self.quarter))[0].numpy()
        return np.maximum.accumulate(np.maximum(sphere.radius - depth, 0.0))


def decode(directions: Float, threads: int = 1) -> DecodedTree:
    """The tree of leaves in these directions, (n_points, D) of length one; two points or more."""
    n_points, dimension = directions.shape
    if dimension == 2:
        return _by_angle(directions)
    if n_points <= EXACT_POINTS:
        return _along(spanning_tree(directions, 0, threads, silent))
    return _along_graph(directions, threads)


def _by_angle(directions: Float) -> DecodedTree:
    angle = np.arctan2(directions[:, 1], directions[:, 0])
    order = np.argsort(angle, kind="stable")
    ends = np.stack([order, np.roll(order, -1)], axis=1)
    apart = directions[ends[:, 0]] - directions[ends[:, 1]]
    length = np.sqrt(np.einsum("nd,nd->n", apart, apart))
    # The edges form a circle; the tree omits the one across the widest gap.
    by_gap = np.argsort(length, kind="stable")[:-1]
    return _along(SpanningTree(ends[by_gap], length[by_gap]))


def _along_graph(directions: Float, threads: int) -> DecodedTree:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    from models.graphs.graph import neighbour_graph

    graph = neighbour_graph(directions, N_NEIGHBORS, "euclidean", threads, silent)
    # A length of 0 would count as no edge; it does not occur, since coinciding points are one node.
    ends = graph.ends.astype(np.int64)
    lengths = coo_array((graph.length, (ends[:, 0], ends[:, 1])), shape=(graph.n_nodes,) * 2)
    chosen = minimum_spanning_tree(lengths.tocsr()).tocoo()
    others = np.setdiff1d(np.arange(len(directions)), graph.first)
    twins = np.stack([graph.first[graph.place[others]], others], axis=1)
    length = np.concatenate([np.zeros(len(twins)), chosen.data])
    pairs = np.concatenate([twins, graph.first[np.stack([chosen.row, chosen.col], axis=1)]])
    by_length = np.argsort(length, kind="stable")
    warning = (
        f"The tree was decoded along the graph of each leaf's {N_NEIGHBORS} nearest leaves, not "
        "from all pairs."
    )
    return _along(SpanningTree(pairs[by_length], length[by_length]), warning)


def _along(tree: SpanningTree, *warnings: str) -> DecodedTree:
    return DecodedTree(tree.linkage()[:, :2].astype(np.int64), (tree.length / 2) ** 2, warnings)
