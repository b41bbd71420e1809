"""The tables of the four papers in one go, each by its paper's protocol, with the printed figures.

First the papers' own large sets, from files of the user's in the folder that UMBEL_PAPER_DATA
names, a folder for each set (`FILES`; what is absent is named and left out):

    cifar10, cifar100, food101  tables 1 and 2 of the logits paper. Flat methods learn from the
        training rows, TEMI from the first space (CLIP ViT-L/14), TURTLE from both (DINOv2 ViT-g/14
        besides); `l2h` reads the training rows' logits, and all measures are of the test rows. Ward
        (50 principal components), DeepECT and TreeVAE get the images; HypHC gets the first space.
        `minutes` goes from the rows to the tree, `l2h_minutes` is `l2h` alone.
    imagenet  the same paper's classifier: `l2h` on a million rows' logits, measured on others.
    covtype, aloi, ilsvrc  table 1 of the hyperbolic paper with its numbers of nodes
        (`bench.purity`).
    school  its table 2: explained variance in per cent on a quarter of each school's pupils, over
        ten cuts at random, as MTRL's authors have it.

Then, without chosen sets, the tables of `SHIPPED`, on sets in the folder that UMBEL_TEST_DATA names
and on those that packages ship. A GPU is used where there is one; nothing is shortened.

Source: Palumbo et al., "From Logits to Hierarchies" (2025), appendix B; Monath et al.,
"Gradient-based Hierarchical Clustering using Continuous Representations of Trees in Hyperbolic
Space" (2019), section 6; Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015); Gopal,
"Large-scale Structured Learning" (2014).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench import Chosen, Size, purity
from bench.l2h_tables import (
    Maker,
    Split,
    components,
    deep,
    flat,
    numbered,
    of_classifier,
    of_test_rows,
)
from bench.labelled import spread
from bench.quality import METRICS
from bench.report import Report
from bench.tasks import explained
from models.arrays import Array, Float, Int
from models.inputs.data import Data
from models.metrics.catalogue import evaluate
from models.registry import method

SHIPPED = ("purity", "tasks", "margins", "classifiers", "labelled", "sphere", "l2h_tables")
"""Tables of the papers on sets that are at hand without files of the user's."""

_IMAGES = ("cifar10", "cifar100", "food101")
_POINTS = ("covtype", "aloi", "ilsvrc")
_HALVES = ("train", "test")
FILES: Mapping[str, tuple[str, ...]] = {
    **{
        name: tuple(f"{half}_{what}.npy" for half in _HALVES for what in ("clip", "dino", "labels"))
        for name in _IMAGES
    },
    "imagenet": tuple(f"{half}_{what}.npy" for half in _HALVES for what in ("logits", "labels")),
    **dict.fromkeys(_POINTS, ("features.npy", "labels.npy")),
    "school": ("features.npy", "targets.npy", "tasks.npy"),
}
"""The files of each set: rows of numbers, and a label, target or task for each row. Sets of images
may have `train_images.npy` and `test_images.npy` besides."""

_SEEDS: Mapping[Size, int] = {"quick": 1, "default": 3, "full": 5}
_CUTS = 10
_TRAIN_SHARE = 0.75

_OF_IMAGES = ("nmi", "ari", "accuracy", "leaf_purity", "dendrogram_purity", "lhd", "minutes")
_PRINTED: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "cifar10": {
        "Ward": (0.074, 0.038, 0.211, 0.246, 0.121, 0.549, 0.1),
        "HypHC": (0.019, 0.009, 0.134, 0.359, 0.104, 0.569, 163.7),
        "DeepECT": (0.006, 0.002, 0.110, 0.110, 0.101, 0.369, 24.1),
        "TreeVAE": (0.414, 0.313, 0.497, 0.523, 0.341, 0.410, 364.1),
        "L2H-TEMI": (0.901, 0.906, 0.956, 0.958, 0.902, 0.348),
        "L2H-TURTLE": (0.985, 0.989, 0.995, 0.995, 0.988, 0.277, 1.6),
    },
    "cifar100": {
        "Ward": (0.223, 0.020, 0.090, 0.131, 0.019, 0.428, 0.1),
        "HypHC": (0.072, 0.004, 0.031, 0.560, 0.011, 0.499, 153.3),
        "DeepECT": (0.016, 0.005, 0.070, 0.070, 0.052, 0.121, 26.2),
        "TreeVAE": (0.199, 0.098, 0.228, 0.242, 0.103, 0.484, 756.3),
        "L2H-TEMI": (0.778, 0.565, 0.682, 0.698, 0.502, 0.298),
        "L2H-TURTLE": (0.917, 0.831, 0.896, 0.896, 0.803, 0.235, 1.6),
    },
    "food101": {
        "Ward": (0.082, 0.004, 0.039, 0.045, 0.011, 0.438, 0.9),
        "HypHC": (0.035, 0.002, 0.022, 0.630, 0.011, 0.573, 195.3),
        "DeepECT": (0.003, 0.000, 0.011, 0.011, 0.010, 0.333, 67.5),
        "TreeVAE": (0.114, 0.017, 0.057, 0.058, 0.016, 0.483, 2293.7),
        "L2H-TEMI": (0.917, 0.841, 0.904, 0.881, 0.801, 0.270),
        "L2H-TURTLE": (0.894, 0.800, 0.876, 0.843, 0.758, 0.297, 1.7),
    },
}
"""By set and system the measures `_OF_IMAGES` as printed; TEMI's minutes are not."""
_PRINTED_L2H = {"cifar10": "< 0.01", "cifar100": "< 0.01", "food101": "< 0.01", "imagenet": "0.47"}
"""Minutes of `l2h` alone."""

_SCHOOL = (
    ("STL", "stl", 23.5),
    ("MTRL", "mtrl", 29.9),
    ("gHHC", "ghhc-mtl", 38.4),
)


def table(report: Report, size: Size, chosen: Chosen) -> None:
    """With chosen sets only their rows."""
    for name in chosen.sets_of(tuple(FILES)):
        files = {} if name not in FILES else _files(name)
        if not files:
            wanted = ", ".join(FILES.get(name, ("one of " + ", ".join(FILES),)))
            report.note(
                "papers", f"Left out: {name}; UMBEL_PAPER_DATA/{name} has to hold {wanted}."
            )
            continue
        seeds = chosen.seeds_of(_SEEDS[size])
        if name == "school":
            _school(report, files, chosen)
        elif name in _POINTS:
            features = np.load(files["features"], mmap_mode="r")
            purity.rows(
                report, name, features, numbered(np.load(files["labels"])), seeds, len(features)
            )
        else:
            _of_logits(report, name, files, seeds, chosen)
    if chosen == Chosen():
        for shipped in SHIPPED:
            report.heading(shipped)
            module = import_module(f"bench.{shipped}")
            extra = (Chosen(),) if shipped in ("margins", "l2h_tables") else ()
            module.table(report, size, *extra)


def _files(name: str) -> dict[str, Path]:
    """The files of a set by their names without the ending; empty where one is missing."""
    folder = Path(os.environ.get("UMBEL_PAPER_DATA", "")) / name
    if "UMBEL_PAPER_DATA" not in os.environ or any(
        not (folder / file).is_file() for file in FILES[name]
    ):
        return {}
    return {path.stem: path for path in sorted(folder.glob("*.npy"))}


def _of_logits(
    report: Report, name: str, files: Mapping[str, Path], seeds: int, chosen: Chosen
) -> None:
    code = numbered(_both(files, "labels"))
    n_train = len(np.load(files["train_labels"], mmap_mode="r"))
    split = Split(np.arange(n_train), np.arange(n_train, code.size))
    makers = _makers(files, int(code.max()) + 1)
    for called in chosen.systems_of(makers):
        _row(report, name, called, code, split, makers[called], seeds)


def _makers(files: Mapping[str, Path], k: int) -> dict[str, Maker]:
    """The systems of a set for which its files are there."""
    if "train_logits" in files:
        return {"L2H, classifier": of_classifier(_both(files, "logits"))}
    clip, dino = _both(files, "clip"), _both(files, "dino")
    systems: dict[str, Maker] = {}
    if {"train_images", "test_images"} <= set(files):
        images = _both(files, "images")
        flattened = images.reshape(len(images), -1).astype(np.float32)
        systems["Ward"] = of_test_rows("hac", components, {"linkage": "ward"}, flattened)
        systems["DeepECT"] = deep("deepect", k, flattened)
        systems["TreeVAE"] = deep("treevae", k, flattened)
    return systems | {
        "HypHC": of_test_rows("hyphc", np.asarray, {}, clip),
        "L2H-TEMI": flat("temi", k, {}, [clip]),
        "L2H-TURTLE": flat("turtle", k, {}, [clip, dino]),
    }


def _both(files: Mapping[str, Path], what: str) -> Array:
    """The training rows, then the test rows."""
    return np.concatenate([np.load(files[f"{half}_{what}"]) for half in _HALVES])


def _row(
    report: Report, name: str, called: str, code: Int, split: Split, make: Maker, seeds: int
) -> None:
    """Means and standard deviations over seeds, each with the printed figure in brackets."""
    found: dict[str, list[float]] = {measure: [] for measure in _OF_IMAGES}
    own: list[float] = []
    for seed in range(seeds):
        began = time.perf_counter()
        placed = make(split, seed)
        found["minutes"].append((time.perf_counter() - began) / 60.0)
        measured = evaluate(placed.tree, labels=code[split.test], metrics=METRICS).metrics
        for measure in METRICS:
            found[measure].append(measured[measure] or 0.0)
        own += [] if placed.l2h_s is None else [placed.l2h_s / 60.0]
    printed = _PRINTED.get(name, {}).get(called, ())
    cells = {}
    for at, (measure, values) in enumerate(found.items()):
        beside = f" ({printed[at]:g})" if at < len(printed) else ""
        cells[measure] = spread(values) + beside
    alone = f"{np.mean(own):.3g} ({_PRINTED_L2H[name]})" if own else ""
    report.row("papers", what=f"{name}: {called}", seeds=seeds, **cells, l2h_minutes=alone)


def _school(report: Report, files: Mapping[str, Path], chosen: Chosen) -> None:
    features, targets, tasks = (np.load(files[what]) for what in ("features", "targets", "tasks"))
    task = numbered(tasks)
    systems = {called: (id, printed) for called, id, printed in _SCHOOL}
    for called in chosen.systems_of(systems):
        id, printed = systems[called]
        values = [
            100.0 * _explained_of_cut(id, features, targets, task, seed)
            for seed in range(chosen.seeds_of(_CUTS))
        ]
        report.row(
            "papers_school",
            what=f"school: {called}",
            cuts=len(values),
            explained_variance=f"{np.mean(values):.1f} +- {np.std(values):.1f}",
            paper=printed,
        )


def _explained_of_cut(id: str, features: Float, targets: Float, task: Int, seed: int) -> float:
    """Explained variance of the rows left out by one cut, which every task has its share of."""
    order = np.random.default_rng(seed).permutation(task.size)
    order = order[np.argsort(task[order], kind="stable")]
    starts = np.searchsorted(task[order], np.arange(int(task.max()) + 1))
    counts = np.bincount(task)
    place = np.arange(task.size) - np.repeat(starts, counts)
    learned = place < np.maximum(1, np.round(_TRAIN_SHARE * np.repeat(counts, counts)))
    train, test = order[learned], order[~learned]
    used = method(id)
    rows: dict[str, Any] = {
        "features": features[train], "targets": targets[train], "tasks": task[train]
    }  # fmt: skip
    fitted = used.fit(Data(rows), used.Params())
    assert fitted.model is not None
    new = Data({"features": features[test], "tasks": task[test]})
    value = used.predict(fitted.model, fitted.tree, new).columns["value"]
    return explained(value, targets[test])
