"""Where rows lie and how large they are: the one place that moves and scales rows for all that
measures distances, angles or spreads.

A frame is an origin, which is subtracted from rows, and a unit, a power of two by which they are
then divided. The origin is the median of each column, a value of the column, so that differences
from it are exact for near values; the unit is the largest of the columns' median distances from it.
Neither moves for a row that is far from all others. Rows that lie near 0 for their spread, and are
neither very small nor very large, have the plain frame and stay as they are, to the last bit.
Moving is for what is the same wherever rows lie, as Euclidean distances are; what counts from 0, as
angles do, has a frame that only scales.

Medians are taken of scattered rows, wherever in the matrix most rows lie; what a single row can
decide, that rows would exceed a type's range once they are scaled up, is decided by all rows.
Everything is computed in double precision by blocks; rows that are read are moved when they are
read. Cost: the sample; one pass over the rows where they are scaled up, or where all of the sample
are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Single, row_blocks
from models.errors import UsageError
from models.inputs.checks import Points, blocks, take
from models.inputs.data import Data
from models.inputs.rows import Rows, widened

FAR = 64.0
"""A column lies far away where its median is beyond this many times its spread."""

ORDINARY = 16
"""Spreads between 2^-ORDINARY and 2^ORDINARY are not scaled."""

LARGEST = 40
"""Rows are not scaled up so far that any exceeds 2^LARGEST."""

SQUARES = 30
"""Single precision has room for squares of values between 2^-SQUARES and 2^SQUARES."""

SMALLEST = 400
"""Double precision has room for squares of values from 2^-SMALLEST on."""

ROOM = 100
"""Single precision has room for values between 2^-ROOM and 2^ROOM."""

MOST = 1023
"""The exponent of the largest power of two."""

PAIRS = ("distances", "similarity", "graph")
"""Roles whose values are of pairs of points."""

NARROW = 2.0**-6
"""Rows within such an angle, seen from 0, have cosines that hardly differ."""

_AT_ONCE = 1 << 15
"""Values that are moved at a time."""

_STRETCHES, _LENGTH = 15, 17
"""A sample of neighbours: stretches of rows, at equal distances."""

_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, without their whole part, lie scattered between 0 and 1."""


@dataclass(frozen=True, slots=True)
class Frame:
    """origin : (D,) what is subtracted. exponent : rows are then divided by 2^exponent.
    wide : whether squares of rows need double precision.
    """

    origin: Float
    exponent: int
    wide: bool = False

    @classmethod
    def of(
        cls,
        points: Points,
        *,
        moves: bool = True,
        moved_beyond: float = FAR,
        scaled_beyond: int | None = ORDINARY,
    ) -> Frame:
        """The frame of dense or sparse rows, or of rows that are read; the plain one for rows that
        are not finite.

        moves : whether it may move rows; sparse rows are never moved. moved_beyond : columns move
        whose median is beyond this many times their spread. scaled_beyond : spreads between
        2^-scaled_beyond and 2^scaled_beyond are not scaled; None: none is.
        """
        n_columns = points.shape[1]
        plain = cls(np.zeros(n_columns), 0)
        if 0 in points.shape:
            return plain
        moves &= not isinstance(points, sp.csr_array)
        sample = scattered_rows(points)
        sample = sample[np.isfinite(sample).all(axis=1)]
        if not len(sample):
            return plain
        # Halves, since differences may overflow.
        sample = sample / 2
        origin = np.sort(sample, axis=0)[(len(sample) - 1) // 2] if moves else plain.origin
        reach = typical(np.abs(sample - origin))
        if not reach.any():
            reach = _reach(points, origin)
        widest = float(reach.max())
        if not (0 < widest < np.inf):
            return cls(2 * origin, 0) if moves and widest == 0 else plain
        with np.errstate(over="ignore"):
            far = np.abs(origin) > moved_beyond * np.where(reach > 0, reach, widest)
        exponent = min(int(np.frexp(widest)[1]) + 1, MOST)
        if exponent < -(SQUARES if scaled_beyond is None else scaled_beyond):
            # Rows far larger than the typical one have room, too.
            most = int(np.frexp(_reach(points, origin).max())[1]) + 1
            exponent = max(exponent, min(0, most - LARGEST))
        kept = scaled_beyond is None or abs(exponent) <= scaled_beyond
        wide = kept and abs(exponent) > SQUARES and _kind(points.dtype) == np.float32
        return cls(2 * origin if far.any() else plain.origin, 0 if kept else exponent, wide)

    def kind(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type in the frame of rows that had this type."""
        return np.dtype(np.float64) if self.wide else _kind(dtype)

    def columns(self, chosen: Int) -> Frame:
        """The frame of some columns."""
        return Frame(self.origin[chosen], self.exponent, self.wide)

    @property
    def is_plain(self) -> bool:
        """Whether rows stay as they are."""
        return self.exponent == 0 and not self.wide and not self.origin.any()

    def block(self, values: Array, kind: npt.DTypeLike = np.float64) -> Array:
        """(n, D) dense rows in the frame, correctly rounded to this kind."""
        if self.exponent == 0:
            if not self.origin.any():
                return values.astype(kind)
            # The origin is of the rows' type: one subtraction rounds once.
            computed = kind if values.dtype == kind else np.float64
            moved: Array = np.subtract(values, self.origin.astype(computed), dtype=computed)
            return moved.astype(kind, copy=False)
        with np.errstate(over="ignore", under="ignore"):
            wide = np.ldexp(values.astype(np.float64), -self.exponent)
            wide -= np.ldexp(self.origin, -self.exponent)
            return wide.astype(kind, copy=False)

    def rows(self, points: Points) -> Points:
        """The rows in the frame: as given where it is plain, else in double precision, or in single
        precision where that is theirs and has room."""
        if self.is_plain:
            return points
        if isinstance(points, Rows):
            return FramedRows(points, self)
        if isinstance(points, sp.csr_array):
            data = np.ldexp(points.data.astype(np.float64), -self.exponent)
            data = data.astype(self.kind(points.dtype), copy=False)
            return sp.csr_array((data, points.indices, points.indptr), shape=points.shape)
        return self.array(points)

    def array(self, points: Array) -> Array:
        """Dense rows in the frame, copied."""
        out = np.empty(points.shape, dtype=self.kind(points.dtype))
        with np.errstate(over="ignore"):
            for block in row_blocks(len(points), points.shape[1], _AT_ONCE):
                out[block] = self.block(points[block])
        return out

    def scaled_back(self, values: Array) -> Array:
        """Differences of rows in the frame, or distances, in the unit of the rows; in double
        precision where single precision has no room for them."""
        if self.exponent == 0:
            return values
        kind = values.dtype if abs(self.exponent) <= ROOM else np.dtype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            scaled: Array = np.ldexp(values.astype(np.float64), self.exponent).astype(kind)
        return scaled

    @property
    def shift(self) -> Single:
        """(D,) the origin in the unit of the frame: added to rows in it, they are only scaled."""
        return np.ldexp(self.origin, -self.exponent).astype(np.float32)

    def back(self, positions: Array) -> Float:
        """(n, D) positions in the frame, as rows lie."""
        wide = positions.astype(np.float64)
        if self.is_plain:
            return wide
        with np.errstate(over="ignore", under="ignore"):
            placed: Float = np.ldexp(wide, self.exponent) + self.origin
        return placed


@dataclass(frozen=True, slots=True)
class Aside:
    """How far rows lie from 0, seen as directions. column : that with the largest median.
    median, spread : its median and the largest spread of a column. share : the spread over the
    length of the medians: about the angle between rows, where it is small; infinite for rows about
    0.
    """

    column: int
    median: float
    spread: float
    share: float

    @classmethod
    def of(cls, points: Points) -> Aside:
        """How far dense rows, or rows that are read, lie from 0, by a sample."""
        sample = scattered_rows(points)
        sample = sample[np.isfinite(sample).all(axis=1)]
        top = float(np.abs(sample).max(initial=0.0))
        if top == 0:
            return cls(0, 0.0, 0.0, np.inf)
        sample = sample / top
        median = np.sort(sample, axis=0)[(len(sample) - 1) // 2]
        spread = float(typical(np.abs(sample - median)).max())
        column, length = int(np.abs(median).argmax()), float(np.linalg.norm(median))
        share = spread / length if length > 0 and spread > 0 else np.inf
        return cls(column, float(median[column] * top), spread * top, share)

    @property
    def reason(self) -> str:
        """What lies where, as the beginning of a sentence."""
        return (
            f"Input 'features' lies far from 0 for its spread: column {self.column} (counted from "
            f"0) has the median {self.median:g}, and the columns spread by {self.spread:.2g} at "
            "most, so that seen from 0 all rows lie in nearly one direction"
        )

    def require_directions(self, least: float) -> None:
        """Raises UsageError naming the column where `share` is below `least`."""
        if self.share < least:
            raise UsageError(
                f"{self.reason}, and their cosines are rounding. {CENTRE}",
                code="no-distance",
                role="features",
                column=self.column,
            )


CENTRE = 'Centre the columns first (`preprocess: [{"step": "standardize"}]`).'


class FramedRows(Rows):
    """Rows that are moved and scaled when they are read."""

    def __init__(self, rows: Rows, frame: Frame) -> None:
        self._rows, self._frame = rows, frame
        self.shape, self.far = rows.shape, rows.far
        self.dtype = frame.kind(rows.dtype)

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self._frame.array(self._rows.values(start, stop))

    def take(self, rows: Int) -> npt.NDArray[Any]:
        values = self._rows.take(rows)
        return self._frame.array(widened(values) if self._rows.bfloat16 else values)


def _kind(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of rows in a frame: float32 where that holds their differences, else float64."""
    return np.dtype(np.float32 if dtype == np.float32 or dtype.itemsize <= 2 else np.float64)


def scattered_rows(points: Points) -> Float:
    """(at most 255, D) rows from everywhere; of sparse ones (n, 1) the values that are stored."""
    if isinstance(points, sp.csr_array):
        stored: Float = points.data[scattered_places(points.nnz), None].astype(np.float64)
        return stored
    taken: Float = np.asarray(take(points, scattered_places(points.shape[0]))).astype(np.float64)
    return taken


def scattered_places(n: int) -> Int:
    """At most 255 places of n, rising: all, or such that few stretches or steps would miss most."""
    most = _STRETCHES * _LENGTH
    if n <= most:
        return np.arange(n)
    return np.unique((np.arange(1, most + 1) * _GOLDEN % 1 * n).astype(np.int64))


def sampled(points: Array | Rows) -> Float:
    """(at most 255, D) some rows, of which many follow each other."""
    n_points = points.shape[0]
    starts = np.linspace(0, max(0, n_points - _LENGTH), _STRETCHES).astype(np.int64)
    parts = [slice(at, min(at + _LENGTH, n_points)) for at in np.unique(starts)]
    if n_points <= _STRETCHES * _LENGTH:
        parts = [slice(0, n_points)]
    read = points.values if isinstance(points, Rows) else lambda a, b: points[a:b]
    wide: Float = np.concatenate([read(part.start, part.stop) for part in parts]).astype(np.float64)
    return wide


def typical(apart: Float) -> Float:
    """(D,) the median of the values other than 0 in each column; 0 where there are none."""
    count = (apart > 0).sum(axis=0)
    order = np.sort(apart, axis=0)
    place = len(apart) - count + (count - 1) // 2
    columns = np.arange(apart.shape[1])
    typical: Float = np.where(count > 0, order[np.minimum(place, len(apart) - 1), columns], 0.0)
    return typical


def _reach(points: Points, origin: Float) -> Float:
    """(D,) half the largest distance of all rows from twice the origin; O(N D)."""
    reach = np.zeros(1 if isinstance(points, sp.csr_array) else points.shape[1])
    for _, rows in blocks(points):
        part = rows.data[:, None] if isinstance(rows, sp.csr_array) else rows
        reach = np.maximum(reach, np.abs(part / 2 - origin[: reach.size]).max(axis=0, initial=0.0))
    return reach


def with_room(data: Data) -> Data:
    """The data, with the features in double precision where single precision has no room for their
    squares; the same data where it has. Raises UsageError where double precision has none either,
    since they are too small."""
    for role in PAIRS:
        if role in data:
            _require_room_for_pairs(data.values[role], role)
    features = data.values.get("features")
    matrices = features if isinstance(features, tuple) else (features,)
    wide = [_wide(matrix) for matrix in matrices]
    if all(new is old for new, old in zip(wide, matrices, strict=True)):
        return data
    return Data(
        {**data.values, "features": tuple(wide) if isinstance(features, tuple) else wide[0]}
    )


def _require_room_for_pairs(matrix: Any, role: str) -> None:
    """Raises UsageError for numbers of pairs that are all so small that squares have no room.

    A look at scattered rows; all numbers are compared only where these are so small.
    """
    if not isinstance(matrix, (np.ndarray, sp.csr_array, Rows)) or len(matrix.shape) != 2:
        return
    if matrix.dtype.kind != "f" or 0 in matrix.shape:
        return
    least = 2.0**-SMALLEST
    sizes = np.abs(scattered_rows(matrix))
    if not 0 < sizes.max(initial=0.0) < least or _reach(matrix, np.zeros(1)).max() * 2 >= least:
        return
    raise UsageError(
        f"Input {role!r} has no value of {least:.0e} or more: squares of smaller ones have no room "
        "in double precision. Scale the input up.",
        code="unusable-input",
        role=role,
    )


def require_room(points: Points) -> Frame:
    """The frame of features that stay where they are and are scaled at most. Raises UsageError for
    features so small that their squares have no room in double precision."""
    frame = Frame.of(points, moves=False, scaled_beyond=SMALLEST)
    if frame.exponent < 0:
        raise UsageError(
            f"Input 'features' has no value beyond {2.0**frame.exponent:.0e} in most rows: squares "
            f"of values below {2.0**-SMALLEST:.0e} have no room in double precision. Scale the "
            "input up.",
            code="unusable-input",
            role="features",
        )
    return frame


def _wide(matrix: Any) -> Any:
    numbers = isinstance(matrix, (np.ndarray, sp.csr_array, Rows)) and len(matrix.shape) == 2
    if not numbers or matrix.dtype.kind != "f":
        return matrix
    frame = require_room(matrix)
    return frame.rows(matrix) if frame.wide else matrix
