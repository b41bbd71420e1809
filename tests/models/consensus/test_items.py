"""Leaves are matched by names, rows by number; what cannot be matched is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.consensus.items import matched_items
from models.errors import UsageError
from models.tree import newick
from models.tree.build import from_merges, from_partition
from tests.models.consensus.sets_kit import sets


def test_leaves_in_another_order_are_the_same() -> None:
    trees = [newick.read(text) for text in ("((a,b),(c,d));", "((d,c),(b,a));")]
    items = matched_items(trees)
    assert items.names is not None
    by_name = [
        {frozenset(items.names[sorted(each)]) for each in sets(tree)} for tree in items.trees
    ]
    assert by_name[0] == by_name[1]


def test_rows_stay_where_all_trees_agree_on_them() -> None:
    classes = from_merges([0, 1], [2, 3], [1, 2], names=["a", "b", "c"], leaf_of_point=[0, 0, 1, 2])
    items = matched_items([classes, classes])
    assert items.rows is not None
    assert items.names is not None
    assert items.names[items.rows].tolist() == ["a", "a", "b", "c"]
    other = from_merges([0, 1], [2, 3], [1, 2], names=["a", "b", "c"], leaf_of_point=[0, 1, 1, 2])
    assert matched_items([classes, other]).rows is None


def test_numbers_of_clusters_are_no_names() -> None:
    """Cluster 0 of one run is not cluster 0 of another; rows are the same."""
    trees = [from_partition([0, 0, 1, 1], 2), from_partition([1, 1, 0, 0], 2)]
    items = matched_items(trees)
    assert items.names is None
    assert sets(items.trees[0])[1] == sets(items.trees[1])[2]


def test_empty_clusters_do_not_make_numbers_names() -> None:
    """Here there are as many leaves as rows."""
    items = matched_items([from_partition([0, 0, 1], 3), from_partition([1, 1, 0], 3)])
    assert items.names is None
    assert frozenset({0, 1}) in sets(items.trees[0])
    assert frozenset({0, 1}) in sets(items.trees[1])


def test_common_names_remain_with_a_warning() -> None:
    trees = [newick.read(text) for text in ("((a,b),(c,x));", "(((a,c),b),y);")]
    with pytest.raises(UsageError, match=r"lacks 1 \('x'\) and adds 1 \('y'\)"):
        matched_items(trees)
    items = matched_items(trees, common=True)
    assert items.names is not None
    assert items.names.tolist() == ["a", "b", "c"]
    assert items.warnings == ("2 leaves are not in all trees and were left out.",)
    for tree in items.trees:
        tree.validate()
        assert (tree.n_children != 1).all()


def test_what_cannot_be_matched() -> None:
    one, other = newick.read("(a,b);"), newick.read("(c,d,e);")
    with pytest.raises(UsageError, match="different leaves"):
        matched_items([one, other])
    with pytest.raises(UsageError, match="0 names of leaves in common"):
        matched_items([one, other], common=True)
    doubled = newick.read("(a,a);")
    with pytest.raises(UsageError, match="Tree 2 has several leaves called 'a'"):
        matched_items([one, doubled], "names")
    with pytest.raises(UsageError, match="rows"):
        matched_items([one, other], "rows")


def test_empty_leaves_are_left_out() -> None:
    tree = from_partition([0, 0, 2, 2], 3)
    items = matched_items([tree, replace(tree)], "rows")
    assert items.trees[0].n_leaves == 2
    assert np.array_equal(items.trees[0].size, [4, 2, 2])


def test_names_that_occur_twice_are_in_the_warning_or_the_refusal() -> None:
    #  a a b        a b a
    trees = [newick.read("((a,a),b);"), newick.read("((a,b),a);")]
    items = matched_items(trees)
    assert items.names is None
    assert items.warnings == ("Tree 1 has several leaves called 'a'; rows were matched by number.",)
    others = [newick.read("((a,c),b);"), newick.read("((a,a),(b,c));")]
    with pytest.raises(UsageError, match="Tree 2 has several leaves called 'a'"):
        matched_items(others)
    with pytest.raises(UsageError, match="Tree 2 has several leaves called 'a'; leaves cannot"):
        matched_items(others, "names")
