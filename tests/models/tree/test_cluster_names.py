"""Names of clusters, against the definition written naively."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.tree.cluster_names import cluster_names, has_names
from models.tree.tree import Tree
from models.tree.walk import preorder
from tests.models.tree.strategies_kit import random_tree
from tests.models.tree.trees_kit import tree_of

NAMES = st.sampled_from([None, "", "7", "rose", "ant", "élan", "x1"])


def naive(tree: Tree, node: int) -> str | None:
    if tree.name[node] is not None:
        return str(tree.name[node])
    inside = []
    for leaf in preorder(tree).tolist():
        above = leaf
        while above not in (node, -1):
            above = tree.parent[above]
        if above == node and not tree.n_children[leaf]:
            inside.append(leaf)
    if any(tree.size[leaf] for leaf in inside):
        inside = [leaf for leaf in inside if tree.size[leaf]]
    points: Counter[str] = Counter()
    for leaf in inside:
        if tree.name[leaf] and not tree.name[leaf].isdigit():
            points[tree.name[leaf]] += int(tree.size[leaf])
    # Sorting is stable, and a counter keeps the order of the leaves.
    texts = sorted(points, key=lambda name: -points[name])
    return ", ".join(texts[:3] + ["…"] * (len(texts) > 3)) if texts else None


@given(random_tree(), st.data())
def test_names_are_those_of_the_definition(tree: Tree, data: st.DataObject) -> None:
    names = data.draw(st.lists(NAMES, min_size=tree.n_nodes, max_size=tree.n_nodes))
    named = replace(tree, name=np.array([*names, None], dtype=object)[:-1])
    nodes = np.arange(tree.n_nodes)
    assert cluster_names(named, nodes) == [naive(named, node) for node in nodes.tolist()]


def test_the_names_with_most_points_come_first_and_numbers_are_no_names() -> None:
    #        0
    #      /    \
    #     1      2
    #   / | \ \   / \
    #  3  4 5  6 7   8
    tree = tree_of([-1, 0, 0, 1, 1, 1, 1, 2, 2], [None, None, None, "a", "b", "c", "b", "0", "1"])
    assert cluster_names(tree, [1, 2, 8]) == ["b, a, c", None, "1"]
    assert cluster_names(tree, [0]) == ["b, a, c"]
    assert has_names(tree)
    assert not has_names(replace(tree, name=np.array([str(i) for i in range(9)], dtype=object)))
    more = replace(tree, name=np.array([None, None, "plants", *"abcde", None], dtype=object))
    assert cluster_names(more, [1, 2, 0]) == ["a, b, c, …", "plants", "a, b, c, …"]


def test_terms_name_what_has_no_named_leaf() -> None:
    tree = tree_of([-1, 0, 0, 1, 1])
    terms = np.full(5, None, dtype=object)
    terms[1] = [{"term": term, "weight": 1.0} for term in ("oak", "ash", "elm", "fir")]
    terms[2] = [{"feature": "red", "weights": [0.5, 0.5]}]
    terms[3] = [{"feature": 3, "weight": 0.5}]
    tree = replace(tree, extra={"features": terms, "weight": np.ones(5)})
    assert cluster_names(tree, [1, 2]) == ["oak, ash, elm", None]
    assert cluster_names(tree, [2, 3, 4]) == [None, None, None]
    leaves_named = replace(tree, name=np.array([None, None, None, "yew", None], dtype=object))
    assert cluster_names(leaves_named, [1, 0]) == ["yew", "yew"]
