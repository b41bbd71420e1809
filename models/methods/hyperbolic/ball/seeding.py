"""The initial nodes: some of the points, and the nodes of an agglomerative tree over them.

Seeds are drawn from the distinct points: 'random' uniformly; 'k-means++' and 'afk-mc2' far from
each other, as initial centres of k-means, the latter by short Markov chains that never visit all
points. With 'k-means' they are the centres that k-means reaches from such seeds. Average linkage
joins the S seeds in S - 1 merges. With 'points' all nodes are random points, without
merges.

Placement of a node in the ball:
- 'order'     in the direction of the mean of its seeds, the j-th merge at norm
              log(S - j) / log S, the seeds at 1; all times `point_norm`. The last is the origin.
- 'midpoint'  at the Einstein midpoint of the points under it, where each point is under the seed
              nearest to it: with Klein coordinates k = 2 x / (1 + |x|^2) and weights
              g = 1 / sqrt(1 - |k|^2) the midpoint is sum g k / sum g, and
              z = k / (1 + sqrt(1 - |k|^2)). So the node of points close together lies far out,
              that of scattered points near the origin.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §4.2 for 'order', which is printed with merges counted from
j = 1 and N for S; Bachem et al., "Fast and Provably Good Seedings for k-Means" (2016), algorithm 2,
for 'afk-mc2'; Ungar, "A Gyrovector Space Approach to Hyperbolic Geometry" (2009), for the midpoint.

Cost for P points: O(P S D), for 'k-means' up to 20 times, for 'afk-mc2' O(P D + S^2 D); O(S^2 D)
time and 4 S^2 bytes for the merges; 'midpoint' O(P S D).
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Int, Single, row_blocks
from models.clusters.kmeans import KMeansEffort, scikit_run, seed_rows
from models.methods.hyperbolic.ball.parameters import SeedingEffort
from models.numerics.agglomeration import merged
from models.numerics.distances import pairwise
from models.running.progress import Progress

CHAIN = 200
"""Steps of a chain of 'afk-mc2'."""

MOVES = KMeansEffort(n_init=1, max_iter=20)
"""The effort of k-means."""

_MOST_PER_SEED = 32
"""Points of the sample that seeds are drawn from, for each node; at least `_LEAST_SAMPLE`."""
_LEAST_SAMPLE = 1 << 14


def n_seeds(n_nodes: int) -> int:
    """The number S of seeds that are joined by S - 1 merges.

    An even number of nodes leaves one more seed, which no merge joins.
    """
    return (n_nodes + 1) // 2


def start_nodes(
    points: Single,
    first: Int,
    n_nodes: int,
    effort: SeedingEffort,
    rng: np.random.Generator,
    progress: Progress,
) -> Single:
    """(n_nodes, D) nodes of one draw, with norms up to `effort.max_norm`.

    points : (P, D). first : one number for each distinct point, of which there are at least
        `n_seeds(n_nodes)`, or `n_nodes` for 'points'.
    n_nodes : used instead of `effort.n_nodes`, for which there may be too few points.
    """
    n_sample = max(_LEAST_SAMPLE, _MOST_PER_SEED * n_nodes)
    sample = first
    if len(first) > n_sample:
        sample = np.sort(rng.choice(first, n_sample, replace=False))
    candidates = points[sample].astype(np.float64)
    if effort.draw == "points":
        drawn = rng.choice(len(candidates), n_nodes, replace=False)
        return _within(candidates[drawn], effort.max_norm)
    n_joined = n_seeds(n_nodes)
    n_drawn = n_nodes - (n_joined - 1)
    progress(0.0, "drawing seeds")
    if effort.draw == "random":
        number = rng.choice(len(candidates), n_drawn, replace=False)
    elif effort.draw == "afk-mc2":
        number = _draw_by_chains(candidates, n_drawn, rng)
    else:
        number = _draw_far_apart(candidates, n_drawn, rng)
    seeds = candidates[number]
    if effort.draw == "k-means":
        seeds = scikit_run(candidates, len(seeds), seeds, MOVES).centers
    progress(0.5, "joining seeds")
    merges = seed_merges(seeds[:n_joined])
    if effort.placement == "order":
        nodes = by_order(seeds, merges) * effort.point_norm
    else:
        nodes = by_midpoint(candidates, seeds, merges)
    progress(1.0, "joining seeds")
    return _within(nodes, effort.max_norm)


def seed_merges(seeds: Float) -> Int:
    """(S - 1, 2) merges of the seeds by average linkage, in SciPy's numbering."""
    if len(seeds) < 2:
        return np.empty((0, 2), dtype=np.int64)
    return merged(pairwise(seeds, "euclidean"), "average")[:, :2].astype(np.int64)


def by_order(seeds: Float, merges: Int) -> Float:
    """(n_seeds + S - 1, D) nodes placed by 'order', for points of norm 1: seeds first, merge j at
    row n_seeds + j.

    merges : of the first S seeds.
    """
    n_joined = len(merges) + 1
    length = np.ones(len(seeds) + len(merges))
    if n_joined > 1:
        left = n_joined - np.arange(1, n_joined)
        length[len(seeds) :] = np.log(left) / np.log(n_joined) if n_joined > 2 else 0.0
    total, _ = _sums(seeds, np.ones(len(seeds)), merges)
    return _directions(total) * length[:, None]


def by_midpoint(points: Float, seeds: Float, merges: Int) -> Float:
    """The nodes of `by_order`, each at the 'midpoint' of its points; points (P, D) of the ball."""
    squares = np.einsum("pd,pd->p", points, points)[:, None]
    weight = ((1 + squares) / (1 - squares))[:, 0]
    klein = 2 * points / (1 + squares)
    nearest = np.empty(len(points), dtype=np.int64)
    seed_squares = np.einsum("sd,sd->s", seeds, seeds)
    for block in row_blocks(len(points), len(seeds), 1 << 21):
        nearest[block] = (seed_squares - 2 * points[block] @ seeds.T).argmin(axis=1)
    # Rounding may leave a seed without points: it then counts itself, with a small weight.
    total = np.full(len(seeds), 1e-9)
    sums = total[:, None] * 2 * seeds / (1 + seed_squares[:, None])
    np.add.at(total, nearest, weight)
    for block in row_blocks(len(points), points.shape[1], 1 << 21):
        np.add.at(sums, nearest[block], weight[block, None] * klein[block])
    sums, total = _sums(sums, total, merges)
    middle = sums / total[:, None]
    inside = np.clip(1 - np.einsum("md,md->m", middle, middle), 0.0, None)[:, None]
    midpoints: Float = middle / (1 + np.sqrt(inside))
    return midpoints


def _sums(values: Float, weights: Float, merges: Int) -> tuple[Float, Float]:
    """Values (n, D) and weights (n,), and below them the sums of each merge of the first rows."""
    n, n_joined = len(values), len(merges) + 1
    total = np.concatenate([values, np.empty((len(merges), values.shape[1]))])
    weight = np.concatenate([weights, np.empty(len(merges))])
    # In SciPy's numbering merges follow the joined seeds; here they follow all.
    parts = np.where(merges < n_joined, merges, merges - n_joined + n)
    for row, (a, b) in enumerate(parts.tolist(), n):
        total[row] = total[a] + total[b]
        weight[row] = weight[a] + weight[b]
    return total, weight


def _directions(values: Float) -> Float:
    length = np.sqrt(np.einsum("md,md->m", values, values))[:, None]
    return values / np.where(length > 0, length, 1.0)


def _within(nodes: Float, max_norm: float) -> Single:
    length = np.sqrt(np.einsum("md,md->m", nodes, nodes))[:, None]
    return np.where(length > max_norm, _directions(nodes) * max_norm, nodes).astype(np.float32)


def _draw_far_apart(points: Float, n_drawn: int, rng: np.random.Generator) -> Int:
    """(n_drawn,) numbers of different points, drawn by k-means++."""
    chosen = np.unique(seed_rows(points, n_drawn, rng))
    # It may draw a point twice if rounding makes several points coincide.
    others = np.setdiff1d(np.arange(len(points)), chosen)
    return np.concatenate([chosen, rng.permutation(others)[: n_drawn - len(chosen)]])


def _draw_by_chains(points: Float, n_drawn: int, rng: np.random.Generator) -> Int:
    """Numbers as from `_draw_far_apart`, by AFK-MC^2.

    Each seed is the end of a chain of points, which are proposed by their distance to the first
    seed and accepted by their distance to all seeds so far.
    """
    n_points = len(points)
    number = np.empty(n_drawn, dtype=np.int64)
    number[0] = rng.integers(n_points)
    squares = np.einsum("pd,pd->p", points, points)
    # Distances may come out a little below 0.
    far = np.maximum(squares + squares[number[0]] - 2 * points @ points[number[0]], 0.0)
    proposal = 0.5 * far / far.sum() + 0.5 / n_points
    until = np.cumsum(proposal)
    for n_seeded in range(1, n_drawn):
        chain = np.minimum(np.searchsorted(until, rng.random(CHAIN) * until[-1]), n_points - 1)
        chosen = number[:n_seeded]
        apart = squares[chain][:, None] + squares[chosen] - 2 * points[chain] @ points[chosen].T
        least = np.maximum(apart.min(axis=1), 0.0)
        least[np.isin(chain, chosen)] = 0.0
        threshold = rng.random(CHAIN)
        at = 0
        for step in range(1, CHAIN):
            current = least[at] * proposal[chain[step]]
            if least[step] * proposal[chain[at]] > threshold[step] * current or (
                least[at] == 0 and least[step] > 0
            ):
                at = step
        number[n_seeded] = chain[at]
        if least[at] == 0:
            # All points of the chain are seeds: take any other point.
            number[n_seeded] = rng.choice(np.setdiff1d(np.arange(n_points), chosen))
    return number
