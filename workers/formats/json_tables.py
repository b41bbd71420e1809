"""Tables in a JSON document: lists of objects, and the objects that data frames are written as.

pandas writes a data frame in several forms (`orient`): `records`, a list of objects; `split`, with
`columns`, `index` and `data`; `table`, with `schema` and `data`; `columns`, an object for each
column; `index`, one for each row. `to_dict("list")`, and other libraries, write a list for each
column.

An object of objects is read by columns, as pandas writes by default, unless its rows show
themselves: their keys count from 0, or they mix texts and numbers where columns do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from models.errors import UsageError, shown
from workers.formats.tables import require_distinct

Row: TypeAlias = dict[str, Any]

INDEX = ""
"""The name of the column of an index that has none, as in CSV."""

_BEGINS = re.compile(r'\[\s*\{|\{\s*"(?:[^"\\]|\\.){0,1000}"\s*:\s*[\[{]')
_SPLIT = frozenset({"columns", "data", "index", "index_names", "column_names"})
_SCALARS = (str, int, float, type(None))


def begins(head: bytes) -> bool:
    """Whether a document that begins so may be a table."""
    return _BEGINS.match(head[:4096].decode("utf-8-sig", "replace").lstrip()) is not None


def rows(value: object) -> tuple[object, tuple[str, ...]]:
    """The table in a JSON value as a list of objects, with notes on how it was read; any other
    value itself.

    Raises UsageError `ragged` for rows or columns of other lengths. O(values).
    """
    if not isinstance(value, dict) or not value:
        return value, ()
    if _SPLIT >= value.keys() >= {"columns", "data"} and _are_lists(value["data"]):
        return _of_split(value["columns"], value["data"], value.get("index")), ()
    data = value.get("data")
    if isinstance(value.get("schema"), dict) and _are_objects(data) and data:
        return data, ()
    columns = [*value.values()]
    if all(isinstance(column, list) and _are_cells(column) for column in columns):
        return _of_lists(value), ()
    if all(isinstance(own, dict) and own and _are_cells(own.values()) for own in columns):
        return _of_objects(value)
    return value, ()


def _of_split(columns: object, data: list[list[Any]], index: object) -> list[Row]:
    names = [*map(_name, columns)] if isinstance(columns, list) else []
    keys = index if isinstance(index, list) else None
    if keys is not None and len(keys) != len(data):
        raise _ragged(f"the index has {len(keys)} values and there are {len(data)} rows")
    require_distinct(names)
    found = []
    for row, cells in enumerate(data):
        if len(cells) != len(names):
            raise _ragged(
                f"row {row} (counted from 0) has {len(cells)} values for {len(names)} columns", row
            )
        found.append(dict(zip(names, cells, strict=True)))
    return _with_index(found, keys)


def _of_lists(columns: Mapping[str, list[Any]]) -> list[Row]:
    first, *others = columns.items()
    for name, column in others:
        if len(column) != len(first[1]):
            raise _ragged(
                f"column {shown(first[0])} has {len(first[1])} values and column {shown(name)} has "
                f"{len(column)}"
            )
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _of_objects(value: Mapping[str, Row]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of an object of objects."""
    inner = list({key: None for own in value.values() for key in own})
    if len(inner) * len(value) > 2 * sum(map(len, value.values())) + 1000:
        raise _ragged("the objects of the columns or rows have hardly a name in common")
    turned = [[own[key] for own in value.values() if key in own] for key in inner]
    counted, by_number = _are_counted(value), _are_counted(inner)
    plain = not any(map(_is_mixed, turned))
    mixed = any(_is_mixed(own.values()) for own in value.values())
    by_rows = (counted and not by_number) or (counted == by_number and mixed and plain)
    if by_rows:
        found = _with_index([dict(own) for own in value.values()], [*value])
    else:
        found = [{name: own[key] for name, own in value.items() if key in own} for key in inner]
        found = _with_index(found, inner)
    if counted != by_number or mixed == plain:
        return found, ()
    taken, other = ("rows", "columns") if by_rows else ("columns", "rows")
    return found, (
        f"The JSON document is an object of objects, and was read as {len(value)} {taken} of "
        f"{len(inner)} values each; upload a list of objects, one for each row, if they are "
        f"{other}.",
    )


def _with_index(found: list[Row], keys: Sequence[Any] | None) -> list[Row]:
    """The rows with the index as a first column, unless it counts from 0."""
    if keys is None or _are_counted(keys) or any(INDEX in row for row in found):
        return found
    return [{INDEX: _name(key), **row} for key, row in zip(keys, found, strict=True)]


def _name(key: object) -> str:
    """A name; of several levels with a point between them."""
    return ".".join(map(str, key)) if isinstance(key, list) else str(key)


def _are_counted(keys: Iterable[Any]) -> bool:
    return all(str(key) == str(at) for at, key in enumerate(keys))


def _are_lists(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) for row in value)


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _are_cells(values: Iterable[Any]) -> bool:
    """Whether all values could be cells, among them lists of numbers or texts."""
    return all(
        isinstance(value, _SCALARS)
        or (isinstance(value, list) and all(isinstance(own, _SCALARS) for own in value))
        for value in values
    )


def _is_mixed(values: Iterable[Any]) -> bool:
    kinds = {isinstance(value, str) for value in values if value is not None}
    return len(kinds) > 1


def _ragged(what: str, row: int | None = None) -> UsageError:
    place = {} if row is None else {"row": row}
    return UsageError(f"The table of the JSON document is ragged: {what}.", code="ragged", **place)
