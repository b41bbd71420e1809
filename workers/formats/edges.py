"""Edges between labels: pairs of text, where the role `graph` does not hold a matrix of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from workers.formats import columns
from workers.formats.refusals import described, missing, refused
from workers.formats.tables import WrittenPairs, text_array


def are_text(rows: object) -> bool:
    """Whether a JSON value holds text where a matrix holds rows of numbers, so that it is edges."""
    return isinstance(rows, list) and any(
        type(row) is str or (type(row) is list and any(type(end) is str for end in row))
        for row in rows
    )


def of_list(rows: list[Any], role: str) -> npt.NDArray[np.object_]:
    """(n_edges, 2) `str` objects of a list of pairs of text. Raises UsageError naming the row."""
    for row, pair in enumerate(rows):
        if type(pair) is not list or len(pair) != 2:
            what = f"has {len(pair)} values" if type(pair) is list else f"is {described(pair)}"
            raise refused(
                f"must be pairs of labels such as ['a', 'b']; row {row} (counted from 0) {what}",
                role,
                row=row,
            )
        for column, end in enumerate(pair):
            if type(end) is not str:
                raise refused(
                    f"must be pairs of labels, all text or all numbers; row {row}, column {column} "
                    f"(counted from 0) is {described(end)}",
                    role,
                    row=row,
                    column=column,
                )
    return _edges([end for pair in rows for end in pair], role)


def of_cells(pairs: WrittenPairs, role: str) -> npt.NDArray[np.object_]:
    """(n_edges, 2) `str` objects of two columns of a table. Raises UsageError naming the line."""
    for row, ends in enumerate(pairs.texts):
        for column, end in enumerate(ends):
            if not end.strip():
                raise missing(row, column, line=pairs.lines[row], role=role)
    return _edges([end for ends in pairs.texts for end in ends], role)


def _edges(ends: list[str], role: str) -> npt.NDArray[np.object_]:
    columns.require_texts(ends, role, np.arange(len(ends)) // 2)
    return text_array(ends).reshape(-1, 2)
