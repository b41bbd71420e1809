"""The errors that several readers share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from models.errors import UsageError, shown

CONVERT = (
    "Pickled content is never opened. Save plain arrays instead: numpy.save(file, array, "
    "allow_pickle=False) for .npy, or safetensors.torch.save_file({'logits': tensor}, file)."
)


def unsupported(detail: str) -> UsageError:
    """The error `unsupported-format`: a file, or an array in it, of a kind that is not accepted."""
    return UsageError(detail, code="unsupported-format")


def by_curl(stated: str, accepted: str = "text/csv") -> str:
    """How curl names an accepted type, where the stated one is what it sends by itself; else ""."""
    if stated != "application/x-www-form-urlencoded":
        return ""
    return f", which curl sends by itself; state it by `-H 'Content-Type: {accepted}'`"


def broken(detail: str) -> UsageError:
    """The error `invalid-file`: a file that violates its format."""
    return UsageError(detail, code="invalid-file")


def missing(
    row: int,
    column: int | None = None,
    *,
    line: int | None = None,
    role: str | None = None,
    name: str | None = None,
) -> UsageError:
    """The error `missing-value` at a row and column counted from 0, on a line counted from 1.

    name : that of the column.
    """
    place = {"row": row, "column": column, "line": line}
    own = f"{column}" if name is None else shown(name)
    at = f"row {row}" if column is None else f"row {row}, column {own}"
    of_file = "" if line is None else f"; line {line} of the file"
    return UsageError(
        f"{subject(role)} has a missing value at {at} (counted from 0{of_file}); every value is "
        "required.",
        code="missing-value",
        **where(role, **{name: number for name, number in place.items() if number is not None}),
    )


def subject(role: str | None) -> str:
    """The name of the input of `role`, or of a file whose role is not known yet, in an error."""
    return f"Input {role!r}" if role else "The file"


def where(role: str | None, **place: int) -> dict[str, str | int]:
    """The machine-readable place of an error."""
    return {"role": role, **place} if role else {**place}


def refused(what: str, role: str | None, code: str = "wrong-input", **place: int) -> UsageError:
    """The error that the input of `role` (or a file of no known role) has the fault `what`."""
    return UsageError(f"{subject(role)} {what}.", code=code, **where(role, **place))


def described(item: object) -> str:
    """A JSON value made safe for a message."""
    match item:
        case None:
            return "null"
        case bool():
            return str(item).lower()
        case str():
            return f"the text {shown(item, 40)}"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "a number"


@contextmanager
def texts_refused(format: str, role: str) -> Iterator[None]:
    """Around the reading of one column of words as a matrix, which it is where they are truths or
    missing values; else it is refused as texts. Other errors stay as they are."""
    how = (
        " Cells are separated by a tab, comma, semicolon or bar, or by spaces where all but the "
        "first column are numbers."
        if format == "csv"
        else ""
    )
    try:
        yield
    except UsageError as error:
        if error.code != "wrong-input":
            raise
        raise UsageError(
            f"Input {role!r} must be a matrix of numbers; the file is one column of texts.{how}",
            code="wrong-shape",
            role=role,
        ) from None
