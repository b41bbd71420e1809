"""The selective curve, threshold by threshold."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.calibration.climbing import ClassTree, TreeProbabilities
from models.calibration.fit import selective_curve
from models.calibration.losses import RiskCurve, distance_losses
from models.calibration.probabilities import probabilities
from models.tree.build import from_partition
from tests.models.calibration.calibration_kit import climbed, drawn, under, up
from tests.models.consensus.sets_kit import random_tree


@given(st.integers(0, 10**6))
def test_every_point_is_what_its_threshold_answers(seed: int) -> None:
    classes, probability, label = drawn(seed)
    blocks = [
        (TreeProbabilities.of(classes, probability[at]), label[at])
        for at in (slice(2), slice(2, None))
    ]
    curve = selective_curve(blocks, classes)
    n = len(label)
    for place, threshold in enumerate(curve.threshold.tolist()):
        nodes = [climbed(classes, each, threshold) for each in probability]
        wrong = [each not in under(classes, node) for each, node in zip(label, nodes, strict=True)]
        covered = [1 - log(len(under(classes, node))) / log(classes.n_classes) for node in nodes]
        assert curve.error[place] == sum(wrong) / n
        np.testing.assert_allclose(curve.coverage[place], sum(covered) / n, atol=1e-12)
        depths = [int(classes.tree.depth[node]) for node in nodes]
        np.testing.assert_allclose(curve.depth[place], sum(depths) / n, atol=1e-12)
    assert curve.error[-1] == 0
    steps = zip(
        curve.coverage[:-1], curve.coverage[1:], curve.error[:-1], curve.error[1:], strict=True
    )
    area = sum((left - right) * (high + low) / 2 for left, right, high, low in steps)
    np.testing.assert_allclose(curve.area, area, atol=1e-12)
    thin = curve.thinned(3)
    assert (len(thin.threshold), thin.area) == (min(3, len(curve.threshold)), curve.area)
    assert [thin.error[0], thin.error[-1]] == [curve.error[0], 0]


@given(st.integers(0, 10**6), st.sampled_from([3, 7, 10, 97, 526, 1000]))
def test_masses_that_differ_by_rounding_are_one_step(seed: int, unit: int) -> None:
    """Against the climbing rule in rational numbers."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(2, 14)))
    classes = ClassTree.of(tree, rng.permutation(tree.leaves))
    n, n_classes = 12, classes.n_classes
    parts = rng.multinomial(unit, rng.dirichlet(np.full(n_classes, 0.4), n))
    label = rng.integers(0, n_classes, n)
    rows = TreeProbabilities.of(classes, parts / unit)
    held = [under(classes, node) for node in range(tree.n_nodes)]
    masses = [
        [(node, sum(int(row[each]) for each in held[node])) for node in up(tree, leaf)]
        for row, leaf in zip(parts, rows.leaf.tolist(), strict=True)
    ]
    steps = sorted({m for own in masses for node, m in own if classes.has_others[node]})
    curve = selective_curve([(rows, label)], classes)
    assert curve.threshold[1:] == pytest.approx([float(Fraction(m, unit)) for m in steps])
    loss = distance_losses(classes)
    lost = []
    for place, step in enumerate([-1, *steps]):
        nodes = [next((node for node, mass in own if mass > step), own[-1][0]) for own in masses]
        wrong = [each not in held[node] for each, node in zip(label, nodes, strict=True)]
        assert curve.error[place] == sum(wrong) / n
        covered = [1 - log(len(held[node])) / log(n_classes) for node in nodes]
        assert curve.coverage[place] == pytest.approx(sum(covered) / n)
        assert curve.depth[place] == pytest.approx(tree.depth[nodes].mean())
        lost.append((step, loss[label, nodes].sum()))
    falls = [lost[0], *(now for last, now in pairwise(lost) if now[1] < last[1])]
    risk = RiskCurve.of([(rows, label)], classes, loss)
    assert risk.threshold == pytest.approx([float(Fraction(m, unit)) for m, _ in falls[1:]])
    assert risk.total == pytest.approx([total for _, total in falls])


@given(st.integers(0, 10**6), st.sampled_from([0.37, 1.0]))
def test_logits_of_equal_groups_are_one_step(seed: int, temperature: float) -> None:
    """Rows whose groups of classes have the same logits in another order."""
    rng = np.random.default_rng(seed)
    n_groups, n_each = (int(each) for each in rng.integers(2, 9, 2))
    group = np.repeat(np.arange(n_groups), n_each)
    tree = from_partition(group, n_groups)
    classes = ClassTree.of(tree, tree.leaf_of_point.astype(np.int64))
    base = rng.normal(size=(n_groups, n_each)) * rng.choice([0.1, 1, 5])
    logits = np.array([rng.permuted(base, axis=1).ravel() for _ in range(9)])
    rows = TreeProbabilities.of(classes, probabilities(logits, temperature))
    curve = selective_curve([(rows, np.zeros(9, dtype=np.int64))], classes)
    assert len(curve.threshold) == 2
