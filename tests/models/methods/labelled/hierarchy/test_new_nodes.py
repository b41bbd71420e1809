"""New nodes hang in a tree, hold enough rows, and share none with what is beside them."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.labelled.hierarchy.new_nodes import NewNodes
from tests.models.methods.labelled.hierarchy.tree_kit import known_tree


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("max_depth", [None, 1])
def test_nodes_are_nested_or_apart(seed: int, max_depth: int | None) -> None:
    tree, points = known_tree(seed, n_rows=240)
    is_new = tree.row_node == 0
    new = NewNodes(tree, points, is_new, 5, max_depth).chosen()
    assert new
    held: dict[int, np.ndarray] = {}
    for place, own in enumerate(new):
        assert own.rows.size >= 5
        assert is_new[own.rows].all()
        assert own.above < tree.n_nodes
        if own.above < 0:
            above = -1 - own.above
            assert above < place
            assert np.isin(own.rows, new[above].rows).all()
            assert own.rows.size < new[above].rows.size
        else:
            assert not tree.is_leaf[own.above]
        assert max_depth is None or own.above == 0
        beside = held.setdefault(own.above, np.empty(0, dtype=np.int64))
        assert not np.isin(own.rows, beside).any()
        held[own.above] = np.concatenate([beside, own.rows])


def test_too_few_rows_give_none() -> None:
    tree, points = known_tree(0)
    is_new = np.zeros(tree.row_node.size, dtype=bool)
    is_new[-4:] = True
    assert NewNodes(tree, points, is_new, 5, None).chosen() == []
