"""`python -m models.compiled`: compile now what would else be compiled at its first use; with
`--all` what few methods use as well, which takes some minutes.

What numba compiles it keeps beside the code, or in the user's cache where that cannot be written.
"""

from __future__ import annotations

import sys

import numpy as np


def load() -> None:
    """Have every compiled function ready: loaded from the cache, or compiled and kept there."""
    from models.data import Data
    from models.metrics import catalogue, nodes  # noqa: F401
    from models.registry import method

    l2h = method("l2h")
    # Noise leaves decisions to reading again, equal scores to float64.
    noise, equal = np.random.default_rng(0).normal(size=(400, 100)), np.eye(8)
    for values in (noise, equal):
        for dtype in (np.float64, np.float32, np.float16):
            l2h.fit(Data({"logits": values.astype(dtype)}), l2h.Params())


def compile_graph() -> None:
    """What `hac` needs on a graph; not for a process that is forked: libraries start threads."""
    from models.data import Data
    from models.registry import method

    points, hac = np.random.default_rng(0).normal(size=(400, 3)), method("hac")
    params = hac.Params.model_validate({"connectivity": "knn"})
    hac.fit(Data({"features": points}), params)


def compile_all() -> None:
    """What single methods need."""
    from models.data import Data
    from models.registry import method

    points = np.random.default_rng(0).normal(size=(400, 3))
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True)
    for name, given, params in (
        ("perch", points, {}),
        ("hmmc", points, {"max_leaves": 3}),
        ("hmmc", points, {"max_leaves": 3, "branching": 3}),
        ("vmf", sphere, {"n_clusters": 3}),
        ("bvmf", sphere, {"n_clusters": 3}),
        ("bvmf", sphere, {"n_clusters": 3, "inference": "gibbs"}),
    ):
        used = method(name)
        used.fit(Data({"features": given}), used.Params.model_validate(params))
    glove = method("ghhc-glove")
    few = glove.Params.model_validate({"n_internal": 3, "max_iter": 0})
    glove.fit(Data({"graph": np.ones((8, 8))}), few)


if __name__ == "__main__":
    load()
    compile_graph()
    if "--all" in sys.argv[1:]:
        compile_all()
