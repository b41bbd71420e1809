"""Where torch computes: on the processor with a number of threads, or on a GPU."""

from __future__ import annotations

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
            "Parameter 'device' is 'cuda', but there is no GPU where the job runs; 'cpu' gives the "
            "same result, more slowly.",
            code="no-gpu",
            parameter="device",
        )


@contextmanager
def computing(threads: int) -> Iterator[None]:
    """Run torch on `threads` threads and without autograd.

    Raises UsageError if a GPU's memory does not suffice.
    """
    import torch

    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.no_grad():
            yield
    except torch.OutOfMemoryError as error:
        raise UsageError(
            "The GPU has not enough memory. Lower 'batch_size', or use 'device': 'cpu'.",
            code="too-large",
            parameter="batch_size",
        ) from error
    finally:
        torch.set_num_threads(threads_before)
