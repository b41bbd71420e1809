"""A matrix of numbers that is read by rows: in memory, mapped from a file, or remote.

A method gets it where its `Input` has `by_rows`. Rows are read when they are needed, and the matrix
is never copied as a whole.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

COPIED_BYTES = 8 << 20
"""The bytes of rows that `Rows.as_array` copies at a time."""


class Rows(ABC):
    """Rows of a (n_rows, n_columns) matrix.

    shape : (n_rows, n_columns).
    dtype : of what `read` and `take` give, in native byte order: float16, float32, float64, an
        integer or bool; uint16 where `bfloat16`.
    bfloat16 : whether the numbers are bfloat16, read as their bits.
    far : whether reading a few scattered rows takes about as long as reading all in order.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    bfloat16: bool = False
    far: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the whole matrix."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @abstractmethod
    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows [start, stop), (stop - start, n_columns) in C order; not to be written to.

        Rows past the end are left out. Reading in order is fastest.
        """

    @abstractmethod
    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The rows of the given ascending numbers, (len(rows), n_columns) in C order."""

    def values(self, start: int, stop: int) -> npt.NDArray[Any]:
        """As `read`, with bfloat16 widened to float32."""
        return widened(self.read(start, stop)) if self.bfloat16 else self.read(start, stop)

    def as_array(self) -> npt.NDArray[Any]:
        """All rows, as by `read`: as they are held or mapped; remote and chosen ones mapped from a
        nameless temporary file. Raises OSError where there is no room for it."""
        with tempfile.TemporaryFile() as file:
            step = max(1, COPIED_BYTES // max(1, self.nbytes // max(1, self.shape[0])))
            for start in range(0, self.shape[0], step):
                # Written, not assigned in a map: a full disk would then end the process.
                file.write(self.read(start, start + step).data)
            file.flush()
            return np.memmap(file, self.dtype, "r", shape=self.shape)


class ArrayRows(Rows):
    """Rows of an array in memory or memory-mapped.

    `read` copies nothing where the array has C order and native byte order, otherwise the rows that
    it reads.
    """

    def __init__(self, array: npt.NDArray[Any], *, bfloat16: bool = False) -> None:
        self.shape = (array.shape[0], array.shape[1])
        self.dtype = array.dtype.newbyteorder("=")
        self.bfloat16 = bfloat16
        self.array = np.asarray(array)

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        return np.require(self.array[start:stop], self.dtype, ["C", "A"])

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return np.require(self.array[rows], self.dtype, ["C", "A"])

    def as_array(self) -> npt.NDArray[Any]:
        return self.read(0, self.shape[0])


class ChosenRows(Rows):
    """Some rows of a matrix, of ascending numbers."""

    def __init__(self, rows: Rows, numbers: npt.NDArray[np.int64]) -> None:
        self.shape = (len(numbers), rows.shape[1])
        self.dtype, self.bfloat16, self.far = rows.dtype, rows.bfloat16, rows.far
        self._rows, self._numbers = rows, numbers

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self._rows.take(self._numbers[start:stop])

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return self._rows.take(self._numbers[rows])


class RowRange(Rows):
    """The rows [start, stop) of a matrix."""

    def __init__(self, rows: Rows, start: int, stop: int) -> None:
        self.shape = (stop - start, rows.shape[1])
        self.dtype, self.bfloat16, self.far = rows.dtype, rows.bfloat16, rows.far
        self._rows, self._start = rows, start

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        stop = min(stop, self.shape[0])
        return self._rows.read(self._start + start, self._start + stop)

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return self._rows.take(self._start + rows)


def widened(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """float32 of the bits of bfloat16; exact, since they are the upper half."""
    wide = bits.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)
