"""Items: what the points of a tree are, in the form in which they travel."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from umbel_client import columns as kinds
from umbel_client import frames
from umbel_client.encodings import Payload, Pieces
from umbel_client.errors import InputError
from umbel_client.quoting import shown

ROLE = "items"
_SCALARS = (str, int, float, bool, type(None))


def table(value: object) -> Payload | None:
    """Columns by their names, a data frame or a list of objects as JSON lines; None for another
    value.

    Raises InputError for columns of different lengths, and for values that are neither texts,
    numbers, dates, truths nor missing; images are given as a zip, Arrow or Parquet file.
    """
    if isinstance(value, Mapping):
        columns = {str(name): _values(column) for name, column in value.items()}
    elif frames.is_frame(value):
        columns = frames.columns_of(ROLE, value)
    elif isinstance(value, (list, tuple)) and all(isinstance(row, Mapping) for row in value):
        names = dict.fromkeys(str(name) for row in value for name in row)
        columns = {name: [row.get(name) for row in value] for name in names}
    else:
        return None
    lengths = {name: len(column) for name, column in columns.items()}
    if not columns or not max(lengths.values()):
        raise InputError(ROLE, "there are no rows.")
    if len(set(lengths.values())) > 1:
        raise InputError(ROLE, f"the columns have different lengths: {lengths}.")
    plain = [
        [_plain(name, at, cell) for at, cell in enumerate(column)]
        for name, column in columns.items()
    ]
    lines = [
        json.dumps(dict(zip(columns, row, strict=True)), allow_nan=False)
        for row in zip(*plain, strict=True)
    ]
    return Payload(
        Pieces.of("\n".join([*lines, ""]).encode()), "application/x-ndjson", {"role": ROLE}
    )


def _values(column: Any) -> list[Any]:
    if kinds.is_column(column):
        return kinds.values_of(column)
    if isinstance(column, str):
        raise InputError(ROLE, "a column is a list with a value for each row, not a text.")
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _plain(name: str, row: int, value: Any) -> Any:
    """A value as JSON has it; None for one that is missing or not finite."""
    value = None if kinds.is_missing(value) else kinds.plain(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, _SCALARS):
        return value
    raise InputError(
        ROLE,
        f"column {shown(name)} has a value of type {type(value).__name__} "
        f"at row {row}; accepted are "
        "texts, numbers, dates, truths and None. Images are given as a file: zip, Arrow, Parquet.",
    )
