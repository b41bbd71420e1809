"""Sets of classes and their fewest nodes, against all sets of nodes."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Float
from models.calibration.climbing import (
    ClassTree,
    bounded_scores,
    class_scores,
    class_sets,
    fewest_nodes,
    sized_scores,
)
from models.tree.tree import Tree
from tests.models.calibration.calibration_kit import drawn, under, up

SEEDS = st.integers(0, 10**6)


@given(SEEDS)
def test_scores_are_the_definitions(seed: int) -> None:
    _, probability, _ = drawn(seed)
    lac, aps = class_scores(probability, "lac"), class_scores(probability, "aps")
    for row, each in enumerate(probability):
        assert lac[row].tolist() == [1 - p for p in each]
        assert aps[row].tolist() == [sum(each[each >= p]) for p in each]


@given(SEEDS)
def test_no_fewer_nodes_name_the_set(seed: int) -> None:
    classes, probability, _ = drawn(seed - seed % 3 + 1)
    tree: Tree = classes.tree
    within = class_sets(probability, class_scores(probability, "lac"), 0.9)
    start, node = fewest_nodes(classes, within)
    holds = [under(classes, each) for each in range(tree.n_nodes)]
    for row in range(len(within)):
        named = node[start[row] : start[row + 1]].tolist()
        wanted = set(np.flatnonzero(within[row]).tolist())
        assert set().union(*(holds[each] for each in named)) == wanted
        assert sum(len(holds[each]) for each in named) == len(wanted)
        inside = [each for each in range(tree.n_nodes) if holds[each] <= wanted]
        assert not any(
            set().union(*(holds[each] for each in some)) == wanted
            for some in combinations(inside, len(named) - 1)
        )


@given(SEEDS)
def test_with_classes_at_inner_nodes_every_class_of_the_set_is_under_a_node(seed: int) -> None:
    classes, probability, _ = drawn(seed - seed % 3)
    within = class_sets(probability, class_scores(probability, "aps"), 0.5)
    assert within.any(axis=1).all()
    start, node = fewest_nodes(classes, within)
    for row in range(len(within)):
        named = node[start[row] : start[row + 1]].tolist()
        covered = set().union(*(under(classes, each) for each in named))
        assert set(np.flatnonzero(within[row]).tolist()) <= covered


@given(SEEDS, st.integers(1, 3))
def test_bounded_sets_grow_and_are_near_the_smallest(seed: int, most: int) -> None:
    """Up to any threshold at most so many nodes, over all classes up to it; one node is the lowest
    over them."""
    classes, probability, _ = drawn(seed - seed % 3 + 1)
    score = class_scores(probability, "lac")
    entry = bounded_scores(classes, score, most)
    assert (entry <= score).all()
    holds = [under(classes, each) for each in range(classes.tree.n_nodes)]
    for row in range(len(score)):
        for threshold in np.unique(score[row]).tolist():
            wanted = set(np.flatnonzero(score[row] <= threshold).tolist())
            within = entry[row] <= threshold
            start, _ = fewest_nodes(classes, within[None])
            assert wanted <= set(np.flatnonzero(within).tolist())
            assert start[1] <= most
            if most == 1:
                assert within.sum() == min(len(own) for own in holds if wanted <= own)


def test_what_growing_costs_beside_the_smallest_sets() -> None:
    """The smallest sets of at most two nodes over the same classes need not grow; those that do
    have few more classes."""
    more, least = 0, 0
    for seed in range(0, 600, 3):
        classes, probability, _ = drawn(seed + 1)
        entry = bounded_scores(classes, class_scores(probability, "lac"), 2)
        holds = [under(classes, each) for each in range(classes.tree.n_nodes)]
        pairs = [holds[a] | holds[b] for a in range(len(holds)) for b in range(a, len(holds))]
        for row in range(len(entry)):
            wanted = set(np.flatnonzero(1 - probability[row] <= 0.9).tolist())
            if wanted:
                more += int((entry[row] <= 0.9).sum())
                least += min(len(own) for own in pairs if wanted <= own)
    assert least <= more <= 1.05 * least


def grown(classes: ClassTree, score: Float, most: int) -> list[float]:
    """The score at which each class enters one row's set, by sets of classes alone."""
    holds = [under(classes, each) for each in range(classes.tree.n_nodes)]
    nodes: list[int] = []
    entry = [np.inf] * classes.n_classes
    for each in np.argsort(score, kind="stable").tolist():
        if entry[each] < np.inf:
            continue
        new = int(classes.node[each])
        while new >= 0:
            nodes = [at for at in nodes if not holds[at] <= holds[new]] + [new]
            nodes.sort(key=lambda at: int(classes.start[at]))
            for own in holds[new]:
                entry[own] = min(entry[own], float(score[each]))
            new = -1
            if len(nodes) > most:
                covered = set().union(*(holds[at] for at in nodes))
                over = [
                    max(set(up(classes.tree, one)) & set(up(classes.tree, other)))
                    for one, other in pairwise(nodes)
                ]
                new = min(over, key=lambda at: len(holds[at] - covered))
    return entry


@given(SEEDS, st.integers(1, 4))
def test_bounded_sets_grow_by_the_rule(seed: int, most: int) -> None:
    classes, probability, _ = drawn(seed)
    score = class_scores(probability, "lac")
    entry = bounded_scores(classes, score, most)
    assert entry.tolist() == [grown(classes, row, most) for row in score]


def costs(
    classes: ClassTree, probability: list[float], most: int
) -> tuple[list[float], list[float]]:
    """The scores by size of one row: from set to set that grows, and of each class alone."""
    entry = grown(classes, -np.array(probability), most)
    shared, alone = [0.0] * len(entry), [0.0] * len(entry)
    dearest = -np.inf
    for level in sorted(set(entry)):
        new = [each for each, at in enumerate(entry) if at == level]
        n_in = sum(at <= level for at in entry)
        dearest = max(dearest, np.log(len(new)) - np.log(sum(probability[each] for each in new)))
        for each in new:
            shared[each] = dearest
            alone[each] = 2 * np.log(max(n_in / most, 1.0)) - np.log(probability[each])
    return shared, alone


@given(SEEDS, st.integers(1, 4))
def test_scores_by_size_are_what_a_class_costs(seed: int, most: int) -> None:
    classes, drawn_probability, _ = drawn(seed)
    probability = (drawn_probability + 1 / 64) / (1 + drawn_probability.shape[1] / 64)
    shared = sized_scores(classes, probability, most, alone=False)
    alone = sized_scores(classes, probability, most, alone=True)
    for row, own in enumerate(probability.tolist()):
        each, single = costs(classes, own, most)
        np.testing.assert_allclose(shared[row], each, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(alone[row], single, rtol=1e-12, atol=1e-12)


def test_scores_by_size_without_a_bound_are_in_the_order_of_lac() -> None:
    """Also of probabilities that 1 - p does not tell apart, and of none."""
    classes, _, _ = drawn(1)
    n = classes.n_classes
    probability = np.append(10.0 ** -np.arange(0, 20 * (n - 1), 20), 0.0)[None]
    score = sized_scores(classes, probability, n, alone=False)[0]
    assert np.isfinite(score).all()
    assert (np.diff(score) > 0).all()


@given(SEEDS, st.integers(1, 3))
def test_sets_by_size_have_at_most_so_many_nodes(seed: int, most: int) -> None:
    classes, probability, _ = drawn(seed - seed % 3 + 1)
    score = sized_scores(classes, probability, most, alone=False)
    for threshold in np.unique(score).tolist():
        start, _ = fewest_nodes(classes, score <= threshold)
        assert np.diff(start).max() <= most


def test_sets_by_size_beside_all_sets_of_two_nodes() -> None:
    """Sets that hold nine tenths of the rows: those that are best at a price of each class, found
    among all pairs of nodes, have hardly fewer classes. Growing by probability alone needs more."""
    rng = np.random.default_rng(0)
    n_grown, n_plain, n_least = 0.0, 0.0, 0.0
    for seed in range(1, 60, 3):
        classes, _, _ = drawn(seed)
        probability = rng.dirichlet(np.full(classes.n_classes, 0.4), 100)
        holds = [under(classes, each) for each in range(classes.tree.n_nodes)]
        pairs = {frozenset(one | other) for one in holds for other in holds}
        member = np.array([[each in own for each in range(classes.n_classes)] for own in pairs])
        mass, size = probability @ member.T, member.sum(axis=1)
        n_least += _size_at(
            *(
                np.array(
                    [
                        way[np.arange(100), (mass - price * size).argmax(axis=1)].mean()
                        for price in np.geomspace(2.0, 1e-4, 300)
                    ]
                )
                for way in (mass, np.broadcast_to(size, mass.shape))
            )
        )
        for by_size in (True, False):
            score = (
                sized_scores(classes, probability, 2, alone=False)
                if by_size
                else bounded_scores(classes, 1 - probability, 2)
            )
            at = np.quantile(score, np.linspace(0, 1, 300))
            held = np.array([(probability * (score <= each)).sum(axis=1).mean() for each in at])
            n_in = np.array([(score <= each).sum(axis=1).mean() for each in at])
            if by_size:
                n_grown += _size_at(held, n_in)
            else:
                n_plain += _size_at(held, n_in)
    assert n_least <= n_grown <= 1.05 * n_least
    assert n_grown < 0.99 * n_plain


def _size_at(held: Float, n_in: Float) -> float:
    return float(np.interp(0.9, held, n_in))
