"""Candidates compared by the new clusters that they find: the one with which the others agree most.

Validation learns from two thirds of the known clusters and is judged on the others; of few clusters
that are too few for either, and it prefers doing nothing. Here each candidate learns from all known
clusters and clusters the rows that are not labelled; the one is chosen whose clusters have the
highest mean normalized mutual information with the clusters of all others. What many ways find
is there; what one way finds alone is mostly its error. No label is looked at.

Source: the medoid of clusterings, as in Strehl and Ghosh, "Cluster Ensembles" (Journal of Machine
Learning Research 3, 2002), §2, whose objective is this mean over all clusterings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.methods.labelled.discovery.finding import find
from models.methods.labelled.discovery.mixture import Clusterer
from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.validation import MOST_ROWS, N_INIT, Candidate
from models.metrics.flat import contingency, nmi
from models.running.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Agreement:
    """means : (n_candidates,) the mean agreement with the others; 0 for one that finds nothing.

    best : number of the candidate chosen.
    """

    means: Float

    @property
    def best(self) -> int:
        return int(self.means.argmax())


def agree(
    known: KnownClusters,
    free: Array,
    n_new: int,
    candidates: Sequence[Candidate],
    clusterer: Clusterer,
    rng: np.random.Generator,
    progress: Progress,
    threads: int = 1,
) -> Agreement:
    """free : (n_free, p) the rows that are not labelled, of which at most `MOST_ROWS` are drawn.

    A candidate learns unless it has the `learn` of the one before. Cost: a run of `find` with
    `N_INIT` starts for each candidate.
    """
    if len(free) > MOST_ROWS:
        free = free[np.sort(rng.choice(len(free), MOST_ROWS, replace=False))]
    found: list[Int | None] = []
    learn, points = None, free
    for number, candidate in enumerate(candidates):
        progress(number / len(candidates), "comparing", candidate.name)
        if candidate.learn is not learn:
            learn, points = candidate.learn, free
            if learn is not None:
                points = points @ learn(known).T.astype(points.dtype)
        found.append(_clusters(points, n_new, candidate, clusterer, threads))
    alike = np.zeros((len(candidates), len(candidates)))
    for first, one in enumerate(found):
        for second, other in enumerate(found[:first]):
            if one is not None and other is not None:
                table = contingency(one, other, n_new, n_new)
                alike[first, second] = alike[second, first] = nmi(table) or 0.0
    return Agreement(alike.sum(axis=1) / max(len(candidates) - 1, 1))


def _clusters(
    points: Array, n_new: int, candidate: Candidate, clusterer: Clusterer, threads: int
) -> Int | None:
    """The clusters of the rows; None where too many rows fall together."""
    if not points.shape[1]:
        return None
    try:
        discovery = find(
            points,
            np.full(len(points), -1),
            n_new,
            clusterer=clusterer,
            may_join=False,
            n_init=N_INIT,
            # The same starts for all, so that they differ by what they learned.
            rng=np.random.default_rng(0),
            progress=silent,
            threads=threads,
            covariance=candidate.covariance,
        )
    except UsageError:
        return None
    return discovery.cluster
