"""Steps on the expected cost, taken ahead, against the same steps one by one by autograd."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from models.methods.hyperbolic.ball import cost_steps_torch
from models.methods.hyperbolic.ball.descent import Descent
from models.methods.hyperbolic.ball.expected_cost_torch import expected_cost
from models.methods.hyperbolic.ball.parameters import BallEffort
from models.methods.hyperbolic.ball.training import take_steps
from models.running.progress import silent
from tests.models.methods.hyperbolic.ball.points_kit import scattered
from tests.models.methods.hyperbolic.ball.training_kit import EFFORT, source_and_cost

pytestmark = pytest.mark.needs("torch")

EXPECTED = replace(
    EFFORT, objective=replace(EFFORT.objective, form="expected", temperature=0.3), structure_every=0
)


def one_by_one(effort: BallEffort, nodes: torch.Tensor, n_steps: int) -> tuple[Descent, float]:
    """The same draws, each with the gradient of its cost; the mean cost."""
    triples, _ = source_and_cost()
    triples.begin_round(0, silent)
    mover = Descent(nodes.clone(), effort.optimizer, effort.learning_rate, effort.max_norm)
    total = 0.0
    for step in range(n_steps):
        moving = mover.points.detach().requires_grad_()
        cost = expected_cost(triples.draw(), moving, effort.objective.temperature)
        total += float(cost.detach())
        mover.learning_rate = effort.rate(step)
        mover.step(*torch.autograd.grad(cost, moving))
    return mover, total / n_steps


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
# Nodes that are brought back to one norm have no order that rounding does not change.
@pytest.mark.parametrize(("max_norm", "n_steps"), [(0.95, 23), (0.5, 1)])
def test_they_are_the_steps_one_by_one(
    optimizer: Any, max_norm: float, n_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_steps_torch, "MOST_STEPS", 7)
    effort = replace(EXPECTED, optimizer=optimizer, max_norm=max_norm, decay=True)
    nodes = scattered(11, 4, 0).float().renorm(2, 0, max_norm)
    expected, cost = one_by_one(effort, nodes, n_steps)
    triples, _ = source_and_cost()
    triples.begin_round(0, silent)
    mover = Descent(nodes.clone(), effort.optimizer, effort.learning_rate, effort.max_norm)
    reported: list[int] = []
    with torch.no_grad():
        mean = take_steps(triples, mover, effort, 0, n_steps, [7, 0], reported.append)
    assert mean == pytest.approx(cost, rel=1e-5)
    assert reported == [*range(0, n_steps, 10)]
    assert not torch.equal(mover.points, nodes)
    assert mover.points.numpy() == pytest.approx(expected.points.numpy(), abs=1e-4)
    for name, array in mover.arrays().items():
        assert array == pytest.approx(expected.arrays()[name], rel=1e-3, abs=1e-5)
