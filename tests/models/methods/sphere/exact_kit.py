"""The exact posterior of a few rows, over all ways to put them into clusters."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp

from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture.loops import log_c


def log_joints(
    features: np.ndarray, n_clusters: int, priors: Priors
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Every z and log p(X, z); kappa integrated out on a grid, mu and pi in closed form."""
    n_features = features.shape[1]
    t = np.linspace(priors.m - 9 * priors.sigma, priors.m + 9 * priors.sigma, 2001)
    kappa = np.exp(t)
    prior = -0.5 * ((t - priors.m) / priors.sigma) ** 2
    prior += np.log(t[1] - t[0]) - 0.5 * np.log(2 * np.pi * priors.sigma**2)
    own = log_c(n_features, kappa)
    empty = float(log_c(n_features, np.array([priors.c0]))[0])
    parts: dict[tuple[int, ...], float] = {}

    def part(rows: tuple[int, ...]) -> float:
        if rows not in parts:
            total = features[list(rows)].sum(axis=0)
            field = kappa[:, None] * total + priors.c0 * priors.mu0
            length = np.linalg.norm(field, axis=1)
            parts[rows] = float(
                logsumexp(len(rows) * own + empty - log_c(n_features, length) + prior)
            )
        return parts[rows]

    ways = list(product(range(n_clusters), repeat=len(features)))
    result = []
    for z in ways:
        size = np.bincount(z, minlength=n_clusters)
        value = gammaln(n_clusters * priors.alpha) - gammaln(n_clusters * priors.alpha + len(z))
        value += (gammaln(priors.alpha + size) - gammaln(priors.alpha)).sum()
        value += sum(
            part(tuple(i for i, own in enumerate(z) if own == k)) for k in range(n_clusters)
        )
        result.append(float(value))
    return ways, np.array(result)


def partitions(n: int, most: int) -> list[tuple[int, ...]]:
    """All partitions of n rows into at most `most` clusters, numbered as they come."""
    result: list[tuple[int, ...]] = [()]
    for _ in range(n):
        result = [(*z, k) for z in result for k in range(min(most, max(z, default=-1) + 2))]
    return result


def log_partitions(
    features: np.ndarray, most: int, priors: Priors, shared: bool, max_kappa: float
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Every partition and its log p(X, partition); kappa by sums on a grid, mu in closed form."""
    n_features = features.shape[1]
    high = min(priors.m + 9 * priors.sigma, np.log(max_kappa))
    t = np.linspace(priors.m - 9 * priors.sigma, high, 1501)
    kappa, own = np.exp(t), log_c(n_features, np.exp(t))
    prior = -0.5 * ((t - priors.m) / priors.sigma) ** 2
    prior -= logsumexp(prior)
    empty = float(log_c(n_features, np.array([priors.c0]))[0])

    def part(rows: list[int]) -> np.ndarray:
        total = features[rows].sum(axis=0)
        field = kappa[:, None] * total + priors.c0 * priors.mu0
        return len(rows) * own + empty - log_c(n_features, np.linalg.norm(field, axis=1))

    ways = partitions(len(features), most)
    result = []
    for z in ways:
        parts = [[i for i, k in enumerate(z) if k == own] for own in range(max(z) + 1)]
        value = sum(np.log(priors.alpha) + gammaln(len(rows)) for rows in parts)
        if shared:
            value += logsumexp(sum(part(rows) for rows in parts) + prior)
        else:
            value += sum(logsumexp(part(rows) + prior) for rows in parts)
        result.append(float(value))
    return ways, np.array(result)
