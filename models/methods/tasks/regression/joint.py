"""Regressors of tasks and a tree over the tasks, learned together (eq. 21).

Tasks start at ridge (or logistic) regressions of what the regressor of all rows together leaves
over, with one penalty for all; the farthest of them lies at `point_norm`. Nodes start as an
agglomerative tree over these points (`hyperbolic.ball.seeding`). Then points and nodes move
together, and the last points serve. For the tree nodes move once more, the points being still, from
the best of these nodes and `n_init` draws of new ones, and those that make the best tree serve
(`hyperbolic.ball.tree_cost`).

How much the tree counts, `sharing`, is given, or it and the number of steps, in rounds of `ROUND`,
are those of least loss on folds of rows; no step at all is one of the choices.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §4 and §5.

Cost: O(B M D + N D) a step for batches of B triples, M nodes, N rows or `points.MOST_ROWS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.checks import distinct
from models.method import Checkpoint
from models.methods.hyperbolic.ball import losses, seeding
from models.methods.hyperbolic.ball.training import Effort, Trained, train
from models.methods.tasks.regression import linear, single
from models.methods.tasks.regression.linear import n_outputs
from models.methods.tasks.regression.points import Chart, Moves, Rows, TaskPoints, TreeOfTasks
from models.methods.tasks.regression.table import Problem, Table
from models.progress import Progress, silent, subprogress

if TYPE_CHECKING:
    from torch import Tensor

ROUND = 50
USUAL_NODES = 500
"""Nodes at most, where none are asked for."""

SHARED_PENALTY = 1.0
"""Of the regressor of all rows."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How it is done; as the parameters of the method."""

    n_internal: int | None
    n_init: int
    point_norm: float
    max_norm: float
    max_iter: int
    batch_size: int
    learning_rate: float
    n_neighbors: int
    seed: int
    threads: int


@dataclass(frozen=True, slots=True)
class Start:
    """weights : (T, O, Q), points of the chart; what they are fitted to."""

    weights: Float
    chart: Chart
    rows: Rows


@dataclass(frozen=True, slots=True)
class Joint:
    """points : (T, O Q) of the ball at the start and after each round. nodes : (M, O Q) after the
    last one, and how they came there; None where fewer than three tasks differ."""

    points: list[npt.NDArray[np.float32]]
    trained: Trained | None


def started(
    columns: Float, targets: Float, table: Table, fold: Int, asked: Asked, progress: Progress
) -> Start:
    """The regressors to start from. fold : (N,), of classes, to choose the penalty by."""
    problem: Problem = "classification" if table.classes else "regression"
    outputs, n_rows = n_outputs(table.classes), len(targets)
    if problem == "regression":
        shared = single.ridge(columns, targets, SHARED_PENALTY, True)[None, :]
        rest = targets - columns @ shared[0]
        own = single.ridges(columns, rest, table.start, None, "together", progress, intercept=False)
        variance = float(own.losses.sum(axis=0).min()) / n_rows
    else:
        zeros = np.zeros((outputs, columns.shape[1]))
        shared = single.logistic(columns, targets, SHARED_PENALTY, zeros)
        own = single.logistics(
            columns, table, None, "together", fold, progress, offset=columns @ shared.T
        )
        variance = 1.0
    length = np.sqrt((own.weights**2).sum(axis=(1, 2))).max()
    chart = Chart(shared, asked.point_norm / length if length > 0 else 1.0)
    # Targets that are met exactly leave no variance.
    rows = Rows(columns, targets, table.task, table.n_tasks, problem, max(variance, 1e-6))
    return Start(shared + own.weights, chart, rows)


def learned(
    start: Start,
    sharing: float,
    n_steps: int,
    asked: Asked,
    checkpoint: Checkpoint,
    progress: Progress,
) -> Joint:
    """Move tasks and nodes together for so many steps. To be called without gradients."""
    rng = np.random.default_rng(asked.seed)
    of_seeds, of_points, of_noise = (int(one) for one in rng.integers(2**63, size=3))
    points = start.chart.points(start.weights)
    first, _ = distinct(points)
    if len(first) < 3:
        return Joint([points], None)
    nodes = _seeded(points, first, asked, np.random.default_rng(of_seeds))
    leaves = TaskPoints(
        points, start.chart, start.rows, _moves(sharing, asked), of_points, asked.threads
    )
    moved = train(
        leaves,
        nodes,
        TreeOfTasks(leaves),
        _effort(n_steps, "last", asked),
        of_noise,
        checkpoint,
        progress,
    )
    return Joint(leaves.history, moved)


def settled(found: Joint, nodes: Tensor, start: Start, asked: Asked, progress: Progress) -> Trained:
    """Nodes of the best tree over the last points, from `nodes` or new ones."""
    rng = np.random.default_rng([asked.seed, 1])
    of_points, of_noise = (int(one) for one in rng.integers(2**63, size=2))
    points = found.points[-1]
    leaves = TaskPoints(
        points, start.chart, start.rows, _moves(1.0, asked), of_points, asked.threads, still=True
    )
    judge, (first, _) = TreeOfTasks(leaves), distinct(points)
    best, least = nodes, judge.cost(nodes)
    for number in range(asked.n_init if len(first) > 2 else 0):
        progress(0.3 * number / asked.n_init, "seeding nodes")
        drawn = _seeded(points, first, asked, rng)
        cost = judge.cost(drawn)
        if cost < least:
            best, least = drawn, cost
    effort = _effort(asked.max_iter, "best", asked)
    within = subprogress(progress, 0.3, 1.0)
    return train(leaves, best, judge, effort, of_noise, Checkpoint(), within)


def _seeded(
    points: npt.NDArray[np.float32], first: Int, asked: Asked, rng: np.random.Generator
) -> Tensor:
    import torch

    usual = min(max(3, len(points) // 2 + 1), USUAL_NODES)
    n_nodes = min(asked.n_internal or usual, 2 * len(first) - 1)
    nodes = seeding.seeded(
        points,
        first,
        n_nodes,
        "k-means",
        "midpoint",
        asked.point_norm,
        asked.max_norm,
        rng,
        silent,
    )
    return torch.from_numpy(nodes)


def _moves(sharing: float, asked: Asked) -> Moves:
    return Moves(sharing, asked.learning_rate, asked.batch_size, asked.n_neighbors, asked.max_norm)


def _effort(n_steps: int, keep: Literal["best", "last"], asked: Asked) -> Effort:
    return Effort(
        max_iter=n_steps,
        round_size=ROUND,
        batch_size=asked.batch_size,
        learning_rate=asked.learning_rate,
        optimizer="sgd",
        max_norm=asked.max_norm,
        structure_every=1,
        keep=keep,
        objective=losses.Objective(temperature=0.1, mask="nearest"),
    )


def losses_on_folds(
    columns: Float,
    targets: Float,
    table: Table,
    fold: Int,
    sharings: list[float],
    asked: Asked,
    progress: Progress,
) -> Float:
    """(S, R + 1) of each sharing the mean loss of rows that were not fitted to, after so many
    rounds; one column where tasks do not differ."""
    problem: Problem = "classification" if table.classes else "regression"
    n_rounds = -(-asked.max_iter // ROUND)
    total, n_out = np.zeros((len(sharings), n_rounds + 1)), 0
    n_folds = int(fold.max()) + 1
    for number in range(n_folds):
        out = fold == number
        if not out.any():
            continue
        n_out += int(out.sum())
        within = subprogress(progress, number / n_folds, (number + 1) / n_folds)
        start = started(
            columns[~out],
            targets[~out],
            table.part(~out),
            fold[~out],
            asked,
            subprogress(within, 0.0, 0.1),
        )
        for at, sharing in enumerate(sharings):
            begin = 0.1 + 0.9 * at / len(sharings)
            part = subprogress(within, begin, begin + 0.9 / len(sharings), f"sharing {sharing:g}")
            found = learned(start, sharing, asked.max_iter, asked, Checkpoint(), part)
            for done in range(n_rounds + 1):
                # A fit that diverged stays where it was.
                points = found.points[min(done, len(found.points) - 1)]
                weights = start.chart.weights(points)
                scores = linear.scores(columns[out], table.task[out], weights)
                total[at, done] += linear.loss(scores, targets[out], problem).sum()
    mean: Float = total / max(1, n_out)
    return mean
