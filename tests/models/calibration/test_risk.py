"""Losses and thresholds of risk control against their literal definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.calibration.climbing import LEAF, TreeProbabilities, answers
from models.calibration.losses import RiskCurve, cost_losses, distance_losses
from models.errors import UsageError
from tests.models.calibration.calibration_kit import climbed, drawn, under, up

SEEDS = st.integers(0, 10**6)
LEVELS = [LEAF, *(np.arange(65) / 64).tolist()]


@given(SEEDS)
def test_losses_are_the_definitions(seed: int) -> None:
    classes, _, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    n, tree = classes.n_classes, classes.tree
    costs = rng.integers(1, 9, (n, n)) * (1.0 - np.eye(n))
    distance, cost = distance_losses(classes), cost_losses(classes, costs)
    for node in range(tree.n_nodes):
        for label in range(n):
            holds = [label in under(classes, each) for each in up(tree, node)]
            assert distance[label, node] == holds.index(True)
            taken = [costs[label, each] for each in under(classes, node)]
            assert cost[label, node] == min(taken, default=np.inf)


@given(SEEDS, st.sampled_from([0.25, 0.5, 1.0, 2.0]))
def test_the_threshold_is_the_smallest_that_keeps_the_bound(seed: int, bound: float) -> None:
    n_rows = 12
    classes, probability, label = drawn(seed, n_rows)
    loss = distance_losses(classes)
    worst = max(
        loss[each, node]
        for each in range(classes.n_classes)
        for node in range(classes.tree.n_nodes)
        if under(classes, node)
    )
    rows = TreeProbabilities.of(classes, probability)
    if worst > bound * (n_rows + 1):
        with pytest.raises(UsageError, match="calibration rows"):
            RiskCurve.of([(rows, label)], classes, loss).threshold_at(bound)
        return
    threshold = RiskCurve.of([(rows, label)], classes, loss).threshold_at(bound)
    literal = next(
        level
        for level in LEVELS
        if sum(
            loss[each, climbed(classes, p, level)]
            for each, p in zip(label, probability, strict=True)
        )
        + worst
        <= bound * (n_rows + 1)
    )
    assert threshold == literal


@given(SEEDS, st.sampled_from([0.25, 0.5, 1.0]), st.booleans())
def test_the_bound_holds_over_every_exchange(seed: int, bound: float, by_cost: bool) -> None:
    """Each of n + 1 rows is the new one equally often, the others calibrate."""
    n_rows = 20
    classes, probability, label = drawn(seed, n_rows)
    n = classes.n_classes
    costs = np.random.default_rng(seed).integers(1, 5, (n, n)) * (1.0 - np.eye(n))
    loss = cost_losses(classes, costs) if by_cost else distance_losses(classes)
    total = Fraction(0)
    for new in range(n_rows):
        others = np.arange(n_rows) != new
        rows = TreeProbabilities.of(classes, probability[others])
        try:
            threshold = RiskCurve.of([(rows, label[others])], classes, loss).threshold_at(bound)
        except UsageError:
            return
        node = answers(TreeProbabilities.of(classes, probability[[new]]), threshold)[0]
        total += Fraction(float(loss[label[new], node]))
    assert total / n_rows <= Fraction(bound)


def test_refusals() -> None:
    classes, probability, label = drawn(1, 3)
    rows, loss = TreeProbabilities.of(classes, probability), distance_losses(classes)
    with pytest.raises(UsageError, match="above 0"):
        RiskCurve.of([(rows, label)], classes, loss).threshold_at(0.0)
    with pytest.raises(UsageError, match="at least") as error:
        RiskCurve.of([(rows, label)], classes, loss).threshold_at(0.01)
    worst = loss[:, [bool(under(classes, each)) for each in range(classes.tree.n_nodes)]].max()
    assert error.value.where["needed"] == worst * 100 - 1
    with pytest.raises(UsageError, match="0 from a class to itself"):
        cost_losses(classes, np.ones((classes.n_classes, classes.n_classes)))
