"""What a fitted member of the family leaves: clusters in their order, names, the level, metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from models.contract import Arrays, Fitted, Model, Predictions
from models.data import Data
from models.numerics.softmax import row_blocks
from models.partitions.choosing import Choice
from models.partitions.counts import Mask, cluster_names, term_names
from models.partitions.placing import by_size, permute, reorder, said_of_empty
from models.partitions.points import Float, Int
from models.tree.build import from_partition
from models.tree.tree import Tree
from models.tree.walk import paths
from models.vmf.inside import Inside
from models.vmf.terms import top_features


def ordered(logits: Float, means: Float) -> tuple[Int, Int]:
    """Cluster of each row and the order that makes the largest one the first.

    `logits` (n_points, K) are brought into it; cluster `order[k]` of the fit is cluster k.
    """
    cluster: Int = logits.argmax(axis=1)
    order = by_size(np.bincount(cluster, minlength=len(means)), means)
    permute(logits, order)
    return reorder(cluster, order), order


def answer(
    data: Data,
    cluster: Int,
    logits: Float,
    evidence: Float,
    out: Mask,
    level: float,
    *,
    means: Float,
    log_weights: Float,
    nodes: Mapping[str, Float],
    arrays: Arrays,
    facts: Mapping[str, Any],
    metrics: Mapping[str, float],
    choice: Choice,
    warnings: Sequence[str],
) -> Fitted:
    """A partition with its model; all in the clusters' order.

    evidence : (n_points,) log-likelihoods. out : the rows held out. means : name clusters, with
    `log_weights`, where features have names. nodes : columns of the tree beside `weight`, (K + 1,),
    the root first.
    """
    n_clusters, n_features = means.shape
    names = term_names(data, n_features)
    top = None if names is None else top_features(means, log_weights, names)
    called = cluster_names(data, n_clusters, top)
    weight = np.append(1.0, np.exp(log_weights))
    return answer_of_tree(
        from_partition(cluster, n_clusters, names=called, extra={"weight": weight, **nodes}),
        logits,
        evidence,
        out,
        level,
        arrays=arrays,
        facts={**facts, **({} if top is None else {"top_terms": top})},
        metrics={**metrics, **choice.metrics},
        curves=choice.curves,
        warnings=(*choice.warnings, *warnings, *said_of_empty(cluster, n_clusters)),
    )


def answer_of_tree(
    tree: Tree,
    logits: Float,
    evidence: Float,
    out: Mask,
    level: float,
    *,
    arrays: Arrays,
    facts: Mapping[str, Any],
    metrics: Mapping[str, float],
    warnings: Sequence[str],
    curves: Mapping[str, Sequence[tuple[int, float]]] = MappingProxyType({}),
) -> Fitted:
    """Any tree with its model, and what likelihoods say; as `answer`."""
    inside = Inside.of(evidence[out] if out.any() else evidence, level)
    measured = {"log_likelihood": float(evidence[~out].sum()), **metrics}
    if out.any():
        measured["held_out_log_likelihood"] = float(evidence[out].mean())
    return Fitted(
        tree=tree,
        model=Model({**arrays, **inside.arrays}, {**facts, **inside.facts}),
        logits=logits,
        metrics=measured,
        curves=curves,
        points=inside.columns(evidence),
        warnings=tuple(warnings),
    )


def judged(found: Predictions, model: Model, evidence: Float) -> Predictions:
    """Rows that were placed, with what their log-likelihoods say (`Inside.columns`)."""
    return replace(found, columns=Inside.kept(model.arrays, model.facts).columns(evidence))


def placed_below(tree: Tree, logits: Float) -> Predictions:
    """Rows in their likeliest leaves; of each node on the path the probability of all under it.

    logits : (n_rows, K) log probabilities of the leaves, in row order. O(n_rows n_nodes).
    """
    leaf = tree.leaves[logits.argmax(axis=1)]
    start, node = paths(tree, leaf)
    probability = np.empty(node.size)
    for block in row_blocks(len(leaf), 2 * tree.n_nodes, 1 << 21):
        mass = np.zeros((tree.n_nodes, block.stop - block.start))
        mass[tree.leaves] = np.exp(logits[block]).T
        for below in range(tree.n_nodes - 1, 0, -1):
            mass[tree.parent[below]] += mass[below]
        # Sums of what lies below only: the root's is exactly 1, and no child's is above it.
        mass /= mass[0]
        part = slice(start[block.start], start[block.stop])
        row = np.repeat(np.arange(mass.shape[1]), np.diff(start[block.start : block.stop + 1]))
        probability[part] = mass[node[part], row]
    return Predictions(leaf, start, node, probability)
