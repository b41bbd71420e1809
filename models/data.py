"""What a method is given: its inputs by role, already parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError
from models.tree.tree import Tree

Matrix: TypeAlias = "npt.NDArray[Any] | sp.csr_array"
Value: TypeAlias = "npt.NDArray[Any] | sp.csr_array | list[str] | Tree"


@dataclass(frozen=True, slots=True)
class Data:
    """The inputs of one job by role.

    `values` maps a role to what it holds: a matrix (n_points, n) dense (maybe memory-mapped,
    read-only) or `scipy.sparse.csr_array`; labels as a vector of integers or of `str` objects;
    names as a list of `str`; a hierarchy as a `Tree`.
    """

    values: Mapping[str, Value]

    def __contains__(self, role: str) -> bool:
        return role in self.values

    def dense(self, role: str) -> npt.NDArray[Any]:
        """The matrix of `role` as stored, not copied. UsageError if it is sparse or not numbers."""
        value = self.values[role]
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiub":
            raise UsageError(
                f"Input {role!r} must be a dense matrix of numbers, one row per point.",
                code="wrong-input",
                role=role,
            )
        return value

    def names(self, role: str = "names") -> list[str] | None:
        """The list of names given as `role`, or None."""
        value = self.values.get(role)
        if value is None:
            return None
        if isinstance(value, (Tree, sp.csr_array)):
            raise UsageError(
                f"Input {role!r} must be a list of names.", code="wrong-input", role=role
            )
        return [str(item) for item in value]


def require_finite(values: npt.NDArray[Any], role: str, block: int = 1 << 22) -> None:
    """Raise UsageError naming the first row and column that is NaN or infinite.

    Reads in blocks of about `block` values, so a memory-mapped array is never held whole. O(N D).
    """
    if values.dtype.kind != "f":
        return
    rows = max(1, block // max(1, values.shape[1]))
    for start in range(0, values.shape[0], rows):
        part = values[start : start + rows]
        # A sum is finite iff no term is NaN or infinite, short of overflow: one cheap pass first.
        with np.errstate(over="ignore", invalid="ignore"):
            total = part.sum(dtype=np.float64)
        if np.isfinite(total):
            continue
        bad = np.argwhere(~np.isfinite(part))
        if bad.size:
            row, column = int(bad[0, 0]) + start, int(bad[0, 1])
            word = "NaN" if np.isnan(part[bad[0, 0], column]) else "infinite"
            raise UsageError(
                f"Input {role!r} has a value that is {word} at row {row}, column {column} "
                "(counted from 0); every value must be finite.",
                code="not-finite",
                role=role,
                row=row,
                column=column,
            )
