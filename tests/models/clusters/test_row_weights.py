"""Weights of rows: a row of weight w counts as w equal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

from models import registry
from models.clusters.row_weights import ROLE
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.features.linkage import all_pairs
from models.tree.walk import lca

RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(24, 3)) + 6.0 * RNG.integers(3, size=24)[:, None]
WEIGHTS = RNG.integers(1, 6, size=24)
REPEATED = np.repeat(np.arange(24), WEIGHTS)


def fit(method: str, values: dict[str, Any], **params: Any) -> Fitted:
    used = registry.method(method)
    return used.fit(Data(values), used.Params(**params))


def joined(fitted: Fitted, points: np.ndarray) -> np.ndarray:
    """The heights at which pairs of these points first lie together."""
    rows, columns = np.triu_indices(len(points), k=1)
    leaf = fitted.tree.leaf_of_point[points]
    return fitted.tree.height[lca(fitted.tree, leaf[rows], leaf[columns])]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("role", ["features", "distances"])
@pytest.mark.parametrize("linkage", ["average", "ward", "centroid"])
def test_agglomeration_is_that_of_repeated_rows(
    linkage: str, role: str, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if stored:
        monkeypatch.setattr(all_pairs, "MANY_FEATURES", dict.fromkeys(all_pairs.MANY_FEATURES, 1))
    square = squareform(pdist(POINTS))
    values = POINTS if role == "features" else square
    twice = POINTS[REPEATED] if role == "features" else square[np.ix_(REPEATED, REPEATED)]
    weighted = fit("hac", {role: values, ROLE: WEIGHTS}, linkage=linkage)
    first = np.flatnonzero(np.diff(REPEATED, prepend=-1))
    expected = joined(fit("hac", {role: twice}, linkage=linkage), first)
    np.testing.assert_allclose(joined(weighted, np.arange(24)), expected, rtol=1e-9)
    plain = fit("hac", {role: values}, linkage=linkage)
    assert not np.allclose(joined(plain, np.arange(24)), expected)
    assert not any(ROLE in note for note in weighted.warnings)


@pytest.mark.parametrize("sparse", [False, True])
def test_means_are_those_of_repeated_rows(sparse: bool) -> None:
    values: Any = sp.csr_array(POINTS) if sparse else POINTS
    weight = WEIGHTS.astype(np.float64)
    weight[3] = 0.0
    fitted = fit("kmeans", {"features": values, ROLE: weight}, n_clusters=3)
    assert fitted.logits is not None
    cluster = fitted.logits.argmax(axis=1)
    centers = np.array(
        [np.average(POINTS[cluster == k], axis=0, weights=weight[cluster == k]) for k in range(3)]
    )
    assert fitted.model is not None
    np.testing.assert_allclose(fitted.model.arrays["centers"], centers)
    apart = ((POINTS - centers[cluster]) ** 2).sum(axis=1)
    assert fitted.metrics["inertia"] == pytest.approx(weight @ apart)
    assert fitted.metrics["variance"] == pytest.approx(weight @ apart / weight.sum() / 3)
    nearest = ((POINTS[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(cluster, nearest)


@pytest.mark.parametrize("method", ["kmeans", "hac"])
def test_equal_weights_change_nothing(method: str) -> None:
    params = {"n_clusters": 3} if method == "kmeans" else {}
    plain = fit(method, {"features": POINTS}, **params)
    weighted = fit(method, {"features": POINTS, ROLE: np.full(24, 0.5)}, **params)
    np.testing.assert_array_equal(plain.tree.height, weighted.tree.height)
    np.testing.assert_array_equal(plain.tree.parent, weighted.tree.parent)
    assert plain.warnings == weighted.warnings


@pytest.mark.parametrize(
    ("method", "params", "more", "cause"),
    [
        ("hac", {"linkage": "single"}, {}, "does not depend on the sizes"),
        ("hac", {"linkage": "median"}, {}, "does not depend on the sizes"),
        ("hac", {"connectivity": "knn", "n_neighbors": 5}, {}, "along nearest neighbours"),
        ("hac", {}, {"must_link": np.array([[0, 1]])}, "with constraints"),
        ("kmeans", {"choose": "bic", "max_clusters": 4}, {}, "a choice of the number"),
    ],
)
def test_what_does_not_use_them_says_so(
    method: str, params: dict[str, Any], more: dict[str, Any], cause: str
) -> None:
    fitted = fit(method, {"features": POINTS, ROLE: WEIGHTS, **more}, **params)
    (note,) = [note for note in fitted.warnings if ROLE in note]
    assert "was not used" in note
    assert cause in note


@pytest.mark.parametrize(
    ("method", "weight", "words"),
    [
        ("kmeans", [1.0, -2.0], "is -2 at row 1"),
        ("kmeans", [0.0, 0.0], "is 0 in every row"),
        ("kmeans", [1.0, np.nan], "NaN at row 1"),
        ("kmeans", [1.0, 2.0, 3.0], "3 values for 24 rows"),
        ("kmeans", ["a", "b"], "must be numbers, one for each row; it is 'a' at row 0"),
        ("hac", [1.0, 0.0], "is 0 at row 1"),
    ],
)
def test_weights_that_are_none(method: str, weight: list[Any], words: str) -> None:
    given: Any = np.array(weight, dtype=object if isinstance(weight[0], str) else float)
    given = given if len(given) == 3 else np.resize(given, 24)
    with pytest.raises(UsageError, match=words) as raised:
        fit(method, {"features": POINTS, ROLE: given})
    assert raised.value.where["role"] == ROLE


def test_clusters_need_as_many_points_that_count() -> None:
    weight = np.zeros(24)
    weight[:2] = 1.0
    with pytest.raises(UsageError):
        fit("kmeans", {"features": POINTS, ROLE: weight}, n_clusters=3)
