"""Rows so far from all others that beside them the others may seem to be one.

Distances by products, sums about a mean and bandwidths lose what is small beside the largest row.
The medians of scattered rows say how far apart most rows lie, and all rows are compared with that.
O(N D) for rows at hand: about what a sum over them costs.
"""

from __future__ import annotations

import numpy as np

from models.inputs.checks import blocks
from models.inputs.data import Data
from models.inputs.frames import scattered_rows, typical
from models.inputs.rows import Rows

FARTHEST = 2.0**20
"""How many times as far from the medians as most rows one may lie."""


def far_row_warnings(data: Data) -> tuple[str, ...]:
    """A sentence on the first row of dense features that lies beyond `FARTHEST`, if there is one.
    Features of several spaces and rows of which every reading is a download are not looked at."""
    rows = data.values.get("features")
    if not isinstance(rows, (np.ndarray, Rows)) or len(rows.shape) != 2 or 0 in rows.shape:
        return ()
    if isinstance(rows, Rows) and rows.far:
        return ()
    sample = scattered_rows(rows) / 2
    if not np.isfinite(sample).all():
        return ()
    middle = np.sort(sample, axis=0)[(len(sample) - 1) // 2]
    widest = float(typical(np.abs(sample - middle)).max(initial=0.0))
    room = FARTHEST * widest
    if not 0 < room < np.inf:
        return ()
    for block, part in blocks(rows):
        assert isinstance(part, np.ndarray)
        half = max(float(part.max()), -float(part.min())) / 2
        if half + float(np.abs(middle).max()) <= room:
            continue
        apart = np.abs(part / 2.0 - middle)
        if apart.max() > room:
            row, column = divmod(int(np.argmax(apart > room)), apart.shape[1])
            times = float(apart[row, column]) / widest
            return (
                f"Row {block.start + row} lies {times:.0e} times as far away as most rows, in "
                f"column {column} (both counted from 0): beside such rows, distances between the "
                "others may be lost to rounding. Leave these out, or clip the column.",
            )
    return ()
