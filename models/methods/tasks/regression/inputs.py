"""Inputs, parameters and warnings that methods over tasks share; the parameters of `ghhc-mtl`.

This module imports nothing heavy, so that the methods' files may use it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from models.errors import shown
from models.method import Input, Shapes
from models.methods.tasks.regression.table import Problem, Table
from models.parameters import Params, Seed

INPUTS: Mapping[str, Input] = {
    "features": Input(description="One row per example, all tasks in one matrix."),
    "targets": Input(
        fit_only=True,
        one_per="row",
        description="For each row the number to predict, or its class (an integer or text).",
    ),
    "tasks": Input(
        one_per="row", description="For each row the task it belongs to, an integer or text."
    ),
    "names": Input(
        required=False,
        fit_only=True,
        description="One name per task, in the order of the tasks: by number, or by text.",
    ),
}


class TaskParams(Params):
    """The share of held-out rows, and the seed that draws them."""

    held_out: float = Field(
        0.0,
        ge=0,
        le=0.9,
        description=(
            "Share of each task's rows that is kept out of the fit, to measure the regressors on."
        ),
    )
    seed: Seed = 0


def bytes_of_table(shapes: Shapes) -> int:
    """The estimated memory of the rows sorted by task, scaled, and in parts."""
    if len(shapes.get("features", ())) != 2:
        return 0
    n_rows, n_features = shapes["features"]
    return 8 * n_rows * (5 * n_features + 12)


def task_warnings(table: Table, fitted: Table) -> tuple[str, ...]:
    """Warnings of tasks whose own rows carry little information.

    table : all rows. fitted : the fitted rows.
    """
    warnings = []
    alone = [table.tasks[task] for task in _with_rows(table, 1)]
    if alone:
        warnings.append(
            f"{_tasks(alone)} a single row, which is fitted to: no row is left to measure or to "
            "choose by."
        )
    same = [
        fitted.tasks[task]
        for task in range(fitted.n_tasks)
        if len(set(_targets(fitted, task))) < 2 <= len(_targets(fitted, task))
    ]
    if same:
        what = "rows of one class only" if table.classes else "the same target in every row"
        warnings.append(f"{_tasks(same)} {what}, so there is nothing else to learn from them.")
    return tuple(warnings)


def _tasks(tasks: list[int | str]) -> str:
    """The subject of a message about these tasks: the first few, and the number of the others."""
    names = ", ".join(shown(task) for task in tasks[:5])
    more = f" and {len(tasks) - 5} more" if len(tasks) > 5 else ""
    return f"Task(s) {names}{more} have"


def _with_rows(table: Table, n_rows: int) -> list[int]:
    length = table.start[1:] - table.start[:-1]
    return [task for task in range(table.n_tasks) if length[task] == n_rows]


def _targets(table: Table, task: int) -> list[float]:
    targets: list[float] = table.targets[table.start[task] : table.start[task + 1]].tolist()
    return targets


class GHHCMTLParams(TaskParams):
    problem: Problem = Field("regression", description="Whether targets are numbers or classes.")
    sharing: float | None = Field(
        None,
        ge=1e-3,
        le=1e6,
        description=(
            "Weight of the tree's losses against the rows' negative log-likelihood per task: the "
            "larger, the more alike are tasks under one node. None: 10, 30 or 100, chosen with the "
            "number of steps up to 'max_iter' by the loss on folds of rows."
        ),
    )
    n_folds: int = Field(3, ge=2, le=20, description="Number of folds of rows to choose by.")
    n_internal: int | None = Field(
        None,
        ge=3,
        le=200_000,
        description=(
            "Number of nodes that are moved. The tree leaves out those that no task needs. None: "
            "one more than half the number of tasks, at most 500."
        ),
    )
    n_init: int = Field(
        8,
        ge=0,
        le=1000,
        description="Number of new draws of nodes for the tree, after the tasks have stopped.",
    )
    max_iter: int = Field(200, ge=0, le=1_000_000, description="Largest number of steps.")
    batch_size: int = Field(100, ge=1, le=100_000, description="Number of triples in a step.")
    learning_rate: float = Field(0.01, gt=0, le=1e6, description="Step length.")
    n_neighbors: int = Field(
        3, ge=1, le=1000, description="Nearest tasks that a task forms triples with."
    )
    point_norm: float = Field(
        0.7, ge=0.01, le=0.99, description="Norm at the start of the point of the farthest task."
    )
    max_norm: float = Field(
        0.95,
        ge=0.01,
        le=0.99999,
        description="Largest norm of a point; a point beyond it is brought back to it.",
    )
