"""Inputs of which each row is the same point, brought into one order by the ids of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Int
from models.errors import UsageError, shown
from models.inputs.data import Value
from models.inputs.label_sets import LabelSets
from models.inputs.reading import note

MOST_READ = 1_000_000
"""The most ids that are read where there are no others."""


@dataclass(frozen=True, slots=True)
class Ided:
    """An input whose table has a column of ids, and how they are read."""

    role: str
    column: str
    read: Callable[[], Sequence[str]]


def in_one_order(
    values: dict[str, Value], ided: Sequence[Ided], ids: Sequence[str] | None = None
) -> dict[str, Value]:
    """The values with the rows of all of `ided` in the order of the first, or of `ids` of a tree.

    Only what has a value for each row is put in another order, which is noted; so is that no id of
    an input is one of the others, or that a row has none. An input of another length with none of
    the ids stays. Ids are read only where there are two lists of them. O(N).

    Raises UsageError `wrong-length` naming an id that is missing or one too many, `wrong-input`
    naming the first id that only one of two inputs has, or that one of them has twice, unless both
    have the same in the same order; and for rows of a matrix in another order.
    """
    if len(ided) + (ids is not None) < 2:
        return values
    first, others = "the tree", list(ided)
    if ids is None:
        first = f"input {ided[0].role!r}"
        ids, others = _ids(ided[0]), list(ided[1:])
        _compare_doubled(ids, ided[0], others)
    result = dict(values)
    for other in others:
        own = None if ids is None else _ids(other)
        if ids is None or own is None:
            continue
        if len(own) != len(ids):
            _require_none(ids, own, first, other)
        else:
            order = _order(ids, own, first, other)
            if order is not None:
                result[other.role] = _taken(result[other.role], order, first, other)
    return result


def note_shuffled(ided: Ided, n_rows: int, beside: str) -> None:
    """Note ids that are the numbers of all rows, from 0 or 1, in another order, where `beside` has
    no ids with which they could be compared. O(N); more than `MOST_READ` are not read."""
    if not 1 < n_rows <= MOST_READ:
        return
    try:
        own = ided.read()
        numbers = np.array(own, dtype=np.int64)
    except (UsageError, ValueError, OverflowError):
        return
    away = numbers - numbers.min() - np.arange(len(numbers))
    if (
        numbers.min() in (0, 1)
        and away.any()
        and (np.sort(numbers) - numbers.min()).tolist() == [*range(len(numbers))]
    ):
        note(
            f"The ids of input {ided.role!r} (column {shown(ided.column)}, {shown(own[0])} at row "
            f"0) are the numbers of its rows in another order, and {beside} has no ids: its rows "
            "are taken in the order in which they stand. Sort them by that column if they belong "
            "to other rows."
        )


def _ids(ided: Ided) -> Sequence[str] | None:
    """The ids of the rows; None, with a note, where a row has none."""
    try:
        return ided.read()
    except UsageError as error:
        if error.code not in ("missing-value", "wrong-input"):
            raise
        note(f"The rows of input {ided.role!r} are taken in order: {error.detail}")
        return None


def _compare_doubled(ids: Sequence[str] | None, first: Ided, others: Sequence[Ided]) -> None:
    """Raise UsageError where the first input has an id twice and another one names its rows
    otherwise."""
    if ids is None or len(set(ids)) == len(ids):
        return
    for other in others:
        own = _ids(other)
        if own is not None and len(own) == len(ids) and list(own) != list(ids):
            _require_once(ids, own, first.role, first.column)


def _require_once(own: Sequence[str], others: Sequence[str], role: str, column: str) -> None:
    """Raise UsageError for the first id that occurs twice, if any id is one of the others."""
    known, row_of = set(others), dict[str, int]()
    if known.isdisjoint(own):
        return
    for row, text in enumerate(own):
        before = row_of.setdefault(text, row)
        if before != row:
            raise UsageError(
                f"Input {role!r} has the id {shown(text)} at row {before} and at row {row}, column "
                f"{shown(column)} (counted from 0). Rows are matched by their ids, which must "
                "differ. Mend the ids, or upload the table without this column to take its rows "
                "in order.",
                code="wrong-input",
                role=role,
                row=row,
            )


def _require_none(ids: Sequence[str], own: Sequence[str], first: str, other: Ided) -> None:
    """Raise UsageError for inputs of two lengths, if any id is one of the others."""
    known, here = set(ids), set(own)
    if known.isdisjoint(here):
        return
    _require_once(own, ids, other.role, other.column)
    lacks = next((row for row, text in enumerate(ids) if text not in here), None)
    more = next((row for row, text in enumerate(own) if text not in known), None)
    parts = [] if lacks is None else [f"lacks {shown(ids[lacks])} of row {lacks} there"]
    if more is not None:
        parts.append(f"has {shown(own[more])} at row {more}, which {first} has not")
    raise UsageError(
        f"Input {other.role!r} has {len(own)} rows and {first} {len(ids)}: by its ids (column "
        f"{shown(other.column)}, rows counted from 0) it {' and '.join(parts)}. Each row needs one "
        "value.",
        code="wrong-length",
        role=other.role,
    )


def _order(ids: Sequence[str], own: Sequence[str], first: str, other: Ided) -> Int | None:
    """(n_rows,) the row of `other` for each of `ids`; None where nothing is to be changed."""
    if list(ids) == list(own):
        return None
    _require_once(own, ids, other.role, other.column)
    row_of = {text: row for row, text in enumerate(own)}
    if row_of.keys().isdisjoint(ids):
        note(
            f"No id of input {other.role!r} (column {shown(other.column)}, {shown(own[0])} at row "
            f"0) is one of {first} ({shown(ids[0])} at row 0): their rows are taken in order."
        )
        return None
    rows = [row_of.get(text, -1) for text in ids]
    if -1 in rows:
        known = set(ids)
        row = next(row for row, text in enumerate(own) if text not in known)
        lacks = ids[rows.index(-1)]
        raise UsageError(
            f"Input {other.role!r} has the id {shown(own[row])} at row {row}, column "
            f"{shown(other.column)} (counted from 0), which {first} has not; it lacks "
            f"{shown(lacks)} of row {rows.index(-1)} there. Rows are matched by their ids, which "
            "must be the same.",
            code="wrong-input",
            role=other.role,
            row=row,
        )
    return np.array(rows, dtype=np.int64)


def _taken(value: Any, order: Int, first: str, other: Ided) -> Value:
    by_row = isinstance(value, (list, LabelSets)) or (
        isinstance(value, np.ndarray) and value.ndim == 1
    )
    if not by_row:
        row = int(np.flatnonzero(order != np.arange(len(order)))[0])
        raise UsageError(
            f"The rows of input {other.role!r} are in another order than in {first}, by the "
            f"ids of column {shown(other.column)}; row {row} (counted from 0) is the first that "
            "differs. Sort one of them.",
            code="wrong-input",
            role=other.role,
            row=row,
        )
    note(
        f"The rows of input {other.role!r} were put in the order of {first} by their ids (column "
        f"{shown(other.column)})."
    )
    if isinstance(value, list):
        return [value[row] for row in order.tolist()]
    taken: Value = value.taken(order) if isinstance(value, LabelSets) else value[order]
    return taken
