"""Rows of numbers: printed at once, and stored for the JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Value = Any
"""Text, a Python or NumPy number, a bool or None."""
Row = dict[str, Value]
WIDE = {
    "what": 40,
    "figure": 24,
    "logits": 21,
    "tree": 32,
    "promise": 22,
    "data": 12,
    "metric": 22,
    "output": 24,
    "value": 9,
    "unit": 14,
    "goal": 8,
}
"""Widths of columns whose first cell is rarely the longest."""


class Report:
    """The tables of one run and the machine they were measured on.

    tables : rows by table.
    notes : sentences by table.
    """

    def __init__(self, machine: dict[str, Any]) -> None:
        self.machine = machine
        self.tables: dict[str, list[Row]] = {}
        self.notes: dict[str, list[str]] = {}
        self._columns: list[_Column] = []

    def row(self, table: str, **columns: Value) -> None:
        """Print one row, under a heading if its columns differ from the row before.

        A name ends with its unit: `cpu_s`, `p99_ms`, `peak_bytes` (printed as MB of 10^6 bytes).
        None is an empty cell.
        """
        row = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in columns.items()
        }
        if [column.name for column in self._columns] != list(row):
            self._columns = [_Column.of(name, value) for name, value in row.items()]
            self._line([column.head for column in self._columns])
            self._line(["-" * column.width for column in self._columns])
        self._line([_cell(name, value) for name, value in row.items()])
        self.tables.setdefault(table, []).append(row)

    def goal(
        self,
        table: str,
        what: str,
        figure: str,
        value: float,
        unit: str,
        *,
        most: float | None = None,
        least: float | None = None,
    ) -> None:
        """Print a figure beside its goal, and whether that is met; both are empty without one."""
        goal = f"<= {most:g}" if most is not None else f">= {least:g}" if least is not None else ""
        met = None
        if goal:
            met = (most is None or value <= most) and (least is None or value >= least)
        self.row(table, what=what, figure=figure, value=value, unit=unit, goal=goal, met=met)

    def note(self, table: str, sentence: str) -> None:
        """Print and store a sentence about a table; the next row has a heading again."""
        print(f"\n{sentence}\n", flush=True)
        self._columns = []
        self.notes.setdefault(table, []).append(sentence)

    def left_out(self, table: str, name: str) -> None:
        """Note that a set's files are absent."""
        self.note(table, f"Left out: {name} is not in the folder that UMBEL_TEST_DATA names.")

    def heading(self, title: str) -> None:
        """Print a title for the rows that follow; the next row has a heading again."""
        print(f"\n## {title}\n", flush=True)
        self._columns = []

    def write(self, path: Path) -> None:
        """Write everything as JSON. Raises ValueError for a number that is not finite."""
        content = {"machine": self.machine, "tables": self.tables, "notes": self.notes}
        text = json.dumps(content, indent=1, allow_nan=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def _line(self, cells: list[str]) -> None:
        padded = [column.pad(cell) for column, cell in zip(self._columns, cells, strict=True)]
        print("| " + " | ".join(padded) + " |", flush=True)


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    head: str
    width: int
    text: bool

    @classmethod
    def of(cls, name: str, value: Value) -> _Column:
        """A column as wide as its head and first cell, and at least 7 or as in `WIDE`."""
        head = name.removesuffix("_bytes") + "_MB" if name.endswith("_bytes") else name
        text = isinstance(value, str)
        width = max(len(head), len(_cell(name, value)), WIDE.get(name, 7))
        return cls(name, head, width, text)

    def pad(self, cell: str) -> str:
        return cell.ljust(self.width) if self.text else cell.rjust(self.width)


def _cell(name: str, value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if name.endswith("_bytes"):
        value = value / 1e6
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def interval(differences: npt.NDArray[np.float64], decimals: int = 3) -> str:
    """The mean with Student's interval of 95%, where there are two or more."""
    from scipy import stats

    mean = f"{np.mean(differences):+.{decimals}f}"
    if len(differences) < 2:
        return mean
    half = stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences)
    return f"{mean} +-{half:.{decimals}f}"
