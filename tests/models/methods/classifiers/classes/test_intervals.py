"""Intervals of scores and probabilities, against draws of the scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.methods.classifiers.classes.answers import Link, Rule, Scorer, probabilities
from models.methods.classifiers.classes.classifier import (
    DEVIATIONS,
    intervals,
    log_odds,
    score_variances,
)


@pytest.mark.parametrize("n_columns", [3, 4])
def test_variances_are_quadratic_forms(n_columns: int) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6, 3)) * (rng.uniform(size=(6, 3)) < 0.7)
    design = np.column_stack([features, np.ones(6)])[:, :n_columns]
    roots = rng.normal(size=(2, n_columns, n_columns))
    full = roots @ roots.swapaxes(1, 2)
    expected = [[x @ own @ x for own in full] for x in design]
    diagonal = np.diagonal(full, axis1=1, axis2=2)
    independent = [[(x * x) @ own for own in diagonal] for x in design]
    for rows in (features, sp.csr_array(features)):
        np.testing.assert_allclose(score_variances(rows, full), expected)
        np.testing.assert_allclose(score_variances(rows, diagonal), independent)


@pytest.mark.parametrize(
    ("link", "one_each"), [("softmax", True), ("logistic", True), ("logistic", False)]
)
def test_log_odds_are_those_of_normal_scores(link: Link, one_each: bool) -> None:
    rng = np.random.default_rng(1)
    score, variance = rng.normal(size=(5, 4)), rng.uniform(0.5e-4, 2e-4, (5, 4))
    rule = Rule(link, one_each)
    mean, spread = log_odds(score, variance, rule)
    best = score.argmax(axis=1)
    draws = rng.normal(score, np.sqrt(variance), (100_000, 5, 4))
    p = np.stack([probabilities(draws[:, row], link, one_each)[:, best[row]] for row in range(5)])
    odds = np.log(p / (1 - p))
    np.testing.assert_allclose(mean, odds.mean(axis=1), atol=1e-3)
    np.testing.assert_allclose(spread, odds.var(axis=1), rtol=0.03)


def test_columns_hold_the_score_and_the_probability_of_the_best_class() -> None:
    rng = np.random.default_rng(2)
    features = rng.normal(size=(50, 3))
    weights, covariance = rng.normal(size=(4, 4)), rng.uniform(0.01, 0.5, (4, 4))
    columns = intervals(features, Scorer(weights, True), covariance, Rule("softmax", True))
    score = np.column_stack([features, np.ones(50)]) @ weights.T
    best = score.argmax(axis=1)
    variance = score_variances(features, covariance)[np.arange(50), best]
    middle = (columns["score_low"] + columns["score_high"]) / 2
    np.testing.assert_allclose(middle, score.max(axis=1))
    width = columns["score_high"] - columns["score_low"]
    np.testing.assert_allclose(width, 2 * DEVIATIONS * np.sqrt(variance))
    p = probabilities(score, "softmax", True).max(axis=1)
    assert (columns["probability_low"] < p).all()
    assert (columns["probability_high"] > p).all()
    assert (columns["probability_low"] > 0).all()
    assert (columns["probability_high"] < 1).all()
