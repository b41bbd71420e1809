"""The condensed tree and the choice of its clusters, against definitions followed literally."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage

from models.methods.features.density.clusters import Chosen, Clustering, along

INF = np.inf


class Cluster:
    """A cluster of the condensed tree, from sets of points that merge at each distance."""

    def __init__(self, members: frozenset[int], birth: float, levels: list[Any], least: int):
        self.members, self.birth = members, birth
        self.parts: list[Cluster] = []
        self.fall: dict[int, float] = {}
        current = members
        for number, (distance, groups) in enumerate(levels):
            density = 1 / distance if distance > 0 else INF
            # What remains together once the edges of this length are removed.
            pieces = [group for group in groups if group <= current]
            if pieces == [current]:
                continue
            large = [piece for piece in pieces if len(piece) >= least]
            if len(large) == 1:
                self.fall.update(dict.fromkeys(current - large[0], density))
                current = large[0]
                continue
            self.fall.update(dict.fromkeys(current - frozenset().union(*large), density))
            rest = levels[number + 1 :]
            self.parts = [Cluster(piece, density, rest, least) for piece in large]
            return

    @property
    def end(self) -> float:
        return max([*self.fall.values(), *(part.birth for part in self.parts)])

    def stability(self) -> float:
        fallen = sum(density - self.birth for density in self.fall.values())
        return fallen + sum((p.birth - self.birth) * len(p.members) for p in self.parts)

    def below(self) -> list[Cluster]:
        return [self, *(cluster for part in self.parts for cluster in part.below())]

    def leaves(self) -> list[Cluster]:
        return [cluster for cluster in self.below() if not cluster.parts]

    def falls(self) -> dict[int, float]:
        return {point: d for cluster in self.below() for point, d in cluster.fall.items()}

    def most_stable(self, most: float) -> tuple[float, list[Cluster]]:
        """The sum of stabilities, and the clusters at or below this one."""
        chosen = [part.most_stable(most) for part in self.parts]
        total = sum(stability for stability, _ in chosen)
        if self.stability() >= total and len(self.members) <= most:
            return self.stability(), [self]
        return total, [cluster for _, clusters in chosen for cluster in clusters]


def levels_of(linkage: np.ndarray) -> list[Any]:
    """Each distance, from the largest, with the groups that all shorter edges join."""
    n_points = len(linkage) + 1
    groups = {point: frozenset([point]) for point in range(n_points)}
    levels: list[Any] = []
    for distance in np.unique(linkage[:, 2]):
        levels.append((distance, list(groups.values())))
        for number in np.flatnonzero(linkage[:, 2] == distance):
            one, other = (groups.pop(int(part)) for part in linkage[number, :2])
            groups[n_points + int(number)] = one | other
    return levels[::-1]


def root_of(linkage: np.ndarray, least: int) -> Cluster:
    everyone = frozenset(range(len(linkage) + 1))
    return Cluster(everyone, 0.0, levels_of(linkage), least)


def drawn(seed: int, n_points: int, n_columns: int, on_grid: bool) -> np.ndarray:
    """Merges of random points; on a grid equally far by the dozen, and some coincide."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, n_columns))
    return scipy_linkage(np.round(2 * points) if on_grid else points, "single")


def clusters_of(found: Clustering) -> set[frozenset[int]]:
    return {
        frozenset(np.flatnonzero(found.label == number).tolist())
        for number in range(found.label.max() + 1)
    }


CASES = given(
    st.integers(0, 10**6),
    st.integers(6, 60),
    st.integers(1, 3),
    st.booleans(),
    st.integers(2, 6),
)


@CASES
def test_the_condensed_tree_is_its_definition(
    seed: int, n_points: int, n_columns: int, on_grid: bool, least: int
) -> None:
    linkage = drawn(seed, n_points, n_columns, on_grid)
    root = root_of(linkage, least)
    condensed = along(linkage, Chosen(least, "eom", 0.0, 0, False)).condensed
    expected = root.falls()
    assert condensed.fall.tolist() == [expected[point] for point in range(n_points)]
    # Where more than two clusters part at once, they do so two by two: those in between have no
    # points of their own, and begin and end at one density.
    ends = condensed.death()
    between = condensed.birth == ends
    between[0] = False
    kept = np.flatnonzero(~between).tolist()
    inside: dict[int, set[int]] = {number: set() for number in range(condensed.n_clusters)}
    for point, number in enumerate(condensed.cluster.tolist()):
        while number >= 0:
            inside[number].add(point)
            number = int(condensed.above[number])
    assert {(frozenset(inside[n]), condensed.birth[n]) for n in kept} == {
        (cluster.members, cluster.birth) for cluster in root.below()
    }


@CASES
def test_eom_has_the_most_stable_clusters(
    seed: int, n_points: int, n_columns: int, on_grid: bool, least: int
) -> None:
    linkage = drawn(seed, n_points, n_columns, on_grid)
    if linkage[0, 2] == 0.0:
        # Points that coincide are infinitely dense.
        linkage[:, 2] += 0.25
    root = root_of(linkage, least)
    found = clusters_of(along(linkage, Chosen(least, "eom", 0.0, 0, False)))
    by_members = {cluster.members: cluster for cluster in root.below()}
    total = sum(part.most_stable(INF)[0] for part in root.parts)
    assert sum(by_members[members].stability() for members in found) == pytest.approx(total)
    if not on_grid:
        chosen = [cluster for part in root.parts for cluster in part.most_stable(INF)[1]]
        assert found == {cluster.members for cluster in chosen}


@CASES
def test_clusters_have_at_most_the_largest_size(
    seed: int, n_points: int, n_columns: int, on_grid: bool, least: int
) -> None:
    linkage = drawn(seed, n_points, n_columns, False)
    root = root_of(linkage, least)
    most = max(least, n_points // 4)
    found = clusters_of(along(linkage, Chosen(least, "eom", 0.0, most, False)))
    chosen = [cluster for part in root.parts for cluster in part.most_stable(most)[1]]
    assert found == {cluster.members for cluster in chosen}


@CASES
def test_leaves_strengths_and_outlier_scores(
    seed: int, n_points: int, n_columns: int, on_grid: bool, least: int
) -> None:
    linkage = drawn(seed, n_points, n_columns, on_grid)
    root = root_of(linkage, least)
    found = along(linkage, Chosen(least, "leaf", 0.0, 0, False))
    leaves = root.leaves() if root.parts else []
    assert clusters_of(found) == {leaf.members for leaf in leaves}
    strength = np.zeros(n_points)
    for leaf in leaves:
        for point, density in leaf.fall.items():
            strength[point] = 1.0 if density == INF else density / leaf.end
    np.testing.assert_allclose(found.probability, strength, rtol=1e-12)
    score = np.zeros(n_points)
    for cluster in root.below():
        most = max(cluster.falls().values())
        for point, density in cluster.fall.items():
            score[point] = 0.0 if most == INF else 1 - density / most
    np.testing.assert_allclose(found.outlier, score, rtol=1e-9, atol=1e-12)


@CASES
def test_splits_below_epsilon_are_undone(
    seed: int, n_points: int, n_columns: int, on_grid: bool, least: int
) -> None:
    linkage = drawn(seed, n_points, n_columns, False)
    root = root_of(linkage, least)
    epsilon = float(np.quantile(linkage[:, 2], 0.8))
    found = along(linkage, Chosen(least, "leaf", epsilon, 0, False))
    expected: set[frozenset[int]] = set()

    def visit(cluster: Cluster, over: Cluster) -> None:
        """over : the lowest cluster above, or this one, that began farther apart than epsilon."""
        if not cluster.parts:
            expected.add(over.members)
        for part in cluster.parts:
            visit(part, part if 1 / part.birth > epsilon else over)

    for part in root.parts:
        visit(part, part)
    assert clusters_of(found) == expected


@CASES
def test_the_root_alone_keeps_the_points_that_stay_to_the_end(
    seed: int, n_points: int, n_columns: int, on_grid: bool, least: int
) -> None:
    linkage = drawn(seed, n_points, n_columns, False)
    root = root_of(linkage, least)
    inside = root.most_stable(INF)[1] == [root]
    found = along(linkage, Chosen(least, "eom", 0.0, 0, True))
    falls = root.falls()
    if inside:
        stay = [falls[point] >= root.end for point in range(n_points)]
        assert (found.label == 0).tolist() == stay
        wide = along(linkage, Chosen(least, "eom", 2.0, 0, True))
        assert (wide.label == 0).tolist() == [falls[point] >= 0.5 for point in range(n_points)]
    else:
        without = along(linkage, Chosen(least, "eom", 0.0, 0, False))
        assert found.label.tolist() == without.label.tolist()


def test_a_chain_of_many_merges_needs_no_recursion() -> None:
    """Points at ever larger steps: each falls out of the root by itself."""
    n_points = 200_000
    height = np.arange(1.0, n_points)
    inner = np.arange(n_points, 2 * n_points - 2)
    linkage = np.column_stack(
        [np.append(0, np.arange(2, n_points)), np.append(1, inner), height, height + 1]
    )
    found = along(linkage, Chosen(5, "eom", 0.0, 0, True))
    assert found.condensed.n_clusters == 1
    assert found.condensed.fall[-1] == 1 / (n_points - 1)
    assert (found.label == 0).sum() == 5
