"""What the methods over tasks ask for, take and say alike."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from models.method import Input, Shapes
from models.methods.tasks.regression.table import Table
from models.parameters import Params

INPUTS: Mapping[str, Input] = {
    "features": Input(description="One row per example, those of all tasks in one matrix."),
    "targets": Input(
        fit_only=True,
        description="Of each row the number to predict, or its class (an integer or text).",
    ),
    "tasks": Input(description="Of each row the task it belongs to, an integer or text."),
}


class TaskParams(Params):
    """Rows kept out, and the seed that draws them."""

    held_out: float = Field(
        0.0,
        ge=0,
        le=0.9,
        description=(
            "Share of each task's rows that is kept out of the fit, to measure the regressors on."
        ),
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of the random generator.")


def bytes_of_table(shapes: Shapes) -> int:
    """About what the rows take in order of their task, scaled, and in parts."""
    if len(shapes.get("features", ())) != 2:
        return 0
    n_rows, n_features = shapes["features"]
    return 8 * n_rows * (5 * n_features + 12)


def said_of_tasks(table: Table, fitted: Table) -> tuple[str, ...]:
    """Warnings of tasks that their own rows say little about.

    table : all rows. fitted : those that are fitted to.
    """
    said = []
    alone = [table.tasks[task] for task in _with_rows(table, 1)]
    if alone:
        said.append(
            f"{_tasks(alone)} a single row; it is fitted to, and none is kept out or chosen by."
        )
    same = [
        fitted.tasks[task]
        for task in range(fitted.n_tasks)
        if len(set(_targets(fitted, task))) < 2 <= len(_targets(fitted, task))
    ]
    if same:
        what = "rows of one class only" if table.classes else "the same target in every row"
        said.append(f"{_tasks(same)} {what}, which is all that they tell of.")
    return tuple(said)


def _tasks(tasks: list[int | str]) -> str:
    some = ", ".join(repr(task)[:80] for task in tasks[:5])
    more = f" and {len(tasks) - 5} more" if len(tasks) > 5 else ""
    return f"Task(s) {some}{more} have"


def _with_rows(table: Table, n_rows: int) -> list[int]:
    length = table.start[1:] - table.start[:-1]
    return [task for task in range(table.n_tasks) if length[task] == n_rows]


def _targets(table: Table, task: int) -> list[float]:
    found: list[float] = table.targets[table.start[task] : table.start[task + 1]].tolist()
    return found
