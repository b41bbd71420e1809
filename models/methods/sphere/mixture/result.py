"""What a fitted member of the family leaves: clusters in their order, names, the level, metrics.

In-sample or out-of-sample: a row's log-likelihood against those of rows known to be inside.

The thesis (section 5.7.4) takes an interval of their mean, which shrinks with their number; what
tells a single row is a quantile of the single likelihoods. The threshold is the one of conformal
prediction (Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005): of rows
like the reference, held out from the fit, at least a share `level` lies inside.

What a user is told of a variational fit: one sentence each, nothing where nothing is odd.

What a model of the Bayesian mixture keeps, how it places rows, and what is said of its fit.

The features that tell a cluster on the sphere from the rest, or a node from its siblings.

The features that tell clusters from each other in each period, as arrays that a model keeps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Arrays, Float, Int, Mask, row_blocks
from models.clusters.choosing import Choice
from models.clusters.counts import TOP_TERMS, cluster_names, term_names
from models.clusters.placing import by_size, empty_cluster_warnings, permute, reorder
from models.data import Data
from models.method import Fitted, Model, Predictions
from models.methods.sphere.bayes.predictive import log_predictive
from models.methods.sphere.bayes.variational import Ascent, Posterior
from models.methods.sphere.mixture.rows import UnitRows
from models.tree.build import from_partition
from models.tree.tree import Tree
from models.tree.walk import paths

MOST_KEPT = 10_001
"""Quantiles of the reference that a model keeps."""


@dataclass(frozen=True, slots=True)
class Inside:
    """reference : log-likelihoods, ascending. level : share of them that is inside, about."""

    reference: Float
    level: float
    threshold: float

    @classmethod
    def of(cls, evidence: Float, level: float) -> Inside:
        """By the log-likelihoods of rows that are inside, at least one."""
        known = np.sort(evidence)
        below = max(1, int(np.floor((1.0 - level) * (known.size + 1) + 1e-9)))
        threshold = float(known[below - 1])
        if known.size > MOST_KEPT:
            at = np.linspace(0, known.size - 1, MOST_KEPT).round().astype(int)
            known = known[at]
        return cls(known, level, threshold)

    @classmethod
    def kept(cls, arrays: Arrays, facts: Mapping[str, Any]) -> Inside:
        """From a model's `arrays` and `facts`."""
        return cls(arrays["reference"], float(facts["level"]), float(facts["threshold"]))

    @property
    def arrays(self) -> dict[str, Float]:
        return {"reference": self.reference}

    @property
    def facts(self) -> dict[str, float]:
        return {"level": self.level, "threshold": self.threshold}

    def columns(self, evidence: Float) -> dict[str, Float]:
        """What is said of rows by their log-likelihoods.

        `in_sample` : 1 where it reaches the threshold. `in_sample_rank` : the share of the
        reference that it exceeds or equals.
        """
        rank = np.searchsorted(self.reference, evidence, side="right") / self.reference.size
        return {
            "log_likelihood": evidence,
            "in_sample": (evidence >= self.threshold).astype(np.float64),
            "in_sample_rank": rank,
        }


FEW_FEATURES = 20
"""Below which the bounding scheme shrinks kappa too much to go unsaid."""


def said_of_end(ended: bool, max_iter: int, by_batches: bool = False) -> tuple[str, ...]:
    if ended:
        return ()
    unit = "epochs" if by_batches else "iterations"
    return (f"The best run was stopped after max_iter = {max_iter} {unit}, before it converged.",)


def said_of_bounding(inference: str, n_features: int) -> tuple[str, ...]:
    if inference != "variational-bounding" or n_features >= FEW_FEATURES:
        return ()
    return (
        f"With {n_features} features the bound of 'variational-bounding' makes concentrations too "
        f"small by one part in {n_features - 1}, those of wide clusters by up to two in "
        f"{n_features}; 'variational-sampling' does not.",
    )


def said_of_caps(high: Float, max_kappa: float, why: str, whose: str = "") -> tuple[str, ...]:
    """high : upper ends of the concentrations' intervals."""
    capped = int((high >= 0.99 * max_kappa).sum())
    if not capped:
        return ()
    return (f"{capped} concentration(s){whose} reached 'max_kappa' = {max_kappa:g}: {why}.",)


def kept(posterior: Posterior) -> dict[str, Float]:
    """A model's arrays."""
    kappas = posterior.kappas.each(len(posterior.psi))
    return {
        "log_weights": np.log(posterior.proportions.means),
        **posterior.proportions.arrays(),
        "psi": posterior.psi,
        "gamma": posterior.gamma,
        **kappas.served,
        "mu0": posterior.priors.mu0,
    }


def placed(points: UnitRows, arrays: Arrays, threads: int) -> tuple[Float, Float]:
    """Log posterior and log-likelihood of rows under a model's arrays."""
    return log_predictive(
        points,
        arrays["log_weights"],
        arrays["psi"],
        arrays["gamma"],
        arrays["log_mean"],
        arrays["log_sd"],
        threads,
    )


def said_of(
    posterior: Posterior,
    best: Ascent | None,
    *,
    max_iter: int,
    by_batches: bool,
    inference: str,
    max_kappa: float,
    empirical: bool,
    n_clusters: int,
) -> list[str]:
    """Warnings; best : the run that serves, None of a chain. n_clusters : that were fitted."""
    why = "the points of a cluster are all but identical, so likelihoods hang on that bound"
    found = [
        *said_of_end(best is None or best.ended, max_iter, by_batches),
        *said_of_bounding(inference, posterior.n_features),
        *said_of_caps(posterior.kappas.high, max_kappa, why),
    ]
    if empirical and n_clusters == 1:
        found.append(
            "One cluster tells nothing of how clusters differ, so the priors were not estimated."
        )
    if empirical and posterior.priors.c0 >= max_kappa:
        found.append(
            f"The concentration of the clusters' means, C0, reached 'max_kappa' = "
            f"{max_kappa:g}: the clusters' means are all but the same."
        )
    return found


def top_features(
    means: Float, log_weights: Float, names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Of each cluster the features by which its rows differ most from the others', best first.

    By mu_kd (mu_kd - sum_j pi_j mu_jd), what feature d adds to the mean cosine with the cluster's
    mean beyond that of any row; each with its weight mu_kd. Features that add nothing are left
    out. O(K D log D).
    """
    return _best(means, np.broadcast_to(np.exp(log_weights) @ means, means.shape), names)


def top_features_below(
    directions: Float, parent: npt.NDArray[np.int32], names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Of each node the features by which it differs most from its parent, best first.

    directions : (T, D) unit vectors psi_n; by psi_nd (psi_nd - psi_parent,d), the root's by
    psi_nd^2; else as `top_features`. O(T D log D).
    """
    whole = np.where(parent[:, None] >= 0, directions[parent], 0.0)
    return _best(directions, whole, names)


def _best(means: Float, wholes: Float, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    found = []
    for own, whole in zip(means, wholes, strict=True):
        adds = own * (own - whole)
        best = np.argsort(-adds, kind="stable")[:TOP_TERMS]
        found.append(
            [
                {"term": names[feature], "weight": float(own[feature])}
                for feature in best
                if adds[feature] > 0
            ]
        )
    return found


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
        warnings=(*choice.warnings, *warnings, *empty_cluster_warnings(cluster, n_clusters)),
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


TOLD = 5
"""Features of a cluster in a period, at most."""

INDEX, WEIGHT, NAMES = "told", "told_weight", "told_names"


def telling(psi: Float, weights: Float, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Of each cluster in each period the features that tell it from the others there, best first.

    psi : (T, K, D) means; weights : (T, K). As `mixture.result.top_features` of each period
    alone, at most `TOLD`: `told` (T, K, TOLD) int32, places in the list of names, -1 for none;
    `told_weight` what the mean has there; `told_names` the list, JSON as bytes. O(T K D).
    """
    n_periods, n_clusters, n_features = psi.shape
    most = min(TOLD, n_features)
    column = np.full((n_periods, n_clusters, TOLD), -1, dtype=np.int64)
    weight = np.zeros((n_periods, n_clusters, TOLD))
    for t in range(n_periods):
        adds = psi[t] * (psi[t] - weights[t] @ psi[t])
        best = np.sort(np.argpartition(-adds, most - 1, axis=1)[:, :most], axis=1)
        order = np.argsort(-np.take_along_axis(adds, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        tells = np.take_along_axis(adds, best, axis=1) > 0
        column[t, :, :most] = np.where(tells, best, -1)
        weight[t, :, :most] = np.where(tells, np.take_along_axis(psi[t], best, axis=1), 0.0)
    used = np.unique(column[column >= 0])
    index = np.where(column < 0, -1, np.searchsorted(used, column)).astype(np.int32)
    listed = json.dumps([names[one] for one in used.tolist()]).encode()
    return {INDEX: index, WEIGHT: weight, NAMES: np.frombuffer(listed, dtype=np.uint8).copy()}


def names_told(arrays: Arrays) -> list[str]:
    """The list that `told` has places in."""
    found: list[str] = json.loads(arrays[NAMES].tobytes())
    return found
