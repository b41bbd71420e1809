"""The binary tree of leaves on a sphere: the groups with the deepest common ancestor merge.

The ancestor of x and y is the point nearest to the origin on the geodesic between them; its depth
is its distance from the origin. With r_x, r_y the distances of the points to the origin, d that
between them and t the angle at the origin, it is the foot of the altitude of that triangle,

    sinh h = sinh r_x sinh r_y sin t / sinh d,

if both angles at x and y are acute, else the point that is nearer to the origin. If all leaves lie
on one sphere of radius r it is the middle of the geodesic, and

    tanh h = tanh r cos(t / 2).

Decoding is greedy, over pairs of leaves from the deepest ancestor up, with union-find. On a sphere
the ancestor of two directions is the deeper the closer they are, so this is single linkage of
directions:

    2 dimensions    sorted by angle, only neighbours in that order can be next: exact, O(N log N)
    more, few       the minimum spanning tree (`models.graphs.spanning`): exact, O(N^2 D) at most
    more, many      along the graph of nearest neighbours (`models.graphs.neighbours`): approximate

The height of a node is its distance above the leaves: their radius minus the depth of the ancestor.

Source: Chami, Gu, Chatziafratis and Ré, "From Trees to Continuous Embeddings and Back: Hyperbolic
Hierarchical Clustering" (2020); the formulas come from hyperbolic trigonometry. An ancestor costs
O(D) a pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Float, Int
from models.graphs.spanning import SpanningTree, spanning_tree
from models.numerics import poincare
from models.running.progress import silent

if TYPE_CHECKING:
    from torch import Tensor


def depth(x: Tensor, y: Tensor) -> Tensor:
    """(...) depth of the ancestor of points x and y (..., D), anywhere in the ball."""
    import torch

    near, far = (poincare.hyperbolic_norm(point)[..., 0] for point in (x, y))
    apart = poincare.distance(x, y)
    product = (x * y).sum(dim=-1)
    lengths = (x * x).sum(dim=-1) * (y * y).sum(dim=-1)
    # The sine of t, from the part of x that is orthogonal to y.
    sine = ((lengths - product * product).clamp(min=0) / lengths.clamp(min=1e-300)).sqrt()
    foot = torch.asinh(near.sinh() * far.sinh() * sine / apart.sinh().clamp(min=1e-300))
    acute_x = apart.cosh() * near.cosh() >= far.cosh()
    acute_y = apart.cosh() * far.cosh() >= near.cosh()
    within = acute_x & acute_y & (apart > 0)
    return torch.where(within, foot, torch.minimum(near, far))


@dataclass(frozen=True, slots=True)
class Sphere:
    """The points at one distance from the origin.

    radius : that distance, above 0.
    """

    radius: float

    @property
    def norm(self) -> float:
        """Their Euclidean norm."""
        return math.tanh(self.radius / 2)

    def depths(self, quarter: Tensor) -> tuple[Tensor, Tensor]:
        """The depth of the ancestor of two directions u and v, and its slope along |u - v|^2 / 4.

        quarter : (...) |u - v|^2 / 4 = sin^2(t / 2).
        """
        twice, steep = self.twice_depths(4 * quarter)
        return twice / 2, self.slope / steep

    def twice_depths(self, squared: Tensor) -> tuple[Tensor, Tensor]:
        """Twice the depth, and what `slope` is divided by to be the slope of the depth itself.

        squared : (...) |u - v|^2. With c = cos(t / 2) the depth is log((2 - m) / m) / 2, where m =
        1 - tanh(r) c is a sum of parts that do not cancel; here it is m times 4 / tanh(r), which
        takes fewer operations. The slope is clipped near opposite directions, where it is infinite
        although steps along the sphere are not.
        """
        import torch

        scale, rest = 4 / math.tanh(self.radius), 2 / (math.exp(2 * self.radius) + 1)
        cosine = torch.rsub(squared, 1, alpha=0.25).clamp(min=1e-12).sqrt()
        missing = squared / (1 + cosine) + scale * rest
        rest_of = 2 * scale - missing
        return (rest_of / missing).log(), cosine * missing * rest_of

    @property
    def slope(self) -> float:
        """See `twice_depths`."""
        return -8 / math.tanh(self.radius)


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

    from models.graphs.neighbours import neighbour_graph

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
