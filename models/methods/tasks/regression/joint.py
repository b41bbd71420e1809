"""Regressors of tasks and a tree over the tasks, learned together (eq. 21).

Tasks start at ridge (or logistic) regressions of the residuals of a common regressor, with one
penalty for all; the farthest of them lies at `point_norm`. Nodes start as an agglomerative tree
over these points (`hyperbolic.ball.seeding`). Then points and nodes move together, and the last
points are the result. For the tree, nodes move once more while the points are fixed: from the best
of these nodes and `n_init` new draws, to the nodes of the best tree (`hyperbolic.ball.decoding`).

`sharing`, the weight of the tree, is given; or it and the number of steps, in rounds of `ROUND`,
are chosen by the least loss on folds of rows, with no step at all as one of the choices.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §4 and §5.

Cost: O(B M D + N D) a step for batches of B triples, M nodes, N rows or `points.MOST_ROWS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from models.arrays import Float, Int, Single
from models.inputs.checks import distinct
from models.method import Checkpoint
from models.methods.hyperbolic.ball.parameters import BallEffort, BallObjective, SeedingEffort
from models.methods.hyperbolic.ball.seeding import start_nodes
from models.methods.hyperbolic.ball.training import TrainedNodes, train
from models.methods.tasks.regression import linear
from models.methods.tasks.regression.inputs import GHHCMTLParams
from models.methods.tasks.regression.linear import n_outputs
from models.methods.tasks.regression.points import (
    Chart,
    TaskPoints,
    TaskRows,
    TaskTreeCost,
)
from models.methods.tasks.regression.table import Problem, Table
from models.running.progress import Progress, silent, subprogress

if TYPE_CHECKING:
    from torch import Tensor

ROUND = 50
"""Steps of a round."""

MOST_DEFAULT_NODES = 500
"""The largest number of nodes, if it is not given."""

SHARED_PENALTY = 1.0
"""Penalty of the regressor of all rows."""


@dataclass(frozen=True, slots=True)
class JointEffort:
    """The parameters of a fit, its seed and its threads."""

    params: GHHCMTLParams
    seed: int
    threads: int


@dataclass(frozen=True, slots=True)
class JointStart:
    """The regressors that a fit starts from.

    weights : (T, O, Q). chart : the map between weights and points. rows : the fitted rows.
    """

    weights: Float
    chart: Chart
    rows: TaskRows


@dataclass(frozen=True, slots=True)
class JointFit:
    """Tasks and nodes that were learned together.

    points : (T, O Q) points of the ball, at the start and after each round. trained : the nodes (M,
        O Q) after the last round, with their history; None if fewer than three tasks differ.
    """

    points: list[Single]
    trained: TrainedNodes | None


def start_regressors(
    columns: Float, targets: Float, table: Table, fold: Int, point_norm: float, progress: Progress
) -> JointStart:
    """The regressors to start from.

    columns : (N, Q). fold : (N,) fold of each row, for choosing the penalty if targets are classes.
    point_norm : of the farthest point.
    """
    problem: Problem = "classification" if table.classes else "regression"
    outputs, n_rows = n_outputs(table.classes), len(targets)
    if problem == "regression":
        shared = linear.ridge(columns, targets, SHARED_PENALTY, True)[None, :]
        residual = targets - columns @ shared[0]
        own = linear.ridges(
            columns, residual, table.start, None, "together", progress, intercept=False
        )
        variance = float(own.losses.sum(axis=0).min()) / n_rows
    else:
        zeros = np.zeros((outputs, columns.shape[1]))
        shared = linear.logistic(columns, targets, SHARED_PENALTY, zeros)
        own = linear.logistics(
            columns, table, None, "together", fold, progress, offset=columns @ shared.T
        )
        variance = 1.0
    length = np.sqrt((own.weights**2).sum(axis=(1, 2))).max()
    chart = Chart(shared, point_norm / length if length > 0 else 1.0)
    # Exactly fitted targets leave no variance.
    rows = TaskRows(columns, targets, table.task, table.n_tasks, problem, max(variance, 1e-6))
    return JointStart(shared + own.weights, chart, rows)


def learn(
    start: JointStart,
    sharing: float,
    n_steps: int,
    effort: JointEffort,
    checkpoint: Checkpoint,
    progress: Progress,
) -> JointFit:
    """Tasks and nodes after `n_steps` steps. To be called with torch's gradients off."""
    rng = np.random.default_rng(effort.seed)
    start_seed, point_seed, noise_seed = (int(value) for value in rng.integers(2**63, size=3))
    points = start.chart.points(start.weights)
    first, _ = distinct(points)
    if len(first) < 3:
        return JointFit([points], None)
    nodes = _draw_nodes(points, first, effort.params, np.random.default_rng(start_seed))
    tasks = TaskPoints(
        points, start.chart, start.rows, effort.params, sharing, point_seed, effort.threads
    )
    trained = train(
        tasks,
        nodes,
        TaskTreeCost(tasks),
        _node_effort(n_steps, "last", effort.params),
        noise_seed,
        checkpoint,
        progress,
    )
    return JointFit(tasks.history, trained)


def settle_nodes(
    learned: JointFit, nodes: Tensor, start: JointStart, effort: JointEffort, progress: Progress
) -> TrainedNodes:
    """The nodes of the best tree over the last points, from `nodes` or from new draws."""
    params, rng = effort.params, np.random.default_rng([effort.seed, 1])
    point_seed, noise_seed = (int(value) for value in rng.integers(2**63, size=2))
    points = learned.points[-1]
    tasks = TaskPoints(points, start.chart, start.rows, params, None, point_seed, effort.threads)
    tree_cost, (first, _) = TaskTreeCost(tasks), distinct(points)
    best_nodes, least_cost = nodes, tree_cost.of(nodes)
    for number in range(params.n_init if len(first) > 2 else 0):
        progress(0.3 * number / params.n_init, "seeding nodes")
        drawn = _draw_nodes(points, first, params, rng)
        cost = tree_cost.of(drawn)
        if cost < least_cost:
            best_nodes, least_cost = drawn, cost
    return train(
        tasks,
        best_nodes,
        tree_cost,
        _node_effort(params.max_iter, "best", params),
        noise_seed,
        Checkpoint(),
        subprogress(progress, 0.3, 1.0),
    )


def _draw_nodes(
    points: Single, first: Int, params: GHHCMTLParams, rng: np.random.Generator
) -> Tensor:
    """Nodes (M, O Q) of one draw. first : (U,) the first task of each place."""
    import torch

    default = min(max(3, len(points) // 2 + 1), MOST_DEFAULT_NODES)
    n_nodes = min(params.n_internal or default, 2 * len(first) - 1)
    seeding = SeedingEffort(
        n_nodes=n_nodes,
        n_init=1,
        draw="k-means",
        placement="midpoint",
        point_norm=params.point_norm,
        max_norm=params.max_norm,
    )
    return torch.from_numpy(start_nodes(points, first, n_nodes, seeding, rng, silent))


def _node_effort(n_steps: int, keep: Literal["best", "last"], params: GHHCMTLParams) -> BallEffort:
    return BallEffort(
        max_iter=n_steps,
        round_size=ROUND,
        batch_size=params.batch_size,
        learning_rate=params.learning_rate,
        optimizer="sgd",
        max_norm=params.max_norm,
        structure_every=1,
        keep=keep,
        objective=BallObjective(temperature=0.1, mask="nearest"),
    )


def losses_on_folds(
    columns: Float,
    targets: Float,
    table: Table,
    fold: Int,
    sharings: list[float],
    effort: JointEffort,
    progress: Progress,
) -> Float:
    """(S, R + 1) mean losses of left-out rows, for each sharing after 0 to R rounds.

    If fewer than three tasks differ, nothing moves and all columns are equal.
    """
    problem: Problem = "classification" if table.classes else "regression"
    n_rounds = -(-effort.params.max_iter // ROUND)
    total, n_out = np.zeros((len(sharings), n_rounds + 1)), 0
    n_folds = int(fold.max()) + 1
    for number in range(n_folds):
        out = fold == number
        if not out.any():
            continue
        n_out += int(out.sum())
        within = subprogress(progress, number / n_folds, (number + 1) / n_folds)
        start = start_regressors(
            columns[~out],
            targets[~out],
            table.part(~out),
            fold[~out],
            effort.params.point_norm,
            subprogress(within, 0.0, 0.1),
        )
        for row, sharing in enumerate(sharings):
            begin = 0.1 + 0.9 * row / len(sharings)
            part = subprogress(within, begin, begin + 0.9 / len(sharings), f"sharing {sharing:g}")
            learned = learn(start, sharing, effort.params.max_iter, effort, Checkpoint(), part)
            for n_done in range(n_rounds + 1):
                # A fit that diverged keeps its last points.
                points = learned.points[min(n_done, len(learned.points) - 1)]
                weights = start.chart.weights(points)
                scores = linear.scores(columns[out], table.task[out], weights)
                total[row, n_done] += linear.loss(scores, targets[out], problem).sum()
    mean: Float = total / max(1, n_out)
    return mean
