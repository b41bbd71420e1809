"""Sub-cluster components under constraints, against their literal definition."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from tests.models.methods.features.linkage.constrained_kit import (
    Known,
    Rows,
    between,
    components,
    euclidean,
    heights_of,
    inputs_of,
    random_known,
)

SCC = registry.method("scc")
KINDS = [
    "".join(kinds) for n_kinds in range(1, 5) for kinds in combinations("mcgt", n_kinds)
]  # fmt: skip


def fit(inputs: dict[str, Any], **params: Any) -> Fitted:
    return SCC.fit(Data(inputs), SCC.Params(**params))


def open_node(known: Known, rows: Rows) -> Rows | None:
    """The smallest clade with more than these rows of the known tree; None without any of them."""
    held = rows & known.over
    larger = [clade for clade in known.clades if held < clade]
    return min(larger, key=len, default=frozenset([-1])) if held else None


def breaks(known: Known, groups: list[Rows]) -> bool:
    """Whether the groups may not be one, by the pairs and the known tree."""
    nodes = {open_node(known, group) for group in groups} - {None}
    return len(nodes) > 1 or any(
        between(one, other, pair) for one, other in combinations(groups, 2) for pair in known.cannot
    )


def literal(known: Known, similar: np.ndarray, n_rounds: int) -> tuple[dict[Rows, float], int]:
    """The height of each node but the leaves, by its rows; the number of forced nodes."""
    groups, n = known.groups(), known.n
    found = {group: 0.0 for group in groups if len(group) > 1}
    for group in list(found):
        inside = (clade for clade in known.clades if clade < group and len(clade) > 1)
        found.update(dict.fromkeys(inside, 0.0))
    rounds, n_forced, first, step = 0, 0, 0.0, 0
    threshold = np.inf
    while len(groups) > 1:
        mean = {}
        for a, b in combinations(range(len(groups)), 2):
            value = similar[np.ix_(sorted(groups[a]), sorted(groups[b]))].mean()
            if value > 0 and not breaks(known, [groups[a], groups[b]]):
                mean[a, b] = value
        rounds += 1
        if mean:
            top = max(mean.values())
            first = first or top
            while threshold > top:
                step += 1
                threshold = first * n ** (-2 * step / n_rounds) if step <= n_rounds else 0.0
            best = [
                max((value for pair, value in mean.items() if group in pair), default=0.0)
                for group in range(len(groups))
            ]
            pairs = [
                (a, b)
                for (a, b), value in mean.items()
                if value >= threshold and value in (best[a], best[b])
            ]
            parts = []
            for part in components(len(groups), pairs):
                if not breaks(known, [groups[each] for each in part]):
                    parts.append(part)
                    continue
                own = sorted((pair for pair in pairs if pair[0] in part), key=lambda p: -mean[p])
                kept: list[tuple[int, int]] = []
                for pair in own:
                    (joint,) = (p for p in components(len(groups), [*kept, pair]) if pair[0] in p)
                    if not breaks(known, [groups[each] for each in joint]):
                        kept.append(pair)
                parts += [p for p in components(len(groups), kept) if p <= part]
        else:
            parts = [frozenset([each]) for each in range(len(groups))]
            complete = []
            for clade in known.clades:
                below = frozenset(
                    each for each in range(len(groups)) if open_node(known, groups[each]) == clade
                )
                held = frozenset().union(*(groups[each] for each in below)) & known.over
                if clade != known.over and held == clade:
                    complete.append(below)
            complete = complete or [frozenset(range(len(groups)))]
            inside = frozenset().union(*complete)
            parts = complete + [part for part in parts if not part & inside]
            n_forced += len(complete)
        new = [frozenset().union(*(groups[each] for each in part)) for part in parts]
        found |= {group: float(rounds) for group in new if group not in groups}
        groups = new
    return found, n_forced


def similarities(known: Known, points: np.ndarray, k: int) -> np.ndarray:
    distances = euclidean(points)
    edge = np.zeros(distances.shape, dtype=bool)
    if known.graph is not None:
        low, high = np.array(known.graph).T
        edge[low, high] = True
        scale = distances[low, high].mean()
    else:
        near = np.argsort(distances, axis=1)[:, 1 : k + 1]
        np.put_along_axis(edge, near, True, axis=1)
        scale = np.take_along_axis(distances, near, axis=1).mean()
    return np.where(edge | edge.T, scale / (scale + distances), 0.0)


@pytest.mark.parametrize("kinds", KINDS)
def test_it_is_its_definition(kinds: str) -> None:
    n_compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 13))
        points = rng.normal(size=(n, 2))
        known = random_known(rng, n, kinds)
        k, n_rounds = int(rng.integers(4, n)), int(rng.choice([1, 3, 30]))
        inputs = {"features": points, **inputs_of(known, rng)}
        fitted = fit(inputs, n_neighbors=k, n_rounds=n_rounds)
        if known.graph is None and fitted.metrics["n_parts"] > 1:
            continue
        wanted, n_forced = literal(known, similarities(known, points, k), n_rounds)
        assert heights_of(fitted.tree) == wanted, seed
        assert fitted.metrics.get("n_forced", 0) == n_forced
        assert any("nothing else could merge" in note for note in fitted.warnings) == (n_forced > 0)
        n_compared += 1
    assert n_compared > 6


@pytest.mark.parametrize("kinds", ["c", "t", "ct", "mt"])
def test_points_that_coincide_keep_the_constraints(kinds: str) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        known = random_known(rng, 10, kinds)
        points = rng.integers(2, size=(10, 2)).astype(float)
        fitted = fit({"features": points, **inputs_of(known, rng)})
        found = {rows & known.over for rows in heights_of(fitted.tree)}
        assert {clade for clade in known.clades if len(clade) > 1} <= found
        if not fitted.metrics.get("n_forced"):
            assert not known.cannot
        for rows, height in heights_of(fitted.tree).items():
            if height == 0:
                assert not any({a, b} <= rows for a, b in known.cannot)


@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        ({"must_link": [[0, 1], [1, 2]], "cannot_link": [[0, 2]]}, "rows 0 and 2 are apart"),
        ({"must_link": [[0, 3]], "graph": [[0, 1], [2, 3]]}, "links rows 0 and 3"),
        ({"cannot_link": [[0, 9]]}, "has 9 at row 0, column 1"),
        ({"graph": np.ones((3, 3))}, "3 rows and 3 columns"),
    ],
)
def test_contradictions_are_named(inputs: dict[str, Any], part: str) -> None:
    given = {role: np.array(values) for role, values in inputs.items()}
    with pytest.raises(UsageError, match=part):
        fit({"features": np.arange(8.0).reshape(4, 2), **given})
