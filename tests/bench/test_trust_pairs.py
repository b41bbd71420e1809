"""The order of pairs that need more data, where the conditional probabilities are known."""

from __future__ import annotations

import numpy as np

from bench.trust_pairs import Ranked, by_means, pairs_tree, world
from models.answers.beside_tree import ClassScores
from models.calibration.pair_needs import pair_needs
from models.calibration.probabilities import probabilities


def test_confusions_of_too_few_rows_come_before_those_that_stay() -> None:
    every = [Ranked.of(each, by_means(each)) for each in map(world, range(4))]
    assert np.mean([ranked.first(ranked.gain) for ranked in every]) > 8
    assert np.mean([ranked.first(ranked.rate) for ranked in every]) < 6
    assert np.mean([ranked.before(ranked.gain) for ranked in every]) > 0.9
    assert np.mean([ranked.before(ranked.rate) for ranked in every]) < 0.6
    assert np.mean([ranked.agrees(ranked.gain) for ranked in every]) > 0.6


def test_a_model_that_is_right_about_itself_gains_little() -> None:
    own = world(0)
    truth = probabilities(own.true, 1.0)
    rng = np.random.default_rng(1)
    label = (rng.random((len(truth), 1)) < np.cumsum(truth, axis=1)).argmax(axis=1)
    tree = pairs_tree()
    scores = ClassScores(
        tree.leaves.astype(np.int64), len(truth), lambda start, stop: own.true[start:stop]
    )
    found = pair_needs(tree, scores, label, 1.0)
    many = found.n_confused >= 10
    assert many.sum() >= 10
    assert (np.abs(found.rate - found.expected)[many] < 0.1).all()
    assert (found.gain < 0.5 * found.rate)[many].all()
