"""BIRCH against scikit-learn's own tree, nearest centres, and the known figures of real data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.levels.suggested_cuts import levels
from models.method import Fitted
from models.metrics.hierarchical import dendrogram_purity
from models.metrics.inputs import classes_of
from models.tree.cut import cut
from models.tree.walk import path

METHOD = registry.method("birch")


def fit(features: Any, **params: Any) -> Fitted:
    return METHOD.fit(Data({"features": np.asarray(features)}), METHOD.Params(**params))


def blobs(n_points: int = 600, n_features: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(6, n_features)) * 10
    return centres[rng.integers(6, size=n_points)] + rng.normal(size=(n_points, n_features))


def scikit(points: np.ndarray, threshold: float, branching: int, n_clusters: Any = None) -> Any:
    from sklearn.cluster import Birch

    return Birch(threshold=threshold, branching_factor=branching, n_clusters=n_clusters).fit(points)


def in_linked_order(model: Any, at: np.ndarray) -> np.ndarray:
    """Where each of scikit-learn's centres is among ours."""
    distances = cdist(model.subcluster_centers_, at)
    assert distances.min(axis=1) == pytest.approx(0, abs=1e-9)
    return distances.argmin(axis=1)


@pytest.mark.parametrize(("threshold", "branching"), [(0.5, 3), (1.0, 10), (2.0, 50), (0.01, 2)])
def test_subclusters_and_their_points_are_scikit_learns(threshold: float, branching: int) -> None:
    points = blobs(300)
    points -= points.mean(axis=0)
    fitted = fit(points, threshold=threshold, branching=branching)
    known = scikit(points, threshold, branching)
    order = in_linked_order(known, fitted.model.arrays["centers"])
    assert (fitted.tree.leaves[order[known.labels_]] == fitted.tree.leaf_of_point).all()
    assert fitted.metrics["n_subclusters"] == len(order)


def test_the_inserted_tree_is_that_of_the_nodes() -> None:
    points = blobs()
    points -= points.mean(axis=0)
    fitted = fit(points, threshold=1.0, branching=4, tree="inserted")
    known = scikit(points, 1.0, 4)
    order = in_linked_order(known, fitted.model.arrays["centers"])
    number = {
        tuple(centre): at for at, centre in zip(order, known.subcluster_centers_, strict=True)
    }

    def groups(node: Any) -> set[frozenset[int]]:
        clades: set[frozenset[int]] = set()
        whole: set[int] = set()
        for part in node.subclusters_:
            if part.child_ is None:
                below = {frozenset([number[tuple(part.centroid_)]])}
            else:
                below = groups(part.child_)
            clades |= below
            whole |= max(below, key=len)
        return clades | {frozenset(whole)}

    under: list[set[int]] = [set() for _ in range(fitted.tree.n_nodes)]
    for at, leaf in enumerate(fitted.tree.leaves):
        under[leaf] = {at}
    for node in range(fitted.tree.n_nodes - 1, 0, -1):
        under[fitted.tree.parent[node]] |= under[node]
    assert {frozenset(group) for group in under} == groups(known.root_)
    assert (fitted.tree.n_children != 1).all()


@pytest.mark.parametrize(
    "params", [{}, {"tree": "inserted", "branching": 5}, {"n_clusters": 4}], ids=str
)
def test_radius_is_that_of_what_was_summed_up(params: dict[str, Any]) -> None:
    points = blobs(200)
    fitted = fit(points, threshold=1e-9, **params)
    tree = fitted.tree
    # Each point is its own subcluster, so sums and points agree at every node.
    for node in range(tree.n_nodes):
        inside = [row for row, leaf in enumerate(tree.leaf_of_point) if node in path(tree, leaf)]
        own = points[inside]
        radius = np.sqrt(((own - own.mean(axis=0)) ** 2).sum(axis=1).mean())
        assert tree.extra["radius"][node] == pytest.approx(radius, abs=1e-6)


def test_subclusters_are_merged_by_what_they_add_to_the_squares() -> None:
    """Each pair of subclusters merged is the one whose points' squared distances from their mean
    grow least, counted naively; the cut into six clusters is `n_clusters`."""
    points = blobs(150)
    fitted = fit(points, threshold=0.8)
    tree = fitted.tree
    grown = scikit(points - points.mean(axis=0), 0.8, 10)
    parts = [
        (part.n_samples_, part.centroid_)
        for leaf in grown._get_leaves()
        for part in leaf.subclusters_
    ]
    heights = []
    while len(parts) > 1:
        n, centre = np.array([n for n, _ in parts], float), np.array([c for _, c in parts])
        rise = np.outer(n, n) / (n[:, None] + n) * cdist(centre, centre, "sqeuclidean")
        np.fill_diagonal(rise, np.inf)
        one, other = sorted(np.unravel_index(rise.argmin(), rise.shape))
        heights.append(np.sqrt(2.0 * rise[one, other]))
        both = n[one] + n[other]
        parts[one] = (both, (n[one] * centre[one] + n[other] * centre[other]) / both)
        del parts[other]
    assert np.sort(tree.height[tree.n_children > 0]) == pytest.approx(np.sort(heights))
    six = fit(points, threshold=0.8, n_clusters=6).tree
    assert six.max_depth == 2
    cluster = six.parent[six.leaf_of_point]
    assert len(np.unique(cluster)) == 6
    merged = cut(tree, k=6).cluster_of_point
    pairs = {(int(a), int(b)) for a, b in zip(cluster, merged, strict=True)}
    assert len(pairs) == 6


def test_a_cut_is_suggested_where_groups_are_far_apart() -> None:
    points = blobs(400, seed=1)
    found = levels(fit(points).tree)
    assert [level.k for level in found] == [6]
    assert levels(fit(points, tree="inserted").tree) == []


def test_points_far_from_the_origin_give_the_same_tree() -> None:
    points = blobs(300)
    near = fit(points, threshold=0.8)
    far = fit(points + 1e7, threshold=0.8)
    # Which of two siblings comes first depends on rounding.
    pairs = set(zip(near.tree.leaf_of_point.tolist(), far.tree.leaf_of_point.tolist(), strict=True))
    assert len(pairs) == near.tree.n_leaves == far.tree.n_leaves
    single = fit((points + 1e3).astype(np.float32), threshold=0.8)
    assert single.metrics["n_subclusters"] == pytest.approx(near.metrics["n_subclusters"], rel=0.1)


def test_the_threshold_rises_until_the_subclusters_are_few() -> None:
    points = blobs(3000)
    fitted = fit(points, threshold=0.01, max_leaves=50)
    assert fitted.metrics["n_subclusters"] <= 50
    (warning,) = [text for text in fitted.warnings if "max_leaves = 50" in text]
    assert "threshold = 0.01" in warning
    last = fitted.metrics["threshold"]
    # A slightly lower threshold would give too many.
    least = scikit(points - points.mean(axis=0), last / 1.5**0.125, 10)
    assert len(least.subcluster_centers_) > 50
    again = fit(points, threshold=last, max_leaves=50)
    assert (again.tree.leaf_of_point == fitted.tree.leaf_of_point).all()
    assert again.warnings == tuple(text for text in fitted.warnings if text != warning)
    assert fit(points, max_leaves=3).metrics["n_subclusters"] <= 3


@pytest.mark.parametrize(("name", "known"), [("glass", 0.429), ("spambase", 0.595)])
def test_known_dendrogram_purity(name: str, known: float, real_data: Callable[[str], Path]) -> None:
    """BIRCH in the gHHC paper's table, 0.429 and 0.595: the mean over five orders within 0.03."""
    with np.load(real_data(f"bench_{name}.npz")) as file:
        features, labels = file["X"], file["y"]
    purities = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(features))
        tree = fit(features[order], tree="inserted").tree
        purities.append(dendrogram_purity(tree, classes_of(labels[order], len(labels))).value)
    assert np.mean(purities) == pytest.approx(known, abs=0.03)


@pytest.mark.parametrize("n_points", [1, 4])
def test_equal_points_are_one_leaf(n_points: int) -> None:
    fitted = fit(np.full((n_points, 2), 3.0))
    assert (fitted.tree.n_nodes, fitted.tree.n_points) == (1, n_points)
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": np.zeros((2, 2))}))
    assert placed.leaf.tolist() == [0, 0]
    assert placed.probability.tolist() == [1, 1]


def test_a_node_has_the_mass_of_its_leaves() -> None:
    points = blobs(300, seed=3)
    fitted = fit(points, branching=3)
    new = blobs(40, seed=4)
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    centres, tree = fitted.model.arrays["centers"], fitted.tree
    squared = cdist(new, centres, "sqeuclidean")
    weight = np.exp(-squared / (2 * fitted.model.arrays["variance"][0]))
    weight /= weight.sum(axis=1, keepdims=True)
    above = [set(path(tree, leaf).tolist()) for leaf in tree.leaves]
    for row in range(len(new)):
        assert placed.leaf[row] == tree.leaves[squared[row].argmin()]
        for at in range(placed.start[row], placed.start[row + 1]):
            mass = sum(weight[row, i] for i in range(len(above)) if placed.node[at] in above[i])
            assert placed.probability[at] == pytest.approx(mass, abs=1e-12)


@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.ones((2, 2)), {"n_clusters": 3}, "too-few-points", "only 2 point(s)"),
        (np.ones((5, 2)), {"n_clusters": 3}, "too-few-points", "only 1 subcluster(s)"),
        (np.ones((9, 2)), {"n_clusters": 4, "max_leaves": 3}, "wrong-parameter", "max_leaves"),
        (np.array([[1e200], [0.0]]), {}, "too-large", "row 0"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, **params)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_inputs_too_large_for_memory_are_refused() -> None:
    params = METHOD.Params(max_leaves=1_000_000)
    METHOD.check_size({}, params, 2**30)
    METHOD.check_size({"features": (10**6, 64)}, METHOD.Params(), 2**30)
    with pytest.raises(UsageError, match="'max_leaves'"):
        METHOD.check_size({"features": (10**6, 64)}, params, 2**30)
