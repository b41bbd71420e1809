"""The rows of several tasks, sorted by task, the checks of inputs, and rows held out.

Within a task rows are sorted by value, so that results do not depend on the order of the input.

`held_out` holds out a share of each task's rows from a fit for measuring, and `folds` gives folds
for choosing.

Cost: O(N (D + log N)) time, O(N D log N) if many rows are alike; two copies of the features in
double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Array, Float, Int, Mask
from models.errors import UsageError, shown
from models.inputs.checks import require_columns, require_squares
from models.inputs.data import Data, Value, require_finite

Problem = Literal["regression", "classification"]

MOST_CLASSES = 1000
MOST_TASKS = 10_000
"""The largest number of tasks, since all pairs of them are compared."""

_FIRST = 8
"""The number of columns by which rows are sorted first; rows that agree in all of them are rare."""

MOST_WEIGHTS = 1 << 27
"""The most values in the regressors of all tasks (1 GiB)."""


@dataclass(frozen=True, slots=True)
class Table:
    """N rows in order of their task.

    row : (N,) the number of each in the input. features : (N, D). targets : (N,) numbers, or for a
        classification indices of `classes`. task : (N,) indices of `tasks`. start : (T + 1,) the
        first row of each task, and N. classes : empty for a regression. names : (T,) what the
        leaves are called.
    """

    row: Int
    features: Float
    targets: Float
    task: Int
    start: Int
    tasks: list[int | str]
    classes: list[int | str]
    names: list[str]

    @property
    def n_tasks(self) -> int:
        return len(self.tasks)

    def by_row(self, of_task: Int) -> Int:
        """(N,) the value of each row's task, rows in the order of the input; values (T,).

        Only for the table of all rows.
        """
        out = np.empty(len(self.row), dtype=np.int64)
        out[self.row] = of_task[self.task]
        return out

    def part(self, rows: Mask) -> Table:
        """The table of some rows; a task may have none of them."""
        count = np.bincount(self.task[rows], minlength=self.n_tasks)
        return Table(
            self.row[rows],
            self.features[rows],
            self.targets[rows],
            self.task[rows],
            np.concatenate([[0], np.cumsum(count)]),
            self.tasks,
            self.classes,
            self.names,
        )


def table_of(data: Data, problem: Problem) -> Table:
    """The rows of the inputs, in order of their task. Raises UsageError as `check` does."""
    check(data, problem)
    features = data.dense("features").astype(np.float64)
    tasks, task = np.unique(_labels(data, "tasks"), return_inverse=True)
    classes: list[int | str] = []
    if problem == "classification":
        labels, number = np.unique(_labels(data, "targets"), return_inverse=True)
        classes, targets = labels.tolist(), number.astype(np.float64)
    else:
        targets = _column(data, "targets").astype(np.float64)
    order = _row_order(features, targets, task)
    count = np.bincount(task, minlength=len(tasks))
    return Table(
        order,
        features[order],
        targets[order],
        task[order].astype(np.int64),
        np.concatenate([[0], np.cumsum(count)]),
        tasks.tolist(),
        classes,
        data.names() or [str(task) for task in tasks.tolist()],
    )


def check(data: Data, problem: Problem) -> None:
    """Raise UsageError for unusable inputs.

    These are inputs of different lengths, values that are not finite, targets of the wrong kind for
    the problem or all the same, a single task, more tasks, classes or weights than `MOST_...`, and
    another number of names than tasks.
    """
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
            "Input 'tasks' names one task only; two or more are needed to learn from each other.",
            code="too-few-tasks",
            role="tasks",
        )
    if len(tasks) > MOST_TASKS:
        raise UsageError(
            f"Input 'tasks' names {len(tasks):,} tasks; at most {MOST_TASKS:,} are accepted.",
            code="too-large",
            role="tasks",
        )
    data.leaf_names(len(tasks), "task")
    n_classes = 0
    if problem == "regression":
        _check_numbers(_column(data, "targets"))
    else:
        n_classes = _check_classes(_labels(data, "targets"))
    n_weights = len(tasks) * (features.shape[1] + 1) * (n_classes if n_classes > 2 else 1)
    if n_weights > MOST_WEIGHTS:
        raise UsageError(
            f"{len(tasks):,} tasks with {features.shape[1]:,} features each take {n_weights:,} "
            f"weights; at most {MOST_WEIGHTS:,} are accepted. Use fewer features (`preprocess`).",
            code="too-large",
            role="features",
        )


def _row_order(features: Float, targets: Float, task: Int) -> Int:
    """(N,) rows in order of task, then target, then features from the first on."""
    leading = features[:, :_FIRST]
    order = np.lexsort([*leading.T[::-1], targets, task])
    row, after = order[:-1], order[1:]
    tied = (leading[row] == leading[after]).all(axis=1) & (targets[row] == targets[after])
    if features.shape[1] > _FIRST and (tied & (task[row] == task[after])).any():
        order = np.lexsort([*features.T[::-1], targets, task])
    return order


def tasks_of(data: Data, known: list[int | str], n_rows: int) -> Int:
    """(n_rows,) the index in `known` of each new row's task.

    Raises UsageError naming the first row of an unknown task.
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
        names = ", ".join(shown(task) for task in known[:5]) + (", ..." if len(known) > 5 else "")
        raise UsageError(
            f"Input 'tasks' has {shown(column[row])} at row {row} (counted from 0), a task that "
            f"the model was not fitted on; it knows {names}.",
            code="unknown-task",
            role="tasks",
            row=row,
        )
    return number


def _column(data: Data, role: str) -> Array:
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


def _labels(data: Data, role: str) -> Array:
    """A column of integers or text. Raises UsageError naming the first value that is neither."""
    column = _column(data, role)
    if column.dtype.kind in "iub":
        return column.astype(np.int64)
    if column.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            bad = np.flatnonzero(~np.isfinite(column) | (column != np.trunc(column)))
        if not bad.size and np.abs(column).max(initial=0.0) <= 2.0**53:
            return column.astype(np.int64)
        row = int(bad[0]) if bad.size else int(np.abs(column).argmax())
        raise _not_a_label(role, row, float(column[row]))
    values = column.tolist()
    for row, value in enumerate(values):
        if not isinstance(value, str) or not value:
            raise _not_a_label(role, row, value)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _not_a_label(role: str, row: int, value: object) -> UsageError:
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


def _check_numbers(targets: Array) -> None:
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


def _check_classes(targets: Array) -> int:
    """The number of classes."""
    n_classes = len(np.unique(targets))
    if n_classes < 2:
        raise UsageError(
            f"Input 'targets' names one class only, {targets[0]!r}; a classification needs two.",
            code="constant-targets",
            role="targets",
        )
    if n_classes > MOST_CLASSES:
        raise UsageError(
            f"Input 'targets' names {n_classes:,} classes; at most {MOST_CLASSES:,} are accepted. "
            "For numbers give 'problem': 'regression'.",
            code="too-large",
            role="targets",
        )
    return n_classes


def held_out(table: Table, share: float, rng: np.random.Generator) -> Mask:
    """(N,) which rows are held out: a random, rounded `share` of each task.

    Every task keeps at least one row. If the share is not 0, every task of two or more rows has at
    least one held out.
    """
    out = np.zeros(len(table.row), dtype=bool)
    if share == 0.0:
        return out
    for begin, end in zip(table.start[:-1].tolist(), table.start[1:].tolist(), strict=True):
        n_rows = end - begin
        n_out = min(max(1, round(share * n_rows)), n_rows - 1)
        out[begin + rng.choice(n_rows, n_out, replace=False)] = True
    return out


def folds(table: Table, n_folds: int, rng: np.random.Generator) -> Int:
    """(N,) the fold of each row; -1, no fold, for the only row of a task.

    The rows of a task, and of each class within it, are spread over all folds as evenly as
    possible.
    """
    fold = np.full(len(table.row), -1)
    for begin, end in zip(table.start[:-1].tolist(), table.start[1:].tolist(), strict=True):
        n_rows = end - begin
        order = rng.permutation(n_rows)
        first = int(rng.integers(n_folds))
        if n_rows < 2:
            continue
        if table.classes:
            order = order[np.argsort(table.targets[begin:end][order], kind="stable")]
        fold[begin + order] = (first + np.arange(n_rows)) % n_folds
    return fold
