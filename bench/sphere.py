"""Clustering on the unit sphere: the tables of the thesis's chapter 5, and what an iteration costs.

First speed, side by side in one process: an iteration of EM against its matrix product and against
an iteration of scikit-learn's KMeans. Then on real sets: how well classes are recovered at their
number and at 20 (table 5.2; counts for the models of counts), tf-idf against tf (5.3), likelihood
of rows held out for 10 to 30 clusters (figure 5.1) and by five hierarchies (figure 5.2), in-sample
against out-of-sample rows (5.4), exact against bounded concentrations (5.5). Then, on clusters that
are drawn to move, likelihood of the next period's rows (figure 5.3). Mean and standard deviation
over seeds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bench import Size, real_data
from bench.report import Report
from models.contract import Fitted, silent
from models.data import Data, Matrix
from models.methods.sphere import bvmf, tvmf, vmf
from models.numerics.sphere import draw_vmf, uniform
from models.preprocess import pipeline
from models.registry import method
from models.vmf.mixture import Mixture, Shape, maximize
from models.vmf.passes import Passes
from models.vmf.points import UnitRows

_Labels: TypeAlias = npt.NDArray[np.int64]

_SEEDS: dict[Size, int] = {"quick": 2, "default": 3, "full": 10}
_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("emoji",),
    "default": ("20ng3000", "emoji", "optdigits"),
    "full": ("20ng3000", "emoji", "optdigits", "wordnet12k"),
}
_DENSE: dict[Size, int] = {"quick": 50_000, "default": 200_000, "full": 1_000_000}
_SPARSE: dict[Size, int] = {"quick": 20_000, "default": 50_000, "full": 100_000}
_REPEATS: dict[Size, int] = {"quick": 3, "default": 7, "full": 5}
_COUNTS: dict[Size, tuple[int, ...]] = {
    "quick": (10,),
    "default": (10, 20, 30),
    "full": (10, 15, 20, 25, 30),
}
_HIERARCHIES: dict[Size, tuple[tuple[int, int], ...]] = {
    "quick": ((3, 3),),
    "default": ((3, 3), (3, 4), (4, 3), (2, 10), (3, 5)),
    "full": ((3, 3), (3, 4), (4, 3), (2, 10), (3, 5)),
}
"""Height and branching, as in the thesis."""

_MOVING: dict[Size, tuple[int, int, int]] = {
    "quick": (4, 100, 5),
    "default": (8, 200, 10),
    "full": (12, 300, 30),
}
"""Periods, rows in each and clusters of what is drawn."""

_STEPS = (150.0, 600.0, 4000.0)
"""C0 of what is drawn: from quick clusters to slow ones."""

_TEXTS: dict[Size, int] = {"quick": 1500, "default": 4000, "full": 12_000}

_KMEANS = (2, 22)
"""Iterations of k-means that are timed; their difference is twenty."""

UNIT = [{"step": "l2"}]
TF = [{"step": "tfidf", "scheme": "lnc"}]
TFIDF = [{"step": "tfidf", "scheme": "ltc"}]

FLAT: dict[str, tuple[str, dict[str, Any]]] = {
    "B-vMFmix": ("bvmf", {}),
    "B-vMFmix, bounding": ("bvmf", {"inference": "variational-bounding"}),
    "vMFmix": ("vmf", {}),
    "vMFmix, own kappa": ("vmf", {"kappa": "own"}),
    "spherical k-means": ("vmf", {"assignment": "hard"}),
    "k-means": ("kmeans", {"n_init": 5}),
    "GM": ("gmm", {"covariance": "spherical", "n_init": 3}),
    "MM": ("multinomial", {"n_init": 5}),
    "LDA": ("lda", {}),
}
MODELS = {**FLAT, "H-vMFmix": ("hvmf", {}), "T-vMFmix": ("tvmf", {})}
_OF_COUNTS = ("MM", "LDA")


def table(report: Report, size: Size) -> None:
    """Everything; only the speed needs no data of its own."""
    _speed(report, size)
    for name in _SETS[size]:
        found = _embeddings(name)
        if found is None:
            report.note("sphere", f"Left out: {name} is not in the folder that UMBEL_TEST_DATA "
                        "names.")  # fmt: skip
            continue
        features, labels = _prepared(found[0], UNIT), found[1]
        _recovered(report, name, {"": features}, labels, size)
        _held_out(report, name, features, size)
        _hierarchies(report, name, features, size)
        _inside(report, name, features, labels, size)
    texts = _glosses(_TEXTS[size])
    if texts is not None:
        counts, labels = texts
        kinds = {"": _prepared(counts, TFIDF), "counts": counts, "tf": _prepared(counts, TF)}
        _recovered(report, "glosses", kinds, labels, size)
        _held_out(report, "glosses", kinds[""], size)
        _hierarchies(report, "glosses", kinds[""], size)
    for c0 in _STEPS:
        _next_period(report, c0, size)


def _speed(report: Report, size: Size) -> None:
    """CPU seconds of an iteration on one thread, the best of some, those of each kind in turn."""
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
    _iterations(report, "sparse", _prepared(sparse, UNIT), n_clusters, _REPEATS[size])


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
    with threadpool_limits(1), Passes(points, 1) as passes:
        for name, hard in (("soft", False), ("hard", True)):

            def iteration(hard: bool = hard) -> Mixture:
                sums = passes.expect(start.weights, start.offsets, counted, silent, hard=hard)
                return maximize(sums, start, Shape("shared", 1e6, equal=hard))

            ways[name] = iteration
        for n in _KMEANS:
            ways[f"{n} of k-means"] = _kmeans(features, means, n)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(repeats + 1):
            for name, way in ways.items():
                # Of the processor: one thread, and others may use the machine.
                began = time.process_time()
                _quietly(way)
                seconds[name].append(time.process_time() - began)
    best = {name: min(several[1:]) for name, several in seconds.items()}
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
    """`n` iterations of scikit-learn's."""
    from sklearn.cluster import KMeans

    one = KMeans(
        len(means), init=means.astype(np.float32), n_init=1, max_iter=n, tol=0.0, algorithm="lloyd"
    )
    return lambda: one.fit(features)


def _recovered(
    report: Report, name: str, kinds: dict[str, Matrix], labels: _Labels, size: Size
) -> None:
    """NMI and ARI of every model, at the number of classes and at 20."""
    n_classes = len(np.unique(labels))
    asked = [("", model) for model in FLAT if model not in _OF_COUNTS]
    if "counts" in kinds:
        asked += [("counts", model) for model in _OF_COUNTS]
        asked += [("tf", model) for model in ("vMFmix", "k-means")]
    for n_clusters in sorted({n_classes, 20}):
        for kind, model in asked:
            features = kinds[kind]
            if model == "GM" and (isinstance(features, sp.csr_array) or size == "quick"):
                continue
            scores: list[tuple[float, float, float]] = []
            for seed in range(_SEEDS[size]):
                began = time.perf_counter()
                found = _fit(model, features, n_clusters, seed)
                taken = time.perf_counter() - began
                scores.append((*_agreement(labels, found), taken))
            nmi, ari, spent = (_shown(several) for several in zip(*scores, strict=True))
            report.row(
                "sphere",
                what=f"{name}{' by ' + kind if kind else ''}: {model}",
                clusters=n_clusters,
                classes=n_classes,
                seeds=_SEEDS[size],
                nmi=nmi,
                ari=ari,
                seconds=spent,
            )


def _held_out(report: Report, name: str, features: Matrix, size: Size) -> None:
    """Mean log-likelihood of half the rows by models of the other half."""
    for n_clusters in _COUNTS[size]:
        for model in ("B-vMFmix", "B-vMFmix, bounding", "vMFmix", "vMFmix, own kappa"):
            values, taken = [], []
            for seed in range(_SEEDS[size]):
                began = time.perf_counter()
                found = _fit(model, features, n_clusters, seed, held_out=0.5)
                taken.append(time.perf_counter() - began)
                values.append(found.metrics["held_out_log_likelihood"])
            report.row(
                "sphere",
                what=f"{name}, held out: {model}",
                clusters=n_clusters,
                seeds=_SEEDS[size],
                log_likelihood=_shown(values),
                seconds=_shown(taken),
            )


def _hierarchies(report: Report, name: str, features: Matrix, size: Size) -> None:
    """Mean log-likelihood of half the rows, by hierarchies and by as many clusters as leaves."""
    for height, branching in _HIERARCHIES[size]:
        shape = {"height": height, "branching": branching}
        for model in ("H-vMFmix", "B-vMFmix", "vMFmix"):
            values, taken = [], []
            for seed in range(_SEEDS[size]):
                given = shape if model == "H-vMFmix" else {"n_clusters": branching**height}
                began = time.perf_counter()
                found = _fitted(model, {"features": features}, seed, held_out=0.5, **given)
                taken.append(time.perf_counter() - began)
                values.append(found.metrics["held_out_log_likelihood"])
            report.row(
                "sphere",
                what=f"{name}, held out: {model}",
                height=height,
                branching=branching,
                seeds=_SEEDS[size],
                log_likelihood=_shown(values),
                seconds=_shown(taken),
            )


def _next_period(report: Report, c0: float, size: Size) -> None:
    """Mean log-likelihood of each period's rows by models of all before, less that by vMFmix."""
    n_periods, n_rows, n_clusters = _MOVING[size]
    n_seeds = min(3, _SEEDS[size])
    models = {"vMFmix": vmf.verdicts, "B-vMFmix": bvmf.verdicts, "T-vMFmix": tvmf.verdicts}
    gains: dict[str, list[float]] = {model: [] for model in models}
    taken: dict[str, list[float]] = {model: [] for model in models}
    for seed in range(n_seeds):
        features, period = _moving(n_periods, n_rows, n_clusters, c0, seed)
        for now in range(2, n_periods):
            before, new = period < now, Data({"features": features[period == now]})
            plain = 0.0
            for model, verdicts in models.items():
                given: dict[str, Any] = {"features": features[before]}
                if model == "T-vMFmix":
                    given["timestamps"] = period[before]
                more = {"c0": c0} if model == "T-vMFmix" else {}
                began = time.perf_counter()
                found = _fitted(model, given, seed, n_clusters=n_clusters, **more)
                taken[model].append(time.perf_counter() - began)
                assert found.model is not None
                value = float(verdicts(found.model, new)["log_likelihood"].mean())
                plain = value if model == "vMFmix" else plain
                gains[model].append(value - plain)
    for model in ("B-vMFmix", "T-vMFmix"):
        report.row(
            "sphere",
            what=f"next period of moving clusters: {model}",
            c0=c0,
            clusters=n_clusters,
            periods=n_periods,
            seeds=n_seeds,
            above_vmf=_shown(gains[model]),
            least=min(gains[model]),
            seconds=_shown(taken[model]),
        )


def _moving(
    n_periods: int, n_rows: int, n_clusters: int, c0: float, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Rows of clusters that move and whose weights change, and the period of each."""
    rng = np.random.default_rng(seed)
    n_features, kappa, sd = 50, 200.0, 0.3
    means, eta = uniform(n_clusters, n_features, rng), rng.standard_normal(n_clusters)
    rows = []
    for _ in range(n_periods):
        weights = np.exp(eta) / np.exp(eta).sum()
        rows.append(draw_vmf(means[rng.choice(n_clusters, n_rows, p=weights)], kappa, rng))
        means, eta = draw_vmf(means, c0, rng), eta + sd * rng.standard_normal(n_clusters)
    return np.concatenate(rows), np.repeat(np.arange(n_periods), n_rows)


def _inside(report: Report, name: str, features: Matrix, labels: _Labels, size: Size) -> None:
    """Accuracy of in-sample or not, where half the classes are known and all come, 20 clusters."""
    for model in ("B-vMFmix", "vMFmix"):
        scores = []
        for seed in range(_SEEDS[size]):
            rng = np.random.default_rng(seed)
            classes = rng.permutation(np.unique(labels))
            known = np.isin(labels, classes[: len(classes) // 2])
            rows = rng.permutation(np.flatnonzero(known))
            train, test = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            other = np.flatnonzero(~known)
            found = _fit(model, features[np.sort(train)], 20, seed, held_out=0.2)
            verdicts = bvmf.verdicts if model == "B-vMFmix" else vmf.verdicts
            assert found.model is not None
            inside = [
                verdicts(found.model, Data({"features": features[one]}))["in_sample"]
                for one in (test, other)
            ]
            right = float(inside[0].sum() + (1 - inside[1]).sum())
            share = right / (len(test) + len(other))
            scores.append((share, float(inside[0].mean()), float(1 - inside[1].mean())))
        accuracy, kept, told = (_shown(several) for several in zip(*scores, strict=True))
        report.row(
            "sphere",
            what=f"{name}, in-sample or not: {model}",
            seeds=_SEEDS[size],
            accuracy=accuracy,
            in_sample_right=kept,
            out_of_sample_right=told,
        )


def _fit(model: str, features: Matrix, n_clusters: int, seed: int, **more: Any) -> Fitted:
    return _fitted(model, {"features": features}, seed, n_clusters=n_clusters, **more)


def _fitted(model: str, inputs: dict[str, Any], seed: int, **more: Any) -> Fitted:
    name, params = MODELS[model]
    used = method(name)
    whole = used.Params.model_validate({**params, "seed": seed, **more})
    found: Fitted = _quietly(lambda: used.fit(Data(inputs), whole))
    return found


def _quietly(fit: Callable[[], Any]) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def _agreement(labels: _Labels, found: Fitted) -> tuple[float, float]:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    own = found.tree.leaf_of_point
    return (
        float(normalized_mutual_info_score(labels, own)),
        float(adjusted_rand_score(labels, own)),
    )


def _prepared(features: Matrix, steps: list[dict[str, str]]) -> Matrix:
    found = pipeline.fit(steps, features, 0)[1]
    assert isinstance(found, (np.ndarray, sp.csr_array))
    return found


def _shown(values: Any) -> str:
    return f"{np.mean(values):.4g} +-{np.std(values):.2g}"


def _embeddings(name: str) -> tuple[npt.NDArray[Any], _Labels] | None:
    """Rows and classes of a set; None where its files are absent."""
    if name == "optdigits":
        path = real_data("bench_optdigits.npz")
        if path is None:
            return None
        with np.load(path, allow_pickle=False) as file:
            return file["X"].astype(np.float32), np.unique(file["y"], return_inverse=True)[1]
    features = real_data(f"{name}_minilm.npy")
    if features is None:
        return None
    values = np.load(features).astype(np.float32)
    if name == "20ng3000":
        path = real_data("20ng3000_labels.npy")
        return None if path is None else (values, np.load(path))
    path = real_data(f"{name}_tree.json")
    if path is None:
        return None
    described = json.loads(path.read_text())
    own = [one["category"] for one in described] if name == "emoji" else described["lex"]
    return values, np.unique(own, return_inverse=True)[1]


def _glosses(n_rows: int) -> tuple[sp.csr_array, _Labels] | None:
    """Counts of the terms in explanations of nouns, and the topic of each; None where absent."""
    from sklearn.feature_extraction.text import CountVectorizer

    path = real_data("wordnet12k_tree.json")
    if path is None:
        return None
    described = json.loads(path.read_text())
    rows = np.sort(np.random.default_rng(0).permutation(len(described["text"]))[:n_rows])
    texts = [described["text"][row] for row in rows]
    counts = CountVectorizer(stop_words="english", min_df=3).fit_transform(texts)
    found = sp.csr_array(counts, dtype=np.float32)
    filled = np.flatnonzero(np.diff(found.indptr))
    topics = np.unique([described["lex"][row] for row in rows], return_inverse=True)[1]
    return found[filled], topics[filled]
