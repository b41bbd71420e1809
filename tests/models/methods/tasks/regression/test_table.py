"""Rows in order of their tasks, refusals, and rows held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.methods.tasks.regression.table import folds, held_out, table_of

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(12, 3))
TARGETS = RNG.normal(size=12)
TASKS = np.array([3, 1, 2] * 4)


def data(**changed: Any) -> Data:
    return Data({"features": FEATURES, "targets": TARGETS, "tasks": TASKS, **changed})


def text(*values: str) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def test_rows_lie_by_task_with_their_values() -> None:
    table = table_of(data(), "regression")
    assert table.tasks == [1, 2, 3]
    assert table.start.tolist() == [0, 4, 8, 12]
    assert sorted(table.row.tolist()) == list(range(12))
    np.testing.assert_array_equal(table.features, FEATURES[table.row])
    np.testing.assert_array_equal(table.targets, TARGETS[table.row])
    assert [table.tasks[task] for task in table.task] == TASKS[table.row].tolist()
    assert table.by_row(np.array([10, 20, 30])).tolist() == (TASKS * 10).tolist()


def test_the_order_of_rows_changes_nothing() -> None:
    order = RNG.permutation(12)
    mixed = data(features=FEATURES[order], targets=TARGETS[order], tasks=TASKS[order])
    table, table_of_mixed = table_of(data(), "regression"), table_of(mixed, "regression")
    for name in ("features", "targets", "task", "start"):
        np.testing.assert_array_equal(getattr(table, name), getattr(table_of_mixed, name))
    np.testing.assert_array_equal(table.row, order[table_of_mixed.row])


def test_nearly_equal_rows_are_ordered_by_their_difference() -> None:
    features = np.hstack([np.ones((12, 9)), FEATURES[:, :1]])
    table = table_of(data(features=features, targets=TASKS % 2 + 0.5), "regression")
    for task in range(3):
        part = table.features[table.start[task] : table.start[task + 1], -1]
        assert (np.diff(part) > 0).all()


def test_classes_and_tasks_of_text_or_whole_numbers() -> None:
    table = table_of(data(targets=text(*"abc" * 4), tasks=text(*["x", "y"] * 6)), "classification")
    assert (table.classes, table.tasks) == (["a", "b", "c"], ["x", "y"])
    table = table_of(data(targets=np.array([1.0, 0.0] * 6)[:, None]), "classification")
    assert table.classes == [0, 1]


@pytest.mark.parametrize(
    ("changed", "problem", "code", "part"),
    [
        ({"targets": TARGETS[:5]}, "regression", "wrong-shape", "5 values"),
        ({"tasks": TASKS[:5]}, "regression", "wrong-shape", "12 rows"),
        ({"targets": FEATURES}, "regression", "wrong-shape", "one column"),
        ({"tasks": np.ones(12, dtype=int)}, "regression", "too-few-tasks", "one task only"),
        ({"targets": np.full(12, 2.5)}, "regression", "constant-targets", "2.5 in every row"),
        ({"targets": text(*"ab" * 6)}, "regression", "wrong-input", "'classification'"),
        ({"targets": np.where(TASKS == 2, np.nan, 1)}, "regression", "not-finite", "row 2"),
        ({"targets": TARGETS * 1e200}, "regression", "too-large", "overflow"),
        ({"tasks": np.where(TASKS == 2, np.inf, 1)}, "regression", "not-finite", "row 2"),
        ({"tasks": TASKS + 0.5}, "regression", "wrong-input", "3.5 at row 0"),
        ({"targets": TARGETS}, "classification", "wrong-input", "at row 0"),
        ({"targets": text(*"a" * 12)}, "classification", "constant-targets", "'a'"),
        ({"features": FEATURES[:, :0]}, "regression", "wrong-shape", "no columns"),
        ({"features": FEATURES * 1e200}, "regression", "too-large", "overflow"),
    ],
)
def test_invalid_inputs_are_refused(
    changed: dict[str, Any], problem: Any, code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        table_of(data(**changed), problem)
    assert caught.value.code == code
    assert part in caught.value.detail
    assert caught.value.where["role"] in changed


def test_mixed_classes_are_named_by_their_row() -> None:
    mixed = np.array(["a", 1, "b"] * 4, dtype=object)
    with pytest.raises(UsageError, match=r"1 at row 1 .* all integers or all text"):
        table_of(data(targets=mixed), "classification")


def test_a_share_of_each_task_is_kept_out() -> None:
    tasks = np.repeat([0, 1, 2], [1, 2, 9])
    table = table_of(data(tasks=tasks), "regression")
    out = held_out(table, 0.3, np.random.default_rng(0))
    assert np.bincount(table.task[out], minlength=3).tolist() == [0, 1, 3]
    left = table.part(~out)
    assert left.start.tolist() == [0, 1, 2, 8]
    assert not held_out(table, 0.0, np.random.default_rng(0)).any()


def test_folds_spread_tasks_and_classes() -> None:
    classes = np.array([0, 1] * 12)
    tasks = np.repeat([0, 1], [1, 23])
    table = table_of(
        Data({"features": RNG.normal(size=(24, 2)), "targets": classes, "tasks": tasks}),
        "classification",
    )
    fold = folds(table, 3, np.random.default_rng(0))
    assert fold[0] == -1
    for number in (0, 1):
        count = np.bincount(fold[1:][table.targets[1:] == number], minlength=3)
        assert count.max() - count.min() <= 1
