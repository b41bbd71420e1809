"""Suggested levels: how often chance gives one, how often planted ones are found, and real sets.

"levels_chance" counts the unstructured sets of `N_POINTS` points for which a level is suggested, by
which criterion. "levels_planted" counts the sets of normal groups with unit deviation whose number
is suggested, and those for which others are, which may be levels too: groups lie where a normal
distribution puts them, so that some are nearer than others; `apart` is the least distance of two
centres. "levels_real" lists (k, criterion, p-value) of each suggestion.

Seeds start at `FIRST_SEED`; the constants of `models.levels.suggested_cuts` were chosen on others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from bench import Size, real_data
from bench.hac_defaults import LINKAGES
from bench.quality import present
from bench.report import Report
from models.arrays import Array, Float
from models.inputs.data import Data
from models.levels import silhouette
from models.levels.suggested_cuts import P_VALUE, Level, candidates, levels
from models.registry import method
from models.tree.tree import Tree

FIRST_SEED = 1_000_000
N_POINTS = 300
_SETS: dict[Size, int] = {"quick": 5, "default": 50, "full": 200}
_MOST = 2_000
_REAL = ("glass", "libras", "vehicle", "vowel", "segment", "optdigits", "separated-2", "emoji",
         "20ng3000", "tinyimagenet-40", "awa")  # fmt: skip


def _normal(rng: np.random.Generator, n_features: int) -> Float:
    return rng.normal(size=(N_POINTS, n_features))


def _directions(rng: np.random.Generator, n_features: int) -> Float:
    points = _normal(rng, n_features)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


UNSTRUCTURED: dict[str, Callable[[np.random.Generator, int], Float]] = {
    "uniform": lambda rng, n_features: rng.random((N_POINTS, n_features)),
    "normal": _normal,
    "Student's t, 5": lambda rng, n_features: rng.standard_t(5, (N_POINTS, n_features)),
    "directions": _directions,
}
PLANTED = ((2, 5, 8.0), (3, 2, 6.0), (3, 2, 10.0), (6, 5, 4.0), (6, 5, 6.0), (11, 5, 6.0))
"""Numbers of groups and features, and the least distance of two centres."""


def table(report: Report, size: Size) -> None:
    """Three tables: by chance, planted, real."""
    seeds = range(FIRST_SEED, FIRST_SEED + _SETS[size])
    for kind, draw in UNSTRUCTURED.items():
        for n_features in (2, 20):
            for linkage in LINKAGES:
                _by_chance(report, kind, draw, n_features, linkage, seeds)
    for n_groups, n_features, apart in PLANTED:
        for linkage in LINKAGES:
            _planted(report, n_groups, n_features, apart, linkage, seeds)
    if size != "quick":
        _real(report)


def _by_chance(
    report: Report,
    kind: str,
    draw: Callable[[np.random.Generator, int], Float],
    n_features: int,
    linkage: str,
    seeds: range,
) -> None:
    counts: Counter[str] = Counter()
    for seed in seeds:
        points = draw(np.random.default_rng(seed), n_features)
        criteria = {level.criterion for level in _suggested(points, linkage)}
        counts.update(criteria)
        counts["either"] += bool(criteria)
    report.row(
        "levels_chance",
        what=f"{kind}, {n_features} features",
        linkage=linkage,
        sets=len(seeds),
        **{criterion: counts[criterion] for criterion in ("gap", "silhouette", "either")},
    )


def _planted(
    report: Report, n_groups: int, n_features: int, apart: float, linkage: str, seeds: range
) -> None:
    counts: Counter[str] = Counter()
    for seed in seeds:
        points = groups(np.random.default_rng(seed), n_groups, n_features, apart)
        suggested = _suggested(points, linkage)
        counts.update({level.criterion for level in suggested if level.k == n_groups})
        counts["either"] += any(level.k == n_groups for level in suggested)
        counts["others"] += any(level.k != n_groups for level in suggested)
    report.row(
        "levels_planted",
        what=f"{n_groups} groups, {n_features} features, {apart:g} apart",
        linkage=linkage,
        sets=len(seeds),
        **{name: counts[name] for name in ("gap", "silhouette", "either", "others")},
    )


def groups(rng: np.random.Generator, n_groups: int, n_features: int, apart: float) -> Float:
    """About N_POINTS points in normal groups of unit deviation and equal size."""
    centres = rng.normal(size=(n_groups, n_features))
    between = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= apart / between[np.triu_indices(n_groups, 1)].min()
    each = N_POINTS // n_groups
    return np.repeat(centres, each, axis=0) + rng.normal(size=(each * n_groups, n_features))


def _suggested(points: Array, linkage: str, metric: str = "euclidean") -> list[Level]:
    """The levels of a job on these points."""
    hac = method("hac")
    params = hac.Params.model_validate({"linkage": linkage, "metric": metric})
    tree: Tree = hac.fit(Data({"features": points}), params, threads=1).tree
    curve = silhouette.curve(tree, points)
    peaks = sorted(candidates(tree, curve))
    p_values = silhouette.p_values(tree, points, peaks)
    return levels(tree, {"silhouette": curve, f"silhouette{P_VALUE}": p_values})


def _real(report: Report) -> None:
    for name, points, classes in _real_sets(report):
        for linkage, metric in (
            *((linkage, "euclidean") for linkage in ("ward", "average", "complete")),
            ("average", "cosine"),
        ):
            found = _suggested(points, linkage, metric)
            report.row(
                "levels_real",
                what=name,
                n=len(points),
                classes=classes,
                linkage=f"{linkage}, {metric}",
                levels=" ".join(f"{x.k}:{x.criterion[:3]}:{x.p_value:.2g}" for x in found),
            )


def _real_sets(report: Report) -> Iterator[tuple[str, Array, int]]:
    """Name, at most `_MOST` points, number of classes."""
    rng = np.random.default_rng(0)
    for name in _REAL:
        if name == "awa":
            path = real_data("awa-predicate-matrix-continuous.txt")
            if path is None:
                report.left_out("levels_real", name)
            else:
                yield name, np.loadtxt(path), 50
            continue
        for _, points, labels in present(report, "levels_real", [name.removesuffix("-40")]):
            rows = rng.permutation(len(points))
            if name.endswith("-40"):
                chosen = rng.permutation(np.unique(labels))[:40]
                rows = rows[np.isin(labels[rows], chosen)]
            rows = rows[:_MOST]
            yield name, np.asarray(points[rows], np.float64), len(np.unique(labels[rows]))
