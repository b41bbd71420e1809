"""Distances between points: condensed ones made square, and rounding below zero forgiven.

A matrix has a row and a column for each point. A vector of n (n - 1) / 2 values, also as a matrix
of one column, is what SciPy's `pdist` gives, the upper triangle row by row, and is taken as the
square matrix. A value that rounding made negative is 0: one of at most the square root
of its type's precision times the largest distance, which is how far a matrix may also be from
symmetric. Both are noted. Similarities have no condensed form, since their diagonal counts; those
that look like distances are noted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.reading import note
from workers.formats import columns
from workers.formats.columns import NUMBERS
from workers.formats.refusals import refused
from workers.formats.tables import Lists, Table

ROLES = ("distances", "similarity")
"""The roles that take a square matrix of numbers alone."""

MOST_POINTS = 200_000
"""Condensed distances between more points are refused before they are unfolded."""

_BLOCK = 1 << 22


def matrix(
    table: Table, role: str, of_rows: Callable[[Table, str], npt.NDArray[Any] | sp.csr_array]
) -> npt.NDArray[Any] | sp.csr_array:
    """The square matrix of a table; other shapes are left for the method to refuse.

    of_rows : gives the matrix of a table of rows, or refuses it.

    Raises UsageError `wrong-shape` for a vector that is no condensed matrix and for condensed
    similarities, `too-large`, and what `of_rows` raises. O(n^2).
    """
    vector = _vector(table, role)
    if vector is not None:
        values: npt.NDArray[Any] | sp.csr_array = _square(vector, role)
    else:
        values = of_rows(table, role)
    if role == "distances" and isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return _not_negative(values)
    if role == "similarity" and isinstance(values, np.ndarray):
        _note_distances(values)
    return values


def _note_distances(values: npt.NDArray[Any]) -> None:
    """Note similarities that are 0 on the diagonal and greater everywhere else, as distances."""
    n = len(values)
    if values.ndim != 2 or values.shape != (n, n) or n < 3 or np.diagonal(values).any():
        return
    if all(np.count_nonzero(row > 0) == n - 1 for row in values):
        note(
            "All values of input 'similarity' are above 0 but those on the diagonal, which are 0, "
            "as of distances: the rows that are farthest apart would count as the most alike. If "
            "they are distances, give them as the input 'distances'."
        )


def n_points(shape: tuple[int, ...]) -> int | None:
    """The number of points of condensed distances of this shape; None for what is a matrix, or no
    condensed form."""
    if not _is_vector(shape):
        return None
    length = math.prod(shape)
    n = (1 + math.isqrt(1 + 8 * length)) // 2
    return n if n * (n - 1) // 2 == length else None


def _is_vector(shape: tuple[int, ...]) -> bool:
    """Whether it is a vector, or a matrix of one column and several rows; one row may be the
    distances of a new point."""
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1 and shape[0] > 1)


def _vector(table: Table, role: str) -> npt.NDArray[Any] | None:
    """The values of a vector, None for anything else."""
    if isinstance(table, Lists):
        rows = table.value
        if isinstance(rows, list) and rows and set(map(type, rows)) <= NUMBERS:
            return columns.numbers(rows, role)
        if not (isinstance(rows, list) and rows and all(type(row) is list for row in rows)):
            return None
        if not _is_vector((len(rows), len(rows[0]))) or len(set(map(len, rows))) > 1:
            return None
        cells = [cell for row in rows for cell in row]
        return columns.numbers(cells, role) if set(map(type, cells)) <= NUMBERS else None
    if isinstance(table, np.ndarray) and _is_vector(table.shape) and table.dtype.kind in "biuf":
        return table.reshape(-1)
    return None


def _square(vector: npt.NDArray[Any], role: str) -> npt.NDArray[Any]:
    n = n_points(vector.shape)
    if role != "distances":
        raise UsageError(
            f"Input {role!r} is a vector of {vector.size:,} values; it must be a square matrix. "
            "Only distances have a condensed form: similarities need their diagonal, which "
            "scipy.spatial.distance.squareform leaves 0.",
            code="wrong-shape",
            role=role,
        )
    if n is None:
        raise UsageError(
            f"Input {role!r} is a vector of {vector.size:,} values; it must be a square matrix, or "
            "condensed: n (n - 1) / 2 values for n points, as scipy.spatial.distance.pdist gives "
            "and squareform unfolds them.",
            code="wrong-shape",
            role=role,
        )
    if n > MOST_POINTS:
        raise UsageError(
            f"Input {role!r} has condensed distances between {n:,} points; at most "
            f"{MOST_POINTS:,} are accepted.",
            code="too-large",
            role=role,
        )
    kind = vector.dtype.newbyteorder("=") if vector.dtype.kind == "f" else np.dtype(np.float64)
    values = np.asarray(vector, dtype=kind)
    odd = np.flatnonzero(~np.isfinite(values))
    if odd.size:
        raise refused(
            f"has a value that is not finite at place {int(odd[0])} of its condensed distances "
            "(counted from 0)",
            role,
            "not-finite",
            row=int(odd[0]),
        )
    square = np.zeros((n, n), dtype=kind)
    start = 0
    for i in range(n - 1):
        row = values[start : start + n - 1 - i]
        square[i, i + 1 :] = row
        square[i + 1 :, i] = row
        start += n - 1 - i
    note(
        f"The {vector.size:,} {role} are taken as the condensed matrix of {n:,} points "
        "(scipy.spatial.distance.squareform)."
    )
    return square


def _not_negative(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The distances, with 0 for those that rounding made negative; copied only for these. NaN,
    infinity and other negative values are left for the method to refuse."""
    if values.ndim != 2 or not values.size:
        return values
    step = max(1, _BLOCK // values.shape[1])
    blocks = [slice(start, start + step) for start in range(0, len(values), step)]
    low = min(float(values[block].min()) for block in blocks)
    high = max(float(values[block].max()) for block in blocks)
    # Comparisons with NaN are false.
    if not (low < 0.0 and max(high, -low) < np.inf):
        return values
    slack = float(np.sqrt(np.finfo(values.dtype).eps)) * max(high, -low)
    if low < -slack:
        return values
    positive = np.array(values)
    n_below = 0
    for block in blocks:
        below = positive[block] < 0.0
        n_below += int(below.sum())
        positive[block][below] = 0.0
    note(
        f"{n_below:,} distance(s) below 0 by no more than rounding (the lowest is {low:.3g}, the "
        f"largest distance {high:.3g}) are taken as 0."
    )
    return positive
