"""Suggested cuts: planted numbers of clusters, curves by their definitions.

P-values of gaps between merge heights, by the definition and by simulation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist
from sklearn.metrics import silhouette_score

from models.arrays import Float
from models.levels import silhouette
from models.levels.suggested_cuts import (
    MOST,
    OFFSET,
    P_VALUE,
    SIGNIFICANT,
    candidates,
    gap_p_values,
    levels,
    reason,
    usable,
)
from models.tree.build import from_merges, from_parents, from_partition, levels_below
from models.tree.cut import cut, nested_cuts
from models.tree.tree import Tree


def p_values(spacing: list[float]) -> list[float]:
    """The p values of heights with these spacings, for k = 2, 3, ..."""
    k = np.arange(2, 2 + len(spacing))
    height = np.exp(-np.cumsum(np.r_[0.0, spacing / (k + OFFSET)]))
    return gap_p_values(k, height[1:], height[:-1]).tolist()


def literal(spacing: list[float]) -> list[float]:
    """Step by step: of those that are left, the one with the least p-value goes, if significant."""
    ks = range(2, 2 + len(spacing))
    p: dict[int, float] = {}
    left = dict(zip(ks, spacing, strict=True))
    while left:
        now = {
            k: min(
                1.0, k * sum(1 / j for j in ks) * (1 - x / sum(left.values())) ** (len(left) - 1)
            )
            for k, x in left.items()
        }
        p |= now
        least = min(now, key=lambda k: now[k])
        if now[least] > SIGNIFICANT:
            break
        del left[least]
    return [p[k] for k in ks]


@given(st.lists(st.floats(0.01, 30.0), min_size=1, max_size=40))
def test_the_steps_are_the_definition(spacing: list[float]) -> None:
    assert p_values(spacing) == pytest.approx(literal(spacing), rel=1e-6, abs=1e-12)


def test_the_share_of_one_spacing_has_the_stated_law() -> None:
    rng = np.random.default_rng(0)
    draws = rng.exponential(size=(40_000, 25))
    share: Float = draws[:, 3] / draws.sum(axis=1)
    for least in (0.05, 0.1, 0.2):
        assert (share > least).mean() == pytest.approx((1 - least) ** 24, abs=0.008)


def test_chance_gives_a_significant_gap_in_at_most_five_of_a_hundred() -> None:
    rng = np.random.default_rng(1)
    found = sum(
        min(p_values(rng.exponential(size=40).tolist())) <= SIGNIFICANT for _ in range(2000)
    )
    assert 0.02 < found / 2000 < 0.065


def test_two_gaps_do_not_hide_each_other() -> None:
    spacing = [1.0] * 60
    spacing[1], spacing[8] = 30.0, 25.0
    significant = [k for k, p in enumerate(p_values(spacing), 2) if p <= SIGNIFICANT]
    assert significant == [3, 10]


def test_equal_heights_are_no_gaps() -> None:
    k = np.arange(2, 30)
    assert gap_p_values(k, np.ones(28), np.ones(28)).tolist() == [1.0] * 28
    assert gap_p_values(k[:0], np.ones(0), np.ones(0)).size == 0


def points(n_groups: int, seed: int = 0, apart: float = 30.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_groups, 5)) * apart
    return np.repeat(centers, 25, axis=0) + rng.normal(size=(25 * n_groups, 5))


def clustered(values: np.ndarray, method: str = "average") -> Tree:
    merges = hierarchy.linkage(values, method)
    left, right = merges[:, :2].astype(int).T
    return from_merges(left, right, merges[:, 2], monotone=method not in ("centroid", "median"))


def random_tree(seed: int, ranked: bool = False) -> Tree:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    slots, left, right = list(range(n)), [], []
    for step in range(n - 1):
        a, b = rng.choice(len(slots), 2, replace=False)
        left.append(slots[a])
        right.append(slots[b])
        slots = [s for i, s in enumerate(slots) if i not in (a, b)] + [n + step]
    height = np.arange(1, n) if ranked else np.sort(rng.integers(0, 6, n - 1)).astype(float)
    return from_merges(left, right, height)


@settings(max_examples=200)
@given(st.integers(0, 1 << 30), st.integers(2, 30))
def test_nested_cuts_are_the_cuts(seed: int, most: int) -> None:
    tree = random_tree(seed)
    cuts = nested_cuts(tree, most)
    assert list(cuts.nodes) == list(range(2, min(most, tree.n_leaves) + 1))
    for k, nodes in cuts.nodes.items():
        expected = cut(tree, k=k)
        assert nodes.tolist() == expected.nodes.tolist()
        mine = cuts.coarser[k][cuts.part_of_point]
        assert mine.tolist() == expected.cluster_of_point.tolist()


@pytest.mark.parametrize("n_groups", [3, 6, 11])
def test_planted_groups_are_found_by_gap_and_by_silhouette(n_groups: int) -> None:
    values = points(n_groups)
    tree = clustered(values)
    curve = silhouette.curve(tree, values)
    p_values = silhouette.p_values(tree, values, sorted(candidates(tree, curve)))
    suggested = levels(tree, {"silhouette": curve, f"silhouette{P_VALUE}": p_values})
    assert len(suggested) <= MOST
    assert [one.k for one in suggested] == sorted({one.k for one in suggested})
    by = max(suggested, key=lambda one: one.score if one.criterion == "silhouette" else -1)
    if n_groups in silhouette.KS:
        assert by.k == n_groups
    assert n_groups in [one.k for one in suggested if one.criterion == "gap"] or by.k == n_groups


def groups_of(n_groups: int, each: int, seed: int) -> np.ndarray:
    """Groups of unit deviation, whose centres are at least 30 apart."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_groups, 5))
    centres *= 30.0 / pdist(centres).min()
    return np.repeat(centres, each, axis=0) + rng.normal(size=(n_groups * each, 5))


LINKAGES = ("single", "complete", "average", "weighted", "ward", "centroid", "median")


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize(("n_groups", "each"), [(2, 15), (3, 10), (5, 12), (4, 25)])
def test_clear_groups_of_few_points_are_levels(n_groups: int, each: int, linkage: str) -> None:
    found = 0
    for seed in range(10):
        tree = clustered(groups_of(n_groups, each, seed), linkage)
        for level in levels(tree):
            assert level.criterion == "gap"
            assert 0 <= level.p_value <= SIGNIFICANT
            assert dict(level.curve)[level.k] == level.score
            assert level.height is not None
            assert cut(tree, height=level.height).n_clusters == level.k
            found += level.k == n_groups
    assert found >= 9


DRAWS = {
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "uniform": lambda rng, n: rng.random((n, 3)),
    "heavy tails": lambda rng, n: rng.standard_t(1, (n, 5)),
}


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("n", [4, 5, 10, 30, 60])
def test_chance_gives_levels_as_rarely_as_their_p_values_say(n: int, linkage: str) -> None:
    rng = np.random.default_rng(n)
    found = sum(
        bool(levels(clustered(draw(rng, n), linkage))) for draw in DRAWS.values() for _ in range(20)
    )
    # More than 7 of 60 have a probability of 1 % where each has .05.
    assert found <= 7


def test_one_stray_point_is_no_level() -> None:
    for n in (5, 12, 30):
        values = np.r_[np.random.default_rng(n).normal(size=(n, 2)), [[1e3, 1e3]]]
        assert 2 not in [level.k for level in levels(clustered(values, "single"))]


@pytest.mark.parametrize(("n_groups", "apart"), [(3, 30.0), (6, 30.0), (11, 30.0)])
def test_planted_gaps_are_significant(n_groups: int, apart: float) -> None:
    suggested = {level.k: level for level in levels(clustered(points(n_groups, 0, apart), "ward"))}
    assert n_groups in suggested
    p_value = suggested[n_groups].p_value
    assert p_value is not None
    assert p_value <= 0.05


def test_points_without_structure_rarely_have_a_gap() -> None:
    rng = np.random.default_rng(3)
    trees = [clustered(rng.normal(size=(150, 5)), "ward") for _ in range(40)]
    without = [tree for tree in trees if not levels(tree)]
    assert len(without) >= 38
    assert "Data without structure" in reason(without[0])


def test_heights_in_whole_numbers_are_not_held_against_chance() -> None:
    values = np.random.default_rng(0).integers(0, 2, (100, 30)).astype(float)
    merges = hierarchy.linkage(values, "complete", "cityblock")
    left, right = merges[:, :2].astype(int).T
    tree = from_merges(left, right, merges[:, 2])
    assert levels(tree) == []
    assert "as large" in reason(tree)


def test_a_cut_into_nearly_everything_and_crumbs_is_no_level() -> None:
    # 200 points together, and one far away: ((0 .. 199), 200)
    values = np.r_[np.random.default_rng(0).normal(size=(200, 2)), [[1e4, 1e4]]]
    tree = clustered(values)
    assert 2 not in usable(tree)
    given_ = {"silhouette": [(2, 0.9), (3, 0.5)], f"silhouette{P_VALUE}": [(2, 0.0), (3, 0.0)]}
    assert 2 not in [level.k for level in levels(tree, given_)]
    # A chain: each merge adds one leaf to the cluster of those before.
    left = np.r_[0, np.arange(3000, 3000 + 2998)]
    chain = from_merges(left, np.arange(1, 3000), 1.5 ** np.linspace(0, 50, 2999))
    assert levels(chain, given_) == []
    assert "more than 95% of the points" in reason(chain)


@settings(max_examples=50)
@given(st.integers(0, 1 << 30))
def test_usable_cuts_have_no_cluster_of_nearly_all_points(seed: int) -> None:
    tree = random_tree(seed)
    expected = {
        k
        for k in range(2, tree.n_leaves + 1)
        if cut(tree, k=k).n_clusters == k
        and tree.size[cut(tree, k=k).nodes].max() <= 0.95 * tree.size[0]
    }
    assert usable(tree) == expected


def test_only_significant_silhouettes_are_levels() -> None:
    tree = random_tree(3, ranked=True)
    curve = [(2, 0.1), (3, 0.5), (4, 0.2), (5, 0.4), (6, 0.1)]
    assert levels(tree, {"silhouette": curve}) == []
    known = {"silhouette": curve, "silhouette_p_value": [(3, 0.2), (5, 0.01)]}
    assert [(level.k, level.p_value) for level in levels(tree, known)] == [(5, 0.01)]
    known["silhouette_p_value"] = []
    assert levels(tree, known) == []
    assert "order of merges" in reason(tree)


def test_ranks_are_no_heights() -> None:
    assert levels(random_tree(3, ranked=True)) == []
    given_ = {"modularity": [(2, 0.1), (3, 0.5), (4, 0.2), (5, 0.3), (6, 0.1)]}
    given_[f"modularity{P_VALUE}"] = [(k, 0.01) for k in range(2, 7)]
    suggested = levels(random_tree(3, ranked=True), given_)
    assert [(one.k, one.criterion) for one in suggested] == [(3, "modularity"), (5, "modularity")]


def test_each_criterions_highest_peak_comes_first() -> None:
    curves = {
        "a": [(k, float(k % 2)) for k in range(2, 30)],
        "b": [(k, 1.0 if k == 28 else 0.0) for k in range(2, 30)],
    }
    curves |= {name + P_VALUE: [(k, 0.0) for k in range(2, 30)] for name in "ab"}
    suggested = levels(random_tree(3, ranked=True), curves)
    assert len(suggested) == MOST
    assert (28, "b") in [(one.k, one.criterion) for one in suggested]


def test_support_alone_is_not_held_against_chance() -> None:
    tree = random_tree(8, ranked=True)
    column = np.full(tree.n_nodes, 0.1)
    column[cut(tree, k=4).nodes] = 1.0
    column[tree.leaves] = np.nan
    assert levels(replace(tree, extra={"support": column})) == []


@pytest.mark.parametrize("tree", [from_partition(np.arange(5), 5), random_tree(0)])
def test_curves_may_be_missing_or_flat(tree: Tree) -> None:
    assert levels(tree, {"x": [], "y": [(2, 0.0), (3, -1.0)]}) == levels(tree)


def test_trees_too_small_for_levels() -> None:
    assert levels(from_merges([], [], [])) == []
    pair = from_merges([0], [1], [1.5])
    assert levels(pair) == []
    assert "fewer than three leaves" in reason(pair)
    three = from_merges([0, 3], [1, 2], [1.0, 9.0])
    assert levels(three) == []
    assert "held against chance" in reason(three)


def test_the_silhouette_is_scikit_learns() -> None:
    values = points(5, apart=4.0)
    tree = clustered(values)
    for k, score in silhouette.curve(tree, values):
        labels = cut(tree, k=k).cluster_of_point
        assert score == pytest.approx(silhouette_score(values, labels), abs=1e-12)


def test_the_silhouette_of_many_points_is_of_a_sample() -> None:
    values = points(60, apart=4.0)
    tree = clustered(values)
    curve = dict(silhouette.curve(tree, values))
    exact = silhouette_score(values, cut(tree, k=10).cluster_of_point)
    assert curve[10] == pytest.approx(exact, abs=0.05)


def test_the_silhouette_of_few_or_equal_points() -> None:
    assert silhouette.curve(clustered(np.zeros((2, 1))), np.zeros((2, 1))) == []
    equal = np.zeros((6, 2))
    assert {score for _, score in silhouette.curve(clustered(equal), equal)} == {0.0}


def test_levels_counted_are_no_heights() -> None:
    """Wide gaps mean nothing where heights count levels, as in trees of birch.

    ((a, b, c), (d, e), ((f, g), h)): heights 1, 1, 1, 2, 3.
    """
    parent = np.array([-1, 0, 0, 0, 3, 1, 1, 1, 2, 2, 4, 4, 3])
    leaves = np.arange(5, 13)
    tree = from_parents(parent, levels_below(parent.astype(np.int32)), [None] * 13, leaves)
    assert reason(tree).startswith("Heights only give the order")
    assert levels(tree) == []
    measured = replace(tree, height=tree.height * np.where(tree.height > 1, 1.5, 1.0))
    assert not reason(measured).startswith("Heights")
