"""BIRCH's tree of subclusters, by scikit-learn, grown from rows or joined from several trees.

Few rows are taken one after the other by this process. Where there are many, `WHOLE` values, they
are cut into shares, which a crew's pieces sum up in trees of their own; what is left of each, the
number of rows, the sum and the sum of squares of each subcluster, is then taken up by one tree,
subcluster by subcluster in the order of the shares, by the same rule as rows. Shares follow from
the shape alone, so neither pieces nor workers nor threads change a digit.

Source: Zhang, Ramakrishnan and Livny (1996): summaries of subclusters add up, so that a tree takes
up another one's subclusters as it takes up points. Cost beside the trees of the shares: L
insertions for each share, L its subclusters; on the wire 8 L (D + 2) bytes from each share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.arrays import Array, Arrays, Float, Int, row_blocks
from models.clusters import row_sums
from models.clusters.kmeans import squared_distances
from models.running.progress import Crew, Piece, Progress, silent

WHOLE = 1 << 24
"""Values of features that are summed up, and placed, by one process, at most."""

SHARES = 16
"""The number of shares, at most: what one process joins grows with them."""

BATCH = 1000
"""Rows, or subclusters, between two reports of progress."""


def grown(
    features: Array, mean: Float, threshold: float, branching: int, most: int, progress: Progress
) -> Any:
    """scikit-learn's estimator, the rows less `mean` taken one by one; None as soon as it has more
    than `most` subclusters."""
    from sklearn import config_context

    tree = _empty(threshold, branching)
    n_points = len(features)
    for start in range(0, n_points, BATCH):
        detail = f"{start:,} of {n_points:,} points, threshold {threshold:.4g}"
        progress(0.05, "summing up", detail)
        with config_context(assume_finite=True):
            tree.partial_fit(features[start : start + BATCH] - mean)
        if len(tree.subcluster_centers_) > most:
            return None
    return tree


def joined(
    features: Array,
    mean: Float,
    threshold: float,
    branching: int,
    most: int,
    crew: Crew,
    progress: Progress,
) -> Any:
    """As `grown`, from the trees of shares by a crew, whose pieces answer with `piece`."""
    n_shares = len(cut(features.shape))
    progress(0.05, "summing up", f"threshold {threshold:.4g}")
    options = {"task": "grow", "threshold": threshold, "branching": branching, "most": most}
    parts = list(row_sums.sums_of_shares(crew, n_shares, {"mean": mean}, options))
    if not all(part["count"].size for part in parts):
        return None
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return _taken_up(whole, threshold, branching, most, progress)


def placed(features: Array, centres: Float, crew: Crew) -> tuple[Int, float]:
    """As `nearest_centre`, the rows in shares where they are many."""
    if not is_large(features.shape):
        return nearest_centre(features, centres)
    n_shares = len(cut(features.shape))
    parts = list(row_sums.sums_of_shares(crew, n_shares, {"centres": centres}, {"task": "place"}))
    near = np.concatenate([part["near"] for part in parts]).astype(np.int64)
    return near, float(sum(float(part["total"][0]) for part in parts))


def piece(features: Array, given: Piece, threads: int, progress: Progress) -> Arrays:
    """For each share of a piece count, total and square of its subclusters, empty where there are
    more than `most`; or near and total of its rows."""
    shared = row_sums.shared_of(given)

    def summed(share: tuple[int, int]) -> Arrays:
        threshold, branching = float(given["threshold"]), int(given["branching"])
        rows = features[share[0] : share[1]]
        tree = grown(rows, shared["mean"], threshold, branching, int(given["most"]), within)
        return _left_of(tree, features.shape[1])

    def nearest(share: tuple[int, int]) -> Arrays:
        near, total = nearest_centre(features[share[0] : share[1]], shared["centres"])
        return {"near": near.astype(np.int32), "total": np.array([total])}

    def within(fraction: float, stage: str, message: str = "") -> None:
        progress(0.0, stage)

    of_share = summed if given["task"] == "grow" else nearest
    # Trees grow in Python, which has one thread at a time.
    n_threads = 1 if given["task"] == "grow" else threads
    return row_sums.piece(given, cut(features.shape), of_share, progress, n_threads)


def is_large(shape: tuple[int, ...]) -> bool:
    """Whether rows are summed up and placed in shares."""
    return shape[0] * shape[1] > WHOLE


def cut(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Where each share begins and ends."""
    n_bytes = row_sums.SHARE_BYTES // SHARES
    return row_sums.shares(shape[0], n_bytes, shape[1])


def nearest_centre(points: Array, centres: Float) -> tuple[Int, float]:
    """(n_points,) the nearest centre of each point, and the sum of the squared distances.

    O(N L D) time, without an (N, L) matrix.
    """
    nearest = np.empty(len(points), dtype=np.int64)
    total = 0.0
    for block in row_blocks(len(points), max(len(centres), points.shape[1]), 1 << 20):
        squared = squared_distances(points[block], centres)
        nearest[block] = squared.argmin(axis=1)
        total += float(squared[np.arange(len(squared)), nearest[block]].sum())
    return nearest, total


def _empty(threshold: float, branching: int) -> Any:
    from sklearn.cluster import Birch

    return Birch(
        threshold=threshold, branching_factor=branching, n_clusters=None, compute_labels=False
    )


def _left_of(tree: Any, n_features: int) -> Arrays:
    """The subclusters of a tree's leaves from left to right: count (L,), total (L, D), square
    (L,)."""
    leaves = [] if tree is None else tree._get_leaves()
    parts = [part for leaf in leaves for part in leaf.subclusters_]
    return {
        "count": np.array([part.n_samples_ for part in parts], dtype=np.float64),
        "total": np.array([part.linear_sum_ for part in parts]).reshape(-1, n_features),
        "square": np.array([part.squared_sum_ for part in parts], dtype=np.float64),
    }


def _taken_up(
    parts: Arrays, threshold: float, branching: int, most: int, progress: Progress = silent
) -> Any:
    """The tree that takes up subclusters in their order; None if it has more than `most`."""
    from sklearn import config_context
    from sklearn.cluster import _birch

    tree, n_parts = _empty(threshold, branching), len(parts["count"])
    for number in range(n_parts):
        count, total, square = (parts[name][number] for name in ("count", "total", "square"))
        if number == 0:
            # scikit-learn begins a tree with a row, which then gets the first summary.
            with config_context(assume_finite=True):
                tree.partial_fit((total / count)[None])
            tree.root_.subclusters_.clear()
        part = _birch._CFSubcluster(linear_sum=total / count)
        part.n_samples_, part.linear_sum_, part.squared_sum_ = count, total.copy(), square
        if tree.root_.insert_cf_subcluster(part):
            halves = _birch._split_node(tree.root_, threshold, branching)
            tree.root_ = _birch._CFNode(
                threshold=threshold,
                branching_factor=branching,
                is_leaf=False,
                n_features=len(total),
                dtype=np.float64,
            )
            for half in halves:
                tree.root_.append_subcluster(half)
        if number % BATCH == BATCH - 1 or number == n_parts - 1:
            progress(0.05, "joining", f"{number + 1:,} of {n_parts:,} subclusters")
            if sum(len(leaf.subclusters_) for leaf in tree._get_leaves()) > most:
                return None
    return tree
