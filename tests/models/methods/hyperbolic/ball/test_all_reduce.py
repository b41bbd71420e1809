"""A step of several processes is that of one with the whole batch."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.ball.all_reduce import ALONE, Team
from models.methods.hyperbolic.ball.descent import Descent
from models.methods.hyperbolic.ball.training import Effort, steps
from models.methods.hyperbolic.ball.triples import Sampled
from models.progress import silent
from tests.models.methods.hyperbolic.ball.test_losses import scattered
from tests.models.methods.hyperbolic.ball.test_training import EFFORT, leaves_and_judge


class Threads(Team):
    """Threads in place of processes."""

    def __init__(self, rank: int, size: int, met: threading.Barrier, sums: list[Any]) -> None:
        self.rank, self.size, self._met, self._sums = rank, size, met, sums

    def add_up(self, tensor: torch.Tensor) -> None:
        self._sums[self.rank] = tensor.clone()
        self._met.wait(20)
        tensor.copy_(torch.stack(list(self._sums)).sum(dim=0))
        self._met.wait(20)


def moved(team: Team, effort: Effort, sampled: Sampled) -> tuple[torch.Tensor, float | None]:
    mover = Descent(scattered(11, 4, 0).float(), effort.optimizer, effort.learning_rate, 0.95)
    sampled._team, sampled._batch_size = team, effort.batch_size
    sampled.begin(3, silent)
    torch.set_num_threads(1)
    with torch.no_grad():
        found = steps(sampled, mover, effort, 30, [7, 3], lambda step: None, team)
    return mover.points, found


@pytest.mark.parametrize(
    ("size", "effort"),
    [
        (2, EFFORT),
        (3, EFFORT),
        (3, replace(EFFORT, batch_size=16, optimizer="adam")),
        (7, replace(EFFORT, batch_size=7, structure_every=3)),
        (4, replace(EFFORT, structure_every=0)),
    ],
)
def test_parts_of_a_batch_come_to_the_step_of_the_whole(size: int, effort: Effort) -> None:
    alone, wanted = moved(ALONE, effort, leaves_and_judge()[0])
    met, sums, found = threading.Barrier(size), [None] * size, [None] * size

    def work(rank: int, sampled: Sampled) -> None:
        found[rank] = moved(Threads(rank, size, met, sums), effort, sampled)

    several = [
        threading.Thread(target=work, args=(rank, leaves_and_judge()[0])) for rank in range(size)
    ]
    for one in several:
        one.start()
    for one in several:
        one.join()
    for nodes, objective in found:
        assert (nodes == found[0][0]).all()
        assert nodes.numpy() == pytest.approx(alone.numpy(), abs=1e-5)
        assert objective == pytest.approx(wanted, rel=1e-5)


def test_parts_are_all_there_is_and_none_is_empty() -> None:
    for n, size in ((10, 3), (7, 7), (100, 64)):
        parts = []
        for rank in range(size):
            team = Team()
            team.rank, team.size = rank, size
            parts.append(np.arange(n)[team.part(n)])
        assert (np.concatenate(parts) == np.arange(n)).all()
        assert all(len(part) for part in parts)
    assert ALONE.part(5) == slice(0, 5)
