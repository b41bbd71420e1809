"""Initial clusters of a split: by k-means, by spectral clustering, along directions, in gaps.

The first two use a sample where there are many points: k-means assigns every point to the nearest
centre, spectral clustering by the weights that separate the sample. The flow then brings the sizes
of the clusters within their bounds. Starts in gaps cut along whichever of the single features, or
of many random directions, give intervals the smallest objectives (`loops.screening`).

Random directions lie in the space of the leading principal components, none of them preferred:
weights cost alike whatever a feature's spread, so a direction in which points spread far is cheap.
Gaps are also looked for in directions in which all features spread alike.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.arrays import Float, Int
from models.clusters.kmeans import KMeansEffort, scikit_run, squared_distances
from models.inputs.checks import count_distinct
from models.methods.features.growing.spectral import Spectral
from models.methods.margins.splitting.alternating import Problem, Weights
from models.numerics.transport import transport_plan
from models.running.progress import silent

Start = Literal["k-means", "spectral", "random", "features", "gaps"]
STARTS: tuple[Start, ...] = ("k-means", "spectral", "random", "features", "gaps")

EXACT: frozenset[Start] = frozenset({"features", "gaps"})
"""The starts from which alternations are exact: single steps would lose the gap."""

FOR_MEANS = 4096
FOR_SPECTRA = 512
"""Largest samples for k-means and spectral clustering."""

EFFORT = KMeansEffort(n_init=3, max_iter=100)
"""The effort of k-means in both."""

N_LEADING = 20
"""Number of principal components among which random directions are drawn."""

N_DIRECTIONS = 100
"""Number of random directions of each kind in which gaps are looked for."""

N_SCREENED = 4
"""Largest number of them, and of single features, from which a split starts."""


def started(problem: Problem, start: Start, rng: np.random.Generator) -> list[Int]:
    """(n,) clusters within the bounds on sizes; none where this kind of start gives none.

    Starts in gaps give up to `N_SCREENED` clusterings, the others give one.
    """
    if start == "features":
        return _intervals(problem, np.eye(_plain(problem).shape[1])) if _selects(problem) else []
    if start == "gaps":
        axes = _leading_axes(problem, N_DIRECTIONS, rng), _even_axes(problem, N_DIRECTIONS, rng)
        return _intervals(problem, np.vstack(axes))
    cost = {"k-means": _means, "spectral": _spectra, "random": _directions}[start](problem, rng)
    return [] if cost is None else [transport_plan(cost, problem.low, problem.high).cluster]


def swapped(problem: Problem, cluster: Int, share: float, rng: np.random.Generator) -> Int:
    """The clusters (n,) once a share of the points has changed places with others.

    The points are drawn; where sizes lie outside the bounds, as for the rows of a sample, they are
    brought within them first. O(N K log N).
    """
    cost = np.ones((problem.terms.n_clusters, cluster.size))
    cost[cluster, np.arange(cluster.size)] = 0.0
    result = transport_plan(cost, problem.low, problem.high).cluster.copy()
    # With sizes about equal, a point keeps its cluster with probability 1 / K.
    drawn_share = min(1.0, share * len(cost) / (len(cost) - 1))
    drawn = rng.choice(cluster.size, max(2, round(drawn_share * cluster.size)), replace=False)
    result[drawn] = result[rng.permutation(drawn)]
    return result


def _plain(problem: Problem) -> Float:
    return problem.points[:, :-1] if problem.terms.intercept else problem.points


def sample(n_points: int, most: int, rng: np.random.Generator) -> Int:
    """Ascending numbers of up to `most` points."""
    if n_points <= most:
        return np.arange(n_points)
    return np.sort(rng.choice(n_points, most, replace=False))


def _means(problem: Problem, rng: np.random.Generator) -> Float | None:
    k, rows = problem.terms.n_clusters, _plain(problem)
    few = rows[sample(len(rows), FOR_MEANS, rng)]
    if count_distinct(few, k) < k:
        return None
    run = scikit_run(few, k, "k-means++", EFFORT, int(rng.integers(2**31)))
    return squared_distances(rows, run.centers).T


def _spectra(problem: Problem, rng: np.random.Generator) -> Float | None:
    from models.methods.margins.splitting.loops import objective

    k = problem.terms.n_clusters
    few = sample(len(problem.points), FOR_SPECTRA, rng)
    spectral = Spectral(k, 5, EFFORT, rng, 1, silent)
    split = spectral.split(_plain(problem)[few])
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
    rows, axes = _plain(problem), _leading_axes(problem, problem.terms.n_clusters, rng)
    cost: Float = -(axes @ rows.T - (axes @ rows.mean(axis=0))[:, None])
    return cost


def _leading_axes(problem: Problem, n_axes: int, rng: np.random.Generator) -> Float:
    """(n_axes, P) random directions in the space of the leading principal components.

    O(N P) for up to `N_LEADING` features, else O(N P N_LEADING).
    """
    from sklearn.utils.extmath import randomized_svd

    rows = _plain(problem)
    n_features = rows.shape[1]
    if n_features <= N_LEADING:
        return rng.normal(size=(n_axes, n_features))
    n_leading = min(N_LEADING, len(rows))
    centred = rows - rows.mean(axis=0)
    _, _, leading = randomized_svd(
        centred,
        n_leading,
        n_iter=2,
        # Unnormalised powers of large features would overflow.
        power_iteration_normalizer="QR",
        random_state=int(rng.integers(2**31)),
    )
    axes: Float = rng.normal(size=(n_axes, n_leading)) @ leading
    return axes


def _even_axes(problem: Problem, n_axes: int, rng: np.random.Generator) -> Float:
    """(n_axes, P) random directions in which all features spread alike."""
    spread = _plain(problem).std(axis=0)
    axes: Float = rng.normal(size=(n_axes, spread.size)) / np.where(spread > 0, spread, 1.0)
    return axes


def _selects(problem: Problem) -> bool:
    """Whether the penalty selects features: if not, a single one is no likely optimum."""
    return bool(problem.penalty.l1.any() or problem.penalty.l2.any())


def _intervals(problem: Problem, axes: Float) -> list[Int]:
    """Intervals along the rows of `axes` (n_axes, P) that give them the smallest objectives."""
    from models.methods.margins.splitting.loops import screening

    penalty, k, rows = problem.penalty, problem.terms.n_clusters, _plain(problem)
    n_features = rows.shape[1]
    along, length = rows @ axes.T, np.abs(axes)
    value = screening.screened(
        along,
        problem.low,
        problem.high,
        k,
        length @ penalty.l1[:n_features],
        length @ penalty.l2[:n_features],
        length**2 @ penalty.ridge[:n_features],
    )
    clusterings = []
    for axis in np.argsort(value, kind="stable")[:N_SCREENED]:
        if np.isfinite(value[axis]):
            order = np.argsort(along[:, axis], kind="stable")
            cut = np.empty(k + 1, dtype=np.int64)
            screening.cuts(along[order, axis], problem.low, problem.high, k, cut)
            cluster = np.empty(len(rows), dtype=np.int64)
            cluster[order] = np.repeat(np.arange(k), np.diff(cut))
            clusterings.append(cluster)
    return clusterings
