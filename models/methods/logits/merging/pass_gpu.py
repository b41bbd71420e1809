"""What `merging.row_digest.scan` gives, computed by torch on a GPU.

Blocks of rows go through two slots, each with memory on the host and on the device: while the
device fetches one block and lists its rows, the host reads the next. Numbers travel as they are
stored and are widened there. Only probabilities become logarithms on the host, by the function that
all other readers of them use: one that differs in a last digit could order two classes differently.

`block_lists.listed` reads a block in several passes; `merging.triton_gpu` does the same in one
pass, for a GPU with Triton.
"""

from __future__ import annotations

import math
import shutil
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np

from models.errors import UsageError
from models.methods.logits.merging import row_digest
from models.methods.logits.merging.block_lists import Listed, listed
from models.methods.logits.merging.loops.rows import TAIL_ERROR
from models.methods.logits.merging.row_digest import Digest, joined, segment_rows
from models.methods.logits.merging.source import Source
from models.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

Device = Literal["cpu", "cuda"]

BLOCK_BYTES = 128 << 20
"""Most of a block, widened, with its lists. In smaller ones a GPU waits for its next kernel."""

_SHARE = 16
"""A block takes at most one in so many of the device's free bytes; all that is there at a time
takes about six."""

_LIST_BYTES = 512
"""About what a row's list takes while it is made."""


def scan(
    source: Source, start: int, stop: int, device: Device, progress: Progress, threads: int = 1
) -> Digest:
    """The digest of rows [start, stop), at least one. One read of them.

    threads : how many read rows and lay them where the device fetches them.

    Raises UsageError as `digest.scan` does, and where there is no such device.
    """
    require(device)
    n_rows = min(stop - start, block_rows(source, device))
    slots = [_Slot(source, n_rows, device) for _ in range(2)]
    starts = range(start, stop, n_rows)
    parts = []
    with ThreadPoolExecutor(threads) as pool:
        try:
            for number, at in enumerate(starts):
                slot = slots[number % 2]
                if number >= 2:
                    parts.append(slot.collect())
                slot.send(at, min(at + n_rows, stop), pool)
                progress((at - start) / (stop - start), "reading logits")
            parts += [slots[number % 2].collect() for number in range(len(starts))[-2:]]
        finally:
            for slot in slots:
                slot.wait()
    return joined(parts)


def require(device: Device) -> None:
    """UsageError where there is no such device."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            "Parameter 'device' is 'cuda', but there is no GPU where the job runs; 'cpu' gives the "
            "same hierarchy.",
            code="no-gpu",
            parameter="device",
        )


def block_rows(source: Source, device: Device) -> int:
    """Rows of a block. Nothing hangs on it but the rounding of sums of confidences."""
    import torch

    most = BLOCK_BYTES
    if device == "cuda":
        most = min(most, torch.cuda.mem_get_info()[0] // _SHARE)
    return max(1, most // (source.shape[1] * source.dtype.itemsize + _LIST_BYTES))


class _Slot:
    """Room for a block on the host and on the device, and what is under way in it."""

    def __init__(self, source: Source, n_rows: int, device: Device) -> None:
        import torch

        rows, on_gpu = source.rows, device == "cuda"
        as_stored = source.kind != "probs" and (rows.bfloat16 or rows.dtype.kind == "f")
        dtype = torch.from_numpy(np.empty(0, rows.dtype if as_stored else source.dtype)).dtype
        shape = n_rows, source.shape[1]
        host = torch.empty(shape, dtype=dtype, pin_memory=on_gpu)
        self._source = source
        self._read = rows.read if as_stored else source.block
        self._array = host.numpy()
        self._host = host.view(torch.bfloat16) if as_stored and rows.bfloat16 else host
        self._there = torch.empty_like(self._host, device=device) if on_gpu else self._host
        self._copying = torch.cuda.Stream() if on_gpu else None  # type: ignore[no-untyped-call]
        self._done = torch.cuda.Event() if on_gpu else None  # type: ignore[no-untyped-call]

    def send(self, start: int, stop: int, pool: Executor) -> None:
        """Read rows [start, stop) and have them fetched and listed; what was here is gone."""
        import torch

        self._fill(start, stop, pool)
        source, n = self._source, stop - start
        there = self._there[:n]
        if self._copying is not None:
            with torch.cuda.stream(self._copying):
                there.copy_(self._host[:n], non_blocking=True)
            torch.cuda.current_stream().wait_stream(self._copying)
        n_listed = min(row_digest.LISTED, source.shape[1] - 1)
        found = quickest(there)(there, n_listed, source.scale, *bounds(source))
        self._start = start
        self._found = Listed(*(values.to("cpu", non_blocking=True) for values in found))
        if self._done is not None:
            self._done.record()

    def _fill(self, start: int, stop: int, pool: Executor) -> None:
        source, step = self._source, segment_rows(self._source)

        def read(at: int) -> None:
            end = min(at + step, stop)
            if source.kind != "logits" and source.temperature != 1.0:
                source.require_values(at, end)
            self._array[at - start : end - start] = self._read(at, end)

        for _ in pool.map(read, range(start, stop, step)):
            pass

    def collect(self) -> Digest:
        """The digest of what was sent. Raises UsageError for the first odd row."""
        self.wait()
        source, n_classes = self._source, self._source.shape[1]
        classes, weight, tail, sure, slack, odd = (values.numpy() for values in self._found)
        for row in np.flatnonzero(odd).tolist():
            source.require_values(self._start + row, self._start + row + 1)
        label = classes[:, 0].astype(np.int32)
        return Digest(
            label=label,
            listed=classes[:, 1:].astype(np.uint16 if n_classes < 1 << 16 else np.int32),
            weight=weight.copy(),
            tail=tail.copy(),
            size=np.bincount(label, minlength=n_classes),
            confidence=np.bincount(label, sure, n_classes).astype(np.float64),
            slack=np.bincount(label, slack, n_classes).astype(np.float64),
        )

    def wait(self) -> None:
        """Return when nothing is under way."""
        if self._done is not None:
            self._done.synchronize()


def bounds(source: Source) -> tuple[float, float]:
    """The lowest value allowed, and the most that the sum of a row's probabilities may be off."""
    lowest = float(np.finfo(source.dtype).min) if source.kind == "logits" else -math.inf
    return lowest, source.tolerance


Lister = Callable[["Tensor", int, float, float, float], Listed]


def quickest(x: Tensor) -> Lister:
    """What lists a block like x: the fused kernel where x is on a GPU and the kernel can be built,
    which takes Triton and a C compiler; else `listed`."""
    if x.is_cuda and _builds():
        from models.methods.logits.merging import triton_gpu

        if triton_gpu.takes(x) and _agrees(triton_gpu.listed, x):
            return triton_gpu.listed
    return listed


_PROBED = 512
_agreed: dict[tuple[Lister, object, int], bool] = {}


def _agrees(lister: Lister, x: Tensor) -> bool:
    """Whether `lister` lists the first rows of x as `listed` does; asked once for each type and
    number of classes, for what was compiled here and never ran before. Warns where it does not."""
    import torch

    case = lister, x.dtype, x.shape[1]
    if case not in _agreed:
        some, n_listed = x[:_PROBED], min(8, x.shape[1] - 1)
        ours, theirs = (do(some, n_listed, 1.0, -math.inf, math.inf) for do in (listed, lister))
        _agreed[case] = torch.equal(ours.classes.int(), theirs.classes.int()) and all(
            torch.allclose(a.double(), b.double(), rtol=3 * TAIL_ERROR, atol=0.0)
            for a, b in ((ours.weight, theirs.weight), (ours.tail, theirs.tail))
        )
        if not _agreed[case]:
            warnings.warn(f"the fused kernel is wrong for {case[1:]} and not used", stacklevel=2)
    return _agreed[case]


@cache
def _builds() -> bool:
    return find_spec("triton") is not None and any(map(shutil.which, ("gcc", "clang")))
