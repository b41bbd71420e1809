"""Methods as they come, on real sets with known classes: the clusters that they give, and the tree.

Each set with at most `_MOST` rows, drawn by seed 0, as they are. Methods that need a number of
clusters get the number of classes, and nothing else is set (`vmf` gets rows at norm 1, as it asks
for; `temi` is run with `--full` alone); `hac`, `birch` and `scc` are cut into
as many. `hdbscan` and `layers` find the number themselves: of `layers` the strongest layer, and
noise is one cluster more. The rows in brackets are what other settings give, among them the
defaults of scikit-learn's HDBSCAN, which counts a point as its own first neighbour. Purity is
dendrogram purity of the whole tree, for methods whose answer is a tree of more than one level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import Size
from bench.quality import present
from bench.report import Report
from models.arrays import Array, Int
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.metrics.catalogue import evaluate
from models.registry import methods
from models.tree.cut import cut
from models.tree.noise import noise_of
from models.tree.parents import nearest
from models.tree.tree import Tree

_NAMES = ("glass", "libras", "vehicle", "segment", "optdigits", "usps", "pendigits", "letter")
_EMBEDDINGS = ("emoji", "20ng3000", "wordnet12k")
_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("glass", "libras"),
    "default": (*_NAMES, *_EMBEDDINGS),
    "full": (*_NAMES, *_EMBEDDINGS, "tinyimagenet"),
}
_MOST: dict[Size, int] = {"quick": 300, "default": 1_000, "full": 3_000}

_LIBRARY = {"min_samples": 4, "cluster_selection_method": "eom"}
_RUNS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("hac", "hac", {}),
    ("(hac, average)", "hac", {"linkage": "average"}),
    ("hdbscan", "hdbscan", {}),
    ("(hdbscan, eom)", "hdbscan", {"cluster_selection_method": "eom"}),
    ("(hdbscan, scikit-learn's)", "hdbscan", _LIBRARY),
    ("(hdbscan, nearest)", "hdbscan", {"noise": "nearest"}),
    ("layers", "layers", {}),
    ("birch", "birch", {}),
    ("scc", "scc", {}),
    ("bisecting-kmeans", "bisecting-kmeans", {}),
    ("kmeans", "kmeans", {}),
    ("gmm", "gmm", {}),
    ("vmf", "vmf", {}),
    ("temi", "temi", {}),
)
LEVELS = frozenset(
    {"hac", "hdbscan", "layers", "birch", "scc", "bisecting-kmeans", "hkm", "hsc", "perch"}
)
"""Methods whose tree has more than one level."""


def table(report: Report, size: Size) -> None:
    """A row for each set and method, then the means over the sets that all of them took."""
    scores: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for name, points, classes in present(report, "defaults", _SETS[size]):
        rows = np.random.default_rng(0).permutation(len(points))[: _MOST[size]]
        features, labels = np.asarray(points[rows], dtype=np.float64), classes[rows]
        for called, method_id, params in _RUNS:
            if method_id == "temi" and size != "full":
                continue
            try:
                score = scored(features, labels, method_id, params)
            except UsageError:
                report.left_out("defaults", f"{name}: {called}")
                continue
            scores[called].append(score)
            _row(report, f"{name}: {called}", len(rows), score)
    for called, values in scores.items():
        _row(report, f"mean of {len(values)}: {called}", 0, tuple(np.mean(values, axis=0)))


def scored(
    features: Array, labels: Int, method_id: str, params: dict[str, Any]
) -> tuple[float, ...]:
    """NMI, ARI, number of clusters, share of noise, and dendrogram purity (NaN for one level)."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    method = methods()[method_id]
    n_classes = len(np.unique(labels))
    if "n_clusters" in method.Params.model_fields and method_id != "birch":
        params = {"n_clusters": n_classes, **params}
    if method_id == "vmf":
        norm = np.linalg.norm(features, axis=1, keepdims=True)
        features = features / np.where(norm > 0, norm, 1.0)
    fitted = method.fit(
        Data({"features": features}), method.Params.model_validate(params), threads=1
    )
    cluster = clusters_of(fitted, method_id, n_classes)
    purity = float("nan")
    if method_id in LEVELS:
        found = evaluate(fitted.tree, labels=labels, metrics=["dendrogram_purity"]).metrics
        purity = found["dendrogram_purity"] or 0.0
    return (
        float(normalized_mutual_info_score(labels, cluster)),
        float(adjusted_rand_score(labels, cluster)),
        float(cluster.max() + 1),
        float((cluster < 0).mean()),
        purity,
    )


def clusters_of(fitted: Fitted, method_id: str, n_classes: int) -> Int:
    """(n_points,) the clusters that a user of the method takes first; -1 for noise."""
    tree = fitted.tree
    inside = np.zeros(tree.n_nodes, dtype=bool)
    if method_id == "layers":
        inside = _strongest(tree, fitted.metrics)
    elif method_id in ("hac", "birch", "scc", "hkm", "hsc", "perch"):
        inside[cut(tree, k=min(n_classes, tree.n_leaves)).nodes] = True
    else:
        inside[tree.leaves] = True
        inside &= ~noise_of(tree)
    number = np.full(tree.n_nodes + 1, -1)
    number[np.flatnonzero(inside)] = np.arange(inside.sum())
    chosen: Int = number[nearest(tree.parent, inside)[tree.leaf_of_point]]
    return chosen


def _strongest(tree: Tree, metrics: Mapping[str, float]) -> Array:
    """(n_nodes,) whether a node is a cluster of the strongest layer; nowhere without layers."""
    first, last = np.asarray(tree.extra["layer"]), np.asarray(tree.extra["until"])
    for layer in range(int(metrics["n_layers"])):
        inside = (first >= 0) & (first <= layer) & (layer <= last)
        if inside.sum() == metrics["n_clusters"]:
            return inside
    return np.zeros(tree.n_nodes, dtype=bool)


def _row(report: Report, what: str, n: int, score: tuple[float, ...]) -> None:
    nmi, ari, clusters, noise, purity = score
    report.row(
        "defaults",
        what=what,
        n=n or "",
        nmi=f"{nmi:.3f}",
        ari=f"{ari:.3f}",
        clusters=f"{clusters:.0f}",
        noise=f"{noise:.2f}",
        purity="" if np.isnan(purity) else f"{purity:.3f}",
    )
