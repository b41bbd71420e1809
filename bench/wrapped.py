"""The overhead of the service over the library calls that its methods wrap, in time and memory.

A job is the work of a worker's child: it reads the uploaded file, fits, and writes the result
files. The library call gets the same points in memory and the same parameters. The points are
float32 in 20 round clusters and 64 columns; counts for `lda` and `multinomial`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import Size
from bench.measure import measured
from bench.report import Report
from workers.child.run import Spec, run
from workers.child.sources import Source
from workers.model import Request, now

Array = np.ndarray[Any, Any]
GOAL_S = 0.1


@dataclass(frozen=True, slots=True)
class Case:
    """bare : the library call. quadratic : whether it is omitted at the larger size."""

    method: str
    params: dict[str, Any]
    bare: Callable[[Array], object]
    quadratic: bool = False
    counts: bool = False
    what: str = ""


def _average(points: Array) -> object:
    import fastcluster
    from scipy.spatial.distance import pdist

    return fastcluster.linkage(pdist(points), "average", preserve_input=False)


def _ward(points: Array) -> object:
    import fastcluster

    return fastcluster.linkage_vector(points.astype(np.float64), "ward")


def _hdbscan(points: Array) -> object:
    import hdbscan

    fitted = hdbscan.HDBSCAN(
        min_cluster_size=5, core_dist_n_jobs=1, approx_min_span_tree=False
    ).fit(points.astype(np.float64))
    return float(fitted.outlier_scores_.sum())


def _sklearn(path: str, **params: Any) -> Callable[[Array], object]:
    module, _, name = path.rpartition(".")

    def call(points: Array) -> object:
        from importlib import import_module

        estimator = getattr(import_module(f"sklearn.{module}"), name)(**params).fit(points)
        return type(estimator).__name__

    return call


CASES = (
    Case("hac", {"linkage": "average"}, _average, quadratic=True, what="average"),
    Case("hac", {"linkage": "ward"}, _ward, quadratic=True, what="ward"),
    Case("birch", {"threshold": 4.0}, _sklearn("cluster.Birch", threshold=4.0, n_clusters=None)),
    Case("hdbscan", {}, _hdbscan, quadratic=True),
    Case(
        "bisecting-kmeans",
        {"n_clusters": 20, "n_init": 1},
        _sklearn("cluster.BisectingKMeans", n_clusters=20, n_init=1, random_state=0),
    ),
    Case(
        "kmeans",
        {"n_clusters": 20},
        _sklearn("cluster.KMeans", n_clusters=20, n_init=10, random_state=0),
    ),
    Case(
        "minibatch-kmeans",
        {"n_clusters": 20},
        _sklearn("cluster.MiniBatchKMeans", n_clusters=20, n_init=3, random_state=0),
    ),
    Case(
        "gmm",
        {"n_clusters": 20, "n_init": 1},
        _sklearn("mixture.GaussianMixture", n_components=20, n_init=1, random_state=0),
    ),
    Case(
        "spectral",
        {"n_clusters": 20},
        _sklearn(
            "cluster.SpectralClustering",
            n_clusters=20,
            affinity="nearest_neighbors",
            random_state=0,
        ),
        quadratic=True,
    ),
    Case(
        "lda",
        {"n_clusters": 20},
        _sklearn("decomposition.LatentDirichletAllocation", n_components=20, random_state=0),
        counts=True,
    ),
)


def points(n_points: int) -> Array:
    rng = np.random.default_rng(0)
    centre = 3 * rng.normal(size=(20, 64))
    return (centre[rng.integers(0, 20, n_points)] + rng.normal(size=(n_points, 64))).astype("f4")


def table(report: Report, size: Size) -> None:
    """Rows in "wrapped": the job, the bare call, and the goal of the job: 1.2 times the call plus
    0.1 s."""
    sizes = {"quick": (5_000,), "default": (10_000, 50_000), "full": (10_000, 50_000)}[size]
    with tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder:
        for n_points in sizes:
            dense = points(n_points)
            counts = np.maximum(np.round(2 * dense), 0)
            for number, case in enumerate(CASES):
                if case.quadratic and n_points > 10_000:
                    continue
                values = counts if case.counts else dense
                _row(report, case, values, Path(folder) / f"{n_points}-{number}")


def _row(report: Report, case: Case, values: Array, folder: Path) -> None:
    folder.mkdir()
    path = folder / "points.npy"
    np.save(path, values)

    def job() -> None:
        _job(case, path, Path(tempfile.mkdtemp(dir=folder)))

    def loaded() -> object:
        return case.bare(np.load(path))

    cost = measured(job, 3, prepare=job, seconds=30)
    bare = measured(loaded, 3, prepare=loaded, seconds=30)
    report.row(
        "wrapped",
        what=f"{case.method} {case.what}".strip(),
        n_points=len(values),
        job_s=cost.wall_s,
        bare_s=bare.wall_s,
        within=cost.wall_s <= 1.2 * bare.wall_s + GOAL_S,
        job_peak_bytes=cost.peak_bytes,
        bare_peak_bytes=bare.peak_bytes,
    )


def _job(case: Case, path: Path, folder: Path) -> None:
    request = Request(
        id="job_bench",
        tenant="none",
        kind="fit",
        method=case.method,
        inputs={"features": "ds_bench"},
        params=case.params,
        created_at=now(),
    )
    source = Source(role="features", kind="dataset", path=path, format="npy")
    outcome = run(Spec(request=request, sources=(source,), folder=folder), lambda _: None)
    if outcome.error is not None:
        raise RuntimeError(f"{case.method}: {outcome.error}")
