"""Initial clusters of a split: by k-means, by spectral clustering, along random directions.

The first two use a sample where there are many points: k-means assigns every point to the nearest
centre, spectral clustering by the weights that separate the sample. The flow then brings the sizes
of the clusters within their bounds.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.arrays import Float, Int
from models.checks import count_distinct
from models.clusters.kmeans import KMeansEffort, squared_distances
from models.methods.features.growing.spectral import Spectral
from models.methods.margins.splitting.alternating import Problem, Weights
from models.numerics.transport import share_out
from models.progress import silent

Start = Literal["k-means", "spectral", "random"]
STARTS: tuple[Start, ...] = ("k-means", "spectral", "random")

FOR_MEANS = 4096
FOR_SPECTRA = 512
"""Largest samples for k-means and spectral clustering."""


def started(problem: Problem, start: Start, rng: np.random.Generator) -> Int | None:
    """(n,) clusters within the bounds on sizes; None where this kind of start gives none."""
    cost = {"k-means": _means, "spectral": _spectra, "random": _directions}[start](problem, rng)
    return None if cost is None else share_out(cost, problem.low, problem.high).cluster


def _plain(problem: Problem) -> Float:
    return problem.points[:, :-1] if problem.terms.intercept else problem.points


def sample(n_points: int, most: int, rng: np.random.Generator) -> Int:
    """Ascending numbers of up to `most` points."""
    if n_points <= most:
        return np.arange(n_points)
    return np.sort(rng.choice(n_points, most, replace=False))


def _means(problem: Problem, rng: np.random.Generator) -> Float | None:
    from sklearn.cluster import KMeans

    k, rows = problem.terms.n_clusters, _plain(problem)
    few = rows[sample(len(rows), FOR_MEANS, rng)]
    if count_distinct(few, k) < k:
        return None
    # All runs in one call: with thousands of small nodes, calls dominate.
    run = KMeans(n_clusters=k, n_init=3, max_iter=100, random_state=int(rng.integers(2**31)))
    centres = run.fit(few).cluster_centers_
    return squared_distances(rows, centres).T


def _spectra(problem: Problem, rng: np.random.Generator) -> Float | None:
    from models.methods.margins.splitting.loops import objective

    k = problem.terms.n_clusters
    few = sample(len(problem.points), FOR_SPECTRA, rng)
    split = Spectral(k, 5, KMeansEffort(n_init=3, max_iter=100), rng, 1, silent)(
        _plain(problem)[few]
    )
    if split is None:
        return None
    part = problem.of_rows(few)
    weights = Weights(part)
    weights.hinge(split.cluster)
    weights.descend(split.cluster, 1e-2 * weights.slope(), 50)
    scores = weights.value @ problem.points.T
    cost = np.empty_like(scores)
    objective.costs(scores, cost)
    return cost


def _directions(problem: Problem, rng: np.random.Generator) -> Float:
    rows = _plain(problem)
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    direction = rng.normal(size=(problem.terms.n_clusters, rows.shape[1]))
    direction /= np.where(spread > 0, spread, 1.0)
    cost: Float = -(direction @ rows.T - (direction @ mean)[:, None])
    return cost
