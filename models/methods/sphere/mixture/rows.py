"""Unit rows as methods on the sphere read them: dense by blocks, in memory or not, or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix
from models.errors import UsageError
from models.inputs.checks import as_floats, by_rows, take
from models.inputs.data import Data, require_finite
from models.inputs.rows import ArrayRows, Rows

SLACK = 1e-5
"""The largest accepted difference of a row's length from 1."""

COARSE_SLACK = 1e-2
"""The same for 16-bit numbers, whose rounding causes it; such rows are normalized again."""

HELD_BYTES = 1 << 30
"""Features that are prepared or fetched on reading are held in memory up to this size in bytes."""

_VALUES = 1 << 17
"""Values in a block of dense rows, or in what a caller computes from it: both fit in the cache."""

_SPARSE_VALUES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class UnitRows:
    """values : (n_points, D); sparse ones in canonical form with 32-bit indices.

    kind : float32 or float64, of the blocks. coarse : whether each block is normalized when read.
    """

    values: sp.csr_array | Rows
    kind: np.dtype[Any]
    coarse: bool = False

    @classmethod
    def of(cls, data: Data, role: str = "features") -> UnitRows:
        """The rows of an input, not copied; only the column order of sparse rows is read."""
        values = by_rows(data, role)
        if isinstance(values, sp.csr_array):
            floats = as_floats(values)
            assert isinstance(floats, sp.csr_array)
            if not floats.has_canonical_format:
                floats = floats.copy()
                floats.sum_duplicates()
            return cls(floats, floats.dtype)
        coarse = values.bfloat16 or values.dtype == np.float16
        single = coarse or values.dtype == np.float32
        return cls(values, np.dtype(np.float32 if single else np.float64), coarse)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def sparse(self) -> bool:
        return isinstance(self.values, sp.csr_array)

    @property
    def near(self) -> bool:
        """Whether several threads may read the rows at the same time."""
        return not isinstance(self.values, Rows) or isinstance(self.values, ArrayRows)

    def whole(self, kind: np.dtype[Any]) -> bool:
        """Whether blocks of any length are available in numbers of `kind` without a copy."""
        if not isinstance(self.values, ArrayRows) or self.coarse:
            return False
        array = self.values.array
        return bool(array.dtype == kind and array.flags.c_contiguous)

    def slices(self, row_length: int = 0) -> list[slice]:
        """The rows in blocks; a caller computes `row_length` values for each row."""
        n_points, n_features = self.shape
        if self.sparse:
            step = int(np.clip(_SPARSE_VALUES // max(1, row_length), 64, 8192))
        else:
            step = int(np.clip(_VALUES // max(n_features, row_length), 64, 4096))
        return [slice(at, min(at + step, n_points)) for at in range(0, n_points, step)]

    def block(self, rows: slice) -> Matrix:
        """Rows in order; dense ones must not be written to."""
        if isinstance(self.values, Rows):
            return self._ready(self.values.values(rows.start, rows.stop))
        return self.values[rows]

    def take(self, rows: Int) -> Matrix:
        """The rows of the given ascending numbers."""
        taken = take(self.values, rows)
        return taken if isinstance(taken, sp.csr_array) else self._ready(taken)

    def dense(self, rows: Int) -> Float:
        """The rows of the given numbers in any order, dense in double precision."""
        order = np.argsort(rows, kind="stable")
        taken = self.take(rows[order])
        wide = taken.toarray() if isinstance(taken, sp.csr_array) else taken
        out = np.empty(wide.shape)
        out[order] = wide
        return out

    def held(self) -> UnitRows:
        """The same rows, held in memory where reading them again would cost more."""
        n_points, n_features = self.shape
        small = n_points * n_features * self.kind.itemsize <= HELD_BYTES
        if self.near or not small:
            return self
        whole = np.empty(self.shape, dtype=self.kind)
        for rows in self.slices():
            whole[rows] = self.block(rows)
        return UnitRows(ArrayRows(whole), self.kind)

    def require_unit(self, role: str = "features") -> None:
        """Raises UsageError naming the first row that is not finite, or not of length 1. O(N D)."""
        if self.shape[1] < 2:
            raise UsageError(
                f"Input {role!r} has {self.shape[1]} column(s); directions need at least 2.",
                code="wrong-shape",
                role=role,
            )
        if isinstance(self.values, sp.csr_array):
            require_finite(self.values, role)
        for rows, raw in self._raw():
            if not isinstance(raw, sp.csr_array):
                require_finite(raw, role, first_row=rows.start)
            length = _lengths(raw)
            slack = COARSE_SLACK if self.coarse else SLACK
            bad = np.flatnonzero(np.abs(length - 1.0) > slack)
            if bad.size:
                _refuse(role, rows.start + int(bad[0]), float(length[bad[0]]))

    def _raw(self) -> Iterator[tuple[slice, Matrix]]:
        for rows in self.slices():
            if isinstance(self.values, Rows):
                yield rows, self.values.values(rows.start, rows.stop)
            else:
                yield rows, self.values[rows]

    def _ready(self, rows: Matrix) -> Matrix:
        assert not isinstance(rows, sp.csr_array)
        block = np.ascontiguousarray(rows, dtype=self.kind)
        if self.coarse:
            block = block / _lengths(block)[:, None].astype(self.kind)
        return block


def _lengths(rows: Matrix) -> Float:
    """(n,) the length of each row, in double precision and at any scale."""
    if isinstance(rows, sp.csr_array):
        wide = rows.data.astype(np.float64)
        with np.errstate(over="ignore"):
            squares = sp.csr_array((wide * wide, rows.indices, rows.indptr), shape=rows.shape)
            total: Float = np.asarray(squares.sum(axis=1)).ravel()
            return np.sqrt(total)
    wide = np.asarray(rows, dtype=np.float64)
    with np.errstate(over="ignore"):
        length: Float = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    return length


def _refuse(role: str, row: int, length: float) -> None:
    if length == 0.0:
        raise UsageError(
            f"Row {row} of input {role!r} (counted from 0) is all zeros, so it has no direction. "
            "Leave such rows out.",
            code="zero-row",
            role=role,
            row=row,
        )
    raise UsageError(
        f"Row {row} of input {role!r} (counted from 0) has length {length:.6g}; rows must have "
        'length 1. Ask for it by `preprocess: [{"step":"l2"}]`.',
        code="not-unit",
        role=role,
        row=row,
    )
