"""Likelihood of the next period's rows for moving clusters: figure 5.3 of the thesis."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bench import Size
from bench.report import Report
from bench.sphere.fitting import fitted, shown
from bench.sphere.orders import Scores
from models.inputs.data import Data
from models.methods.sphere.bvmf import BVMF
from models.methods.sphere.tvmf import TVMF
from models.methods.sphere.vmf import VMF
from models.numerics.sphere import draw_vmf, uniform

MOVING: dict[Size, tuple[int, int, int]] = {
    "quick": (4, 100, 5),
    "default": (8, 200, 10),
    "full": (12, 300, 30),
}
"""Numbers of periods, of rows in each, and of clusters."""

STEPS = (150.0, 600.0, 4000.0)
"""C0 of the drawn clusters, from fast to slow ones."""

MODELS = {"vMFmix": VMF().in_sample, "B-vMFmix": BVMF().in_sample, "T-vMFmix": TVMF().in_sample}


def table(report: Report, scores: Scores, size: Size, seeds: int) -> None:
    """Mean log-likelihood of each period's rows under models of earlier ones, minus vMFmix's."""
    for c0 in STEPS:
        n_clusters = MOVING[size][2]
        runs = [_ahead(c0, seed, size) for seed in range(seeds)]
        for model in MODELS:
            means = [float(np.mean(run[model])) for run, _ in runs]
            scores.add(f"moving, C0 = {c0:g}", "log-likelihood", model, means, n_clusters)
        for model in ("B-vMFmix", "T-vMFmix"):
            above = [np.subtract(run[model], run["vMFmix"]) for run, _ in runs]
            report.row(
                "sphere",
                what=f"next period of moving clusters: {model}",
                c0=c0,
                clusters=n_clusters,
                periods=MOVING[size][0],
                seeds=seeds,
                above_vmf=shown([float(differences.mean()) for differences in above]),
                least=float(np.min(above)),
                cpu_s=shown([cpu_s[model] for _, cpu_s in runs]),
            )


def _ahead(c0: float, seed: int, size: Size) -> tuple[dict[str, list[float]], dict[str, float]]:
    """By model, the likelihood of each period from the third on, and the total CPU seconds."""
    n_periods, n_rows, n_clusters = MOVING[size]
    features, period = _moving(n_periods, n_rows, n_clusters, c0, seed)
    likelihoods: dict[str, list[float]] = {model: [] for model in MODELS}
    cpu_s = dict.fromkeys(MODELS, 0.0)
    for now in range(2, n_periods):
        before, new = period < now, Data({"features": features[period == now]})
        for model, in_sample in MODELS.items():
            timed = model == "T-vMFmix"
            inputs = {"timestamps": period[before]} if timed else {}
            params: dict[str, Any] = {"n_clusters": n_clusters, **({"c0": c0} if timed else {})}
            fit, seconds = fitted(model, features[before], seed, inputs, **params)
            assert fit.model is not None
            likelihoods[model].append(float(in_sample(fit.model, new)["log_likelihood"].mean()))
            cpu_s[model] += seconds
    return likelihoods, cpu_s


def _moving(
    n_periods: int, n_rows: int, n_clusters: int, c0: float, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rows of clusters with changing directions and weights, and the period of each."""
    rng = np.random.default_rng(seed)
    n_features, kappa, sd = 50, 200.0, 0.3
    means, eta = uniform(n_clusters, n_features, rng), rng.standard_normal(n_clusters)
    rows = []
    for _ in range(n_periods):
        weights = np.exp(eta) / np.exp(eta).sum()
        rows.append(draw_vmf(means[rng.choice(n_clusters, n_rows, p=weights)], kappa, rng))
        means, eta = draw_vmf(means, c0, rng), eta + sd * rng.standard_normal(n_clusters)
    return np.concatenate(rows), np.repeat(np.arange(n_periods), n_rows)
