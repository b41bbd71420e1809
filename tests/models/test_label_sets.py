"""Labels by row, and what numbers among them mean."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.label_sets import label_sets


def test_numbers_are_called_by_their_names() -> None:
    labels = label_sets(np.array([2, 0, 2, -1]), 4, ["cat", "dog", "owl"])
    assert [labels.names[code] for code in labels.code] == ["owl", "cat", "owl"]
    assert labels.unlabelled.tolist() == [False, False, False, True]


@pytest.mark.parametrize("label", ["3", "01", "-0", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 5000, "x"])
def test_a_label_without_a_name_is_refused(label: str) -> None:
    with pytest.raises(UsageError, match="is none of them") as caught:
        label_sets(np.array(["1", label], dtype=object), 2, ["cat", "dog", "owl"])
    assert caught.value.where["role"] == "names"
