"""Trees grown by k-means: how a node is split, and how new points descend.

At each split a point goes to the nearest centre. The probability of that step is the posterior of a
mixture of Gaussians around the split's centres, with equal weights and one spherical variance, the
mean squared distance to the centres divided by D; the probability of a path is the product.

k-means is `clusters.loops`: the best of some runs by the sum of squared distances. New points are
assigned by the same loop as the fitted ones, so these go where they were.

A node of more than `lloyd.WHOLE` values is split by the best run on a sample of its points, whose
centres go on over all of them, read by rows (`models.clusters.lloyd`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.clusters import lloyd
from models.clusters.kmeans import SMALLEST_VARIANCE, KMeansEffort, seeds
from models.inputs.checks import for_loops, require_width
from models.inputs.data import Data
from models.inputs.rows import ChosenRows, Rows
from models.method import Model, Predictions, Run, Shapes
from models.methods.features.growing.frontier import Choice, GrownTree, Split, grow
from models.numerics.rows import log_softmax
from models.running.progress import Progress, held_progress, subprogress
from models.tree.tree import Tree
from models.tree.walk import paths

NO_SQUARES = np.empty((0, 0))

LARGE = 1 << 20
"""Number of values from which a node's runs of k-means report progress one by one."""


def bytes_to_grow(shapes: Shapes, max_leaves: int) -> int:
    """Bytes that growing takes beyond the input 'features'; 0 where its shape is not known."""
    if len(shapes.get("features", ())) != 2:
        return 0
    n_points, n_features = shapes["features"]
    n_nodes = 2 * min(max_leaves, n_points)
    # The points of a node that is split as a whole, and where they are no floats the same as
    # floats; each node's centre and bookkeeping; the points' clusters, and distances to seeds.
    whole = 16 * min(n_points * n_features, lloyd.WHOLE)
    return whole + n_nodes * (16 * n_features + 1000) + 160 * n_points


class _Means:
    """Splits points by k-means into `branching` clusters, or fewer where fewer points are distinct.

    n_cut : nodes at which k-means reached `max_iter`. n_sampled : nodes split from a sample.
    """

    def __init__(
        self,
        branching: int,
        effort: KMeansEffort,
        rng: np.random.Generator,
        threads: int,
        progress: Progress,
    ) -> None:
        self._branching, self._effort, self._rng = branching, effort, rng
        self._threads, self._progress = threads, progress
        self.n_cut = self.n_sampled = 0

    def __call__(self, given: Rows) -> Split | None:
        held = lloyd.whole(given)
        if isinstance(held, Rows):
            return self._of_rows(held)
        points = for_loops(held)
        n_places, cluster, first = _places(points, self._branching)
        if n_places < 2:
            return None
        if n_places <= self._branching:
            centre, none = points[first].astype(np.float64), np.zeros(n_places)
            return Split(cluster, centre, none, none)
        best = self._best(points)
        self.n_cut += not best.ended
        return best.split()

    def _of_rows(self, points: Rows) -> Split | None:
        """From a sample, if it has enough distinct points: it holds millions of values."""
        sample = for_loops(lloyd.sampled(points, self._branching, self._rng))
        n_places, _, _ = _places(sample, self._branching - 1)
        if n_places < self._branching:
            return None
        self.n_sampled += 1
        first = self._best(sample)
        summing = lloyd.in_process(points, self._threads)
        end = lloyd.settle(points, first.centre, self._effort, summing, self._progress)
        self.n_cut += not end.ended
        return _End(end.centers, *_assigned(points, end.centers), end.ended).split()

    def _best(self, points: Array) -> _End:
        """The run with the least inertia of `n_init`."""
        from models.clusters import loops

        n_init, k = self._effort.n_init, self._branching
        until = self._effort.max_iter, self._effort.tol, loops.variance(points)
        best: _End | None = None
        for run in range(n_init):
            if points.size > LARGE:
                self._progress(run / n_init, "fitting", f"run {run + 1} of {n_init}")
            centre = seeds(points, k, self._rng)
            end = _End(centre, *loops.settle(points, centre, *until))
            if best is None or end.inertia.sum() < best.inertia.sum():
                best = end
        assert best is not None
        return best


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a run of k-means, as of `loops.settle`."""

    centre: Float
    cluster: Int
    size: Int
    distance: Float
    inertia: Float
    ended: bool

    def split(self) -> Split | None:
        """Without the clusters that have no point; None where one has all."""
        used = self.size > 0
        if used.all():
            return Split(self.cluster, self.centre, self.distance, self.inertia)
        if used.sum() < 2:
            return None
        number = np.cumsum(used) - 1
        return Split(
            number[self.cluster], self.centre[used], self.distance[used], self.inertia[used]
        )


def _places(points: Array, most: int) -> tuple[int, Int, Int]:
    """As `loops.places`: the number, and for each point and for each place."""
    from models.clusters import loops

    cluster, first = np.empty(len(points), np.int64), np.empty(most, np.int64)
    n_places = loops.places(points, most, cluster, first)
    return n_places, cluster, first[:n_places]


def _assigned(
    points: Rows, centre: Float, squares: Float = NO_SQUARES
) -> tuple[Int, Int, Float, Float]:
    """As `loops.assign`, by blocks: (N,) cluster, (K,) sizes, sums of distances and of squares.

    squares : (N, K), filled in, or empty.
    """
    from models.clusters import loops

    cluster, size = np.zeros(points.shape[0], np.int64), np.zeros(len(centre), np.int64)
    distance, inertia = np.zeros(len(centre)), np.zeros(len(centre))
    for block in row_blocks(points.shape[0], max(points.shape[1], len(centre))):
        rows = for_loops(points.values(block.start, block.stop))
        loops.assign(
            rows, centre, cluster[block], squares[block], NO_SQUARES, size, distance, inertia
        )
    return cluster, size, distance, inertia


def grow_by_means(
    points: Rows,
    choice: Choice,
    branching: int,
    max_leaves: int,
    effort: KMeansEffort,
    run: Run,
) -> tuple[GrownTree, tuple[str, ...]]:
    """The tree with at most `max_leaves` leaves, split by k-means at each node, and warnings."""
    whole, within = held_progress(subprogress(run.progress, 0.05, 0.95))
    split = _Means(branching, effort, run.rng, run.threads, within)
    grown = grow(points, split, choice, max_leaves, whole)
    notes = []
    if split.n_sampled:
        notes.append(
            f"{split.n_sampled} node(s) are too large to be split as a whole: the n_init = "
            f"{effort.n_init} runs were made on a sample of the node's points, and the best was "
            "continued over all of them."
        )
    if split.n_cut:
        notes.append(
            f"k-means was stopped after max_iter = {effort.max_iter} iterations, before it "
            f"converged, at {split.n_cut} node(s)."
        )
    return grown, tuple(notes)


def model_of(grown: GrownTree, n_features: int) -> Model:
    """The model for `descend`: the centre of each node and the variance of each split."""
    below = np.bincount(grown.parent[1:], grown.inertia[1:], grown.parent.size)
    # The mean squared distance between a split's centres and the node's own, for the floor.
    apart = ((grown.centre[1:] - grown.centre[grown.parent[1:]]) ** 2).sum(axis=1)
    spread = np.bincount(grown.parent[1:], apart, grown.parent.size)
    variance = np.maximum(below / (grown.size * n_features), SMALLEST_VARIANCE * spread)
    return Model(arrays={"centers": grown.centre, "variance": np.where(variance > 0, variance, 1)})


def descend(model: Model, tree: Tree, data: Data) -> Predictions:
    """New rows of the input 'features', placed at the leaves that they reach."""
    features = data.rows("features")
    centre, variance = model.arrays["centers"], model.arrays["variance"]
    require_width(features, centre.shape[1])
    lloyd.require_usable_points(features)
    first, child = tree.children
    leaf = np.zeros(features.shape[0], dtype=np.int64)
    step_into: dict[int, tuple[Int, Float]] = {}
    at: dict[int, Int] = {0: np.arange(features.shape[0])}
    for node in range(tree.n_nodes):
        rows = at.pop(node, None)
        if rows is None or not rows.size:
            continue
        below = child[first[node] : first[node + 1]]
        if not below.size:
            leaf[rows] = node
            continue
        squared = np.empty((rows.size, below.size))
        near, *_ = _assigned(ChosenRows(features, rows), centre[below], squared)
        log = log_softmax(squared / (-2.0 * variance[node]))[np.arange(rows.size), near]
        for number, below_node in enumerate(below.tolist()):
            at[below_node] = rows[near == number]
            step_into[below_node] = at[below_node], log[near == number]
    start, node_on_path = paths(tree, leaf)
    # The logarithm of each step, at the position of the node that it leads to.
    step = np.zeros(node_on_path.size)
    depth = tree.depth
    for node, (rows, log) in step_into.items():
        step[start[rows] + depth[node]] = log
    total = np.cumsum(step)
    total -= np.repeat(total[start[:-1]] - step[start[:-1]], np.diff(start))
    probability = np.maximum(np.exp(np.minimum(total, 0.0)), np.finfo(np.float64).tiny)
    return Predictions(leaf, start, node_on_path, probability)
