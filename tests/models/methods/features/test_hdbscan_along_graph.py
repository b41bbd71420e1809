"""HDBSCAN on more points than the exact tree takes, here a few hundred: along the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.graphs import cells
from models.inputs.data import Data
from models.method import Fitted
from models.methods.features import hdbscan
from models.methods.features.density.placing import approximate
from models.running.progress import silent
from tests.models.crew_kit import Scattered

METHOD = registry.method("hdbscan")


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdbscan, "MOST_POINTS", 100)
    monkeypatch.setattr(hdbscan, "MOST_POINTS_FEW", 100)
    monkeypatch.setattr(cells, "PART", 500)
    monkeypatch.setattr(cells, "AT_ONCE", 1000)


def blobs(n: int = 600, doubled: bool = False) -> np.ndarray:
    """Three groups of different density, noise between them; some rows twice."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, n)
    values = rng.normal(size=(n, 5)) * (0.5 + group[:, None]) + 9.0 * group[:, None]
    values[: n // 20] = rng.uniform(-5, 25, size=(n // 20, 5))
    if doubled:
        values[n // 2 :: 7] = values[: len(values[n // 2 :: 7])]
    return values


def fit(values: np.ndarray, **params: Any) -> Fitted:
    return METHOD.fit(Data({"features": values}), METHOD.Params(min_cluster_size=20, **params))


def labels(fitted: Fitted) -> np.ndarray:
    return fitted.tree.extra["cluster"][fitted.tree.leaf_of_point]


@pytest.mark.parametrize("params", [{"min_samples": 4}, {"metric": "cosine"}, {"min_samples": 30}])
def test_clusters_are_nearly_those_of_the_exact_tree(
    params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = blobs(doubled=True)
    found = fit(values, **params)
    assert any("With more than 100 points" in warning for warning in found.warnings)
    assert found.metrics["neighbor_recall"] > 0.9
    monkeypatch.setattr(hdbscan, "MOST_POINTS_FEW", 1000)
    exact = fit(values, **params)
    assert found.metrics["n_clusters"] == exact.metrics["n_clusters"]
    assert adjusted_rand_score(labels(found), labels(exact)) > 0.95
    assert found.tree.height.max() == pytest.approx(exact.tree.height.max(), rel=0.02)


@pytest.mark.parametrize("doubled", [False, True])
def test_any_crew_gives_the_same_bits(doubled: bool) -> None:
    data = Data({"features": blobs(doubled=doubled).astype(np.float32)})
    params = METHOD.Params(min_cluster_size=20, min_samples=3)
    alone = METHOD.fit(data, params)
    for n_members in (2, 3, 7):
        crew = Scattered(
            lambda given, at: METHOD.piece(data, params, given, at, threads=1), n_members, n_members
        )
        shared = METHOD.fit(data, params, silent, threads=2, crew=crew)
        assert crew.n_lost
        for name in ("parent", "height", "leaf_of_point"):
            np.testing.assert_array_equal(getattr(alone.tree, name), getattr(shared.tree, name))
        for name, column in alone.point_columns.items():
            np.testing.assert_array_equal(column, shared.point_columns[name])
        assert alone.model is not None
        assert shared.model is not None
        np.testing.assert_array_equal(alone.model.arrays["core"], shared.model.arrays["core"])


def test_rows_of_the_fit_are_placed_in_their_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    values = blobs()
    found = fit(values, min_samples=4)
    data = Data({"features": values})
    assert found.model is not None
    placed = METHOD.predict(found.model, found.tree, data)
    own = labels(found)
    assert placed.noise is not None
    there = np.where(placed.noise, -1, found.tree.extra["cluster"][placed.leaf])
    assert (there == own).mean() > 0.98
    monkeypatch.setattr("models.clusters.lloyd.WHOLE", 500)
    parts = METHOD.predict(found.model, found.tree, data)
    np.testing.assert_array_equal(placed.leaf, parts.leaf)
    np.testing.assert_array_equal(placed.probability, parts.probability)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_rows_that_the_search_saw_whole_are_placed_as_they_fell(metric: str) -> None:
    # The fit keeps lengths in single precision: a row at the very length at which it fell stays.
    values = blobs()
    found = fit(values, min_samples=4, metric=metric)
    assert found.model is not None
    core = found.model.arrays["core"]
    exact = np.sort(cdist(values, values, metric), axis=1)[:, 4]
    whole = core == exact.astype(np.float32)
    assert whole.mean() > 0.95
    placed = METHOD.predict(found.model, found.tree, Data({"features": values}))
    own = labels(found)
    assert placed.noise is not None
    there = np.where(placed.noise, -1, found.tree.extra["cluster"][placed.leaf])
    np.testing.assert_array_equal(there[whole], own[whole])
    _, strength, _ = approximate(found.model, Data({"features": values}))
    assert (strength == found.point_columns["probability"]).mean() > 0.9


def test_it_can_be_cancelled_between_any_two_clusters() -> None:
    seen = list[str]()
    METHOD.fit(
        Data({"features": blobs()}),
        METHOD.Params(min_cluster_size=5),
        lambda _, stage, message: seen.append(f"{stage}: {message}"),
    )
    n_clusters = next(int(text.split()[1]) for text in seen if text.endswith("clusters"))
    assert sum(text.endswith(" parts") for text in seen) > 2 * n_clusters


def test_many_equal_rows_a_far_row_and_all_rows_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.repeat(blobs(100), 20, axis=0)
    found = fit(values, min_samples=30)
    with monkeypatch.context() as patch:
        patch.setattr(hdbscan, "MOST_POINTS_FEW", 10_000)
        np.testing.assert_array_equal(labels(found), labels(fit(values, min_samples=30)))
    far = blobs()
    far[-1] = 1e9
    assert fit(far, min_samples=4).metrics["n_clusters"] == 3
    equal = fit(np.ones((300, 4)), min_samples=4)
    assert equal.metrics["n_clusters"] == 0
    assert any("No cluster was found" in warning for warning in equal.warnings)


def test_unusable_values_and_parameters_are_named() -> None:
    values = blobs()
    values[-1, 2] = np.nan
    with pytest.raises(UsageError, match="row 599, column 2"):
        fit(values)
    with pytest.raises(UsageError, match="'min_samples' is 600"):
        fit(blobs(), min_samples=600)
    with pytest.raises(UsageError, match="keep the noise") as caught:
        fit(blobs(), noise="nearest")
    assert caught.value.where == {"parameter": "noise"}


def test_the_highest_splits_are_those_of_the_exact_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two dense groups whose nearest points have all their neighbours in their own group, and a
    # chain of rows from one to the other that is longer.
    rng = np.random.default_rng(5)
    one = rng.normal(size=(200, 3))
    other = rng.normal(size=(200, 3)) + np.array([9.0, 0.0, 0.0])
    far = np.linspace([0.0, 0.0, 0.0], [9.0, 0.0, 0.0], 4) + np.array([0.0, 14.0, 0.0])
    values = np.concatenate([one, other, far])
    found = fit(values, min_samples=2)
    monkeypatch.setattr(hdbscan, "MOST_POINTS_FEW", 1000)
    exact = fit(values, min_samples=2)
    np.testing.assert_array_equal(labels(found), labels(exact))
    assert found.tree.height.max() == pytest.approx(exact.tree.height.max(), rel=1e-6)
