"""Dendrogram purity of trees grown by gradient descent, insertion and merging, side by side.

The available sets of the gHHC paper's table 1, with its figures beside ours; it used 200 points of
`optdigits`, so ours are ten draws of 200, and all points. Then two large sets instead of its
ImageNet and ALOI. Mean and standard deviation over seeds (draws for the 200 points).

All methods get the same rows: minus their mean, at norm `POINT_NORM`, as `ghhc` places them in the
ball by default; average linkage also gets them as they are, as in the paper. Where a set has more
points than a method can take it gets a sample, drawn for each seed; `points` says how many.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), section 6 and table 1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench import Size
from bench.quality import loaded
from bench.report import Report
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.hyperbolic.ball.points import measure_scaling
from models.metrics.catalogue import evaluate
from models.registry import method
from models.running.progress import silent


class Contender(NamedTuple):
    """A method with its parameters.

    most : the largest number of points that it gets; of more it gets a sample. needed : whether it
    runs where it would get a sample. raw : whether its rows are not scaled.
    """

    called: str
    method: str
    params: Mapping[str, Any]
    most: int = 1_000_000
    needed: bool = True
    raw: bool = False


POINT_NORM = 0.9
"""Norm of all rows."""


AUTHORS: Mapping[str, Any] = {
    "loss": "softplus", "margin": 0.25, "structure": "norms", "mask": "nearest", "max_norm": 0.8,
    "placement": "order", "seeding": "random", "temperature": 1.0, "n_init": 1, "keep": "last",
    "learning_rate": 0.01, "gamma": 0.25, "optimizer": "sgd", "decay": False, "perplexity": None,
    "max_iter": 5000, "structure_every": 1,
}  # fmt: skip
"""Differences of the authors' program from the defaults of `ghhc`."""

PRINTED: Mapping[str, Any] = {
    "temperature": 1.0, "mask": "likeliest", "placement": "order", "seeding": "random",
    "n_init": 1, "keep": "last", "learning_rate": 0.01, "structure": "distance", "gamma": 0.25,
    "loss": "sigmoid", "optimizer": "sgd", "decay": False, "perplexity": None, "max_iter": 5000,
    "structure_every": 1,
}  # fmt: skip
"""Differences of the paper's text."""

CONTENDERS = (
    Contender("gHHC", "ghhc", {}),
    Contender("gHHC, its start", "ghhc", {"max_iter": 0}),
    Contender("gHHC as printed", "ghhc", PRINTED, 5_000, needed=False),
    Contender("gHHC as the authors' program", "ghhc", AUTHORS, 5_000, needed=False),
    Contender("PERCH", "perch", {}),
    Contender("PERCH, balanced", "perch", {"balance": True}),
    Contender("BIRCH", "birch", {"tree": "inserted"}),
    Contender("HKMeans", "hkm", {}),
    Contender("HAC average", "hac", {"linkage": "average"}, 6_000),
    Contender("HAC average, raw rows", "hac", {"linkage": "average"}, 6_000, raw=True),
)

NODES: Mapping[str, Mapping[str, Any]] = {
    "tinyimagenet": {"n_internal": 1000, "n_init": 2, "max_iter": 1000},
    "wordnet12k": {"n_internal": 200, "n_init": 2, "max_iter": 1000},
    "covtype": {"n_internal": 5_000},
    "aloi": {"n_internal": 40_000},
    "ilsvrc": {"n_internal": 20_000},
}
"""Numbers of nodes for 200 classes and for 5 broad ones, where the default of 64 is too small, and
those that the paper took for its large sets."""

PAPER: Mapping[tuple[str, str], str] = {
    ("glass", "gHHC"): "0.463 +- 0.0016",
    ("glass", "PERCH"): "0.474 +- 0.017",
    ("glass", "BIRCH"): "0.429 +- 0.013",
    ("glass", "HKMeans"): "0.508 +- 0.008",
    ("glass", "HAC average, raw rows"): "0.501",
    ("spambase", "gHHC"): "0.614 +- 0.009",
    ("spambase", "PERCH"): "0.611 +- 0.0131",
    ("spambase", "BIRCH"): "0.595 +- 0.013",
    ("spambase", "HKMeans"): "0.626 +- 0.00",
    ("spambase", "HAC average, raw rows"): "0.629",
    ("optdigits-200", "gHHC"): "0.675 +- 0.015",
    ("optdigits-200", "PERCH"): "0.614 +- 0.033",
    ("optdigits-200", "BIRCH"): "0.544 +- 0.054",
    ("optdigits-200", "HKMeans"): "0.586 +- 0.054",
    ("optdigits-200", "HAC average, raw rows"): "0.7836",
    ("covtype", "gHHC"): "0.444 +- 0.005",
    ("covtype", "PERCH"): "0.45 +- 0.004",
    ("covtype", "BIRCH"): "0.44 +- 0.002",
    ("covtype", "HKMeans"): "0.44 +- 0.001",
    ("aloi", "gHHC"): "0.462 +- 0.0004",
    ("aloi", "PERCH"): "0.44 +- 0.004",
    ("aloi", "BIRCH"): "0.32 +- 0.002",
    ("aloi", "HKMeans"): "0.44 +- 0.001",
    ("ilsvrc", "gHHC"): "0.367 +- 0.0001",
    ("ilsvrc", "PERCH"): "0.21 +- 0.017",
    ("ilsvrc", "BIRCH"): "0.11 +- 0.006",
    ("ilsvrc", "HKMeans"): "0.11 +- 0.003",
}

_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("glass",),
    "default": ("glass", "spambase", "optdigits-200", "optdigits", "tinyimagenet", "wordnet12k"),
    "full": (
        *("glass", "spambase", "optdigits-200", "optdigits", "tinyimagenet", "wordnet12k"),
        *("separated-2", "separated-100"),
    ),
}
_SEEDS: dict[Size, int] = {"quick": 2, "default": 5, "full": 5}
_DRAWS = 10


def table(report: Report, size: Size) -> None:
    """One row for each set and method."""
    for name in _SETS[size]:
        kind, _, drawn = name.partition("-2")
        points_and_classes = loaded(kind if drawn == "00" else name)
        if points_and_classes is None:
            report.left_out("purity", name)
            continue
        n_points = 200 if drawn == "00" else len(points_and_classes[0])
        seeds = _DRAWS if drawn == "00" else _SEEDS[size]
        rows(report, name, *points_and_classes, seeds, n_points)


def rows(
    report: Report,
    name: str,
    features: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    seeds: int,
    n_points: int,
) -> None:
    """A row for each method, on `n_points` of a set's points."""
    for contender in CONTENDERS:
        if name in NODES and contender.called.startswith("gHHC") and contender.needed:
            contender = contender._replace(params={**NODES[name], **contender.params})
        if n_points <= contender.most or contender.needed:
            n_used = min(n_points, contender.most)
            runs = list(_runs(contender, features, labels, seeds, n_used))
            _row(report, name, contender, n_used, runs)


def _runs(
    contender: Contender,
    features: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    seeds: int,
    n_points: int,
) -> Iterator[tuple[float, float]]:
    """Dendrogram purity and seconds of each run, on `n_points` of the points."""
    used = method(contender.method)
    seeded, drawn = "seed" in used.Params.model_fields, n_points < len(features)
    for seed in range(seeds if seeded or drawn else 1):
        rows = np.arange(len(features))
        if drawn:
            rows = np.random.default_rng(seed).permutation(rows)[:n_points]
        values = features[rows] if contender.raw else scaled(features[rows])
        own = {"seed": seed} if seeded else {}
        if contender.method == "ghhc":
            own["scaling"] = "none"
        began = time.perf_counter()
        params = used.Params(**contender.params, **own)
        tree = used.fit(Data({"features": values}), params, threads=2).tree
        seconds = time.perf_counter() - began
        metrics = evaluate(tree, labels=labels[rows], metrics=["dendrogram_purity"]).metrics
        yield metrics["dendrogram_purity"] or 0.0, seconds


def scaled(features: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The rows minus their mean, at norm `POINT_NORM`."""
    rows = ArrayRows(features)
    return measure_scaling(rows, "unit", POINT_NORM, silent).apply(features)


def _row(
    report: Report,
    name: str,
    contender: Contender,
    n_points: int,
    runs: list[tuple[float, float]],
) -> None:
    purity, seconds = np.array(runs).T
    report.row(
        "purity",
        what=f"{name}: {contender.called}",
        points=n_points,
        runs=len(runs),
        dendrogram_purity=f"{purity.mean():.4f}"
        + (f" +-{purity.std():.3f}" if len(runs) > 1 else ""),
        seconds=float(seconds.mean()),
        paper=PAPER.get((name, contender.called), ""),
    )
