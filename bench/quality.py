"""The quality of hierarchies and partitions on real sets with known classes.

Each method of `_runs` on every set with several seeds, with defaults except where stated; then the
systems of the logits paper on one image set. The gHHC paper's table 1 is shown for
shared sets. The runs are a comparison's over HTTP (`workers.kinds.compare`), in turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from bench import Size, real_data
from bench.report import Report
from models.arrays import Array
from models.registry import methods
from workers.kinds.compare import ComparisonOptions, ComparisonRuns, Contender, compare
from workers.model import MethodStep
from workers.work.crew import Crew

METRICS = ("dendrogram_purity", "lhd", "leaf_purity", "nmi", "ari", "accuracy")

_Set: TypeAlias = tuple[Array, Array]
"""Points, and the class of each."""

PAPER: dict[tuple[str, str], str] = {
    ("glass", "hac-average"): "0.501",
    ("glass", "hac-centroid"): "0.47",
    ("glass", "birch-inserted"): "0.429 +- 0.013",
    ("glass", "hkm"): "0.508 +- 0.008",
    ("spambase", "hac-average"): "0.629",
    ("spambase", "hac-centroid"): "0.628",
    ("spambase", "birch-inserted"): "0.595 +- 0.013",
    ("spambase", "hkm"): "0.626 +- 0.00",
    ("optdigits", "hac-average"): "0.7836 (200 points)",
    ("optdigits", "hac-centroid"): "0.594 (200 points)",
    ("optdigits", "birch-inserted"): "0.544 +- 0.054 (200 points)",
    ("optdigits", "hkm"): "0.586 +- 0.054 (200 points)",
}
"""Dendrogram purity as printed, with the paper's best settings."""

_SMALL = ("glass", "vowel", "libras", "vehicle", "segment")
_TEXTS = ("separated-2", "separated-100", "emoji", "20ng3000")
_LARGE = ("usps", "pendigits", "ImCLEF07A", "wordnet12k", "letter")
_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("glass", "libras"),
    "default": (*_SMALL, "spambase", "optdigits", *_TEXTS),
    "full": (*_SMALL, "spambase", "optdigits", *_TEXTS, *_LARGE),
}
_SEEDS: dict[Size, int] = {"quick": 2, "default": 5, "full": 5}

_QUADRATIC = 6_000
"""The largest number of points for quadratic methods."""


def table(report: Report, size: Size) -> None:
    """One row for each set and method: mean and standard deviation over the seeds, seconds."""
    for name, points, classes in present(report, "quality", _SETS[size]):
        _measure(report, name, points, classes, _runs(points, classes), _SEEDS[size])
    if size != "quick":
        _images(report, size)


def present(report: Report, table: str, names: Sequence[str]) -> Iterator[tuple[str, Array, Array]]:
    """Name, points and classes of each set whose files are there; notes which are left out."""
    for name in names:
        points_and_classes = loaded(name)
        if points_and_classes is None:
            report.left_out(table, name)
        else:
            yield name, *points_and_classes


def loaded(name: str) -> _Set | None:
    """The points and classes of a set; None where its files are absent."""
    if name.startswith("separated"):
        path = real_data(f"{name}.tsv")
        if path is None:
            return None
        values = np.loadtxt(path, delimiter="\t")
        return values[:, 2:], values[:, 1].astype(np.int64)
    if name == "tinyimagenet":
        return _pair("tinyimagenet_efflite0_feat16.npy", "tinyimagenet_efflite0_labels.npy")
    if name == "emoji":
        return _described("emoji_minilm.npy", "emoji_tree.json", _categories)
    if name == "wordnet12k":
        return _described("wordnet12k_minilm.npy", "wordnet12k_tree.json", lambda d: d["lex"])
    if name == "20ng3000":
        return _pair("20ng3000_minilm.npy", "20ng3000_labels.npy")
    if name == "ImCLEF07A":
        path = real_data("ImCLEF07A_Train.arff")
        return None if path is None else _medical(path.read_text())
    path = real_data(f"bench_{name}.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as file:
        return file["X"], file["y"]


def _categories(emoji: list[dict[str, str]]) -> list[str]:
    return [entry["category"] for entry in emoji]


def _described(features: str, description: str, classes: Callable[[Any], list[str]]) -> _Set | None:
    paths = real_data(features), real_data(description)
    if paths[0] is None or paths[1] is None:
        return None
    names = classes(json.loads(paths[1].read_text()))
    return np.load(paths[0]).astype(np.float32), np.unique(names, return_inverse=True)[1]


def _medical(text: str) -> _Set:
    """The deepest part of a row's first class path is its class."""
    rows = [line.split(",") for line in text.partition("@DATA")[2].split("\n") if "," in line]
    paths = [row[-1].strip().split("@")[-1] for row in rows]
    features = np.array([[float(value) for value in row[:-1]] for row in rows])
    return features, np.unique(paths, return_inverse=True)[1]


def _pair(features: str, labels: str) -> _Set | None:
    paths = real_data(features), real_data(labels)
    if paths[0] is None or paths[1] is None:
        return None
    return np.load(paths[0]).astype(np.float32), np.load(paths[1])


def _runs(features: Array, labels: Array) -> list[tuple[str, Contender]]:
    """The installed methods with parameters that suit the set."""
    k = len(np.unique(labels))
    small = len(features) <= _QUADRATIC
    candidates: Iterable[tuple[str, str, dict[str, Any], bool]] = (
        *((f"hac-{linkage}", "hac", {"linkage": linkage}, small)
          for linkage in ("single", "complete", "average", "ward", "centroid")),
        ("hac-ward-knn", "hac", {"linkage": "ward", "connectivity": "knn"}, True),
        ("birch", "birch", {}, True),
        ("birch-inserted", "birch", {"tree": "inserted"}, True),
        ("hdbscan", "hdbscan", {}, small),
        ("bisecting-kmeans", "bisecting-kmeans", {"n_clusters": k}, True),
        ("hkm", "hkm", {"max_leaves": max(2, len(features) // 4)}, small),
        ("hkm-k-compact", "hkm", {"max_leaves": k, "grow": "compact"}, True),
        ("hkm-k-scattered", "hkm", {"max_leaves": k, "grow": "scattered"}, True),
        ("hsc-k-compact", "hsc", {"max_leaves": k, "grow": "compact"}, small),
        ("hsc-k-scattered", "hsc", {"max_leaves": k, "grow": "scattered"}, small),
        ("scc", "scc", {}, True),
        ("kmeans", "kmeans", {"n_clusters": k}, True),
        ("gmm", "gmm", {"n_clusters": k, "covariance": "diag"}, features.shape[1] <= 100),
        ("spectral", "spectral", {"n_clusters": k}, small),
    )  # fmt: skip
    installed = methods()
    return [
        (name, _contender(method, params))
        for name, method, params, fits in candidates
        if fits and method in installed
    ]


def _contender(method_id: str, params: dict[str, Any], **more: Any) -> Contender:
    """The method with defaults filled in."""
    complete = methods()[method_id].Params.model_validate(params).model_dump(mode="json")
    return Contender(method=method_id, params=complete, **more)


def _measure(
    report: Report,
    name: str,
    features: Array,
    labels: Array,
    runs: list[tuple[str, Contender]],
    seeds: int,
    logits: Array | None = None,
) -> None:
    values: dict[str, Any] = {"features": features, "labels": labels}
    if logits is not None:
        values["logits"] = logits
    for called, run in runs:
        options = ComparisonOptions(runs=(run,), seeds=seeds, metrics=METRICS)
        bench = ComparisonRuns(options, values, 1)
        crew = Crew(bench.compute, lambda fraction, stage, message="": None)
        row = compare(options, crew)["table"][0]
        spread = row["metrics"]
        report.row(
            "quality",
            what=f"{name}: {called}",
            n=len(features),
            d=features.shape[1],
            classes=len(np.unique(labels)),
            seeds=row["seeds"],
            **{metric: _shown(spread.get(metric)) for metric in METRICS},
            seconds=None if row["seconds"] is None else row["seconds"]["mean"],
            paper_purity=PAPER.get((name, called), ""),
            failed="" if row["error"] is None else row["error"]["detail"][:60],
        )


def _shown(spread: dict[str, float] | None) -> str:
    if spread is None:
        return ""
    return f"{spread['mean']:.4f}" + (f" +-{spread['std']:.3f}" if spread["std"] else "")


def _images(report: Report, size: Size) -> None:
    """L2H on a classifier's logits, on flat methods' logits, and hierarchies from features.

    Features are standardized and projected to 128 components except for methods labelled raw;
    `turtle` and `temi` run shorter than by default, so that no GPU is needed.
    """
    points_and_classes = loaded("tinyimagenet")
    path = real_data("tinyimagenet_efflite0_logits.npy")
    if points_and_classes is None or path is None:
        return
    k = len(np.unique(points_and_classes[1]))
    then = MethodStep(method="l2h", params=methods()["l2h"].Params().model_dump(mode="json"))
    prepared: dict[str, Any] = {
        "preprocess": ({"step": "standardize"}, {"step": "pca", "n": 128}),
    }
    turtle = {"n_clusters": k, "max_iter": 1500, "batch_size": 2000, "learning_rate": 5e-3}
    n_passes = 100 if size == "full" else 60
    temi = {"n_clusters": k, "k_neighbors": 25, "max_iter": n_passes, "learning_rate": 1e-3}
    n_heads = 16 if size == "full" else 8
    runs = [
        ("l2h, the classifier's logits", _contender("l2h", {})),
        ("kmeans then l2h", _contender("kmeans", {"n_clusters": k}, then=then, **prepared)),
        ("turtle then l2h", _contender("turtle", turtle, then=then, **prepared)),
        ("temi then l2h", _contender("temi", {**temi, "n_heads": n_heads}, then=then, **prepared)),
        ("hac-ward", _contender("hac", {"linkage": "ward"}, **prepared)),
        ("hac-ward, raw", _contender("hac", {"linkage": "ward"})),
        ("scc", _contender("scc", {}, **prepared)),
        ("hkm-k", _contender("hkm", {"max_leaves": k}, **prepared)),
    ]
    _measure(report, "tinyimagenet", *points_and_classes, runs, 1, np.load(path))
