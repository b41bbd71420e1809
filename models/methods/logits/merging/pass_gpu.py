"""The digest of `merging.row_digest.scan`, computed by torch on a GPU.

Blocks of rows pass through two slots, each with memory on the host and on the device: while the
device fetches one block and lists its rows, the host reads the next. Numbers are transferred as
stored and widened on the device. Only probabilities become logarithms on the host, by the same
function as for all other readers: a difference in the last digit could change the order of classes.

`block_lists.listed` reads a block in several passes; `merging.triton_gpu` does the same in one
pass, for a GPU with Triton.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np

from models.errors import UsageError
from models.methods.logits.merging import row_digest
from models.methods.logits.merging.block_lists import BlockLists, listed
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.loops.bounds import TAIL_ERROR
from models.methods.logits.merging.row_digest import Digest, joined, segment_rows
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

Device = Literal["cpu", "cuda"]

BLOCK_BYTES = 128 << 20
"""Largest block, widened, with its lists. With smaller blocks a GPU waits for its next kernel."""

_SHARE = 16
"""A block takes at most one in this many of the device's free bytes; all blocks and temporaries
together take about six times as much."""

_LIST_BYTES = 512
"""Approximate memory for the list of a row while it is computed."""


def scan(
    matrix: LogitMatrix, start: int, stop: int, device: Device, progress: Progress, threads: int = 1
) -> Digest:
    """The digest of rows [start, stop), at least one. One read of them.

    threads : number of threads that read rows into the memory from which the device fetches them.

    Raises UsageError as `row_digest.scan` does, and where there is no such device.
    """
    require(device)
    n_rows = min(stop - start, block_rows(matrix, device))
    slots = [_Slot(matrix, n_rows, device) for _ in range(2)]
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
    """Raises UsageError if there is no such device."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            "Parameter 'device' is 'cuda', but there is no GPU where the job runs; 'cpu' gives the "
            "same hierarchy.",
            code="no-gpu",
            parameter="device",
        )


def block_rows(matrix: LogitMatrix, device: Device) -> int:
    """Number of rows of a block. It only affects the rounding of sums of confidences."""
    import torch

    most = BLOCK_BYTES
    if device == "cuda":
        most = min(most, torch.cuda.mem_get_info()[0] // _SHARE)
    return max(1, most // (matrix.shape[1] * matrix.dtype.itemsize + _LIST_BYTES))


class _Slot:
    """Memory for a block on the host and on the device, and the work in progress on it."""

    def __init__(self, matrix: LogitMatrix, n_rows: int, device: Device) -> None:
        import torch

        rows, on_gpu = matrix.rows, device == "cuda"
        as_stored = matrix.kind != "probs" and (rows.bfloat16 or rows.dtype.kind == "f")
        dtype = torch.from_numpy(np.empty(0, rows.dtype if as_stored else matrix.dtype)).dtype
        shape = n_rows, matrix.shape[1]
        host = torch.empty(shape, dtype=dtype, pin_memory=on_gpu)
        self._matrix = matrix
        self._read = rows.read if as_stored else matrix.block
        self._array = host.numpy()
        self._host = host.view(torch.bfloat16) if as_stored and rows.bfloat16 else host
        self._on_device = torch.empty_like(self._host, device=device) if on_gpu else self._host
        self._copying = torch.cuda.Stream() if on_gpu else None  # type: ignore[no-untyped-call]
        self._done = torch.cuda.Event() if on_gpu else None  # type: ignore[no-untyped-call]

    def send(self, start: int, stop: int, pool: Executor) -> None:
        """Read rows [start, stop) and start to list them; the previous block is overwritten."""
        import torch

        self._fill(start, stop, pool)
        matrix, n = self._matrix, stop - start
        on_device = self._on_device[:n]
        if self._copying is not None:
            with torch.cuda.stream(self._copying):
                on_device.copy_(self._host[:n], non_blocking=True)
            torch.cuda.current_stream().wait_stream(self._copying)
        n_listed = min(row_digest.LISTED, matrix.shape[1] - 1)
        lists = quickest(on_device)(on_device, n_listed, matrix.scale, *bounds(matrix))
        self._masked = torch.isneginf(on_device).sum(dim=0)
        self._start = start
        self._lists = BlockLists(*(values.to("cpu", non_blocking=True) for values in lists))
        if self._done is not None:
            self._done.record()

    def _fill(self, start: int, stop: int, pool: Executor) -> None:
        matrix, step = self._matrix, segment_rows(self._matrix)

        def read(at: int) -> None:
            end = min(at + step, stop)
            if matrix.kind != "logits" and matrix.temperature != 1.0:
                matrix.require_values(at, end)
            self._array[at - start : end - start] = self._read(at, end)

        for _ in pool.map(read, range(start, stop, step)):
            pass

    def collect(self) -> Digest:
        """The digest of the rows sent. Raises UsageError for the first row with invalid values."""
        self.wait()
        matrix, n_classes = self._matrix, self._matrix.shape[1]
        lists = [values.numpy() for values in self._lists]
        classes, weight, tail, second, sure, slack, odd = lists
        for row in np.flatnonzero(odd).tolist():
            matrix.require_values(self._start + row, self._start + row + 1)
        label = classes[:, 0].astype(np.int32)
        return Digest(
            label=label,
            listed=classes[:, 1:].astype(np.uint16 if n_classes < 1 << 16 else np.int32),
            weight=weight.copy(),
            tail=tail.copy(),
            second=second.copy(),
            size=np.bincount(label, minlength=n_classes),
            confidence=np.bincount(label, sure, n_classes).astype(np.float64),
            slack=np.bincount(label, slack, n_classes).astype(np.float64),
            masked=self._masked.cpu().numpy(),
        )

    def wait(self) -> None:
        """Wait until no work is in progress."""
        if self._done is not None:
            self._done.synchronize()


def bounds(matrix: LogitMatrix) -> tuple[float, float]:
    """The lowest value allowed, and the tolerance of the sum of a row's probabilities."""
    return -math.inf, matrix.tolerance


Lister = Callable[["Tensor", int, float, float, float], BlockLists]


def quickest(x: Tensor) -> Lister:
    """The fastest lister for blocks like x.

    This is the fused kernel if x is on a GPU and Triton can build and run it there; otherwise
    `listed`, which gives the same lists more slowly.
    """
    if x.is_cuda and find_spec("triton") is not None:
        from models.methods.logits.merging import triton_gpu

        if triton_gpu.takes(x) and _agrees(triton_gpu.listed, x):
            return triton_gpu.listed
    return listed


_PROBED = 512
_agreed: dict[tuple[Lister, object, int], bool] = {}


def _agrees(lister: Lister, x: Tensor) -> bool:
    """Whether `lister` lists the first rows of x as `listed` does; warns if it does not.

    Checked once for each type and number of classes, since the kernel is compiled on this machine
    and never ran before: there may be no compiler, or no folder to write to.
    """
    import torch

    case = lister, x.dtype, x.shape[1]
    if case not in _agreed:
        some, n_listed = x[:_PROBED], min(8, x.shape[1] - 1)
        ours = listed(some, n_listed, 1.0, -math.inf, math.inf)
        try:
            theirs = lister(some, n_listed, 1.0, -math.inf, math.inf)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # whatever Triton, its compiler or its cache meets
            _agreed[case] = False
            warnings.warn(
                f"the fused kernel cannot be built here and slower operations do its work: "
                f"{type(error).__name__}: {str(error)[:200]}",
                stacklevel=2,
            )
            return False
        _agreed[case] = torch.equal(ours.classes.int(), theirs.classes.int()) and all(
            torch.allclose(a.double(), b.double(), rtol=3 * TAIL_ERROR, atol=0.0)
            for a, b in ((ours.weight, theirs.weight), (ours.tail, theirs.tail))
        )
        if not _agreed[case]:
            warnings.warn(f"the fused kernel is wrong for {case[1:]} and not used", stacklevel=2)
    return _agreed[case]
