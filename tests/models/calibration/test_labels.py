"""Labels as classes of a tree."""

from __future__ import annotations

import numpy as np
import pytest

from models.calibration.labels import label_classes
from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.tree.newick import read

# A root r with a leaf "7" and a node "pet" over "cat" and "dog".
TREE = read("((cat:1,dog:1)pet:1,7:2)r;")
NODE = np.array([int(np.flatnonzero(TREE.name == name)[0]) for name in ("dog", "7", "cat")])


def classes(*labels: object) -> list[int]:
    kind = object if isinstance(labels[0], str) else np.int64
    return list(label_classes(LabelSets.of(np.array(labels, dtype=kind)), TREE, NODE).tolist())


def test_names_paths_and_numbers() -> None:
    assert classes("cat", "pet/dog", "r/pet/cat", "7") == [2, 0, 2, 1]
    # As soon as one label is a name, the others are names, too.
    assert classes(7, -1, 7) == [1, -1, 1]
    assert classes(0, 2, 1, -1) == [0, 2, 1, -1]


@pytest.mark.parametrize(
    ("labels", "why", "row"),
    [
        (("cat", "lion"), "'lion' at row 1 .* is no node", 1),
        (("cat", "pet"), "'pet' at row 1 .* is an inner node", 1),
        ((0, 1, 3), "'3' at row 2", 2),
        ((7, 1), "'1' at row 1", 1),
    ],
)
def test_labels_that_are_no_class(labels: tuple[object, ...], why: str, row: int) -> None:
    with pytest.raises(UsageError, match=why) as error:
        classes(*labels)
    assert (error.value.code, error.value.where["row"]) == ("unknown-label", row)


def test_a_row_of_several_labels() -> None:
    several = LabelSets(
        np.array([0, 2]), np.array([0, 1]), ["cat", "dog"], np.zeros(1, dtype=np.bool_)
    )
    with pytest.raises(UsageError, match="at most one"):
        label_classes(several, TREE, NODE)
