"""Fits of every method with a parameter `device`, on the card and on this machine's cores.

The wall time of a fit by each, on the same generated data, after a small fit that loads and
compiles. The heaviest of them are bounded by arithmetic, which `flops` of a large product of
matrices on the same device puts into proportion. Without a card the table has this machine's times
alone, and says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from bench import Size
from bench.report import Report
from models.arrays import Array
from models.inputs.data import Data
from models.registry import method, methods
from models.running.progress import silent

SMALL = 400
"""Rows of the fit before those that are measured."""

PRODUCT = 4096
"""Rows and columns of the matrices whose product says what a device can do."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fit that is measured. unit : whether rows have length 1. role : the input that they are."""

    method: str
    n_columns: int
    n_points: Mapping[Size, int]
    params: Mapping[str, Any] = field(default_factory=dict)
    unit: bool = False
    role: str = "features"


def _points(quick: int, default: int, full: int) -> dict[Size, int]:
    return {"quick": quick, "default": default, "full": full}


FITS = (
    Fit("class-tree", 200, _points(2_000, 20_000, 100_000), role="logits"),
    Fit("turtle", 384, _points(2_000, 10_000, 50_000), {"n_clusters": 20, "max_iter": 300}),
    Fit("temi", 384, _points(2_000, 10_000, 50_000), {"n_clusters": 20, "max_iter": 20}),
    Fit("ghhc", 64, _points(2_000, 20_000, 200_000), {"max_iter": 300}),
    Fit("hyphc", 64, _points(500, 2_000, 5_000), {"max_iter": 200, "n_init": 1}),
    Fit(
        "vmf",
        128,
        _points(10_000, 100_000, 1_000_000),
        {"n_clusters": 50, "n_init": 1, "max_iter": 30},
        unit=True,
    ),
    Fit(
        "bvmf",
        64,
        _points(2_000, 20_000, 100_000),
        {"n_clusters": 20, "n_init": 1, "max_iter": 20},
        unit=True,
    ),
    Fit(
        "deepect",
        784,
        _points(1_000, 10_000, 60_000),
        {"n_clusters": 10, "pretrain_epochs": 10, "epochs": 10},
    ),
    Fit(
        "treevae",
        784,
        _points(1_000, 10_000, 60_000),
        {"n_clusters": 5, "n_init": 1, "epochs": 10, "growth_epochs": 5, "tuning_epochs": 5},
    ),
)


def table(report: Report, size: Size) -> None:
    """A row in "gpu_fits" for each method and device; `gain` is over the cores of this machine."""
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    if devices == ["cpu"]:
        report.note("gpu_fits", "No GPU here: the times are of this machine's cores alone.")
    for device in devices:
        report.note("gpu_fits", f"{device}: a product of matrices at {flops(device) / 1e12:.2f} T.")
    for fit in FITS:
        times: dict[str, float] = {}
        for device in devices:
            run(fit, min(SMALL, fit.n_points[size]), device)
            times[device] = run(fit, fit.n_points[size], device)
            report.row(
                "gpu_fits",
                what=fit.method,
                n_points=fit.n_points[size],
                columns=fit.n_columns,
                device=device,
                wall_s=times[device],
                gain=times["cpu"] / times[device],
            )


def run(fit: Fit, n_points: int, device: str) -> float:
    """The seconds of a fit."""
    used = method(fit.method)
    params = used.Params.model_validate({**fit.params, "device": device})
    data = Data({fit.role: points(n_points, fit.n_columns, unit=fit.unit)})
    return _seconds(lambda: used.fit(data, params, silent, threads=os.cpu_count() or 1))


def points(n_points: int, n_columns: int, *, unit: bool) -> Array:
    """Round clusters in float32; of length 1 where `unit`."""
    rng = np.random.default_rng(0)
    centre = 3.0 * rng.normal(size=(20, n_columns))
    rows = (
        centre[rng.integers(20, size=n_points)] + rng.normal(size=(n_points, n_columns))
    ).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows


def flops(device: str) -> float:
    """Operations a second of a product of float32 matrices, the best of three."""
    a = torch.rand(PRODUCT, PRODUCT, device=device)

    def product() -> None:
        (a @ a)[0, 0].item()

    product()
    return 2.0 * PRODUCT**3 / min(_seconds(product) for _ in range(3))


def without_a_row() -> list[str]:
    """Methods that have a device and no row here: `l2h` has its own tables."""
    measured = {"l2h", "ghhc-glove", *(fit.method for fit in FITS)}
    return [
        name for name, used in methods().items() if "cuda" in used.devices and name not in measured
    ]


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
