"""Consensus trees against their literal definitions, sets compared one by one, and DendroPy."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import get_args

import dendropy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.consensus.items import Rule, matched_items
from models.consensus.rules import consensus
from models.errors import UsageError
from models.tree import newick
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree
from tests.models.consensus.sets_kit import Set, clusters, random_tree, sets

RULES = get_args(Rule)


def drawn(seed: int, *, joint: bool = False) -> list[Tree]:
    rng = np.random.default_rng(seed)
    n_items, n_trees = int(rng.integers(2, 14)), int(rng.integers(2, 7))
    moved = None if seed % 3 == 0 else int(rng.integers(0, n_items))
    return [random_tree(rng, n_items, moved, joint) for _ in range(n_trees)]


def fits(one: Set, other: Set) -> bool:
    return one <= other or other <= one or not one & other


def literal(trees: list[Tree], rule: Rule, threshold: float) -> set[Set]:
    counts = Counter(each for tree in trees for each in clusters(tree))
    n = len(trees)
    if rule == "strict":
        return {each for each, count in counts.items() if count == n}
    if rule == "median":
        costs = [sum(len(clusters(a) ^ clusters(b)) for b in trees) for a in trees]
        return clusters(trees[int(np.argmin(costs))])
    kept = {each for each, count in counts.items() if count > threshold * n}
    if rule == "majority":
        return kept
    first: dict[Set, int] = {}
    for place, each in enumerate(each for tree in trees for each in sets(tree)):
        first.setdefault(each, place)
    for each in sorted(counts, key=lambda each: (-counts[each], -len(each), first[each])):
        if each not in kept and all(fits(each, other) for other in kept):
            kept.add(each)
    return kept


@pytest.mark.parametrize("rule", RULES)
@given(st.integers(0, 10**6), st.booleans())
def test_clusters_are_those_of_the_rule(rule: Rule, seed: int, joint: bool) -> None:
    trees = drawn(seed, joint=joint)
    agreed = consensus(matched_items(trees, "rows"), rule)
    expected = literal(trees, rule, 0.5)
    assert clusters(agreed.tree) == expected
    for node, each in enumerate(sets(agreed.tree)):
        have = [len(each) in (1, trees[0].n_points) or each in clusters(tree) for tree in trees]
        assert agreed.agrees[:, node].tolist() == have
        if len(each) > 1:
            assert agreed.tree.extra["support"][node] == pytest.approx(np.mean(have))
        else:
            assert np.isnan(agreed.tree.extra["support"][node])
    apart = [len(clusters(tree) ^ expected) for tree in trees]
    assert agreed.distance.tolist() == apart
    both = [len(clusters(tree)) + len(expected) for tree in trees]
    shares = [a / b if b else 0.0 for a, b in zip(apart, both, strict=True)]
    assert agreed.normalized == pytest.approx(shares)


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.6, 0.75, 0.9]))
def test_a_majority_is_more_than_the_threshold(seed: int, threshold: float) -> None:
    trees = drawn(seed)
    agreed = consensus(matched_items(trees), "majority", threshold)
    assert clusters(agreed.tree) == literal(trees, "majority", threshold)


@given(st.integers(0, 10**6))
def test_heights_are_mean_heights_of_common_ancestors(seed: int) -> None:
    trees = drawn(seed)
    agreed = consensus(matched_items(trees), "extended")
    for node, each in enumerate(sets(agreed.tree)):
        heights = [
            min(tree.height[other] for other, items in enumerate(sets(tree)) if each <= items)
            for tree in trees
        ]
        assert agreed.tree.height[node] == pytest.approx(np.mean(heights))


@given(st.integers(0, 10**6))
def test_no_tree_lies_nearer_than_the_majority(seed: int) -> None:
    trees = drawn(seed)
    nearest = consensus(matched_items(trees), "majority").distance.sum()
    assert nearest <= consensus(matched_items(trees), "median").distance.sum()
    assert nearest <= consensus(matched_items(trees), "extended").distance.sum()


@pytest.mark.parametrize("seed", range(12))
def test_the_majority_is_that_of_dendropy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, 30, 6) for _ in range(9)]
    names = dendropy.TaxonNamespace([f"item {item}" for item in range(30)])
    theirs = dendropy.TreeList.get(
        data="".join("".join(newick.write(tree)) for tree in trees),
        schema="newick",
        rooting="force-rooted",
        taxon_namespace=names,
    )
    for rule, share in (("majority", 0.5), ("strict", 1.0)):
        agreed = consensus(matched_items(trees), rule)
        tree = theirs.consensus(min_freq=share, is_bipartitions_updated=False)
        expected = {
            frozenset(int(leaf.taxon.label.partition(" ")[2]) for leaf in node.leaf_iter())
            for node in tree.internal_nodes()
        }
        name = agreed.tree.name[agreed.tree.leaf_of_point]
        number = [int(each.partition(" ")[2]) for each in name.tolist()]
        own = {frozenset(number[item] for item in each) for each in clusters(agreed.tree)}
        assert own == {each for each in expected if len(each) < 30}


def test_partitions_keep_the_clusters_that_most_of_them_have() -> None:
    same = [0, 0, 0, 1, 1, 2, 2, 2]
    trees = [
        from_partition(each, 3) for each in (same, [2, 2, 2, 0, 0, 1, 1, 1], [0] * 4 + [1] * 4)
    ]
    agreed = consensus(matched_items(trees), "majority").tree
    assert agreed.n_leaves == 3
    assert clusters(agreed) == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5, 6, 7})}


def test_chains_of_ten_thousand() -> None:
    n = 10_000
    parent = [-1, *(2 * (node // 2) for node in range(2 * n - 2))]
    leaves = [*range(1, 2 * n - 2, 2), 2 * n - 2]
    depth = np.zeros(len(parent))
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    chain = from_parents(parent, n - depth, [None] * len(parent), leaves)
    agreed = consensus(matched_items([chain, chain, chain]), "extended")
    assert agreed.tree.n_nodes == chain.n_nodes
    assert agreed.distance.tolist() == [0, 0, 0]


@pytest.mark.parametrize("threshold", [0.0, 0.49, 1.0, float("nan")])
def test_a_threshold_that_cannot_be(threshold: float) -> None:
    trees = [random_tree(np.random.default_rng(0), 5) for _ in range(2)]
    with pytest.raises(UsageError, match="threshold") as refused:
        consensus(matched_items(trees), "majority", threshold)
    assert refused.value.where == {"parameter": "threshold"}


def test_progress_never_goes_back() -> None:
    seen: list[float] = []
    trees = [random_tree(np.random.default_rng(seed), 40) for seed in range(5)]
    consensus(matched_items(trees), "extended", progress=lambda share, *_: seen.append(share))
    assert all(earlier <= later for earlier, later in pairwise(seen))
