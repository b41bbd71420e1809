"""Arrays stored uncompressed in a file, one number after the other: mapped or read by rows.

A header is checked against the length of its file, whether on disk or in the object store. Only
headers are read here.
"""

from __future__ import annotations

import math
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from models.inputs.rows import ArrayRows, Rows
from workers.formats import roles
from workers.formats.facts import Facts, Member
from workers.formats.tables import dtype_name

HELD_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
"""A file of up to this many bytes is still in memory when it is read again."""

_NEAR_BYTES = 64 << 10


class Content(Protocol):
    """The bytes of a file, local or remote."""

    @property
    def length(self) -> int: ...

    def read(self, start: int, stop: int) -> bytes:
        """The bytes [start, stop), fewer if the file ends earlier."""
        ...


class LocalContent:
    """The bytes of a local file that does not change."""

    def __init__(self, path: Path) -> None:
        self.length = path.stat().st_size
        self._path = path

    def read(self, start: int, stop: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)


@dataclass(frozen=True, slots=True)
class HeldContent:
    """The bytes of a file that is in memory."""

    whole: bytes

    @property
    def length(self) -> int:
        return len(self.whole)

    def read(self, start: int, stop: int) -> bytes:
        return self.whole[start:stop]


@dataclass(frozen=True, slots=True)
class Layout:
    """The position of an array in a file, its header checked against the file's length.

    dtype : as stored; uint16 if `bfloat16`.
    offset : position of the first byte.
    fortran : whether it is stored column by column.
    members : all arrays of the file, if the format can hold several.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    fortran: bool = False
    bfloat16: bool = False
    members: tuple[Member, ...] = ()

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

    def facts(self) -> Facts:
        dtype = "bfloat16" if self.bfloat16 else dtype_name(self.dtype)
        return Facts(self.shape, dtype, members=self.members)


def mapped(path: Path, layout: Layout) -> npt.NDArray[Any]:
    """The array mapped read-only; nothing is read yet."""
    order: Literal["C", "F"] = "F" if layout.fortran else "C"
    array: npt.NDArray[Any] = np.memmap(
        path, dtype=layout.dtype, mode="r", offset=layout.offset, shape=layout.shape, order=order
    )
    return array.view(np.ndarray)


def rows(path: Path, layout: Layout, role: str) -> Rows:
    """The matrix of `role`, mapped and read by rows. Raises UsageError unless it holds numbers."""
    roles.require_matrix(layout.shape, layout.dtype, role)
    array = ArrayRows(mapped(path, layout), bfloat16=layout.bfloat16)
    if layout.fortran or array.nbytes <= HELD_BYTES:
        return array
    return MappedRows(array, layout.offset)


class MappedRows(Rows):
    """Rows of a mapped matrix in C order that is larger than memory, so that they come from disk.

    The kernel reads ahead of a scan by itself. Scattered rows are all announced before the first
    one is read, which makes them several times faster and reads little else.
    """

    def __init__(self, array: ArrayRows, offset: int) -> None:
        """offset : position of the array's first byte in the file."""
        self.shape, self.dtype, self.bfloat16 = array.shape, array.dtype, array.bfloat16
        self._array = array
        self._memory = cast("mmap.mmap", cast("np.memmap[Any, Any]", array.array.base).base)
        # The mapping begins at the page where the array begins.
        self._before = offset % mmap.ALLOCATIONGRANULARITY

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self._array.read(start, stop)

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        width = self.shape[1] * self.dtype.itemsize
        for begin, end in runs(rows, _NEAR_BYTES // width, self.shape[0]):
            start = self._before + int(rows[begin]) * width
            stop = self._before + (int(rows[end - 1]) + 1) * width
            start -= start % mmap.PAGESIZE
            self._memory.madvise(mmap.MADV_WILLNEED, start, stop - start)
        return self._array.take(rows)


def runs(rows: npt.NDArray[np.int64], near: int, longest: int) -> list[tuple[int, int]]:
    """Positions [begin, end) in `rows`, which ascend, of stretches that are best read in one go.

    near : unused rows that may lie between two rows of a stretch. longest : bound on the rows from
    a stretch's first to its last, both counted; at least 1. O(len(rows)).
    """
    if not len(rows):
        return []
    edges = np.flatnonzero(np.diff(rows) > near + 1) + 1
    stretches = []
    for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(rows)], strict=True):
        while begin < end:
            cut = begin + int(np.searchsorted(rows[begin:end], rows[begin] + longest))
            stretches.append((begin, cut))
            begin = cut
    return stretches
