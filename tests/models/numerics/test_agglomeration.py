"""Agglomeration against SciPy's linkage, and against its definition where distances are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist, squareform

from models.errors import Cancelled
from models.numerics import agglomeration
from models.numerics.agglomeration import BY_CENTRE, RULES, ByCentre, Rule, merged, merged_points
from models.numerics.loops import agglomeration as loops


def drawn(kind: str, n_points: int, n_columns: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, n_columns))
    if kind == "grid":
        return np.round(points)
    if kind == "copies":
        return points[rng.integers(0, max(1, n_points // 4), n_points)]
    return points + 8.0 * rng.integers(0, 4, (n_points, 1)) if kind == "groups" else points


class Followed:
    """The merges in their order, with the distances of all clusters by the rule's definition."""

    def __init__(self, points: np.ndarray, rule: str):
        self.rule, n_points = rule, len(points)
        self.members = {point: [point] for point in range(n_points)}
        self.centre = {point: points[point] for point in range(n_points)}
        self.apart = squareform(pdist(points))
        self.recent = {(a, b): self.apart[a, b] for a in range(n_points) for b in range(a)}

    def distance(self, one: int, other: int) -> float:
        a, b = max(one, other), min(one, other)
        if self.rule == "weighted":
            return float(self.recent[a, b])
        if self.rule in ("complete", "average"):
            pairs = self.apart[np.ix_(self.members[a], self.members[b])]
            return float(pairs.max() if self.rule == "complete" else pairs.mean())
        squared = float(((self.centre[a] - self.centre[b]) ** 2).sum())
        if self.rule == "ward":
            n_a, n_b = len(self.members[a]), len(self.members[b])
            squared *= 2.0 * n_a * n_b / (n_a + n_b)
        return float(np.sqrt(squared))

    def least(self) -> float:
        names = sorted(self.members)
        return min(self.distance(a, b) for n, a in enumerate(names) for b in names[:n])

    def merge(self, one: int, other: int, name: int) -> None:
        if self.rule == "weighted":
            for third in set(self.members) - {one, other}:
                self.recent[name, third] = (
                    self.distance(one, third) + self.distance(other, third)
                ) / 2
        n_one, n_other = len(self.members[one]), len(self.members[other])
        share = 0.5 if self.rule == "median" else n_one / (n_one + n_other)
        self.centre[name] = share * self.centre[one] + (1 - share) * self.centre[other]
        self.members[name] = self.members.pop(one) + self.members.pop(other)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["scattered", "groups"])
@pytest.mark.parametrize("n_columns", [1, 3, 33, 70])
def test_merges_are_scipys(kind: str, rule: Rule, n_columns: int) -> None:
    points = drawn(kind, 200, n_columns, 1)
    expected = scipy_linkage(points, rule)
    np.testing.assert_allclose(merged(pdist(points), rule), expected, rtol=1e-12)
    if rule in BY_CENTRE:
        np.testing.assert_allclose(merged_points(points, rule), expected, rtol=1e-12)


@given(
    st.sampled_from(RULES),
    st.booleans(),
    st.sampled_from(["scattered", "grid", "copies"]),
    st.integers(2, 24),
    st.integers(1, 3),
    st.integers(0, 10**6),
)
def test_each_merge_is_of_two_clusters_at_the_least_distance(
    rule: Rule, by_points: bool, kind: str, n_points: int, n_columns: int, seed: int
) -> None:
    points = drawn(kind, n_points, n_columns, seed)
    merges = (
        merged_points(points, rule)
        if by_points and rule in BY_CENTRE
        else merged(pdist(points), rule)
    )
    followed = Followed(points, rule)
    for number, (one, other, height, size) in enumerate(merges.tolist()):
        found = followed.distance(int(one), int(other))
        assert height == pytest.approx(found, rel=1e-6, abs=1e-6)
        assert found == pytest.approx(followed.least(), rel=1e-6, abs=1e-6)
        assert one < other
        followed.merge(int(one), int(other), n_points + number)
        assert len(followed.members[n_points + number]) == size


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["scattered", "grid", "copies"])
def test_steps_and_clusters_moved_together_change_nothing(
    kind: str, rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = drawn(kind, 300, 4, 2)

    def both() -> list[np.ndarray]:
        found = [merged(pdist(points), rule)]
        return [*found, merged_points(points, rule)] if rule in BY_CENTRE else found

    whole = both()
    monkeypatch.setattr(agglomeration, "AT_ONCE", 1)
    for one, other in zip(whole, both(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rule", BY_CENTRE)
def test_of_equal_distances_that_to_the_smallest_number_comes_first(rule: ByCentre) -> None:
    """Four pairs of points at distance 1, far from each other."""
    points = np.array([0.0, 10.0, 20.0, 30.0, 1.0, 11.0, 21.0, 31.0])[:, None]
    for found in (merged(pdist(points), rule), merged_points(points, rule)):
        assert found[:4, :2].tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_centroids_that_come_closer_are_merged_at_lower_heights() -> None:
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2 + 1e-9]])
    for rule in ("centroid", "median"):
        for found in (merged(pdist(triangle), rule), merged_points(triangle, rule)):
            assert found[:, 2] == pytest.approx([1.0, np.sqrt(3) / 2])


def test_wards_heights_of_points_never_fall() -> None:
    """Equal distances, rounded."""
    points = 0.1 * np.round(3 * np.random.default_rng(0).normal(size=(400, 3)))
    assert (np.diff(merged_points(points, "ward")[:, 2]) >= 0).all()


def test_points_are_not_changed_and_distances_that_overflow_are_not_finite() -> None:
    points = drawn("scattered", 40, 3, 0)
    before = points.copy()
    for rule in BY_CENTRE:
        merged_points(points, rule)
        assert not np.isfinite(merged(np.full(6, 1e300), rule)[:, 2]).all()
        assert merged(np.array([2.0]), rule).tolist() == [[0, 1, 2, 2]]
    np.testing.assert_array_equal(points, before)


@pytest.mark.parametrize("rule", RULES)
def test_cancel_is_obeyed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the end, in the middle of the merges."""
    monkeypatch.setattr(agglomeration, "AT_ONCE", 1000)
    points = drawn("scattered", 100, 3, 0)

    def cancel(fraction: float, stage: str, message: str = "") -> None:
        if fraction > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        merged(pdist(points), rule, cancel)
    if rule in BY_CENTRE:
        with pytest.raises(Cancelled):
            merged_points(points, rule, cancel)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 9)), max_size=60), st.integers(1, 41))
def test_a_tournament_has_the_first_of_the_least(changes: list[tuple[int, int]], n_in: int) -> None:
    values = np.arange(41.0) % 7
    winner = loops.start(values, n_in)
    inside = set(range(n_in))
    for at, value in [(0, 0), *changes]:
        if at in inside and value < 0:
            inside.remove(at)
            loops.drop(winner, values, at)
        elif at in inside:
            values[at] = value
            loops.replay(winner, values, at)
        least = min(inside, key=lambda place: (values[place], place), default=loops.OUT)
        assert winner[1] == least
