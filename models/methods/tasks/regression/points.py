"""Tasks as points of the Poincaré ball, learned together with the nodes of a tree over them.

The weights of a task are the shared weights plus its point over `radius`:

    w_t = shared + z_t / radius

so the centre of the ball is the common regressor of all rows. The tasks' own loss (C_problem of
eq. 21) is the negative log-likelihood of the rows, Gaussian about w_t.x with one variance for
numbers, of classes otherwise, divided by the number of tasks and by `sharing`: the larger `sharing`
is, the more the losses of the tree count.

Points move by Riemannian Adam, nodes as in any tree of the ball (`hyperbolic.ball.training`).

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §5.

Cost: O(B O D) a step for the rows of a batch, all of them or `MOST_ROWS`, besides that of the
triples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Arrays, Float, Int, Int32, Single
from models.graphs.neighbours import nearest
from models.inputs.checks import distinct
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.decoding import cost_of_choices
from models.methods.hyperbolic.ball.descent import Descent, prefixed, unprefixed
from models.methods.hyperbolic.ball.triples import draw_triples
from models.methods.tasks.regression.inputs import GHHCMTLParams
from models.methods.tasks.regression.table import Problem
from models.running.progress import Progress, silent

if TYPE_CHECKING:
    from torch import Tensor

MOST_ROWS = 1 << 14
"""The number of rows in a step; if there are more, this many are drawn for each step, ..."""

MOST_VALUES = 1 << 23
"""...

or fewer, so that the weights of their tasks have at most this many values, but at least
`LEAST_ROWS` rows.
"""

LEAST_ROWS = 64


@dataclass(frozen=True, slots=True)
class TaskRows:
    """The fitted rows: columns (N, Q), scaled targets (N,), task (N,) of `n_tasks`.

    variance : that of the targets about their regressors; 1 for classes.
    """

    columns: Float
    targets: Float
    task: Int
    n_tasks: int
    problem: Problem
    variance: float


@dataclass(frozen=True, slots=True)
class Chart:
    """The map between weights and points.

    shared : (O, Q) the weights at the centre. radius : a point's norm over that of its weights.
    """

    shared: Float
    radius: float

    def points(self, weights: Float) -> Single:
        """(T, O Q) the points of weights (T, O, Q)."""
        flat = (weights - self.shared).reshape(len(weights), -1)
        return (flat * self.radius).astype(np.float32)

    def weights(self, points: Single) -> Float:
        """(T, O, Q) the weights of points (T, O Q)."""
        own = points.astype(np.float64).reshape(len(points), *self.shared.shape)
        weights: Float = self.shared + own / self.radius
        return weights


class TaskPoints:
    """The tasks as a `TripleSource` (`hyperbolic.ball.triples`).

    start : (T, O Q) points, T > 2. history : the points at the start and after each round.
    sharing : the weight of the tree; None: the points stay, and only nodes move.
    """

    def __init__(
        self,
        start: Single,
        chart: Chart,
        rows: TaskRows,
        params: GHHCMTLParams,
        sharing: float | None,
        seed: int,
        threads: int,
    ) -> None:
        import torch

        self._moving = torch.from_numpy(start.copy())
        self._at = self._moving.detach().requires_grad_()
        self.learned: Sequence[Tensor] = () if sharing is None else (self._at,)
        self._mover = Descent(self._moving, "adam", params.learning_rate, params.max_norm)
        self._rows, self._params, self._sharing = rows, params, sharing
        self._seed, self._threads = seed, threads
        self._radius, self._shape = chart.radius, chart.shared.shape
        self._columns = torch.from_numpy(rows.columns.astype(np.float32))
        self._offset = torch.from_numpy((rows.columns @ chart.shared.T).astype(np.float32))
        self._task = torch.from_numpy(rows.task)
        kind = np.float32 if rows.problem == "regression" else np.int64
        self._targets = torch.from_numpy(rows.targets.astype(kind))
        self.history = [start.copy()]
        self.begin_round(0, silent)

    @property
    def moving(self) -> Tensor:
        return self._moving

    @property
    def near(self) -> Int32:
        """(T, k) neighbours of each task at the start of the last round."""
        return self._near

    def begin_round(self, number: int, progress: Progress) -> None:
        self._rng = np.random.default_rng([self._seed, number])
        points = self._moving.numpy()
        first, place = distinct(points)
        k = min(self._params.n_neighbors, len(first) - 1)
        if k < 1:
            # All tasks coincide: any other one is as near.
            self._near = np.roll(np.arange(len(points), dtype=np.int32), 1)[:, None]
            return
        neighbours = nearest(points[first], k, "euclidean", self._threads, silent)
        self._near = first[neighbours.index].astype(np.int32)[place]

    def draw(self) -> Tensor:
        import torch

        number = draw_triples(self._near, self._params.batch_size, self._rng)
        places = self._at if self.learned else self._moving
        return places[torch.from_numpy(number)]

    def own_loss(self) -> Tensor | None:
        import torch
        from torch.nn import functional as F

        if self._sharing is None:
            return None
        columns, offset, task, targets = self._columns, self._offset, self._task, self._targets
        factor = 1.0
        most = min(MOST_ROWS, max(LEAST_ROWS, MOST_VALUES // self._at.shape[1]))
        if len(columns) > most:
            number = torch.from_numpy(self._rng.integers(len(columns), size=most))
            columns, offset = columns[number], offset[number]
            task, targets = task[number], targets[number]
            factor = len(self._columns) / most
        own = self._at.view(-1, *self._shape)[task] / self._radius
        scores = offset + (own * columns[:, None, :]).sum(dim=2)
        if self._rows.problem == "regression":
            error = scores[:, 0] - targets
            loss = (error * error).sum() / (2 * self._rows.variance)
        elif scores.shape[1] == 1:
            sign = 1.0 - 2.0 * targets
            loss = F.softplus(sign * scores[:, 0]).sum()
        else:
            loss = F.cross_entropy(scores, targets, reduction="sum")
        return loss * (factor / (self._rows.n_tasks * self._sharing))

    def learn(self, gradients: Sequence[Tensor]) -> None:
        self._mover.step(gradients[0])

    def keep(self) -> None:
        self.history.append(self._moving.numpy().copy())

    def arrays(self) -> Arrays:
        return {
            "history": np.stack(self.history),
            **prefixed(self._mover.arrays(), "mover."),
        }

    def restore(self, arrays: Arrays) -> None:
        import torch

        self.history = list(arrays["history"])
        self._moving.copy_(torch.from_numpy(self.history[-1].copy()))
        self._mover.restore(unprefixed(arrays, "mover."))


class TaskTreeCost:
    """The cost of trees over the current points of the tasks, with their neighbours."""

    def __init__(self, tasks: TaskPoints) -> None:
        self._tasks = tasks

    @property
    def n_pairs(self) -> int:
        return int(self._tasks.near.size)

    def of(self, nodes: Tensor) -> float:
        ordered = nodes[decoding.norm_order(nodes)]
        parent = decoding.parents(ordered).parent[:, 0]
        chosen = decoding.choices(self._tasks.moving, ordered).parent[:, 0]
        near = self._tasks.near
        first = np.repeat(np.arange(len(near)), near.shape[1])
        return cost_of_choices(parent, chosen, chosen[first], chosen[near.ravel()])
