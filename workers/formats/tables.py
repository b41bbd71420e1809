"""Plain tables: the result of every reader, before a role requires more of it.

A reader parses bytes and refuses what is not of its format; `roles` turns the table into the value
of a role, or refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError, shown
from models.inputs.items import MOST_COLUMNS
from workers.formats.refusals import missing, unsupported

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = re.compile(r"[ \t]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t]*", re.ASCII)
NOT_FINITE = re.compile(r"[ \t]*[+-]?(nan|inf(inity)?)[ \t]*", re.ASCII | re.IGNORECASE)
NOTHING = frozenset({"na", "n/a", "#n/a", "<na>", "null", "none", "nil"})
"""The spellings of a missing value, as Excel and pandas write them too, in any case."""

PADDED = re.compile(r"\s*0\d+\s*", re.ASCII)
"""A number that begins with 0, as codes do."""

_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*", re.ASCII)
_INTEGER = re.compile(r"[ \t]*[+-]?\d{1,18}[ \t]*", re.ASCII)
_DTYPES = frozenset({"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"})

"""What a file is read as, if it can be read in several ways: "labels" is a column whose rows may
have several values or none, "paths" the same or a list of class paths, "edges" a matrix of numbers
or pairs of text, "table" columns of any kinds under their names."""


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A column as written: text that may stand for numbers, and the line of each cell."""

    texts: Sequence[str]
    lines: Sequence[int]

    def typed(self, *, gaps: bool = False) -> npt.NDArray[Any]:
        """(n_rows,) int64, else float64 with NaN for missing values, else `str` objects.

        gaps : whether a blank cell is a missing value.
        """
        texts = self.texts
        if all(map(_INTEGER.fullmatch, texts)):
            return np.array([int(text) for text in texts], dtype=np.int64)
        words = {text for text in texts if not NUMBER.fullmatch(text)}
        foreign = {word for word in words if not NOT_FINITE.fullmatch(word)}
        if all(map(is_empty if gaps else _is_nothing, foreign)) and any(
            text not in words for text in texts
        ):
            return np.array([np.nan if text in foreign else float(text) for text in texts])
        return text_array(texts)


@dataclass(frozen=True, slots=True)
class Lists:
    """A JSON value, not yet checked."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class LabelRows:
    """A column of which each row has several values, one or none; not yet checked.

    start : (n_rows + 1,) the values of row i are `value[start[i]:start[i + 1]]`.
    value : (start[-1],) numbers or `str` objects.
    unlabelled : (n_rows,) whether it is unknown which values a row has; it has none in `value`.
    are_sets : whether the format has sets of labels alone, and no indicators.
    """

    start: npt.NDArray[np.int64]
    value: npt.NDArray[Any]
    unlabelled: npt.NDArray[np.bool_]
    are_sets: bool = False

    @classmethod
    def of(
        cls, times: npt.NDArray[Any], value: npt.NDArray[Any], unlabelled: npt.NDArray[np.bool_]
    ) -> LabelRows:
        """times : (n_rows,) the number of values of each row."""
        start = np.zeros(len(times) + 1, dtype=np.int64)
        np.cumsum(times, out=start[1:])
        return cls(start, value, unlabelled)

    @property
    def row(self) -> npt.NDArray[np.int64]:
        """(start[-1],) the row of each value."""
        return np.repeat(np.arange(len(self.unlabelled)), np.diff(self.start))

    def one_each(self) -> npt.NDArray[Any]:
        """(n_rows,) the value of each row. Raises UsageError naming the first row that has none or
        several."""
        times = np.diff(self.start)
        odd = np.flatnonzero(times != 1)
        if odd.size:
            row = int(odd[0])
            if self.unlabelled[row]:
                raise missing(row)
            raise UsageError(
                f"The file has {times[row]} labels at row {row} (counted from 0); one is needed "
                "here.",
                code="wrong-input",
                row=row,
            )
        return self.value


@dataclass(frozen=True, slots=True)
class WrittenPairs:
    """Two columns as written: the text of both cells, and the line, of each row."""

    texts: Sequence[tuple[str, str]]
    lines: Sequence[int]


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of several columns, where one is needed and none was chosen."""

    names: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Indicator:
    """A matrix (n_rows, n_classes) of 0 and 1 alone, with the names of its columns."""

    matrix: npt.NDArray[Any]
    names: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class NamedColumns:
    """Columns of any kinds, each an Arrow array, under their names as the file has them.

    written : whether every value is the text of a cell, which may stand for a number.
    """

    names: Sequence[str]
    columns: Sequence[pa.ChunkedArray]
    written: bool = False


Table: TypeAlias = (
    npt.NDArray[Any]
    | sp.csr_array
    | list[str]
    | WrittenColumn
    | Lists
    | LabelRows
    | WrittenPairs
    | Columns
    | Indicator
    | NamedColumns
)
"""An array (n_rows, n_columns) or (n_rows,), mapped or not; a sparse matrix; texts; or one of the
classes above."""


def is_empty(text: str) -> bool:
    """Whether a cell has no value: it is blank, or written as such."""
    bare = text.strip().lower()
    return not bare or bare in NOTHING or bare.lstrip("+-") == "nan"


def is_number(text: str) -> bool:
    """Whether a cell is written as a number, finite or not."""
    return bool(NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text))


def is_written_number(text: str) -> bool:
    """Whether a text is a number, also with a decimal comma."""
    return is_number(text) or _COMMA.fullmatch(text) is not None


def _is_nothing(text: str) -> bool:
    return text.strip().lower() in NOTHING


def text_array(texts: Sequence[str]) -> npt.NDArray[Any]:
    """(n_rows,) `str` objects."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The dtype as `Facts` names it."""
    return "str" if dtype.kind in "US" else str(dtype)


def require_dtype(dtype: np.dtype[Any]) -> None:
    """Raise UsageError `unsupported-format` except for numbers of up to 64 bits, booleans and
    text."""
    if dtype.kind in "US" and dtype.itemsize > 0:
        return
    if f"{dtype.kind}{dtype.itemsize}" not in _DTYPES or dtype.subdtype is not None:
        raise unsupported(
            f"An array of dtype {shown(str(dtype))} is not accepted; accepted are booleans, "
            "integers, float16, float32, float64 and text."
        )


def require_names(names: Sequence[str]) -> None:
    """Raise UsageError for too many columns, and for two of one name."""
    if len(names) > MOST_COLUMNS:
        raise UsageError(
            f"The table has {len(names):,} columns; at most {MOST_COLUMNS} are accepted as items. "
            "Upload vectors as features.",
            code="too-large",
            limit=MOST_COLUMNS,
        )
    require_distinct(names)


def require_distinct(names: Sequence[str]) -> None:
    """Raise UsageError for two columns of one name."""
    known: set[str] = set()
    for column, name in enumerate(names):
        if name.strip() in known:
            raise UsageError(
                f"The table has two columns of the name {shown(name)}; the second is column "
                f"{column} (counted from 0). Names must be distinct.",
                code="wrong-input",
                column=column,
            )
        known.add(name.strip())


def require_filled(shape: tuple[int, ...]) -> None:
    """Raise UsageError unless the shape is that of a column, a matrix or images, and not empty."""
    if not 1 <= len(shape) <= 4:
        raise UsageError(
            f"The array has {len(shape)} dimensions, shape {shape}; accepted are a matrix "
            "(n_rows, n_columns), a column (n_rows,) and images (n_rows, height, width) or "
            "(n_rows, height, width, channels).",
            code="wrong-shape",
            shape=list(shape),
        )
    if shape[0] == 0:
        raise UsageError("The array has no rows.", code="empty", shape=list(shape))
    if len(shape) == 2 and shape[1] == 0:
        raise UsageError("The array has no columns.", code="empty", shape=list(shape))
    if 0 in shape:
        raise UsageError(
            f"The images have no pixels: shape {shape}.", code="empty", shape=list(shape)
        )
