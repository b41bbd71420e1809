"""Each method's default beside its main alternatives, for a cut into clusters and a tree to read.

Ten or more real sets, `N_DRAWS` draws of at most `_MOST` rows each, as they are. NMI and ARI are of
the clusters that a user takes first (see `defaults`), which is the cut into as many as there are
classes for methods that take a number; purity is dendrogram purity of the tree. `choices` has the
means over sets of each default. `choices_other` has what an alternative has more than its method's
default: the mean over sets with the half width of its 95% interval (Student's t over sets), on how
many sets it is higher, and on how many by more than the interval of that set's draws. It would be
the better default where that is most sets; `better` says so.

`choices_suggested` is the first suggested cut of trees that have suggestions: its mean number of
clusters for one true class, NMI and ARI beside the cut at the true number, both where something is
suggested, and on how many draws nothing is.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from scipy.stats import t

from bench import Chosen, Size
from bench.defaults import scored
from bench.quality import present
from bench.report import Report
from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.inputs.data import Data
from models.levels import silhouette
from models.levels.suggested_cuts import P_VALUE, candidates, levels
from models.metrics import flat
from models.registry import method
from models.tree.cut import cut
from models.tree.tree import Tree

SETS = (
    *("glass", "libras", "vehicle", "vowel", "segment", "optdigits", "usps", "pendigits"),
    *("letter", "emoji", "20ng3000", "wordnet12k"),
)
_MOST: dict[Size, int] = {"quick": 200, "default": 300, "full": 1_500}
_N_DRAWS: dict[Size, int] = {"quick": 2, "default": 3, "full": 5}

OTHERS: dict[str, dict[str, dict[str, Any]]] = {
    "hac": {
        "average": {"linkage": "average"},
        "complete": {"linkage": "complete"},
        "average, cosine": {"linkage": "average", "metric": "cosine"},
    },
    "hdbscan": {
        "noise nearest": {"noise": "nearest"},
        "eom": {"cluster_selection_method": "eom"},
        "leaf": {"cluster_selection_method": "leaf"},
        "min_samples 5": {"min_samples": 5},
        "min_cluster_size 10": {"min_cluster_size": 10},
    },
    "layers": {},
    "scc": {"n_neighbors 5": {"n_neighbors": 5}, "n_neighbors 25": {"n_neighbors": 25}},
    "birch": {"inserted": {"tree": "inserted"}, "branching 50": {"branching": 50}},
    "bisecting-kmeans": {"largest": {"bisecting_strategy": "largest_cluster"}},
    "hkm": {"compact": {"grow": "compact"}, "branching 4": {"branching": 4}},
    "hsc": {"compact": {"grow": "compact"}},
    "perch": {},
    "kmeans": {"n_init 1": {"n_init": 1}},
    "minibatch-kmeans": {"n_init 10": {"n_init": 10}},
    "gmm": {
        "diag": {"covariance": "diag"},
        "spherical": {"covariance": "spherical"},
        "tied": {"covariance": "tied"},
    },
    "spectral": {"rbf": {"affinity": "rbf"}},
    "vmf": {},
}
"""By method its alternatives: what is not a default."""

MEASURES = ("nmi", "ari", "purity")
SUGGESTED = ("hac", "scc", "birch", "bisecting-kmeans", "hkm")


def table(report: Report, size: Size, chosen: Chosen) -> None:
    scores: dict[tuple[str, str], dict[str, list[tuple[float, ...]]]] = defaultdict(dict)
    suggested: dict[str, list[tuple[float, ...] | None]] = defaultdict(list)
    sets = chosen.sets_of(("glass", "libras") if size == "quick" else SETS)
    n_draws = chosen.seeds_of(_N_DRAWS[size])
    for name, points, classes in present(report, "choices", sets):
        for seed in range(n_draws):
            rows = np.random.default_rng(seed).permutation(len(points))[: _MOST[size]]
            features = np.asarray(points[rows], dtype=np.float64)
            labels = np.unique(classes[rows], return_inverse=True)[1]
            for method_id, others in OTHERS.items():
                for other, params in {"": {}, **others}.items():
                    try:
                        score = scored(features, labels, method_id, params)
                    except UsageError:
                        report.left_out("choices", f"{name}: {method_id} {other}")
                        score = (np.nan,) * 5
                    own = scores[method_id, other].setdefault(name, [])
                    own.append((score[0], score[1], score[4]))
            for method_id in SUGGESTED:
                suggested[method_id].append(of_suggested(features, labels, method_id))
    for method_id in OTHERS:
        default = _values(scores[method_id, ""])
        report.row("choices", method=method_id.ljust(16), sets=len(default), **_means(default))
    for method_id, others in OTHERS.items():
        default = _values(scores[method_id, ""])
        for other in others:
            values = _values(scores[method_id, other])
            for place, measure in enumerate(MEASURES):
                if not np.isnan(default[..., place]).all():
                    _compared(report, method_id, other, measure, (values - default)[..., place])
    for method_id, found in suggested.items():
        _of_suggestions(report, method_id, found)


def _values(by_set: dict[str, list[tuple[float, ...]]]) -> Float:
    """(n_sets, n_draws, n_measures)."""
    return np.array(list(by_set.values()))


def _means(values: Float) -> dict[str, str]:
    means = {}
    for place, measure in enumerate(MEASURES):
        own = values[..., place]
        means[measure] = "" if np.isnan(own).all() else f"{np.nanmean(own):.3f}"
    return means


def compared(more: Float) -> tuple[float, float, int, int, int]:
    """The mean over sets of (n_sets, n_draws) differences, the half width of its interval, the
    number of sets, on how many it is positive, and on how many by more than their own interval.

    A set without all draws is left out.
    """
    more = more[~np.isnan(more).any(axis=1)]
    by_set = more.mean(axis=1) if more.size else np.zeros(0)
    if by_set.size < 2:
        return float(by_set.sum()), float("inf"), by_set.size, int((by_set > 0).sum()), 0
    half = _half_width(by_set[None, :])[0]
    sure = by_set - _half_width(more) > 0 if more.shape[1] > 1 else np.zeros(by_set.size, bool)
    return float(by_set.mean()), float(half), by_set.size, int((by_set > 0).sum()), int(sure.sum())


def _half_width(values: Float) -> Float:
    """(n,) of the 95% interval of the mean of each row."""
    n = values.shape[1]
    return np.asarray(t.ppf(0.975, n - 1) * values.std(axis=1, ddof=1) / np.sqrt(n))


def _compared(report: Report, method_id: str, other: str, measure: str, more: Float) -> None:
    mean, half, n_sets, n_higher, n_sure = compared(more)
    report.row(
        "choices_other",
        method=method_id.ljust(16),
        other=other.ljust(20),
        measure=measure,
        more=f"{mean:+.3f} +- {half:.3f}",
        sets=n_sets,
        higher=n_higher,
        surely=n_sure,
        better=str(2 * n_sure > n_sets > 0),
    )


def of_suggested(features: Array, labels: Int, method_id: str) -> tuple[float, ...] | None:
    """Clusters of the first suggested cut for one class, and NMI and ARI there and at the true
    number; None where nothing is suggested."""
    used = method(method_id)
    n_classes = int(labels.max()) + 1
    takes = "n_clusters" in used.Params.model_fields and method_id != "birch"
    params = used.Params(n_clusters=n_classes) if takes else used.Params()
    tree = used.fit(Data({"features": features}), params, threads=1).tree
    curve = silhouette.curve(tree, features)
    p_values = silhouette.p_values(tree, features, sorted(candidates(tree, curve)))
    found = levels(tree, {"silhouette": curve, f"silhouette{P_VALUE}": p_values})
    if not found:
        return None
    own = _at(tree, labels, found[0].k)
    return (found[0].k / n_classes, *own, *_at(tree, labels, min(n_classes, tree.n_leaves)))


def _at(tree: Tree, labels: Int, k: int) -> tuple[float, float]:
    nodes = cut(tree, k=k).nodes
    number = np.full(tree.n_nodes, -1)
    number[nodes] = np.arange(nodes.size)
    for node in range(1, tree.n_nodes):
        if number[node] < 0:
            number[node] = number[tree.parent[node]]
    cluster = number[tree.leaf_of_point]
    counts = flat.contingency(cluster, labels, int(cluster.max()) + 1, int(labels.max()) + 1)
    return flat.nmi(counts) or 0.0, flat.ari(counts) or 0.0


def _of_suggestions(report: Report, method_id: str, found: list[tuple[float, ...] | None]) -> None:
    there = np.array([own for own in found if own is not None])
    means = there.mean(axis=0) if there.size else np.full(5, np.nan)
    names = ("clusters_for_a_class", "nmi", "ari", "nmi_at_true", "ari_at_true")
    report.row(
        "choices_suggested",
        method=method_id.ljust(16),
        draws=len(found),
        none=len(found) - len(there),
        **{name: f"{mean:.3f}" for name, mean in zip(names, means.tolist(), strict=True)},
    )
