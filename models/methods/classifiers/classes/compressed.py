"""Rows of weights with only their large values, in half precision: about 6 bytes each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays, Float, Int, Int32, Matrix

NEGLIGIBLE = 1e-3
"""Values below this share of their row's largest are left out."""


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """Rows of a matrix.

    start : (n_rows + 1,) row i has the values `start[i]` to `start[i + 1]` - 1.
    index : columns, ascending in a row. value : float16, times `scale` of the row.
    scale : (n_rows,) float32, the largest magnitude of each row.
    """

    n_columns: int
    start: Int
    index: Int32
    value: Array
    scale: Array

    @property
    def n_rows(self) -> int:
        return int(self.scale.shape[0])

    @classmethod
    def of(cls, rows: Iterable[Float], n_columns: int) -> CompressedRows:
        """Compress dense rows, (n_columns,) each."""
        indices, values, scales = [], [], []
        for row in rows:
            index, value, scale = _compressed(row)
            indices.append(index)
            values.append(value)
            scales.append(scale)
        return cls._joined(n_columns, indices, values, scales)

    @classmethod
    def _joined(
        cls, n_columns: int, indices: list[Int32], values: list[Array], scales: list[float]
    ) -> CompressedRows:
        start = np.zeros(len(scales) + 1, dtype=np.int64)
        np.cumsum([index.size for index in indices], out=start[1:])
        none32, none16 = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float16)
        return cls(
            n_columns,
            start,
            np.concatenate([none32, *indices]),
            np.concatenate([none16, *values]),
            np.array(scales, dtype=np.float32),
        )

    @classmethod
    def stacked(cls, parts: list[CompressedRows], n_columns: int) -> CompressedRows:
        """The rows of all parts."""
        sizes = [np.diff(part.start) for part in parts]
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, int), *sizes]))])
        return cls(
            n_columns,
            start.astype(np.int64),
            np.concatenate([np.zeros(0, dtype=np.int32), *(part.index for part in parts)]),
            np.concatenate([np.zeros(0, dtype=np.float16), *(part.value for part in parts)]),
            np.concatenate([np.zeros(0, dtype=np.float32), *(part.scale for part in parts)]),
        )

    @classmethod
    def of_matrix(cls, matrix: sp.csr_array) -> CompressedRows:
        """All stored values of a sparse matrix."""
        matrix.sort_indices()
        start = matrix.indptr.astype(np.int64)
        n_rows = matrix.shape[0]
        filled = np.flatnonzero(np.diff(start))
        scale = np.zeros(n_rows, dtype=np.float32)
        if filled.size:
            scale[filled] = np.maximum.reduceat(np.abs(matrix.data), start[:-1][filled])
        value = matrix.data / np.repeat(np.where(scale > 0, scale, 1.0), np.diff(start))
        return cls(
            int(matrix.shape[1]),
            start,
            matrix.indices.astype(np.int32),
            value.astype(np.float16),
            scale,
        )

    def row(self, number: int) -> Float:
        """(n_columns,) one row, dense."""
        own = slice(int(self.start[number]), int(self.start[number + 1]))
        row = np.zeros(self.n_columns)
        row[self.index[own]] = self.value[own].astype(np.float64) * float(self.scale[number])
        return row

    def take(self, rows: Int) -> CompressedRows:
        """Some of the rows, in the given order."""
        own = [slice(int(self.start[row]), int(self.start[row + 1])) for row in rows]
        return self._joined(
            self.n_columns,
            [self.index[part] for part in own],
            [self.value[part] for part in own],
            self.scale[rows].tolist(),
        )

    def matrix(self) -> sp.csr_array:
        """(n_rows, n_columns) float32."""
        scale = np.repeat(self.scale, np.diff(self.start))
        return sp.csr_array(
            (self.value.astype(np.float32) * scale, self.index, self.start),
            shape=(self.n_rows, self.n_columns),
        )

    def columns(self, some: slice) -> Float:
        """(n_rows, n_some) some columns, dense."""
        return np.asarray(self._by_column[some].toarray().T, dtype=np.float64)

    @cached_property
    def _by_column(self) -> sp.csr_array:
        return sp.csr_array(self.matrix().T)

    @cached_property
    def _without_last(self) -> tuple[sp.csr_array, Float]:
        """All columns but the last as rows, and the last, (1, n_rows)."""
        whole, n_others = self._by_column, self.n_columns - 1
        # Not a slice of the matrix, which would copy it.
        end = int(whole.indptr[n_others])
        others = sp.csr_array(
            (whole.data[:end], whole.indices[:end], whole.indptr[:-1]),
            shape=(n_others, self.n_rows),
        )
        return others, whole[[n_others]].toarray().astype(np.float64)

    def scores(self, features: Matrix) -> Float:
        """(n_points, n_rows) products with features, of whose constant the last column is the
        weight if they have one column less. O(nnz of the pairs), dense features O(N nnz)."""
        if features.shape[1] == self.n_columns:
            return _dense(features @ self._by_column)
        by_column, constant = self._without_last
        return np.asarray(_dense(features @ by_column) + constant)

    def arrays(self, prefix: str = "") -> Arrays:
        return {
            f"{prefix}start": self.start,
            f"{prefix}index": self.index,
            f"{prefix}value": self.value,
            f"{prefix}scale": self.scale,
        }

    @classmethod
    def of_arrays(cls, arrays: Arrays, n_columns: int, prefix: str = "") -> CompressedRows:
        """The rows in `arrays`, not copied."""
        start, index, value, scale = (
            np.asarray(arrays[f"{prefix}{name}"]) for name in ("start", "index", "value", "scale")
        )
        return cls(n_columns, start, index, value, scale)


def _dense(values: Matrix) -> Float:
    dense = values.toarray() if isinstance(values, sp.csr_array) else values
    return np.asarray(dense, dtype=np.float64)


def _compressed(row: Float) -> tuple[Int32, Array, float]:
    scale = float(np.abs(row).max(initial=0.0))
    index = np.flatnonzero(np.abs(row) > NEGLIGIBLE * scale)
    value = (row[index] / scale if index.size else row[index]).astype(np.float16)
    return index.astype(np.int32), value, scale
