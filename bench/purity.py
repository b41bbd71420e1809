"""Dendrogram purity of trees grown by gradient descent, insertion and merging, side by side.

The available sets of the gHHC paper's table 1, with its figures beside ours; it used 200 points of
`optdigits`, so ours are ten draws of 200, and all points. Then two large sets instead of its
ImageNet and ALOI. Mean and standard deviation over seeds (draws for the 200 points).

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
from models.data import Data
from models.metrics.catalogue import evaluate
from models.registry import method


class Contender(NamedTuple):
    """A method with its parameters; `most`: the largest number of points it runs on."""

    called: str
    method: str
    params: Mapping[str, Any]
    most: int = 1_000_000


AUTHORS: Mapping[str, Any] = {
    "loss": "softplus", "margin": 0.25, "structure": "norms", "mask": "nearest", "max_norm": 0.8,
    "placement": "order", "seeding": "random", "temperature": 1.0, "n_init": 1, "keep": "last",
    "learning_rate": 0.01, "gamma": 0.25,
}  # fmt: skip
"""Differences of the authors' program from the defaults of `ghhc`."""

PRINTED: Mapping[str, Any] = {
    "temperature": 1.0, "mask": "likeliest", "placement": "order", "seeding": "random",
    "n_init": 1, "keep": "last", "learning_rate": 0.01, "structure": "distance", "gamma": 0.25,
}  # fmt: skip
"""Differences of the paper's text."""

CONTENDERS = (
    Contender("gHHC", "ghhc", {}),
    Contender("gHHC as printed", "ghhc", PRINTED, 5_000),
    Contender("gHHC as the authors' program", "ghhc", AUTHORS, 5_000),
    Contender("PERCH", "perch", {}),
    Contender("PERCH, balanced", "perch", {"balance": True}),
    Contender("BIRCH", "birch", {}),
    Contender("HKMeans", "hkm", {}),
    Contender("HAC average", "hac", {"linkage": "average"}, 6_000),
)

NODES: Mapping[str, Mapping[str, Any]] = {
    "tinyimagenet": {"n_internal": 1000, "n_init": 2, "max_iter": 1000},
    "wordnet12k": {"n_internal": 200, "n_init": 2, "max_iter": 1000},
}
"""Numbers of nodes for 200 classes and for 5 broad ones, where the default of 64 is too small."""

PAPER: Mapping[tuple[str, str], str] = {
    ("glass", "gHHC"): "0.463 +- 0.0016",
    ("glass", "PERCH"): "0.474 +- 0.017",
    ("glass", "BIRCH"): "0.429 +- 0.013",
    ("glass", "HKMeans"): "0.508 +- 0.008",
    ("glass", "HAC average"): "0.501",
    ("spambase", "gHHC"): "0.614 +- 0.009",
    ("spambase", "PERCH"): "0.611 +- 0.0131",
    ("spambase", "BIRCH"): "0.595 +- 0.013",
    ("spambase", "HKMeans"): "0.626 +- 0.00",
    ("spambase", "HAC average"): "0.629",
    ("optdigits-200", "gHHC"): "0.675 +- 0.015",
    ("optdigits-200", "PERCH"): "0.614 +- 0.033",
    ("optdigits-200", "BIRCH"): "0.544 +- 0.054",
    ("optdigits-200", "HKMeans"): "0.586 +- 0.054",
    ("optdigits-200", "HAC average"): "0.7836",
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
        for contender in CONTENDERS:
            if name in NODES and contender.called == "gHHC":
                contender = contender._replace(params=NODES[name])
            if len(points_and_classes[0]) <= contender.most:
                seeds = _DRAWS if drawn == "00" else _SEEDS[size]
                _row(
                    report,
                    name,
                    contender,
                    list(_runs(contender, *points_and_classes, seeds, drawn == "00")),
                )


def _runs(
    contender: Contender,
    features: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    seeds: int,
    drawn: bool,
) -> Iterator[tuple[float, float]]:
    """Dendrogram purity and seconds of each run."""
    used = method(contender.method)
    seeded = "seed" in used.Params.model_fields
    for seed in range(seeds if seeded or drawn else 1):
        rows = np.arange(len(features))
        if drawn:
            rows = np.random.default_rng(seed).permutation(rows)[:200]
        began = time.perf_counter()
        params = used.Params(**contender.params, **({"seed": seed} if seeded else {}))
        tree = used.fit(Data({"features": features[rows]}), params, threads=2).tree
        seconds = time.perf_counter() - began
        values = evaluate(tree, labels=labels[rows], metrics=["dendrogram_purity"]).metrics
        yield values["dendrogram_purity"] or 0.0, seconds


def _row(report: Report, name: str, contender: Contender, runs: list[tuple[float, float]]) -> None:
    purity, seconds = np.array(runs).T
    report.row(
        "purity",
        what=f"{name}: {contender.called}",
        runs=len(runs),
        dendrogram_purity=f"{purity.mean():.4f}"
        + (f" +-{purity.std():.3f}" if len(runs) > 1 else ""),
        seconds=float(seconds.mean()),
        paper=PAPER.get((name, contender.called), ""),
    )
