"""New rows in the clusters of HDBSCAN, as `approximate_predict` of the library hdbscan places
them, and the cluster that is nearest to a row of noise.

The tree stays unchanged. A new row x joins the point y of the fit with the smallest mutual
reachability distance max(core(y), core(x), d(x, y)) among its 2 `min_samples` nearest points. core
of x is its distance to the nearest point but `min_samples`, that of y to the `min_samples`-th
nearest point, y itself being the first; where the fit followed the graph of neighbours, it is that
of the fit. The density of x is 1 / that distance. x stays in the cluster from which y falls if it
is as dense as y then is, else it is in the lowest cluster above that began at a smaller density
than its own. It has the label of the chosen cluster that this one is or lies below; otherwise it is
noise. Its strength is its density over the largest in the cluster.

A row of noise is at the leaf of noise. If the fit gave noise to the nearest clusters, so do rows of
noise go there, with the strength 0. The cluster nearest to a row x of noise (`nearest_clusters`) is
that of the point y, among all points in chosen clusters, with the smallest mutual reachability
distance; of several the one with the smallest d(x, y), then the larger cluster. A core distance is
what the fit, or the placing of new rows, takes for it. Cost: for M rows the search of their few
nearest points; again with twice as many for the rows to which a further point may be nearer.

The library takes all rows for noise where the condensed tree is one cluster only. Here, if the root
is the chosen cluster, rows less dense than each of its points are noise, as in the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.clusters.placing import at_leaves
from models.graphs.nearest_points import (
    PointSearch,
    nearest_in_blocks,
    new_features,
    new_pairs,
)
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Model, Predictions
from models.methods.features.density.clusters import Condensed
from models.numerics.distances import DistanceMetric
from models.tree.noise import noise_leaves
from models.tree.tree import Tree

FIRST = 16
"""The nearest points that are looked at first."""

Found = Callable[[Int], tuple[Int, Float]]
"""For some rows, by number, the nearest of the points in clusters, by their place among these,
nearest first; and their distances. Both (n, width)."""

Search = Callable[[int], Found]
"""The search for so many nearest points, the width."""

Cores = Callable[[Int], Float]
"""The core distances of points, by number."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """label : (n_rows,) the nearest cluster. reach : (n_rows,) the distance to it."""

    label: Int
    reach: Float

    def within(self, most: float | None) -> Int:
        """(n_rows,) the nearest cluster, -1 where it is further than `most`; None: no limit."""
        return self.label if most is None else np.where(self.reach <= most, self.label, -1)


def nearest_clusters(core: Float, search: Search, points: Int, cores: Cores, label: Int) -> Nearest:
    """core : (n_rows,) of the rows. points : the numbers of the points in clusters, one or more.
    label : (n_points,) the cluster of each point of the fit.
    """
    found = Nearest(np.full(core.size, -1, dtype=np.int64), np.full(core.size, np.inf))
    left, width = np.arange(core.size), min(FIRST, points.size)
    while left.size:
        find, further = search(width), []
        for block in row_blocks(left.size, width, 1 << 20):
            rows = left[block]
            near, far = find(rows)
            point = points[near]
            used, place = np.unique(point, return_inverse=True)
            reach = np.maximum(cores(used)[place.reshape(point.shape)], far)
            reach = np.maximum(reach, core[rows, None])
            least = reach.min(axis=1, keepdims=True)
            apart = np.where(reach == least, far, np.inf)
            closest = apart.min(axis=1, keepdims=True)
            of_nearest = np.where(apart == closest, label[point], label.max() + 1)
            found.label[rows], found.reach[rows] = of_nearest.min(axis=1), least[:, 0]
            # A point further away than this can be no nearer.
            bound = np.where(least <= core[rows, None], closest, least)
            further.append(rows[far[:, -1] <= bound[:, 0]])
        left = np.concatenate(further) if width < points.size else left[:0]
        width = min(2 * width, points.size)
    return found


def of_features(rows: Array, points: Array, inside: Int, metric: DistanceMetric) -> Search:
    """The search among features. inside : the points in clusters."""
    clustered = points[inside]

    def search(width: int) -> Found:
        nearby = PointSearch(clustered, width, metric)
        return lambda some: nearby.nearest(rows[some])

    return search


def of_pairs(pairs: Array, rows: Int, inside: Int) -> Search:
    """The search among given distances. pairs : (n, n_points). rows : (n_rows,) the rows of it that
    are searched from."""

    def search(width: int) -> Found:
        def find(some: Int) -> tuple[Int, Float]:
            near = np.empty((some.size, width), dtype=np.int64)
            far = np.empty(near.shape)
            for block in row_blocks(some.size, inside.size, 1 << 20):
                part = pairs[np.ix_(rows[some[block]], inside)].astype(np.float64)
                near[block] = np.argsort(part, axis=1, kind="stable")[:, :width]
                far[block] = np.take_along_axis(part, near[block], axis=1)
            return near, far

        return find

    return search


def cores_of_features(points: Array, rank: int, metric: DistanceMetric) -> Cores:
    """The distance of points to the `rank`-th of all nearest, they themselves being the first."""
    search = PointSearch(points, min(rank, len(points)), metric)

    def cores(some: Int) -> Float:
        return search.nearest(points[some])[1][:, -1]

    return cores


def given_cores(core: Float) -> Cores:
    """Those that are known. core : (n_points,)."""
    return lambda some: core[some]


def core_of_pairs(distances: Array, rank: int) -> Float:
    """(n,) the same by given distances, (n, n_points)."""
    core = np.empty(len(distances))
    for block in row_blocks(len(distances), distances.shape[1], 1 << 20):
        part = distances[block].astype(np.float64)
        core[block] = np.partition(part, rank - 1, axis=1)[:, rank - 1]
    return core


@dataclass(frozen=True, slots=True)
class Given:
    """That noise is given to the nearest clusters: `within` this distance, None for any."""

    within: float | None


def model_of(
    data: Data,
    role: str,
    metric: DistanceMetric,
    min_samples: int,
    condensed: Condensed,
    label: Int,
    tree: Tree,
    given: Given | None,
) -> Model:
    """The model of a fit; it keeps the features as they are, or the core distances of points.

    label : (n_points,) chosen cluster of each point, -1 for noise. given : how noise is given to
        the nearest clusters; None: it is not. O(N), for distances O(N^2).
    """
    values = data.dense(role)
    labels, first = np.unique(label, return_index=True)
    leaf = tree.leaf_of_point[first[labels >= 0]]
    noise = noise_leaves(tree)
    arrays = {
        "above": condensed.above,
        "birth": condensed.birth,
        "cluster": condensed.cluster,
        "fall": condensed.fall,
        "label_of_cluster": _labels_below(condensed, label),
        "densest": condensed.death()[condensed.chosen(label)],
        "least": _least(condensed, label),
        "leaf": leaf.astype(np.int64),
    }
    if role == "features":
        arrays["points"] = values
    else:
        arrays["core"] = core_of_pairs(values, min_samples)
    facts = {
        "role": role,
        "metric": metric,
        "min_samples": min_samples,
        "noise": int(noise[0]) if noise.size else -1,
    }
    if given is not None:
        arrays["label"] = label
        facts["given"] = {"within": given.within}
    return Model(arrays, facts)


def place(method: str, model: Model, tree: Tree, data: Data) -> Predictions:
    """New rows at the leaves of their clusters, with their strengths; noise with 1.

    Noise that is given to the nearest cluster has 0 there. If the tree has no leaf of noise, rows
    of noise are at the leaf of the point they join, with 0.

    method : its id. Raises UsageError as `nearest_points`.
    """
    label, strength, joined = approximate(model, data)
    notes = [
        f"Method {method!r} places new rows in the clusters of the fit as they are "
        "(`approximate_predict` of the library hdbscan); with these rows in the fit the clusters "
        "might differ.",
    ]
    if "given" in model.facts and (label < 0).any():
        kept = label
        label = _given(model, data, label)
        n_given = int(((label >= 0) & (kept < 0)).sum())
        notes.append(
            f"{n_given} row(s) are noise, and are at the leaves of the nearest clusters with "
            "probability 0, as the fit's own ('noise' is 'nearest')."
        )
    leaf = np.full(label.size, model.facts["noise"], dtype=np.int64)
    leaf[label >= 0] = model.arrays["leaf"][label[label >= 0]]
    probability = np.where(label >= 0, strength, 1.0)
    homeless = leaf < 0
    if homeless.any():
        leaf[homeless] = tree.leaf_of_point[joined[homeless]]
        probability[homeless] = 0.0
        notes.append(
            f"{int(homeless.sum())} row(s) are noise, for which the tree has no leaf since the fit "
            "had none: they are at the leaf of the point they are nearest to, with probability 0, "
            "and their cluster is -1."
        )
    places = at_leaves(method, tree, leaf, probability)
    return replace(places, noise=label < 0, warnings=tuple(notes))


def _given(model: Model, data: Data, label: Int) -> Int:
    """The labels, with the nearest clusters of rows of noise."""
    arrays, facts = model.arrays, model.facts
    own, min_samples, metric = (
        arrays["label"].astype(np.int64),
        facts["min_samples"],
        facts["metric"],
    )
    inside, noise = np.flatnonzero(own >= 0), np.flatnonzero(label < 0)
    if not inside.size:
        return label
    if facts["role"] == "distances":
        pairs = new_pairs(data, "distances", own.size)
        core = core_of_pairs(pairs, min_samples + 1)[noise]
        search, cores = of_pairs(pairs, noise, inside), given_cores(arrays["core"])
    else:
        points = arrays["points"]
        rows = new_features(data, points.shape[1])[noise]
        core = PointSearch(points, min_samples + 1, metric).nearest(rows)[1][:, -1]
        search = of_features(rows, points, inside, metric)
        cores = cores_of_features(points, min_samples, metric)
    found = nearest_clusters(core, search, inside, cores, own)
    label = label.copy()
    label[noise] = found.within(facts["given"]["within"])
    return label


def approximate(model: Model, data: Data) -> tuple[Int, Float, Int]:
    """(n_rows,) label of each new row, -1 for noise; its strength, 0 for noise; and the point that
    it joins.

    O(M N D) time for M rows, and O(U N D) for the U points that are near to one.
    """
    arrays, min_samples = model.arrays, model.facts["min_samples"]
    near, distance, core = _nearby(model, data)
    reach = np.maximum(np.maximum(core, distance[:, [min_samples]]), distance)
    best = reach.argmin(axis=1)[:, None]
    joined = np.take_along_axis(near, best, axis=1)[:, 0]
    with np.errstate(divide="ignore"):
        density = 1.0 / np.take_along_axis(reach, best, axis=1)[:, 0]
    cluster = arrays["cluster"][joined].astype(np.int64)
    climbing = np.flatnonzero(arrays["fall"][joined] > density)
    while climbing.size:
        at = cluster[climbing]
        climbing = climbing[(at > 0) & (arrays["birth"][at] >= density[climbing])]
        cluster[climbing] = arrays["above"][cluster[climbing]]
    label = arrays["label_of_cluster"][cluster].astype(np.int64)
    inside = np.flatnonzero(label >= 0)
    sparse = density[inside] < arrays["least"][label[inside]]
    label[inside[sparse]] = -1
    inside = inside[~sparse]
    densest, own = arrays["densest"][label[inside]], density[inside]
    strength = np.zeros(label.size)
    strength[inside] = 1.0
    graded = np.isfinite(own) & (densest > 0)
    strength[inside[graded]] = np.minimum(own, densest)[graded] / densest[graded]
    return label, strength, joined


def _nearby(model: Model, data: Data) -> tuple[Int, Float, Float]:
    """(n_rows, 2 min_samples) the nearest points of each row, or all if there are fewer; their
    distances, and their core distances."""
    arrays, facts = model.arrays, model.facts
    n_points, min_samples = arrays["cluster"].size, facts["min_samples"]
    wanted = min(2 * min_samples, n_points)
    if facts["role"] == "distances":
        pairs = new_pairs(data, "distances", n_points)
        near, distance = _nearest_of_pairs(pairs, wanted)
        return near, distance, arrays["core"][near]
    points = arrays["points"]
    rows = new_features(data, points.shape[1])
    if "core" in arrays:
        near, distance = nearest_in_blocks(ArrayRows(points), wanted, facts["metric"], rows)
        # The fit compared lengths that were rounded so.
        distance = distance.astype(arrays["core"].dtype).astype(np.float64)
        return near, distance, arrays["core"][near].astype(np.float64)
    near, distance = PointSearch(points, wanted, facts["metric"]).nearest(rows)
    used, place = np.unique(near, return_inverse=True)
    _, own = PointSearch(points, min_samples, facts["metric"]).nearest(points[used])
    return near, distance, own[:, -1:].ravel()[place.reshape(near.shape)]


def _nearest_of_pairs(pairs: Array, n_nearest: int) -> tuple[Int, Float]:
    near = np.empty((len(pairs), n_nearest), dtype=np.int64)
    distance = np.empty(near.shape)
    for block in row_blocks(len(pairs), pairs.shape[1], 1 << 20):
        part = pairs[block].astype(np.float64)
        near[block] = np.argsort(part, axis=1, kind="stable")[:, :n_nearest]
        distance[block] = np.take_along_axis(part, near[block], axis=1)
    return near, distance


def _labels_below(condensed: Condensed, label: Int) -> Int:
    """(n_clusters,) the label of the chosen cluster that each is or lies below, else -1."""
    own = np.full(condensed.n_clusters, -1, dtype=np.int64)
    chosen = condensed.chosen(label)
    own[chosen] = np.arange(chosen.size)
    # Parents come first.
    for cluster in range(1, condensed.n_clusters):
        if own[cluster] < 0:
            own[cluster] = own[condensed.above[cluster]]
    return own


def _least(condensed: Condensed, label: Int) -> Float:
    """(n_labels,) the density that a row of each chosen cluster must have: 0 but for the root."""
    chosen = condensed.chosen(label)
    least = np.zeros(chosen.size)
    for number in np.flatnonzero(chosen == 0).tolist():
        least[number] = condensed.fall[label == number].min()
    return least
