"""Methods beside the libraries that they compete with, in time and memory.

The fit, and its job: the work of a worker's child, which reads the uploaded file, fits, and writes
the result files. Each library call gets the same points in memory and the same parameters; all run
on one thread, in processes of their own, one after the other. The goal is that a fit takes at most
`GOAL` times the CPU seconds of the fastest library that computes the same; `also` are calls that
compute something else: scikit-learn's bisecting k-means starts each split at random points by
default, its brute-force HDBSCAN takes distances by a formula in which digits cancel, fast_hdbscan's
tree is approximate with more than 30 columns, and Faiss's k-means makes a fixed number of
iterations. fastcluster and genieclust are measured where they are installed. The points are float32
in 20 round clusters, 64 columns, 8 and 384; counts for `lda`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench import Size
from bench.measure import Measured, measured
from bench.report import Report
from models.inputs.data import Data
from models.registry import method
from workers.child.run import run
from workers.model import Request, now
from workers.work.job import Spec
from workers.work.sources import Source

Array = np.ndarray[Any, Any]
GOAL = 1.1

Call = Callable[[Array], object]


@dataclass(frozen=True, slots=True)
class Case:
    """A method beside libraries.

    peers : the calls that compute the same. also : calls that compute something similar.
    most : the largest number of points with 64 columns. counts : whether it takes counts. wide,
        narrow : whether it is also measured with 384 columns, with 8.
    exact_columns : peers that compute the same only up to so many columns.
    """

    method: str
    params: dict[str, Any]
    peers: Mapping[str, Call]
    also: Mapping[str, Call] = field(default_factory=dict)
    most: int = 1_000_000
    counts: bool = False
    wide: bool = False
    narrow: bool = False
    exact_columns: Mapping[str, int] = field(default_factory=dict)


def _scipy(linkage: str) -> Call:
    def call(points: Array) -> object:
        from scipy.cluster import hierarchy

        return hierarchy.linkage(points, linkage)[-1, 2]

    return call


def _fastcluster(linkage: str) -> Call:
    def call(points: Array) -> object:
        import fastcluster
        from scipy.spatial.distance import pdist

        return fastcluster.linkage(pdist(points), linkage, preserve_input=False)[-1, 2]

    return call


def _fastcluster_vector(linkage: str) -> Call:
    def call(points: Array) -> object:
        import fastcluster

        return fastcluster.linkage_vector(points.astype(np.float64), linkage)[-1, 2]

    return call


def _genieclust(points: Array) -> object:
    import genieclust

    # Single linkage is Genie with a threshold that no inequality exceeds.
    genie = genieclust.Genie(n_clusters=20, gini_threshold=1.0)
    return int(genie.fit_predict(points).max())


def _fast_hdbscan(points: Array) -> object:
    import fast_hdbscan

    return int(fast_hdbscan.HDBSCAN(min_cluster_size=5).fit_predict(points).max())


def _faiss_kmeans(points: Array) -> object:
    import faiss

    return float(faiss.Kmeans(points.shape[1], 20, nredo=10, seed=0).train(points))


def _linkages(linkage: str) -> dict[str, Call]:
    peers = {"SciPy": _scipy(linkage)}
    if find_spec("fastcluster"):
        peers["fastcluster"] = _fastcluster(linkage)
        if linkage != "average":
            peers["fastcluster, vectors"] = _fastcluster_vector(linkage)
    if linkage == "single" and find_spec("genieclust"):
        peers["genieclust"] = _genieclust
    return peers


def _sklearn(path: str, **params: Any) -> Call:
    module, _, name = path.rpartition(".")

    def call(points: Array) -> object:
        from importlib import import_module

        estimator = getattr(import_module(f"sklearn.{module}"), name)(**params).fit(points)
        return type(estimator).__name__

    return call


_LEARN = "scikit-learn"
_BISECTING = {"n_clusters": 20, "n_init": 1, "random_state": 0}

CASES = (
    *(
        Case(
            "hac",
            {"linkage": linkage},
            _linkages(linkage),
            most=10_000,
            wide=True,
            narrow=linkage == "single",
        )
        for linkage in ("average", "ward", "single")
    ),
    Case(
        "hdbscan",
        {},
        {
            _LEARN: _sklearn("cluster.HDBSCAN", min_cluster_size=5, copy=True),
            "fast_hdbscan": _fast_hdbscan,
        },
        {
            f"{_LEARN}, brute force": _sklearn(
                "cluster.HDBSCAN", min_cluster_size=5, algorithm="brute", copy=True
            )
        },
        most=10_000,
        wide=True,
        narrow=True,
        exact_columns={"fast_hdbscan": 30},
    ),
    Case(
        "birch",
        # Few enough subclusters that the bound on their number raises nothing.
        {"threshold": 8.0, "branching": 50, "tree": "inserted"},
        {_LEARN: _sklearn("cluster.Birch", threshold=8.0, n_clusters=None)},
    ),
    Case(
        "bisecting-kmeans",
        {"n_clusters": 20, "n_init": 1},
        {_LEARN: _sklearn("cluster.BisectingKMeans", init="k-means++", **_BISECTING)},
        {f"{_LEARN}, random starts": _sklearn("cluster.BisectingKMeans", **_BISECTING)},
    ),
    Case(
        "kmeans",
        {"n_clusters": 20},
        {_LEARN: _sklearn("cluster.KMeans", n_clusters=20, n_init=10, random_state=0)},
        {"Faiss": _faiss_kmeans},
    ),
    Case(
        "minibatch-kmeans",
        {"n_clusters": 20},
        {_LEARN: _sklearn("cluster.MiniBatchKMeans", n_clusters=20, n_init=3, random_state=0)},
    ),
    Case(
        "gmm",
        {"n_clusters": 20, "n_init": 1},
        {_LEARN: _sklearn("mixture.GaussianMixture", n_components=20, n_init=1, random_state=0)},
    ),
    Case(
        "spectral",
        {"n_clusters": 20},
        {
            _LEARN: _sklearn(
                "cluster.SpectralClustering",
                n_clusters=20,
                affinity="nearest_neighbors",
                random_state=0,
            )
        },
        most=10_000,
    ),
    Case(
        "lda",
        {"n_clusters": 20},
        {
            _LEARN: _sklearn(
                "decomposition.LatentDirichletAllocation", n_components=20, random_state=0
            )
        },
        counts=True,
    ),
)


def points(n_points: int, n_columns: int = 64) -> Array:
    rng = np.random.default_rng(0)
    centre = 3 * rng.normal(size=(20, n_columns))
    rows = centre[rng.integers(0, 20, n_points)] + rng.normal(size=(n_points, n_columns))
    return rows.astype("f4")


def table(report: Report, size: Size) -> None:
    """A row in "wrapped" for each method and shape."""
    sizes = {"quick": (5_000,), "default": (10_000, 50_000), "full": (10_000, 50_000)}[size]
    shapes = [(2_000, 384), (20_000, 8), *((n_points, 64) for n_points in sizes)]
    with tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder:
        for n_points, n_columns in shapes:
            dense = points(n_points, n_columns)
            counts = np.maximum(np.round(2 * dense), 0)
            for number, case in enumerate(CASES):
                fits = {384: case.wide, 8: case.narrow, 64: n_points <= case.most}
                if fits[n_columns]:
                    values = counts if case.counts else dense
                    place = Path(folder) / f"{n_points}-{n_columns}-{number}"
                    _row(report, case, values, 1 if size == "quick" else 3, place)


def _row(report: Report, case: Case, values: Array, n_runs: int, folder: Path) -> None:
    folder.mkdir()
    path = folder / "points.npy"
    np.save(path, values)
    runner = method(case.method)

    def job() -> None:
        _job(case, path, Path(tempfile.mkdtemp(dir=folder)))

    def fit() -> int:
        data = Data({"features": np.load(path)})
        return runner.fit(data, runner.Params.model_validate(case.params)).tree.n_nodes

    def cost(call: Callable[[], object]) -> Measured[object]:
        return measured(call, n_runs, prepare=call, seconds=20)

    def bare(call: Call) -> Measured[object]:
        return cost(lambda: call(np.load(path)))

    fitted, whole = cost(fit), cost(job)
    exact = {
        name
        for name in case.peers
        if values.shape[1] <= case.exact_columns.get(name, values.shape[1])
    }
    calls = {**case.peers, **case.also}
    peers = {name: bare(calls[name]) for name in calls if name in exact}
    also = {name: bare(calls[name]) for name in calls if name not in exact}
    best = min(peers, key=lambda name: peers[name].cpu_s)
    others = {name: each for name, each in {**peers, **also}.items() if name != best}
    report.row(
        "wrapped",
        what=" ".join((case.method, case.params.get("linkage", ""))).strip(),
        n_points=len(values),
        columns=values.shape[1],
        job_cpu_s=whole.cpu_s,
        fit_cpu_s=fitted.cpu_s,
        best=best,
        best_cpu_s=peers[best].cpu_s,
        times=fitted.cpu_s / peers[best].cpu_s,
        within=fitted.cpu_s <= GOAL * peers[best].cpu_s,
        job_peak_bytes=whole.peak_bytes,
        fit_peak_bytes=fitted.peak_bytes,
        best_peak_bytes=peers[best].peak_bytes,
        others="; ".join(f"{name} {each.cpu_s:.3g} s" for name, each in others.items()),
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
