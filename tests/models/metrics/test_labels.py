"""Labels as numbers: integers, strings, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.metrics.inputs import classes_of


@given(st.one_of(st.lists(st.integers(-3, 3)), st.lists(st.text(max_size=2))))
def test_codes_stand_for_the_labels(labels: list[Any]) -> None:
    for form in (labels, np.array(labels, dtype=object)):
        classes = classes_of(form, len(labels))
        assert [classes.name[code] for code in classes.code] == labels
        assert classes.name == sorted(set(labels))
        assert classes.code.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64, bool])
def test_kinds_of_integers(dtype: type) -> None:
    classes = classes_of(np.array([1, 0, 1], dtype=dtype), 3)
    assert classes.code.tolist() == [1, 0, 1]
    assert classes.n_classes == 2


def test_a_column_and_strings_of_fixed_width() -> None:
    assert classes_of(np.array([[2], [-1]]), 2).name == [-1, 2]
    assert classes_of(np.array(["b", "", "b"]), 3).name == ["", "b"]


@pytest.mark.parametrize(
    "labels",
    [[1.5, 2.0], np.array([0.0, 1.0]), ["a", 1], [None, "a"], [[1, 2], [3, 4]], [2**70, 1]],
)
def test_refused(labels: Any) -> None:
    with pytest.raises(UsageError) as caught:
        classes_of(labels, 2)
    assert caught.value.code == "wrong-input"
    assert caught.value.where["role"] == "labels"


def test_wrong_length_names_both() -> None:
    with pytest.raises(UsageError, match=r"3 labels for the 5 points") as caught:
        classes_of([1, 2, 3], 5)
    assert caught.value.code == "wrong-length"
    assert caught.value.where == {"role": "labels", "labels": 3, "n_points": 5}


def test_label_sets_need_one_label_for_each_row() -> None:
    names, known = ["cat", "dog"], np.zeros(2, dtype=bool)
    classes = classes_of(LabelSets(np.array([0, 1, 2]), np.array([1, 0]), names, known), 2)
    assert (classes.code.tolist(), classes.name) == ([1, 0], names)
    for start, times in (([0, 2, 2], 2), ([0, 0, 2], 0)):
        sets = LabelSets(np.array(start), np.array([0, 1]), names, known)
        with pytest.raises(UsageError, match=f"{times} labels at row 0"):
            classes_of(sets, 2)
