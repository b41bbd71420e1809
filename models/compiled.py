"""`python -m models.compiled`: compile now the functions that would otherwise be compiled at first
use.

With `--all` also those of single methods, which takes a few minutes. Numba keeps compiled code
beside the source, or in the user's cache where that cannot be written.
"""

from __future__ import annotations

import sys

import numpy as np


def load() -> None:
    """Load every shared compiled function from the cache, or compile it into the cache."""
    from models.data import Data
    from models.metrics import catalogue, nodes  # noqa: F401
    from models.registry import method

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
    from models.data import Data
    from models.registry import method

    points, hac = np.random.default_rng(0).normal(size=(400, 3)), method("hac")
    params = hac.Params.model_validate({"connectivity": "knn"})
    hac.fit(Data({"features": points}), params)


def compile_map() -> None:
    """Compile the functions of umap-learn that maps use, and those that it compiles at import."""
    from models.maps.mapping import mapped
    from models.maps.options import MapTerms
    from models.progress import silent

    points = np.random.default_rng(0).normal(size=(60, 3))
    mapped(points, MapTerms(by="umap"), 1, silent)


def compile_all() -> None:
    """Compile the functions of single methods."""
    from models.data import Data
    from models.registry import method

    points = np.random.default_rng(0).normal(size=(400, 3))
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True)
    for name, features, params in (
        ("perch", points, {}),
        ("perch", points.astype(np.float32), {}),
        ("hmmc", points, {"max_leaves": 3}),
        ("hmmc", points, {"max_leaves": 3, "branching": 3}),
        ("vmf", sphere, {"n_clusters": 3}),
        ("bvmf", sphere, {"n_clusters": 3}),
        ("bvmf", sphere, {"n_clusters": 3, "inference": "gibbs"}),
    ):
        used = method(name)
        used.fit(Data({"features": features}), used.Params.model_validate(params))
    glove = method("ghhc-glove")
    few = glove.Params.model_validate({"n_internal": 3, "max_iter": 0})
    glove.fit(Data({"graph": np.ones((8, 8))}), few)


if __name__ == "__main__":
    load()
    compile_graph()
    compile_map()
    if "--all" in sys.argv[1:]:
        compile_all()
