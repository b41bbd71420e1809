"""The tree over tasks that nodes of the ball stand for: each leaf is a task, with its rows.

As points select nodes (`hyperbolic.ball.extraction`), tasks do; a leaf there that several tasks
selected is here a node above them, where it is. Columns are those of the extraction; `norm` of a
task that is its node's only one is the node's, `parent_probability` that of the task's choice.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1 and §4.2.

Cost: that of the extraction, and O(N + T).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.methods.hyperbolic.ball.extraction import Extracted, extract
from models.methods.hyperbolic.ball.scaling import Scaling
from models.methods.tasks.regression.table import Table
from models.numerics import poincare
from models.progress import silent
from models.rows import ArrayRows
from models.tree.build import from_parents
from models.tree.tree import Tree

if TYPE_CHECKING:
    from torch import Tensor


def over_tasks(points: npt.NDArray[np.float32], nodes: Tensor, table: Table) -> Tree:
    """points : (T, D). nodes : (M, D). The points of the tree are the rows as they were given."""
    as_is = Scaling("none", np.zeros(points.shape[1]), 1.0, 1.0)
    found = extract(ArrayRows(points), as_is, nodes, silent)
    return _leafed(found, points, table)


def star(table: Table) -> Tree:
    """All tasks below one root."""
    n_tasks = table.n_tasks
    parent = np.zeros(n_tasks + 1, dtype=np.int64)
    parent[0] = -1
    height = np.zeros(n_tasks + 1)
    height[0] = 1.0
    names = [None, *(str(task) for task in table.tasks)]
    return from_parents(parent, height, names, table.by_row(1 + np.arange(n_tasks)))


def _leafed(found: Extracted, points: npt.NDArray[np.float32], table: Table) -> Tree:
    tree, n_tasks = found.tree, table.n_tasks
    leaf = tree.leaf_of_point.astype(np.int64)
    several = np.bincount(leaf, minlength=tree.n_nodes)[leaf] > 1
    leaf_of_task = np.where(several, tree.n_nodes + np.cumsum(several) - 1, leaf)
    parent = np.concatenate([tree.parent, leaf[several]])
    height = np.concatenate([tree.height, np.zeros(several.sum())])
    norm = poincare.hyperbolic_norm(points.astype(np.float64))[:, 0]
    # Nodes that several tasks selected are above them now, and lie where they lay.
    above = np.unique(leaf[several])
    inner = np.asarray(tree.extra["norm"])
    furthest = max(float(inner.max()), float(norm.max()))
    most = np.where(tree.parent[above] >= 0, tree.height[tree.parent[above]], np.inf)
    height[above] = np.clip(furthest - inner[above], 0.0, most)
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, column in tree.extra.items():
        if name.startswith("alternative") and not name.endswith("probability"):
            more: npt.NDArray[Any] = np.full(several.sum(), -1)
        else:
            more = np.full(several.sum(), np.nan)
        columns[name] = np.concatenate([column, more])
    columns["norm"][leaf_of_task[several]] = norm[several]
    columns["parent_probability"][leaf_of_task[several]] = found.probability[several]
    names = np.full(len(parent), None, dtype=object)
    names[leaf_of_task] = [str(task) for task in table.tasks]
    assert len(set(leaf_of_task.tolist())) == n_tasks
    return from_parents(parent, height, names, table.by_row(leaf_of_task), extra=columns)
