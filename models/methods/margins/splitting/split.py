"""A node split from several starts; the result with the lowest objective is kept.

From the best of the starts the search goes on: `SHARE` of its points change clusters, and the
alternation continues from there; it ends when `n_swaps` such attempts in turn have lowered the
objective by less than `ENOUGH` (an iterated local search).

For a node with more than `FEW` points, starts and swaps run on a sample of this size; their weights
then assign all points, and the alternation continues from the best result with all of them.

Its starts are initial clusters: by k-means, by spectral clustering, along directions, in gaps. The
first two use a sample where there are many points: k-means assigns every point to the nearest
centre, spectral clustering by the weights that separate the sample. The flow then brings the sizes
of the clusters within their bounds. Starts in gaps cut along whichever of the single features, or
of many random directions, give intervals the smallest objectives (`loops`).

Random directions lie in the space of the leading principal components, none of them preferred:
weights cost alike whatever a feature's spread, so a direction in which points spread far is cheap.
Gaps are also looked for in directions in which all features spread alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.clusters.kmeans import KMeansEffort, scikit_run, squared_distances
from models.inputs.checks import count_distinct
from models.methods.features.growing.spectral import Spectral
from models.methods.margins.splitting import objective
from models.methods.margins.splitting.alternating import (
    Alternation,
    Problem,
    Terms,
    Weights,
    alternate,
    shared_out,
)
from models.methods.margins.splitting.objective import Ancestors
from models.methods.margins.splitting.tasks import Tick, in_threads
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
    from models.methods.margins.splitting import loops as objective

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
    from models.methods.margins.splitting import loops

    penalty, k, rows = problem.penalty, problem.terms.n_clusters, _plain(problem)
    n_features = rows.shape[1]
    along, length = rows @ axes.T, np.abs(axes)
    value = loops.screened(
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
            loops.cuts(along[order, axis], problem.low, problem.high, k, cut)
            cluster = np.empty(len(rows), dtype=np.int64)
            cluster[order] = np.repeat(np.arange(k), np.diff(cut))
            clusterings.append(cluster)
    return clusterings


FEW = 4096
"""Most points of a node whose starts run on all of them."""

SHARE = 0.3
"""Share of the points that change clusters in a swap."""

ENOUGH = 1e-3
"""Relative decrease of the objective below which a swap counts as vain."""

Obstacle = Literal["small", "deep", "equal", "weightless"]
OBSTACLES: tuple[Obstacle, ...] = ("small", "deep", "equal", "weightless")
"""Why a leaf is not split: fewer points than `min_size`, at the depth limit, fewer distinct points
than clusters, or weights that are all 0."""


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """The effort to find the best split.

    starts : the kinds of starts. n_swaps : swaps that may be vain in turn.
    bounds : bounds on sizes that are tried besides the terms' bounds.
    """

    starts: tuple[Start, ...]
    n_swaps: int
    bounds: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeToSplit:
    """A node to be split.

    seed : of its random draws, the same for the same node of the same tree.
    """

    rows: Array
    above: Ancestors
    seed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MarginSplit:
    """A node split into clusters.

    cluster : (n,). weights : (K, P). intercept, price : (K,). margin : (n,) score of a point in its
    own cluster minus its best score in another.
    objective : eq. 5. score : eq. 4. group, exclusive : G and E. overlap, sparsity : see
    `splitting.objective`. residual, ended : see `Alternation`. start : the kind of start.
    """

    cluster: Int
    weights: Float
    intercept: Float
    price: Float
    margin: Float
    objective: float
    score: float
    group: float
    exclusive: float
    overlap: float
    sparsity: float
    residual: float
    ended: bool
    n_steps: int
    mean_margin: float
    start: Start

    def bare(self) -> MarginSplit:
        """The split without its arrays over points."""
        none = np.empty(0, dtype=np.int64)
        return replace(self, cluster=none, margin=none.astype(np.float64))


_ARRAYS = ("weights", "intercept", "price")
_NUMBERS = (
    "objective", "score", "group", "exclusive", "overlap", "sparsity", "residual", "ended",
    "n_steps", "mean_margin",
)  # fmt: skip


def stacked(splits: Sequence[MarginSplit], n_clusters: int, n_features: int) -> Arrays:
    """The splits as arrays, (n_splits, ...) each, without their arrays over points."""
    shapes = ((n_clusters, n_features), (n_clusters,), (n_clusters,))
    arrays: dict[str, Array] = {
        name: np.array([getattr(split, name) for split in splits]).reshape(len(splits), *shape)
        for name, shape in zip(_ARRAYS, shapes, strict=True)
    }
    for name in _NUMBERS:
        arrays[name] = np.array([getattr(split, name) for split in splits], dtype=np.float64)
    arrays["start"] = np.array([STARTS.index(split.start) for split in splits], dtype=np.int64)
    return arrays


def unstacked(arrays: Arrays) -> list[MarginSplit]:
    """The splits of `stacked`."""
    no_points = np.empty(0, dtype=np.int64)
    splits = []
    for number, start in enumerate(arrays["start"].tolist()):
        facts: dict[str, Any] = {name: float(arrays[name][number]) for name in _NUMBERS}
        facts.update(ended=bool(facts["ended"]), n_steps=int(facts["n_steps"]))
        facts.update({name: arrays[name][number] for name in _ARRAYS})
        splits.append(
            MarginSplit(
                no_points, margin=no_points.astype(np.float64), start=STARTS[start], **facts
            )
        )
    return splits


def split_all(
    nodes: Sequence[NodeToSplit], terms: Terms, search: SearchEffort, threads: int, tick: Tick
) -> list[MarginSplit | Obstacle]:
    """The split of each node, or the obstacle to it.

    The split with the highest score, within several bounds on sizes, is kept; ties go to the bounds
    of the terms.
    """
    splits = _split_within(nodes, terms, search, threads, tick)
    for least, most in search.bounds:
        other_terms = replace(terms, least=least, most=most)
        others = _split_within(nodes, other_terms, search, threads, tick)
        splits = [_better(split, other) for split, other in zip(splits, others, strict=True)]
    return splits


def _better(split: MarginSplit | Obstacle, other: MarginSplit | Obstacle) -> MarginSplit | Obstacle:
    if not isinstance(other, MarginSplit):
        return split
    if isinstance(split, MarginSplit) and split.score >= other.score:
        return split
    return other


def _split_within(
    nodes: Sequence[NodeToSplit], terms: Terms, search: SearchEffort, threads: int, tick: Tick
) -> list[MarginSplit | Obstacle]:
    def begin(node: NodeToSplit, tick: Tick) -> Problem | None:
        tick()
        if count_distinct(node.rows, terms.n_clusters) < terms.n_clusters:
            return None
        return Problem.of(node.rows, terms, node.above)

    problems = in_threads([partial(begin, node) for node in nodes], threads, tick)
    attempts: list[Callable[[Tick], Alternation | None]] = []
    origin: list[tuple[int, Start]] = []
    for number, problem in enumerate(problems):
        if problem is not None:
            for place, start in enumerate(search.starts):
                rng = np.random.default_rng([*nodes[number].seed, place])
                attempts.append(partial(_followed, problem, start, rng))
                origin.append((number, start))
    ends: list[list[tuple[Start, Alternation]]] = [[] for _ in nodes]
    results = in_threads(attempts, threads, tick)
    for (number, start), end in zip(origin, results, strict=True):
        if end is not None:
            ends[number].append((start, end))
    each = zip(problems, ends, nodes, strict=True)
    finished = [
        partial(_finished, problem, ends, node, search.n_swaps) for problem, ends, node in each
    ]
    return in_threads(finished, threads, tick)


def _followed(
    problem: Problem, start: Start, rng: np.random.Generator, tick: Tick
) -> Alternation | None:
    """The result of one start; for many points that of a sample, applied to all points."""
    tick()
    n_points = len(problem.points)
    few = problem
    if n_points > FEW:
        few = problem.of_rows(sample(n_points, FEW, rng))
    ends = [
        alternate(few, cluster, tick, exact=start in EXACT) for cluster in started(few, start, rng)
    ]
    if few is not problem:
        ends = [shared_out(problem, end.weights) for end in ends]
    return min(ends, key=lambda end: end.objective, default=None)


def _disturbed(
    problem: Problem, best: Alternation, n_swaps: int, rng: np.random.Generator, tick: Tick
) -> Alternation:
    """The best result once `n_swaps` swaps in turn have been vain."""
    n_points, n_vain = len(problem.points), 0
    while n_vain < n_swaps:
        few, cluster = problem, best.cluster
        if n_points > FEW:
            rows = sample(n_points, FEW, rng)
            few, cluster = problem.of_rows(rows), cluster[rows]
        end = alternate(few, swapped(few, cluster, SHARE, rng), tick)
        if few is not problem:
            end = shared_out(problem, end.weights)
        n_vain = 0 if end.objective < (1.0 - ENOUGH) * best.objective else n_vain + 1
        if end.objective < best.objective:
            best = end
    return best


def _finished(
    problem: Problem | None,
    ends: list[tuple[Start, Alternation]],
    node: NodeToSplit,
    n_swaps: int,
    tick: Tick,
) -> MarginSplit | Obstacle:
    if problem is None:
        return "equal"
    start, best = min(ends, key=lambda end: end[1].objective)
    best = _disturbed(problem, best, n_swaps, np.random.default_rng([*node.seed, 1 << 20]), tick)
    if len(problem.points) > FEW:
        best = alternate(problem, best.cluster, tick, best.weights, exact=start in EXACT)
    weights, intercept = problem.plain(best.weights)
    if not weights.any():
        return "weightless"
    own = best.scores[best.cluster, np.arange(best.cluster.size)]
    others = best.scores.copy()
    others[best.cluster, np.arange(best.cluster.size)] = -np.inf
    margin = own - others.max(axis=0)
    above = node.above
    complexity = problem.terms.regularizer.complexity(weights, above)
    return MarginSplit(
        cluster=best.cluster,
        weights=weights,
        intercept=intercept,
        price=best.price,
        margin=margin,
        objective=best.objective,
        score=objective.score(own, complexity),
        group=objective.group(weights),
        exclusive=objective.exclusive(weights, above),
        overlap=objective.overlap(weights, above),
        sparsity=objective.sparsity(weights),
        residual=best.residual,
        ended=best.ended,
        n_steps=len(best.trace) - 1,
        mean_margin=float(margin.mean()),
        start=start,
    )
