"""Bisecting k-means against scikit-learn's, which keeps no tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.tree.cut import cut

METHOD = registry.method("bisecting-kmeans")


def fit(features: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    values: dict[str, Any] = {"features": np.asarray(features)}
    if names is not None:
        values["names"] = names
    return METHOD.fit(Data(values), METHOD.Params(**params))


def blobs(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(6, 3)) * 20
    return centres[rng.integers(6, size=300)] + rng.normal(size=(300, 3))


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
@pytest.mark.parametrize("n_clusters", [1, 2, 5, 9])
def test_the_partition_is_scikit_learns(strategy: str, n_clusters: int) -> None:
    from sklearn.cluster import BisectingKMeans

    points = blobs()
    fitted = fit(points, n_clusters=n_clusters, bisecting_strategy=strategy)
    known = BisectingKMeans(
        n_clusters, init="k-means++", n_init=10, bisecting_strategy=strategy, random_state=0
    ).fit(points)
    pairs = set(zip(fitted.tree.leaf_of_point.tolist(), known.labels_.tolist(), strict=True))
    if n_clusters <= 5:
        assert len(pairs) == n_clusters
    # Within a group without clusters, k-means of two may end elsewhere.
    assert fitted.metrics["inertia"] == pytest.approx(known.inertia_, rel=0.02)
    assert fitted.tree.n_leaves == n_clusters


def test_cutting_to_fewer_gives_the_run_with_fewer() -> None:
    points = blobs(1)
    tree = fit(points, n_clusters=8).tree
    for n_clusters in (2, 4, 6):
        less = fit(points, n_clusters=n_clusters).tree
        cluster = cut(tree, n_clusters).cluster_of_point
        pairs = set(zip(cluster.tolist(), less.leaf_of_point.tolist(), strict=True))
        assert len(pairs) == n_clusters


def test_names_are_given_from_the_largest_cluster() -> None:
    points = np.repeat([[0.0], [10.0], [11.0]], [2, 9, 4], axis=0)
    tree = fit(points, ["large", "middle", "small"], n_clusters=3).tree
    assert tree.name[tree.leaf_of_point[[0, 2, 11]]].tolist() == ["small", "large", "middle"]
    with pytest.raises(UsageError, match="2 names; 3 are needed, one for each cluster"):
        fit(points, ["a", "b"], n_clusters=3)


@pytest.mark.parametrize(
    ("features", "n_clusters", "code", "part"),
    [
        (np.eye(2), 3, "too-few-points", "only 2 distinct point(s)"),
        (np.ones((9, 3)), 2, "too-few-points", "only 1 distinct point(s)"),
        (np.array([[1e200], [0.0]]), 1, "too-large", "row 0"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, n_clusters: int, code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, n_clusters=n_clusters)
    assert caught.value.code == code
    assert part in caught.value.detail
