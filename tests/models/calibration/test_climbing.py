"""Answers by climbing against the rule word by word, and their promise over all exchanges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from models.calibration.calibration import group_quantiles, quantile
from models.calibration.climbing import (
    LEAF,
    ClassTree,
    TreeProbabilities,
    answers,
    answers_by_class,
    groups_at,
    scores,
)
from models.errors import UsageError
from models.tree.build import from_parents
from tests.models.calibration.calibration_kit import climbed, drawn, under, up

SEEDS = st.integers(0, 10**6)
LEVELS = [LEAF, *(np.arange(65) / 64).tolist(), np.inf]


@given(SEEDS)
def test_answers_and_scores_are_the_rule(seed: int) -> None:
    classes, probability, label = drawn(seed)
    rows = TreeProbabilities.of(classes, probability)
    score = scores(rows, label)
    for level in LEVELS:
        answer = answers(rows, level)
        literal = [climbed(classes, each, level) for each in probability]
        assert answer.tolist() == literal
        holds = [each in under(classes, node) for each, node in zip(label, literal, strict=True)]
        assert (score <= level).tolist() == holds


@given(SEEDS)
def test_answers_by_class_hold_every_class_of_the_set_and_no_deeper_node_does(seed: int) -> None:
    classes, probability, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    threshold = rng.choice(LEVELS, classes.n_classes)
    rows = TreeProbabilities.of(classes, probability)
    each_score = [
        scores(rows, np.full(rows.n_rows, each)) <= threshold[each]
        for each in range(classes.n_classes)
    ]
    answer = answers_by_class(rows, threshold)
    for row in range(rows.n_rows):
        members = {each for each in range(classes.n_classes) if each_score[each][row]}
        path = up(classes.tree, int(rows.leaf[row]))
        deepest = next(node for node in path if members <= under(classes, node))
        assert answer[row] == deepest


@given(SEEDS, st.sampled_from([0.1, 0.2, 0.3, 0.5]))
def test_the_promise_holds_over_every_exchange(seed: int, alpha: float) -> None:
    """Each of n + 1 rows is the new one equally often, the others calibrate."""
    n_rows = 12
    classes, probability, label = drawn(seed, n_rows)
    held = 0
    for new in range(n_rows):
        others = np.arange(n_rows) != new
        rows = TreeProbabilities.of(classes, probability[others])
        threshold = quantile(scores(rows, label[others]), alpha)
        node = answers(TreeProbabilities.of(classes, probability[[new]]), threshold)[0]
        held += int(label[new] in under(classes, int(node)))
    assert Fraction(held, n_rows) >= 1 - Fraction(repr(alpha))


@given(SEEDS, st.sampled_from([0.2, 0.5]), st.booleans())
def test_the_promise_of_groups_holds_in_every_group(
    seed: int, alpha: float, by_class: bool
) -> None:
    """The new row is exchanged within its group; groups with too few rows answer by the root."""
    n_rows = 16
    classes, probability, label = drawn(seed, n_rows)
    rows = TreeProbabilities.of(classes, probability)
    start, child = classes.tree.children
    cut = child[start[0] : start[1]]
    group = label if by_class else groups_at(classes.tree, rows, cut)
    n_groups = classes.n_classes if by_class else len(cut)
    held: dict[int, list[bool]] = {}
    for new in range(n_rows):
        others = np.arange(n_rows) != new
        before = TreeProbabilities.of(classes, probability[others])
        score = scores(before, label[others])
        threshold = group_quantiles(score, group[others], n_groups, alpha)
        row = TreeProbabilities.of(classes, probability[[new]])
        if by_class:
            node = answers_by_class(row, threshold)[0]
        else:
            node = answers(row, threshold[group[new]] if group[new] >= 0 else np.inf)[0]
        held.setdefault(int(group[new]), []).append(label[new] in under(classes, int(node)))
    for each in held.values():
        assert Fraction(sum(each), len(each)) >= 1 - Fraction(repr(alpha))


def test_coverage_follows_the_beta_law() -> None:
    """Scores without ties: labels are never the most probable class.

    root ── a ── 0, 1
         └─ b ── 2, 3
    """
    tree = from_parents(
        [-1, 0, 0, 1, 1, 2, 2], [2.0, 1.0, 1.0, 0, 0, 0, 0], [None] * 7, [3, 4, 5, 6]
    )
    classes = ClassTree.of(tree, np.array([3, 4, 5, 6]))
    rng = np.random.default_rng(0)
    n, n_new, n_splits, alpha = 39, 200, 200, 0.1
    law = stats.betabinom(n_new, 36, 4)
    shares = []
    for _ in range(n_splits):
        probability = rng.dirichlet(np.ones(4), n + n_new)
        label = np.argsort(probability, axis=1)[:, 2]
        score = scores(TreeProbabilities.of(classes, probability), label)
        assert (score > LEAF).all()
        shares.append(int((score[n:] <= quantile(score[:n], alpha)).sum()))
    assert abs(np.mean(shares) - law.mean()) < 4 * law.std() / np.sqrt(n_splits)
    # Kolmogorov's test is conservative for discrete counts.
    assert stats.kstest(shares, law.cdf).pvalue > 1e-4


@given(
    st.lists(st.floats(0, 1e300), min_size=4, max_size=4),
    st.floats(allow_nan=False),
)
def test_hostile_values_are_answered_by_a_node_of_the_path(
    values: list[float], threshold: float
) -> None:
    tree = from_parents(
        [-1, 0, 0, 1, 1, 2, 2], [2.0, 1.0, 1.0, 0, 0, 0, 0], [None] * 7, [3, 4, 5, 6]
    )
    classes = ClassTree.of(tree, np.array([3, 4, 5, 6]))
    rows = TreeProbabilities.of(classes, np.array([values]))
    node = int(answers(rows, threshold)[0])
    assert node in up(tree, int(rows.leaf[0]))
    for label in range(4):
        holds = scores(rows, np.array([label]))[0] <= threshold
        assert holds == (label in under(classes, node)) or threshold < LEAF


def test_a_deep_chain() -> None:
    """A caterpillar of 3,000 classes: each inner node has one leaf and the next inner node."""
    n = 3_000
    parent = np.array([-1, *(2 * (np.arange(1, 2 * n - 1) - 1) // 4 * 2)])
    tree = from_parents(
        parent,
        np.zeros(2 * n - 1) + 0.0,
        [None] * (2 * n - 1),
        np.flatnonzero(np.bincount(parent[1:], minlength=2 * n - 1) == 0),
    )
    classes = ClassTree.of(tree, tree.leaves)
    rows = TreeProbabilities.of(classes, np.full((2, n), 1 / n))
    assert answers(rows, np.array([LEAF, np.inf])).tolist() == [int(rows.leaf[0]), 0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e-9])
def test_probabilities_that_are_none(value: float) -> None:
    classes, probability, _ = drawn(1)
    probability[2, 1] = value
    with pytest.raises(UsageError) as error:
        TreeProbabilities.of(classes, probability)
    assert error.value.where == {"row": 2, "column": 1}
    with pytest.raises(UsageError, match="probabilities each"):
        TreeProbabilities.of(classes, probability[:, 1:])
