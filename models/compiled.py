"""`python -m models.compiled`: compile now the functions that would otherwise be compiled at first
use.

With `--all` also those of single methods, which takes a few minutes. Numba keeps compiled code
beside the source, or in the user's cache where that cannot be written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from models.data import Data
from models.registry import method
from models.tree import paths


def load() -> None:
    """Load every shared compiled function from the cache, or compile it into the cache."""
    from models.data import Data
    from models.metrics import catalogue, nodes  # noqa: F401
    from models.numerics.agglomeration import merged, merged_points
    from models.numerics.distances import pairwise
    from models.registry import method

    points = np.random.default_rng(0).normal(size=(40, 3))
    for linkage in ("average", "centroid"):
        merged(pairwise(points, "euclidean"), linkage)
    merged_points(points, "ward")

    l2h = method("l2h")
    # Noise makes l2h read the logits again, equal scores make it decide in float64.
    # Few classes and many take different loops. Without its column a class has no points. Mapped
    # files are arrays that cannot be written.
    noise, equal = np.random.default_rng(0).normal(size=(400, 200)), np.eye(8)
    noise[:, 0] -= 9.0
    for values in (noise, equal):
        for dtype in (np.float64, np.float32, np.float16):
            for writeable in (True, False):
                logits = values.astype(dtype)
                logits.flags.writeable = writeable
                l2h.fit(Data({"logits": logits}), l2h.Params())
    best = np.argsort(-noise, axis=1)[:, :5].copy()
    listed = {"logits": np.take_along_axis(noise, best, axis=1), "top_classes": best}
    l2h.fit(Data(listed), l2h.Params())


def compile_graph() -> None:
    """Compile the functions of `hac` on a graph. Not before a fork: the libraries start threads."""
    points, hac = np.random.default_rng(0).normal(size=(400, 3)), method("hac")
    params = hac.Params.model_validate({"connectivity": "knn"})
    hac.fit(Data({"features": points}), params)


def compile_common() -> None:
    """Compile the functions of common methods on points."""
    for kind in (np.float32, np.float64):
        few = np.random.default_rng(0).normal(size=(400, 3)).astype(kind)
        for name in ("kmeans", "hkm"):
            method(name).fit(Data({"features": few}), method(name).Params())
        single = method("hac").Params.model_validate({"linkage": "single"})
        for features in (few, np.tile(few, 6)):
            method("hdbscan").fit(Data({"features": features}), method("hdbscan").Params())
            method("hac").fit(Data({"features": features}), single)
    apart = np.abs(np.subtract.outer(few[:, 0], few[:, 0]))
    method("hdbscan").fit(Data({"distances": apart}), method("hdbscan").Params())


def compile_map() -> None:
    """Compile the functions of umap-learn that maps use, and those that it compiles at import."""
    from models.maps.mapping import mapped
    from models.maps.options import MapTerms
    from models.progress import silent

    points = np.random.default_rng(0).normal(size=(60, 3))
    mapped(points, MapTerms(by="umap"), 1, silent)


def compile_all() -> None:
    """Compile the functions of single methods."""
    for name, inputs, params in (*_clusterings(), *_classifiers()):
        used = method(name)
        used.fit(Data(inputs), used.Params.model_validate(params))


def _clusterings() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Methods on features: their id, inputs and parameters."""
    points = np.random.default_rng(0).normal(size=(400, 3))
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True)
    for features in (points, points.astype(np.float32)):
        yield "perch", {"features": features}, {}
    yield "hmmc", {"features": points}, {"max_leaves": 3}
    yield "hmmc", {"features": points}, {"max_leaves": 3, "branching": 3}
    for features in (sphere, sphere.astype(np.float32), csr_array(sphere)):
        yield "vmf", {"features": features}, {"n_clusters": 3}
        for inference in ("variational-sampling", "gibbs"):
            yield "bvmf", {"features": features}, {"n_clusters": 3, "inference": inference}
    yield "ghhc-glove", {"graph": np.ones((8, 8))}, {"n_internal": 3, "max_iter": 0}


def _classifiers() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Classifiers that are fitted by compiled loops: their id, inputs and parameters."""
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(60, 4)), np.arange(60) % 3
    hierarchy = paths.read("near/0\nnear/1\n2")
    graph = np.array([["0", "1"], ["1", "2"]], dtype=object)
    for features in (points, csr_array(points)):
        inputs = {"features": features, "labels": labels}
        for name in ("hsvm", "msvm", "bsvm", "td-svm"):
            yield name, {**inputs, "hierarchy": hierarchy}, {}
        for name in ("rr-svm", "rr-lr"):
            yield name, {**inputs, "hierarchy": hierarchy}, {}
            yield name, {**inputs, "graph": graph}, {}


if __name__ == "__main__":
    load()
    compile_graph()
    compile_common()
    compile_map()
    if "--all" in sys.argv[1:]:
        compile_all()
