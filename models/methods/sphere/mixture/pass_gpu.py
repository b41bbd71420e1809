"""A pass over dense rows on a GPU, by torch; it gives what `mixture.passes` gives.

Rows that fit into the device's memory are copied there once for all passes. Others are copied block
by block in each pass, through two slots of pinned host memory: while the device works on one block
the host reads the next. Products are in the rows' precision up to `passes.SINGLE_UP_TO` and summed
in double over stretches of `STRETCH` rows, in a fixed order: a pass gives the same numbers each
time, and agrees with the processor up to rounding. Cost: two products N D K.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Float
from models.errors import UsageError
from models.methods.sphere.mixture.passes import Passes, Sums, precision
from models.methods.sphere.mixture.rows import UnitRows
from models.running import device as devices
from models.running.device import Device
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor
    from torch import device as Place
    from torch.cuda import Event

STRETCH = 2048
"""The number of rows that are summed in their own precision."""

BLOCK_VALUES = 1 << 23
"""The number of values in a block, or in what is computed from it."""

KEPT_SHARE = 0.6
"""The share of the device's free memory that rows may take."""


def passes(points: UnitRows, threads: int, device: Device) -> Passes:
    """Passes over these rows, on the processor or a GPU."""
    return Passes(points, threads) if device == "cpu" else DevicePasses(points, threads)


def require(device: Device, points: UnitRows, role: str = "features") -> None:
    """Raises UsageError if `device` is a GPU and there is none, or if rows are sparse."""
    if device == "cuda" and points.sparse:
        raise UsageError(
            f"Input {role!r} is sparse; with 'device': 'cuda' it must be dense. Use 'device': "
            "'cpu', which takes both.",
            code="wrong-parameter",
            parameter="device",
        )
    devices.require(device)


class DevicePasses(Passes):
    """Passes over the same dense rows; a context manager, which frees the device's memory.

    place : the device, as torch names it. room : bytes of its memory that rows may take; None: a
        share of what is free.
    """

    def __init__(
        self, points: UnitRows, threads: int = 1, place: str = "cuda", room: int | None = None
    ) -> None:
        import torch

        super().__init__(points, threads)
        self._place: Place = torch.device(place)
        self._room = room
        self._kept: Tensor | None = None
        self._slots: list[Tensor] = []

    def __enter__(self) -> DevicePasses:
        super().__enter__()
        self._keep()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._kept, self._slots = None, []
        super().__exit__(kind, error, trace)

    def over(self, points: UnitRows) -> Passes:
        """The same device over other rows, which are copied there in each pass."""
        passes = DevicePasses(points, place=str(self._place), room=0)
        passes._threads = self._threads
        return passes

    @property
    def at_once(self) -> int:
        """1: a single pass keeps the device busy."""
        return 1

    def expect(
        self,
        weights: Float,
        offsets: Float,
        counted: Float,
        progress: Progress,
        *,
        hard: bool = False,
    ) -> Sums:
        """As `Passes.expect`. Raises UsageError if the memory of the device does not suffice."""
        import torch

        try:
            with torch.inference_mode():
                return self._expect(weights, offsets, counted, progress, hard)
        except torch.OutOfMemoryError as error:
            raise _too_small(len(weights)) from error

    def _expect(
        self, weights: Float, offsets: Float, counted: Float, progress: Progress, hard: bool
    ) -> Sums:
        import torch

        n_points, n_features = self.points.shape
        n_clusters = len(weights)
        kind = getattr(torch, precision(self.points, weights).name)
        shift = float(offsets.max())
        turned = torch.from_numpy(np.ascontiguousarray(weights.T)).to(self._place, kind)
        added = torch.from_numpy(offsets - shift).to(self._place, kind)
        times = torch.from_numpy(counted).to(self._place, kind)
        # All that a pass gives, so that it is waited for once.
        ends = np.cumsum([n_clusters, n_clusters * n_features, n_points]).tolist()
        given = torch.zeros(ends[-1], dtype=torch.float64, device=self._place)
        size, evidence = given[: ends[0]], given[ends[1] :]
        total = given[ends[0] : ends[1]].view(n_clusters, n_features)
        for rows, raw in self._blocks(n_clusters):
            block = raw.to(kind)
            joint = torch.addmm(added, block, turned)
            if hard:
                own = joint.argmax(dim=1, keepdim=True)
                evidence[rows] = joint.gather(1, own)[:, 0].double()
                joint.zero_().scatter_(1, own, times[rows, None])
            else:
                high = joint.amax(dim=1, keepdim=True)
                joint.sub_(high).exp_()
                whole = joint.sum(dim=1, keepdim=True)
                evidence[rows] = high[:, 0].double() + whole[:, 0].double().log()
                joint.mul_(times[rows, None] / whole)
            size += joint.sum(dim=0, dtype=torch.float64)
            _add(joint, block, total)
            progress(rows.stop / n_points, "fitting")
        evidence += shift
        sums, logs = np.split(given.cpu().numpy(), ends[1:2])
        # Copies, so that what is kept of a pass does not keep a value for each row.
        sizes, totals = (each.copy() for each in np.split(sums, ends[:1]))
        return Sums(sizes, totals.reshape(n_clusters, n_features), logs)

    def _keep(self) -> None:
        """Copies the rows to the device if they fit."""
        import torch

        n_points, n_features = self.points.shape
        if n_points * n_features * self.points.kind.itemsize > self._free():
            return
        kind = getattr(torch, self.points.kind.name)
        try:
            kept = torch.empty((n_points, n_features), dtype=kind, device=self._place)
        except torch.OutOfMemoryError:
            return
        for rows, block in self._blocks(n_features):
            kept[rows] = block
        self._kept = kept

    def _free(self) -> int:
        import torch

        if self._room is not None:
            return self._room
        if self._place.type != "cuda":
            return 1 << 62
        return int(KEPT_SHARE * torch.cuda.mem_get_info(self._place)[0])

    def _blocks(self, row_length: int) -> Iterator[tuple[slice, Tensor]]:
        """The rows in order, on the device, in blocks of whole stretches.

        The last may be shorter.
        """
        n_points, n_features = self.points.shape
        step = max(1, BLOCK_VALUES // max(row_length, n_features) // STRETCH) * STRETCH
        slices = [slice(at, min(at + step, n_points)) for at in range(0, n_points, step)]
        if self._kept is not None:
            for rows in slices:
                yield rows, self._kept[rows]
            return
        yield from self._copied(slices)

    def _copied(self, slices: list[slice]) -> Iterator[tuple[slice, Tensor]]:
        """Blocks from the host; each is read while the device works on the previous one."""
        import torch

        on_gpu = self._place.type == "cuda"
        longest = max(rows.stop - rows.start for rows in slices)
        if not self._slots or len(self._slots[0]) < longest:
            shape, kind = (longest, self.points.shape[1]), getattr(torch, self.points.kind.name)
            self._slots = [torch.empty(shape, dtype=kind, pin_memory=on_gpu) for _ in range(2)]
        fetched = [_event() if on_gpu else None for _ in range(2)]

        def read(turn: int) -> Tensor:
            rows, slot = slices[turn], turn % 2
            event = fetched[slot]
            if event is not None:
                # The device may still be reading the slot; an event never recorded is over.
                event.synchronize()
            block = self._slots[slot][: rows.stop - rows.start]
            block.numpy()[:] = self.points.block(rows)
            return block

        next_block = self._threads.pool.submit(read, 0)
        for turn, rows in enumerate(slices):
            block = next_block.result()
            on_device = block.to(self._place, non_blocking=True) if on_gpu else block
            event = fetched[turn % 2]
            if event is not None:
                event.record(torch.cuda.current_stream(self._place))
            if turn + 1 < len(slices):
                next_block = self._threads.pool.submit(read, turn + 1)
            yield rows, on_device


def _add(part: Tensor, block: Tensor, total: Tensor) -> None:
    """Adds part' block to `total`: stretches in their own precision, their sum in double."""
    import torch

    whole = len(block) // STRETCH * STRETCH
    if whole:
        shared = part[:whole].reshape(-1, STRETCH, part.shape[1]).transpose(1, 2)
        rows = block[:whole].reshape(-1, STRETCH, block.shape[1])
        total += torch.bmm(shared, rows).sum(dim=0, dtype=torch.float64)
    if whole < len(block):
        total += (part[whole:].T @ block[whole:]).double()


def _event() -> Event:
    import torch

    event: Event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    return event


def _too_small(n_clusters: int) -> UsageError:
    return UsageError(
        f"The GPU has not enough memory for {n_clusters} clusters. Ask for fewer, or use "
        "'device': 'cpu'.",
        code="too-large",
        parameter="device",
    )
