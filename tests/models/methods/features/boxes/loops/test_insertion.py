"""Insertion, rotations, collapse against PERCH written plainly; restored trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.methods.features.boxes import state
from models.methods.features.boxes.loops.layout import (
    N_BALANCED,
    N_LEAVES,
    N_MASKED,
    N_OPEN,
    SIZE,
    Grown,
)
from models.methods.features.boxes.loops.rotation import Rule
from models.methods.features.boxes.state import tree_of
from models.methods.features.perch import canonical, gathered, precision
from models.tree.tree import Tree
from tests.models.methods.features.boxes.naive import Naive, clades

NO_LIMIT = 1 << 40
WHOLE = Rule(NO_LIMIT, 64, NO_LIMIT, 0, NO_LIMIT, 1.0)
"""Nothing is left open, and balance is tried with all points."""


def grown(
    points: np.ndarray, balance: bool = False, max_leaves: int = NO_LIMIT, rule: Rule = WHOLE
) -> Grown:
    t = state.empty(points, max_leaves)
    tries = rule.tries or NO_LIMIT
    rule = rule._replace(most_leaves=max_leaves, tries=tries if balance else 0)
    state.grow(t, 0, rule, 1, quiet, lambda n: None)
    return t


def quiet(fraction: float, stage: str, message: str = "") -> None:
    pass


def tree(t: Grown, names: bool = False) -> Tree:
    n_points = len(t.points)
    return tree_of(
        t, np.arange(n_points), [str(i) for i in range(n_points)] if names else None, "cost"
    )


def drawn_points(seed: int) -> np.ndarray:
    """Noise, groups, a grid with doubles and ties, or a line, in 1 to 6 columns."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 70)), int(rng.integers(1, 7))
    noise = rng.normal(size=(n, d))
    return [
        noise,
        0.3 * noise + 5 * rng.normal(size=(4, d))[rng.integers(4, size=n)],
        rng.integers(0, 4, size=(n, d)).astype(float),
        np.arange(n)[:, None] * np.ones(d),
    ][seed % 4]


@given(st.integers(0, 10**6), st.booleans())
def test_the_tree_is_that_of_perch_written_plainly(seed: int, balance: bool) -> None:
    points = drawn_points(seed)
    t, naive = grown(points, balance), Naive(points, balance)
    assert clades(tree(t)) == naive.clades()
    assert t.counts[N_MASKED] + t.counts[N_BALANCED] == naive.n_rotations
    assert t.counts[N_OPEN] == 0


@given(st.integers(0, 10**6), st.booleans(), st.integers(2, 20))
def test_the_tree_that_collapses_is_that_of_perch_written_plainly(
    seed: int, balance: bool, max_leaves: int
) -> None:
    points = drawn_points(seed)
    # Without ties of diagonals, which the plain version breaks differently.
    points = points + 1e-3 * np.random.default_rng(seed).normal(size=points.shape)
    t, naive = grown(points, balance, max_leaves), Naive(points, balance, max_leaves)
    assert clades(tree(t)) == naive.clades()
    assert t.counts[N_LEAVES] == min(len(points), max_leaves)


@given(st.integers(0, 10**6), st.booleans())
def test_blocks_scanned_or_searched_give_the_same(seed: int, balance: bool) -> None:
    """Where boxes rule out nothing, all points are scanned: 40 columns, several blocks."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(300, 40)).astype(np.float32)
    points[rng.integers(300, size=20)] = points[:20]
    defaults = state.BLOCK, state.OPENED
    trees = []
    try:
        for state.BLOCK, state.OPENED in ((16, 32), (64, 1), (512, 10**6)):
            trees.append(grown(points, balance))
    finally:
        state.BLOCK, state.OPENED = defaults
    assert clades(tree(trees[0])) == clades(tree(trees[1])) == clades(tree(trees[2]))


def test_the_scan_is_shared_by_threads() -> None:
    points = np.random.default_rng(0).normal(size=(1500, 50))
    alone = grown(points)
    t = state.empty(points, NO_LIMIT)
    share = state.grow(t, 0, WHOLE, 3, quiet, lambda n: None)
    assert share < 0.5
    assert (t.above == alone.above).all()


@pytest.mark.parametrize("max_leaves", [NO_LIMIT, 30])
@pytest.mark.parametrize("balance", [False, True])
def test_a_restored_tree_grows_as_if_uninterrupted(balance: bool, max_leaves: int) -> None:
    points = np.random.default_rng(1).normal(size=(700, 5))
    points[100:120] = points[:20]
    whole = grown(points, balance, max_leaves)
    saved: list[dict[str, Any]] = []
    t = state.empty(points, max_leaves)
    rule = WHOLE._replace(most_leaves=max_leaves, tries=NO_LIMIT if balance else 0)

    def keep(n_inserted: int) -> None:
        packed = state.packed(t, n_inserted)
        saved.append({name: array.copy() for name, array in packed.items()})

    state.grow(t, 0, rule, 1, quiet, keep)
    assert [int(state_then["n_inserted"][0]) for state_then in saved] == [256, 512]
    for state_then in saved:
        resumed = state.unpacked(points, state_then, max_leaves)
        state.grow(resumed, int(state_then["n_inserted"][0]), rule, 1, quiet, lambda n: None)
        assert clades(tree(resumed)) == clades(tree(whole))
        np.testing.assert_array_equal(resumed.counts[:6], whole.counts[:6])
    # With room for fewer points the numbers of boxes and leaves move.
    first = grown(points[:400], balance, max_leaves)
    more = state.unpacked(points, state.packed(first, 400), max_leaves)
    state.grow(more, 400, rule, 1, quiet, lambda n: None)
    assert clades(tree(more)) == clades(tree(whole))


def test_balance_makes_it_shallower_even_where_it_gives_up_early() -> None:
    line = np.sort(np.random.default_rng(0).uniform(size=(600, 1)), axis=0)
    chain, level = tree(grown(line)), tree(grown(line, True))
    early = tree(grown(line, True, rule=Rule(NO_LIMIT, 64, NO_LIMIT, 8, 4, 1.5)))
    assert chain.max_depth > 100
    assert level.max_depth < 20
    assert early.max_depth < 30


def test_what_would_take_too_long_is_left_open_and_counted() -> None:
    rng = np.random.default_rng(0)
    # Two groups, in columns enough that boxes say little; the second comes when the first is large.
    points = np.concatenate([rng.normal(size=(200, 60)), 2.5 + rng.normal(size=(5, 60))])
    assert grown(points).counts[N_OPEN] == 0
    before = state.PAIRS, state.MORE_PAIRS
    state.PAIRS = state.MORE_PAIRS = 0
    try:
        t = grown(points, rule=WHOLE._replace(bounds=1))
    finally:
        state.PAIRS, state.MORE_PAIRS = before
    assert t.counts[N_OPEN] > 0
    assert t.above[int(t.counts[0]), SIZE] == 205


def test_a_chain_of_many_nodes() -> None:
    """Points on a line in order: each new one is nearest to the last, and the tree is a chain."""
    line = np.arange(3000.0)[:, None] ** 1.2
    t = grown(line)
    assert tree(t).max_depth > 500


def test_rows_of_equal_points_are_siblings_or_one_leaf() -> None:
    points = np.array([[1.0], [5.0], [1.0], [9.0], [1.0], [5.0]])
    t = grown(points)
    # a leaf each:      0            a leaf for all:  0
    #             +-----+----+                    +---+---+
    #          +--+---+     9                   +-+-+     9
    #      1 1 1     5 5                        1   5
    each, together = tree(t, names=True), tree(t)
    assert each.n_leaves == 6
    assert each.name[each.leaf_of_point].tolist() == list("012345")
    assert {frozenset({0, 2, 4}), frozenset({1, 5})} < clades(each)
    assert together.n_leaves == 3
    assert together.size[together.leaf_of_point].tolist() == [3, 2, 3, 1, 3, 2]
    assert together.name[together.leaf_of_point].tolist() == ["0", "1", "0", "2", "0", "1"]


def test_heights_are_the_boxes_and_never_fall_from_child_to_parent() -> None:
    points = np.random.default_rng(3).normal(size=(80, 4)).astype(np.float32)
    points[40:60] = points[:20]
    for max_leaves in (NO_LIMIT, 25):
        t = grown(points, False, max_leaves)
        by_cost = tree_of(t, np.arange(80), None, "cost").validate()
        by_size = tree_of(t, np.arange(80), None, "diameter").validate()
        assert by_cost.monotone
        for node in range(by_cost.n_nodes):
            under = np.flatnonzero(
                [node in lineage(by_cost, int(leaf)) for leaf in by_cost.leaf_of_point]
            )
            sides = np.ptp(points[under].astype(float), axis=0)
            diagonal = np.sqrt((sides**2).sum())
            assert by_size.height[node] == pytest.approx(diagonal)
            assert by_cost.extra["diameter"][node] == pytest.approx(diagonal)
            assert by_cost.height[node] == pytest.approx(diagonal * under.size)


def lineage(tree: Tree, node: int) -> set[int]:
    nodes = {node}
    while node:
        node = int(tree.parent[node])
        nodes.add(node)
    return nodes


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int16, np.float32),
        (np.int32, np.float64),
        (np.bool_, np.float32),
    ],
)
def test_points_are_gathered_in_a_precision_that_holds_them(kind: Any, expected: Any) -> None:
    values = (10 * np.random.default_rng(0).normal(size=(30, 3))).astype(kind)
    order = np.random.default_rng(1).permutation(30)
    assert precision(values.dtype) is expected
    ordered = gathered(values, order)
    assert ordered.dtype == expected
    assert (ordered == values[order]).all()


def test_the_canonical_order_depends_on_the_values_of_rows() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 5))
    points[:50] = points[50:100]
    points[3] *= 0.0
    mixed = rng.permutation(200)
    ordered, ordered_mixed = points[canonical(points)], points[mixed][canonical(points[mixed])]
    assert (ordered == ordered_mixed).all()
    negative = points.copy()
    negative[3] = -0.0
    assert (canonical(negative) == canonical(points)).all()
