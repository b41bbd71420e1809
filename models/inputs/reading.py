"""What reading an input refuses to round, and what it notes for the warnings of its job.

Whole numbers that double precision would round are refused where they are to be measured. Every
integer up to 2^53 is exact. A larger one is accepted where it is a double, or is written with at
most 15 significant digits, which no two doubles share.

What reading decided, forgave or found odd is noted: what reads calls `note`; what runs a job
collects the notes by `noting`. Outside of it, as where an upload is inspected, notes go nowhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import UsageError

LARGEST = 2.0**53
"""Up to here every integer is a double."""

DIGITS = 15
"""As many significant digits survive in a double."""

_WRITTEN = re.compile(r"[+-]?(\d+)(?:\.(\d*))?", re.ASCII)


def is_kept(written: str) -> bool:
    """Whether a number beyond `LARGEST`, as written with a decimal point, is kept as a double; one
    with an exponent is meant as a double, and one too large for any is refused as not finite."""
    from decimal import Decimal

    found = _WRITTEN.fullmatch(written.strip())
    if found is None or math.isinf(float(written)):
        return True
    whole, part = found.group(1), found.group(2) or ""
    digits = (whole + part.rstrip("0")).strip("0")
    return len(digits) <= DIGITS or Decimal(written.strip()) == Decimal(float(written))


def first_rounded(values: npt.NDArray[Any]) -> int | None:
    """The place in (n,) integers of the first that double precision would round."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return None
    bound = int(LARGEST)
    beyond = values > bound
    if values.dtype.kind == "i":
        beyond |= values < -bound
    places = np.flatnonzero(beyond)
    return next((int(at) for at in places if not is_kept(str(values[at]))), None)


def rounded(
    written: object,
    row: int,
    column: int,
    *,
    name: str | None = None,
    role: str | None = None,
    line: int | None = None,
) -> UsageError:
    """The error for a number that would be rounded. role : None for a file of no known role."""
    own = f"column {column}" if name is None else f"column {name}"
    of_file = "" if line is None else f"; line {line} of the file"
    place: dict[str, Any] = {"row": row, "column": column}
    place |= {"line": line} if line is not None else {}
    place |= {"role": role} if role is not None else {}
    subject = "The file" if role is None else f"Input {role!r}"
    return UsageError(
        f"{subject} has {written!s:.60} at row {row}, {own} (counted from 0{of_file}), which "
        f"double precision rounds to {int(float(str(written)))}: integers are exact up to 2^53. "
        "Subtract what the column has in common, or leave it out; the ids of rows are chosen by "
        "?id_column=, and other features by ?columns=.",
        code="unusable-input",
        **place,
    )


def require_exact(values: npt.NDArray[Any], role: str, first_row: int = 0) -> None:
    """Raises UsageError naming the first integer of a dense matrix that would be rounded. O(N D)
    for integers of 64 bits, else nothing."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return
    if max(int(values.max()), -int(values.min())) <= LARGEST:
        return
    at = first_rounded(values.reshape(-1))
    if at is not None:
        row, column = divmod(at, values.shape[1])
        raise rounded(int(values[row, column]), first_row + row, column, role=role)


_collected: ContextVar[dict[str, None] | None] = ContextVar("notes", default=None)


def note(sentence: str) -> None:
    """Add a warning to the job whose inputs are being read."""
    notes = _collected.get()
    if notes is not None:
        notes[sentence] = None


@contextmanager
def noting() -> Iterator[dict[str, None]]:
    """Collect the notes made inside, each once, in order; they are the keys."""
    notes: dict[str, None] = {}
    token = _collected.set(notes)
    try:
        yield notes
    finally:
        _collected.reset(token)
