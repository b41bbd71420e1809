"""Categories of nodes, against looking at every leaf."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tree import labels as categories
from models.tree.cut import cut
from models.tree.labels import labels, of_cut, of_labels, shared
from models.tree.tree import Tree
from models.tree.walk import path
from models.tree.window import fold
from tests.models.tree.strategies_kit import random_tree


@pytest.mark.parametrize("cells", [0, 1 << 22])
@given(tree=random_tree(), data=st.data())
def test_a_node_has_the_category_that_its_leaves_share(
    cells: int, tree: Tree, data: st.DataObject
) -> None:
    n = tree.n_leaves
    values = data.draw(st.lists(st.sampled_from([None, *"abcd"]), min_size=n, max_size=n))
    if tree.n_points == n:
        leaf_of_value = tree.leaf_of_point.tolist()
        if len(set(leaf_of_value)) < n:
            return
    else:
        leaf_of_value = tree.leaves.tolist()
    of_leaves = of_labels(tree, labels(tree, values))
    shown = fold(tree, max_nodes=data.draw(st.integers(1, 12)))
    before, categories._CELLS = categories._CELLS, cells
    try:
        category, share = shared(tree, of_leaves, shown.node, shown.tip)
    finally:
        categories._CELLS = before
    names = of_leaves.texts(tree, 10)
    overall = Counter(value for value in values if value is not None)
    for node, tip, got, part in zip(
        shown.node.tolist(), shown.tip.tolist(), category.tolist(), share.tolist(), strict=True
    ):
        under = Counter(
            value
            for value, leaf in zip(values, leaf_of_value, strict=True)
            if node in path(tree, leaf)
        )
        name = names[got] if got >= 0 else None
        if len(under) == 1:
            assert (name, part) == (next(iter(under)), 1.0)
        elif not tip:
            assert (name, part) == (None, 0.0)
        else:
            named = {value: count for value, count in under.items() if value is not None}
            best = min(named, key=lambda v: (-named[v], -overall[v], v))
            assert name == best
            assert part == pytest.approx(named[best] / under.total())


@given(random_tree(), st.data())
def test_clusters_from_left_to_right(tree: Tree, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, tree.n_leaves))
    of_clusters = of_cut(tree, k=k)
    whole = cut(tree, k=k)
    assert of_clusters is not None
    assert sorted(of_clusters.node.tolist()) == whole.nodes.tolist()
    assert of_clusters.warnings == (() if whole.warning is None else (whole.warning,))
    everywhere = np.arange(tree.n_nodes)
    category, share = shared(tree, of_clusters, everywhere, np.zeros(tree.n_nodes, dtype=bool))
    assert of_clusters.node is not None
    for node in everywhere.tolist():
        over = [i for i, top in enumerate(of_clusters.node.tolist()) if top in path(tree, node)]
        if over:
            assert (category[node], share[node]) == (over[0], 1.0)
    assert (np.diff(category[of_clusters.node]) == 1).all()
    assert of_clusters.size.tolist() == tree.size[of_clusters.node].tolist()
    for place, text in enumerate(of_clusters.texts(tree, 1000)):
        assert text == (tree.name[of_clusters.node[place]] or f"cluster {place + 1}")
