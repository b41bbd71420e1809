"""The selective curve, threshold by threshold."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.calibration.climbing import TreeProbabilities, answers
from models.calibration.fit import selective_curve
from models.calibration.risk import RiskCurve, distance_losses
from tests.models.calibration.calibration_kit import climbed, drawn, under


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


@given(st.integers(0, 10**6), st.sampled_from([3, 7, 10, 30, 1000]))
def test_masses_that_differ_by_rounding_are_one_step(seed: int, unit: int) -> None:
    classes, _, label = drawn(seed)
    rng = np.random.default_rng(seed)
    parts = np.array([rng.multinomial(unit, np.full(classes.n_classes, 1 / classes.n_classes))
                      for _ in label])  # fmt: skip
    rows = TreeProbabilities.of(classes, parts / unit)
    exact = {
        sum((Fraction(int(row[each]), unit) for each in under(classes, node)), Fraction(0))
        for row, leaf in zip(parts, rows.leaf.tolist(), strict=True)
        for node in path(classes.tree.parent, leaf)
        if classes.has_others[node]
    }
    curve = selective_curve([(rows, label)], classes)
    assert curve.threshold[1:] == pytest.approx([float(each) for each in sorted(exact)])
    for place, threshold in enumerate(curve.threshold.tolist()):
        nodes = answers(rows, threshold).tolist()
        wrong = [each not in under(classes, node) for each, node in zip(label, nodes, strict=True)]
        assert curve.error[place] == sum(wrong) / len(label)
    risk = RiskCurve.of([(rows, label)], classes, distance_losses(classes))
    assert len(set(risk.threshold.round(9))) == len(risk.threshold)


def path(parent: np.ndarray, node: int) -> list[int]:
    """The nodes from one up to below the root."""
    nodes = []
    while node > 0:
        nodes.append(node)
        node = int(parent[node])
    return nodes
