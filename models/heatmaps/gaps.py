"""Features with empty values as a heatmap: statistics over the values that are there.

A cell of which no point has a value is NaN, which is drawn as missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Mask
from models.errors import listed
from models.heatmaps.heatmap import STEPS
from models.inputs.checks import Points, blocks
from models.inputs.rows import Rows
from models.running import budget

MISSING = STEPS
"""The step of a cell without a value, where some have none; others have lower ones."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Rows with empty values.

    filled : (n_points, D) float64, the mean of a column in place of its empty values, 0 in a column
    without any. there : (n_points, D) which values there are.
    """

    filled: Float
    there: Mask

    @classmethod
    def of(cls, rows: Points) -> Gaps | None:
        """None for sparse rows and for rows without an empty value. Holds the rows in double
        precision otherwise."""
        if isinstance(rows, sp.csr_array) or rows.dtype.kind != "f":
            return None
        if not any(np.isnan(part).any() for _, part in blocks(rows)):
            return None
        budget.require("heatmap", 20 * rows.shape[0] * rows.shape[1], "Choose fewer columns.")
        values = rows.values(0, rows.shape[0]) if isinstance(rows, Rows) else rows
        filled = np.array(values, dtype=np.float64)
        there = ~np.isnan(filled)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.where(there, filled, 0.0).sum(axis=0)
            mean = total / np.maximum(there.sum(axis=0), 1)
        np.copyto(filled, mean, where=~there)
        return cls(filled, there)

    def warnings(self, names: list[str]) -> tuple[str, ...]:
        """What is not there, and columns of which nothing is."""
        n = int((~self.there).sum())
        notes = [
            f"{n:,} of {self.there.size:,} values are empty; statistics are over the others, and a "
            "cell of which no point has a value is drawn as missing."
        ]
        bare = np.flatnonzero(~self.there.any(axis=0))
        if bare.size:
            notes.append(f"No row has a value in {listed([names[at] for at in bare.tolist()])}.")
        return tuple(notes)


@dataclass(frozen=True, slots=True)
class GappedMoments:
    """As `drawing.Moments`, over the values that are there."""

    whole: Float
    deviation: Float
    between: Float


def moments(rows: Float, there: Mask, group: Int, n_groups: int) -> GappedMoments:
    """rows : (n_points, D) float64. group : (n_points,) of each, n_groups for none. O(N D)."""
    kept = there & (group < n_groups)[:, None]
    n = np.maximum(kept.sum(axis=0), 1)
    whole = np.where(kept, rows, 0.0).sum(axis=0) / n
    apart = np.where(kept, rows - whole, 0.0)
    variance = (apart**2).sum(axis=0) / n
    # Rounding of a constant column is no variance.
    variance[variance <= 1e-14 * (np.where(kept, rows, 0.0) ** 2).sum(axis=0) / n] = 0.0
    sums, counts = _by_group(apart, kept, group, n_groups)
    between = (sums**2 / np.maximum(counts, 1)).sum(axis=0) / n
    share = np.divide(between, variance, out=np.zeros(len(n)), where=variance > 0)
    return GappedMoments(whole, np.sqrt(variance), np.minimum(share, 1.0))


def means(rows: Float, there: Mask, group: Int, n_groups: int) -> Float:
    """(n_groups, D) means of the values that are there; NaN for none."""
    sums, counts = _by_group(np.where(there, rows, 0.0), there, group, n_groups)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def medians(rows: Float, there: Mask, group: Int, n_groups: int) -> Float:
    """(n_groups, D) medians of the values that are there; NaN for none. O(D N log N)."""
    out = np.full((n_groups, rows.shape[1]), np.nan)
    for column in range(rows.shape[1]):
        own = np.flatnonzero(there[:, column] & (group < n_groups))
        of = group[own]
        ordered = rows[own, column][np.lexsort((rows[own, column], of))]
        n = np.bincount(of, minlength=n_groups)
        first, has = np.cumsum(n) - n, n > 0
        low, high = first + (n - 1) // 2, first + n // 2
        out[has, column] = (ordered[low[has]] + ordered[high[has]]) / 2
    return out


def _by_group(values: Float, there: Mask, group: Int, n_groups: int) -> tuple[Float, Float]:
    n = len(group)
    of = sp.csr_array((np.ones(n), (group, np.arange(n))), shape=(n_groups + 1, n))
    return (of @ values)[:n_groups], (of @ there.astype(np.float64))[:n_groups]
