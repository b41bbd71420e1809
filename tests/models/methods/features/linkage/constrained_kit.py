"""Agglomeration under constraints by its literal definition, and random constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from models import registry
from models.inputs.data import Data
from models.method import Fitted
from models.tree import class_paths
from models.tree.tree import Tree

HAC = registry.method("hac")


def fit(inputs: dict[str, Any], **params: Any) -> Fitted:
    return HAC.fit(Data(inputs), HAC.Params(**params))


Rows = frozenset[int]
Apart = Callable[[Rows, Rows], float]
"""The distance of two clusters by the rows of each."""


@dataclass
class Known:
    """What is known of n rows: pairs, clades (sets of rows) and the rows that they are over."""

    n: int
    must: list[tuple[int, int]] = field(default_factory=list)
    cannot: list[tuple[int, int]] = field(default_factory=list)
    graph: list[tuple[int, int]] | None = None
    clades: list[Rows] = field(default_factory=list)
    over: Rows = frozenset()

    def groups(self) -> list[Rows]:
        return components(self.n, self.must)

    def parts(self) -> list[Rows]:
        return components(self.n, self.graph) if self.graph is not None else []

    def level(self, one: Rows, other: Rows) -> int | None:
        """None where the union crosses a clade."""
        union = (one | other) & self.over
        if any(union & c and union - c and c - union for c in self.clades):
            return None
        graph = self.graph
        joined = graph is None or any(between(one, other, edge) for edge in graph)
        across = any(part & one and other - part for part in self.parts())
        apart = any(between(one, other, pair) for pair in self.cannot)
        if not joined and not across:
            return 3
        return 2 if apart else 0 if joined else 1


def between(one: Rows, other: Rows, pair: tuple[int, int]) -> bool:
    a, b = pair
    return (a in one and b in other) or (a in other and b in one)


def components(n: int, pairs: list[tuple[int, int]]) -> list[Rows]:
    parts = [frozenset([row]) for row in range(n)]
    for a, b in pairs:
        first, second = (next(p for p in parts if row in p) for row in (a, b))
        if first != second:
            parts = [p for p in parts if p not in (first, second)] + [first | second]
    return parts


class ByLinkage:
    """Distances of clusters by the definition of a linkage.

    distances : of the rows. Weighted and median linkage follow the merges.
    """

    def __init__(self, linkage: str, distances: np.ndarray, groups: list[Rows]) -> None:
        self.linkage, self.distances = linkage, distances
        self.weight = {group: {row: 1 / len(group) for row in group} for group in groups}

    def merge(self, one: Rows, other: Rows) -> None:
        """Both parts count alike, for weighted and median linkage."""
        both = {**self.weight[one], **self.weight[other]}
        self.weight[one | other] = {row: share / 2 for row, share in both.items()}

    def __call__(self, one: Rows, other: Rows) -> float:
        a, b = sorted(one), sorted(other)
        block = self.distances[np.ix_(a, b)]
        if self.linkage in ("single", "complete", "average"):
            return float(
                {"single": np.min, "complete": np.max, "average": np.mean}[self.linkage](block)
            )
        if self.linkage in ("weighted", "median"):
            u = np.array([self.weight[one][row] for row in a])
            v = np.array([self.weight[other][row] for row in b])
        else:
            u, v = np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b))
        if self.linkage == "weighted":
            return float(u @ block @ v)
        squares = self.distances**2
        total = u @ squares[np.ix_(a, b)] @ v
        total -= (u @ squares[np.ix_(a, a)] @ u + v @ squares[np.ix_(b, b)] @ v) / 2
        if self.linkage == "ward":
            total *= 2 * len(a) * len(b) / (len(a) + len(b))
        return float(np.sqrt(max(total, 0.0)))


def merges_of(
    known: Known, apart: Apart, merge: Callable[[Rows, Rows], None] = lambda one, other: None,
    level: Callable[[Rows, Rows], int | None] | None = None,
) -> list[tuple[Rows, float, int]]:  # fmt: skip
    """Each merge: its rows, its height and its level. A pair of clusters is looked at once."""
    level, apart = cache(level or known.level), cache(apart)
    clusters, merges, top = known.groups(), [], 0.0
    while len(clusters) > 1:
        allowed = [
            (at, apart(one, other), one, other)
            for one, other in combinations(clusters, 2)
            if (at := level(one, other)) is not None
        ]
        at, distance, one, other = min(allowed, key=lambda each: each[:2])
        height = max(distance, top) if at else distance
        top = max(top, height)
        merge(one, other)
        merges.append((one | other, height, at))
        clusters = [c for c in clusters if c not in (one, other)] + [one | other]
    return merges


def expected(known: Known, merges: list[tuple[Rows, float, int]]) -> dict[Rows, float]:
    """The height of each node but the leaves, by its rows."""
    heights = {rows: height for rows, height, _ in merges}
    for group in known.groups():
        if len(group) > 1:
            heights[group] = 0.0
            inside = (c for c in known.clades if c < group and len(c) > 1)
            heights.update(dict.fromkeys(inside, 0.0))
    return heights


def heights_of(tree: Tree) -> dict[Rows, float]:
    """The height of each node but the leaves, by its rows."""
    under: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for row, leaf in enumerate(tree.leaf_of_point):
        under[leaf].add(row)
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    inner = np.flatnonzero(tree.n_children > 0)
    return {frozenset(under[node]): float(tree.height[node]) for node in inner}


def same(found: dict[Rows, float], wanted: dict[Rows, float]) -> None:
    assert found.keys() == wanted.keys()
    rows = list(found)
    np.testing.assert_allclose(
        [found[each] for each in rows], [wanted[each] for each in rows], rtol=1e-7, atol=1e-9
    )


def random_known(rng: np.random.Generator, n: int, which: str) -> Known:
    """Constraints that do not contradict each other; `which` has letters of m, c, g, t."""
    known = Known(n)
    if "g" in which:
        density = rng.choice([0.1, 0.25, 0.6])
        known.graph = [pair for pair in combinations(range(n), 2) if rng.random() < density]
        known.graph = known.graph or [(0, n - 1)]
    if "t" in which:
        known.over = frozenset(np.flatnonzero(rng.random(n) < rng.choice([0.4, 1.0])).tolist())
        known.over = known.over or frozenset([0])
        known.clades = random_clades(rng, known.over)
    pairs = list(combinations(range(n), 2))
    rng.shuffle(pairs)
    if "m" in which:
        for pair in [tuple(pair) for pair in pairs[: int(rng.integers(1, 4))]]:
            tried = [*known.must, pair]
            groups = components(n, tried)
            crossed = any(
                g & c and (g & known.over) - c and c - g for g in groups for c in known.clades
            )
            torn = any(not any(g <= part for part in known.parts()) for g in groups)
            if not crossed and not (known.graph is not None and torn):
                known.must = tried
    if "c" in which:
        for a, b in pairs[: int(rng.integers(1, n))]:
            if not any({a, b} <= group for group in known.groups()):
                known.cannot.append((a, b))
    return known


def random_clades(rng: np.random.Generator, rows: Rows) -> list[Rows]:
    """The rows under each node of a random tree, the root among them."""
    clades, left = [], [rows]
    while left:
        clade = left.pop()
        clades.append(clade)
        if len(clade) > 1 and rng.random() < 0.8:
            branch = rng.integers(0, int(rng.integers(2, 4)), len(clade))
            children = [frozenset(np.array(sorted(clade))[branch == b].tolist()) for b in range(3)]
            left += [child for child in children if child and child != clade]
    return clades


def inputs_of(known: Known, rng: np.random.Generator) -> dict[str, object]:
    """The inputs that say so, in one of their forms."""
    inputs: dict[str, object] = {}
    if known.must:
        inputs["must_link"] = np.array(known.must)
    if known.cannot:
        inputs["cannot_link"] = np.array(known.cannot, dtype=np.float64)
    if known.graph is not None:
        inputs["graph"] = graph_as(known, ("pairs", "dense", "sparse")[rng.integers(3)])
    if known.over:
        inputs["hierarchy"] = hierarchy_of(known)
    return inputs


def graph_as(known: Known, form: str) -> object:
    import scipy.sparse as sp

    ends = np.array(known.graph)
    if form == "pairs":
        return ends
    matrix = np.zeros((known.n, known.n))
    matrix[ends[:, 0], ends[:, 1]] = matrix[ends[:, 1], ends[:, 0]] = 1.0
    return matrix if form == "dense" else sp.csr_array(matrix)


def hierarchy_of(known: Known) -> Tree:
    """The tree of class paths: each row below the clades that have it, from the largest on."""
    order = sorted(set(known.clades), key=lambda clade: (-len(clade), sorted(clade)))
    paths = []
    for row in sorted(known.over):
        above = [f"c{number}" for number, clade in enumerate(order) if row in clade]
        paths.append("/".join([*above, str(row)]))
    return class_paths.read("\n".join(paths))


def euclidean(points: np.ndarray) -> np.ndarray:
    return cdist(points, points)
