"""Where torch computes: on the processor with a number of threads, or on a GPU.

A method that reads its rows in passes (`l2h`, `class-tree`) gives the same tree on both. A method
that learns by gradients draws other random numbers on a GPU and adds in another order: with one
seed its result is another one, of the same quality. On one device the same seed gives the same
result, on a GPU as far as torch has a fixed order for what it adds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from models.errors import UsageError

Device = Literal["cpu", "cuda"]


def require(device: Device) -> None:
    """Raises UsageError if the device does not exist."""
    if device == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise UsageError(
            "Parameter 'device' is 'cuda', but there is no GPU where the job runs; 'cpu' gives a "
            "result of the same quality.",
            code="no-gpu",
            parameter="device",
        )


@contextmanager
def computing(threads: int) -> Iterator[None]:
    """Run torch on `threads` threads, without autograd, and on a GPU with sums in a fixed order.

    Raises UsageError if a GPU's memory does not suffice.
    """
    import torch

    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.no_grad(), _fixed_order():
            yield
    except torch.OutOfMemoryError as error:
        raise UsageError(
            "The GPU has not enough memory. Lower 'batch_size', or use 'device': 'cpu'.",
            code="too-large",
            parameter="batch_size",
        ) from error
    finally:
        torch.set_num_threads(threads_before)


@contextmanager
def _fixed_order() -> Iterator[None]:
    """Let a GPU add in the same order in each run; what it cannot do so, torch warns of."""
    import torch

    if not torch.cuda.is_available():
        yield
        return
    # cuBLAS reads it when a process first multiplies, and is not deterministic without it.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    only_warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=only_warned)
