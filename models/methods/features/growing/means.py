"""Trees grown by k-means: how a node is split, and how new points descend.

At each split a point goes to the nearest centre. The probability of that step is the posterior of a
mixture of Gaussians around the split's centres, with equal weights and one spherical variance, the
mean squared distance to the centres divided by D; the probability of a path is the product.

A node of more than `lloyd.WHOLE` values is split by the best run on a sample of its points, whose
centres go on over all of them, read by rows (`models.clusters.lloyd`).
"""

from __future__ import annotations

import warnings

import numpy as np

from models.arrays import Array, Float, Int
from models.checks import as_floats, count_distinct, distinct, require_width
from models.clusters import lloyd
from models.clusters.kmeans import KMeansEffort, best_run, squared_distances
from models.data import Data
from models.method import Model, Predictions, Run, Shapes
from models.methods.features.growing.frontier import Choice, GrownTree, Split, grow
from models.numerics.softmax import log_softmax
from models.progress import Progress, held_progress, subprogress
from models.rows import ChosenRows, Rows
from models.tree.tree import Tree
from models.tree.walk import paths

SMALLEST_VARIANCE = 1e-12
"""Smallest variance of a split, relative to that of its centres: for points that lie on them."""

LARGE = 1 << 20
"""Number of values from which a node's runs of k-means report progress one by one."""


def bytes_to_grow(shapes: Shapes, max_leaves: int) -> int:
    """Bytes that growing takes beyond the input 'features'; 0 where its shape is not known."""
    if len(shapes.get("features", ())) != 2:
        return 0
    n_points, n_features = shapes["features"]
    n_nodes = 2 * min(max_leaves, n_points)
    # The points of a node that is split as a whole, and the copy that k-means makes; each node's
    # centre and bookkeeping.
    whole = 16 * min(n_points * n_features, lloyd.WHOLE)
    return whole + n_nodes * (16 * n_features + 1000) + 80 * n_points


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
        points = lloyd.whole(given)
        if isinstance(points, Rows):
            return self._of_rows(points)
        n_distinct = count_distinct(points, self._branching + 1)
        if n_distinct < 2:
            return None
        if n_distinct <= self._branching:
            first, place = distinct(points)
            return Split.of(points, place, points[first].astype(np.float64))
        if points.size > LARGE:
            run = best_run(points, self._branching, self._effort, self._rng, self._progress)
            centres = run.centers
            self.n_cut += not run.ended
        else:
            centres = self._centres(points)
        return _split(points, centres)

    def _of_rows(self, points: Rows) -> Split | None:
        """From a sample, if it has enough distinct points: it holds millions of values."""
        sample = lloyd.sampled(points, self._branching, self._rng)
        if count_distinct(sample, self._branching) < self._branching:
            return None
        self.n_sampled += 1
        first = best_run(sample, self._branching, self._effort, self._rng, self._progress)
        summing = lloyd.in_process(points, self._threads)
        end = lloyd.settle(points, first.centers, self._effort, summing, self._progress)
        self.n_cut += not end.ended
        return _split(points, end.centers)

    def _centres(self, points: Array) -> Float:
        """As `best_run`, all runs in one call: with thousands of small nodes, calls dominate."""
        from sklearn.cluster import KMeans

        run = KMeans(
            n_clusters=self._branching,
            n_init=self._effort.n_init,
            max_iter=self._effort.max_iter,
            tol=self._effort.tol,
            random_state=int(self._rng.integers(2**31)),
        ).fit(as_floats(points))
        self.n_cut += run.n_iter_ >= self._effort.max_iter
        return np.asarray(run.cluster_centers_, dtype=np.float64)


def _split(points: Array | Rows, centres: Float) -> Split | None:
    cluster = squared_distances(points, centres).argmin(axis=1)
    used = np.bincount(cluster, minlength=len(centres)) > 0
    if used.sum() < 2:
        return None
    number = np.cumsum(used) - 1
    return Split.of(points, cluster if used.all() else number[cluster], centres[used])


def grow_by_means(
    points: Rows,
    choice: Choice,
    branching: int,
    max_leaves: int,
    effort: KMeansEffort,
    run: Run,
) -> tuple[GrownTree, tuple[str, ...]]:
    """The tree with at most `max_leaves` leaves, split by k-means at each node, and warnings."""
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    whole, within = held_progress(subprogress(run.progress, 0.05, 0.95))
    split = _Means(branching, effort, run.rng, run.threads, within)
    # With more threads the order of summation, hence the last digits, would vary between runs.
    with threadpool_limits(1), config_context(assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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
        squared = squared_distances(ChosenRows(features, rows), centre[below])
        near = squared.argmin(axis=1)
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
