"""Labels numbered and counted, against counting them one by one."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.label_sets import LabelSets, at_most_one
from models.tree.build import from_partition
from models.tree.labels import Labels, labels, leaf_codes, mix, of_cut, of_labels, words
from models.tree.tree import Tree
from models.tree.walk import path
from models.tree.window import fold
from tests.models.tree.strategies_kit import random_tree

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 12)), min_size=1, max_size=40)


def texts(labelled: Labels, codes: Any) -> list[str | None]:
    return [None if code < 0 else labelled.text[code].as_py() for code in codes]


@given(ROWS, st.booleans())
def test_a_leaf_takes_its_most_frequent_label(rows: list[tuple[int, int]], text: bool) -> None:
    values: list[Any] = [f"{row[1]}" if text else row[1] for row in rows]
    tree = from_partition([row[0] for row in rows], 4)
    given_ = np.array(values, object) if text else np.array(values, np.int64)
    labelled = labels(tree, given_)
    if labelled.of == "row":
        expected: list[str | None] = []
        for leaf in tree.leaves:
            counts = Counter(values[i] for i in np.flatnonzero(tree.leaf_of_point == leaf))
            best = min(counts, key=lambda label: (-counts[label], label), default=None)
            expected.append(None if best is None else str(best))
        assert texts(labelled, leaf_codes(tree, labelled)) == expected
    total = Counter(values)
    ranked = sorted(total, key=lambda label: (-total[label], label))
    assert labelled.text.to_pylist() == [str(label) for label in ranked]
    assert labelled.times.tolist() == [total[label] for label in ranked]


@given(random_tree(), st.data())
def test_the_mix_under_a_node(tree: Tree, data: st.DataObject) -> None:
    by_leaf = data.draw(st.booleans())
    n = tree.n_leaves if by_leaf else tree.n_points
    if n == 0:
        return
    values = data.draw(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=n, max_size=n))
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    labelled = labels(tree, values)
    leaf_of = tree.leaves if labelled.of == "leaf" else tree.leaf_of_point
    counts = Counter(
        value
        for value, leaf in zip(values, leaf_of.tolist(), strict=True)
        if value is not None and node in path(tree, leaf)
    )
    seen = mix(tree, labelled, node, most=2)
    assert (seen.n, seen.n_labels) == (counts.total(), len(counts))
    if not counts:
        assert (seen.purity, seen.entropy, seen.most) == (None, None, [])
        return
    shares = [count / counts.total() for count in counts.values()]
    assert seen.purity == pytest.approx(max(shares))
    assert seen.entropy == pytest.approx(-sum(p * math.log(p) for p in shares), abs=1e-12)
    most = [(labelled.text[code].as_py(), count) for code, count, _ in seen.most]
    assert dict(most).items() <= counts.items()
    assert (
        sorted((count for _, count in most), reverse=True)
        == sorted(counts.values(), reverse=True)[:2]
    )
    assert all(share == pytest.approx(count / counts.total()) for _, count, share in seen.most)


def test_no_label_at_all() -> None:
    tree = from_partition([0, 0, 1], 2)
    labelled = labels(tree, [None, None, None])
    assert (labelled.n_labels, labelled.code.tolist()) == (0, [-1, -1, -1])
    assert leaf_codes(tree, labelled).tolist() == [-1, -1]
    assert mix(tree, labelled, 0).n == 0


def test_another_length() -> None:
    with pytest.raises(UsageError, match="5 labels; the tree has 3 rows and 2 leaves"):
        labels(from_partition([0, 0, 1], 2), ["a"] * 5)


def test_label_sets_of_at_most_one_label() -> None:
    start, code = np.array([0, 1, 1, 2, 2]), np.array([1, 0])
    sets = LabelSets(start, code, ["a", "b"], np.array([False, True, False, False]))
    assert at_most_one(sets).tolist() == ["b", None, "a", None]
    several = LabelSets(np.array([0, 0, 2]), code, ["a", "b"], np.zeros(2, dtype=bool))
    with pytest.raises(UsageError, match="2 labels at row 1") as caught:
        at_most_one(several)
    assert caught.value.where == {"role": "labels", "row": 1}


@given(random_tree(), st.data())
def test_the_words_of_nodes_are_their_most_frequent_label_and_its_share(
    tree: Tree, data: st.DataObject
) -> None:
    by_leaf = data.draw(st.booleans())
    n = tree.n_leaves if by_leaf else tree.n_points
    if n == 0:
        return
    values = data.draw(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=n, max_size=n))
    labelled = labels(tree, values)
    part = fold(tree, 0, max_nodes=data.draw(st.integers(1, 12)))
    leaf_of = tree.leaves if labelled.of == "leaf" else tree.leaf_of_point
    expected: list[str | None] = []
    for node in part.node.tolist():
        under = [
            value
            for value, leaf in zip(values, leaf_of.tolist(), strict=True)
            if value is not None and node in path(tree, leaf)
        ]
        counts = Counter(under)
        best = min(counts, key=lambda label: (-counts[label], label), default=None)
        text = None if best is None else f"{best} {math.floor(100 * counts[best] / len(under))}%"
        expected.append(text if len(under) > 1 else None)
    assert words(tree, of_labels(tree, labelled), part.node, part.parent) == expected


def test_clusters_of_a_cut_have_no_words() -> None:
    tree = from_partition([0, 0, 1], 2)
    nodes = np.arange(3)
    assert words(tree, of_cut(tree, k=2), nodes, np.array([-1, 0, 0])) == [None] * 3


def test_a_share_is_all_only_where_it_is_all() -> None:
    tree = from_partition([0] * 1000, 1)
    values = ["dog"] * 999 + ["cat"]
    colours = of_labels(tree, labels(tree, values))
    nodes, parent = np.arange(tree.n_nodes), np.arange(tree.n_nodes) - 1
    assert set(words(tree, colours, nodes, parent)) == {"dog 99%"}
