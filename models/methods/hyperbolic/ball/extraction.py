"""The tree over points described by nodes of the ball.

Every node and point selects its parent (`ball.decoding`). Nodes without points below, and nodes
with a single child and no points of their own, are left out, and the rest select again until all
remaining nodes are needed: so every parent is the one of eq. 4 among the nodes of the tree. If both
points and nodes selected a node, its points get a separate leaf below it, beside those nodes; a
node selected only by points is their leaf.

Rows of the tree: the remaining nodes in order of norm, so that row r of `BallTree.nodes` is node r,
then the separate leaves of points. The height of a node is the hyperbolic norm of the outermost
point or node below it minus its own; leaves have height 0.

Columns of the tree: `norm`, hyperbolic; `parent_probability` by eq. 5, for separate leaves the mean
over their points; `alternative_1`, `alternative_2`, the next likely parents (-1: none), and their
probabilities `alternative_1_probability`, `alternative_2_probability`. The root has none.

`point_leaves` gives a separate leaf to each point of a `BallTree`, which may put several points
into one leaf. A leaf that several points selected becomes a node above them, with a new leaf for
each; a leaf of one point is that point's leaf. New leaves follow the nodes of the tree, in order of
the points. Their columns are the hyperbolic norm of the point, the probability of its parent and no
alternatives. A leaf that existed before has the norm of its node.

Cost: that of `decoding`, twice for points and a few times for nodes; `point_leaves` takes O(M + N)
for a tree of M nodes and N points.

`leaf_merges` joins the points that selected one node by average linkage. Nodes of the ball separate
groups of points; within a group the tree of eq. 4 says nothing. So the points of a group are
merged, two parts at a time, by the least mean hyperbolic distance between them. The last merge is
the node or leaf that they selected, the points are new leaves. The height of a merge is half that
mean distance: so far from both is the middle of two points. Leaves have height 0, and a node lower
than one below it takes that one's height.

A group of more than `MOST` points is not merged: its points become siblings.

The paper stops at the groups; this is the extraction trick of its §4.2, where each point gets a
separate leaf below the node that it selected, with a binary tree in place of a star. Cost: O(n^2 D)
time and 8 n^2 bytes for a group of n points.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1 and §4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from models.arrays import Array, Float, Int, Mask, Single, row_blocks
from models.inputs.rows import Rows
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.points import BallScaling
from models.numerics import poincare
from models.numerics.agglomeration import merged
from models.numerics.distances import pairwise
from models.running.progress import Progress, subprogress
from models.tree.build import from_parents
from models.tree.parents import under
from models.tree.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor


N_ALTERNATIVES = 2

_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class BallTree:
    """A tree and the nodes of the ball from which it was extracted.

    nodes : (S, D) the first S nodes of the tree as points of the ball; separate leaves of points
        follow them.
    leaf_of_node : (S,) the leaf of points that select it, -1 if none did.
    probability : (N,) probability of each point's parent. log_probability : that of the tree, eq.
        6, up to a constant. n_central : number of points at the origin.
    """

    tree: Tree
    nodes: Single
    leaf_of_node: Int
    probability: Float
    log_probability: float
    n_central: int


def extract(rows: Rows, scaling: BallScaling, nodes: Tensor, progress: Progress) -> BallTree:
    """The tree over all rows. nodes : (M, D), in any order."""
    ordered = nodes[decoding.norm_order(nodes)]
    chosen, _, _ = _select(rows, scaling, ordered, subprogress(progress, 0.0, 0.5))
    remaining, chosen = needed_nodes(ordered, chosen)
    likely = decoding.parents(remaining, 1 + N_ALTERNATIVES)
    chosen, log_probability, point_norm = _select(
        rows, scaling, remaining, subprogress(progress, 0.5, 1.0)
    )
    n_central = int((point_norm == 0).sum())
    parent = likely.parent[:, 0]
    inside = np.bincount(chosen, minlength=len(parent))
    has_child = np.bincount(parent[1:], minlength=len(parent)) > 0
    own = np.flatnonzero((inside > 0) & has_child)
    leaf_of_node = np.where(inside > 0, np.arange(len(parent)), -1)
    leaf_of_node[own] = len(parent) + np.arange(own.size)
    norm = poincare.hyperbolic_norm(remaining.double().cpu().numpy())[:, 0]
    outermost = min(point_norm.max(initial=0.0), 1 - 1e-12)
    furthest = max(norm.max(), 2 * np.arctanh(outermost))
    height = np.where(has_child, furthest - norm, 0.0)
    probability = np.exp(log_probability)
    mean = np.bincount(chosen, probability, len(parent)) / np.maximum(inside, 1)
    columns = {
        "norm": np.concatenate([norm, norm[own]]),
        "parent_probability": np.concatenate([_parent_probability(likely, 0), mean[own]]),
    }
    for number in range(1, 1 + N_ALTERNATIVES):
        name = f"alternative_{number}"
        columns[name] = np.concatenate([likely.parent[:, number], np.full(own.size, -1)])
        columns[f"{name}_probability"] = np.concatenate(
            [_parent_probability(likely, number), np.full(own.size, np.nan)]
        )
    tree = _tree(np.concatenate([parent, own]), height, leaf_of_node[chosen], columns)
    total = float(log_probability.sum() + likely.log_probability[1:, 0].sum())
    ball_nodes = remaining.float().cpu().numpy()
    return BallTree(tree, ball_nodes, leaf_of_node, probability, total, n_central)


def needed_nodes(nodes: Tensor, chosen: Int) -> tuple[Tensor, Int]:
    """The nodes needed by the tree, and the node among them that each point chose.

    nodes : (M, D) in order of norm. chosen : (N,) the node that each point chose.
    """
    import torch

    while True:
        parent = decoding.parents(nodes).parent[:, 0]
        inside = np.bincount(chosen, minlength=len(parent))
        used = under(parent.astype(np.int32), inside) > 0
        n_children = np.bincount(parent[1:][used[1:]], minlength=len(parent))
        kept = used & ((inside > 0) | (n_children > 1))
        if kept.all():
            return nodes, chosen
        nodes = nodes[torch.from_numpy(kept).to(nodes.device)]
        chosen = (np.cumsum(kept) - 1)[chosen]


def _select(
    rows: Rows, scaling: BallScaling, nodes: Tensor, progress: Progress
) -> tuple[Int, Float, Float]:
    """The parent of each point, its log probability, and the norm of the point."""
    import torch

    n_points, n_features = rows.shape
    chosen = np.empty(n_points, dtype=np.int64)
    log_probability = np.empty(n_points)
    norm = np.empty(n_points)
    for block in row_blocks(n_points, max(n_features, len(nodes)), _BLOCK):
        progress(block.start / n_points, "placing points", f"{block.start:,} of {n_points:,}")
        points = scaling.apply(rows.values(block.start, block.stop), block.start)
        norm[block] = poincare.norm(points.astype(np.float64))[:, 0]
        likely = decoding.choices(torch.from_numpy(points).to(nodes.device), nodes)
        chosen[block] = likely.parent[:, 0]
        log_probability[block] = likely.log_probability[:, 0]
    return chosen, log_probability, norm


def _parent_probability(likely: decoding.LikelyParents, number: int) -> Float:
    """Probabilities of the parents at that rank, NaN where there is none."""
    exists = likely.parent[:, number] >= 0
    return np.where(exists, np.exp(likely.log_probability[:, number]), np.nan)


def _tree(parent: Int, height: Float, leaf_of_point: Int, columns: dict[str, Any]) -> Tree:
    """The tree of these rows; they keep their order, since parents come first. Leaves are named by
    number."""
    n_nodes = len(parent)
    heights = np.concatenate([height, np.zeros(n_nodes - len(height))])
    name = np.full(n_nodes, None, dtype=object)
    leaves = np.flatnonzero(np.bincount(parent[1:], minlength=n_nodes) == 0)
    name[leaves] = [str(number) for number in range(leaves.size)]
    return from_parents(parent, heights, name, leaf_of_point, extra=columns)


@dataclass(frozen=True, slots=True)
class PointLeaves:
    """The nodes of a tree with a leaf for each of N points.

    leaf : (N,) the leaf of each point. shared : (N,) whether the point shared its leaf, so that
    `leaf` is new. parent : (M',) parent of each node. columns : (M',) each, by name.
    """

    leaf: Int
    shared: Mask
    parent: Int
    columns: dict[str, Array]


def point_leaves(ball_tree: BallTree, norm: Float) -> PointLeaves:
    """The nodes of the tree with a leaf for each point.

    norm : (N,) hyperbolic norms of the points.
    """
    tree = ball_tree.tree
    group = tree.leaf_of_point.astype(np.int64)
    shared = np.bincount(group, minlength=tree.n_nodes)[group] > 1
    n_new = int(shared.sum())
    leaf = np.where(shared, tree.n_nodes + np.cumsum(shared) - 1, group)
    columns = {
        name: np.concatenate([column, _blank(column, n_new)]) for name, column in tree.extra.items()
    }
    columns["norm"][leaf[shared]] = norm[shared]
    columns["parent_probability"][leaf[shared]] = ball_tree.probability[shared]
    return PointLeaves(leaf, shared, np.concatenate([tree.parent, group[shared]]), columns)


def _blank(column: Array, n: int) -> Array:
    """`n` values that stand for no node or no probability in a column."""
    return np.full(n, -1 if column.dtype.kind == "i" else np.nan, dtype=column.dtype)


MOST = 1 << 13
"""The largest number of points of a group that are merged."""


@dataclass(frozen=True, slots=True)
class LeafMerges:
    """The nodes of a tree with a leaf for each of N points; the `BallTree`'s come first.

    leaf : (N,) the leaf of each point. parent, height : (M',) of each node, parents first.
    columns : (M',) each, by name; merges have norm and probabilities NaN, leaves the point's.
    n_large : number of groups of more than `MOST` points.
    """

    leaf: Int
    parent: Int
    height: Float
    columns: dict[str, Array]
    n_large: int


def leaf_merges(ball_tree: BallTree, points: Single, progress: Progress) -> LeafMerges:
    """The nodes of the tree with a leaf for each point. points : (N, D), of the ball."""
    tree = ball_tree.tree
    group = tree.leaf_of_point.astype(np.int64)
    order = np.argsort(group, kind="stable")
    groups, start, size = np.unique(group[order], return_index=True, return_counts=True)
    leaf = group.copy()
    parents, heights = [tree.parent.astype(np.int64)], [tree.height.copy()]
    n_nodes, n_merged = tree.n_nodes, 0
    for node, begin, n_members in zip(groups.tolist(), start.tolist(), size.tolist(), strict=True):
        if n_members == 1:
            continue
        progress(n_merged / len(group), "joining points within leaves")
        members = order[begin : begin + n_members]
        if n_members > MOST:
            parent, height = np.full(n_members, node), np.zeros(n_members)
        else:
            parent, height, heights[0][node] = _merged(points[members], node, n_nodes)
        parents.append(parent)
        heights.append(height)
        n_nodes += len(parent)
        n_merged += n_members
        # The leaves come last, in order of the points.
        leaf[members] = n_nodes - n_members + np.arange(n_members)
    for node in range(tree.n_nodes - 1, 0, -1):
        above = tree.parent[node]
        heights[0][above] = max(heights[0][above], heights[0][node])
    shared = leaf != group
    columns = {
        name: np.concatenate([column, _blank(column, n_nodes - tree.n_nodes)])
        for name, column in tree.extra.items()
    }
    norm = poincare.hyperbolic_norm(points[shared].astype(np.float64))[:, 0]
    columns["norm"][leaf[shared]] = norm
    columns["parent_probability"][leaf[shared]] = ball_tree.probability[shared]
    return LeafMerges(
        leaf,
        np.concatenate(parents),
        np.concatenate(heights),
        columns,
        int((size > MOST).sum()),
    )


def merged_tree(merges: LeafMerges) -> Tree:
    """The tree of these nodes, which keep their numbers. Leaves are named by number."""
    n_nodes = len(merges.parent)
    leaves = np.flatnonzero(np.bincount(merges.parent[1:], minlength=n_nodes) == 0)
    name = np.full(n_nodes, None, dtype=object)
    name[leaves] = [str(number) for number in range(leaves.size)]
    return from_parents(merges.parent, merges.height, name, merges.leaf, extra=merges.columns)


def merge_warnings(merges: LeafMerges) -> tuple[str, ...]:
    """What was left out."""
    if not merges.n_large:
        return ()
    return (
        f"{merges.n_large} node(s) were selected by more than {MOST:,} points each, which are "
        "siblings below it, not joined by average linkage. More nodes ('n_internal') make smaller "
        "groups.",
    )


def _merged(points: Single, node: int, n_nodes: int) -> tuple[Int, Float, float]:
    """Average linkage below a node: parents (2 n - 2,) and heights of the new nodes, merges from
    the last but one to the first, then leaves; and the height of the last merge, `node` itself.

    points : (n, D), n > 1. n_nodes : the number of the first new node.
    """
    n_points = len(points)
    linkage = merged(half_distances(points), "average")
    part, height = linkage[:, :2].astype(np.int64), linkage[:, 2]
    # SciPy numbers points from 0, merges from n on.
    number = np.empty(2 * n_points - 1, dtype=np.int64)
    number[:n_points] = n_nodes + n_points - 2 + np.arange(n_points)
    number[n_points:-1] = n_nodes + n_points - 3 - np.arange(n_points - 2)
    number[-1] = node
    parent = np.empty(2 * n_points - 2, dtype=np.int64)
    parent[number[part] - n_nodes] = number[n_points:, None]
    # Rounding of equal distances may not make a merge lower than one below it.
    height = np.maximum.accumulate(height)
    below = np.concatenate([height[-2::-1], np.zeros(n_points)])
    return parent, below, float(height[-1])


def half_distances(points: Single) -> Float:
    """(n (n - 1) / 2,) half the hyperbolic distances of points (n, D), in SciPy's order."""
    wide = points.astype(np.float64)
    halves = pairwise(wide, "sqeuclidean")
    inverse_gap = 1 / poincare.gap(wide)[:, 0]
    begin = 0
    for number in range(len(wide) - 1):
        end = begin + len(wide) - 1 - number
        halves[begin:end] *= inverse_gap[number] * inverse_gap[number + 1 :]
        begin = end
    np.sqrt(halves, out=halves)
    return np.arcsinh(halves, out=halves)
