"""Noise of a tree: in no cluster of a cut, whatever it is cut by."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.levels.silhouette import curve
from models.levels.suggested_cuts import levels, reason
from models.tree.build import from_parents, from_partition
from models.tree.cluster_names import cluster_names
from models.tree.columns import from_table, to_table
from models.tree.cut import clusters, cut, most_clusters, nested_cuts
from models.tree.labels import of_cut
from models.tree.nested import read, write
from models.tree.noise import counted_as_cluster, noise_leaves, noise_of
from models.tree.tree import Tree
from models.tree.walk import spans
from models.tree.window import scene
from tests.models.tree.strategies_kit import random_tree, under


def marked(tree: Tree, leaves: list[int]) -> Tree:
    noise = np.zeros(tree.n_nodes, dtype=bool)
    noise[leaves] = True
    return replace(tree, extra={**tree.extra, "noise": noise})


@st.composite
def noisy_tree(draw: st.DrawFn) -> tuple[Tree, set[int]]:
    """A tree, and its leaves of noise: none, some or all."""
    tree = draw(random_tree())
    leaves = draw(st.sets(st.sampled_from(tree.leaves.tolist())))
    return marked(tree, sorted(leaves)), leaves


def literal_noise(tree: Tree, leaves: set[int]) -> list[bool]:
    return [set(inside) <= leaves for inside in under(tree)]


def literal_cut(tree: Tree, leaves: set[int], k: int) -> set[int]:
    """The closed nodes once the highest are opened one by one, as long as there are at most k
    clusters; of equally many, the first that has most of the noise apart."""
    noise = literal_noise(tree, leaves)
    front, best, apart = {0}, {0}, -1
    n_best = -1
    while True:
        n_clusters = sum(not noise[v] for v in front)
        if n_clusters > k:
            return best
        n_apart = sum(noise[v] for v in front)
        if (n_clusters, n_apart) > (n_best, apart):
            best, n_best, apart = set(front), n_clusters, n_apart
        inner = [v for v in front if tree.n_children[v] and not noise[v]]
        if not inner:
            return best
        highest = min(inner, key=lambda v: (-tree.height[v], v))
        front = (front - {highest}) | set(np.flatnonzero(tree.parent == highest).tolist())


@given(noisy_tree(), st.data())
def test_cuts_are_the_literal_ones(drawn: tuple[Tree, set[int]], data: st.DataObject) -> None:
    tree, leaves = drawn
    noise = literal_noise(tree, leaves)
    assert noise_of(tree).tolist() == noise
    assert noise_leaves(tree).tolist() == sorted(leaves)
    most = tree.n_leaves - len(leaves)
    assert most_clusters(tree) == most
    if most:
        k = data.draw(st.integers(1, most))
        by_k = cut(tree, k=k)
        assert set(by_k.cover.tolist()) == literal_cut(tree, leaves, k)
        assert (by_k.n_clusters == k) or "not binary" in str(by_k.warning)
    plain = replace(tree, extra={})
    cuts: list[dict[str, Any]] = [
        {},
        {"level": data.draw(st.integers(0, 4))},
        {"height": data.draw(st.sampled_from(tree.height.tolist()))},
    ]
    for criterion in cuts:
        one, usual = cut(tree, **criterion), cut(plain, **criterion)
        inside = under(tree)
        over = {leaf: node for node in usual.nodes.tolist() for leaf in inside[node]}
        nodes = one.nodes.tolist()
        for row, leaf in enumerate(tree.leaf_of_point.tolist()):
            number = int(one.cluster_of_point[row])
            if noise[over[leaf]]:
                assert number == -1
            else:
                assert nodes[number] == over[leaf]
        assert one.nodes.tolist() == [v for v in usual.nodes.tolist() if not noise[v]]


@given(noisy_tree(), st.data())
def test_each_cut_says_how_much_noise_it_has(
    drawn: tuple[Tree, set[int]], data: st.DataObject
) -> None:
    tree, leaves = drawn
    criterion: dict[str, Any] = data.draw(
        st.sampled_from([{"level": level} for level in range(5)] + [{}])
    )
    flat = cut(tree, **criterion)
    within = int(np.isin(tree.leaf_of_point, sorted(leaves)).sum()) - flat.n_noise
    assert flat.n_noise == int((flat.cluster_of_point == -1).sum())
    assert (f"{within} row(s) of noise are in the clusters" in str(flat.warning)) == (within > 0)
    counted = np.bincount(flat.cluster_of_point[flat.cluster_of_point >= 0], minlength=0)
    assert flat.sizes.tolist()[: counted.size] == counted.tolist()
    together = flat.with_noise()
    assert (together.cluster_of_point >= 0).all()
    assert together.sizes.sum() == tree.n_points
    last = together.cluster_of_point == flat.n_clusters
    assert last.tolist() == (flat.cluster_of_point == -1).tolist()


@given(noisy_tree(), st.integers(2, 12))
def test_nested_cuts_are_the_cuts(drawn: tuple[Tree, set[int]], most: int) -> None:
    tree, _ = drawn
    cuts = nested_cuts(tree, most)
    for k, nodes in cuts.nodes.items():
        expected = cut(tree, k=k)
        assert nodes.tolist() == expected.nodes.tolist()
        assert cuts.coarser[k][cuts.part_of_point].tolist() == expected.cluster_of_point.tolist()


@given(noisy_tree(), st.data())
def test_noise_has_no_category(drawn: tuple[Tree, set[int]], data: st.DataObject) -> None:
    tree, _ = drawn
    level = data.draw(st.integers(0, 4))
    categories, flat = of_cut(tree, level=level), clusters(tree, level=level)
    inside, at = under(tree), spans(tree).start
    assert categories.node is not None
    for place, node in enumerate(categories.node.tolist()):
        assert {int(categories.of_leaf[at[leaf]]) for leaf in inside[node]} == {place}
    for node in flat.noise.tolist():
        assert {int(categories.of_leaf[at[leaf]]) for leaf in inside[node]} == {-1}
    assert (categories.noise is not None) == bool(flat.noise.size)


#            0 (h 9)
#        /     |     \
#     1 (5)    2    3: noise         rows 0, 1 | 2, 3 | 4 | 5, 6 at 4, 5, 2, 3
#     /   \
#    4     5
def example(**extra: Any) -> Tree:
    return from_parents(
        [-1, 0, 0, 0, 1, 1], [9, 5, 0, 0, 0, 0], [None, None, "0", "noise", "1", "2"],
        [4, 4, 5, 5, 2, 3, 3], extra=extra,
    )  # fmt: skip


def marks(*values: Any) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


NOISE = np.array([False, False, False, True, False, False])


def test_an_example() -> None:
    tree = example(noise=NOISE)
    assert cut(tree).cluster_of_point.tolist() == [1, 1, 2, 2, 0, -1, -1]
    assert cut(tree, k=2).cluster_of_point.tolist() == [0, 0, 0, 0, 1, -1, -1]
    whole = cut(tree, k=1)
    assert whole.cluster_of_point.tolist() == [0] * 7
    assert whole.warning is not None
    assert "2 row(s) of noise" in whole.warning
    with pytest.raises(UsageError, match="has 3 leaves that are not noise, so k must be 1 to 3"):
        cut(tree, k=4)
    assert cluster_names(tree, [0]) == [None]
    shown = {node["id"]: node["noise"] for node in scene(tree).nodes}
    assert shown == {node: node == 3 for node in range(6)}
    assert "noise" not in scene(example()).nodes[0]


def test_one_cluster_is_set_apart_from_its_noise() -> None:
    tree = marked(from_partition([0, 0, 1, 1, 1], 2), [2])
    assert cut(tree, k=1).cluster_of_point.tolist() == [0, 0, -1, -1, -1]
    assert cut(tree, height=5).cluster_of_point.tolist() == [0] * 5
    assert not levels(tree)
    assert "fewer than three leaves" in reason(tree)


def test_a_tree_of_noise_alone_has_no_clusters() -> None:
    for tree in (
        marked(from_parents([-1], [0.0], ["noise"], [0, 0, 0]), [0]),
        marked(from_partition([0, 1, 1], 2), [1, 2]),
    ):
        for criterion in ({}, {"level": 0}, {"level": 1}, {"height": 0.0}):
            flat = cut(tree, **criterion)
            assert flat.cluster_of_point.tolist() == [-1] * 3
            assert (flat.n_clusters, flat.n_noise) == (0, 3)
        with pytest.raises(UsageError, match="0 leaves that are not noise, so it has no clusters"):
            cut(tree, k=1)
        assert levels(tree) == []
        assert curve(tree, np.eye(3)) == []


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (NOISE, [3]),
        (marks(None, False, False, True, None, False), [3]),
        (marks("no", 1, 0, True, 2.0, "true"), [3]),
        (~NOISE, [2, 4, 5]),
        (NOISE.astype(np.int64), []),
        (NOISE.astype(np.float64), []),
        (np.stack([NOISE, NOISE], axis=1), []),
        (np.array(["noise"] * 6), []),
    ],
)
def test_what_marks_noise(column: np.ndarray, expected: list[int]) -> None:
    assert noise_leaves(example(noise=column)).tolist() == expected


OLDER: dict[str, Any] = {
    "cluster": np.array([-1, -1, 0, -1, 1, 2]),
    "birth": np.zeros(6),
    "stability": np.zeros(6),
    "probability": np.zeros(6),
    "outlier_score": np.zeros(6),
}


def test_trees_of_hdbscan_that_were_stored_before() -> None:
    older = example(**OLDER)
    assert noise_leaves(older).tolist() == [3]
    assert counted_as_cluster(older)
    assert cut(older).cluster_of_point.tolist() == [1, 1, 2, 2, 0, -1, -1]
    renamed = replace(older, name=np.array([None, "a", "b", "spam (40%)", "c", "d"], dtype=object))
    assert cut(renamed, k=2).cluster_of_point.tolist() == [0, 0, 0, 0, 1, -1, -1]
    assert not counted_as_cluster(example(noise=NOISE, **OLDER))
    for name in OLDER.keys() - {"probability"}:
        other = example(**{key: column for key, column in OLDER.items() if key != name})
        assert not noise_leaves(other).size


def test_the_mark_stays_in_forms_that_keep_columns() -> None:
    tree = example(noise=NOISE)
    again = from_table(to_table(tree), tree.leaf_of_point)
    assert cut(again).cluster_of_point.tolist() == cut(tree).cluster_of_point.tolist()
    imported = read(json.loads("".join(write(tree))))
    assert imported.name[noise_leaves(imported)].tolist() == ["noise"]
