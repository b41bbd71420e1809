"""The tree that nodes of the ball stand for, over given points.

Every node and point selects its parent (`ball.decoding`). Nodes without points and
nodes with a single child and no points of their own are left out, and the rest select again, until
all that are left are needed: so every parent is the one of eq. 4 among the nodes of the tree. Where
points and nodes selected one node, the points get a leaf of their own below it, beside those nodes;
a node that only points selected is their leaf.

Rows of the tree: the nodes that are left in order of norm, so that row r of `Extracted.nodes` is
node r, then the points' own leaves. A node's height is how much further out the outermost point or
node lies, in the hyperbolic norm; leaves lie at 0.

Columns of the tree: `norm`, hyperbolic; `parent_probability` by eq. 5, of points' own leaves the
mean over their points; `alternative_1`, `alternative_2`, the next likely parents (-1: none), and
their probabilities `alternative_1_probability`, `alternative_2_probability`. The root has none.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1 and §4.2.

Cost: that of `decoding` twice for points, a few times for nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int, row_blocks
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.scaling import Scaling
from models.numerics import poincare
from models.progress import Progress, subprogress
from models.rows import Rows
from models.tree.build import from_parents
from models.tree.parents import under
from models.tree.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor


N_ALTERNATIVES = 2

_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class Extracted:
    """A tree with what it was made from.

    nodes : (S, D) float32, its nodes but for points' own leaves. leaf_of_node : (S,) the leaf of
    points that select it, -1 where none did. probability : (N,) of each point's parent.
    log_probability : the tree's, eq. 6, up to a constant. n_central : points at the origin.
    """

    tree: Tree
    nodes: npt.NDArray[np.float32]
    leaf_of_node: Int
    probability: Float
    log_probability: float
    n_central: int


def extract(rows: Rows, scaling: Scaling, nodes: Tensor, progress: Progress) -> Extracted:
    """The tree over all rows. nodes : (M, D), in any order."""
    ordered = nodes[decoding.ranked(nodes)]
    chosen, _, _ = _select(rows, scaling, ordered, subprogress(progress, 0.0, 0.5))
    left, chosen = needed(ordered, chosen)
    among = decoding.parents(left, 1 + N_ALTERNATIVES)
    chosen, of_points, outermost = _select(rows, scaling, left, subprogress(progress, 0.5, 1.0))
    n_central = int((outermost == 0).sum())
    parent = among.parent[:, 0]
    inside = np.bincount(chosen, minlength=len(parent))
    has_child = np.bincount(parent[1:], minlength=len(parent)) > 0
    own = np.flatnonzero((inside > 0) & has_child)
    leaf_of_node = np.where(inside > 0, np.arange(len(parent)), -1)
    leaf_of_node[own] = len(parent) + np.arange(own.size)
    norm = poincare.hyperbolic_norm(left.double().cpu().numpy())[:, 0]
    furthest = max(norm.max(), 2 * np.arctanh(min(outermost.max(initial=0.0), 1 - 1e-12)))
    height = np.where(has_child, furthest - norm, 0.0)
    probability = np.exp(of_points)
    mean = np.bincount(chosen, probability, len(parent)) / np.maximum(inside, 1)
    columns = {
        "norm": np.concatenate([norm, norm[own]]),
        "parent_probability": np.concatenate([_of_parents(among, 0), mean[own]]),
    }
    for number in range(1, 1 + N_ALTERNATIVES):
        name = f"alternative_{number}"
        columns[name] = np.concatenate([among.parent[:, number], np.full(own.size, -1)])
        columns[f"{name}_probability"] = np.concatenate(
            [_of_parents(among, number), np.full(own.size, np.nan)]
        )
    tree = _tree(np.concatenate([parent, own]), height, leaf_of_node[chosen], columns)
    total = float(of_points.sum() + among.log_probability[1:, 0].sum())
    kept = left.float().cpu().numpy()
    return Extracted(tree, kept, leaf_of_node, probability, total, n_central)


def needed(nodes: Tensor, chosen: Int) -> tuple[Tensor, Int]:
    """The nodes of the tree, of `nodes` in order of norm, and the points' choices among them."""
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
    rows: Rows, scaling: Scaling, nodes: Tensor, progress: Progress
) -> tuple[Int, Float, Float]:
    """Each point's parent, the logarithm of its probability, and the point's norm."""
    import torch

    n_points, n_features = rows.shape
    chosen = np.empty(n_points, dtype=np.int64)
    log_probability = np.empty(n_points)
    norm = np.empty(n_points)
    for block in row_blocks(n_points, max(n_features, len(nodes)), _BLOCK):
        progress(block.start / n_points, "placing points", f"{block.start:,} of {n_points:,}")
        points = scaling.apply(rows.values(block.start, block.stop), block.start)
        norm[block] = poincare.norm(points.astype(np.float64))[:, 0]
        found = decoding.choices(torch.from_numpy(points).to(nodes.device), nodes)
        chosen[block] = found.parent[:, 0]
        log_probability[block] = found.log_probability[:, 0]
    return chosen, log_probability, norm


def _of_parents(among: decoding.Chosen, number: int) -> Float:
    """Probabilities of the parents of that number, NaN where there is none."""
    there = among.parent[:, number] >= 0
    return np.where(there, np.exp(among.log_probability[:, number]), np.nan)


def _tree(parent: Int, height: Float, leaf_of_point: Int, columns: dict[str, Any]) -> Tree:
    """Parents come first, so rows keep their numbers. Leaves are named by their number."""
    n_nodes = len(parent)
    heights = np.concatenate([height, np.zeros(n_nodes - len(height))])
    name = np.full(n_nodes, None, dtype=object)
    leaves = np.flatnonzero(np.bincount(parent[1:], minlength=n_nodes) == 0)
    name[leaves] = [str(number) for number in range(leaves.size)]
    return from_parents(parent, heights, name, leaf_of_point, extra=columns)
