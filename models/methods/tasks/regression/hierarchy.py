"""The tree over tasks described by nodes of the ball: each leaf is a task, with its rows.

Tasks select nodes like points (`hyperbolic.ball.extraction`). A leaf there that several tasks
selected is a node above them here, in the same place. Columns are those of the extraction: `norm`
of the only task that selected a node is that of the node, `parent_probability` that of the task's
choice.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1 and §4.2.

Cost: that of the extraction, and O(N + T).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Single
from models.inputs.rows import ArrayRows
from models.methods.hyperbolic.ball.extraction import BallTree, extract
from models.methods.hyperbolic.ball.point_leaves import point_leaves
from models.methods.hyperbolic.ball.scaling import BallScaling
from models.methods.tasks.regression.table import Table
from models.numerics import poincare
from models.running.progress import silent
from models.tree.build import from_parents
from models.tree.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor


def over_tasks(points: Single, nodes: Tensor, table: Table) -> Tree:
    """The tree whose points are the rows, in input order, and whose leaves are the tasks.

    points : (T, D) points of the tasks. nodes : (M, D).
    """
    as_they_are = BallScaling("none", np.zeros(points.shape[1]), 1.0, 1.0)
    ball_tree = extract(ArrayRows(points), as_they_are, nodes, silent)
    return _with_task_leaves(ball_tree, points, table)


def star(table: Table) -> Tree:
    """The tree with all tasks below one root."""
    n_tasks = table.n_tasks
    parent = np.zeros(n_tasks + 1, dtype=np.int64)
    parent[0] = -1
    height = np.zeros(n_tasks + 1)
    height[0] = 1.0
    names = [None, *table.names]
    return from_parents(parent, height, names, table.by_row(1 + np.arange(n_tasks)))


def _with_task_leaves(ball_tree: BallTree, points: Single, table: Table) -> Tree:
    tree = ball_tree.tree
    norm = poincare.hyperbolic_norm(points.astype(np.float64))[:, 0]
    leaves = point_leaves(ball_tree, norm)
    n_new = int(leaves.shared.sum())
    height = np.concatenate([tree.height, np.zeros(n_new)])
    # Leaves that several tasks selected are now inner nodes, and keep their place in the ball.
    above = np.unique(tree.leaf_of_point[leaves.shared])
    node_norm = np.asarray(tree.extra["norm"])
    furthest = max(float(node_norm.max()), float(norm.max()))
    limit = np.where(tree.parent[above] >= 0, tree.height[tree.parent[above]], np.inf)
    height[above] = np.clip(furthest - node_norm[above], 0.0, limit)
    names = np.full(len(leaves.parent), None, dtype=object)
    names[leaves.leaf] = table.names
    leaf_of_point = table.by_row(leaves.leaf)
    return from_parents(leaves.parent, height, names, leaf_of_point, extra=leaves.columns)
