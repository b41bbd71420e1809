"""95% intervals of predictions, from normal posteriors of the weights.

The score of a class at a row x has the mean mu.x and the variance x^T Psi x, classes independently
of each other. The interval of a probability is that of its log odds, carried over: the log odds are
normal to first order in the scores (the delta method), so the interval reflects how uncertain all
classes' weights are, not the best one's alone.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp

from models.arrays import Array, Arrays, Float, Matrix, row_blocks
from models.methods.classifiers.classes.answers import BLOCK, Rule, scores

DEVIATIONS = 1.959963984540054
"""Of a normal distribution, within which 95% lie."""


def intervals(features: Matrix, weights: Array, covariance: Array, rule: Rule) -> Arrays:
    """Columns of rows: the 95% intervals of the best class's score and probability.

    weights, covariance : as in `Trained`, the columns of both those of the features, with the
        intercept last where there is one.

    O(N D K), with full covariances O(N D^2 K).
    """
    columns = {
        name: np.empty(features.shape[0])
        for name in ("score_low", "score_high", "probability_low", "probability_high")
    }
    width = max(weights.shape)
    for rows in row_blocks(features.shape[0], width, BLOCK):
        part = features[rows]
        score, variance = scores(part, weights), score_variances(part, covariance)
        own = np.arange(score.shape[0]), score.argmax(axis=1)
        reach = DEVIATIONS * np.sqrt(variance[own])
        columns["score_low"][rows] = score[own] - reach
        columns["score_high"][rows] = score[own] + reach
        odds, odds_variance = log_odds(rule.slope * score, rule.slope**2 * variance, rule)
        reach = DEVIATIONS * np.sqrt(odds_variance)
        columns["probability_low"][rows] = expit(odds - reach)
        columns["probability_high"][rows] = expit(odds + reach)
    return columns


def score_variances(features: Matrix, covariance: Array) -> Float:
    """(n_rows, n_classes) x^T Psi x, with the constant 1 in x where Psi has one column more."""
    n_rows, n_features = features.shape
    if covariance.ndim == 2:
        return scores(features * features, covariance)
    constant = np.ones((n_rows, covariance.shape[1] - n_features))
    dense = features.toarray() if isinstance(features, sp.csr_array) else features
    design = np.concatenate([dense, constant], axis=1, dtype=np.float64)
    variance = np.empty((n_rows, covariance.shape[0]))
    for class_, own in enumerate(covariance):
        variance[:, class_] = np.einsum("ij,ij->i", design @ own.astype(np.float64), design)
    # Covariances are rounded to single precision.
    return np.maximum(variance, 0.0)


def log_odds(score: Float, variance: Float, rule: Rule) -> tuple[Float, Float]:
    """(n_rows,) mean and variance of the log odds of the best class's probability.

    score, variance : (n_rows, n_classes) of independent normal scores.
    """
    best = score.argmax(axis=1)[:, None]
    own = np.take_along_axis(score, best, axis=1)[:, 0]
    own_variance = np.take_along_axis(variance, best, axis=1)[:, 0]
    if rule.link == "logistic":
        if not rule.one_each:
            return own, own_variance
        # Probabilities are then shares of the sum: a softmax of log-probabilities.
        variance = variance * expit(-score) ** 2
        score = -np.logaddexp(0.0, -score)
        own = np.take_along_axis(score, best, axis=1)[:, 0]
        own_variance = np.take_along_axis(variance, best, axis=1)[:, 0]
    others = score.copy()
    np.put_along_axis(others, best, -np.inf, axis=1)
    total = logsumexp(others, axis=1)
    share = np.exp(others - total[:, None])
    return own - total, own_variance + (share**2 * variance).sum(axis=1)
