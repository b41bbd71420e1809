"""Support against its literal definition: sets of points compared one by one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.consensus.support import SupportCount, support
from models.tree import newick
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree


def shaped(parent: list[int], leaf_of_point: Any, names: list[str | None] | None = None) -> Tree:
    n = len(parent)
    above = np.array(parent)
    depth = [0] * n
    for node in range(1, n):
        depth[node] = depth[parent[node]] + 1
    height = np.max(depth) - np.array(depth, dtype=float)
    return from_parents(above, height, names or [None] * n, leaf_of_point=leaf_of_point)


def drawn(rng: np.random.Generator, n_points: int, n_nodes: int) -> Tree:
    parent = np.array([-1, *(int(rng.integers(0, i)) for i in range(1, n_nodes))])
    leaves = np.setdiff1d(np.arange(n_nodes), parent)
    return shaped(parent.tolist(), rng.choice(leaves, n_points))


def members(tree: Tree, node: int) -> list[int]:
    sets = []
    for point, leaf in enumerate(tree.leaf_of_point.tolist()):
        at = leaf
        while at >= 0:
            if at == node:
                sets.append(point)
            at = int(tree.parent[at])
    return sets


def literal(tree: Tree, replicates: list[tuple[Tree, np.ndarray]]) -> list[float]:
    values = []
    for node in range(tree.n_nodes):
        came, n_informative = 0, 0
        for replicate, row in replicates:
            rows_present = set(row.tolist())
            own = set(members(tree, node)) & rows_present
            if len(own) < 2 or own == rows_present:
                continue
            first = {int(r): int(np.argmax(row == r)) for r in rows_present}
            stands = {point: r for r, point in first.items()}
            theirs = [
                {stands[p] for p in members(replicate, v) if p in stands}
                for v in range(replicate.n_nodes)
            ]
            n_informative += 1
            came += own in theirs
        values.append(came / n_informative if n_informative else np.nan)
    return values


@settings(max_examples=150)
@given(st.integers(0, 1 << 30))
def test_support_is_the_share_of_replicates_with_the_same_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    tree = drawn(rng, n, int(rng.integers(1, 12)))
    replicates = []
    for _ in range(3):
        row = np.sort(rng.integers(0, n, n))
        replicates.append((drawn(rng, n, int(rng.integers(1, 12))), row))
    supported = support(tree, replicates)
    np.testing.assert_allclose(supported, literal(tree, replicates))


def literal_transfer(tree: Tree, replicates: list[tuple[Tree, np.ndarray]]) -> list[float]:
    """Rows that move until a node is one of the replicate's; single rows are splits of any tree."""
    values = []
    for node in range(tree.n_nodes):
        shares = []
        for replicate, row in replicates:
            rows = set(row.tolist())
            own = set(members(tree, node)) & rows
            smaller = min(len(own), len(rows) - len(own))
            if smaller < 2:
                continue
            stands = {int(np.argmax(row == r)): r for r in rows}
            theirs = [{r} for r in rows] + [
                {stands[p] for p in members(replicate, v) if p in stands}
                for v in range(1, replicate.n_nodes)
            ]
            moves = min(min(len(own ^ each), len(own ^ (rows - each))) for each in theirs)
            shares.append(1 - moves / (smaller - 1))
        values.append(float(np.mean(shares)) if shares else np.nan)
    return values


@settings(max_examples=150)
@given(st.integers(0, 1 << 30))
def test_transfer_support_is_as_defined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    tree = drawn(rng, n, int(rng.integers(1, 12)))
    replicates = []
    for _ in range(3):
        row = np.sort(rng.integers(0, n, n))
        replicates.append((drawn(rng, n, int(rng.integers(1, 12))), row))
    supported = support(tree, replicates, "transfer")
    np.testing.assert_allclose(supported, literal_transfer(tree, replicates), atol=1e-12)


def test_halves_agree_where_replicates_do() -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(12)
    whole = shaped([-1, 0, 0, 1, 1, 1, 2, 2, 2], rng.integers(3, 9, 12))
    count = SupportCount(whole, keep=True)
    assert count.halves(rng) is None
    for _ in range(6):
        count.add(whole, rows)
    assert count.halves(rng) == (1.0, 1.0)
    for _ in range(8):
        count.add(drawn(rng, 12, 9), rows)
    halves = count.halves(rng)
    assert halves is None or halves[1] < 0.99


def test_the_same_tree_again_has_all_support() -> None:
    # ((0, 1), (2, 3)) and a chain that shares (0, 1) only.
    same = shaped([-1, 0, 0, 1, 1, 2, 2], [3, 4, 5, 6])
    chain = shaped([-1, 0, 0, 1, 1, 3, 3], [5, 6, 4, 2])
    rows = np.arange(4)
    supported = support(same, [(same, rows), (chain, rows)])
    assert supported[1:3].tolist() == [1.0, 0.5]
    # The root and single points have no support.
    assert np.isnan(supported[[0, 3, 4, 5, 6]]).all()


@settings(max_examples=100)
@given(st.integers(0, 1 << 30))
def test_clusters_of_a_partition_have_their_best_jaccard_index(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    tree = from_partition(rng.integers(0, 3, n), 3)
    others = [
        (from_partition(rng.integers(0, 4, n), 4), np.sort(rng.integers(0, n, n))) for _ in range(2)
    ]
    expected = np.full(tree.n_nodes, np.nan)
    for node in range(1, tree.n_nodes):
        best = []
        for replicate, row in others:
            first = [int(np.argmax(row == r)) for r in sorted(set(row.tolist()))]
            own = {p for p in first if tree.leaf_of_point[row[p]] == node}
            if own:
                clusters = [
                    {p for p in first if replicate.leaf_of_point[p] == leaf}
                    for leaf in range(1, replicate.n_nodes)
                ]
                best.append(max(len(own & c) / len(own | c) for c in clusters))
        if best:
            expected[node] = np.mean(best)
    np.testing.assert_allclose(support(tree, others), expected)


def test_newick_shows_the_support_of_inner_nodes_and_reads_it() -> None:
    tree = shaped([-1, 0, 0, 1, 1], [3, 4, 2], [None, None, "c", "a", "b"])
    column = np.array([np.nan, 0.875, np.nan, np.nan, np.nan])
    supported = dataclasses.replace(tree, extra={"support": column})
    text = "".join(newick.write(supported))
    assert ")0.875:" in text
    again = newick.read(text)
    assert again.name.tolist() == [None, None, "a", "b", "c"]
    np.testing.assert_array_equal(again.extra["support"], column)


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_no_replicates_give_no_support(n: int) -> None:
    tree = from_partition(np.zeros(n, dtype=int), 1)
    assert np.isnan(support(tree, [])).all()
