"""Trees face to face, against dendextend's definition and counting by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from models.tree import newick
from models.tree import tangle as tangle_module
from models.tree.build import from_merges, from_partition
from models.tree.rows import matched
from models.tree.tangle import Rotate, entanglement, links, tangle
from models.tree.tree import Tree
from models.tree.walk import path, spans
from models.tree.window import fold
from tests.models.tree.strategies_kit import random_tree


def dendextend(left: list[int], right: list[int], power: float = 1.5) -> float:
    """entanglement(dend1, dend2, L) of dendextend 1.17, by its formula in R.

    left, right : labels from left to right.
    """
    ranks1 = list(range(1, len(left) + 1))
    ranks2 = [right.index(label) + 1 for label in left]
    worst = sum(abs(a - b) ** power for a, b in zip(ranks1, reversed(ranks1), strict=True))
    if worst == 0:
        return 0.0
    return sum(abs(a - b) ** power for a, b in zip(ranks1, ranks2, strict=True)) / worst


def order(tree: Tree, start: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """Points from left to right."""
    return np.argsort(start[tree.leaf_of_point], kind="stable").tolist()


def pair(n: int, seed: int) -> tuple[Tree, Tree]:
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(2):
        parts = list(range(n))
        first, second = [], []
        for step in range(n - 1):
            a, b = rng.choice(len(parts), 2, replace=False).tolist()
            first.append(parts[a])
            second.append(parts[b])
            parts = [part for i, part in enumerate(parts) if i not in (a, b)] + [n + step]
        trees.append(from_merges(np.array(first), np.array(second), np.arange(1.0, n)))
    return trees[0], trees[1]


@given(st.integers(2, 30), st.integers(0, 1000))
def test_entanglement_is_dendextends(n: int, seed: int) -> None:
    left, right = pair(n, seed)
    tangled = tangle(left, right)
    starts = [spans(tree).start.astype(np.int64) for tree in (left, right)]
    before = dendextend(order(left, starts[0]), order(right, starts[1]))
    after = dendextend(order(left, tangled.left), order(right, tangled.right))
    assert tangled.before == pytest.approx(before)
    assert tangled.entanglement == pytest.approx(after)
    assert tangled.entanglement <= tangled.before


@given(st.integers(2, 60), st.integers(0, 1000))
def test_a_tree_whose_siblings_were_swapped_is_turned_back(n: int, seed: int) -> None:
    tree, _ = pair(n, seed)
    rng = np.random.default_rng(seed)
    # The same merges, each with its two parts in either order.
    merges = np.flatnonzero(tree.n_children > 0)[::-1]
    ids = np.full(tree.n_nodes, -1)
    ids[tree.leaf_of_point] = np.arange(n)
    ids[merges] = n + np.arange(n - 1)
    start, child = tree.children
    parts = np.array([rng.permutation(ids[child[start[m] : start[m + 1]]]) for m in merges])
    swapped = from_merges(parts[:, 0], parts[:, 1], tree.height[merges])
    assert tangle(tree, swapped).entanglement == 0.0
    assert tangle(tree, swapped, rotate="other").entanglement == 0.0
    assert tangle(tree, tree).before == 0.0


@given(
    random_tree(), random_tree(), st.integers(0, 100), st.sampled_from(["both", "other", "none"])
)
def test_any_trees(first: Tree, second: Tree, seed: int, rotate: Rotate) -> None:
    rng = np.random.default_rng(seed)
    n = 9
    trees = []
    for tree in (first, second):
        leaf = rng.choice(tree.leaves, n).astype(np.int32)
        size = np.array([sum(v in path(tree, int(p)) for p in leaf) for v in range(tree.n_nodes)])
        trees.append(replace(tree, leaf_of_point=leaf, size=size).validate())
    left, right = trees
    tangled = tangle(left, right, rotate=rotate)
    assert 0 <= tangled.entanglement <= tangled.before <= 1
    if rotate != "both":
        assert tangled.left.tolist() == spans(left).start.tolist()
    if rotate == "none":
        assert tangled.right.tolist() == spans(right).start.tolist()
        assert tangled.entanglement == tangled.before
    for tree, start in ((left, tangled.left), (right, tangled.right)):
        assert sorted(start[tree.leaves].tolist()) == list(range(tree.n_leaves))
        for node in range(tree.n_nodes):
            under = [leaf for leaf in tree.leaves.tolist() if node in path(tree, leaf)]
            places = sorted(start[under].tolist())
            assert places == list(range(int(start[node]), int(start[node]) + len(under)))
    shown = [
        fold(tree, max_nodes=int(rng.integers(1, 9)), place=place)
        for tree, place in ((left, tangled.left), (right, tangled.right))
    ]
    joined = links(left, shown[0], right, shown[1], tangled)
    ends = []
    for tree, part in zip(trees, shown, strict=True):
        tips = part.node[part.tip].tolist()
        ends.append(
            [
                next((v for v in path(tree, int(p)).tolist() if v in tips), 0)
                for p in tree.leaf_of_point
            ]
        )
    expected = Counter(zip(*ends, strict=True))
    got = {
        (int(shown[0].node[a]), int(shown[1].node[b])): int(n)
        for a, b, n in zip(joined.left, joined.right, joined.n_points, strict=True)
    }
    assert got == expected
    assert (np.diff(joined.n_points) <= 0).all()
    crossings = sum(
        (tangled.left[a] - tangled.left[c]) * (tangled.right[b] - tangled.right[d]) < 0
        for (a, b), (c, d) in combinations(got, 2)
    )
    assert joined.crossings == crossings


@pytest.mark.parametrize(("n", "seed"), [(6, 111), (8, 194)])
def test_a_sweep_that_makes_it_worse_is_undone(n: int, seed: int) -> None:
    left, right = pair(n, seed)
    ranks = tangle_module._ranks(
        left, right, *(spans(tree).start.astype(np.int64) for tree in (left, right))
    )
    turned = tangle_module._Side.of(right).ordered_by(ranks[0])
    worse = tangle_module._ranks(left, right, spans(left).start.astype(np.int64), turned)
    assert entanglement(*worse) > entanglement(*ranks)
    tangled = tangle(left, right, rotate="other")
    assert tangled.entanglement == tangled.before
    assert tangled.right.tolist() == spans(right).start.tolist()


def test_points_of_one_leaf_stand_as_in_the_other_tree() -> None:
    # The right tree's clusters are contiguous in the left tree: nothing needs to cross.
    left, _ = pair(12, 3)
    in_order = order(left, spans(left).start.astype(np.int64))
    cluster = np.empty(12, dtype=np.int64)
    cluster[in_order] = np.repeat([0, 1, 2], 4)
    assert tangle(left, from_partition(cluster, 3)).before == 0.0


def test_a_root_may_be_an_end() -> None:
    # Both show nodes 1 and 2, the left ones with rows 0 and 1, the right ones with row 1
    # and rows 0 and 2; all other rows are seen at the roots.
    star = from_partition(range(6), 6)
    right = from_partition([1, 0, 1, 2, 3, 4], 5)
    turned = tangle(star, right, rotate="none")
    shown = [fold(tree, max_nodes=3) for tree in (star, right)]
    assert [part.node.tolist() for part in shown] == [[0, 1, 2], [0, 1, 2]]
    joined = links(star, shown[0], right, shown[1], turned)
    ends = zip(joined.left.tolist(), joined.right.tolist(), joined.n_points.tolist(), strict=True)
    assert sorted(ends) == [(0, 0, 3), (0, 2, 1), (1, 2, 1), (2, 1, 1)]
    # A root begins where its node 1 does: 2 - 1 crosses both 0 - 2 and 1 - 2.
    assert joined.crossings == 2


def test_the_reverse_is_one_and_a_single_point_is_zero() -> None:
    assert entanglement(np.arange(7), np.arange(7)[::-1]) == pytest.approx(1.0)
    assert entanglement(np.arange(1), np.arange(1)) == 0.0
    assert entanglement(np.arange(2), np.arange(2)) == 0.0


def test_trees_of_other_rows() -> None:
    with pytest.raises(UsageError, match="3 and 2 points") as error:
        tangle(from_partition([0, 0, 1], 2), from_partition([0, 1], 2))
    assert error.value.code == "wrong-shape"


def test_large_trees_take_fewer_sweeps_and_little_time() -> None:
    left, right = pair(2000, 1)
    tangled = tangle(left, right)
    assert tangled.entanglement < tangled.before


def test_leaves_of_one_row_are_matched_by_their_names() -> None:
    left, right = (newick.read(text) for text in ("((a,b),c);", "(c,(b,a));"))
    assert tangle(left, right, rotate="none").before == 0.0
    other, by_name = matched(left, right)
    assert by_name
    tangled = tangle(left, other, rotate="none")
    assert tangled.before == 1.0
    assert tangle(left, other).entanglement == 0.0


@pytest.mark.parametrize("text", ["(c,(b,d));", "(c,(b,c));", "(c,(b,));", "(c,(b,(a,d)));"])
def test_other_names_match_nothing(text: str) -> None:
    left, right = newick.read("((a,b),c);"), newick.read(text)
    assert matched(left, right) == (right, False)
