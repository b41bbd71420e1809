"""Steps on the Poincaré ball: Riemannian gradient descent, Adam; gradients summed over processes.

    'sgd'   z <- R_z(-learning_rate (1 - |z|^2)^2 / 4 grad)                            eq. 18 to 20
    'adam'  the same step along the mean m of Riemannian gradients g, over the root of the mean v of
            their squared lengths, one number per point: m <- b1 m + (1 - b1) g,
            v <- b2 v + (1 - b2) |g|_z^2, both corrected for their start at 0

R is the retraction z + g, pulled back to norm `max_norm` if it leads further out. Eq. 19 as printed
subtracts eps from every coordinate; it means the point of norm 1 - eps on the same ray.

`prefixed` and `unprefixed` name the arrays of a checkpoint by parts: the names of each part begin
with its prefix.

Source: Monath et al. (2019), §4.1; Bécigneul and Ganea, "Riemannian Adaptive Optimization Methods"
(2019), algorithm 1, without carrying m along the geodesic: to first order it does not change.

Cost: O(M D) a step; 'adam' stores M D + M values more.

`AllReduce` sums gradients over the processes of a fit, each of which computes a part of the batch.

Torch's all-reduce adds up the gradients, so that a step is that of the whole batch: all processes
have the same nodes, which up to rounding do not depend on the number of processes. There is a
single tensor of parameters, so `DistributedDataParallel`, which groups many into buckets, would add
nothing.

Cost: an all-reduce of M D values for each gradient of M nodes.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays
from models.methods.hyperbolic.ball.parameters import Optimizer
from models.numerics import poincare

if TYPE_CHECKING:
    from torch import Tensor

    from models.methods.hyperbolic.ball.points import Pool


def prefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays, under names that begin with `prefix`."""
    return {prefix + name: array for name, array in arrays.items()}


def unprefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, under the remainder of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


_FIRST, _SECOND, _LEAST = 0.9, 0.999, 1e-8


class Descent:
    """Moves points (M, D), in place.

    n_steps : number of steps so far. learning_rate : length of the next one.
    """

    def __init__(
        self, points: Tensor, kind: Optimizer, learning_rate: float, max_norm: float
    ) -> None:
        import torch

        self.points, self._kind = points, kind
        self.learning_rate = learning_rate
        self._max_norm = max_norm
        self.n_steps = 0
        self._first = torch.zeros_like(points) if kind == "adam" else points.new_zeros(0)
        self._second = points.new_zeros((len(points), 1) if kind == "adam" else 0)

    def step(self, gradient: Tensor) -> None:
        """One step down a gradient in the coordinates."""
        import torch

        points = self.points
        with torch.no_grad():
            length = torch.linalg.vector_norm(points, dim=1, keepdim=True, dtype=torch.float64)
            half = length.square_().neg_().add_(1.0).clamp_(min=poincare.margin(points))
            half = half.mul_(0.5).to(points.dtype)
            room = self.room()
            torch.mul(gradient, half, out=room[:, 1:])
            self.move(points, self._first, self._second, room, half)

    def room(self) -> Tensor:
        """(M, D + 1) for gradients of points, after a column that keeps their lengths above 0."""
        return self.points.new_full((len(self.points), self.points.shape[1] + 1), _LEAST)

    def move(
        self, points: Tensor, first: Tensor, second: Tensor, gradient: Tensor, half: Tensor
    ) -> None:
        """One step of points and state, in whatever order.

        half : (M, 1) h = (1 - |z|^2) / 2, so that the metric is 1 / h^2. gradient : `room`, filled
        with that in the coordinates times h, which is as long as the Riemannian one is.
        """
        self.n_steps += 1
        if self._kind == "adam":
            second[:, :, None].baddbmm_(
                gradient[:, None, :], gradient[:, :, None], beta=_SECOND, alpha=1 - _SECOND
            )
            first.lerp_(gradient[:, 1:] * half, 1 - _FIRST)
            rate = self.learning_rate * (1 - _SECOND**self.n_steps) ** 0.5
            points.addcmul_(first, second.rsqrt(), value=-rate / (1 - _FIRST**self.n_steps))
        else:
            points.addcmul_(gradient[:, 1:], half, value=-self.learning_rate)
        # As `poincare.retract`: rows of larger norm are shortened, by 1e-7 more.
        points.renorm_(2, 0, self._max_norm * (1 - poincare.spare(points)))

    def ordered(self) -> Tensor:
        """(M, 2 D + 3) points and state in rows that may be sorted: 1, point, state, number."""
        import torch

        n_points = len(self.points)
        number = torch.arange(n_points, dtype=self.points.dtype, device=self.points.device)
        state = [self._first, self._second]
        if self._kind == "sgd":
            state = [torch.zeros_like(self.points), torch.zeros_like(number[:, None])]
        ones = torch.ones_like(number[:, None])
        return torch.cat([ones, self.points, *state, number[:, None]], dim=1)

    def put_back(self, rows: Tensor) -> None:
        """Take points and state from the rows of `ordered`, in whatever order."""
        n_columns = self.points.shape[1]
        number, ends = rows[:, -1].long(), (1 + n_columns, 1 + 2 * n_columns)
        for kept, each in (
            (self.points, rows[:, 1 : ends[0]]),
            (self._first, rows[:, ends[0] : ends[1]]),
            (self._second, rows[:, -2:-1]),
        ):
            if kept.numel():
                kept.index_copy_(0, number, each)

    def tensors(self) -> list[Tensor]:
        """The points, and the other state that a step changes."""
        state = (self.points, self._first, self._second)
        return [tensor for tensor in state if tensor.numel()]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The state that `restore` needs besides the points."""
        return {
            "first": self._first.cpu().numpy(),
            "second": self._second.cpu().numpy(),
            "n_steps": np.array(self.n_steps),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        import torch

        self._first.copy_(torch.from_numpy(arrays["first"].copy()))
        self._second.copy_(torch.from_numpy(arrays["second"].copy()))
        self.n_steps = int(arrays["n_steps"])


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
