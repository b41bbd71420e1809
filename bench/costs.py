"""How the cost of a fit grows with rows, columns, and clusters or classes.

Each method is fitted at a base size and with one of the three sizes at a time doubled and doubled
again; the exponent is the slope of the least-squares line through the logarithms of CPU seconds,
on one thread, of the whole fit. Iterations are bounded by a small number so that sizes are compared
and not convergence. An exponent below that of the docstring means that a cheaper part still counts.
`ghhc-glove`, whose size is its corpus, is in the table `words`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench import Size
from bench.measure import measured
from bench.report import Report
from models.arrays import Array
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.registry import method
from models.tree import class_paths

STEPS = (1, 2, 4)
Make = Callable[[int, int, int], dict[str, Any]]
"""Inputs by their numbers of rows, columns, and clusters or classes."""


def _blobs(n: int, d: int, k: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    centre = 1.5 * rng.normal(size=(k, d))
    group = rng.integers(0, k, n)
    group[:k] = np.arange(k)
    return (centre[group] + rng.normal(size=(n, d))).astype("f4"), group


def _features(n: int, d: int, k: int) -> dict[str, Any]:
    return {"features": _blobs(n, d, k)[0]}


def _counts(n: int, d: int, k: int) -> dict[str, Any]:
    return {"features": np.maximum(np.round(2 * _blobs(n, d, k)[0]), 0)}


def _directions(n: int, d: int, k: int) -> dict[str, Any]:
    rows = _blobs(n, d, k)[0]
    return {"features": rows / np.linalg.norm(rows, axis=1, keepdims=True)}


def _dated(n: int, d: int, k: int) -> dict[str, Any]:
    return {**_directions(n, d, k), "timestamps": np.sort(np.arange(n) % 10)}


def _logits(n: int, d: int, k: int) -> dict[str, Any]:
    rows, group = _blobs(n, k, k)
    rows[np.arange(n), group] += 6
    return {"logits": rows}


def _labelled(n: int, d: int, k: int) -> dict[str, Any]:
    rows, group = _blobs(n, d, k)
    return {"features": rows, "labels": np.array([f"{g % 4}/{g}" for g in group])}


def _in_hierarchy(n: int, d: int, k: int) -> dict[str, Any]:
    values = _labelled(n, d, k)
    return {**values, "hierarchy": class_paths.read("\n".join(np.unique(values["labels"])))}


def _some_labelled(n: int, d: int, k: int) -> dict[str, Any]:
    rows, group = _blobs(n, d, k)
    return {
        "features": rows,
        "labels": np.where(np.random.default_rng(1).random(n) < 0.2, group, -1),
    }


def _some_in_hierarchy(n: int, d: int, k: int) -> dict[str, Any]:
    values = _labelled(n, d, k)
    names, number = np.unique(values["labels"], return_inverse=True)
    unknown = np.random.default_rng(1).random(n) < 0.5
    start = np.concatenate([[0], np.cumsum(~unknown)])
    return {**values, "labels": LabelSets(start, number[~unknown], names.tolist(), unknown)}


def _tasks(n: int, d: int, k: int) -> dict[str, Any]:
    rows, group = _blobs(n, d, k)
    weight = np.random.default_rng(1).normal(size=(k, d))
    return {
        "features": rows,
        "targets": (rows * weight[group]).sum(axis=1),
        "tasks": np.array([f"t{g}" for g in group]),
    }


@dataclass(frozen=True, slots=True)
class Case:
    """A method at its base size.

    clusters : the parameter that is the third size; "": it follows from the data, or there is none.
    vary : which sizes are doubled: rows N, columns D, clusters or classes K.
    """

    method: str
    make: Make
    n: int
    d: int
    k: int
    clusters: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    vary: str = "NDK"


K = "n_clusters"
_FEW = {"n_init": 1, "max_iter": 10}
_CASES = (
    Case("kmeans", _features, 40_000, 64, 16, K, _FEW),
    Case("minibatch-kmeans", _features, 40_000, 64, 16, K, {"n_init": 1, "max_iter": 5}),
    Case("bisecting-kmeans", _features, 40_000, 64, 16, K, _FEW),
    Case("hkm", _features, 20_000, 64, 16, "", _FEW, "ND"),
    Case("gmm", _features, 20_000, 32, 8, K, {**_FEW, "reg_covar": 1e-3}),
    Case("birch", _features, 10_000, 32, 16, "", {"threshold": 6.0}, "N"),
    Case("spectral", _features, 3_000, 32, 8, K, _FEW),
    Case("lda", _counts, 5_000, 64, 8, K, {"max_iter": 5}),
    Case("multinomial", _counts, 20_000, 64, 8, K, _FEW),
    Case("vmf", _directions, 40_000, 64, 16, K, _FEW),
    Case("hvmf", _directions, 5_000, 32, 8, "", _FEW, "ND"),
    Case("tvmf", _dated, 10_000, 32, 8, K, _FEW),
    Case("bvmf", _directions, 3_000, 32, 8, K, _FEW),
    Case("hac", _features, 2_500, 64, 8, "", {"linkage": "average"}, "ND"),
    Case("hdbscan", _features, 3_000, 32, 8, "", {}, "ND"),
    Case("scc", _features, 20_000, 32, 16, "", {}, "ND"),
    Case("hsc", _features, 2_000, 32, 8, "", {"n_init": 1}, "ND"),
    Case("perch", _features, 2_000, 32, 8, "", {}, "ND"),
    Case("hmmc", _features, 1_000, 32, 8, "", _FEW, "ND"),
    Case("mmc", _features, 1_000, 32, 4, K, _FEW),
    Case("l2h", _logits, 40_000, 0, 100, "", {}, "NK"),
    Case("ghhc", _features, 5_000, 64, 8, "", {"n_init": 1, "max_iter": 50}, "ND"),
    Case("hyphc", _features, 500, 32, 8, "", {"n_init": 1, "max_iter": 30}, "ND"),
    Case("turtle", _features, 4_000, 128, 8, K, {"max_iter": 100}),
    Case("temi", _features, 4_000, 128, 8, K, {"max_iter": 5}),
    Case("deepect", _features, 2_000, 128, 8, K, {"pretrain_epochs": 3, "epochs": 3}),
    Case(
        "treevae",
        _features,
        1_000,
        128,
        3,
        K,
        {"n_init": 1, "epochs": 2, "growth_epochs": 1, "tuning_epochs": 1},
    ),
    *(
        Case(name, _labelled, 4_000, 64, 16, "", {"max_iter": 10})
        for name in ("mlr", "msvm", "bsvm", "blr", "td-svm", "hsvm", "ot")
    ),
    *(
        Case(name, _in_hierarchy, 4_000, 64, 16, "", {"max_iter": 10})
        for name in ("rr-lr", "rr-svm")
    ),
    Case("rmlr", _labelled, 2_000, 32, 16, "", {"max_iter": 10}),
    Case("hblr", _labelled, 2_000, 32, 16, "", {"max_iter": 5}),
    Case("corrmnl", _labelled, 400, 16, 8, "", {"burn_in": 10, "n_samples": 10}),
    *(
        Case(name, _some_labelled, 4_000, 16, 8, "", {"n_init": 2})
        for name in ("bp", "fda", "pcc", "tcs", "tcs-cs", "tcs-fs")
    ),
    *(
        Case(name, _some_labelled, 2_000, 16, 8, "", {"n_init": 2, "max_iter": 10})
        for name in ("lmnn", "tcs-mm")
    ),
    Case("tcs-tree", _some_in_hierarchy, 1_000, 8, 8, "", {"max_iter": 10}),
    Case("stl", _tasks, 20_000, 32, 16),
    Case("mtrl", _tasks, 10_000, 32, 16, "", {"max_iter": 5}),
    Case("ghhc-mtl", _tasks, 5_000, 16, 16, "", {"n_init": 1, "max_iter": 5}),
)


def table(report: Report, size: Size) -> None:
    """A row in "costs" for each method."""
    for case in _CASES:
        report.row("costs", **_row(case, 1 if size == "quick" else 3))


def _row(case: Case, runs: int) -> dict[str, Any]:
    base = {"N": case.n, "D": case.d, "K": case.k}
    exponents: dict[str, float | None] = {"N": None, "D": None, "K": None}
    first: float | None = None
    peak = 0
    for name in case.vary:
        seconds = []
        for step in STEPS:
            if step > 1 or first is None:
                done = measured(
                    _fit(case, {**base, name: step * base[name]}),
                    runs,
                    prepare=_fit(case, {"N": max(200, 4 * case.k), "D": case.d, "K": case.k}),
                    seconds=10,
                )
                if first is None:
                    first, peak = done.cpu_s, done.peak_bytes
                seconds.append(done.cpu_s)
            else:
                seconds.append(first)
        exponents[name] = float(np.polyfit(np.log(STEPS), np.log(seconds), 1)[0])
    return {
        "method": case.method,
        "n_rows": case.n,
        "columns": case.d or None,
        "clusters": case.k,
        "cpu_s": first,
        **{f"{name}^": exponent for name, exponent in exponents.items()},
        "peak_bytes": peak,
    }


def _fit(case: Case, sizes: Mapping[str, int]) -> Callable[[], int]:
    used = method(case.method)
    params = {**case.params, **({case.clusters: sizes["K"]} if case.clusters else {})}
    inputs = case.make(sizes["N"], sizes["D"], sizes["K"])

    def fit() -> int:
        return used.fit(Data(inputs), used.Params.model_validate(params)).tree.n_nodes

    return fit
