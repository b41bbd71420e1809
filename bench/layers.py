"""`layers` beside EVoC and PLSCAN on embeddings, and how often chance gives a layer.

"layers_real": for each system and set its best layer, by NMI with the classes, noise being one more
cluster; the same measure's layer for ARI; how many clusters and what share of noise the former has;
and `n_layers`. The best layer is chosen with the classes, for every system alike: it says what a
user who looks through the layers can find. EVoC and PLSCAN (`evoc`, `fast_plscan`; neither is a
dependency) take part where they can be imported, all by their defaults; PLSCAN has the rows at
length 1, and its layers are the cuts at the peaks of its persistence. EVoC draws: NMI and ARI are
the means of `N_SEEDS` seeds with their ranges, the rest is the first seed's. In `layers` a seed
changes the p-values alone, and PLSCAN takes none.

"layers_chance": of `N_SETS` sets without structure of `N_POINTS` rows, for how many `layers` finds
a layer, with Wilson's interval.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench import Size
from bench.quality import present
from bench.report import Report
from models.arrays import Array, Float, Int
from models.drift.proportions import wilson
from models.inputs.data import Data
from models.registry import method
from models.tree.parents import nearest

SETS = ("20ng3000", "emoji", "wordnet12k", "tinyimagenet", "usps", "optdigits")
_MOST: dict[Size, int] = {"quick": 500, "default": 3_000, "full": 12_000}
N_SEEDS: dict[Size, int] = {"quick": 1, "default": 5, "full": 5}
N_POINTS = 300
N_COLUMNS = 32
N_SETS: dict[Size, int] = {"quick": 5, "default": 100, "full": 100}

UNSTRUCTURED: Mapping[str, Callable[[np.random.Generator], Float]] = {
    "normal": lambda rng: rng.normal(size=(N_POINTS, N_COLUMNS)),
    "correlated": lambda rng: (
        rng.normal(size=(N_POINTS, N_COLUMNS)) @ rng.normal(size=(N_COLUMNS, N_COLUMNS))
    ),
    "uniform": lambda rng: rng.uniform(-1, 1, size=(N_POINTS, N_COLUMNS)),
    "Student's t, 3": lambda rng: rng.standard_t(3, size=(N_POINTS, N_COLUMNS)),
}


def table(report: Report, size: Size) -> None:
    """Two tables: real sets, and chance."""
    for package in ("evoc", "fast_plscan"):
        if find_spec(package) is None:
            report.note("layers", f"Left out: {package} is not installed.")
    for name, points, classes in present(report, "layers", SETS):
        rows = np.sort(np.random.default_rng(0).permutation(len(points))[: _MOST[size]])
        features = np.asarray(points[rows], dtype=np.float32)
        code = np.unique(classes[rows], return_inverse=True)[1]
        for system, find in SYSTEMS.items():
            n_seeds = N_SEEDS[size] if system == "EVoC" else 1
            began = time.process_time()
            found = [layers for seed in range(n_seeds) if (layers := find(features, seed))]
            if found:
                cpu_s = (time.process_time() - began) / n_seeds
                _row(report, f"{name}: {system}", code, found, cpu_s)
    for kind, draw in UNSTRUCTURED.items():
        _by_chance(report, kind, draw, N_SETS[size])


def _row(report: Report, what: str, code: Int, found: list[list[Int]], cpu_s: float) -> None:
    """found : the layers by each seed."""
    scores = [[scored(code, layer) for layer in layers] for layers in found]
    best = found[0][max(range(len(found[0])), key=lambda at: scores[0][at][0])]
    report.row(
        "layers_real",
        what=what,
        n=len(code),
        n_layers=len(found[0]),
        nmi=_range([max(nmi for nmi, _ in own) for own in scores]),
        ari=_range([max(ari for _, ari in own) for own in scores]),
        clusters=int(best.max()) + 1,
        noise=f"{(best < 0).mean():.2f}",
        cpu_s=cpu_s,
    )


def _range(scores: list[float]) -> str:
    """The mean over seeds, and from where to where."""
    mean = f"{np.mean(scores):.3f}"
    return mean if len(scores) == 1 else f"{mean} [{min(scores):.3f}, {max(scores):.3f}]"


def scored(code: Int, cluster: Int) -> tuple[float, float]:
    """NMI and ARI of clusters with the classes; -1, noise, is one more cluster."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    return (
        float(normalized_mutual_info_score(code, cluster)),
        float(adjusted_rand_score(code, cluster)),
    )


def _layers(features: Array, seed: int) -> list[Int]:
    """The clusters of each layer that `layers` finds, from the finest; -1 for noise."""
    used = method("layers")
    fitted = used.fit(Data({"features": features}), used.Params(seed=seed))
    tree = fitted.tree
    first, last = np.asarray(tree.extra["layer"]), np.asarray(tree.extra["until"])
    found = []
    for layer in range(int(fitted.metrics["n_layers"])):
        inside = (first >= 0) & (first <= layer) & (layer <= last)
        number = np.full(tree.n_nodes + 1, -1)
        number[np.flatnonzero(inside)] = np.arange(inside.sum())
        found.append(number[nearest(tree.parent, inside)[tree.leaf_of_point]])
    return found


def _evoc(features: Array, seed: int) -> list[Int] | None:
    if find_spec("evoc") is None:
        return None
    from evoc import EVoC

    fitted: Any = EVoC(random_state=seed).fit(features)
    return [np.asarray(layer) for layer in fitted.cluster_layers_]


def _plscan(features: Array, seed: int) -> list[Int] | None:
    if find_spec("fast_plscan") is None:
        return None
    from fast_plscan import PLSCAN

    length = np.linalg.norm(features, axis=1, keepdims=True)
    fitted: Any = PLSCAN().fit(features / np.where(length > 0, length, 1.0))
    return [np.asarray(labels) for _, labels, _ in fitted.cluster_layers()]


SYSTEMS: Mapping[str, Callable[[Array, int], list[Int] | None]] = {
    "layers": _layers,
    "EVoC": _evoc,
    "PLSCAN": _plscan,
}


def _by_chance(
    report: Report, kind: str, draw: Callable[[np.random.Generator], Float], n_sets: int
) -> None:
    used = method("layers")
    hits = 0
    for seed in range(n_sets):
        features = draw(np.random.default_rng(2_000_000 + seed))
        fitted = used.fit(Data({"features": features}), used.Params(seed=seed))
        hits += fitted.metrics["n_layers"] > 0
    low, high = wilson(np.array([hits]), np.array([n_sets]))
    report.row(
        "layers_chance",
        what=f"{kind}, {N_POINTS} x {N_COLUMNS}",
        sets=n_sets,
        with_layers=hits,
        interval=f"[{low[0]:.3f}, {high[0]:.3f}]",
    )
