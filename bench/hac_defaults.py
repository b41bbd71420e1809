"""The linkages of `hac` by Euclidean and by cosine distance, on real sets with known classes.

Each set with at least `FEWEST` points, of larger ones a sample drawn by seed 0. Dendrogram purity
of the tree, and NMI of its cut into as many clusters as there are classes. `euclidean` and `cosine`
are of the rows as they are, `unit` is the Euclidean distance of rows at norm 1. The last rows are
means over the sets, and over the sets of embeddings alone.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from bench import Size
from bench.quality import present
from bench.report import Report
from models.arrays import Array
from models.inputs.data import Data
from models.metrics.catalogue import evaluate
from models.registry import method

_SMALL = ("glass", "vowel", "libras", "vehicle", "segment")
_EMBEDDINGS = ("emoji", "20ng3000", "wordnet12k", "tinyimagenet")
_LARGE = ("spambase", "optdigits", "usps", "pendigits", "letter", "ImCLEF07A")
_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("glass", "libras"),
    "default": (*_SMALL, *_LARGE, *_EMBEDDINGS),
    "full": (*_SMALL, *_LARGE, *_EMBEDDINGS),
}
_MOST: dict[Size, int] = {"quick": 500, "default": 3_000, "full": 10_000}
LINKAGES = ("ward", "average", "complete", "single")
SPACES = ("euclidean", "cosine", "unit")


def table(report: Report, size: Size) -> None:
    """A row for each set, linkage and distance, then the means."""
    scores: dict[tuple[str, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    for name, points, classes in present(report, "hac_defaults", _SETS[size]):
        rows = np.random.default_rng(0).permutation(len(points))[: _MOST[size]]
        features, labels = np.asarray(points[rows], dtype=np.float64), classes[rows]
        for linkage in LINKAGES:
            for space in SPACES:
                if linkage == "ward" and space == "cosine":
                    continue
                score = _score(features, labels, linkage, space)
                scores[linkage, space][name] = score
                _row(report, name, len(rows), linkage, space, score)
    for what, chosen in (("mean", _SETS[size]), ("mean of embeddings", _EMBEDDINGS)):
        for (linkage, space), by_set in scores.items():
            values = [score for name, score in by_set.items() if name in chosen]
            if values:
                mean = np.mean(values, axis=0)
                _row(report, what, len(values), linkage, space, (mean[0], mean[1]))


def _score(features: Array, labels: Array, linkage: str, space: str) -> tuple[float, float]:
    """Dendrogram purity, and NMI at the number of classes."""
    # A row of zeros has no direction.
    norm = np.linalg.norm(features, axis=1, keepdims=True)
    values = features / np.where(norm > 0, norm, 1.0) if space == "unit" else features
    hac = method("hac")
    metric = "cosine" if space == "cosine" else "euclidean"
    params = hac.Params.model_validate({"linkage": linkage, "metric": metric})
    tree = hac.fit(Data({"features": values}), params, threads=1).tree
    metrics = evaluate(tree, labels=labels, metrics=["dendrogram_purity", "nmi"]).metrics
    return metrics["dendrogram_purity"] or 0.0, metrics["nmi"] or 0.0


def _row(
    report: Report, what: str, n: int, linkage: str, space: str, score: tuple[Any, Any]
) -> None:
    report.row(
        "hac_defaults",
        what=what,
        n=n,
        linkage=linkage,
        distance=space,
        dendrogram_purity=f"{score[0]:.4f}",
        nmi=f"{score[1]:.4f}",
    )
