"""Answers of least expected cost: every node tried, and the bound by counting."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from models.answers.beside_tree import ClassScores
from models.calibration.calibration import CalibrationTerms
from models.calibration.fit import fitted_calibration
from models.calibration.pricing import CONFIDENCE, Prices, cheapest, cost_bound, costs
from tests.models.calibration.calibration_kit import drawn, rows_of, under, up


@pytest.mark.parametrize("seed", range(30))
def test_no_node_is_cheaper_and_none_is_no_answer(seed: int) -> None:
    classes, probability, label = drawn(seed)
    rng = np.random.default_rng(seed)
    prices = Prices(
        wrong=1.0, level=float(rng.choice([0, 0.05, 0.3])), abstain=rng.choice([0.2, 2])
    )
    rows = rows_of(classes, probability)
    node = cheapest(rows, prices)
    paid = costs(rows, node, label, prices)
    tree = classes.tree

    def price(at: int, true: int) -> float:
        if at < 0:
            return prices.abstain
        if true not in under(classes, at):
            return prices.wrong
        return prices.level * up(tree, int(classes.node[true])).index(at)

    for row, found in enumerate(node.tolist()):
        expected = {
            at: sum(p * price(at, true) for true, p in enumerate(probability[row].tolist()))
            for at in (-1, *range(tree.n_nodes))
            if at < 0 or under(classes, at)
        }
        assert expected[found] == pytest.approx(min(expected.values()), abs=1e-12)
        assert paid[row] == pytest.approx(price(found, int(label[row])))


@pytest.mark.parametrize("n_rows", [2, 10, 50, 400])
def test_the_bound_is_above_the_mean_as_often_as_promised(n_rows: int) -> None:
    """Costs of 0 and 3: every number of them, with its probability."""
    bounds = np.array(
        [cost_bound(np.repeat([3.0, 0.0], [k, n_rows - k]), 3.0) for k in range(n_rows + 1)]
    )
    for p in (0.003, 0.02, 0.1, 0.5, 0.9):
        below = binom.pmf(np.arange(n_rows + 1), n_rows, p)[bounds < 3 * p].sum()
        assert below <= 1 - CONFIDENCE


def test_a_calibration_states_the_cost_of_rows_that_it_has_not_learned_from() -> None:
    classes, _, _ = drawn(4)
    rng = np.random.default_rng(0)
    n_classes = classes.n_classes

    def rows(n_rows: int) -> tuple[ClassScores, np.ndarray, np.ndarray]:
        label = rng.integers(0, n_classes, n_rows)
        logits = 2.0 * np.eye(n_classes)[label] + rng.normal(size=(n_rows, n_classes))
        read = ClassScores(classes.node, n_rows, lambda start, stop: logits[start:stop])
        return read, label, logits

    prices = {"wrong": 1.0, "level": 0.1, "abstain": 0.15}
    terms = CalibrationTerms(loss="price", prices=prices)
    scores, label, _ = rows(1000)
    calibration = fitted_calibration(classes.tree, scores, label, terms).calibration
    assert calibration.cost is not None
    later, truth, logits = rows(4000)
    shown = calibration.answers(classes.tree, later, 0.1)
    node = np.full(4000, -1)
    row = np.repeat(np.arange(4000), np.diff(shown.start))
    node[row] = shown.node
    probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    paid = costs(rows_of(classes, probability), node, truth, Prices(**prices)).mean()
    mean, most = calibration.cost
    assert abs(paid - mean) < 0.04
    assert paid < most < mean + 0.1
    assert (node < 0).any()
    assert shown.promise == calibration.promise(0.1)
    # Rounded, never down.
    written = float(shown.promise.split("at most ")[1].split()[0])
    assert most <= written < 1.001 * most
    for wrong in (
        {"loss": "price"},
        {"prices": prices},
        {"loss": "price", "prices": prices, "alpha": 0.2},
    ):
        with pytest.raises(ValueError, match="price"):
            CalibrationTerms(**wrong)
