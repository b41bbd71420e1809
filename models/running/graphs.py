"""Steps of training recorded as CUDA graphs, and replayed: one launch each.

An operation costs the processor about 11 us to issue, whatever a GPU needs for it. A graph holds
all operations of a step, with the tensors that they read and write; its replay is one launch. A
step can be recorded if it reads nothing back, its tensors' shapes do not depend on values, and what
changes from step to step is in its arguments or in tensors that stay where they are.

Source: torch's documentation, "CUDA semantics", section CUDA Graphs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    Shapes = tuple[tuple[int, ...], ...]

_WARM_UP = 3
"""Steps before one is recorded, in which libraries reserve what they need."""


class Replayed:
    """A step that is recorded on a GPU, once for each shape of its arguments; elsewhere it runs.

    A step that cannot be recorded runs too, which is warned of once.
    """

    def __init__(self, step: Callable[..., None], device: str) -> None:
        self._step, self._records = step, device == "cuda"
        self._n_runs: dict[Shapes, int] = {}
        self._recorded: dict[Shapes, tuple[Callable[[], None], tuple[Tensor, ...]]] = {}

    def __call__(self, *arguments: Tensor) -> None:
        """Take the step."""
        if not self._records:
            self._step(*arguments)
            return
        shapes = tuple(tuple(each.shape) for each in arguments)
        n_runs = self._n_runs[shapes] = self._n_runs.get(shapes, 0) + 1
        if n_runs <= _WARM_UP:
            apart(lambda: self._step(*arguments))
            return
        if shapes not in self._recorded and not self._record(shapes, arguments):
            self._step(*arguments)
            return
        replay, own = self._recorded[shapes]
        for kept, argument in zip(own, arguments, strict=True):
            kept.copy_(argument)
        replay()

    def _record(self, shapes: Shapes, arguments: tuple[Tensor, ...]) -> bool:
        own = tuple(each.clone() for each in arguments)
        try:
            self._recorded[shapes] = recorded(lambda: self._step(*own)), own
        except RuntimeError as error:
            self._records = False
            warnings.warn(
                "Steps could not be recorded as a CUDA graph, and run one operation after another: "
                f"{error}",
                stacklevel=4,
            )
            return False
        return True


def apart(step: Callable[[], None]) -> None:
    """Run a step on a stream beside the usual one, as before a recording."""
    import torch

    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)


def recorded(step: Callable[[], None]) -> Callable[[], None]:
    """Record a step, without computing it; the result replays it."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
