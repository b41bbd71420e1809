"""The cost of an iteration of EM, side by side in one process.

It is compared with its matrix product and with an iteration of scikit-learn's KMeans.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bench import Size
from bench.measure import least_cpu_s
from bench.report import Report
from bench.sphere.sets import UNIT, prepared
from models.arrays import Matrix
from models.inputs.data import Data
from models.methods.sphere.mixture.mixture import Constraints, Mixture, maximize
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.running.progress import silent

_DENSE: dict[Size, int] = {"quick": 50_000, "default": 200_000, "full": 1_000_000}
_SPARSE: dict[Size, int] = {"quick": 20_000, "default": 50_000, "full": 100_000}
_REPEATS: dict[Size, int] = {"quick": 3, "default": 7, "full": 5}

_KMEANS = (2, 22)
"""Numbers of iterations of the timed k-means runs; they differ by twenty."""


def table(report: Report, size: Size) -> None:
    """CPU seconds of an iteration on one thread: the minimum of some runs, the kinds in turn."""
    rng = np.random.default_rng(0)
    n_points, n_clusters = _DENSE[size], 100
    dense = rng.standard_normal((n_points, 128), dtype=np.float32)
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    _iterations(report, "dense", dense, n_clusters, _REPEATS[size])
    n_points, n_features, length = _SPARSE[size], 50_000, 100
    share = 1.0 / np.arange(1, n_features + 1)
    columns = rng.choice(n_features, size=n_points * length, p=share / share.sum())
    start = np.arange(0, n_points * length + 1, length)
    values = rng.random(n_points * length, dtype=np.float32)
    sparse = sp.csr_array(
        (values, columns.astype(np.int32), start.astype(np.int32)), shape=(n_points, n_features)
    )
    sparse.sum_duplicates()
    _iterations(report, "sparse", prepared(sparse, UNIT), n_clusters, _REPEATS[size])


def _iterations(report: Report, what: str, features: Matrix, n_clusters: int, repeats: int) -> None:
    from threadpoolctl import threadpool_limits

    points = UnitRows.of(Data({"features": features}))
    n_points, n_features = points.shape
    rows = np.random.default_rng(1).choice(n_points, n_clusters, replace=False)
    means = points.dense(np.sort(rows))
    start = Mixture(np.full(n_clusters, -np.log(n_clusters)), means, np.full(n_clusters, 50.0))
    weights = np.ascontiguousarray(start.weights.T, dtype=np.float32)
    counted = np.ones(n_points)
    ways: dict[str, Callable[[], object]] = {"product": lambda: features @ weights}
    with threadpool_limits(1), Passes(points, 1) as passes, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, hard in (("soft", False), ("hard", True)):

            def iteration(hard: bool = hard) -> Mixture:
                sums = passes.expect(start.weights, start.offsets, counted, silent, hard=hard)
                return maximize(sums, start, Constraints("shared", 1e6, equal=hard))

            ways[name] = iteration
        for n in _KMEANS:
            ways[f"{n} of k-means"] = _kmeans(features, means, n)
        best = least_cpu_s(ways, repeats + 1)
    few, many = (best.pop(f"{n} of k-means") for n in _KMEANS)
    best["kmeans"] = (many - few) / (_KMEANS[1] - _KMEANS[0])
    report.row(
        "sphere",
        what=f"an iteration, {what} {n_points:,} x {n_features:,}, {n_clusters} clusters",
        **{f"{name}_cpu_s": value for name, value in best.items()},
        soft_of_product=best["soft"] / best["product"],
        soft_of_kmeans=best["soft"] / best["kmeans"],
        hard_of_kmeans=best["hard"] / best["kmeans"],
    )


def _kmeans(features: Matrix, means: npt.NDArray[np.float64], n: int) -> Callable[[], object]:
    """A call of `n` iterations of scikit-learn's KMeans."""
    from sklearn.cluster import KMeans

    model = KMeans(
        len(means), init=means.astype(np.float32), n_init=1, max_iter=n, tol=0.0, algorithm="lloyd"
    )
    return lambda: model.fit(features)
