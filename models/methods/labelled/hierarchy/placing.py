"""New rows in a completed tree: from the root to the child of the likeliest component, and on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.arrays import Array, Arrays, Float
from models.clusters.placing import normalize
from models.method import Predictions
from models.methods.labelled.discovery.mixture import Mixture
from models.methods.labelled.hierarchy.completion import CompletedTree
from models.tree.tree import Tree
from models.tree.walk import paths


def stored(done: CompletedTree, factors: Sequence[Float]) -> dict[str, Array]:
    """What `place_rows` needs, as arrays of a model.

    Means are in as many columns as the widest space has, filled up with zeros for narrower ones.
    """
    widest = max(factor.shape[0] for factor in factors)
    nodes = sorted(done.parts)
    parts = [done.parts[node] for node in nodes]
    means = [
        np.pad(mixture.means, ((0, 0), (0, widest - mixture.means.shape[1])))
        for mixture, _ in parts
    ]
    return {
        "factors": np.concatenate(factors),
        "factor_start": _starts([factor.shape[0] for factor in factors]),
        "inner": np.array(nodes, dtype=np.int64),
        "inner_metric": np.array([done.metric[node] for node in nodes], dtype=np.int64),
        "variance": np.array([mixture.variance for mixture, _ in parts]),
        "component_start": _starts([child.size for _, child in parts]),
        "means": np.concatenate(means),
        "weights": np.concatenate([mixture.weights for mixture, _ in parts]),
        "child": np.concatenate([child for _, child in parts]),
    }


def place_rows(arrays: Arrays, tree: Tree, points: Array) -> Predictions:
    """points : (n_rows, p) prepared. A node's probability is its share of its parent's components'
    posteriors, times its parent's probability.

    O(rows at a node x its components x r) for each node.
    """
    at = np.zeros(points.shape[0], dtype=np.int64)
    start, first = arrays["factor_start"], arrays["component_start"]
    chance_of: list[tuple[Array, Array, Float]] = []
    for place, node in enumerate(arrays["inner"].tolist()):
        rows = np.flatnonzero(at == node)
        if not rows.size:
            continue
        metric = int(arrays["inner_metric"][place])
        factor = arrays["factors"][start[metric] : start[metric + 1]]
        own = slice(int(first[place]), int(first[place + 1]))
        mixture = Mixture(
            "gmm",
            np.asarray(arrays["means"][own, : factor.shape[0]]),
            np.asarray(arrays["weights"][own]),
            float(arrays["variance"][place]),
        )
        child = np.asarray(arrays["child"][own])
        logits = mixture.log_joint(points[rows] @ factor.T.astype(points.dtype))
        at[rows] = child[logits.argmax(axis=1)]
        normalize(logits)
        same = child == at[rows][:, None]
        chance = np.minimum(np.where(same, np.exp(logits), 0.0).sum(axis=1), 1.0)
        chance_of.append((rows, at[rows], chance))
    begin, node_of = paths(tree, at)
    # The probability of each node on a row's path: the product of its steps so far.
    depth = tree.depth
    probability = np.ones(node_of.size)
    for rows, nodes, chance in chance_of:
        probability[begin[rows] + depth[nodes]] = chance
    for level in range(1, int(depth.max()) + 1):
        some = np.flatnonzero(depth[node_of] == level)
        probability[some] *= probability[some - 1]
    return Predictions(at, begin, node_of, probability)


def _starts(sizes: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
