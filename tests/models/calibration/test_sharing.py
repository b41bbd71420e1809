"""Classes that share thresholds, against the rule word by word."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Int
from models.calibration.sharing import ClassGroups
from models.tree.tree import Tree
from tests.models.calibration.calibration_kit import drawn


def group_of(tree: Tree, node: Int, n_rows: list[int], fewest: int, new: int) -> tuple[int, Int]:
    """The node of the new row's group, by the rows of all n + 1, and the group's classes; -1 for
    none."""
    count = [n + (each == new) for each, n in enumerate(n_rows)]
    if count[new] > fewest:
        return int(node[new]), np.array([new])
    waiting: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for each, n in enumerate(count):
        if n <= fewest:
            waiting[node[each]].add(each)
    for at in range(tree.n_nodes - 1, -1, -1):
        if sum(count[each] for each in waiting[at]) > fewest:
            if new in waiting[at]:
                return at, np.array(sorted(waiting[at]))
        elif at:
            waiting[tree.parent[at]] |= waiting[at]
    return -1, np.array([])


@given(st.integers(0, 10**6))
def test_groups_are_those_of_all_rows_and_the_new_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes, _, _ = drawn(seed, 1)
    fewest = int(rng.integers(1, 5))
    n_rows = rng.integers(0, fewest + 3, classes.n_classes)
    groups = ClassGroups.below_nodes(classes.tree.parent, classes.node, n_rows, fewest)
    for new in range(classes.n_classes):
        at, own = group_of(classes.tree, classes.node, n_rows.tolist(), fewest, new)
        assert groups.node[new] == at
        assert (groups.of[new] < 0) == (at < 0)
        if at >= 0:
            members = groups.members[groups.of[new]].tolist()
            assert members == [each for each in own.tolist() if n_rows[each]]


def test_classes_without_rows_along_a_chain_have_one_group() -> None:
    """Each of them has a group below another node; the rows are the same ones."""
    n_classes = 300
    inner = np.arange(n_classes - 1)
    parent = np.concatenate([inner - 1, inner, inner[-1:]])
    node = n_classes - 1 + np.arange(n_classes)
    n_rows = np.zeros(n_classes, dtype=np.int64)
    n_rows[-3:] = 3
    groups = ClassGroups.below_nodes(parent, node, n_rows, 9)
    assert [own.tolist() for own in groups.members] == [[297, 298, 299]]
    assert groups.of.tolist() == [0] * n_classes
    assert groups.node[:298].tolist() == [*range(297), 297]
