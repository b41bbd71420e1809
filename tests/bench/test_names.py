"""The tree of a set's known classes."""

from __future__ import annotations

from bench.names import tree_of


def test_rows_lie_in_their_classes_and_one_that_ends_inside_beside_them() -> None:
    #        root
    #      /      \
    #     a        b         rows 0, 1: a/x and b; 2: a alone, in one more leaf
    #   /   \
    #  (a)  a/x
    tree = tree_of([("a", "x"), ("b",), ("a",)])
    names = tree.name[tree.leaf_of_point].tolist()
    assert names == ["a/x", "b", "a/"]
    first, second, third = tree.leaf_of_point.tolist()
    assert tree.parent[first] == tree.parent[third] != tree.parent[second] == 0
    assert tree.name[tree.parent[first]] == "a"
