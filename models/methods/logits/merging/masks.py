"""Masks of classes that a row cannot have, written as a very low number in place of -inf.

Programs that mask classes put -1e9, -1e4, or the least number of a type into their logits, or add
it to them. Beside ordinary logits the softmax of these is 0, as that of -inf; but where no other
class is left, they would be compared with each other as if they were logits. A row's numbers below
`LOW` are masks if all its others are ordinary, at most `ORDINARY` in magnitude, or if the whole row
is one such number; rows of any other kind are kept, since logits of any scale are accepted.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Mask, row_blocks
from models.inputs.rows import ArrayRows, Rows, widened

LOW, ORDINARY = -9.9e3, 1e3
"""-1e4, to which an ordinary number was added, is a mask, too."""

_BRAIN_LOW, _BRAIN_INF = 0xC61B, 0xFF80
_HALF_LOW, _HALF_INF = int(np.float16(LOW).view(np.uint16)), 0xFC00
"""Bits of `LOW` and of -inf in 16 bits; as integers they grow with the magnitude."""


class UnmaskedRows(Rows):
    """Rows of logits with -inf in place of other masks; of integers as float64."""

    def __init__(self, rows: Rows) -> None:
        self.shape, self.bfloat16, self.far = rows.shape, rows.bfloat16, rows.far
        floating = rows.dtype.kind == "f" or rows.bfloat16
        self.dtype = rows.dtype if floating else np.dtype(np.float64)
        self._rows = rows

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self._of(self._rows.read(start, stop))

    def take(self, rows: Int) -> npt.NDArray[Any]:
        return self._of(self._rows.take(rows))

    def _of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values = values if self.bfloat16 else values.astype(self.dtype, copy=False)
        masked = masks(values, bfloat16=self.bfloat16)
        if masked is None:
            return values
        return np.where(masked, values.dtype.type(_BRAIN_INF if self.bfloat16 else -np.inf), values)


def unmasked(rows: Rows) -> Rows:
    """Rows with -inf for each mask: the same, if they are in memory and have none. One pass over
    rows in memory."""
    if isinstance(rows, ArrayRows) and not _has_masks(rows):
        return rows
    return rows if isinstance(rows, UnmaskedRows) else UnmaskedRows(rows)


def masks(values: npt.NDArray[Any], *, bfloat16: bool = False) -> Mask | None:
    """(n, K) which of the numbers are masks but not -inf; None where none is."""
    low = _low(values, bfloat16)
    if low is None:
        return None
    at = np.flatnonzero(low.any(axis=1))
    rows = widened(values[at]) if bfloat16 else values[at]
    below = low[at]
    with np.errstate(invalid="ignore"):
        ordinary = (np.abs(rows) <= ORDINARY) | (rows == -np.inf)
    mixed = (below | ordinary).all(axis=1) & ~below.all(axis=1)
    whole = below.all(axis=1) & (rows == rows[:, :1]).all(axis=1)
    found = np.zeros(values.shape, dtype=bool)
    found[at] = below & (mixed | whole)[:, None]
    return found if found.any() else None


def _low(values: npt.NDArray[Any], bfloat16: bool) -> Mask | None:
    """(n, K) which of the numbers are finite and at most `LOW`; None where none is."""
    if not values.size or values.dtype.kind not in "fiu":
        return None
    if bfloat16 or values.dtype == np.float16:
        least, lowest = (_BRAIN_LOW, _BRAIN_INF) if bfloat16 else (_HALF_LOW, _HALF_INF)
        bits = values.view(np.uint16)
        if bits.max() < least:
            return None
        low = (bits >= least) & (bits < lowest)
    elif values.min() > LOW:
        return None
    else:
        low = (values <= LOW) & (values != -np.inf)
    return low if low.any() else None


_MOST_KNOWN = 8

_known: OrderedDict[tuple[Any, ...], tuple[weakref.ref[Any], bool]] = OrderedDict()
"""What was found in arrays: each piece of a fit comes back to its array."""


def _has_masks(rows: ArrayRows) -> bool:
    array = owner = rows.array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    key = (array.ctypes.data, array.shape, array.strides, array.dtype.str)
    known = _known.get(key)
    if known is not None and known[0]() is owner:
        return known[1]
    found = any(
        masks(np.asarray(array[block]), bfloat16=rows.bfloat16) is not None
        for block in row_blocks(*rows.shape)
    )
    _known[key] = weakref.ref(owner), found
    while len(_known) > _MOST_KNOWN:
        _known.popitem(last=False)
    return found
