"""The items that meet conditions on their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Mask
from models.errors import UsageError, shown
from models.inputs.items import ItemColumn

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CONDITIONS = 8
"""The most conditions of one request."""

_TAKES = {
    "number": "`low` and `high`, numbers",
    "date": "`low` and `high`, dates as RFC 3339 or YYYY-MM-DD",
    "category": "`equals`, one or more categories, or `contains`",
    "text": "`contains`, a part of the text in any case, or `equals`",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """At least one of: equal to one of several texts, containing a text in any case, and between
    two ends, both included."""

    equals: Sequence[str] = ()
    contains: str | None = None
    low: str | None = None
    high: str | None = None

    @property
    def is_range(self) -> bool:
        return self.low is not None or self.high is not None

    @property
    def is_of_text(self) -> bool:
        return bool(self.equals) or self.contains is not None


def meeting(column: ItemColumn, condition: Condition) -> Mask:
    """(n_items,) whether each item meets the condition; a missing value meets none.

    Raises UsageError `wrong-parameter` for a condition that the kind of the column does not take,
    for none at all, and for ends that are no numbers or dates. O(n_items).
    """
    takes = _TAKES.get(column.kind)
    if takes is None:
        raise _refused(f"Column {shown(column.name)} holds images, which no condition is about.")
    ranged = column.kind in ("number", "date")
    if not (condition.is_range or condition.is_of_text) or (
        condition.is_of_text if ranged else condition.is_range
    ):
        raise _refused(
            f"Column {shown(column.name)} is a {column.kind}; its condition takes {takes}."
        )
    if column.kind == "number":
        return _between(column.values, _number(condition.low), _number(condition.high))
    if column.kind == "date":
        return _between(column.values, _moment(condition.low), _moment(condition.high, last=True))
    return _of_text(column, condition)


def meeting_all(conditions: Sequence[tuple[ItemColumn, Condition]]) -> Mask:
    """(n_items,) whether each item meets every one of the conditions; there is at least one.

    Raises UsageError as `meeting`; of several it says which one is wrong. O(n_items) each.
    """
    own = []
    for number, (column, condition) in enumerate(conditions, start=1):
        try:
            own.append(meeting(column, condition))
        except UsageError as error:
            if len(conditions) == 1:
                raise
            raise _refused(f"In condition {number}: {error.detail}") from None
    met: Mask = np.logical_and.reduce(own)
    return met


def _between(values: pa.Array, low: object, high: object) -> Mask:
    import pyarrow as pa
    import pyarrow.compute as pc

    met = values.is_valid()
    if low is not None:
        met = pc.and_(met, pc.greater_equal(values, pa.scalar(low, values.type)))
    if high is not None:
        met = pc.and_(met, pc.less_equal(values, pa.scalar(high, values.type)))
    return _mask(met)


def _of_text(column: ItemColumn, condition: Condition) -> Mask:
    """The texts of a category are looked at, each once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.values.dictionary if column.kind == "category" else column.values
    met = pa.array(np.ones(len(texts), dtype=bool))
    if condition.equals:
        met = pc.is_in(texts, pa.array(list(condition.equals), texts.type))
    if condition.contains is not None:
        found = pc.match_substring(texts, condition.contains, ignore_case=True)
        met = pc.and_(met, found)
    own = _mask(met)
    if column.kind != "category":
        return own
    codes = column.values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    # One place more, for items without a category.
    mask: Mask = np.append(own, False)[codes]
    return mask


def _mask(met: pa.Array) -> Mask:
    mask: Mask = met.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        # Python reads 1_0 as 10.
        number = np.nan if "_" in text else float(text)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise _refused(f"An end of the range is {shown(text, 40)}, which is not a finite number.")
    return number


def _moment(text: str | None, *, last: bool = False) -> datetime | None:
    """A date, or the moment that ends it (`last`) where only the day is given; UTC where no zone
    is."""
    if text is None:
        return None
    try:
        if len(text) == len("YYYY-MM-DD"):
            day = date.fromisoformat(text)
            hour = (23, 59, 59, 999_999) if last else (0, 0, 0, 0)
            return datetime(day.year, day.month, day.day, *hour, tzinfo=UTC)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _refused(
            f"An end of the range is {shown(text, 40)}; a date is written YYYY-MM-DD, or as RFC "
            "3339."
        ) from None


def _refused(detail: str) -> UsageError:
    return UsageError(detail, code="wrong-parameter")
