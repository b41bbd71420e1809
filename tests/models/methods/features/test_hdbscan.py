"""HDBSCAN against scikit-learn's and its definition on small data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted

METHOD = registry.method("hdbscan")


def fit(values: Any, role: str = "features", **params: Any) -> Fitted:
    return METHOD.fit(
        Data({role: np.asarray(values)}), METHOD.Params(**{"min_samples": None, **params})
    )


def labels(fitted: Fitted) -> np.ndarray:
    names = fitted.tree.name[fitted.tree.leaf_of_point]
    return np.array([-1 if name == "noise" else int(name) for name in names])


def moons(n_points: int = 400, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = rng.random(n_points) * np.pi
    upper = rng.random(n_points) < 0.5
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points[~upper] = [1.0, 0.5] - points[~upper]
    points += rng.normal(size=points.shape) * 0.07
    points[: n_points // 20] = rng.random((n_points // 20, 2)) * 4 - 1
    return points


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) and all(
        (a == -1) == (b == -1) for a, b in pairs
    )


# With one neighbour no two edges are equally long. Elsewhere scikit-learn removes them one after
# the other, so that clusters come and go that are none by the definition.
@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize(
    ("n_features", "params"),
    [
        (2, {"min_samples": 1}),
        (2, {"min_samples": 1, "max_cluster_size": 60}),
        (2, {"min_samples": 1, "allow_single_cluster": True}),
        (12, {"min_samples": 1}),
        (40, {"min_samples": 1, "max_cluster_size": 60}),
    ],
)
def test_the_partition_is_scikit_learns(
    method: str, params: dict[str, Any], n_features: int
) -> None:
    from sklearn.cluster import HDBSCAN

    points = moons() @ np.random.default_rng(1).normal(size=(2, n_features))
    settings = {"min_cluster_size": 10, "cluster_selection_method": method, **params}
    fitted = fit(points, **settings)
    # scikit-learn counts the point itself among its neighbours.
    settings["min_samples"] += 1
    known = HDBSCAN(copy=True, **settings).fit(points)
    assert same_partition(labels(fitted), known.labels_)
    assert fitted.metrics["n_noise"] == (known.labels_ < 0).sum()


def test_clusters_that_split_below_epsilon_are_not_split() -> None:
    points = moons()
    sizes = []
    for epsilon in (0.0, 0.15, 0.25):
        fitted = fit(
            points, cluster_selection_method="leaf", cluster_selection_epsilon=epsilon,
            min_cluster_size=10,
        )  # fmt: skip
        sizes.append(fitted.metrics["n_clusters"])
        chosen = fitted.tree.extra["cluster"] >= 0
        assert (fitted.tree.height[fitted.tree.parent[chosen]] >= epsilon).all()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "cosine", "correlation", "canberra",
                                    "braycurtis"])  # fmt: skip
def test_each_metric_is_that_of_its_distances(metric: str) -> None:
    points = np.abs(moons() @ np.random.default_rng(1).normal(size=(2, 4))) + 0.1
    by_features = fit(points, metric=metric, min_cluster_size=8, min_samples=1)
    distances = squareform(pdist(points, metric))
    by_distances = fit(distances, "distances", min_cluster_size=8, min_samples=1)
    assert by_features.metrics["n_clusters"] > 0
    assert same_partition(labels(by_features), labels(by_distances))
    heights = np.sort(by_distances.tree.height)
    assert np.sort(by_features.tree.height) == pytest.approx(heights, rel=1e-6)


def reachable(points: np.ndarray, rank: int, metric: str = "euclidean") -> np.ndarray:
    """Mutual reachability distances of all pairs."""
    apart = squareform(pdist(points, metric))
    core = np.sort(apart, axis=1)[:, rank]
    between = np.maximum(apart, np.maximum.outer(core, core))
    np.fill_diagonal(between, 0.0)
    return between


class Cluster:
    """A cluster of the condensed tree, by the definition: edges of one length go at once."""

    def __init__(self, members: frozenset[int], birth: float, between: np.ndarray, least: int):
        self.birth, self.members = birth, members
        self.parts: list[Cluster] = []
        self.stability = 0.0
        current = members
        while True:
            inside = sorted(current)
            part = between[np.ix_(inside, inside)]
            longest = linkage(squareform(part, checks=False), "single")[-1, 2]
            _, piece = connected_components(part < longest, directed=False)
            pieces = [
                frozenset(np.asarray(inside)[piece == number].tolist())
                for number in range(piece.max() + 1)
            ]
            large = [piece for piece in pieces if len(piece) >= least]
            stay = large[0] if len(large) == 1 else frozenset()
            self.stability += (len(current) - len(stay)) * (1 / longest - birth)
            if len(large) != 1:
                self.parts = [Cluster(piece, 1 / longest, between, least) for piece in large]
                return
            current = stay

    def last(self) -> list[Cluster]:
        return [one for part in self.parts for one in part.last()] if self.parts else [self]

    def chosen(self) -> tuple[float, list[Cluster]]:
        """The most stable clusters at or below this one, and the sum of their stabilities."""
        below = [part.chosen() for part in self.parts]
        total = sum(stability for stability, _ in below)
        if not below or self.stability >= total:
            return self.stability, [self]
        return total, [cluster for _, clusters in below for cluster in clusters]


@given(
    st.integers(0, 10**6),
    st.integers(12, 40),
    st.integers(2, 6),
    st.integers(1, 6),
    st.sampled_from([1, 2, 3, 20]),
    st.sampled_from(["eom", "leaf"]),
    st.booleans(),
)
def test_clusters_are_those_of_the_definition(
    seed: int, n_points: int, least: int, rank: int, n_columns: int, method: str, on_grid: bool
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, n_columns))
    if on_grid:
        # Equal distances, but no points that coincide: their densities would be infinite.
        points = np.unique(np.round(2 * points), axis=0)
        points = rng.permutation(points)
        n_points = len(points)
        assume(n_points > max(least, rank))
    fitted = fit(points, min_cluster_size=least, min_samples=rank, cluster_selection_method=method)
    root = Cluster(frozenset(range(n_points)), 0.0, reachable(points, rank), least)
    expected = root.last() if method == "leaf" else [
        cluster for part in root.parts for cluster in part.chosen()[1]
    ]  # fmt: skip
    if expected == [root]:
        expected = []
    tree = fitted.tree
    leaves = [leaf for leaf in tree.leaves if tree.name[leaf] != "noise"]
    found = {frozenset(np.flatnonzero(tree.leaf_of_point == leaf).tolist()) for leaf in leaves}
    assert found == {cluster.members for cluster in expected}
    assert sorted(tree.extra["birth"][leaves]) == pytest.approx(sorted(c.birth for c in expected))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_features_give_the_clusters_of_their_distances(metric: str) -> None:
    points = np.abs(moons(300) @ np.random.default_rng(1).normal(size=(2, 20))) + 0.1
    by_features = fit(points, metric=metric)
    by_distances = fit(squareform(pdist(points, metric)), "distances")
    assert by_features.metrics["n_clusters"] > 1
    np.testing.assert_array_equal(labels(by_features), labels(by_distances))
    np.testing.assert_allclose(
        np.sort(by_features.tree.height), np.sort(by_distances.tree.height), rtol=1e-6
    )


def test_the_order_of_points_is_of_no_account() -> None:
    points = moons() @ np.random.default_rng(1).normal(size=(2, 12))
    order = np.random.default_rng(2).permutation(len(points))
    straight, mixed = fit(points), fit(points[order])
    assert same_partition(labels(straight)[order], labels(mixed))
    for column, values in straight.point_columns.items():
        np.testing.assert_allclose(values[order], mixed.point_columns[column], rtol=1e-9)


def test_only_given_distances_and_braycurtis_take_the_memory_of_all_pairs() -> None:
    def memory(role: str, n_points: int, n_columns: int, **params: Any) -> int:
        return METHOD._memory({role: (n_points, n_columns)}, METHOD.Params(**params))

    for metric in ("euclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra"):
        assert memory("features", 50_000, 20, metric=metric) < 2 * 10**8
    pairs = 4 * 50_000**2
    assert pairs < memory("features", 50_000, 20, metric="braycurtis") < 1.1 * pairs
    assert pairs < memory("distances", 50_000, 50_000) < 1.2 * pairs


@pytest.mark.parametrize("method", ["eom", "leaf"])
def test_strengths_are_scikit_learns(method: str) -> None:
    from sklearn.cluster import HDBSCAN

    points = moons()
    fitted = fit(points, min_cluster_size=10, min_samples=1, cluster_selection_method=method)
    # scikit-learn counts the point itself among its neighbours.
    known = HDBSCAN(
        copy=True, min_cluster_size=10, min_samples=2, cluster_selection_method=method
    ).fit(points)
    strength = fitted.point_columns["probability"]
    np.testing.assert_allclose(strength, known.probabilities_, rtol=1e-9)
    for column, values in fitted.point_columns.items():
        for leaf in fitted.tree.leaves:
            inside = fitted.tree.leaf_of_point == leaf
            assert fitted.tree.extra[column][leaf] == pytest.approx(values[inside].mean())
        assert fitted.tree.extra[column][0] == pytest.approx(values.mean())


def test_clusters_are_numbered_from_the_largest() -> None:
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.normal(size=(n, 2)) + 30 * i for i, n in enumerate((20, 60, 40))])
    fitted = fit(points, min_cluster_size=15)
    sizes = [int((labels(fitted) == label).sum()) for label in range(3)]
    assert sizes == sorted(sizes, reverse=True)
    assert fitted.tree.extra["cluster"][fitted.tree.leaf_of_point].tolist() == [
        label if label >= 0 else -1 for label in labels(fitted)
    ]


def test_single_precision_is_taken() -> None:
    points = moons().astype(np.float32)
    single, double = (
        fit(points, min_cluster_size=10),
        fit(points.astype(float), min_cluster_size=10),
    )
    assert (single.tree.leaf_of_point == double.tree.leaf_of_point).all()


@pytest.mark.parametrize("single", [False, True])
def test_equal_points(single: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = fit(np.ones((30, 2)), allow_single_cluster=single)
        groups = fit(np.repeat(np.eye(3), 10, axis=0), min_cluster_size=5)
    assert fitted.tree.name.tolist() == (["0"] if single else ["noise"])
    assert any("all points are noise" in warning for warning in fitted.warnings) != single
    assert sorted(labels(groups)) == [0] * 10 + [1] * 10 + [2] * 10
    for column in (*fitted.tree.extra.values(), *groups.tree.extra.values()):
        assert np.isfinite(column).all()


def test_a_result_of_noise_alone_is_warned_of() -> None:
    fitted = fit(np.random.default_rng(0).normal(size=(6, 2)))
    assert fitted.tree.name.tolist() == ["noise"]
    assert any("all points are noise" in warning for warning in fitted.warnings)


@pytest.mark.parametrize(
    ("role", "values", "params", "code", "part"),
    [
        ("features", np.ones((1, 2)), {}, "too-few-points", "only 1 point(s)"),
        ("features", np.ones((4, 2)), {}, "too-few-points", "'min_cluster_size' is 5"),
        (
            "features",
            np.ones((9, 2)),
            {"min_samples": 9},
            "too-few-points",
            "'min_samples' is 9",
        ),
        ("features", np.full((9, 2), 1e200), {}, "too-large", "row 0"),
        ("features", np.zeros((9, 2)), {"metric": "cosine"}, "no-distance", "all zeros"),
        ("distances", np.zeros((9, 8)), {}, "wrong-shape", "must be square"),
        ("distances", np.zeros((9, 9)), {"metric": "cosine"}, "wrong-parameter", "'metric'"),
        ("distances", np.tri(9), {}, "not-distances", "diagonal must be zero"),
    ],
)
def test_unusable_input_is_named(
    role: str, values: np.ndarray, params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(values, role, **params)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_sizes_that_take_too_long_or_too_much_are_refused() -> None:
    def check(shape: tuple[int, int], role: str = "features", **params: Any) -> None:
        METHOD.check_size({role: shape}, METHOD.Params(**params), 24 * 2**30)

    check((200_000, 64))
    check((2_000_000, 4))
    check((10_000_000, 64))
    with pytest.raises(UsageError, match=r"at most 200,000 points of 64 features.*'scc'"):
        check((200_001, 64), metric="cityblock")
    with pytest.raises(UsageError, match="at most 2,000,000 points"):
        check((2_000_001, 4), metric="chebyshev")
    with pytest.raises(UsageError, match="keep the noise") as caught:
        check((200_001, 64), noise="nearest")
    assert caught.value.where == {"parameter": "noise"}
    with pytest.raises(UsageError, match="at most 1,000, here 2,000"):
        check((200_001, 64), min_samples=2_000)
    with pytest.raises(UsageError, match=r"GiB.*'knn'"):
        check((100_000, 4), metric="braycurtis")
    with pytest.raises(UsageError, match="GiB"):
        check((100_000, 100_000), "distances")


def lump() -> np.ndarray:
    """A group of 300 points in ten columns, and two far groups of 6."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(312, 10))
    points[300:306] = 0.1 * points[300:306] + 40.0
    points[306:] = 0.1 * points[306:] - 40.0
    return points


def test_clusters_are_the_stable_ones_unless_these_are_a_lump_and_crumbs() -> None:
    default = METHOD.Params()
    assert (default.cluster_selection_method, default.min_samples) == ("auto", 1)
    by_method = {
        rule: fit(lump(), cluster_selection_method=rule, min_samples=1)
        for rule in ("auto", "eom", "leaf")
    }
    stable = np.bincount(labels(by_method["eom"]) + 1)[1:]
    assert sorted(stable.tolist())[:2] == [6, 6]
    assert stable.max() > 200
    found = by_method["auto"]
    assert found.chosen["cluster_selection_method"].value == "leaf"
    assert "crumbs" in found.chosen["cluster_selection_method"].reason
    assert labels(found).tolist() == labels(by_method["leaf"]).tolist()
    assert not by_method["eom"].chosen
    assert not by_method["leaf"].chosen

    two = fit(moons(), min_cluster_size=10)
    assert two.chosen["cluster_selection_method"].value == "eom"
    stable = fit(moons(), min_cluster_size=10, cluster_selection_method="eom")
    assert labels(two).tolist() == labels(stable).tolist()


def test_the_root_alone_is_chosen_where_it_may_be() -> None:
    found = fit(lump(), allow_single_cluster=True, min_samples=1)
    assert found.chosen["cluster_selection_method"].value == "eom"


def test_much_noise_is_a_warning_with_the_better_way() -> None:
    points = np.random.default_rng(0).normal(size=(300, 20))
    (warning,) = [text for text in fit(points, min_samples=1).warnings if "noise" in text]
    assert "'layers'" in warning
    assert not fit(moons(), min_samples=1).warnings
