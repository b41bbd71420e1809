"""A node split from several starts; the one with the least objective is kept.

Of a node with more than `FEW` points the starts are followed on a sample of so many; their weights
then share out all points, and from the best of these the alternation goes on with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.checks import count_distinct
from models.methods.margins.splitting import objective
from models.methods.margins.splitting.alternating import (
    Found,
    Problem,
    Terms,
    alternate,
    shared_out,
)
from models.methods.margins.splitting.objective import Above
from models.methods.margins.splitting.starts import STARTS, Start, sample, started
from models.methods.margins.splitting.tasks import Tick, in_threads

FEW = 4096

Obstacle = Literal["small", "deep", "equal", "weightless"]
OBSTACLES: tuple[Obstacle, ...] = ("small", "deep", "equal", "weightless")
"""Why a leaf is not split: fewer points than asked for, at the depth limit, fewer distinct points
than clusters, or weights that are all 0."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node to be split.

    seed : of its draws: the same for the same node of the same tree.
    """

    rows: Array
    above: Above
    seed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A node in clusters.

    cluster : (n,). weights : (K, P). intercept, price : (K,). margin : (n,) by how much a point's
    score in its cluster exceeds its best other one.
    objective : eq. 5. score : eq. 4. group, exclusive : G and E. overlap, sparsity : see
    `splitting.objective`. residual, ended, trace : see `Found`. start : where it began.
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

    def bare(self) -> Split:
        """Without what it says of single points."""
        none = np.empty(0, dtype=np.int64)
        return replace(self, cluster=none, margin=none.astype(np.float64))


_ARRAYS = ("weights", "intercept", "price")
_NUMBERS = (
    "objective", "score", "group", "exclusive", "overlap", "sparsity", "residual", "ended",
    "n_steps", "mean_margin",
)  # fmt: skip


def stacked(splits: Sequence[Split], n_clusters: int, n_features: int) -> Arrays:
    """Splits as arrays, (n_splits, ...) each, without what they say of single points."""
    shapes = ((n_clusters, n_features), (n_clusters,), (n_clusters,))
    found: dict[str, Array] = {
        name: np.array([getattr(one, name) for one in splits]).reshape(len(splits), *shape)
        for name, shape in zip(_ARRAYS, shapes, strict=True)
    }
    for name in _NUMBERS:
        found[name] = np.array([getattr(one, name) for one in splits], dtype=np.float64)
    found["start"] = np.array([STARTS.index(one.start) for one in splits], dtype=np.int64)
    return found


def unstacked(arrays: Arrays) -> list[Split]:
    """The splits of `stacked`."""
    none = np.empty(0, dtype=np.int64)
    found = []
    for number, start in enumerate(arrays["start"].tolist()):
        facts: dict[str, Any] = {name: float(arrays[name][number]) for name in _NUMBERS}
        facts.update(ended=bool(facts["ended"]), n_steps=int(facts["n_steps"]))
        facts.update({name: arrays[name][number] for name in _ARRAYS})
        found.append(Split(none, margin=none.astype(np.float64), start=STARTS[start], **facts))
    return found


def split_all(
    nodes: Sequence[Node], terms: Terms, starts: Sequence[Start], threads: int, tick: Tick
) -> list[Split | Obstacle]:
    """Each node split, or why it is not."""

    def begin(node: Node, tick: Tick) -> Problem | None:
        tick()
        if count_distinct(node.rows, terms.n_clusters) < terms.n_clusters:
            return None
        return Problem.of(node.rows, terms, node.above)

    problems = in_threads([partial(begin, node) for node in nodes], threads, tick)
    followed: list[Callable[[Tick], Found | None]] = []
    of: list[tuple[int, Start]] = []
    for number, problem in enumerate(problems):
        if problem is not None:
            for place, start in enumerate(starts):
                rng = np.random.default_rng([*nodes[number].seed, place])
                followed.append(partial(_followed, problem, start, rng))
                of.append((number, start))
    found: list[list[tuple[Start, Found]]] = [[] for _ in nodes]
    for (number, start), one in zip(of, in_threads(followed, threads, tick), strict=True):
        if one is not None:
            found[number].append((start, one))
    each = zip(problems, found, nodes, strict=True)
    finished = [partial(_finished, problem, ones, node.above) for problem, ones, node in each]
    return in_threads(finished, threads, tick)


def _followed(problem: Problem, start: Start, rng: np.random.Generator, tick: Tick) -> Found | None:
    """Where a start leads; on a sample of many points, and then all points by those weights."""
    tick()
    n_points = len(problem.points)
    few = problem
    if n_points > FEW:
        few = problem.of_rows(sample(n_points, FEW, rng))
    cluster = started(few, start, rng)
    if cluster is None:
        return None
    found = alternate(few, cluster, tick)
    return found if few is problem else shared_out(problem, found.weights)


def _finished(
    problem: Problem | None, found: list[tuple[Start, Found]], above: Above, tick: Tick
) -> Split | Obstacle:
    if problem is None:
        return "equal"
    start, best = min(found, key=lambda one: one[1].objective)
    if len(problem.points) > FEW:
        best = alternate(problem, best.cluster, tick, best.weights)
    weights, intercept = problem.plain(best.weights)
    if not weights.any():
        return "weightless"
    own = best.scores[best.cluster, np.arange(best.cluster.size)]
    others = best.scores.copy()
    others[best.cluster, np.arange(best.cluster.size)] = -np.inf
    margin = own - others.max(axis=0)
    complexity = problem.terms.regularizer.complexity(weights, above)
    return Split(
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
