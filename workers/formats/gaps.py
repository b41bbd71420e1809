"""Empty cells of a matrix: how they are written, where they are, what a dataset says of them.

They are read as NaN. The step 'missing' of preprocessing fills them (`models.preprocess.steps`);
without it whatever uses the rows refuses the first (`models.errors.EmptyValue`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.errors import shown
from models.inputs.data import FILLED_BY
from models.preprocess.steps import by_column, empty_values
from workers.formats.tables import NOTHING

WRITTEN = tuple(
    before + word + after
    for word, (before, after) in product(
        (
            "",
            *(
                case(word)
                for word in (*NOTHING, "nan")
                for case in (str.lower, str.upper, str.title)
            ),
        ),
        (("", ""), (" ", ""), ("", " "), (" ", " ")),
    )
)
"""The usual spellings of an empty cell; `tables.is_empty` knows all."""


class Gaps:
    """The empty cells of a matrix that is read by blocks.

    first : row and column of the first of them. by_column : (n_columns,) their number.
    """

    def __init__(self) -> None:
        self.first: tuple[int, int] | None = None
        self.by_column: Int = np.zeros(0, dtype=np.int64)
        self._n_rows = 0

    def add(self, block: npt.NDArray[np.generic]) -> None:
        """Count the next rows, (n, n_columns). One pass; another where there are some."""
        start, self._n_rows = self._n_rows, self._n_rows + len(block)
        if block.dtype.kind != "f":
            return
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isnan(block.sum(dtype=np.float64)):
                return
        empty = empty_values(block)
        if not empty.any():
            return
        if self.first is None:
            row, column = np.unravel_index(int(empty.argmax()), empty.shape)
            self.first = start + int(row), int(column)
            self.by_column = np.zeros(block.shape[1], dtype=np.int64)
        self.by_column += empty.sum(axis=0)

    def warnings(self, names: Sequence[str] = (), line: int | None = None) -> tuple[str, ...]:
        """The warning of a dataset with empty cells. names : of columns. line : of the first."""
        if self.first is None:
            return ()
        row, column = self.first
        own = shown(names[column]) if names else str(column)
        of_file = "" if line is None else f"; line {line} of the file"
        counts = by_column(self.by_column, [shown(name) for name in names])
        return (
            f"{self.by_column.sum():,} cell(s) of the features are empty: {counts}; the first at "
            f"row {row}, column {own} (counted from 0{of_file}). They are read as NaN, which a "
            f"fit refuses unless its preprocessing takes them. {FILLED_BY}",
        )


def gaps_of(matrix: npt.NDArray[np.generic]) -> Gaps:
    """The empty cells of a whole matrix."""
    found = Gaps()
    found.add(matrix)
    return found
