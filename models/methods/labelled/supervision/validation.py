"""Candidates compared on known clusters that none of them has seen, and the choice of one.

The known clusters are split several times. From those on one side each candidate learns its
transformation; the rows of the others are transformed and clustered, and the partition is compared
with the truth (normalized mutual information). A candidate must be better than doing nothing, by
more than the standard error of the difference, or nothing is done.

`choose` takes one of several candidates by validation, or a cautious one where clusters are too few
for it.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.6, which tunes on a third of the
classes; here each known cluster takes part in learning and in validation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np

from models.arrays import Array, Float, Int
from models.methods.labelled.discovery.finding import find
from models.methods.labelled.discovery.mixture import Clusterer
from models.methods.labelled.discovery.shapes import Covariance
from models.methods.labelled.supervision.inputs import KnownClusters
from models.metrics.flat import contingency, nmi
from models.running.progress import Progress, silent
from models.running.threads import limited

FEWEST = 4
"""With fewer known clusters, two to learn from and two to compare on cannot be had."""

FEWEST_SPLITS, MOST_SPLITS = 6, 12
"""For `MOST_ROWS` rows, and for half as many or fewer, whose scores scatter more and cost less."""

HELD_OUT = 1 / 3
MOST_ROWS = 4000
N_INIT = 10

Learner = Callable[[KnownClusters], Float]
"""From known clusters to (r, D) L."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """name : for messages. learn : the transformation; None: rows stay as they are. covariance : of
    the clusters."""

    name: str
    learn: Learner | None
    covariance: Covariance = "spherical"


@dataclass(frozen=True, slots=True)
class Validated:
    """scores : (n_candidates, n_splits). best : number of the candidate chosen."""

    scores: Float
    best: int


def validate(
    known: KnownClusters,
    candidates: Sequence[Candidate],
    clusterer: Clusterer,
    rng: np.random.Generator,
    progress: Progress,
    threads: int = 1,
) -> Validated:
    """The candidates' scores and the choice; the first candidate does nothing.

    known : at least `FEWEST` clusters; of more than `MOST_ROWS` rows some are drawn.
    threads : splits at a time; with more than one, candidates learn at the same time.

    Cost: a candidate learns once a split, of which there are `FEWEST_SPLITS` to `MOST_SPLITS`, from
    two thirds of the clusters, unless it has the `learn` of the one before.
    """

    known = sample(known, MOST_ROWS, rng)
    n_splits = FEWEST_SPLITS * MOST_ROWS // known.code.size
    n_splits = max(FEWEST_SPLITS, min(MOST_SPLITS, n_splits))
    splits = _splits(known.n_clusters, n_splits, rng)
    scores = np.zeros((len(candidates), len(splits)))
    count, lock = itertools.count(), Lock()

    def begin(candidate: Candidate, place: int) -> None:
        with lock:
            done = next(count) / scores.size
            progress(done, "validating", f"{candidate.name}, split {place + 1} of {len(splits)}")

    def fill(place: int) -> None:
        learning, held_out = splits[place]
        part, others = known.some(learning), known.some(held_out)
        learn, points = None, others.points
        for number, candidate in enumerate(candidates):
            begin(candidate, place)
            if candidate.learn is not learn:
                learn, points = candidate.learn, others.points
                if learn is not None:
                    points = points @ learn(part).T.astype(points.dtype)
            scores[number, place] = score(
                points, others, clusterer, place, silent, candidate.covariance
            )

    with limited(1), ThreadPoolExecutor(threads) as pool:
        filled = [pool.submit(fill, place) for place in range(len(splits))]
        try:
            for one in filled:
                one.result()
        finally:
            pool.shutdown(cancel_futures=True)
    return Validated(scores, chosen(scores))


def chosen(scores: Float) -> int:
    """The best mean, if it is above the first's by more than the difference's standard error."""
    best = int(scores.mean(axis=1).argmax())
    apart = scores[best] - scores[0]
    error = float(apart.std(ddof=1)) / np.sqrt(apart.size) if apart.size > 1 else 0.0
    return best if float(apart.mean()) > error else 0


def score(
    points: Array,
    others: KnownClusters,
    clusterer: Clusterer,
    seed: int,
    progress: Progress,
    covariance: Covariance = "spherical",
) -> float:
    """The normalized mutual information of the likeliest partition with the truth; 0 where rows
    fall together."""
    if not points.shape[1] or np.unique(points, axis=0).shape[0] < others.n_clusters:
        return 0.0
    discovery = find(
        points,
        np.full(others.code.size, -1),
        others.n_clusters,
        clusterer=clusterer,
        may_join=False,
        n_init=N_INIT,
        rng=np.random.default_rng(seed),
        progress=progress,
        covariance=covariance,
    )
    n_clusters = others.n_clusters
    table = contingency(discovery.cluster, others.code, n_clusters, n_clusters)
    return nmi(table) or 0.0


def sample(known: KnownClusters, n_rows: int, rng: np.random.Generator) -> KnownClusters:
    """At most `n_rows` rows, the same share of each cluster, at least two of each that has them."""
    if known.code.size <= n_rows:
        return known
    kept: list[Int] = []
    for cluster in range(known.n_clusters):
        own = np.flatnonzero(known.code == cluster)
        size = max(min(2, own.size), round(own.size * n_rows / known.code.size))
        kept.append(rng.choice(own, size=size, replace=False))
    rows = np.sort(np.concatenate(kept))
    return KnownClusters(known.points[rows], known.code[rows], known.n_clusters)


def _splits(n_clusters: int, n_splits: int, rng: np.random.Generator) -> list[tuple[Int, Int]]:
    """(clusters to learn from, clusters held out), each held out about as often as any other."""
    n_held_out = max(2, round(HELD_OUT * n_clusters))
    splits: list[tuple[Int, Int]] = []
    while len(splits) < n_splits:
        order = rng.permutation(n_clusters)
        for start in range(0, n_clusters - n_held_out + 1, n_held_out):
            held_out = np.sort(order[start : start + n_held_out])
            splits.append((np.setdiff1d(order, held_out), held_out))
    return splits[:n_splits]


@dataclass(frozen=True, slots=True)
class Choice:
    """number : of the candidate. warnings, curves : what was chosen and why."""

    number: int
    warnings: tuple[str, ...]
    curves: dict[str, list[tuple[int, float]]]


def choose(
    known: KnownClusters,
    candidates: Sequence[Candidate],
    cautious: int,
    clusterer: Clusterer,
    rng: np.random.Generator,
    progress: Progress,
    threads: int = 1,
) -> Choice:
    """The candidate that validation chooses; the first does nothing.

    cautious : number of the candidate for fewer known clusters than `FEWEST`.
    threads : see `validate`, also for the cost.
    """
    if known.n_clusters < FEWEST:
        message = (
            f"{known.n_clusters} known clusters are too few to validate on ({FEWEST} are needed), "
            + (
                "so that no transformation was learned; a given 'regularizer' is learned still."
                if candidates[cautious].learn is None
                else f"so the transformation was learned with {candidates[cautious].name}."
            )
        )
        return Choice(cautious, (message,), {})
    validated = validate(known, candidates, clusterer, rng, progress, threads)
    means = validated.scores.mean(axis=1)
    message = (
        f"Chosen by validation on known clusters: {candidates[validated.best].name} (normalized "
        f"mutual information {means[validated.best]:.3f}, {means[0]:.3f} without a transformation)."
    )
    return Choice(validated.best, (message,), {"validation_nmi": list(enumerate(means.tolist()))})
