"""The selective curve, threshold by threshold."""

from __future__ import annotations

from math import log

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.calibration.climbing import TreeProbabilities
from models.calibration.fit import selective_curve
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
