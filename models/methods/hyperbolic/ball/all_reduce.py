"""Sums of gradients over the processes of a fit, each of which computes a part of the batch.

Torch's all-reduce adds up the gradients, so that a step is that of the whole batch: all processes
have the same nodes, which up to rounding do not depend on the number of processes. There is a
single tensor of parameters, so `DistributedDataParallel`, which groups many into buckets, would add
nothing.

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
_TIMEOUT = timedelta(hours=2)
"""How long a process waits for the others in a step; a dead one is noticed immediately."""


class AllReduce:
    """The only process of a fit: its sums are its own values.

    rank : the number of this process, below `size`.

    The first one, 0, draws pools, measures costs and saves checkpoints.
    """

    rank: int = 0
    size: int = 1

    def part(self, n: int) -> slice:
        """This process's part of `n` consecutive items; never empty if `n` is at least `size`."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def sum(self, tensor: Tensor) -> None:
        """Replace the tensor, in place, by the sum over all processes."""

    def publish(self, pool: Pool, number: int) -> None:
        """Draw triples from the pool of this number in the next rounds."""

    def begin_round(self, number: int, n_steps: int, mover: Descent) -> None:
        """Begin a round of `n_steps` steps in all processes, from the nodes of the first."""

    @contextmanager
    def threads_for(self, n_values: int) -> Iterator[None]:
        """A context for steps on matrices of `n_values` values.

        They use the threads of this process, or one where several would only wait for each other.
        """
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1 if n_values < _WORTH_THREADS else self._thread_count(before))
        try:
            yield
        finally:
            torch.set_num_threads(before)

    def _thread_count(self, current: int) -> int:
        return current


SINGLE = AllReduce()


class DistributedAllReduce(AllReduce):
    """One of several processes, in torch's default group.

    threads : number of threads of this process while it takes steps.
    """

    def __init__(self, rank: int, size: int, threads: int) -> None:
        self.rank, self.size, self._threads = rank, size, threads

    def sum(self, tensor: Tensor) -> None:
        import torch.distributed as dist

        dist.all_reduce(tensor)

    def begin_round(self, number: int, n_steps: int, mover: Descent) -> None:
        import torch.distributed as dist

        for tensor in mover.tensors():
            dist.broadcast(tensor, 0)

    def _thread_count(self, current: int) -> int:
        return self._threads


def join_group(folder: Path, rank: int, size: int, device: str) -> None:
    """Join torch's process group, which forms when all `size` processes have called this.

    folder : where the processes find each other, the same for all.
    """
    import torch
    import torch.distributed as dist

    store = dist.FileStore(str(folder / "rendezvous"), size)  # type: ignore[attr-defined]
    with _loopback_only():
        dist.init_process_group(
            "nccl" if device == "cuda" else "gloo",
            store=store,
            rank=rank,
            world_size=size,
            timeout=_TIMEOUT,
            device_id=torch.device("cuda", rank) if device == "cuda" else None,
        )


@contextmanager
def _loopback_only() -> Iterator[None]:
    """A context with sockets on the loopback interface: all processes are on this machine."""
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
