"""The names of array types in signatures, and rows taken block by block.

The aliases tell what an array holds; docstrings give its shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array: TypeAlias = npt.NDArray[Any]
Float: TypeAlias = npt.NDArray[np.float64]
Single: TypeAlias = npt.NDArray[np.float32]
Int: TypeAlias = npt.NDArray[np.int64]
Int32: TypeAlias = npt.NDArray[np.int32]
Mask: TypeAlias = npt.NDArray[np.bool_]

Matrix: TypeAlias = "Array | sp.csr_array"
"""Dense or sparse, one row per point."""

Arrays: TypeAlias = Mapping[str, Array]
"""Arrays by name, as models and checkpoints are saved."""

IN_CACHE = 1 << 17
"""Values of a float64 block that stays in a core's cache (1 MiB)."""


def row_blocks(n_rows: int, row_length: int, values: int = IN_CACHE) -> Iterator[slice]:
    """Slices that cut `n_rows` rows into blocks of about `values` values, at least one row each."""
    step = max(1, values // max(1, row_length))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def read_only(array: Array) -> Array:
    """The same numbers, as an array that cannot be written. For compiled loops: arrays that may be
    written, as mapped files may not, are of another type, compiled anew."""
    view = array.view()
    view.flags.writeable = False
    return view
