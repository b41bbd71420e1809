"""Mini-batches over shares of rows by a crew, for features too large to be passed over by one.

In a pass each share of the rows goes its own way: it starts from the same centres, each of which
weighs as the rows that it took up before, divided by the number of shares, and moves them by its
batches, each centre to the mean of all that it took up. The centres after the pass are the means of
the shares' centres, weighted by the rows behind them, so each is still the mean of all rows that it
took up, whichever share they lie in. With a single share these are mini-batches as one process
makes them.

Shares follow from the shape alone, and draws from the seed, the pass and the share, so neither
pieces nor workers nor threads change a digit; the centres are the checkpoint. Before each further
pass a centre with few rows is moved to a random row of the sample, as one process does within its
passes.

Source: Sculley, "Web-scale k-means clustering" (2010), for the step; Zinkevich et al.,
"Parallelized Stochastic Gradient Descent" (2010), for the means over shares. Cost of a pass:
O(N K D). Memory: a pool of `POOL` values for each thread. On the wire: 8 K (D + 1) bytes to each
worker and from each share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.clusters import lloyd, row_sums
from models.clusters.kmeans import total_inertia
from models.inputs.checks import Points, require_usable
from models.inputs.rows import Rows
from models.method import Run
from models.running.progress import Piece, Progress

WHOLE = lloyd.WHOLE
"""Values of features that are passed over by one process, at most."""

POOL = 1 << 22
"""Values of a share that are read and shuffled at a time."""


@dataclass(frozen=True, slots=True)
class Effort:
    """batch_size : rows of a batch. tol : the passes end when one lowers the inertia of the sample
    by less than this share. few : a centre with fewer rows than this share of the largest's moves.
    """

    batch_size: int
    max_iter: int
    tol: float
    few: float


def in_shares(features: Points) -> bool:
    """Whether passes are made over shares."""
    return isinstance(features, Rows) and features.shape[0] * features.shape[1] > WHOLE


def refined(
    features: Rows, centers: Float, drawn: Array, effort: Effort, run: Run, progress: Progress
) -> tuple[Float, int, bool]:
    """Centres after the passes, the number of passes, and whether the inertia settled.

    drawn : the sample, by whose inertia the passes end.

    Raises UsageError for values that cannot be used.
    """
    n_clusters = len(centers)
    seed = int(run.rng.integers(2**31))
    cut = _cut(features, n_clusters)
    start = {
        "centers": centers,
        "count": np.zeros(n_clusters),
        "turn": np.zeros(1),
        "inertia": np.array([total_inertia(drawn, centers)]),
        "gain": np.ones(1),
    }

    def iterate(before: row_sums.Estimate) -> tuple[row_sums.Estimate, float]:
        turn = int(before["turn"][0])
        centers, count = before["centers"], before["count"]
        if turn:
            centers, count = _moved(centers, count, drawn, effort.few, (seed, turn))
        options = {"seed": seed, "turn": turn, "batch_size": effort.batch_size}
        shared = {"centers": centers, "count": count / len(cut)}
        sums = row_sums.total(row_sums.sums_of_shares(run.crew, len(cut), shared, options))
        filled = sums["count"] > 0
        after = centers.copy()
        after[filled] += sums["weighed"][filled] / sums["count"][filled, None]
        inertia = total_inertia(drawn, after)
        least = float(before["inertia"][0])
        gain = 1.0 - inertia / least if least else 0.0
        estimate = {
            "centers": after,
            "count": sums["count"],
            "turn": np.array([turn + 1]),
            "inertia": np.array([inertia]),
            "gain": np.array([gain]),
        }
        return estimate, -inertia

    end = row_sums.Climber(
        start=lambda number: start,
        iterate=iterate,
        settled=lambda now, values: float(now["gain"][0]) <= effort.tol,
        max_iter=effort.max_iter,
    ).best(1, run.checkpoint, progress, "moving centres")
    return end.estimate["centers"], len(end.values), end.ended


def piece(features: Rows, given: Piece, threads: int, progress: Progress) -> Arrays:
    """For each share of a piece, count : (K,) the rows behind each centre, weighed : (K, D) how far
    it moved, times count."""
    shared = row_sums.shared_of(given)
    centers, count = shared["centers"], shared["count"]
    draws, batch_size = (int(given["seed"]), int(given["turn"])), int(given["batch_size"])

    def of_share(share: tuple[int, tuple[int, int]]) -> Arrays:
        number, (start, stop) = share
        rng = np.random.default_rng([*draws, number])
        moved, behind = centers.copy(), count.copy()
        for batch in _batches(features, start, stop, batch_size, rng, checked=draws[1] > 0):
            step(batch, moved, behind)
        return {"count": behind, "weighed": (moved - centers) * behind[:, None]}

    cut = list(enumerate(_cut(features, len(centers))))
    return row_sums.piece(given, cut, of_share, progress, threads)


def step(batch: Array, centers: Float, count: Float) -> None:
    """Move each centre to the mean of the rows that it took up, in this batch too."""
    sums = lloyd.sums_of_rows(batch, centers)
    at, filled = lloyd.origin(centers), sums.size > 0
    count += sums.size
    part = sums.total[filled] - sums.size[filled, None] * (centers[filled] - at)
    centers[filled] += part / count[filled, None]


def _cut(features: Rows, n_clusters: int) -> list[tuple[int, int]]:
    n_rows, n_features = features.shape
    return row_sums.shares(n_rows, 8 * n_clusters * (n_features + 1), n_features)


def _batches(
    features: Rows,
    start: int,
    stop: int,
    batch_size: int,
    rng: np.random.Generator,
    *,
    checked: bool,
) -> Iterator[Array]:
    """The rows [start, stop) once, from pools in random order, each of them shuffled."""
    n_rows = max(batch_size, POOL // features.shape[1])
    for first in (rng.permutation(-(-(stop - start) // n_rows)) * n_rows + start).tolist():
        pool = features.values(first, min(first + n_rows, stop))
        if not checked:
            require_usable(pool, first, features.shape[0])
        order = rng.permutation(len(pool))
        for at in range(0, len(order), batch_size):
            yield pool[order[at : at + batch_size]]


def _moved(
    centers: Float, count: Float, drawn: Array, few: float, draws: Sequence[int]
) -> tuple[Float, Float]:
    """Centres with few rows moved to random rows of the sample, as many at most as it has; they
    count as the least of the others."""
    low: Int = np.flatnonzero(count < few * count.max())[: len(drawn)]
    if not low.size:
        return centers, count
    rows = np.random.default_rng(draws).choice(len(drawn), low.size, replace=False)
    centers, count = centers.copy(), count.copy()
    centers[low] = drawn[rows]
    count[low] = np.delete(count, low).min()
    return centers, count
