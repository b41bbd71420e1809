"""The result of a fit: ordered clusters, the tree with its model, metrics and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from models.arrays import Arrays, Float, Int, Mask, row_blocks
from models.clusters.choosing import Choice
from models.clusters.counts import cluster_names, term_names
from models.clusters.placing import by_size, empty_cluster_warnings, permute, reorder
from models.inputs.data import Data
from models.method import Fitted, Model, Predictions
from models.methods.sphere.mixture.distinctive_features import top_features
from models.methods.sphere.mixture.in_sample import InSample
from models.tree.build import from_partition
from models.tree.tree import Tree
from models.tree.walk import paths

FEW_FEATURES = 20
"""Below this number of features a warning states how much the bounding scheme shrinks kappa."""

IDENTICAL_ROWS = "the points of a cluster are nearly identical, so likelihoods depend on that bound"


def ordered(logits: Float, means: Float) -> tuple[Int, Int]:
    """The cluster of each row, numbered from the largest, and the order that gives these numbers.

    The columns of `logits` (n_points, K) are permuted in place; cluster `order[k]` of the fit
    becomes cluster k.
    """
    cluster: Int = logits.argmax(axis=1)
    order = by_size(np.bincount(cluster, minlength=len(means)), means)
    permute(logits, order)
    return reorder(cluster, order), order


def partition_result(
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
    """A partition with its model; everything is in the order of the clusters.

    evidence : (n_points,) log-likelihoods. out : the rows held out. means : used with `log_weights`
        to name clusters, where features have names. nodes : columns of the tree besides `weight`,
        (K + 1,), the root first.
    """
    n_clusters, n_features = means.shape
    names = term_names(data, n_features)
    top = None if names is None else top_features(means, log_weights, names)
    weight = np.append(1.0, np.exp(log_weights))
    return tree_result(
        from_partition(
            cluster,
            n_clusters,
            names=cluster_names(data, n_clusters, top),
            extra={"weight": weight, **nodes},
        ),
        logits,
        evidence,
        out,
        level,
        arrays=arrays,
        facts={**facts, **({} if top is None else {"top_terms": top})},
        metrics={**metrics, **choice.metrics},
        curves=choice.curves,
        warnings=(*choice.warnings, *warnings, *empty_cluster_warnings(cluster, n_clusters)),
    )


def tree_result(
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
    """Any tree with its model, and with the metrics and columns derived from likelihoods.

    The arguments are those of `partition_result`.
    """
    in_sample = InSample.of(evidence[out] if out.any() else evidence, level)
    measured = {"log_likelihood": float(evidence[~out].sum()), **metrics}
    if out.any():
        measured["held_out_log_likelihood"] = float(evidence[out].mean())
    return Fitted(
        tree=tree,
        model=Model({**arrays, **in_sample.arrays}, {**facts, **in_sample.facts}),
        logits=logits,
        metrics=measured,
        curves=curves,
        point_columns=in_sample.columns(evidence),
        warnings=tuple(warnings),
    )


def placed_below(tree: Tree, logits: Float) -> Predictions:
    """Each row in its likeliest leaf.

    A node on the path has the probability of all leaves below it.
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
        # Sums over descendants only: exactly 1 at the root, and never larger at a child.
        mass /= mass[0]
        part = slice(start[block.start], start[block.stop])
        row = np.repeat(np.arange(mass.shape[1]), np.diff(start[block.start : block.stop + 1]))
        probability[part] = mass[node[part], row]
    return Predictions(leaf, start, node, probability)


def end_warnings(ended: bool, max_iter: int, by_batches: bool = False) -> tuple[str, ...]:
    """A warning if the best run did not converge."""
    if ended:
        return ()
    unit = "epochs" if by_batches else "iterations"
    return (f"The best run was stopped after max_iter = {max_iter} {unit}, before it converged.",)


def bounding_warnings(inference: str, n_features: int) -> tuple[str, ...]:
    """A warning if 'variational-bounding' makes concentrations much too small."""
    if inference != "variational-bounding" or n_features >= FEW_FEATURES:
        return ()
    return (
        f"With {n_features} features the bound of 'variational-bounding' makes concentrations too "
        f"small by one part in {n_features - 1}, those of wide clusters by up to two in "
        f"{n_features}; 'variational-sampling' does not.",
    )


def cap_warnings(high: Float, max_kappa: float, why: str, whose: str = "") -> tuple[str, ...]:
    """A warning if concentrations reached `max_kappa`.

    high : the upper ends of their intervals. why : what that means. whose : which ones.
    """
    n_capped = int((high >= 0.99 * max_kappa).sum())
    if not n_capped:
        return ()
    return (f"{n_capped} concentration(s){whose} reached 'max_kappa' = {max_kappa:g}: {why}.",)


def prior_warnings(empirical: bool, n_clusters: int) -> tuple[str, ...]:
    """A warning if priors were to be estimated from a single cluster."""
    if not empirical or n_clusters > 1:
        return ()
    return (
        "A single cluster does not show how clusters differ, so the priors were not estimated.",
    )
