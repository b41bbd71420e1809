"""Features in one or several spaces, as tensors: whole, by given rows, or in random batches.

Features that fit are read once and stay on the device. Otherwise batches are drawn from pools of
rows, each made of stretches from random places, so that a file is read in order and memory stays
bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import row_blocks
from models.errors import UsageError
from models.inputs.checks import count_up_to, refuse_clusters, require_squares, row_bytes
from models.inputs.data import Data, require_finite
from models.inputs.frames import Frame
from models.inputs.rows import Rows, widened
from models.running.device import Device
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

ROLE = "features"

RESIDENT = 1 << 27
"""Up to this many values stay in memory (512 MiB)."""

POOL = 1 << 26
"""Values of a pool, if a batch has no more."""

SCALED_BEYOND = 7
"""Heads learn by steps of a length, so that rows of spreads below 2^-7 or above 2^7 are scaled."""

STRETCHES = 64
"""Number of stretches that make a pool."""

_BLOCK = 1 << 22
_SHARE = 4
"""Features may take one part in this many of a GPU's free memory."""


def require_spaces(data: Data, n_clusters: int) -> list[Rows]:
    """The spaces of the input 'features'.

    Raises UsageError if a space has no columns, the spaces differ in length, or there are fewer
    points, or fewer distinct ones, than clusters. Rows are read until enough distinct ones are
    found.
    """
    spaces = data.spaces(ROLE)
    for number, rows in enumerate(spaces):
        if rows.shape[1] == 0:
            raise UsageError(
                f"{_prefix(number, spaces)}Input {ROLE!r} has no columns.",
                code="wrong-shape",
                role=ROLE,
            )
    n_points = spaces[0].shape[0]
    if n_points < n_clusters:
        refuse_clusters(n_clusters, n_points, "point(s)", "n_clusters")
    n_distinct = count_up_to(n_clusters, _point_bytes(spaces))
    if n_distinct < n_clusters:
        refuse_clusters(n_clusters, n_distinct, "distinct point(s)", "n_clusters")
    return spaces


def require_widths(spaces: Sequence[Rows], widths: Sequence[int]) -> None:
    """Raises UsageError unless new rows come in the spaces that the model was fitted on."""
    if len(spaces) != len(widths):
        raise UsageError(
            f"Input {ROLE!r}: {len(spaces)} matrix(es) are given; the model was fitted on "
            f"{len(widths)}.",
            code="wrong-shape",
            role=ROLE,
        )
    for number, (rows, width) in enumerate(zip(spaces, widths, strict=True)):
        if rows.shape[1] != width:
            raise UsageError(
                f"{_prefix(number, spaces)}Input {ROLE!r} has {rows.shape[1]} columns; the model "
                f"was fitted on {width}.",
                code="wrong-shape",
                role=ROLE,
            )


@contextmanager
def naming(number: int, spaces: Sequence[Rows]) -> Iterator[None]:
    """Name the space in errors if there are several."""
    try:
        yield
    except UsageError as error:
        if len(spaces) == 1:
            raise
        detail = _prefix(number, spaces) + error.detail
        raise UsageError(detail, code=error.code, **error.where, matrix=number) from error


class SpaceTensors:
    """Points in their spaces, as float32 tensors on a device.

    They lie in the frame of their space. n_points : rows of each space. widths : columns of each
    space. frames : one for each space. sums : mean over points of the sum of absolute values, for
    each space. All rows are read once to check them.
    Raises UsageError for values that are not finite or too large, and for a space in which all
    points coincide.
    """

    def __init__(
        self, spaces: Sequence[Rows], device: Device, batch_size: int, progress: Progress
    ) -> None:
        self.frames = [Frame.of(rows, scaled_beyond=SCALED_BEYOND) for rows in spaces]
        spaces = [framed(rows, frame) for rows, frame in zip(spaces, self.frames, strict=True)]
        self._spaces, self.device = spaces, device
        self.n_points = spaces[0].shape[0]
        self.widths = [rows.shape[1] for rows in spaces]
        self.batch_size = min(batch_size, self.n_points)
        self.sums = [0.0 for _ in spaces]
        self._whole: list[Tensor] | None = None
        self._read(progress)

    @property
    def is_resident(self) -> bool:
        """Whether all rows are on the device."""
        return self._whole is not None

    def _read(self, progress: Progress) -> None:
        import torch

        resident = self.n_points * sum(self.widths) <= _most_values(self.device)
        whole = [
            torch.empty((self.n_points if resident else 0, width), device=self.device)
            for width in self.widths
        ]
        first: list[npt.NDArray[np.float32] | None] = [None] * len(whole)
        varied = [False] * len(whole)
        for block in row_blocks(self.n_points, max(self.widths), _BLOCK):
            progress(block.start / self.n_points, "reading features")
            for number, rows in enumerate(self._spaces):
                values = rows.values(block.start, block.stop)
                with naming(number, self._spaces):
                    require_finite(values, ROLE, first_row=block.start)
                    single = _single(values)
                    require_squares(single, n_points=self.n_points, first_row=block.start)
                before = first[number] = single[0] if first[number] is None else first[number]
                varied[number] = varied[number] or bool((single != before).any())
                self.sums[number] += float(np.abs(single).sum(dtype=np.float64)) / self.n_points
                if resident:
                    whole[number][block] = _tensor(single)
        for number, differs in enumerate(varied):
            if not differs:
                raise UsageError(
                    f"{_prefix(number, self._spaces)}Input {ROLE!r} has the same row for all "
                    "points, so it cannot separate clusters. Leave it out.",
                    code="wrong-input",
                    role=ROLE,
                )
        if resident:
            self._whole = whole

    def take(self, numbers: Tensor) -> list[Tensor]:
        """The rows with the given numbers in each space, in their order."""
        import torch

        if self._whole is not None:
            return [rows.index_select(0, numbers) for rows in self._whole]
        ascending, back = torch.unique(numbers, return_inverse=True)
        row_numbers = ascending.cpu().numpy()
        tensors = []
        for rows in self._spaces:
            taken = rows.take(row_numbers)
            single = _single(widened(taken) if rows.bfloat16 else taken)
            tensors.append(_tensor(single).to(self.device).index_select(0, back))
        return tensors

    def sample(self, n_rows: int, rng: np.random.Generator) -> Tensor:
        """The ascending numbers of `n_rows` distinct random rows; all rows if there are no more."""
        import torch

        if n_rows >= self.n_points:
            return torch.arange(self.n_points, device=self.device)
        drawn = np.sort(rng.choice(self.n_points, n_rows, replace=False))
        return torch.from_numpy(drawn).to(self.device)

    def blocks(self, n_rows: int) -> Iterator[tuple[int, list[Tensor]]]:
        """All rows in order, `n_rows` at a time, each block with the number of its first row."""
        for start in range(0, self.n_points, n_rows):
            stop = min(start + n_rows, self.n_points)
            if self._whole is not None:
                yield start, [rows[start:stop] for rows in self._whole]
            else:
                yield start, self._stretches([(start, stop)])

    def batches(self, rng: np.random.Generator) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Endless batches, each the numbers of its rows and the rows in each space.

        All have the same number of rows. Every row comes once before any comes again, except the
        few that fill no batch. A batch of all rows is not shuffled.
        """
        import torch

        every = torch.arange(self.n_points, device=self.device)
        while True:
            if self._whole is not None and self.batch_size == self.n_points:
                yield every, self._whole
                continue
            for numbers, rows in self._pools(rng):
                n_rows = len(numbers)
                order = torch.from_numpy(rng.permutation(n_rows)).to(self.device)
                for start in range(0, n_rows - self.batch_size + 1, self.batch_size):
                    some = order[start : start + self.batch_size]
                    yield numbers[some], [space.index_select(0, some) for space in rows]
                # Released before the next pool is read.
                del numbers, rows

    def _pools(self, rng: np.random.Generator) -> Iterator[tuple[Tensor, list[Tensor]]]:
        import torch

        if self._whole is not None:
            yield torch.arange(self.n_points, device=self.device), self._whole
            return
        length = max(1, POOL // sum(self.widths) // STRETCHES)
        # The last stretch of a file may be shorter; one more lets a pool hold a batch all the same.
        n_stretches = max(STRETCHES, -(-self.batch_size // length) + 1)
        starts = rng.permutation(np.arange(0, self.n_points, length))
        for first in range(0, len(starts), n_stretches):
            some = np.sort(starts[first : first + n_stretches])
            stretches = [(int(at), min(int(at) + length, self.n_points)) for at in some]
            numbers = np.concatenate([np.arange(*stretch) for stretch in stretches])
            if len(numbers) >= self.batch_size:
                yield torch.from_numpy(numbers).to(self.device), self._stretches(stretches)

    def _stretches(self, stretches: Sequence[tuple[int, int]]) -> list[Tensor]:
        import torch

        n_rows = sum(stop - start for start, stop in stretches)
        pools = []
        for rows, width in zip(self._spaces, self.widths, strict=True):
            pool, at = torch.empty((n_rows, width)), 0
            for start, stop in stretches:
                pool[at : at + stop - start] = _tensor(_single(rows.values(start, stop)))
                at += stop - start
            pools.append(pool.to(self.device))
        return pools


def bytes_held(n_points: int, width: int, batch_size: int) -> int:
    """The approximate number of bytes of a `SpaceTensors` on the processor and a batch of it."""
    whole = n_points * width
    held = whole if whole <= RESIDENT else POOL + batch_size * width
    return 4 * (held + min(batch_size, n_points) * width + _BLOCK)


def _most_values(device: Device) -> int:
    import torch

    if device == "cpu":
        return RESIDENT
    return int(torch.cuda.mem_get_info()[0] // (4 * _SHARE))


def framed(rows: Rows, frame: Frame) -> Rows:
    framed = frame.rows(rows)
    assert isinstance(framed, Rows)
    return framed


def _single(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    # Values that overflow become infinite, which is refused as too large.
    with np.errstate(over="ignore"):
        return values.astype(np.float32, copy=False)


def _tensor(values: npt.NDArray[np.float32]) -> Tensor:
    """A tensor of rows that may be read-only; nothing writes to it."""
    import torch

    return torch.from_numpy(values if values.flags.writeable else values.copy())


def _point_bytes(spaces: Sequence[Rows]) -> Iterator[bytes]:
    """Bytes for each point, equal exactly for points that are equal in every space."""
    for block in row_blocks(spaces[0].shape[0], sum(rows.shape[1] for rows in spaces)):
        parts = [row_bytes(rows.values(block.start, block.stop)) for rows in spaces]
        yield from map(b"".join, zip(*parts, strict=True))


def _prefix(number: int, spaces: Sequence[Rows]) -> str:
    return f"Matrix {number} (counted from 0): " if len(spaces) > 1 else ""
