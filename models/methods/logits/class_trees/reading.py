"""The rows and sums of a fit: read, continued from an earlier job, or of the best classes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays, Int
from models.errors import UsageError
from models.inputs.data import Earlier
from models.inputs.rows import Rows, widened
from models.methods.logits.class_trees import sums
from models.methods.logits.class_trees.sums import RowsSeen, Sums
from models.methods.logits.class_trees.task import TABLES
from models.methods.logits.merging import topk
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.resume import Stacked
from models.running.progress import Crew


@dataclass(frozen=True, slots=True)
class ClassesRead:
    """rows, sums : of all rows. parts : number of rows of each dataset, in order.
    n_again : rows of an earlier job that were read again."""

    rows: RowsSeen
    sums: Sums
    parts: Int
    n_again: int = 0

    def state(self) -> Arrays:
        """What a later job needs to go on."""
        return {
            **{f"rows.{name}": array for name, array in self.rows.arrays().items()},
            **{f"sums.{name}": getattr(self.sums, name) for name in (*TABLES, "used")},
            "sums.steps": np.array([self.sums.exponent, self.sums.ranked, self.sums.squared]),
            "parts": self.parts,
        }


def read(matrix: LogitMatrix, crew: Crew, folds: int, products: bool) -> ClassesRead:
    """The rows and sums of a matrix: two reads."""
    rows = sums.of_rows(matrix, 0, crew)
    total, _ = sums.summed(matrix, rows, crew, folds, products=products)
    return ClassesRead(rows, total, np.array([matrix.shape[0]]))


def continued(
    earlier: Earlier, matrix: LogitMatrix, crew: Crew, folds: int, products: bool
) -> ClassesRead:
    """The rows and sums of `matrix`, stacked on the rows of `earlier`; new rows alone are read,
    unless new rows give other classes rows, or a wider range.

    Raises UsageError where old rows must be read again and are gone.
    """
    old, old_sums = _restored(earlier.state)
    n_old = len(old.flat)
    rows = sums.rows_joined([old, sums.of_rows(matrix, n_old, crew)])
    readable = isinstance(matrix.rows, Stacked) and not matrix.rows.readable_from
    if not readable and not sums.goes_on(old_sums, rows, folds):
        raise UsageError(
            "Rows of the earlier job in 'base' are gone, and they must be read again: the new rows "
            "are of classes that had none, or have a wider range of values.",
            code="wrong-input",
            role="base",
        )
    total, again = sums.summed(matrix, rows, crew, folds, old_sums, n_old, products)
    parts = np.append(earlier.state["parts"], matrix.shape[0] - n_old)
    return ClassesRead(rows, total, parts, n_old if again else 0)


def _restored(state: Arrays) -> tuple[RowsSeen, Sums]:
    rows = sums.rows_from(
        {name.removeprefix("rows."): a for name, a in state.items() if name.startswith("rows.")}
    )
    tables = {name: state[f"sums.{name}"] for name in TABLES}
    exponent, ranked, squared = state["sums.steps"].tolist()
    return rows, Sums(state["sums.used"], exponent, ranked, squared, **tables)


class ListedRows(Rows):
    """Rows of which only the best classes are known, as rows of all classes: the others are as
    improbable as can be.

    values, classes : (n, k) values, and the class of each, different in a row.
    """

    def __init__(self, values: Rows, classes: Array, n_classes: int, missing: float) -> None:
        self.shape = (values.shape[0], n_classes)
        floating = values.dtype.kind == "f" and not values.bfloat16
        self.dtype = values.dtype if floating else np.dtype(np.float64)
        self.far = values.far
        self._values, self._classes, self._missing = values, classes, missing

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        stop = min(stop, self.shape[0])
        return self._spread(self._values.read(start, stop), self._classes[start:stop])

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return self._spread(self._values.take(rows), self._classes[rows])

    def _spread(self, values: Array, classes: Array) -> Array:
        if self._values.bfloat16:
            values = widened(values)
        spread = np.full((len(values), self.shape[1]), self._missing, dtype=self.dtype)
        np.put_along_axis(spread, classes.astype(np.int64), values.astype(self.dtype), axis=1)
        return spread


def listed(matrix: LogitMatrix, classes: Array, n_classes: int) -> LogitMatrix:
    """The rows of the values of best classes, as rows of all classes."""
    missing = 0.0 if matrix.kind == "probs" else -np.inf
    rows = ListedRows(matrix.rows, classes, n_classes, missing)
    return LogitMatrix(rows, matrix.kind, matrix.temperature)


def read_listed(
    matrix: LogitMatrix, classes: Array, n_classes: int, crew: Crew, folds: int, products: bool
) -> ClassesRead:
    """The rows and sums where `matrix` has the values of the `classes` alone, both (n, k). The
    classes that are not given are equal, and last. Raises UsageError as `merging.topk.read`."""
    digest = topk.read(matrix, classes, n_classes).digest
    whole = listed(matrix, classes, n_classes)
    rows = RowsSeen(digest, *sums.ranges(whole, 0, matrix.shape[0], 1))
    total, _ = sums.summed(whole, rows, crew, folds, products=products)
    return ClassesRead(rows, total, np.array([matrix.shape[0]]))
