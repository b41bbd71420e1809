"""How close the splits of `hmmc` come to the optimum, by the effort of their search.

First 12 points about three centres that overlap, 14 draws in 2 to 6 dimensions: the objective above
the smallest over all bipartitions within the bounds on sizes, in per cent, over draws and seeds.
Then the objective of the root and of the whole tree of real sets, where the optimum is not known.
The efforts: three starts from k-means, spectral clustering and a random direction; twelve with
swaps, the default, one of them in gaps of random directions; twenty; and twelve of which one is in
gaps of single features. A system is an alpha with an effort: "alpha 0.01: 20 starts, swaps".
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from sklearn.preprocessing import StandardScaler

from bench import Chosen, Size, real_data
from bench.report import Report
from bench.truths import loaded
from models.arrays import Float
from models.inputs.data import Data
from models.methods.margins.hmmc import HMMCParams, regularizer_of
from models.methods.margins.splitting.alternating import Problem, Weights
from models.methods.margins.splitting.objective import Ancestors
from models.registry import method

EFFORTS: Mapping[str, Mapping[str, float]] = {
    "3 starts": {"n_init": 3, "n_swaps": 0, "tol": 1e-3},
    "12 starts, swaps (default)": {},
    "20 starts, swaps": {"n_init": 20},
    "with gaps": {"gaps": True},
}
ALPHAS = (1.0, 0.1, 0.01)
_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("glass",),
    "default": ("glass", "vowel", "tinyimagenet-20-0", "emoji", "ImCLEF07A"),
    "full": ("glass", "vowel", "tinyimagenet-20-0", "emoji", "ImCLEF07A", "wordnet12k"),
}
_N_DRAWS: dict[Size, int] = {"quick": 4, "default": 14, "full": 14}
_SEEDS: dict[Size, int] = {"quick": 2, "default": 3, "full": 5}


def table(report: Report, size: Size, chosen: Chosen) -> None:
    """With chosen sets only their rows, no enumerated ones."""
    n_seeds = chosen.seeds_of(_SEEDS[size])
    if chosen.sets is None:
        for alpha in ALPHAS:
            for row in enumerated(alpha, _N_DRAWS[size], n_seeds):
                report.row("splits: enumerated", **row)
    systems = {
        f"alpha {alpha:g}: {effort}": (alpha, effort) for alpha in ALPHAS for effort in EFFORTS
    }
    for name in chosen.sets_of(_SETS[size]):
        points = _points(name)
        if points is None:
            report.left_out("splits", name)
            continue
        for system in chosen.systems_of(systems):
            report.row("splits", **_measured(name, points, *systems[system], n_seeds))


def drawn(draw: int) -> Float:
    """12 points in 2 to 6 dimensions."""
    rng = np.random.default_rng(draw)
    n_features = 2 + draw % 5
    centre = rng.normal(size=(3, n_features))
    return rng.normal(size=(12, n_features)) + centre[rng.integers(3, size=12)]


def smallest(points: Float, alpha: float) -> float:
    """The smallest objective of all bipartitions of points, each with its best weights."""
    params = HMMCParams(alpha=alpha)
    problem = Problem.of(
        points, params.terms(2, regularizer_of(params)), Ancestors.root(points.shape[1])
    )
    n_points, values = len(points), []
    for size in range(problem.low, n_points // 2 + 1):
        for chosen in combinations(range(n_points), size):
            cluster = np.ones(n_points, dtype=np.int64)
            cluster[list(chosen)] = 0
            weights = Weights(problem)
            weights.hinge(cluster)
            values.append(weights.descend(cluster, 1e-5 * weights.slope(), 200)[0])
    return min(values)


def enumerated(alpha: float, n_draws: int, n_seeds: int) -> Iterator[dict[str, object]]:
    """A row for each effort: how far it ends above the smallest objective."""
    points = [drawn(draw) for draw in range(n_draws)]
    least = np.array([smallest(rows, alpha) for rows in points])
    for effort, params in EFFORTS.items():
        ends = [
            [_tree(rows, 2, alpha, params, seed)[0] for rows in points] for seed in range(n_seeds)
        ]
        above = np.array(ends) / least - 1.0
        yield {
            "what": f"12 points: {effort}",
            "alpha": alpha,
            "mean_above_pct": 100 * above.mean(),
            "largest_above_pct": 100 * above.max(),
            "reached_pct": 100 * (above < 2e-3).mean(),
        }


def _points(name: str) -> Float | None:
    """Standardized features of a set of classes, principal components of one with a hierarchy."""
    if name not in ("glass", "vowel"):
        truth = loaded(name)
        return None if truth is None else truth.points
    path = real_data(f"bench_{name}.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=True) as arrays:
        standardized: Float = StandardScaler().fit_transform(arrays["X"].astype(np.float64))
    return standardized


def _measured(
    name: str, points: Float, alpha: float, effort: str, n_seeds: int
) -> dict[str, object]:
    runs = [_tree(points, 20, alpha, EFFORTS[effort], seed) for seed in range(n_seeds)]
    root, whole, cpu_s = np.mean(runs, axis=0)
    return {
        "what": f"{name}: {effort}",
        "n": len(points),
        "alpha": alpha,
        "root": root,
        "root_spread": float(np.std([run[0] for run in runs])),
        "tree": whole,
        "tree_spread": float(np.std([run[1] for run in runs])),
        "cpu_s": cpu_s,
    }


def _tree(
    points: Float, n_leaves: int, alpha: float, params: Mapping[str, float], seed: int
) -> tuple[float, float, float]:
    """Objective of the root, sum over the splits of a tree, and CPU seconds."""
    hmmc = method("hmmc")
    values = {"max_leaves": n_leaves, "alpha": alpha, "beta": alpha, "seed": seed, **params}
    data = Data({"features": points})
    root = hmmc.fit(data, hmmc.Params(**{**values, "max_leaves": 2})).metrics["objective"]
    if n_leaves == 2:
        return root, root, 0.0
    began = time.process_time()
    fitted = hmmc.fit(data, hmmc.Params(**values))
    return root, fitted.metrics["objective"], time.process_time() - began
