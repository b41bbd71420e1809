"""HAC against SciPy's own linkage, a naive average linkage, and the known figures of real data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist, squareform

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.features.hac import HACParams
from models.methods.features.linkage import all_pairs
from models.methods.features.linkage.all_pairs import MANY_FEATURES
from models.numerics.distances import DistanceMetric
from models.running import budget
from models.tree.tree import Tree
from models.tree.walk import lca
from tests.conftest import ROOT

METHOD = registry.method("hac")
LINKAGES = ("average", "single", "complete", "weighted", "ward", "centroid", "median")
METRICS = get_args(DistanceMetric)


def fit(role: str, values: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    inputs = {role: np.asarray(values)}
    if names is not None:
        inputs["names"] = names
    return METHOD.fit(Data(inputs), HACParams(**params))


def cophenetic(tree: Tree) -> np.ndarray:
    """Condensed heights at which two points first lie together."""
    rows, columns = np.triu_indices(tree.n_points, k=1)
    leaf = tree.leaf_of_point
    return tree.height[lca(tree, leaf[rows], leaf[columns])]


def clades(tree: Tree) -> set[frozenset[int]]:
    """The points under each node."""
    under: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for point, leaf in enumerate(tree.leaf_of_point):
        under[leaf].add(point)
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    return {frozenset(points) for points in under}


def naive_average(distances: np.ndarray) -> set[frozenset[int]]:
    """Average linkage by its definition: all pairs of groups are compared at each merge."""
    groups = [frozenset([i]) for i in range(len(distances))]
    clades = set(groups)
    while len(groups) > 1:
        a, b = min(
            ((a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]),
            key=lambda pair: np.mean([distances[i, j] for i in pair[0] for j in pair[1]]),
        )
        groups = [g for g in groups if g not in (a, b)] + [a | b]
        clades.add(a | b)
    return clades


@pytest.mark.parametrize("linkage", LINKAGES)
def test_each_linkage_is_scipys(linkage: str) -> None:
    points = np.random.default_rng(0).normal(size=(60, 4))
    tree = fit("features", points, linkage=linkage).tree
    expected = cophenet(scipy_linkage(points, linkage))
    assert cophenetic(tree) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_each_metric_is_scipys(metric: str) -> None:
    points = np.random.default_rng(1).random(size=(40, 5))
    for linkage in ("average", "single"):
        tree = fit("features", points, linkage=linkage, metric=metric).tree
        expected = cophenet(scipy_linkage(points, linkage, metric))
        assert cophenetic(tree) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("linkage", ["ward", "centroid", "median"])
def test_stored_distances_give_the_same_tree(linkage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(4).normal(size=(120, MANY_FEATURES[linkage])).astype(np.float32)
    shapes, params = {"features": points.shape}, HACParams(linkage=linkage)
    stored = fit("features", points, linkage=linkage).tree
    assert METHOD._memory(shapes, params) == 4 * 120 * 119 + 8 * points.size
    monkeypatch.setattr(all_pairs, "FEW_POINTS", 0)
    computed = fit("features", points, linkage=linkage).tree
    np.testing.assert_array_equal(stored.parent, computed.parent)
    np.testing.assert_array_equal(stored.leaf_of_point, computed.leaf_of_point)
    np.testing.assert_allclose(stored.height, computed.height, rtol=1e-9)
    assert METHOD._memory(shapes, params) == 12 * points.size + 150 * 120


@pytest.mark.parametrize("metric", METRICS)
def test_single_linkage_stores_no_distances(metric: str) -> None:
    """That of the features is that of their distances, ties and coinciding points included."""
    points = np.abs(np.round(3 * np.random.default_rng(4).normal(size=(300, 5)))) + 1.0
    points[:40] = points[40:80]
    by_features = fit("features", points + np.arange(5), linkage="single", metric=metric)
    distances = squareform(pdist(points + np.arange(5), metric))
    by_distances = fit("distances", distances, linkage="single")
    np.testing.assert_allclose(
        cophenetic(by_features.tree), cophenetic(by_distances.tree), rtol=1e-7, atol=1e-7
    )
    shapes = {"features": (100_000, 5)}
    assert METHOD._memory(shapes, HACParams(linkage="single", metric=metric)) < 10**8


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "canberra", "braycurtis"])
def test_single_linkage_of_values_near_the_largest(metric: str) -> None:
    """Sums overflow, the largest differences and shares do not."""
    points = np.array([[1.0, 1.0], [-1.6e308, 1.6e308], [1.6e308, -1.6e308]])
    if metric in ("cityblock", "braycurtis"):
        with pytest.raises(UsageError, match="overflows"):
            fit("features", points, linkage="single", metric=metric)
        return
    tree = fit("features", points, linkage="single", metric=metric).tree
    height = 1.6e308 if metric == "chebyshev" else 2.0
    assert tree.height.tolist() == [height, height, 0.0, 0.0, 0.0]


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 9))
def test_average_linkage_is_its_definition(seed: int, n_points: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n_points, 3))
    expected = naive_average(squareform(pdist(points)))
    assert clades(fit("features", points, linkage="average").tree) == expected


@pytest.mark.parametrize("linkage", LINKAGES)
def test_distances_give_the_tree_of_their_features(linkage: str) -> None:
    points = np.random.default_rng(2).normal(size=(50, 3))
    by_features = fit("features", points, linkage=linkage)
    by_distances = fit("distances", squareform(pdist(points)), linkage=linkage)
    assert clades(by_features.tree) == clades(by_distances.tree)
    euclidean = linkage in ("ward", "centroid", "median")
    assert any("as Euclidean" in warning for warning in by_distances.warnings) == euclidean


def test_distances_past_one_tile() -> None:
    points = np.random.default_rng(3).normal(size=(1100, 2))
    by_features = fit("features", points, linkage="single").tree
    by_distances = fit("distances", squareform(pdist(points)), linkage="single").tree
    assert clades(by_features) == clades(by_distances)


@pytest.mark.parametrize("name", ["glass", "spambase"])
def test_known_dendrogram_purity(name: str, real_data: Callable[[str], Path]) -> None:
    """The figures of HAC-Avg in the gHHC paper's table: 0.501 and 0.629."""
    with np.load(real_data(f"bench_{name}.npz")) as file:
        features, labels = file["X"], np.unique(file["y"], return_inverse=True)[1]
    tree = fit("features", features, linkage="average").tree
    known = {"glass": 0.5006, "spambase": 0.6279}[name]
    assert dendrogram_purity(tree, labels) == pytest.approx(known, abs=5e-5)


def dendrogram_purity(tree: Tree, labels: np.ndarray) -> float:
    """Mean over pairs of one class of that class's share under their lowest common ancestor."""
    count = np.zeros((tree.n_nodes, labels.max() + 1))
    np.add.at(count, (tree.leaf_of_point, labels), 1)
    for node in range(tree.n_nodes - 1, 0, -1):
        count[tree.parent[node]] += count[node]
    inside = count * (count - 1) / 2
    first_here = inside.copy()
    np.subtract.at(first_here, tree.parent[1:], inside[1:])
    purity = count / count.sum(axis=1, keepdims=True)
    return float((first_here * purity).sum() / inside[0].sum())


AUTO_POINTS = np.random.default_rng(3).normal(size=(40, 3)) ** 3


@pytest.mark.parametrize(
    ("role", "values", "params", "expected"),
    [
        ("features", AUTO_POINTS, {}, "ward"),
        ("features", AUTO_POINTS, {"connectivity": "knn", "n_neighbors": 5}, "ward"),
        ("features", AUTO_POINTS, {"metric": "cosine"}, "average"),
        ("features", AUTO_POINTS, {"metric": "cityblock"}, "average"),
        # Distances fit into numbers, sums of squares do not.
        ("features", AUTO_POINTS * 3e151, {}, "average"),
        ("distances", squareform(pdist(AUTO_POINTS)), {}, "average"),
        ("similarity", 30.0 - squareform(pdist(AUTO_POINTS)), {}, "average"),
    ],
)
def test_auto_takes_ward_where_variances_are_defined(
    role: str, values: Any, params: dict[str, Any], expected: str
) -> None:
    auto, named = fit(role, values, **params), fit(role, values, linkage=expected, **params)
    assert auto.chosen["linkage"].value == expected
    assert auto.chosen["linkage"].reason.endswith(".")
    assert not named.chosen
    assert auto.tree.height.tolist() == named.tree.height.tolist()
    assert clades(auto.tree) == clades(named.tree)
    assert auto.warnings == named.warnings


def test_auto_takes_average_linkage_where_values_are_missing() -> None:
    gaps = AUTO_POINTS.copy()
    gaps[::5, 1] = np.nan
    auto, average = (
        METHOD.fit(Data({"features": gaps}, pairwise=True), HACParams(**params))
        for params in ({}, {"linkage": "average"})
    )
    assert auto.chosen["linkage"].value == "average"
    assert clades(auto.tree) == clades(average.tree)


# Drawn: four points on a line, average linkage.
#
#       0    1         5  6         root at 5: mean of |5-0|, |6-0|, |5-1|, |6-1|
#       a    b         c  d         (a b) at 1, (c d) at 1
#       |____|         |__|
#          |_____________|
def test_the_drawn_tree() -> None:
    names = ["a", "b", "c", "d"]
    tree = fit("features", [[0.0], [1.0], [5.0], [6.0]], names, linkage="average").tree
    assert tree.height.tolist() == [5, 1, 1, 0, 0, 0, 0]
    assert tree.size.tolist() == [4, 2, 2, 1, 1, 1, 1]
    assert tree.name.tolist() == [None, None, None, "a", "b", "c", "d"]
    assert clades(tree) >= {frozenset([0, 1]), frozenset([2, 3])}
    assert tree.monotone


@pytest.mark.parametrize("linkage", LINKAGES)
def test_similarities_are_distances_from_the_largest(linkage: str) -> None:
    points = np.random.default_rng(7).normal(size=(1100 if linkage == "average" else 40, 3))
    similarity = 3.0 - squareform(pdist(points)) / 2
    by_similarity = fit("similarity", similarity, linkage=linkage)
    by_distances = fit("distances", squareform(pdist(points)) / 2, linkage=linkage)
    np.testing.assert_allclose(
        cophenetic(by_similarity.tree), cophenetic(by_distances.tree), rtol=1e-9, atol=1e-9
    )
    euclidean = linkage in ("ward", "centroid", "median")
    assert any("given similarity" in warning for warning in by_similarity.warnings) == euclidean


def test_negative_similarities_and_any_diagonal_are_taken() -> None:
    similarity = np.array([[0.0, -1.0, -5.0], [-1.0, 9.0, -6.0], [-5.0, -6.0, 0.0]])
    tree = fit("similarity", similarity, ["a", "b", "c"], linkage="single").tree
    assert tree.height.tolist() == [14, 10, 0, 0, 0]


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_whole_graph_gives_the_same_tree(linkage: str) -> None:
    points = np.random.default_rng(8).normal(size=(50, 3))
    metric = "sqeuclidean" if linkage == "average" else "euclidean"
    whole = fit("features", points, linkage=linkage, metric=metric, connectivity="knn",
                n_neighbors=49)  # fmt: skip
    plain = fit("features", points, linkage=linkage, metric=metric)
    assert cophenetic(whole.tree) == pytest.approx(cophenetic(plain.tree), rel=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("linkage", ["average", "single", "weighted"])
def test_the_whole_graph_gives_the_same_tree_with_each_metric(metric: str, linkage: str) -> None:
    points = np.random.default_rng(9).random(size=(40, 5))
    whole = fit("features", points, linkage=linkage, metric=metric, connectivity="knn",
                n_neighbors=39)  # fmt: skip
    expected = cophenet(scipy_linkage(points, linkage, metric))
    if (linkage, metric) == ("average", "euclidean"):
        expected = np.sqrt(cophenet(scipy_linkage(points, linkage, "sqeuclidean")))
        assert any("mean squared" in warning for warning in whole.warnings)
    assert cophenetic(whole.tree) == pytest.approx(expected, rel=1e-9)


def test_a_graph_in_parts_is_joined_with_a_warning() -> None:
    rng = np.random.default_rng(10)
    points = np.concatenate([rng.normal(size=(30, 2)) + 100 * i for i in range(4)])
    for linkage in LINKAGES:
        fitted = fit("features", points, linkage=linkage, connectivity="knn", n_neighbors=3)
        assert fitted.metrics["n_parts"] >= 4
        assert any("fell into" in warning for warning in fitted.warnings)
        groups = {frozenset(range(30 * i, 30 * i + 30)) for i in range(4)}
        assert groups <= clades(fitted.tree)


def test_merges_along_a_graph_may_lie_lower_than_those_below() -> None:
    points = np.random.default_rng(11).normal(size=(200, 2))
    fitted = fit("features", points, linkage="centroid", connectivity="knn", n_neighbors=4)
    assert not fitted.tree.monotone
    assert any("merging along a graph allows" in warning for warning in fitted.warnings)


def test_features_are_not_changed() -> None:
    points = np.random.default_rng(12).normal(size=(30, 2))
    before = points.copy()
    for linkage in LINKAGES:
        fit("features", points, linkage=linkage)
        assert (points == before).all()


def test_centroids_that_come_closer_make_a_tree_that_is_not_monotone() -> None:
    # An equilateral triangle: the first two merge at 1, their centroid is 0.87 from the third.
    triangle = [[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2 + 1e-9]]
    fitted = fit("features", triangle, linkage="centroid")
    assert not fitted.tree.monotone
    assert fitted.tree.height[:2] == pytest.approx([np.sqrt(3) / 2, 1.0])
    assert fitted.metrics["n_inversions"] == 1
    assert any("not monotone" in warning for warning in fitted.warnings)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_points_that_coincide_merge_at_zero(linkage: str) -> None:
    tree = fit("features", [[1.0, 2.0]] * 4 + [[5.0, 5.0]] * 3, linkage=linkage).tree
    assert tree.n_nodes == 13
    assert (tree.height[1:] == 0).all()
    assert tree.height[0] > 0


@pytest.mark.parametrize("params", [{}, {"linkage": "ward"}, {"connectivity": "knn"}])
def test_one_point_is_a_tree_of_one_node(params: dict[str, Any]) -> None:
    for role, values in (("features", [[1.0, 2.0]]), ("distances", [[0.0]]), ("similarity", [[1]])):
        if role != "features" and params.get("connectivity"):
            continue
        tree = fit(role, values, ["only"], **params).tree
        assert (tree.n_nodes, tree.n_points, tree.name[0]) == (1, 1, "only")


def test_halves_that_differ_by_rounding_are_taken() -> None:
    points = np.random.default_rng(4).normal(size=(30, 3))
    distances = squareform(pdist(points))
    nearly = (distances * (1 + 1e-12 * np.tri(30))).astype(np.float64)
    average = fit("features", points, linkage="average").tree
    assert clades(fit("distances", nearly).tree) == clades(average)


@pytest.mark.parametrize(
    ("row", "column", "value", "part"),
    [
        (1, 3, 9.0, "the matrix must be symmetric"),
        (3, 1, -1.0, "must not be negative"),
        (2, 2, 0.5, "the diagonal must be zero"),
        (0, 3, np.nan, "NaN at row 0, column 3"),
        (3, 0, np.inf, "infinite at row 3, column 0"),
    ],
)
def test_a_matrix_that_holds_no_distances(row: int, column: int, value: float, part: str) -> None:
    distances = squareform(pdist(np.random.default_rng(5).normal(size=(5, 2))))
    distances[row, column] = value
    with pytest.raises(UsageError) as caught:
        fit("distances", distances)
    assert part in caught.value.detail
    assert (caught.value.where["row"], caught.value.where["column"]) == (row, column)


def test_the_place_of_a_bad_distance_past_one_tile() -> None:
    distances = squareform(pdist(np.random.default_rng(5).normal(size=(1100, 2))))
    distances[1090, 3] = -1.0
    with pytest.raises(UsageError, match="row 1090, column 3: distances must not be negative"):
        fit("distances", distances)
    distances[1090, 3] = 100.0
    with pytest.raises(UsageError, match=r"row 3, column 1090: .*must be symmetric"):
        fit("distances", distances)


@pytest.mark.parametrize(
    ("inputs", "params", "code", "part"),
    [
        ({}, {}, "wrong-input", "one of the inputs"),
        (
            {"features": np.ones((2, 2)), "distances": np.zeros((2, 2))},
            {},
            "wrong-input",
            "not both",
        ),
        ({"distances": np.zeros((2, 3))}, {}, "wrong-shape", "must be square"),
        (
            {"features": np.ones((2, 2))},
            {"linkage": "ward", "metric": "cosine"},
            "wrong-parameter",
            "'ward' is only defined for the metric 'euclidean'",
        ),
        ({"distances": np.zeros((2, 2))}, {"metric": "cosine"}, "wrong-parameter", "'metric'"),
        (
            {"similarity": np.zeros((2, 2))},
            {"connectivity": "knn"},
            "wrong-parameter",
            "'connectivity' applies to the input 'features'",
        ),
        ({"similarity": np.zeros((2, 3))}, {}, "wrong-shape", "must be square"),
        (
            {"similarity": np.array([[1.0, 0.2], [0.3, 1.0]])},
            {},
            "not-similarities",
            "must be symmetric",
        ),
        (
            {"features": np.array([[1.0, 1.0], [2.0, 1.0], [0.0, 0.0]])},
            {"metric": "cosine", "linkage": "single"},
            "no-distance",
            "Row 2 of input 'features' is all zeros",
        ),
        (
            {"features": np.array([[1.0, 1.0], [0.0, 0.0]])},
            {"metric": "cosine", "connectivity": "knn"},
            "no-distance",
            "Row 1 of input 'features' is all zeros",
        ),
        (
            {"features": np.array([[1e200], [0.0]])},
            {"connectivity": "knn"},
            "too-large",
            "row 0",
        ),
        (
            {"features": np.array([[1.0, 1.0], [0.0, 0.0]])},
            {"metric": "cosine"},
            "no-distance",
            "between rows 0 and 1",
        ),
        ({"features": np.array([[1e200], [0.0]])}, {"linkage": "ward"}, "too-large", "row 0"),
        ({"features": np.array([[1e200], [-1e200]])}, {}, "no-distance", "overflows"),
        (
            {"distances": (np.ones((4, 4)) - np.eye(4)) * 1e300},
            {"linkage": "ward"},
            "too-large",
            "overflows",
        ),
    ],
)
def test_unusable_input_is_named(
    inputs: dict[str, Any], params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        METHOD.fit(Data(inputs), HACParams(**params))
    assert caught.value.code == code
    assert part in caught.value.detail


def test_inputs_too_large_for_memory_are_refused_with_the_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = np.zeros((30_000, 2), dtype=np.float32)
    monkeypatch.setattr(budget, "available", lambda: 2**30)
    with pytest.raises(UsageError) as caught:
        fit("features", points, linkage="average")
    assert caught.value.code == "too-large"
    # 30,000 x 29,999 / 2 distances of 8 bytes.
    assert "about 3.4 GiB" in caught.value.detail
    assert "a job has 1.0 GiB" in caught.value.detail
    assert "connectivity 'knn'" in caught.value.detail
    assert "'scc'" in caught.value.detail


@pytest.mark.parametrize("shapes", [{"features": (7,)}, {"names": (3,)}])
def test_shapes_that_are_not_known_yet_are_not_refused(shapes: dict[str, tuple[int, ...]]) -> None:
    METHOD.check_size(shapes, HACParams(), 2**30)


@pytest.mark.parametrize("role", ["features", "distances", "similarity"])
def test_more_points_than_can_be_compared_are_refused(role: str) -> None:
    shapes = {role: (200_001, 11)}
    with pytest.raises(UsageError, match="at most 200,000"):
        METHOD.check_size(shapes, HACParams(linkage="single"), 2**40)
    narrow = {"features": (2_000_000, 10)}
    METHOD.check_size(narrow, HACParams(linkage="single", metric="cosine"), 2**40)
    with pytest.raises(UsageError, match="at most 200,000"):
        METHOD.check_size(narrow, HACParams(linkage="single", metric="cityblock"), 2**40)
    METHOD.check_size({"features": (10**6, 64)}, HACParams(connectivity="knn"), 24 * 2**30)


def test_the_estimate_is_what_a_fit_takes() -> None:
    """Measured in a separate process: the peak memory above that before the fit."""
    code = """
import sys, numpy as np
from models.registry import method
from models.inputs.data import Data
import scipy.spatial.distance
hac = method("hac")
params = hac.Params(linkage=sys.argv[1])
n = int(sys.argv[2])
points = np.random.default_rng(0).normal(size=(n, 4))
hac.fit(Data({"features": points[:50]}), params)
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
before = peak()
hac.fit(Data({"features": points}), params)
print((peak() - before) * 1024, hac._memory({"features": points.shape}, params))
"""
    for linkage, n_points in (("average", 3000), ("complete", 3000)):
        answer = subprocess.run(
            [sys.executable, "-c", code, linkage, str(n_points)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        measured, estimate = (int(value) for value in answer.stdout.split())
        assert measured == pytest.approx(estimate, rel=0.25)


def test_doubled_names_are_warned_of() -> None:
    fitted = fit("features", [[0.0], [1.0]], ["x", "x"])
    (warning,) = fitted.warnings
    assert warning.startswith("1 name(s) occur more than once: 'x';")


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_single_linkage_of_points_whose_squares_overflow(metric: str) -> None:
    """As that of the points over a power of two, whose distances are so much shorter."""
    points, factor = np.random.default_rng(7).normal(size=(80, 3)), 2.0**900
    small, large = (
        fit("features", values, linkage="single", metric=metric).tree
        for values in (points, factor * points)
    )
    np.testing.assert_array_equal(small.parent, large.parent)
    stretched = small.height * (factor if metric == "euclidean" else 1.0)
    np.testing.assert_array_equal(stretched, large.height)
    with pytest.raises(UsageError, match="overflows"):
        fit("features", factor * points, linkage="single", metric="sqeuclidean")


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "weighted", "ward"])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_equal_distances_are_ties(linkage: str, scale: float) -> None:
    hac = registry.method("hac")
    params = hac.Params.model_validate({"linkage": linkage})
    equal = scale * (1.0 - np.eye(7))
    for role, values in (("distances", equal), ("similarity", scale * np.eye(7))):
        warnings = hac.fit(Data({role: values}), params).warnings
        assert any(text.startswith("6 of 6 merges were decided by ties alone") for text in warnings)
    equal[2, 3] = equal[3, 2] = 0.9 * scale
    warnings = hac.fit(Data({"distances": equal}), params).warnings
    assert not any("ties alone" in text for text in warnings)


def test_points_at_equal_distances_are_ties() -> None:
    hac = registry.method("hac")
    for points, tied in ((np.eye(6), True), (np.zeros((4, 2)), True), (np.eye(6)[:2], False)):
        warnings = hac.fit(Data({"features": points}), hac.Params()).warnings
        assert any("ties alone" in text for text in warnings) == tied


@pytest.mark.parametrize("linkage", ["ward", "average", "single", "complete"])
def test_trees_that_the_order_of_rows_changes_have_a_warning(linkage: str) -> None:
    """Answers yes or no: equal distances are many, and another order gives another tree. Values
    that vary freely, also beside a row far away, and repeated rows have no warning."""
    rng = np.random.default_rng(0)
    answers, order = (rng.random((120, 10)) < 0.4).astype(float), rng.permutation(120)
    there, back = (fit("features", own, linkage=linkage) for own in (answers, answers[order]))
    assert any("merges have the height of others" in text for text in there.warnings)
    again = {frozenset(order[list(each)].tolist()) for each in clades(back.tree)}
    assert len(clades(there.tree) & again) < 0.9 * len(again)
    values = rng.normal(size=(40, 4))
    far = np.vstack([values, np.full((1, 4), 1e9)])
    for rows in (values, np.repeat(values, 3, axis=0), far):
        found = fit("features", rows, linkage=linkage).warnings
        assert not any("height of others" in text for text in found)
