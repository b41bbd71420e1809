"""`point-tree` beside its literal definition, and what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from models import registry
from models.graphs.neighbours import nearest
from models.inputs.data import Data
from models.method import Fitted
from models.methods.features.hac import HACParams
from models.methods.features.walks.similarities import affinities
from models.metrics.catalogue import evaluate
from models.running.progress import silent
from models.tree.linkage import to_scipy
from models.tree.tree import sizes

METHOD = registry.method("point-tree")


def fit(features: Any, **params: Any) -> Fitted:
    return METHOD.fit(Data({"features": np.asarray(features)}), METHOD.Params(**params))


def literal_walk(points: np.ndarray, n_neighbors: int, steps: int) -> np.ndarray:
    """SciPy's merges of average linkage of one walk, all in dense matrices."""
    n = len(points)
    distance = squareform(pdist(points))
    affinity = np.eye(n)
    near = np.argsort(distance + np.diag(np.full(n, np.inf)), axis=1, kind="stable")
    width = [distance[i, near[i, min(7, n_neighbors) - 1]] for i in range(n)]
    for i in range(n):
        for j in near[i, :n_neighbors]:
            value = np.exp(-(distance[i, j] ** 2) / (width[i] * width[j]))
            affinity[i, j] = affinity[j, i] = value
    degree = affinity.sum(axis=1)
    walk = np.linalg.matrix_power(affinity / degree[:, None], steps)
    likeness = walk / degree[None, :]
    apart = 1.0 - likeness / likeness[~np.eye(n, dtype=bool)].max()
    np.fill_diagonal(apart, 0.0)
    apart += 1e-9 * distance / distance.max()
    return linkage(squareform((apart + apart.T) / 2), "average")


def literal_joins(merges: np.ndarray) -> np.ndarray:
    """Condensed: the log of the share of points in the smallest group of each pair."""
    n = len(merges) + 1
    members = [{i} for i in range(n)]
    joins = np.zeros((n, n))
    for a, b, *_ in merges:
        left, right = members[int(a)], members[int(b)]
        members.append(left | right)
        for i in left:
            for j in right:
                joins[i, j] = joins[j, i] = np.log(len(members[-1])) / np.log(n)
    return squareform(joins)


def groups(merges: np.ndarray) -> set[frozenset[int]]:
    members = [frozenset({i}) for i in range(len(merges) + 1)]
    for a, b, *_ in merges:
        members.append(members[int(a)] | members[int(b)])
    return set(members)


@pytest.mark.parametrize("seed", range(3))
def test_the_literal_consensus(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 3)) * [1, 2, 3] + rng.integers(0, 3, 60)[:, None] * 4.0
    trees = [
        linkage(points, "average"),
        linkage(points, "ward"),
        *(literal_walk(points, k, t) for k, t in ((3, 4), (6, 4), (6, 16), (12, 4))),
    ]
    distance = pdist(points)
    apart = (1e-6 * distance / distance.max() + sum(map(literal_joins, trees))) / 6
    wanted = linkage(apart, "average")
    fitted = fit(points, n_neighbors=6)
    made = to_scipy(fitted.tree)
    assert groups(made) == groups(wanted)
    assert np.allclose(np.sort(made[:, 2]), wanted[:, 2], atol=1e-6)
    each = [groups(tree) for tree in trees]
    shares = [np.mean([group in tree for tree in each]) for group in groups(wanted)]
    agreement = fitted.tree.extra["agreement"]
    assert np.allclose(np.sort(agreement[~np.isnan(agreement)]), np.sort(shares)[: len(made)])


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 7, 12])
def test_the_literal_walk(steps: int) -> None:
    points = np.random.default_rng(steps).normal(size=(50, 2))
    made = to_scipy(fit(points, rule="walk", n_neighbors=5, steps=steps).tree)
    assert groups(made) == groups(literal_walk(points, 5, steps))


def test_what_is_long_and_bent_stays_whole() -> None:
    rng = np.random.default_rng(0)
    ring = np.repeat([0, 1, 2], 150)
    angle = rng.random(450) * 2 * np.pi
    radius = np.array([1.0, 3.0, 5.0])[ring]
    points = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points += rng.normal(size=points.shape) * 0.2
    judged = {"labels": ring, "metrics": ["dendrogram_purity"]}
    ward = registry.method("hac").fit(Data({"features": points}), HACParams())
    purity = [
        evaluate(tree, **judged).metrics["dendrogram_purity"]
        for tree in (fit(points).tree, ward.tree)
    ]
    assert purity[0] == 1.0
    assert purity[1] < 0.8


def test_one_far_row_leaves_the_edges_of_others() -> None:
    points = np.random.default_rng(6).normal(size=(80, 2))
    rows = np.append(points, [[1e8, 0.0]], axis=0)
    alone, beside = (
        affinities(nearest(each, 5, "euclidean", 1, silent), 5, np.ones(len(each))).toarray()
        for each in (points, rows)
    )
    assert np.allclose(alone, beside[:-1, :-1])


def test_points_that_coincide_are_as_many_as_they_are() -> None:
    rng = np.random.default_rng(1)
    places = rng.normal(size=(12, 2))
    place = rng.integers(0, 12, 40)
    fitted = fit(places[place])
    tree = fitted.tree
    assert fitted.metrics["n_places"] == len(set(place.tolist()))
    assert tree.n_leaves == 40
    made = to_scipy(tree)
    assert (made[:, 2] == 0).sum() == 40 - fitted.metrics["n_places"]
    by_place = [{i for i in range(40) if place[i] == p} for p in set(place.tolist())]
    assert all(frozenset(points) in groups(made) for points in by_place)


def test_few_points() -> None:
    assert fit([[1.0, 2.0]]).tree.n_leaves == 1
    assert fit([[1.0], [1.0], [1.0]]).tree.height.max() == 0
    three = fit([[0.0], [1.0], [5.0]])
    assert frozenset({0, 1}) in groups(to_scipy(three.tree))
    assert any(
        "3 distinct points, none of which has 20 neighbours" in warning
        for warning in three.warnings
    )


def test_parts_that_no_walk_joins_are_joined_by_distance() -> None:
    rng = np.random.default_rng(2)
    middle = np.array([[0.0, 0.0], [40.0, 0.0], [1000.0, 0.0]])
    points = np.repeat(middle, 30, axis=0) + rng.normal(size=(90, 2))
    made = to_scipy(fit(points, rule="walk", n_neighbors=5).tree)
    assert frozenset(range(60)) in groups(made)


def test_angles() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(80, 4)) + np.repeat([[3, 0, 0, 0], [0, 3, 0, 0]], 40, axis=0)
    grown = points * rng.uniform(0.1, 10, size=(80, 1))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    by_angle = to_scipy(fit(grown, metric="cosine").tree)
    assert groups(by_angle) == groups(to_scipy(fit(unit).tree))


def test_trees_that_disagree_are_a_warning() -> None:
    noise = fit(np.random.default_rng(4).normal(size=(300, 20)))
    assert any("disagree at the top" in warning for warning in noise.warnings)
    points = np.random.default_rng(5).normal(size=(100, 2))
    points[:50] += 30.0
    assert not fit(points).warnings


def test_many_points_are_merged_into_groups_first() -> None:
    rng = np.random.default_rng(7)
    points = np.repeat(rng.normal(size=(150, 2)), 2, axis=0)
    points[150:] += rng.normal(size=(150, 2)) * 0.2 + 9.0
    fitted = fit(points, max_places=60)
    tree, made = fitted.tree, to_scipy(fitted.tree)
    assert fitted.metrics["n_places"] == 60
    assert any("merged them into 60 groups" in warning for warning in fitted.warnings)
    known = tree.extra["agreement"]
    assert (~np.isnan(known)).sum() == 59
    # What coincides is at height 0, and a group at the height that six trees with it would give.
    rows = [members for members in groups(made) if len(members) == 2]
    assert sum((points[list(pair)] == points[min(pair)]).all() for pair in rows) == 75
    n_under = sizes(tree.parent, tree.leaf_of_point)
    within = np.isnan(known) & (tree.height > 0)
    assert within.sum() == 299 - 59 - 75
    assert np.allclose(tree.height[within], np.log(n_under[within]) / np.log(300))
    assert frozenset(range(150)) in groups(made)
    assert (np.diff(made[:, 2]) >= 0).all()


def test_heights_end_at_one_and_few_groups_are_named_so() -> None:
    points = np.random.default_rng(10).normal(size=(30, 2))
    two = fit(points, max_places=2)
    assert two.tree.height.max() == 1.0
    assert [warning for warning in two.warnings if "none of which" in warning] == [
        "There are 2 groups, none of which has 20 neighbours; graphs have at most 1."
    ]


def test_directions_are_merged_into_groups_only_where_there_are_more() -> None:
    rows = np.repeat(np.random.default_rng(11).integers(1, 9, (6, 3)), 5, axis=0)
    grown = rows * 2.0 ** np.tile(np.arange(5), 6)[:, None]
    fitted = fit(grown, metric="cosine", max_places=10)
    assert fitted.metrics["n_places"] == 6
    assert not any("groups" in warning for warning in fitted.warnings)
    assert (to_scipy(fitted.tree)[:, 2] == 0).sum() == 24


def test_groups_of_one_place_each_change_nothing() -> None:
    points = np.random.default_rng(8).normal(size=(61, 2))
    exact = groups(to_scipy(fit(points).tree))
    nearly = groups(to_scipy(fit(points, max_places=60).tree))
    assert len(exact & nearly) > 0.8 * len(exact)


def test_long_work_is_reported_and_can_be_cancelled() -> None:
    points = np.random.default_rng(9).normal(size=(600, 2))
    seen: list[tuple[float, str]] = []
    METHOD.fit(
        Data({"features": points}),
        METHOD.Params(),
        progress=lambda done, stage, message="": seen.append((done, stage)),
    )
    walking = [done for done, stage in seen if stage == "walking"]
    assert len(set(walking)) > 40
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
