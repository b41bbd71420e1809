"""Arrays as they lie in a file, one number after the other: found, mapped, read by rows.

What a header says is checked against the length of the file, wherever that is: on the disk or in
the object store. Nothing is read but headers.
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

from models.rows import ArrayRows, Rows
from workers.formats import roles
from workers.formats.facts import Facts, Member
from workers.formats.tables import dtype_name

HELD_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
"""A file of so many bytes is still in memory when it is read again."""

_NEAR_BYTES = 64 << 10


class Content(Protocol):
    """The bytes of a file, here or far away."""

    length: int

    def read(self, start: int, stop: int) -> bytes:
        """The bytes [start, stop), fewer where the file ends before."""
        ...


class LocalContent:
    """A local file that nobody changes."""

    def __init__(self, path: Path) -> None:
        self.length = path.stat().st_size
        self._path = path

    def read(self, start: int, stop: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where one array lies in a file, its header found equal to what follows.

    dtype : as stored; uint16 where `bfloat16`.
    offset : of its first byte.
    fortran : whether it lies column after column.
    members : every array of the file, where the format can hold several.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    fortran: bool = False
    bfloat16: bool = False
    members: tuple[Member, ...] = ()

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    def facts(self) -> Facts:
        dtype = "bfloat16" if self.bfloat16 else dtype_name(self.dtype)
        return Facts(self.shape, dtype, members=self.members)


def mapped(path: Path, layout: Layout) -> npt.NDArray[Any]:
    """The array read-only, mapped into memory and not read."""
    order: Literal["C", "F"] = "F" if layout.fortran else "C"
    array: npt.NDArray[Any] = np.memmap(
        path, dtype=layout.dtype, mode="r", offset=layout.offset, shape=layout.shape, order=order
    )
    return array.view(np.ndarray)


def rows(path: Path, layout: Layout, role: str) -> Rows:
    """The matrix of `role`, mapped and read by rows. UsageError where the role takes no such."""
    roles.require_matrix(layout.shape, layout.dtype, role)
    array = ArrayRows(mapped(path, layout), bfloat16=layout.bfloat16)
    if layout.fortran or array.nbytes <= HELD_BYTES:
        return array
    return MappedRows(array, layout.offset)


class MappedRows(Rows):
    """Rows of a mapped matrix in C order that memory does not hold, so that they come from a disk.

    The kernel reads a scan ahead by itself. Of scattered rows it is told all before the first is
    waited for: they come several times as fast, and little beside them is read.
    """

    def __init__(self, array: ArrayRows, offset: int) -> None:
        """offset : in the file, of the array's first byte."""
        self.shape, self.dtype, self.bfloat16 = array.shape, array.dtype, array.bfloat16
        self._array = array
        self._memory = cast("mmap.mmap", cast("np.memmap[Any, Any]", array.array.base).base)
        # The mapping begins at the page that the array begins in.
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
    """Cut ascending row numbers into stretches that are better read at once than row by row.

    near : rows that may lie unused between two of a stretch. longest : rows from a stretch's first
    to its last, both counted; at least 1. Gives positions [begin, end) in `rows`. O(len(rows)).
    """
    if not len(rows):
        return []
    edges = np.flatnonzero(np.diff(rows) > near + 1) + 1
    out = []
    for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(rows)], strict=True):
        while begin < end:
            cut = begin + int(np.searchsorted(rows[begin:end], rows[begin] + longest))
            out.append((begin, cut))
            begin = cut
    return out
