"""Gower's distance between rows of columns of several kinds.

The distance of two rows is the weighted mean, over the columns in which both have a value, of: the
difference of numbers or dates, divided by the range of the column; 0 for equal categories and 1 for
others. A column of one number differs nowhere. Booleans are categories. Texts and images are left
out.

Source: Gower, "A General Coefficient of Similarity and Some of Its Properties" (1971), with the
rules of `daisy` of the R package cluster for missing values and for columns of one number.

Cost: O(M N D) time for the distances of M rows to N.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from models.arrays import Float
from models.errors import UsageError, listed, shown
from models.inputs.items import ItemColumn, ItemTable

if TYPE_CHECKING:
    import pyarrow as pa

ROLE = "items"

Taken: TypeAlias = Literal["number", "category", "date"]


@dataclass(frozen=True, slots=True)
class GowerColumn:
    """How a column is taken.

    low, high : of numbers, and of dates in microseconds from 1970 on.
    categories : in the order of their codes.
    n_missing : rows of the fit without a value.
    """

    name: str
    kind: Taken
    weight: float
    low: float = 0.0
    high: float = 0.0
    categories: tuple[str, ...] = ()
    n_missing: int = 0

    @property
    def scaled(self) -> bool:
        return self.kind != "category"

    def described(self) -> str:
        part = f"{shown(self.name)} as {self.kind}"
        if self.scaled and self.low == self.high:
            part += " of one value"
        if self.weight != 1.0:
            part += f" of weight {self.weight:g}"
        return part + (f", missing in {self.n_missing:,} row(s)" if self.n_missing else "")

    def values(self, column: ItemColumn) -> Float:
        """(n,) the values to compare, NaN where there is none: numbers divided by the range, or
        codes, -1 of a category that the fit does not have.

        Raises UsageError `wrong-input` for a column of another kind.
        """
        if not self.scaled:
            return self._codes(column)
        if column.kind != self.kind:
            if column.values.null_count == len(column.values):
                return np.full(len(column.values), np.nan)
            raise UsageError(
                f"Column {shown(self.name)} of input {ROLE!r} holds values of the kind "
                f"{column.kind!r}; the model was fitted on the kind {self.kind!r}.",
                code="wrong-input",
                role=ROLE,
            )
        # Halves, so that the difference of the ends does not overflow.
        half = self.high / 2 - self.low / 2
        moved: Float = _plain(column) / 2 - self.low / 2
        return moved / half if half else moved * 0.0

    def _codes(self, column: ItemColumn) -> Float:
        import pyarrow as pa
        import pyarrow.compute as pc

        if (
            column.kind not in ("category", "text")
            and len(column.values) > column.values.null_count
        ):
            raise UsageError(
                f"Column {shown(self.name)} of input {ROLE!r} holds values of the kind "
                f"{column.kind!r}; the model was fitted on categories.",
                code="wrong-input",
                role=ROLE,
            )
        texts = column.values.cast(pa.large_string())
        code = pc.index_in(texts, pa.array(self.categories, pa.large_string()))
        plain: Float = code.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.float64)
        plain[texts.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return plain


@dataclass(frozen=True, slots=True)
class Gower:
    """columns : those that are compared, at least one."""

    columns: tuple[GowerColumn, ...]
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: ItemTable, weights: Mapping[str, float] | None) -> Gower:
        """How the columns of a table are taken, with warnings that say so.

        weights : by the name of a column; 1 for the others, 0 to leave a column out.

        Raises UsageError for weights of columns that are not there or not compared, and where no
        column is left.
        """
        weights = weights or {}
        names = [column.name for column in table.columns]
        for name in weights:
            if name not in names:
                raise UsageError(
                    f"'weights' has the column {shown(name)}, which input {ROLE!r} does not have: "
                    f"{listed(names)}.",
                    code="wrong-parameter",
                    parameter="weights",
                )
        taken, left = [], []
        for column in table.columns:
            weight = weights.get(column.name, 1.0)
            missing = column.values.null_count
            if column.kind in ("text", "image"):
                if column.name in weights:
                    raise UsageError(
                        f"'weights' has the column {shown(column.name)} of input {ROLE!r}, which "
                        f"holds the kind {column.kind!r} and is not compared; numbers, categories "
                        "and dates are.",
                        code="wrong-parameter",
                        parameter="weights",
                    )
                left.append(f"{shown(column.name)} ({column.kind})")
            elif weight == 0:
                left.append(f"{shown(column.name)} (weight 0)")
            elif missing == len(column.values):
                left.append(f"{shown(column.name)} (no value)")
            else:
                taken.append(_taken(column, weight))
        if not taken:
            raise UsageError(
                f"Input {ROLE!r} has no column of numbers, categories or dates to compare"
                f"{': left out are ' + ', '.join(left) if left else ''}.",
                code="wrong-shape",
                role=ROLE,
            )
        kinds = "; ".join(column.described() for column in taken)
        notes = [f"Rows were compared by Gower's distance. Columns were taken: {kinds}."]
        if left:
            notes.append(f"Columns left out of the distances: {', '.join(left)}.")
        n_odd = sum(column.n_not_finite for column in table.columns)
        if n_odd:
            notes.append(f"{n_odd:,} number(s) that are NaN or infinite were taken as missing.")
        return cls(tuple(taken), tuple(notes))

    def values(self, table: ItemTable) -> Float:
        """(n_columns, n) the values to compare, a row for each column that is taken.

        Raises UsageError for a column that is missing or of another kind.
        """
        held = {column.name: column for column in table.columns}
        for column in self.columns:
            if column.name not in held:
                raise UsageError(
                    f"Input {ROLE!r} has no column {shown(column.name)}, which the model was "
                    "fitted on.",
                    code="wrong-input",
                    role=ROLE,
                )
        return np.stack([column.values(held[column.name]) for column in self.columns])

    def between(self, rows: Float, points: Float, first_row: int, what: str) -> Float:
        """(M, N) distances of rows to points, as of `values`.

        first_row, what : the number of the first row and what the pair is, for the message.

        Raises UsageError `no-distance` for a pair without a common column.
        """
        total = np.zeros((rows.shape[1], points.shape[1]))
        weight = np.zeros_like(total)
        for column, here, there in zip(self.columns, rows, points, strict=True):
            if column.scaled:
                apart = np.abs(here[:, None] - there)
            else:
                apart = (here[:, None] != there).astype(np.float64)
            both = ~np.isnan(here)[:, None] & ~np.isnan(there)
            total += np.where(both, column.weight * apart, 0.0)
            weight += column.weight * both
        odd = np.argwhere(weight == 0)
        if odd.size:
            row, column_row = first_row + int(odd[0, 0]), int(odd[0, 1])
            raise UsageError(
                f"{what}, numbers {row} and {column_row}, of input {ROLE!r} (counted from 0) have "
                "no column in which both have a value, so no distance. Leave such rows out, or "
                "fill their values.",
                code="no-distance",
                role=ROLE,
                row=row,
            )
        return total / weight

    def facts(self) -> list[dict[str, Any]]:
        """What a model keeps of the columns."""
        return [
            {
                "name": column.name,
                "kind": column.kind,
                "weight": column.weight,
                "low": column.low,
                "high": column.high,
                "categories": list(column.categories),
            }
            for column in self.columns
        ]

    @classmethod
    def kept(cls, facts: Sequence[Mapping[str, Any]]) -> Gower:
        """As `facts` gave them."""
        columns = (
            GowerColumn(**{**column, "categories": tuple(column["categories"])}) for column in facts
        )
        return cls(tuple(columns))

    def beyond(self, values: Float) -> tuple[str, ...]:
        """Warnings of new rows with values that the fit does not have."""
        notes = []
        for column, row in zip(self.columns, values, strict=True):
            if column.scaled:
                n_odd = int(((row < 0) | (row > 1)).sum()) if column.low < column.high else 0
                if n_odd:
                    notes.append(
                        f"Column {shown(column.name)}: {n_odd:,} value(s) lie outside the range of "
                        "the fit, by which their differences are divided all the same."
                    )
            elif n_odd := int((row == -1).sum()):
                notes.append(
                    f"Column {shown(column.name)}: {n_odd:,} value(s) are no categories of the "
                    "fit and differ from all of them."
                )
        return tuple(notes)


def _taken(column: ItemColumn, weight: float) -> GowerColumn:
    missing = column.values.null_count
    if column.kind == "category":
        names = tuple(column.values.dictionary.to_pylist())
        return GowerColumn(column.name, "category", weight, categories=names, n_missing=missing)
    values = _plain(column)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    kind: Taken = "date" if column.kind == "date" else "number"
    return GowerColumn(column.name, kind, weight, low, high, n_missing=missing)


def _plain(column: ItemColumn) -> Float:
    """(n,) the numbers of a column, or the microseconds of its dates; NaN where there is none."""
    import pyarrow as pa

    values: pa.Array = column.values
    if column.kind == "date":
        values = values.cast(pa.int64())
    empty = values.is_null().to_numpy(zero_copy_only=False)
    plain: Float = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
    plain[empty] = np.nan
    return plain
