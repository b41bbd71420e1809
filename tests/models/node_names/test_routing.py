"""Terms of siblings, and rows routed by them alone, against naive definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.arrays import Array
from models.node_names.joint_terms import N_TERMS
from models.node_names.routing import N_FOLDS, Namer, by_terms, routed, terms_of
from models.node_names.terms import N_CANDIDATES, distinctive_columns, node_sums, presence
from models.tree.build import from_merges, from_parents
from models.tree.tree import Tree
from tests.models.consensus.sets_kit import random_tree, sets

MANY = 256


def drawn(seed: int, n_points: int = 40) -> tuple[Tree, Array]:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_points)
    return tree, (rng.random((n_points, 8)) < rng.random(8) * 0.6).astype(float)


def judge(tree: Tree, present: Any) -> Namer:
    return by_terms(present, terms_of(tree, present, MANY))


def names_of(tree: Tree, have: Array, rows: list[int]) -> dict[int, list[int]]:
    """The columns of each node, from these rows alone."""
    below = [sorted(own) for own in sets(tree)]
    counted = [[row for row in own if row in rows] for own in below]
    waiting: dict[int, list[int]] = {}
    ratio = np.zeros((tree.n_nodes, have.shape[1]))
    for node in range(1, tree.n_nodes):
        own = counted[node]
        if not own or len(below[node]) < 2:
            continue
        others = [
            other
            for other in range(1, tree.n_nodes)
            if tree.parent[other] == tree.parent[node] and other != node and counted[other]
        ]
        p = have[own].mean(axis=0)
        q = np.mean([have[counted[other]].mean(axis=0) for other in others] or [0 * p], axis=0)
        rest = sorted(set(rows) - set(own))
        o = have[rest].mean(axis=0) if rest else 0 * p
        ratio[node] = np.log(np.where(p > 0, p, 1)) - np.log(np.maximum(q, o) + 0.5 / len(own))
        weight = np.round(np.where(p > 0, p * ratio[node], 0.0), 12)
        best = np.argsort(-weight, kind="stable")[:N_CANDIDATES]
        if weight[best[0]] > 0:
            waiting[node] = [column for column in best.tolist() if weight[column] > 0]
    found: dict[int, list[int]] = {}
    rarity = np.log((1 + len(rows)) / (1 + have[rows].sum(axis=0)))
    for parent in range(tree.n_nodes):
        siblings = [node for node in np.flatnonzero(tree.parent == parent) if node in waiting]
        under = [n for n in np.flatnonzero(tree.parent == parent) if counted[n]]
        names: dict[int, list[int]] = {node: [] for node in siblings}
        for turn in range(N_TERMS):
            for node in siblings:
                left = [column for column in waiting[node] if column not in names[node]]
                if not left:
                    continue
                gains = [0.0]
                if turn and len(siblings) > 1:
                    trials = [{**names, node: [*names[node], column]} for column in left]
                    gains = [
                        round(n_right(each, under, counted, have, rarity), 7) for each in trials
                    ]
                elif turn:
                    free = [row for row in counted[node] if not have[row, names[node]].any()]
                    gains = [
                        round(sum(have[row, column] for row in free) * ratio[node, column], 9)
                        for column in left
                    ]
                names[node].append(left[gains.index(max(gains))])
        found |= names
    return found


def n_right(
    names: dict[int, list[int]],
    under: list[int],
    counted: list[list[int]],
    have: Array,
    rarity: Array,
) -> float:
    """Rows that these names send to their own, each sibling's together as the root of their
    number."""
    total = 0.0
    for own in under:
        for row in counted[own]:
            fit = {n: round(sum(rarity[c] * have[row, c] for c in names[n]), 7) for n in names}
            best = [node for node in names if fit[node] == max(fit.values())]
            total += (own in best) / len(best) / np.sqrt(len(counted[own]))
    return total


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_terms_tell_a_node_from_its_siblings_and_the_rest(kind: Any) -> None:
    for seed in range(4):
        tree, have = drawn(seed)
        for rows in (range(40), range(0, 40, 3)):
            found = distinctive_columns(tree, kind(have), MANY, np.array(rows))
            expected = names_of(tree, have, list(rows))
            assert {node: [c for c, _ in own] for node, own in found.items()} == expected


def test_rows_are_routed_by_names_that_they_had_no_part_in() -> None:
    tree, have = drawn(5, 60)
    found = routed(tree, MANY, judge(tree, sp.csr_array(have)))
    assert found is not None
    below = [sorted(own) for own in sets(tree)]
    right, count = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    order = np.random.default_rng(0).permutation(60)
    for part in np.array_split(order, N_FOLDS):
        others = sorted(set(range(60)) - set(part.tolist()))
        names = names_of(tree, have, others)
        rarity = np.log((1 + len(others)) / (1 + have[others].sum(axis=0)))
        for row in part.tolist():
            for node in range(1, tree.n_nodes):
                siblings = np.flatnonzero(tree.parent == tree.parent[node])
                named = [other for other in siblings if other in names]
                if row not in below[node] or len(named) < 2:
                    continue
                fit = {o: round(sum(rarity[c] * have[row, c] for c in names[o]), 9) for o in named}
                best = [other for other in named if fit[other] == max(fit.values())]
                right[node] += (node in best) / len(best)
                count[node] += 1
    assert {node: tally.n for node, tally in found.of_node.items()} == {
        node: n for node, n in enumerate(count.tolist()) if n
    }
    for node, tally in found.of_node.items():
        assert tally.n_right == pytest.approx(right[node])
        low, high = tally.interval
        assert low <= tally.share <= high
    assert found.share == pytest.approx(right.sum() / count.sum())
    assert found.low < found.share < found.high
    splits = {node: tally.n for node, tally in found.at_split.items()}
    assert sum(splits.values()) == count.sum()


def two_groups(n_each: int) -> Tree:
    """Rows 0 to n - 1 below one child of the root, the others below the other one."""
    return from_parents([-1, 0, 0], [1.0, 0.0, 0.0], [None, "a", "b"], np.repeat([1, 2], n_each))


def test_names_that_tell_siblings_apart_and_names_that_do_not() -> None:
    tree = two_groups(30)
    own = np.repeat(np.eye(2), 30, axis=0)
    clear = routed(tree, MANY, judge(tree, np.hstack([own, np.zeros((60, 2))])))
    assert clear is not None
    assert (clear.share, clear.by_draw, clear.n_rows, clear.warnings) == (1.0, 0.5, 60, ())
    rng = np.random.default_rng(0)
    noise = routed(tree, MANY, judge(tree, (rng.random((60, 5)) < 0.3).astype(float)))
    assert noise is not None
    assert noise.low < 0.5
    assert "children of node(s) 0 are not shown to tell them apart" in noise.warnings[0]
    # Sixty rows, all of them right, do not show that the next one is.
    assert 0.9 < clear.low < 1.0 == clear.high


def test_a_draw_is_never_right_for_rows_without_a_name() -> None:
    """Thirty rows below each of two children with names, thirty more are children themselves."""
    tree = from_parents(
        [-1, *[0] * 32],
        [1.0, *[0.0] * 32],
        [None] * 33,
        np.concatenate([np.repeat([1, 2], 30), np.arange(3, 33)]),
    )
    own = np.zeros((90, 3))
    own[:30, 0], own[30:60, 1], own[60:, 2] = 1, 1, 1
    found = routed(tree, MANY, judge(tree, own))
    assert found is not None
    assert (found.share, found.by_draw) == pytest.approx((2 / 3, 1 / 3))


def test_values_that_every_row_has_route_by_what_exceeds_their_mean() -> None:
    tree = two_groups(30)
    values = 1.0 + np.repeat(np.eye(2), 30, axis=0)
    found = routed(tree, MANY, judge(tree, presence(values)))
    assert found is not None
    assert (found.share, found.warnings) == (1.0, ())


def test_nothing_to_route() -> None:
    one = from_merges([0], [1], [1.0])
    assert routed(one, MANY, judge(one, np.eye(2))) is None
    tree = two_groups(5)
    assert routed(tree, MANY, judge(tree, np.zeros((10, 3)))) is None


def test_where_every_row_has_every_term_the_values_count() -> None:
    values = np.array([[1.0, 4.0], [3.0, 4.0]])
    assert presence(values).tolist() == [[0.5, 1.0], [1.5, 1.0]]
    assert presence(sp.csr_array(values)).tolist() == [[0.5, 1.0], [1.5, 1.0]]
    assert presence(np.array([[2.0, 0.0], [0.0, 0.0]])).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    tree = two_groups(1)
    assert node_sums(tree, values, MANY, np.array([1.0, 0.0]))[0].tolist() == [1.0, 4.0]
