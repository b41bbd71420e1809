"""A step of several processes is that of one with the whole batch."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce, Descent
from models.methods.hyperbolic.ball.parameters import BallEffort, BallObjective
from models.methods.hyperbolic.ball.training import take_steps
from models.methods.hyperbolic.ball.triples import PoolTriples
from models.running.progress import silent
from tests.models.methods.hyperbolic.ball.points_kit import scattered
from tests.models.methods.hyperbolic.ball.training_kit import EFFORT, source_and_cost

pytestmark = pytest.mark.needs("torch")

EXPECTED = BallObjective(form="expected")


class ThreadAllReduce(AllReduce):
    """Threads in place of processes."""

    def __init__(self, rank: int, size: int, met: threading.Barrier, sums: list[Any]) -> None:
        self.rank, self.size, self._met, self._sums = rank, size, met, sums

    def sum(self, tensor: torch.Tensor) -> None:
        self._sums[self.rank] = tensor.clone()
        self._met.wait(250)
        tensor.copy_(torch.stack(list(self._sums)).sum(dim=0))
        self._met.wait(250)


def moved(
    all_reduce: AllReduce, effort: BallEffort, sampled: PoolTriples
) -> tuple[torch.Tensor, float | None]:
    mover = Descent(scattered(11, 4, 0).float(), effort.optimizer, effort.learning_rate, 0.95)
    sampled._all_reduce, sampled._batch_size = all_reduce, effort.batch_size
    sampled.begin_round(3, silent)
    torch.set_num_threads(1)
    with torch.no_grad():
        moved_nodes = take_steps(
            sampled, mover, effort, 0, 30, [7, 3], lambda step: None, all_reduce
        )
    return mover.points, moved_nodes


@pytest.mark.parametrize(
    ("size", "effort"),
    [
        (2, EFFORT),
        (3, EFFORT),
        (3, replace(EFFORT, batch_size=16, optimizer="adam")),
        (7, replace(EFFORT, batch_size=7, structure_every=3)),
        (4, replace(EFFORT, structure_every=0)),
        (3, replace(EFFORT, objective=EXPECTED, perplexity=1.5, decay=True)),
        (3, replace(EFFORT, objective=EXPECTED, structure_every=0, optimizer="adam")),
    ],
)
def test_parts_of_a_batch_come_to_the_step_of_the_whole(size: int, effort: BallEffort) -> None:
    alone, expected = moved(SINGLE, effort, source_and_cost()[0])
    met, sums, results = threading.Barrier(size), [None] * size, [None] * size

    def work(rank: int, sampled: PoolTriples) -> None:
        results[rank] = moved(ThreadAllReduce(rank, size, met, sums), effort, sampled)

    several = [
        threading.Thread(target=work, args=(rank, source_and_cost()[0])) for rank in range(size)
    ]
    for member in several:
        member.start()
    for member in several:
        member.join()
    for nodes, objective in results:
        assert (nodes == results[0][0]).all()
        assert nodes.numpy() == pytest.approx(alone.numpy(), abs=1e-5)
        assert objective == pytest.approx(expected, rel=1e-5)


def test_the_parts_cover_the_batch_and_none_is_empty() -> None:
    for n, size in ((10, 3), (7, 7), (100, 64)):
        parts = []
        for rank in range(size):
            all_reduce = AllReduce()
            all_reduce.rank, all_reduce.size = rank, size
            parts.append(np.arange(n)[all_reduce.part(n)])
        assert (np.concatenate(parts) == np.arange(n)).all()
        assert all(len(part) for part in parts)
    assert SINGLE.part(5) == slice(0, 5)
