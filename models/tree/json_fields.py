"""Fields of nodes as JSON: columns to texts for the writers, objects to columns for the reader."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree, UsageError, shown
from models.tree.tree import Tree

FIELDS = ("id", "parent", "name", "height", "size", "children")
MAX_EXTRA = 64
MAX_LEVELS = 16

Column = Callable[[int, int], list[str]]
"""Returns the JSON texts of a column's rows `start` to `stop`."""


def columns_as_text(
    tree: Tree, ids: npt.NDArray[np.int64] | None, above: npt.NDArray[Any] | None
) -> tuple[list[str], list[Column]]:
    """Templates `"key":%s` of a node's fields, and the columns that fill them.

    ids : written instead of row numbers. above : ids of the parents; None leaves them out.
    Raises UsageError if an extra column has the name of a field.
    """
    taken = sorted(set(tree.extra) & set(FIELDS))
    if taken:
        raise UsageError(
            f"A tree cannot have an extra column {shown(taken[0])}: every node has one."
        )
    columns: dict[str, Column] = {
        "id": _row_numbers(tree.n_nodes) if ids is None else _texts(np.asarray(ids))
    }
    if above is not None:
        numbers = _texts(above)
        columns["parent"] = lambda start, stop: (
            ["null", *numbers(1, stop)] if start == 0 else numbers(start, stop)
        )
    columns["name"] = _texts(tree.name)
    columns["height"] = _texts(tree.height)
    columns["size"] = _texts(tree.size)
    columns.update({key: _texts(np.asarray(column)) for key, column in tree.extra.items()})
    templates = [json.dumps(key).replace("%", "%%") + ":%s" for key in columns]
    return templates, list(columns.values())


def _row_numbers(n_rows: int) -> Column:
    return lambda start, stop: list(map(str, range(start, min(stop, n_rows))))


def _texts(column: npt.NDArray[Any]) -> Column:
    kind = column.dtype.kind if column.ndim == 1 else "O"
    if kind in "iu":
        return lambda start, stop: list(map(str, column[start:stop].tolist()))
    if kind == "f":
        return lambda start, stop: _floats(column[start:stop])
    if kind == "b":
        return lambda start, stop: ["true" if x else "false" for x in column[start:stop].tolist()]
    return lambda start, stop: [
        "null" if value is None else json_text(value) for value in column[start:stop]
    ]


def _floats(values: npt.NDArray[Any]) -> list[str]:
    texts = list(map(repr, values.tolist()))
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        texts[row] = "null"
    return texts


def json_text(value: Any) -> str:
    """JSON text of an extra field's value: arrays as lists, NaN and infinities as null."""
    return _encode(value if type(value) is str else plain(value))


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def plain(value: Any) -> Any:
    """The JSON value of an extra field: arrays become lists, NumPy numbers plain ones, NaN None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def extra_columns(
    nodes: Sequence[Mapping[str, Any]], used: Collection[str] = ()
) -> dict[str, npt.NDArray[Any]]:
    """The fields of JSON nodes that are not a tree's own, as columns, without those in `used`.

    Integers, numbers and booleans give columns of their own type, numbers with NaN for nodes
    without one; anything else, and integers or booleans that are missing at some node, gives
    objects with None.

    Raises InvalidTree past 64 fields or 16 levels of lists within a value.
    """
    keys = dict.fromkeys(
        key for node in nodes for key in node if key not in FIELDS and key not in used
    )
    if len(keys) > MAX_EXTRA:
        raise InvalidTree(
            f"The nodes have {len(keys)} different extra fields; up to {MAX_EXTRA} are taken."
        )
    return {key: _column(key, [node.get(key) for node in nodes]) for key in keys}


def require_text(values: Sequence[Any], what: str) -> None:
    """Raises InvalidTree if a text among JSON values has half a surrogate pair, which is not
    text."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidTree(f"{what} holds half a surrogate pair, which is no character.") from None


def _column(key: str, values: list[Any]) -> npt.NDArray[Any]:
    types = set(map(type, values))
    if types == {bool}:
        return np.array(values, dtype=bool)
    if types == {int} and max(map(abs, values)) < 1 << 63:
        return np.array(values, dtype=np.int64)
    if float in types and types <= {float, int, type(None)}:
        with suppress(OverflowError):
            return np.array([math.nan if value is None else float(value) for value in values])
    column = np.empty(len(values), dtype=object)
    column[:] = values
    if not types <= {str, type(None)}:
        _require_shallow(key, values)
    require_text(values, f"The field {shown(key)}")
    return column


def _require_shallow(key: str, values: list[Any]) -> None:
    level = 0
    while values:
        if level > MAX_LEVELS:
            raise InvalidTree(f"The field {shown(key)} is nested past {MAX_LEVELS} levels.")
        level += 1
        inside = [value for value in values if isinstance(value, list | dict)]
        values = [
            item
            for value in inside
            for item in (value.values() if isinstance(value, dict) else value)
        ]
