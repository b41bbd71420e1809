"""Classes out of place: groups, likeness and fits by their literal definitions; planted classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from models.answers.beside_tree import ClassScores
from models.answers.confusions import ordered
from models.arrays import Float
from models.errors import UsageError
from models.placements.evidence import (
    by_tree,
    class_means,
    confused,
    leaning_rows,
    likeness,
    most_alike,
)
from models.placements.placements import (
    adjusted,
    correlations,
    groups,
    p_values,
    placements,
    shared,
)
from models.running.progress import silent
from models.tree import class_paths
from models.tree.tree import Tree


def paths(*lines: str) -> Tree:
    return class_paths.read("\n".join(lines))


#            0
#      /     |     \
#   animal  plant  stone
#   /   \    /  \
#  pet   ox a    b     (pet has cat and dog; `lone` has one class, ash)
PETS = (
    *("animal/pet/cat", "animal/pet/dog", "animal/ox"),
    *("plant/rose", "plant/lone/ash", "stone"),
)


def test_groups_hold_two_classes_or_more_and_each_set_once() -> None:
    tree = paths(*(f"top/{path}" for path in PETS))
    own = shared(tree, tree)
    found = groups(tree, own.hung)
    names = [tree.name[node] for node in found.node.tolist()]
    assert names == ["top", "animal", "pet", "plant"]
    assert found.parent.tolist() == [-1, 0, 1, 0]
    held = {
        name: {own.name[at] for at in np.flatnonzero(row)}
        for name, row in zip(names, found.member, strict=True)
    }
    assert held["animal"] == {"cat", "dog", "ox"}
    assert held["plant"] == {"rose", "ash"}
    hangs = {name: names[at] for name, at in zip(own.name, found.own.tolist(), strict=True)}
    assert hangs == {
        "cat": "pet", "dog": "pet", "ox": "animal",
        "rose": "plant", "ash": "plant", "stone": "top",
    }  # fmt: skip


def test_nearness_is_of_the_smallest_group_that_holds_both() -> None:
    tree = paths(*PETS)
    own = shared(tree, tree)
    found = groups(tree, own.hung)
    for group in range(len(found.node)):
        for other in range(len(own.name)):
            holding = [
                row.sum()
                for row in found.member
                if row[other] and (row >= found.member[group]).all()
            ]
            expected = 1 - np.log(min(holding)) / np.log(6)
            assert found.nearness()[group, other] == pytest.approx(expected)


def test_names_are_matched_never_positions_and_the_others_are_listed() -> None:
    tree = paths("x/d", "x/c", "y/b", "y/a", "y/only")
    other = paths("p/a", "p/b", "q/c", "q/d", "q/alone", "p/twin", "q/twin")
    found = shared(tree, other)
    assert found.name == ["a", "b", "c", "d"]
    assert [tree.name[leaf] for leaf in found.leaf] == found.name
    assert [other.name[leaf] for leaf in found.hung] == found.name
    text = " ".join(found.warnings)
    for word in ("'only'", "'alone'", "'twin'"):
        assert word in text
    with pytest.raises(UsageError, match=r"share 2 names of leaves; at least 3.*'zebra'"):
        shared(tree, paths("p/a", "p/b", "p/zebra"))


def test_likeness_of_a_tree_is_by_the_smallest_common_cluster() -> None:
    tree = paths(*PETS)
    own = shared(tree, tree)
    found = groups(tree, own.hung)
    expected = np.zeros((6, 6))
    for a in range(6):
        for b in range(6):
            expected[a, b] = -np.log(min(row.sum() for row in found.member if row[a] and row[b]))
    apart = ~np.eye(6, dtype=bool)
    expected = (expected - expected[apart].mean()) / expected[apart].std()
    np.testing.assert_allclose(by_tree(tree, own.leaf)[apart], expected[apart])


@given(st.integers(0, 10_000), st.integers(3, 12), st.integers(1, 5))
def test_correlations_are_the_literal_ones(seed: int, n: int, n_groups: int) -> None:
    rng = np.random.default_rng(seed)
    values, nearness = rng.normal(size=(4, n)), rng.integers(0, 3, (n_groups, n)) / 2.0
    weight = rng.integers(0, 2, (4, n)) * rng.random((4, n))
    found = correlations(values, nearness, weight)
    for row in range(4):
        known = np.flatnonzero(weight[row] > 0)
        rank = {
            each: place + 1
            for place, each in enumerate(sorted(known, key=lambda d: -values[row, d]))
        }
        share = np.array([weight[row, d] * rank[d] ** -0.25 for d in known])
        for group in range(n_groups):
            x, y = values[row, known], nearness[group, known]
            spread = _covariance(x, x, share) * _covariance(y, y, share) if known.size else 0.0
            if spread < 1e-12:
                continue
            expected = _covariance(x, y, share) / np.sqrt(spread)
            assert found[row, group] == pytest.approx(expected, abs=1e-6)


def _covariance(x: Float, y: Float, share: Float) -> float:
    share = share / share.sum()
    return float((share * (x - (share * x).sum()) * (y - (share * y).sum())).sum())


def test_p_values_are_of_the_bulk_and_adjusted_ones_control_false_discoveries() -> None:
    margin = np.array([*np.linspace(-1.0, 0.0, 21), 3.0, np.nan])
    centre = float(np.median(margin[:-1]))
    scale = 1.482602218505602 * float(np.median(centre - margin[:-1][margin[:-1] < centre]))
    expected = stats.t.sf((margin[:-1] - centre) / scale, 0.37 * 21)
    found = p_values(margin)
    np.testing.assert_allclose(found[:-1], expected)
    assert np.isnan(found[-1])
    order = np.sort(expected)
    for value, level in zip(found[:-1], adjusted(found)[:-1], strict=True):
        later = [22 * p / rank for rank, p in enumerate(order, 1) if p >= value]
        assert level == pytest.approx(min(1.0, min(later)))
    assert np.isnan(p_values(np.arange(7.0))).all()
    assert np.isnan(p_values(np.zeros(20))).all()


N_FAMILIES, N_EACH = 6, 6


def _families(planted: dict[int, int]) -> Tree:
    """Two halves of three families of six classes each; a class of `planted` hangs elsewhere."""
    lines = []
    for number in range(N_FAMILIES * N_EACH):
        family = planted.get(number, number // N_EACH)
        lines.append(f"half{family % 2}/f{family}/c{number}")
    return paths(*lines)


def _scores(seed: int = 0, n_each: int = 30) -> ClassScores:
    """Logits of rows of classes, which are alike in one family, and less so in one half."""
    rng = np.random.default_rng(seed)
    number = np.arange(N_FAMILIES * N_EACH)
    family = number // N_EACH
    alike = 1.0 * (family[:, None] == family) + 0.5 * (family[:, None] % 2 == family % 2)
    logits = np.repeat(2 * alike + 6 * np.eye(len(number)), n_each, axis=0)
    logits += rng.normal(scale=0.6, size=logits.shape)
    leaves = _families({}).leaves
    name = _families({}).name[leaves].tolist()
    order = np.array([name.index(f"c{each}") for each in number])
    return ClassScores(leaves[order].astype(np.int64), len(logits), lambda a, b: logits[a:b])


PLANTED = {0: 3, 13: 4, 35: 0}


def test_planted_classes_come_first_with_the_place_they_came_from() -> None:
    tree, hierarchy, scores = _families({}), _families(PLANTED), _scores()
    own = shared(tree, hierarchy)
    means = class_means(scores, own.leaf, silent)
    found = groups(hierarchy, own.hung)
    alike = likeness(tree, own.leaf, means)
    placed = placements(found, alike)
    first = [own.name[at] for at in placed.classes.order[:3].tolist()]
    assert set(first) == {f"c{number}" for number in PLANTED}
    for at in placed.classes.order[:3].tolist():
        number = int(own.name[at][1:])
        best = found.node[placed.classes.best[at]]
        assert hierarchy.name[best] == f"f{number // N_EACH}"
        assert placed.classes.adjusted[at] <= 0.05
    others = placed.classes.order[3:]
    assert (placed.classes.adjusted[others] > 0.05).all()
    for at in placed.classes.order[:3].tolist():
        number = int(own.name[at][1:])
        kin = {f"c{each}" for each in range(36) if each // N_EACH == number // N_EACH}
        assert {own.name[each] for each in most_alike(alike)[at]} <= kin
    rows = leaning_rows(scores, means.column, found, placed.classes)
    at = own.name.index("c0")
    assert all(0 <= row < 30 for row in rows[at])
    assert len(set(rows[at])) == 3


def test_a_planted_subtree_is_found_and_the_top_is_not_judged() -> None:
    tree = paths(*(f"{a}/{b}/{a}{b}{c}" for a in "pqr" for b in "xyz" for c in range(3)))
    lines = [
        f"{'q' if (a, b) == ('p', 'x') else a}/{a}{b}/{a}{b}{c}"
        for a in "pqr"
        for b in "xyz"
        for c in range(3)
    ]
    hierarchy = paths(*lines)
    own = shared(tree, hierarchy)
    found = groups(hierarchy, own.hung)
    placed = placements(found, likeness(tree, own.leaf, None))
    first = int(placed.subtrees.order[0])
    assert hierarchy.name[found.node[placed.group[first]]] == "px"
    assert hierarchy.name[found.node[placed.subtrees.best[first]]] == "p"
    top = [at for at, group in enumerate(placed.group) if found.parent[group] == 0]
    assert np.isnan(placed.subtrees.margin[top]).all()


def test_means_and_covariance_are_the_literal_ones_and_a_class_without_rows_is_average() -> None:
    scores = _scores(3, 4)
    tree = _families({})
    own = shared(tree, tree)
    means = class_means(scores, own.leaf, silent)
    logits = scores.read(0, scores.n_rows)[:, means.column]
    centred = logits - logits.mean(axis=1, keepdims=True)
    kind = logits.argmax(axis=1)
    expected = np.zeros_like(means.within)
    for at in range(36):
        rows = centred[kind == at]
        np.testing.assert_allclose(means.mean[at], rows.mean(axis=0))
        expected += (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
    np.testing.assert_allclose(means.within, expected / (len(logits) - 36), atol=1e-12)
    few = ClassScores(scores.node, 8, scores.read)
    bare = class_means(few, own.leaf, silent)
    assert (bare.n_rows > 0).sum() == 2
    assert np.isfinite(likeness(tree, own.leaf, bare)).all()


def test_what_a_class_is_taken_for_is_the_share_of_its_rows() -> None:
    tree = paths("x/a", "x/b", "y/c", "y/d")
    own = shared(tree, tree)
    at = dict(zip(own.name, own.leaf.tolist(), strict=True))
    total = np.zeros(tree.n_nodes)
    total[own.leaf] = 10.0
    found = ordered(
        np.array([at["a"], at["a"], at["c"]]),
        np.array([at["b"], at["d"], at["d"]]),
        np.array([3.0, 1.0, 2.0]),
        np.zeros(tree.n_nodes),
        total,
    )
    assert confused(own, found)[own.name.index("a")] == [
        (own.name.index("b"), 0.3),
        (own.name.index("d"), 0.1),
    ]
    assert confused(own, None) == [[]] * 4
