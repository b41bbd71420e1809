"""Labels as nodes of a hierarchy."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.label_sets import LabelSets, label_nodes, with_own_leaves
from models.tree import class_paths

TREE = class_paths.read("a/x\na/y\nb/x")


def labels(*names: str) -> LabelSets:
    return LabelSets.of(np.array(names, dtype=object))


def test_a_label_is_a_name_or_a_path() -> None:
    sets = labels("y", "b/x", "a", "y")
    nodes = label_nodes(sets, TREE)
    names = dict(zip(sets.names, TREE.name[nodes], strict=True))
    assert names == {"y": "y", "b/x": "x", "a": "a"}
    assert TREE.name[TREE.parent[nodes[sets.names.index("b/x")]]] == "b"


@pytest.mark.parametrize(("name", "why"), [("z", "is no node"), ("x", "means several nodes")])
def test_others_are_refused_with_their_first_row(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        label_nodes(labels("y", name, name), TREE)
    assert caught.value.where == {"role": "labels", "row": 1}


def test_leaves_of_their_own_have_the_names_of_inner_nodes() -> None:
    inner = np.flatnonzero(TREE.name == "a")
    whole = with_own_leaves(TREE, inner)
    assert whole.parent[TREE.n_nodes] == inner[0]
    assert whole.name[TREE.n_nodes] == "a"
    assert whole.n_points == 0
