"""Pairs that need more rows: the counts against the literal definition, the gain and the interval
against the distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from models.answers.beside_tree import ClassScores, finite
from models.arrays import Float, Int
from models.calibration.pair_needs import gains, interval, pair_needs
from models.calibration.relearning import relearned
from models.tree.build import from_parents
from models.tree.tree import Tree
from tests.models.calibration.calibration_kit import drawn, under, up


def scores_of(node: Int, scores: Float, by_edges: bool = False) -> ClassScores:
    return ClassScores(node, len(scores), lambda start, stop: scores[start:stop], by_edges)


@given(st.integers(0, 10**6))
def test_counts_are_the_definition(seed: int) -> None:
    classes, probability, label = drawn(seed, 12)
    label[seed % 12] = -1
    tree, n = classes.tree, classes.n_classes
    with np.errstate(divide="ignore"):
        logits = finite(np.log(probability))
    found = pair_needs(tree, scores_of(classes.node, logits), label, 1.0)
    known = np.flatnonzero(label >= 0)
    taken = probability.argmax(axis=1)
    learned = relearned(scores_of(classes.node, logits), label, 1.0, tree.n_nodes)

    def counted(one: set[int], other: set[int]) -> tuple[int, int, float, float]:
        rows = [row for row in known if label[row] in one | other]

        def confused_by(given: Int) -> int:
            return sum(
                (label[row] in one and given[row] in other)
                or (label[row] in other and given[row] in one)
                for row in rows
            )

        expected = sum(probability[row, list(one)].sum() for row in known if taken[row] in other)
        expected += sum(probability[row, list(other)].sum() for row in known if taken[row] in one)
        n_rows = max(1, len(rows))
        left = np.nan
        if learned is not None:
            still = np.where(learned == label, label, taken)
            left = sum(
                learned[row] != label[row]
                and any(
                    (label[row] in one and given[row] in other)
                    or (label[row] in other and given[row] in one)
                    for given in (still, learned)
                )
                for row in rows
            )
            left /= n_rows
        return len(rows), confused_by(taken), min(1.0, expected / n_rows), left

    pairs = {}
    for one in range(n):
        for other in range(one):
            ends = frozenset((int(classes.node[one]), int(classes.node[other])))
            # No node separates two classes at one node.
            pairs[True, ends] = pairs.get((True, ends), [])
            pairs[True, ends].append(counted({one}, {other}))
    for node in range(1, tree.n_nodes):
        for other in range(1, node):
            sets = [under(classes, node), under(classes, other)]
            if tree.parent[node] == tree.parent[other] and max(map(len, sets)) > 1:
                pairs[False, frozenset((node, other))] = [counted(*sets)]
    expected = sorted(
        (kind, sorted(ends), values)
        for (kind, ends), every in pairs.items()
        for values in every
        if values[1]
    )
    rows = zip(
        found.classes.tolist(),
        found.node.tolist(),
        found.other.tolist(),
        found.n_rows.tolist(),
        found.n_confused.tolist(),
        found.expected.tolist(),
        found.learned.tolist(),
        strict=True,
    )
    own = sorted((kind, sorted({one, other}), tuple(rest)) for kind, one, other, *rest in rows)
    assert [each[:2] for each in own] == [each[:2] for each in expected]
    for (*_, values), (*_, literal) in zip(own, expected, strict=True):
        assert values == pytest.approx(literal, abs=1e-9, nan_ok=True)
    for one, other, meet in zip(found.node, found.other, found.meet, strict=True):
        paths = up(tree, int(one)), up(tree, int(other))
        assert meet == next(node for node in paths[0] if node in paths[1])
    assert (np.diff(found.gain) <= 0).all()


def test_the_gain_is_the_mean_excess_and_the_interval_is_jeffreys() -> None:
    n_confused, n_rows = np.array([0, 1, 3, 40, 5]), np.array([4, 4, 200, 200, 5])
    expected = np.array([0.0, 1e-6, 0.1, 0.1, 0.7])
    gain, sure = gains(n_confused, n_rows, expected)
    for at in range(1, len(gain)):
        share = beta(n_confused[at] + expected[at], n_rows[at] - n_confused[at] + 1 - expected[at])
        excess = share.expect(lambda s, at=at: s - expected[at], lb=expected[at], ub=1.0)
        assert gain[at] == pytest.approx(excess, abs=1e-7)
        assert sure[at] == pytest.approx(share.sf(expected[at]))
    assert gain[0] == 0.0
    low, high = interval(n_confused, n_rows)
    for at in range(len(low)):
        share = beta(n_confused[at] + 0.5, n_rows[at] - n_confused[at] + 0.5)
        assert low[at] == (0.0 if n_confused[at] == 0 else pytest.approx(share.ppf(0.025)))
        assert high[at] == (
            1.0 if n_confused[at] == n_rows[at] else pytest.approx(share.ppf(0.975))
        )
    # All rows expected to be confused, and all are.
    assert np.isfinite(gains(np.array([6]), np.array([6]), np.array([1.0]))).all()


def twins(n_pairs: int) -> Tree:
    """A root over pairs of sibling leaves."""
    pair = np.arange(1, n_pairs + 1)
    parent = np.concatenate([[-1], np.zeros(n_pairs), np.repeat(pair, 2)]).astype(np.int64)
    height = np.concatenate([[2.0], np.ones(n_pairs), np.zeros(2 * n_pairs)])
    names: list[str | None] = [None] * len(parent)
    return from_parents(parent, height, names, leaf_of_point=np.arange(n_pairs + 1, len(parent)))


def test_without_probabilities_all_confusions_count() -> None:
    tree = twins(2)
    logits = np.eye(4)[[0, 1, 1, 2, 3, 3]]
    node = tree.leaves.astype(np.int64)
    label = np.array([0, 0, 1, 2, 3, 2])
    found = pair_needs(tree, scores_of(node, logits, by_edges=True), label, 1.0)
    assert found.node.tolist() == [3, 5]
    assert np.isnan([found.expected, found.learned]).all()
    assert found.gain == pytest.approx(found.n_confused / (found.n_rows + 1))


def test_no_confusions_are_no_pairs() -> None:
    tree = twins(2)
    node = tree.leaves.astype(np.int64)
    for label in (np.arange(4), np.full(4, -1)):
        found = pair_needs(tree, scores_of(node, 9.0 * np.eye(4)), label, 1.0)
        assert not found.node.size
        assert not found.gain.size
