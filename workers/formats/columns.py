"""Values of columns, checked: one for each row, all integers, all numbers or all text.

What an input's columns mean is in `roles`.

`row`, where it is taken, gives the row of each value for errors; None: value i stands in row i.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.inputs.reading import LARGEST, is_kept, note
from workers.formats.refusals import broken, described, missing, refused
from workers.formats.tables import dtype_name, text_array

NUMBERS = frozenset({int, float})
"""The types of JSON numbers."""

_PAIRS = (0xD800, 0xDFFF)
"""Code points that are halves of pairs in UTF-16, and no characters."""


def of_list(items: object, role: str | None, *, real: bool = False) -> npt.NDArray[Any]:
    """(n_rows,) int64, float64 or `str` objects of a list all of numbers or all of text; of labels
    also bool.

    real : whether the role takes numbers, not only integers; for the message.
    """
    if not isinstance(items, list):
        raise refused(f"must be a list, not {described(items)}", role)
    if not items:
        raise refused("has no values", role, "empty")
    types = set(map(type, items))
    if types == {str}:
        return text_array(items)
    if types <= NUMBERS:
        return numbers(items, role)
    if types == {bool} and role == "labels":
        return np.array(items)
    first = {str} if type(items[0]) is str else NUMBERS
    row = next(row for row, item in enumerate(items) if type(item) not in first)
    if items[row] is None:
        raise missing(row, role=role)
    word = "numbers" if real else "integers"
    mixed = "" if type(items[row]) is list else f". The values must be all {word} or all text"
    raise refused(
        f"must be a list of {word} or of text; row {row} (counted from 0) is "
        f"{described(items[row])}{mixed}",
        role,
        row=row,
    )


def numbers(items: list[Any], role: str | None, row: Int | None = None) -> npt.NDArray[Any]:
    """Integers stay exact: float64 is used only if some number is written as a float. Raises
    UsageError naming the first that is too large, or an integer that float64 would round."""
    whole = all(type(item) is int for item in items)
    try:
        values = np.array(items, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        values = np.array([as_float(item) for item in items])
    too_large = whole & (np.abs(values.astype(np.float64)) >= 2.0**63)
    strange = np.flatnonzero(~np.isfinite(values) | too_large)
    if strange.size:
        at = _row(strange, row)
        raise refused(
            f"has a number too large for 64 bits at row {at} (counted from 0)",
            role,
            "not-finite",
            row=at,
        )
    if not whole:
        for at in np.flatnonzero(np.abs(values) >= LARGEST).tolist():
            if type(items[at]) is int and not is_kept(str(items[at])):
                raise refused(
                    f"has {items[at]} at row {_row([at], row)} (counted from 0), which double "
                    f"precision rounds to {int(values[at])}: beside numbers written as decimals, "
                    "integers are exact up to 2^53",
                    role,
                    "unusable-input",
                    row=_row([at], row),
                )
    return values


def as_float(number: int | float) -> float:
    """The number; infinite where it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def integers(array: npt.NDArray[Any], role: str, row: Int | None = None) -> Int:
    """The values as int64; a note says so of labels that are true and false. Raises UsageError
    naming the first that is none."""
    if array.dtype.kind == "b" and role == "labels":
        note("The labels are true and false: they are the classes 1 and 0.")
    if array.dtype.kind == "f":
        nan = np.flatnonzero(np.isnan(array))
        if nan.size:
            raise missing(_row(nan, row), role=role)
        wide = array.astype(np.float64)
        strange = np.flatnonzero((wide != np.trunc(wide)) | (np.abs(wide) > 2.0**53))
    elif array.dtype.kind == "u" and array.dtype.itemsize == 8:
        strange = np.flatnonzero(array > np.uint64(2**63 - 1))
    elif array.dtype.kind in "biu":
        strange = np.empty(0, dtype=np.int64)
    else:
        raise refused(f"must be integers or text; the column holds {dtype_name(array.dtype)}", role)
    if strange.size:
        at = _row(strange, row)
        raise refused(
            f"has {array[strange[0]]!s} at row {at} (counted from 0), which is not a 64-bit "
            "integer; accepted are integers (also written as 3.0) or text",
            role,
            row=at,
        )
    return array.astype(np.int64)


def require_texts(
    texts: Sequence[str], role: str, row: Int | None = None, *, blank: bool = False
) -> None:
    """Raise UsageError naming the first text that is empty, unless these are accepted (`blank`), or
    not valid Unicode."""
    for at, text in enumerate(texts):
        if not text and not blank:
            raise missing(_row([at], row), role=role)
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        at = _row([at for at, text in enumerate(texts) if _has_surrogate(text)], row)
        raise refused(
            f"has text that is not valid Unicode (a lone surrogate) at row {at} (counted from 0)",
            role,
            row=at,
        ) from None


def decoded(array: npt.NDArray[Any]) -> list[str]:
    """The texts of an array of dtype U, S or O."""
    if array.dtype.kind == "O":
        return [str(item) for item in array.tolist()]
    require_unicode(array)
    texts: list[str] = (
        array.tolist() if array.dtype.kind == "U" else [item.decode() for item in array.tolist()]
    )
    return texts


def require_unicode(array: npt.NDArray[Any], row: Int | None = None) -> None:
    """Raise UsageError `invalid-file` naming the first text of an array of dtype U or S that is not
    valid Unicode, or not UTF-8. array : of one dimension. O(bytes)."""
    if array.dtype.kind == "U":
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
        codes = array.view(np.uint32).reshape(len(array), -1)
        pairs = (codes >= _PAIRS[0]) & (codes <= _PAIRS[1])
        strange, place = np.nonzero(pairs | (codes > sys.maxunicode))
        if strange.size:
            raise broken(
                f"The text at row {_row(strange, row)} (counted from 0) has the code point "
                f"U+{codes[strange[0], place[0]]:04X}, which is not valid Unicode."
            )
        return
    # A zero after each keeps what one begins from being completed by the next.
    apart = np.zeros((len(array), array.dtype.itemsize + 1), dtype=np.uint8)
    apart[:, :-1] = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)
    try:
        apart.tobytes().decode()
    except UnicodeDecodeError as error:
        at = _row([error.start // apart.shape[1]], row)
        raise broken(f"The text at row {at} (counted from 0) is not UTF-8.") from None


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _row(at: Sequence[int] | Int, row: Int | None) -> int:
    return int(at[0] if row is None else row[at[0]])
