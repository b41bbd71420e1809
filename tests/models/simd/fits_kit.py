"""A handful of whole fits that use every operation; `python -m` this file writes their arrays.

Beside them stands which operations were used, and where numba keeps what was compiled with them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from models import registry
from models.graphs.neighbours import nearest
from models.inputs.data import Data
from models.method import Fitted
from models.numerics.distances import DistanceMetric
from models.running.progress import silent
from tests.models.methods.sphere.sphere_kit import mixture

Array = npt.NDArray[Any]


def logits(n_classes: int, dtype: str) -> Array:
    """Rows of classes that lie in groups of three, so that every level of a tree has rows."""
    rng = np.random.default_rng(n_classes)
    own = rng.integers(n_classes, size=1500)
    values = rng.normal(size=(len(own), n_classes)) * 2
    values += 3.0 * (np.arange(n_classes) // 3 == own[:, None] // 3)
    values[np.arange(len(own)), own] += 5.0
    return values.astype(dtype)


def fit(method: str, params: dict[str, Any], **inputs: Any) -> Fitted:
    found = registry.method(method)
    return found.fit(Data(inputs), found.Params(**params))


def fits() -> Iterator[tuple[str, Fitted]]:
    # Each type is compiled once; the operations themselves are tested on all types and lengths.
    for n_classes, dtype in ((7, "float32"), (100, "float16"), (300, "float64")):
        yield f"l2h-{n_classes}-{dtype}", fit("l2h", {}, logits=logits(n_classes, dtype))
    features, _, _ = mixture((90, 60, 50), 12, 20.0)
    yield "vmf", fit("vmf", {"n_clusters": 3}, features=features)
    # By the nearest of centres, and along a spanning tree.
    for linkage in ("ward", "single"):
        yield f"hac-{linkage}", fit("hac", {"linkage": linkage}, features=features)


def arrays() -> dict[str, Array]:
    """The arrays of every fit, by names."""
    found = {}
    for name, fitted in fits():
        found |= {
            f"{name}/tree/{field.name}": value
            for field in fields(fitted.tree)
            if isinstance(value := getattr(fitted.tree, field.name), np.ndarray)
            and value.dtype != object
        }
        found |= {f"{name}/{key}": np.asarray(value) for key, value in fitted.metrics.items()}
        found |= {f"{name}/points/{key}": value for key, value in fitted.point_columns.items()}
        if fitted.model is not None:
            found |= {f"{name}/model/{key}": value for key, value in fitted.model.arrays.items()}
        if fitted.logits is not None:
            found[f"{name}/logits"] = np.asarray(fitted.logits)
    points = np.random.default_rng(0).normal(size=(700, 9))
    for metric in get_args(DistanceMetric):
        result = nearest(points, 6, metric, 1, silent)
        found[f"nearest-{metric}/index"] = result.index
        found[f"nearest-{metric}/distance"] = result.distance
    return found


def used() -> dict[str, str]:
    """The module of an operation, and the folder of the code compiled from a function, for each
    user of operations; and the folder of a function that uses none."""
    from models.graphs.loops import boxes
    from models.methods.logits.merging.loops import few, rows
    from models.methods.logits.merging.loops import merges as without
    from models.methods.sphere.mixture import loops
    from models.numerics.loops import agglomeration
    from models.simd.loops import operations as columns
    from models.simd.loops import operations as numbers
    from models.simd.loops import operations as row_loops
    from models.simd.loops import operations as tiles

    operations = (row_loops.tops, columns.best, tiles.add_squares, numbers.larger)
    callers = (
        rows.scan,
        few.scan,
        loops.posteriors,
        agglomeration.nearest_points,
        boxes.distances,
    )
    # numba's intrinsics have no `__module__`.
    modules = (
        operation.__module__ if hasattr(operation, "py_func") else operation._defn.__module__
        for operation in operations
    )
    return {
        **{f"operation {i}": name for i, name in enumerate(modules)},
        **{f"folder {i}": str(caller.stats.cache_path) for i, caller in enumerate(callers)},
        "without": str(without.score.stats.cache_path),
    }


if __name__ == "__main__":
    np.savez(Path(sys.argv[1]), **arrays(), **{k: np.array(v) for k, v in used().items()})
