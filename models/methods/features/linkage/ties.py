"""Warnings of trees that the order of the points makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, row_blocks

_EQUAL = 1e-6
"""Distances within this of the largest are equal, up to the rounding of float32. Similarities may
have an offset, so they are compared by the rounding of their type."""


def tie_warnings(values: npt.NDArray[Any], role: str, height: Float) -> tuple[str, ...]:
    """A warning where the order of the points decides every merge: all distances are equal, or, of
    features, all merges have one height. O(N^2) for given distances or similarities, else O(N)."""
    n_merges = len(height)
    if n_merges < 2:
        return ()
    equal_within = _EQUAL
    if role == "features":
        low, high = float(height.min()), float(height.max())
    else:
        if role == "similarity" and values.dtype.kind == "f":
            equal_within = min(_EQUAL, 4 * float(np.finfo(values.dtype).eps))
        low, high = np.inf, -np.inf
        for block in row_blocks(*values.shape):
            rows = np.array(values[block], dtype=np.float64)
            # The diagonal is no distance between points.
            own = np.arange(len(rows))
            rows[own, own + block.start] = rows[own, (own + block.start + 1) % len(values)]
            low, high = min(low, float(rows.min())), max(high, float(rows.max()))
            if high - low > equal_within * max(abs(low), abs(high)):
                return ()
    if high - low > equal_within * max(abs(low), abs(high)):
        return ()
    equal = "merges are at one height" if role == "features" else "distances are equal"
    return (
        f"{n_merges} of {n_merges} merges were decided by ties alone: all {equal}, and the order "
        "of the points makes the tree.",
    )
