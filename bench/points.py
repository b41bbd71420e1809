"""Trees of points: how pure they are by classes that no method has seen.

Dendrogram purity of `point-tree`, by both of its rules, beside average and Ward's linkage, and,
with `--full`, `scc` and `ghhc`. Draws of at most `MOST_POINTS` points of a set, of all where it has
fewer: then there is one draw. Columns of tables have the range 0 to 1, embeddings unit length.
`gain` is what the consensus has above the better of the two linkages on the mean of the draws, with
the half width of its 95% interval over draws (Student's t).

The sets are in two groups: those on which the rule was chosen, and those kept aside until then.
`sklearn` has the first three of the second group. `rings`, `bent` and `noise` are drawn: three
rings in each other, three long clusters side by side, two balls in a wide cloud.

With `--full`, `points_large` is `point-tree` of `N_LARGE` drawn points by more and more groups,
each in a fresh process, with CPU seconds and by how much the process grew at most.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from scipy.stats import t

from bench import Chosen, Size
from bench.labelled import EMBEDDINGS
from bench.quality import loaded
from bench.report import Report
from models.arrays import Array, Int
from models.inputs.data import Data
from models.metrics.catalogue import evaluate
from models.registry import method

MOST_POINTS = 1000
CHOSEN_ON = (
    *("glass", "libras", "segment", "optdigits", "pendigits", "usps", "letter", "spambase"),
    *("vehicle", "vowel", "20ng3000", "tinyimagenet"),
)
KEPT_ASIDE = (
    *("iris", "wine", "breast_cancer", "emoji", "wordnet12k", "ImCLEF07A", "separated-100"),
    *("rings", "bent", "noise"),
)
UNIT = (*EMBEDDINGS, "tinyimagenet", "emoji", "wordnet12k", "20ng3000")
METHODS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "average": ("hac", {"linkage": "average"}),
    "ward": ("hac", {"linkage": "ward"}),
    "walk": ("point-tree", {"rule": "walk"}),
    "consensus": ("point-tree", {}),
}
FURTHER: Mapping[str, tuple[str, dict[str, Any]]] = {"scc": ("scc", {}), "ghhc": ("ghhc", {})}
N_LARGE, GROUPS = 200_000, (5_000, 10_000, 20_000)
_SEEDS: dict[Size, int] = {"quick": 2, "default": 5, "full": 5}


def table(report: Report, size: Size, chosen: Chosen) -> None:
    sets = chosen.sets_of(("glass", "rings") if size == "quick" else CHOSEN_ON + KEPT_ASIDE)
    methods = dict(METHODS, **FURTHER) if size == "full" else METHODS
    for name in sets:
        found = _given(name)
        if found is None:
            report.left_out("points", name)
            continue
        purity = measured(name, *found, methods, chosen.seeds_of(_SEEDS[size]))
        mean = {what: values.mean() for what, values in purity.items()}
        better = max(("average", "ward"), key=lambda what: mean[what])
        gain = purity["consensus"] - purity[better]
        half = None
        if gain.size > 1:
            half = float(t.ppf(0.975, gain.size - 1) * gain.std(ddof=1) / math.sqrt(gain.size))
        report.row(
            "points",
            set=name.ljust(13),
            n_points=min(len(found[0]), MOST_POINTS),
            classes=len(np.unique(found[1])),
            **mean,
            gain=float(gain.mean()),
            half=half,
            group="kept aside" if name in KEPT_ASIDE else "chosen on",
        )
    for n_groups in GROUPS if size == "full" else ():
        # The most memory of a process never falls: one that is used again would show too little.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            report.row("points_large", **fresh.submit(large, N_LARGE, n_groups).result())


def large(n_points: int, n_groups: int) -> dict[str, float]:
    """Cost and purity of 200 drawn clusters in 32 columns, on one thread."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(200, size=n_points)
    points = 3.0 * rng.normal(size=(200, 32))[cluster] + rng.normal(size=(n_points, 32))
    used = method("point-tree")
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = Data({"features": points.astype(np.float32)})
    tree = used.fit(data, used.Params(max_places=n_groups), threads=1).tree
    cpu_s = time.process_time() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    judged = evaluate(tree, labels=cluster, metrics=["dendrogram_purity"]).metrics
    return {
        "points": n_points,
        "groups": n_groups,
        "cpu_s": cpu_s,
        "grown_gb": grown * 1024 / 1e9,
        "purity": judged["dendrogram_purity"] or 0.0,
    }


def measured(
    name: str,
    points: Array,
    classes: Int,
    methods: Mapping[str, tuple[str, dict[str, Any]]],
    n_draws: int,
) -> dict[str, Array]:
    """The dendrogram purity of each method, (n_draws,)."""
    if len(points) <= MOST_POINTS:
        n_draws = 1
    purity = {what: np.empty(n_draws) for what in methods}
    for draw in range(n_draws):
        rows = np.arange(len(points))
        if n_draws > 1:
            rows = np.random.default_rng(draw).permutation(rows)[:MOST_POINTS]
        data = Data({"features": scaled(name, points[rows])})
        for what, (used, params) in methods.items():
            made = method(used)
            tree = made.fit(data, made.Params(**params), threads=1).tree
            judged = evaluate(tree, labels=classes[rows], metrics=["dendrogram_purity"])
            purity[what][draw] = judged.metrics["dendrogram_purity"] or 0.0
    return purity


def scaled(name: str, points: Array) -> Array:
    if name in UNIT:
        return points / np.linalg.norm(points, axis=1, keepdims=True)
    low, width = points.min(axis=0), np.ptp(points, axis=0)
    return (points - low) / np.where(width == 0, 1.0, width)


def _given(name: str) -> tuple[Array, Int] | None:
    rng = np.random.default_rng(0)
    if name in ("iris", "wine", "breast_cancer"):
        from sklearn import datasets

        points, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
        return points, classes
    if name == "rings":
        ring = np.repeat([0, 1, 2], 300)
        angle, radius = rng.uniform(0, 2 * np.pi, 900), np.array([1.0, 3.0, 5.0])[ring]
        points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return points + 0.25 * rng.normal(size=(900, 2)), ring
    if name == "bent":
        cluster = np.repeat([0, 1, 2], 300)
        middle = np.array([[0.0, 0.0], [3.0, 1.0], [-3.0, 2.0]])[cluster]
        return rng.normal(size=(900, 2)) @ [[0.6, -0.64], [-0.41, 0.85]] + middle, cluster
    if name == "noise":
        cluster = np.repeat([0, 1, 2], [300, 300, 200])
        middle, width = np.array([2.0, -2.0, 0.0])[cluster], np.array([1.0, 1.0, 6.0])[cluster]
        return rng.normal(size=(800, 10)) * width[:, None] + middle[:, None], cluster
    return loaded(name)
