"""Steps on the expected cost where all nodes count and points do not move: few operations each.

The points of several steps are drawn and laid on the hyperboloid together; nodes and the state of
their steps are rows that are sorted by norm as a whole; what a step sums up is kept until the last
of these steps, and gives the cost. So no value is read before a round of steps ends.

Cost: as `ball.cost_gradient_torch`, a step; memory `AHEAD` values more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from models.methods.hyperbolic.ball.cost_gradient_torch import (
    N_SUMS,
    CostGradient,
    cost_of,
    on_hyperboloid,
)
from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce, Descent

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.methods.hyperbolic.ball.triples import FixedTriples

AHEAD = 1 << 21
"""The most values of points that are drawn ahead, ..."""

MOST_STEPS = 20
"""... and the most steps."""


def take_cost_steps(
    triples: FixedTriples,
    mover: Descent,
    n_all: int,
    temperature: float,
    rate: Callable[[int], float],
    n_steps: int,
    report: Callable[[int], None],
    all_reduce: AllReduce = SINGLE,
) -> Tensor:
    """Takes `n_steps` steps; the sum of their costs, weighted by this process's part of them.

    n_all : triples of a step in all processes. rate : the length of each step. report : is called
    with the number of steps so far, every ten.
    """
    state, room = mover.ordered(), mover.room()
    n_nodes, n_columns = mover.points.shape
    n_ahead = max(1, min(MOST_STEPS, n_steps, AHEAD // (3 * n_all * (n_columns + 1))))
    n_triples = n_all if all_reduce.size == 1 else len(range(n_all)[all_reduce.part(n_all)])
    gradient = CostGradient(n_triples, n_nodes, n_columns, state.dtype, state.device)
    children = gradient.children(n_ahead, n_columns)
    sums = state.new_zeros((n_ahead, N_SUMS, n_nodes))
    other, half = torch.empty_like(state), state.new_empty((n_nodes, 1))
    share = n_triples / n_all
    total = state.new_zeros((), dtype=torch.float64)
    one_half = total + 0.5
    for step in range(n_steps):
        place = step % n_ahead
        if place == 0:
            n_drawn = min(n_ahead, n_steps - step)
            points = triples.ahead(n_drawn).flatten(1, 2)
            lead = on_hyperboloid(points, children[:n_drawn, 1 + n_nodes :])
        norm = torch.linalg.vector_norm(state[:, 1 : 1 + n_columns], dim=1, dtype=torch.float64)
        norm, order = norm.sort(stable=True)
        torch.index_select(state, 0, order, out=other)
        state, other = other, state
        torch.addcmul(one_half, norm, norm, value=-0.5, out=half[:, 0])
        rows = state[:, : 1 + n_columns] / half
        nodes, first = state[:, 1 : 1 + n_columns], state[:, 1 + n_columns : 1 + 2 * n_columns]
        slopes = gradient(
            rows, children[place], lead[place], sums[place], temperature, all_reduce, share
        )
        slopes.of_nodes(nodes, room[:, 1:])
        if all_reduce.size > 1:
            slope = room[:, 1:] * share
            all_reduce.sum(slope)
            room[:, 1:] = slope
        mover.learning_rate = rate(step)
        mover.move(nodes, first, state[:, -2:-1], room, half)
        if place == n_drawn - 1:
            total.add_(cost_of(sums[:n_drawn]), alpha=share)
        if step % 10 == 0:
            report(step)
    mover.put_back(state)
    return total
