"""The rows of several tasks, those of one task side by side, and what may be learned from them.

Within a task rows lie in order of their values, so that what comes of them does not hang on the
order they were given in.

Cost: O(N (D + log N)) time, O(N D log N) where rows are much alike; two copies of the features in
double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int, Mask
from models.checks import require_columns, require_squares
from models.data import Data, Value, require_finite
from models.errors import UsageError

Problem = Literal["regression", "classification"]

MOST_CLASSES = 1000
MOST_TASKS = 10_000
"""Pairs of tasks are compared."""

_FIRST = 8
"""Columns that seldom leave two rows alike."""

MOST_WEIGHTS = 1 << 27
"""Values of the regressors of all tasks (1 GiB)."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of N in order of their task.

    row : (N,) the number of each as given. features : (N, D). targets : (N,) numbers, or for a
    classification numbers of `classes`. task : (N,) numbers of `tasks`. start : (T + 1,) where
    the rows of each task begin. classes : empty for a regression.
    """

    row: Int
    features: Float
    targets: Float
    task: Int
    start: Int
    tasks: list[int | str]
    classes: list[int | str]

    @property
    def n_tasks(self) -> int:
        return len(self.tasks)

    def by_row(self, of_task: Int) -> Int:
        """(N,) what tasks have (T,), of each row in the order given; of all rows only."""
        out = np.empty(len(self.row), dtype=np.int64)
        out[self.row] = of_task[self.task]
        return out

    def part(self, rows: Mask) -> Table:
        """Some of the rows; a task may be left with none."""
        count = np.bincount(self.task[rows], minlength=self.n_tasks)
        return Table(
            self.row[rows],
            self.features[rows],
            self.targets[rows],
            self.task[rows],
            np.concatenate([[0], np.cumsum(count)]),
            self.tasks,
            self.classes,
        )


def table_of(data: Data, problem: Problem) -> Table:
    """The inputs in order of their task. UsageError as `check`."""
    check(data, problem)
    features = data.dense("features").astype(np.float64)
    found, task = np.unique(_labels(data, "tasks"), return_inverse=True)
    given = _column(data, "targets")
    classes: list[int | str] = []
    if problem == "classification":
        of_class, number = np.unique(_labels(data, "targets"), return_inverse=True)
        classes, targets = of_class.tolist(), number.astype(np.float64)
    else:
        targets = given.astype(np.float64)
    order = _ordered(features, targets, task)
    count = np.bincount(task, minlength=len(found))
    return Table(
        order,
        features[order],
        targets[order],
        task[order].astype(np.int64),
        np.concatenate([[0], np.cumsum(count)]),
        found.tolist(),
        classes,
    )


def check(data: Data, problem: Problem) -> None:
    """UsageError for inputs of different lengths, values that are not finite, targets of another
    kind than the problem's or all the same, a single task, and more than `MOST_...` of what is."""
    features = data.dense("features")
    require_columns(features)
    n_rows = len(features)
    for role in ("targets", "tasks"):
        column = _column(data, role)
        if len(column) != n_rows:
            raise UsageError(
                f"Input {role!r} has {len(column)} values; input 'features' has {n_rows} rows, and "
                "each needs one.",
                code="wrong-shape",
                role=role,
            )
    require_finite(features, "features")
    require_squares(features)
    tasks = np.unique(_labels(data, "tasks"))
    if len(tasks) < 2:
        raise UsageError(
            "Input 'tasks' names one task only; there must be two or more to learn from each "
            "other.",
            code="too-few-tasks",
            role="tasks",
        )
    if len(tasks) > MOST_TASKS:
        raise UsageError(
            f"Input 'tasks' names {len(tasks):,} tasks; at most {MOST_TASKS:,} are taken.",
            code="too-large",
            role="tasks",
        )
    n_classes = 0
    if problem == "regression":
        _check_numbers(_column(data, "targets"))
    else:
        n_classes = _check_classes(_labels(data, "targets"))
    n_weights = len(tasks) * (features.shape[1] + 1) * (n_classes if n_classes > 2 else 1)
    if n_weights > MOST_WEIGHTS:
        raise UsageError(
            f"{len(tasks):,} tasks with {features.shape[1]:,} features each take {n_weights:,} "
            f"weights; at most {MOST_WEIGHTS:,} are taken. Use fewer features (`preprocess`).",
            code="too-large",
            role="features",
        )


def _ordered(features: Float, targets: Float, task: Int) -> Int:
    """The rows by task, targets, and features from the first on."""
    few = features[:, :_FIRST]
    order = np.lexsort([*few.T[::-1], targets, task])
    one, other = order[:-1], order[1:]
    tied = (few[one] == few[other]).all(axis=1) & (targets[one] == targets[other])
    if features.shape[1] > _FIRST and (tied & (task[one] == task[other])).any():
        order = np.lexsort([*features.T[::-1], targets, task])
    return order


def tasks_of(data: Data, known: list[int | str], n_rows: int) -> Int:
    """(n_rows,) of new rows the number of each one's task among those `known`.

    UsageError naming the first row of a task that is not known.
    """
    column = _labels(data, "tasks")
    if len(column) != n_rows:
        raise UsageError(
            f"Input 'tasks' has {len(column)} values; input 'features' has {n_rows} rows, and each "
            "needs one.",
            code="wrong-shape",
            role="tasks",
        )
    place = {task: number for number, task in enumerate(known)}
    number = np.array([place.get(task, -1) for task in column.tolist()], dtype=np.int64)
    bad = np.flatnonzero(number < 0)
    if bad.size:
        row = int(bad[0])
        some = ", ".join(repr(task) for task in known[:5]) + (", ..." if len(known) > 5 else "")
        raise UsageError(
            f"Input 'tasks' has {column[row]!r} at row {row} (counted from 0), a task that the "
            f"model was not fitted on; it knows {some}.",
            code="unknown-task",
            role="tasks",
            row=row,
        )
    return number


def _column(data: Data, role: str) -> npt.NDArray[Any]:
    value: Value = data.values[role]
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 1:
        value = value[:, 0]
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        raise UsageError(
            f"Input {role!r} must be one column, a value for each row.",
            code="wrong-shape",
            role=role,
        )
    return value


def _labels(data: Data, role: str) -> npt.NDArray[Any]:
    """A column of integers, or of text. UsageError naming the first value that is neither."""
    column = _column(data, role)
    if column.dtype.kind in "iub":
        return column.astype(np.int64)
    if column.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            bad = np.flatnonzero(~np.isfinite(column) | (column != np.trunc(column)))
        if not bad.size and np.abs(column).max(initial=0.0) <= 2.0**53:
            return column.astype(np.int64)
        row = int(bad[0]) if bad.size else int(np.abs(column).argmax())
        raise _no_label(role, row, float(column[row]))
    values = column.tolist()
    for row, value in enumerate(values):
        if not isinstance(value, str) or not value:
            raise _no_label(role, row, value)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _no_label(role: str, row: int, value: object) -> UsageError:
    if isinstance(value, float) and not np.isfinite(value):
        return _not_finite(role, row, value)
    return UsageError(
        f"Input {role!r} has {value!r} at row {row} (counted from 0); its values must be all "
        "integers or all text.",
        code="wrong-input",
        role=role,
        row=row,
    )


def _not_finite(role: str, row: int, value: float) -> UsageError:
    word = "NaN" if np.isnan(value) else "infinite"
    return UsageError(
        f"Input {role!r} has a value that is {word} at row {row} (counted from 0); every value "
        "must be finite.",
        code="not-finite",
        role=role,
        row=row,
    )


def _check_numbers(targets: npt.NDArray[Any]) -> None:
    if targets.dtype.kind not in "iubf":
        raise UsageError(
            "Input 'targets' is text; a regression takes numbers. For classes give 'problem': "
            "'classification'.",
            code="wrong-input",
            role="targets",
        )
    bad = np.flatnonzero(~np.isfinite(targets))
    if bad.size:
        raise _not_finite("targets", int(bad[0]), float(targets[bad[0]]))
    wide = targets.astype(np.float64)
    if np.abs(wide).max() > 1e150:
        raise UsageError(
            "Input 'targets' has a value beyond 1e+150, whose square would overflow. Scale the "
            "targets down.",
            code="too-large",
            role="targets",
        )
    if (wide == wide[0]).all():
        raise UsageError(
            f"Input 'targets' is {wide[0]:g} in every row; there is nothing to learn.",
            code="constant-targets",
            role="targets",
        )


def _check_classes(targets: npt.NDArray[Any]) -> int:
    """How many classes there are."""
    n_classes = len(np.unique(targets))
    if n_classes < 2:
        raise UsageError(
            f"Input 'targets' names one class only, {targets[0]!r}; a classification needs two.",
            code="constant-targets",
            role="targets",
        )
    if n_classes > MOST_CLASSES:
        raise UsageError(
            f"Input 'targets' names {n_classes:,} classes; at most {MOST_CLASSES:,} are taken. "
            "For numbers give 'problem': 'regression'.",
            code="too-large",
            role="targets",
        )
    return n_classes
