"""Labels by row, and what numbers among them mean."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.label_sets import LabelSets, label_sets


def test_numbers_are_called_by_their_names() -> None:
    labels = label_sets(np.array([2, 0, 2, -1]), 4, ["cat", "dog", "owl"])
    assert [labels.names[code] for code in labels.code] == ["owl", "cat", "owl"]
    assert labels.unlabelled.tolist() == [False, False, False, True]


@pytest.mark.parametrize("label", ["3", "01", "-0", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 5000, "x"])
def test_a_label_without_a_name_is_refused(label: str) -> None:
    with pytest.raises(UsageError, match="is none of them") as caught:
        label_sets(np.array(["1", label], dtype=object), 2, ["cat", "dog", "owl"])
    assert caught.value.where["role"] == "names"


def test_a_long_label_takes_no_more_than_its_length() -> None:
    column = np.array(["b", "c" * 100_000, *["a"] * 1000], dtype=object)
    tracemalloc.start()
    try:
        labels = LabelSets.of(column)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert labels.names == ["a", "b", column[1]]
    assert labels.code.tolist() == [1, 2, *[0] * 1000]
    assert peak < 1_000_000
