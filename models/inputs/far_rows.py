"""Rows so far from all others that beside them the others may seem to be one.

Distances by products, sums about a mean and bandwidths lose what is small beside the largest row.
`Most` says where most rows of a fit lie and how far apart, by scattered rows; all rows are compared
with it, in the fit and, since models keep it, at predictions. Where no single row is far, groups of
many rows may be, each close together.

O(N D) for rows at hand, about what a sum over them costs; sparse rows O(stored values).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float
from models.inputs.checks import Points, blocks, take
from models.inputs.data import Data
from models.inputs.frames import scattered_places, typical
from models.inputs.notes import note
from models.inputs.rows import Rows

FARTHEST = 2.0**20
"""How many times as far from the medians as most rows one may lie."""

MIDDLE, SPREAD, ANY_FAR = "rows.middle", "rows.spread", "rows.any_far"
"""The names in a model of what `Most` keeps."""

_FEWEST = 3
"""Stored values of a column of sparse rows that tell its size."""


@dataclass(frozen=True, slots=True)
class Far:
    """The first row beyond `FARTHEST`, the column that shows it, and how many times as far as most
    rows it lies there."""

    row: int
    column: int
    times: float


@dataclass(frozen=True, slots=True)
class Most:
    """Where most rows lie. middle : (D,) half the medians, which differ from halves of finite
    values without overflow. spread : the largest of the columns' typical distances from them.
    any_far : whether the fit had rows or groups further apart than `FARTHEST` times that.
    """

    middle: Float
    spread: float
    any_far: bool = False

    @classmethod
    def of(cls, points: Points) -> Most | None:
        """Dense or sparse rows, or rows that are read; None where most are equal or some are not
        finite."""
        sample = take(points, scattered_places(points.shape[0]))
        middle = np.zeros(points.shape[1])
        if isinstance(sample, sp.csr_array):
            spread = _spread_of_sparse(sample)
        else:
            half = sample.astype(np.float64) / 2
            middle = _median(half)
            spread = float(typical(np.abs(half - middle)).max(initial=0.0))
        return cls(middle, spread) if 0 < FARTHEST * spread < np.inf else None

    @property
    def arrays(self) -> Mapping[str, Array]:
        """What a model keeps."""
        return {
            MIDDLE: self.middle,
            SPREAD: np.array([self.spread]),
            ANY_FAR: np.array([self.any_far]),
        }

    @classmethod
    def kept(cls, arrays: Mapping[str, Array]) -> Most | None:
        """What a model has kept; None where it has nothing."""
        if MIDDLE not in arrays:
            return None
        return cls(arrays[MIDDLE], float(arrays[SPREAD][0]), bool(arrays[ANY_FAR][0]))

    def first_far(self, points: Points) -> Far | None:
        """The first row that lies too far away, if there is one."""
        if points.shape[1] != self.middle.size:
            return None
        room, most = FARTHEST * self.spread, float(np.abs(self.middle).max(initial=0.0))
        if isinstance(points, sp.csr_array):
            if _largest(points.data) / 2 + most <= room:
                return None
            apart = np.abs(points.data / 2.0 - self.middle[points.indices])
            place = int(np.argmax(apart > room))
            row = int(np.searchsorted(points.indptr, place, side="right")) - 1
            found = Far(row, int(points.indices[place]), float(apart[place]) / self.spread)
            return found if apart[place] > room else None
        for block, part in blocks(points):
            assert isinstance(part, np.ndarray)
            if _largest(part) / 2 + most <= room:
                continue
            apart = np.abs(part / 2.0 - self.middle)
            row, column = divmod(int(np.argmax(apart > room)), apart.shape[1])
            if apart[row, column] > room:
                return Far(block.start + row, column, float(apart[row, column]) / self.spread)
        return None


def _largest(values: Array) -> float:
    """The largest magnitude; 0 of none."""
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def _median(rows: Float) -> Float:
    """(D,) the lower median of each column."""
    middle = (len(rows) - 1) // 2
    lower: Float = np.partition(rows, middle, axis=0)[middle]
    return lower


def _spread_of_sparse(rows: sp.csr_array) -> float:
    """Half the largest of the columns' typical sizes of stored values, of columns that have a few;
    of all values where none has."""
    stored = rows.data != 0
    size, column = np.abs(rows.data[stored].astype(np.float64)) / 2, rows.indices[stored]
    if not size.size or not np.isfinite(size).all():
        return 0.0
    order = np.lexsort((size, column))
    size, column = size[order], column[order]
    first = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    count = np.diff(np.append(first, size.size))
    middle = size[first + (count - 1) // 2]
    enough = count >= _FEWEST
    return float(middle[enough].max() if enough.any() else np.median(size))


def most_of(data: Data) -> tuple[Mapping[str, Array], tuple[str, ...]]:
    """(what a model keeps of where most rows of the features lie, a warning as `far_warnings`).

    Features of several spaces and rows of which every reading is a download are not looked at.
    """
    rows = _looked_at(data)
    most = None if rows is None else Most.of(rows)
    if rows is None or most is None:
        return {}, ()
    notes = _warnings(most, rows)
    return Most(most.middle, most.spread, any_far=bool(notes)).arrays, notes


def far_warnings(points: Points) -> tuple[str, ...]:
    """A sentence on the first row that does not lie where most do, or on groups of rows."""
    most = Most.of(points)
    return () if most is None else _warnings(most, points)


def _warnings(most: Most, points: Points) -> tuple[str, ...]:
    far = most.first_far(points)
    if far is None:
        return _group_warnings(points)
    return (
        f"Row {far.row} lies {far.times:.0e} times as far away as most rows, in column "
        f"{far.column} (both counted from 0): beside such rows, distances between the others may "
        "be lost to rounding. Leave these out, or clip the column.",
    )


def note_new_rows(arrays: Mapping[str, Array], data: Data) -> None:
    """Note the first new row too far from the rows of the fit, and a fit that had such rows.

    arrays : of the model.
    """
    most, rows = Most.kept(arrays), _looked_at(data)
    if most is None or rows is None:
        return
    far = most.first_far(rows)
    if far is not None:
        note(
            f"Row {far.row} lies {far.times:.0e} times as far away as most rows of the fit, in "
            f"column {far.column} (both counted from 0): what is nearest to such a row may be lost "
            "to rounding."
        )
    if most.any_far:
        note(
            f"Rows of the model's fit lay more than {FARTHEST:.0e} times as far apart as most: "
            "distances between the others may have been lost to rounding."
        )


def _looked_at(data: Data) -> Points | None:
    rows = data.values.get("features")
    if isinstance(rows, np.ndarray) and rows.ndim > 2:  # images
        rows = rows.reshape(len(rows), -1)
    if not isinstance(rows, (np.ndarray, Rows, sp.csr_array)) or len(rows.shape) != 2:
        return None
    if 0 in rows.shape or (isinstance(rows, Rows) and rows.far):
        return None
    if not isinstance(rows, Rows) and rows.dtype.kind not in "fiub":
        return None
    return rows


def _group_warnings(points: Points) -> tuple[str, ...]:
    """A sentence where scattered rows lie more than `FARTHEST` times as far apart as neighbours
    among them."""
    sample = take(points, scattered_places(points.shape[0]))
    if isinstance(sample, sp.csr_array):
        size = np.abs(sample.data[sample.data != 0])
        if not size.size or size.max() < size.min() * FARTHEST / 4:
            return ()
        sample = sample[:, np.unique(sample.indices)].toarray()
    rows = sample.astype(np.float64) / 2
    if not np.isfinite(rows).all():
        return ()
    rows -= _median(rows)
    reach = np.abs(rows).max(axis=0)
    widest = float(reach.max(initial=0.0))
    # Without a column that is narrow, or has narrow gaps where it is widest, none lie so close.
    gaps = np.diff(np.sort(rows[:, int(reach.argmax())]))
    gaps = gaps[gaps > 0]
    narrow = min(reach[reach > 0].min(initial=widest), np.median(gaps) if gaps.size else widest)
    if not narrow * FARTHEST / 4 < widest < np.inf:
        return ()
    rows = np.unique(rows / widest, axis=0)
    squares = np.einsum("nd,nd->n", rows, rows)
    apart = squares[:, None] + squares - 2 * (rows @ rows.T)
    np.fill_diagonal(apart, np.inf)
    near = rows - rows[apart.argmin(axis=1)]
    gap = float(np.median(np.sqrt(np.einsum("nd,nd->n", near, near))))
    times = float(np.sqrt(squares.max())) / gap if gap > 0 else 0.0
    if times <= FARTHEST:
        return ()
    column = int(np.abs(rows).max(axis=0).argmax())
    return (
        f"Rows lie in groups about {times:.0e} times as far apart as neighbours within them, most "
        f"of all in column {column} (counted from 0): distances within a group may be lost to "
        "rounding. Leave the rows of one group out, or clip or scale the column.",
    )
