"""Terms that no sampled row has."""

from __future__ import annotations

import numpy as np

from models.node_names.terms import distinctive_columns, presence
from models.tree.build import from_parents


def test_a_node_whose_terms_no_sampled_row_has_is_named() -> None:
    """The only row with terms is not among the 2,000 of 3,000 that are looked at."""
    n = 3000
    parent = np.concatenate([[-1, 0, 0], np.repeat([1, 2], n)])
    height = np.concatenate([[2.0, 1.0, 1.0], np.zeros(2 * n)])
    tree = from_parents(parent, height, np.full(len(parent), None, dtype=object))
    rows = np.zeros((2 * n, 6))
    rows[:n, 0] = rows[:n:2, 1] = rows[:n:3, 2] = 1
    rows[n + 2, 3:] = 1
    found = distinctive_columns(tree, presence(rows), 2)
    assert {column for column, _ in found[2]} == {3, 4, 5}
