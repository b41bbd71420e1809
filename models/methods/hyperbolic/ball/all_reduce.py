"""Processes that take each step together, every one for its part of the batch.

Gradients are added up by torch's all-reduce, so that a step is that of the whole batch: the nodes
are the same in all processes, and but for rounding the same for any number of them. One tensor of
parameters is all there is to average, so `DistributedDataParallel`, which cuts many into buckets,
would do nothing besides.

Cost: an all-reduce of M D values for each gradient of M nodes.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from models.methods.hyperbolic.ball.descent import Descent
    from models.methods.hyperbolic.ball.pools import Pool

_WORTH_THREADS = 1 << 17
_LATE = timedelta(hours=2)
"""How long a process waits for the others' part of a step; one that has died is noticed at once."""


class Team:
    """This process alone.

    rank : the number of this process of `size`; the first one decides, judges and keeps.
    """

    rank: int = 0
    size: int = 1

    def part(self, n: int) -> slice:
        """What is this process's of n in a row; never empty where there are at least `size`."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def add_up(self, tensor: Tensor) -> None:
        """Put in its place the sum of all processes'."""

    def give(self, pool: Pool, number: int) -> None:
        """Triples are drawn from this pool from the next round on."""

    def begin(self, number: int, n_steps: int, mover: Descent) -> None:
        """All begin a round of so many steps, from the nodes of the first."""

    @contextmanager
    def at_work(self, n_values: int) -> Iterator[None]:
        """While steps on matrices of so many values are taken: with this process's threads, or one
        where more only wait for each other."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1 if n_values < _WORTH_THREADS else self._n_threads(before))
        try:
            yield
        finally:
            torch.set_num_threads(before)

    def _n_threads(self, given: int) -> int:
        return given


ALONE = Team()


class Together(Team):
    """One of several, in torch's default group.

    threads : of this process while steps are taken.
    """

    def __init__(self, rank: int, size: int, threads: int) -> None:
        self.rank, self.size, self._threads = rank, size, threads

    def add_up(self, tensor: Tensor) -> None:
        import torch.distributed as dist

        dist.all_reduce(tensor)

    def begin(self, number: int, n_steps: int, mover: Descent) -> None:
        import torch.distributed as dist

        for tensor in mover.tensors():
            dist.broadcast(tensor, 0)

    def _n_threads(self, given: int) -> int:
        return self._threads


def meet(folder: Path, rank: int, size: int, device: str) -> None:
    """Join the group of all processes."""
    import torch
    import torch.distributed as dist

    store = dist.FileStore(str(folder / "meeting"), size)  # type: ignore[attr-defined]
    with _by_loopback():
        dist.init_process_group(
            "nccl" if device == "cuda" else "gloo",
            store=store,
            rank=rank,
            world_size=size,
            timeout=_LATE,
            device_id=torch.device("cuda", rank) if device == "cuda" else None,
        )


@contextmanager
def _by_loopback() -> Iterator[None]:
    """All are on this machine: no other one need reach them."""
    names = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    before = {name: os.environ.get(name) for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")}
    for name in before if names else ():
        os.environ[name] = names[0]
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
