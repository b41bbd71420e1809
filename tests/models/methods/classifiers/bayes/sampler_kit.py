"""Draws from the exact posterior of weights and precisions, for small problems."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from models.methods.classifiers.bayes.likelihood import LikelihoodKind
from models.methods.classifiers.bayes.precisions import Covariance
from tests.models.methods.classifiers.bayes.bayes_kit import Small


def sampled(
    problem: Small,
    covariance: Covariance,
    kind: LikelihoodKind,
    n_chains: int = 60,
    n_steps: int = 240,
) -> np.ndarray:
    """(n_draws, n_nodes, n_columns) weights: the second half of all chains.

    Gibbs sampling: precisions from their gamma distributions given weights; weights given
    precisions by elliptical slice sampling (Murray, Adams and MacKay, 2010), all chains at once.
    """
    rng = np.random.default_rng(0)
    tree, prior = problem.tree, problem.precisions(covariance)
    n_columns = problem.rows.shape[1]
    shape = (n_chains, tree.n_nodes, n_columns)
    by_feature = prior.b.shape[1] > 1
    has = np.zeros((problem.rows.shape[0], tree.n_classes))
    has[problem.row, problem.code] = 1.0

    def log_likelihood(weights: np.ndarray) -> np.ndarray:
        score = problem.rows @ weights[:, tree.node].swapaxes(1, 2)
        if kind == "softmax":
            return (has * log_softmax(score, axis=2)).sum(axis=(1, 2))
        return (has * score - np.logaddexp(0.0, score)).sum(axis=(1, 2))

    def from_prior(precision: np.ndarray) -> np.ndarray:
        weights = rng.normal(size=shape)
        for node in range(1, tree.n_nodes):
            own = precision[:, prior.group[node - 1]]
            weights[:, node] = weights[:, tree.parent[node]] + weights[:, node] / np.sqrt(own)
        return weights

    precision = np.broadcast_to(prior.mean, (n_chains, *prior.b.shape)).copy()
    weights = np.zeros(shape)
    draws = []
    for step in range(n_steps):
        other, value = from_prior(precision), log_likelihood(weights)
        least = value + np.log(rng.uniform(size=n_chains))
        angle = rng.uniform(0, 2 * np.pi, n_chains)
        low, high = angle - 2 * np.pi, angle.copy()
        while True:
            turned = weights * np.cos(angle)[:, None, None] + other * np.sin(angle)[:, None, None]
            outside = log_likelihood(turned) < least
            if not outside.any():
                break
            low = np.where(outside & (angle < 0), angle, low)
            high = np.where(outside & (angle >= 0), angle, high)
            angle = np.where(outside, rng.uniform(low, high), angle)
        weights = turned
        sums = np.zeros_like(precision)
        for node in range(1, tree.n_nodes):
            square = (weights[:, node] - weights[:, tree.parent[node]]) ** 2
            sums[:, prior.group[node - 1]] += (
                square if by_feature else square.sum(axis=1, keepdims=True)
            )
        precision = rng.gamma(prior.tau, 1.0, precision.shape) / (prior.b + 0.5 * sums)
        if step >= n_steps // 2:
            draws.append(weights)
    return np.concatenate(draws)
