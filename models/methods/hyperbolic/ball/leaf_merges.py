"""A leaf for each point of a `BallTree`: points that selected one node, joined by average linkage.

Nodes of the ball separate groups of points; within a group the tree of eq. 4 says nothing. Here the
points of a group are merged, two parts at a time, by the least mean hyperbolic distance between
them. The last merge is the node or leaf that they selected, the points are new leaves. The height
of a merge is half that mean distance: so far from both is the middle of two points. Leaves have
height 0, and a node lower than one below it takes that one's height.

A group of more than `MOST` points is not merged: its points become siblings.

The paper stops at the groups; this is the extraction trick of its §4.2, where each point gets a
separate leaf below the node that it selected, with a binary tree in place of a star.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §4.2.

Cost: O(n^2 D) time and 8 n^2 bytes for a group of n points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, Single
from models.methods.hyperbolic.ball.extraction import BallTree
from models.numerics import poincare
from models.numerics.agglomeration import merged
from models.numerics.distances import pairwise
from models.running.progress import Progress
from models.tree.build import from_parents
from models.tree.tree import Tree

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


def _blank(column: Array, n: int) -> Array:
    """`n` values that stand for no node or no probability in a column."""
    return np.full(n, -1 if column.dtype.kind == "i" else np.nan, dtype=column.dtype)
