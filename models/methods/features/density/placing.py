"""New rows in the clusters of HDBSCAN, as `approximate_predict` of the library hdbscan places
them.

The tree stays unchanged. A new row x joins the point y of the fit with the smallest mutual
reachability distance max(core(y), core(x), d(x, y)) among its 2 `min_samples` nearest points. core
of x is its distance to the nearest point but `min_samples`, that of y to the `min_samples`-th
nearest point, y itself being the first. The density of x is 1 / that distance. x stays in the
cluster from which y falls if it is as dense as y then is, else it is in the lowest cluster above
that began at a smaller density than its own. It has the label of the chosen cluster that this one
is or lies below; otherwise it is noise. Its strength is its density over the largest in the
cluster.

A row of noise is at the leaf of noise. If the fit gave noise to the nearest clusters, so do rows of
noise go there, with the strength 0 (`nearest`).

The library takes all rows for noise where the condensed tree is one cluster only. Here, if the root
is the chosen cluster, rows less dense than each of its points are noise, as in the fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Array, Float, Int, row_blocks
from models.clusters.placing import at_leaves
from models.graphs.nearest_points import PointSearch, new_features, new_pairs
from models.inputs.data import Data
from models.method import Model, Predictions
from models.methods.features.density.condensed import Condensed
from models.methods.features.density.nearest import (
    core_of_pairs,
    cores_of_features,
    given_cores,
    nearest_clusters,
    of_features,
    of_pairs,
)
from models.numerics.distances import DistanceMetric
from models.tree.noise import noise_leaves
from models.tree.tree import Tree


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
