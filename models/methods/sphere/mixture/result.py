"""The result of a fit: ordered clusters, the tree with its model, metrics and warnings; `InSample`.

`top_features` are the features that distinguish clusters, `top_features_below` nodes from their
parents, and `top_features_by_period` clusters in each period. A feature is scored by what it adds
to the mean cosine of the cluster's rows with its mean.

`InSample` compares a row's log-likelihood with known in-sample rows. The thesis (section 5.7.4)
uses an interval of their mean, which shrinks as their number grows; here a single row is compared
with a quantile of the single likelihoods. The threshold is that of conformal prediction (Vovk,
Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005): at least a share `level` of
rows like the reference, which were held out from the fit, lies inside. A threshold for each cluster
was tried on 24 fits (six sets, a fifth of the classes foreign) and is not used: at 95% it finds
fewer foreign rows in 19 of them, and the area under the ROC curve is lower in 14 and higher in 9,
since each cluster has few rows to compare with. Nor is the cosine with the fifth nearest fitted row
used (five sets of 1,500 rows, half of the classes foreign, five draws): the area under the ROC
curve is .038 +- .032, .015 +- .037 and .008 +- .017 less than by likelihood with own concentrations
on segment, emoji and 20 newsgroups, .013 +- .003 and .012 +- .010 more on optdigits and pendigits.
With own concentrations more foreign rows are found
than with a shared one in 9 of 12.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays, Float, Int, Mask, row_blocks
from models.clusters.choosing import Choice
from models.clusters.counts import TOP_TERMS, cluster_names, term_names
from models.clusters.placing import by_size, empty_cluster_warnings, permute, reorder
from models.inputs.data import Data
from models.method import Fitted, Model, Predictions
from models.tree.build import from_partition
from models.tree.tree import Tree
from models.tree.walk import paths

MOST_KEPT = 10_001
"""The largest number of quantiles of the reference that a model keeps."""


@dataclass(frozen=True, slots=True)
class InSample:
    """reference : log-likelihoods, ascending. level : approximate share of them that is inside."""

    reference: Float
    level: float
    threshold: float

    @classmethod
    def of(cls, evidence: Float, level: float) -> InSample:
        """The threshold from log-likelihoods of rows known to be inside, at least one."""
        reference = np.sort(evidence)
        below = max(1, int(np.floor((1.0 - level) * (reference.size + 1) + 1e-9)))
        threshold = float(reference[below - 1])
        if reference.size > MOST_KEPT:
            quantiles = np.linspace(0, reference.size - 1, MOST_KEPT).round().astype(int)
            reference = reference[quantiles]
        return cls(reference, level, threshold)

    @classmethod
    def of_model(cls, model: Model) -> InSample:
        """The threshold stored in the `arrays` and `facts` of a model."""
        facts = model.facts
        return cls(model.arrays["reference"], float(facts["level"]), float(facts["threshold"]))

    @property
    def arrays(self) -> dict[str, Float]:
        return {"reference": self.reference}

    @property
    def facts(self) -> dict[str, float]:
        return {"level": self.level, "threshold": self.threshold}

    def columns(self, evidence: Float) -> dict[str, Float]:
        """The columns for rows with these log-likelihoods.

        `in_sample` : 1 if the row reaches the threshold. `in_sample_rank` : the share of the
        reference that the row exceeds or equals.
        """
        rank = np.searchsorted(self.reference, evidence, side="right") / self.reference.size
        return {
            "log_likelihood": evidence,
            "in_sample": (evidence >= self.threshold).astype(np.float64),
            "in_sample_rank": rank,
        }


def with_in_sample(predictions: Predictions, model: Model, evidence: Float) -> Predictions:
    """The predictions with the columns from their log-likelihoods (`InSample.columns`)."""
    return replace(predictions, columns=InSample.of_model(model).columns(evidence))


MOST_PER_PERIOD = 5
"""The largest number of features of a cluster in a period."""

INDEX, WEIGHT, NAMES = "told", "told_weight", "told_names"
"""The names of the model's arrays that hold the features of each period."""


def top_features(
    means: Float, log_weights: Float, names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """The features, for each cluster, in which its rows differ most from the others, best first.

    The score is mu_kd (mu_kd - sum_j pi_j mu_jd), what feature d adds to the mean cosine with the
    cluster's mean compared with an average row; the weight is mu_kd. Features that add nothing are
    left out. O(K D log D).
    """
    return _best(means, np.broadcast_to(np.exp(log_weights) @ means, means.shape), names)


def top_features_below(
    directions: Float, parent: npt.NDArray[np.int32], names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """The features, for each node, in which it differs most from its parent, best first.

    directions : (T, D) unit vectors psi_n. The score is psi_nd (psi_nd - psi_parent,d), at the root
        psi_nd^2; otherwise as `top_features`.
    O(T D log D).
    """
    references = np.where(parent[:, None] >= 0, directions[parent], 0.0)
    return _best(directions, references, names)


def _best(means: Float, references: Float, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    features_of = []
    for mean, reference in zip(means, references, strict=True):
        adds = mean * (mean - reference)
        best = np.argsort(-adds, kind="stable")[:TOP_TERMS]
        features_of.append(
            [
                {"term": names[feature], "weight": float(mean[feature])}
                for feature in best
                if adds[feature] > 0
            ]
        )
    return features_of


def top_features_by_period(psi: Float, weights: Float, names: Sequence[str]) -> dict[str, Array]:
    """The features, for each cluster and period, in which it differs most from others, as arrays.

    psi : (T, K, D) means; weights : (T, K). Each period is scored as by `top_features`, at most
        `MOST_PER_PERIOD` features each: `told` (T, K, 5) holds int32 positions in the list of
        names, best first, -1 for none; `told_weight` the values of the mean there; `told_names` the
        list, as JSON bytes.
    O(T K D).
    """
    n_periods, n_clusters, n_features = psi.shape
    most = min(MOST_PER_PERIOD, n_features)
    column = np.full((n_periods, n_clusters, MOST_PER_PERIOD), -1, dtype=np.int64)
    weight = np.zeros((n_periods, n_clusters, MOST_PER_PERIOD))
    for t in range(n_periods):
        adds = psi[t] * (psi[t] - weights[t] @ psi[t])
        best = np.sort(np.argpartition(-adds, most - 1, axis=1)[:, :most], axis=1)
        order = np.argsort(-np.take_along_axis(adds, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        positive = np.take_along_axis(adds, best, axis=1) > 0
        column[t, :, :most] = np.where(positive, best, -1)
        weight[t, :, :most] = np.where(positive, np.take_along_axis(psi[t], best, axis=1), 0.0)
    used = np.unique(column[column >= 0])
    index = np.where(column < 0, -1, np.searchsorted(used, column)).astype(np.int32)
    listed = json.dumps([names[feature] for feature in used.tolist()]).encode()
    return {INDEX: index, WEIGHT: weight, NAMES: np.frombuffer(listed, dtype=np.uint8).copy()}


def feature_names(arrays: Arrays) -> list[str]:
    """The list of names that the positions in `told` refer to."""
    names: list[str] = json.loads(arrays[NAMES].tobytes())
    return names


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

    The arguments are as in `partition_result`.
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
        f"small by one part in {n_features - 1}, in wide clusters by up to two in "
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
