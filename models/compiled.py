"""What numba compiles, and when: what a first job needs at the start of a service, the rest when a
job first uses it, or all of it before (`compilations`, which `umbel compile` goes through).

Numba keeps compiled code beside the source, or in the user's cache where that cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from models.inputs.data import Data
from models.maps.options import NEEDS
from models.registry import method
from models.running import packages
from models.tree import class_paths

Compilation = tuple[str, Callable[[], object]]
"""Compiled functions: what they are for, and what loads them from the cache or compiles them."""


class NotCached(Exception):
    """The cache does not hold a function that is needed."""


def load_cached() -> Iterator[None]:
    """Load what common jobs need as far as the cache holds it, in steps. Starts no threads."""

    from models.running.loops import watched

    def refuse(_: object) -> None:
        raise NotCached

    for _, load in (*_l2h(), _METRICS, _MERGES):
        with watched(refuse), suppress(NotCached):
            load()
        yield


def compilations(*, everything: bool) -> Iterator[list[Compilation]]:
    """What there is to compile for common methods, first what the first jobs need.

    In lists that share few compiled functions with each other, so that processes may go through
    several at a time.

    everything : for all methods, which takes a few minutes. Libraries that are not installed have
        nothing to compile.
    """
    yield [*_l2h(), _METRICS, _MERGES]
    yield list(_common())
    yield list(_trees_of_classes())
    yield list(_about_trees())
    if not packages.missing(NEEDS["umap"]):
        yield [("maps by UMAP", _map)]
    if everything:
        for methods in (_spheres(), _further(), _classifiers()):
            yield [
                (name, partial(_fit, name, inputs, params))
                for name, inputs, params in methods
                if not packages.missing(method(name).needs)
            ]


def _l2h() -> Iterator[Compilation]:
    # Noise makes l2h read the logits again, equal scores make it decide in float64.
    # Few classes and many take different loops. Without its column a class has no points.
    noise, equal = np.random.default_rng(0).normal(size=(200, 70)), np.eye(8)
    noise[:, 0] -= 9.0
    for dtype in (np.float64, np.float32, np.float16):
        for what, values in (("few", equal), ("many", noise)):
            inputs = {"logits": values.astype(dtype)}
            yield f"l2h: {what} classes, {np.dtype(dtype)}", partial(_fit, "l2h", inputs)
    best = np.argsort(-noise, axis=1)[:, :5].copy()
    listed = {"logits": np.take_along_axis(noise, best, axis=1), "top_classes": best}
    yield "l2h: the best classes alone", partial(_fit, "l2h", listed)


def _load_metrics() -> None:
    from models.metrics import catalogue, nodes  # noqa: F401


_METRICS: Compilation = ("metrics of trees", _load_metrics)


def _merge() -> None:
    from models.numerics.agglomeration import merged, merged_points
    from models.numerics.distances import pairwise

    points = np.random.default_rng(0).normal(size=(40, 3))
    for linkage in ("average", "centroid"):
        merged(pairwise(points, "euclidean"), linkage)
    merged_points(points, "ward")


_MERGES: Compilation = ("agglomeration", _merge)

_LINKED: tuple[tuple[str, dict[str, Any]], ...] = (("hdbscan", {}), ("hac", {"linkage": "single"}))


def _common() -> Iterator[Compilation]:
    """Common methods on points."""
    for kind in (np.float32, np.float64):
        few = np.random.default_rng(0).normal(size=(400, 3)).astype(kind)
        for name in ("kmeans", "hkm"):
            yield f"{name}: {few.dtype}", partial(_fit, name, {"features": few})
        for features in (few, np.tile(few, 6)):
            for name, params in _LINKED:
                what = f"{name}: {features.shape[1]} features, {features.dtype}"
                yield what, partial(_fit, name, {"features": features}, params)
    points = np.random.default_rng(0).normal(size=(400, 3))
    apart = np.abs(np.subtract.outer(points[:, 0], points[:, 0]))
    yield "hdbscan: distances", partial(_fit, "hdbscan", {"distances": apart})
    along = {"connectivity": "knn"}
    yield "hac on a graph", partial(_fit, "hac", {"features": points}, along)
    yield "hac in rounds", partial(_fit, "hac", {"features": points}, {**along, "epsilon": 0.1})
    pairs = {"must_link": np.array([[0, 1]]), "cannot_link": np.array([[2, 3]])}
    yield "hac with pairs", partial(_fit, "hac", {"distances": apart, **pairs})
    linked = {"features": points, "must_link": pairs["must_link"]}
    yield "hac with pairs that link", partial(_fit, "hac", linked, {"linkage": "single"})


def _trees_of_classes() -> Iterator[Compilation]:
    points = np.random.default_rng(0).normal(size=(400, 3))
    for precision in (np.float64, np.float32, np.float16):
        logits = {"logits": points.astype(precision)}
        yield f"class-tree: {np.dtype(precision)}", partial(_fit, "class-tree", logits)


def _about_trees() -> Iterator[Compilation]:
    """What is computed about trees, whatever made them."""
    for kind in (np.float64, np.float32):
        yield f"exemplars of nodes: {np.dtype(kind)}", partial(_exemplars, kind)
    yield "consensus of trees", _consensus
    yield "answers of a few nodes", _bounded_answers


def _exemplars(kind: type[np.generic]) -> None:
    from models.metrics.nodes import report_on_nodes
    from models.tree.build import from_partition

    points = np.random.default_rng(0).normal(size=(6, 3)).astype(kind)
    report_on_nodes(from_partition([0, 0, 0, 1, 1, 1], 2), features=points)


def _consensus() -> None:
    from models.consensus import loops  # noqa: F401


def _bounded_answers() -> None:
    from models.calibration.climbing import ClassTree, bounded_scores
    from models.tree.build import from_partition

    tree = from_partition([0, 0, 1], 2)
    classes = ClassTree.of(tree, tree.leaves.astype(np.int64))
    bounded_scores(classes, np.eye(classes.n_classes), 1)


def _map() -> None:
    """The functions of umap-learn that maps use, and those that it compiles at import."""
    from models.maps.mapping import mapped
    from models.maps.options import MapTerms
    from models.running.progress import silent

    points = np.random.default_rng(0).normal(size=(60, 3))
    mapped(points, MapTerms(by="umap"), 1, silent)


def _fit(name: str, inputs: dict[str, Any], params: dict[str, Any] | None = None) -> None:
    """Fit, and place the same rows as new ones where the method does that."""
    used, data = method(name), Data(inputs)
    fitted = used.fit(data, used.Params.model_validate(params or {}))
    if used.predicts and fitted.model is not None and "top_classes" not in inputs:
        used.predict(fitted.model, fitted.tree, data)


Fit = tuple[str, dict[str, Any], dict[str, Any]]
"""A method with compiled functions that no other has: its id, inputs and parameters."""


def _spheres() -> Iterator[Fit]:
    """Mixtures on the sphere, with as few sweeps as there may be."""
    points = np.random.default_rng(0).normal(size=(400, 3))
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True)
    shortest = {"n_clusters": 3, "n_init": 1, "max_iter": 2, "burn_in": 1, "n_samples": 2}
    for features in (sphere, sphere.astype(np.float32), csr_array(sphere)):
        yield "vmf", {"features": features}, {"n_clusters": 3}
        for inference in ("variational-sampling", "gibbs"):
            yield "bvmf", {"features": features}, {**shortest, "inference": inference}


def _further() -> Iterator[Fit]:
    points = np.random.default_rng(0).normal(size=(400, 3))
    for features in (points, points.astype(np.float32)):
        yield "perch", {"features": features}, {}
        yield "point-tree", {"features": features}, {}
    yield "hmmc", {"features": points}, {"max_leaves": 3}
    yield "hmmc", {"features": points}, {"max_leaves": 3, "branching": 3}
    labels = {"features": points[:60], "labels": np.arange(60) % 4 - 1}
    yield "tcs-mm", labels, {**method("tcs-mm").example, "gamma": 10.0}
    yield "ghhc-glove", {"graph": np.ones((8, 8))}, {"n_internal": 3, "max_iter": 0}


def _classifiers() -> Iterator[Fit]:
    """Classifiers that are fitted by compiled loops."""
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(60, 4)), np.arange(60) % 3
    hierarchy = class_paths.read("near/0\nnear/1\n2")
    graph = np.array([["0", "1"], ["1", "2"]], dtype=object)
    for features in (points, csr_array(points)):
        inputs = {"features": features, "labels": labels}
        for name in ("hsvm", "msvm", "bsvm", "td-svm"):
            yield name, {**inputs, "hierarchy": hierarchy}, {}
        for name in ("rr-svm", "rr-lr"):
            yield name, {**inputs, "hierarchy": hierarchy}, {}
            yield name, {**inputs, "graph": graph}, {}
            yield name, {**inputs, "hierarchy": hierarchy}, {"block_size": 2}
