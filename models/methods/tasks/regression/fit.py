"""The fit of `ghhc-mtl`, from its inputs to its tree, metrics, curves and warnings.

Each stage is described in its module: `table`, `joint`.

`over_tasks` gives the tree over tasks described by nodes of the ball: each leaf is a task, with its
rows. Tasks select nodes like points (`hyperbolic.ball.extraction`). A leaf there that several tasks
selected is a node above them here, in the same place. Columns come from the extraction: `norm` of
the only task that selected a node is that of the node, `parent_probability` that of the task's
choice.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §3.1 and §4.2.

Cost of the tree: that of the extraction, and O(N + T).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Arrays, Float, Single
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Checkpoint, Fitted, Run
from models.methods.hyperbolic.ball.extraction import BallTree, extract, point_leaves
from models.methods.hyperbolic.ball.points import BallScaling
from models.methods.hyperbolic.ball.training import TrainedNodes
from models.methods.tasks.regression import joint
from models.methods.tasks.regression.inputs import GHHCMTLParams
from models.methods.tasks.regression.linear import Standardization
from models.methods.tasks.regression.result import result
from models.methods.tasks.regression.table import Table, folds, held_out, table_of
from models.numerics import poincare
from models.running.progress import silent, subprogress
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


SHARINGS = [10.0, 30.0, 100.0]
"""Values of `sharing` to choose from."""


def fit(data: Data, params: GHHCMTLParams, run: Run) -> Fitted:
    """The whole fit. To be called within `models.running.device.computing`."""
    run.progress(0.02, "ordering rows")
    table = table_of(data, params.problem)
    out = held_out(table, params.held_out, run.rng)
    fitted = table.part(~out)
    scaling = Standardization.of(fitted)
    columns, targets = scaling.columns(fitted), scaling.targets(fitted)
    fold = folds(fitted, params.n_folds, run.rng)
    seed = int(run.rng.integers(2**63))
    effort = joint.JointEffort(params, seed, run.threads)
    checkpoint = _FoldCheckpoint(run.checkpoint)
    warnings: tuple[str, ...] = ()
    curve: list[tuple[int, float]] = []
    sharing, n_steps = params.sharing or SHARINGS[1], params.max_iter
    if params.sharing is None and (fold >= 0).any():
        if checkpoint.losses is None:
            progress = subprogress(run.progress, 0.05, 0.75)
            checkpoint.losses = joint.losses_on_folds(
                columns, targets, fitted, fold, SHARINGS, effort, progress
            )
        losses = checkpoint.losses
        best, n_rounds = (int(index) for index in np.unravel_index(losses.argmin(), losses.shape))
        sharing, n_steps = SHARINGS[best], min(n_rounds * joint.ROUND, params.max_iter)
        curve = [(number * joint.ROUND, float(loss)) for number, loss in enumerate(losses[best])]
    elif params.sharing is None:
        warnings = (
            "No task has two rows, so the rows do not determine how much tasks share; 'sharing' is "
            f"{sharing:g}.",
        )
    start = joint.start_regressors(
        columns, targets, fitted, fold, params.point_norm, subprogress(run.progress, 0.75, 0.8)
    )
    progress = subprogress(run.progress, 0.8, 0.9)
    learned = joint.learn(start, sharing, n_steps, effort, checkpoint, progress)
    weights = start.chart.weights(learned.points[-1])
    metrics = {"sharing": sharing, "n_steps": float(n_steps)}
    if learned.trained is None:
        tree = star(table)
        warnings += (
            "Fewer than three tasks differ, so they make no triples and the tree no groups.",
        )
    else:
        progress = subprogress(run.progress, 0.9, 0.99)
        settled = joint.settle_nodes(learned, learned.trained.nodes, start, effort, progress)
        tree = over_tasks(learned.points[-1], settled.nodes, table)
        metrics["cost"] = settled.best_cost
        no_steps_chosen = n_steps < min(1, params.max_iter)
        warnings += _training_warnings(learned.trained, no_steps_chosen)
    return result(
        tree,
        weights,
        scaling,
        table,
        fitted,
        table.part(out),
        params.problem,
        metrics,
        warnings,
        {"loss_on_folds": curve} if curve else {},
    )


def _training_warnings(trained: TrainedNodes, no_steps_chosen: bool) -> tuple[str, ...]:
    if trained.diverged:
        return (f"The fit diverged and was stopped: {trained.diverged}. Lower 'learning_rate'.",)
    if no_steps_chosen:
        return ("No number of steps improved the regressors over those they started from.",)
    return ()


class _FoldCheckpoint(Checkpoint):
    """A checkpoint that also saves the losses on folds, so that they are measured once."""

    def __init__(self, whole: Checkpoint) -> None:
        self._whole = whole
        saved = dict(whole.load() or {})
        self.losses: Float | None = saved.pop("losses_on_folds", None)
        self._saved: Arrays | None = saved or None

    def load(self) -> Arrays | None:
        return self._saved

    def save(self, state: Arrays) -> None:
        if self.losses is not None:
            state = {**state, "losses_on_folds": self.losses}
        self._whole.save(state)
