"""Spectral clustering: shapes that no centre describes, new points, graphs that fall apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.items import ItemColumn, ItemTable
from models.method import Fitted
from models.methods.partitions.means.affinity import of_distances, of_features
from models.methods.partitions.spectral import SpectralParams
from models.running import budget

METHOD = registry.method("spectral")


def fit(features: Any = None, similarity: Any = None, names: Any = None, **params: Any) -> Fitted:
    values = {"features": features, "similarity": similarity, "names": names}
    inputs = {role: value for role, value in values.items() if value is not None}
    return METHOD.fit(Data(inputs), SpectralParams(**{"n_clusters": 2, **params}))


def blobs(seed: int = 0, apart: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    """Round clusters of 30, 60 and 90 points that touch, rows mixed, and their numbers."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat([0, 1, 2], [30, 60, 90]))
    return rng.normal(size=(180, 2)) + apart * np.array([[0, 0], [0, 1], [1, 0]])[group], group


@pytest.mark.parametrize("params", [{}, {"affinity": "rbf"}, {"affinity": "rbf", "gamma": 30.0}])
@pytest.mark.parametrize("shape", [make_moons, make_circles])
def test_clusters_of_any_shape_are_found_and_new_points_join_them(
    shape: Any, params: dict[str, Any]
) -> None:
    more = {"factor": 0.4} if shape is make_circles else {}
    features, group = shape(400, noise=0.05, random_state=0, **more)
    new, expected = shape(200, noise=0.05, random_state=1, **more)
    fitted = fit(features.astype(np.float32), **params)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) == 1.0
    predictions = METHOD.predict(
        fitted.model, fitted.tree, Data({"features": new.astype(np.float32)})
    )
    assert adjusted_rand_score(expected, predictions.leaf) == 1.0


@pytest.mark.parametrize("params", [{}, {"affinity": "rbf", "gamma": 1.0}])
def test_it_is_near_scikit_learns_partition(params: dict[str, Any]) -> None:
    features, group = blobs()
    affinity = "nearest_neighbors" if not params else "rbf"
    library = SpectralClustering(3, affinity=affinity, random_state=0).fit(features)
    fitted = fit(features, n_clusters=3, **params)
    assert adjusted_rand_score(library.labels_, fitted.tree.leaf_of_point) > 0.95
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.85
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()
    assert fitted.warnings == ()
    assert (fitted.logits.argmax(axis=1) + 1 == fitted.tree.leaf_of_point).all()
    assert 0.5 < np.exp(fitted.logits.max(axis=1)).mean() < 1.0, "soft where clusters touch"


@pytest.mark.parametrize("sparse", [False, True])
def test_a_similarity_is_taken_as_the_graph(sparse: bool) -> None:
    features, _ = blobs()
    squared = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    values = np.exp(-squared)
    form = sp.csr_array(values) if sparse else values
    fitted = fit(similarity=form, n_clusters=3)
    by_features = fit(features, n_clusters=3, affinity="rbf", gamma=1.0)
    leaf, expected = fitted.tree.leaf_of_point, by_features.tree.leaf_of_point
    assert adjusted_rand_score(expected, leaf) == 1.0
    assert fitted.logits.max(axis=1) == pytest.approx(by_features.logits.max(axis=1), abs=1e-4)
    some = form[np.arange(40)]
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"similarity": some}))
    assert (predictions.leaf == leaf[:40]).all()
    with pytest.raises(UsageError, match="40 columns; the model was fitted on 180"):
        METHOD.predict(fitted.model, fitted.tree, Data({"similarity": values[:, :40]}))
    with pytest.raises(UsageError, match="fitted on the input 'similarity'"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": features}))


@pytest.mark.parametrize("criterion", ["eigengap", "silhouette"])
def test_the_number_of_clusters_is_chosen(criterion: str) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(5, size=500)
    features = rng.normal(size=(500, 8)) + 5.0 * np.eye(5, 8)[group]
    fitted = fit(features, choose=criterion, max_clusters=9, n_neighbors=20)
    assert fitted.tree.n_leaves == 5
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.9
    assert [k for k, _ in fitted.curves[criterion]] == list(range(2, 10))
    assert fitted.model.arrays["vectors"].shape == (500, 5)


def test_a_choice_begins_with_the_parts_of_the_graph() -> None:
    features = np.concatenate([blobs()[0] + 100.0 * part for part in range(3)])
    fitted = fit(features, choose="eigengap", max_clusters=5)
    assert [k for k, _ in fitted.curves["eigengap"]] == [3, 4, 5]


# Three pairs of points with nothing between the pairs.
#
#     0-1 . . . 2-3 . . . 4-5
def test_a_graph_in_parts_is_warned_of_or_refused() -> None:
    values = sp.block_diag([np.ones((2, 2))] * 3).toarray()
    fitted = fit(similarity=values, n_clusters=3)
    assert adjusted_rand_score([0, 0, 1, 1, 2, 2], fitted.tree.leaf_of_point) == 1.0
    assert "falls into 3 parts" in fitted.warnings[0]
    with pytest.raises(UsageError, match="falls into 3 parts") as caught:
        fit(similarity=values, n_clusters=2)
    assert caught.value.code == "disconnected-graph"
    assert caught.value.where == {"parameter": "n_clusters", "row": 0}
    with pytest.raises(UsageError, match="'max_clusters' is 2"):
        fit(similarity=values, choose="eigengap", max_clusters=2)


def test_more_clusters_than_structure_are_warned_of() -> None:
    fitted = fit(similarity=np.ones((9, 9)), n_clusters=3)
    assert any("Only 1 of 3 eigenvalues" in warning for warning in fitted.warnings)


def test_few_points_are_all_neighbours() -> None:
    fitted = fit(np.array([[0.0], [1.0], [10.0], [11.0]]))
    assert "'n_neighbors' is 10, but there are 4 points" in fitted.warnings[0]
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": np.array([[0.5]])}))
    assert predictions.leaf.shape == (1,)
    assert fit(np.array([[5.0]]), n_clusters=1, n_neighbors=2).tree.n_leaves == 1


def test_a_width_cannot_be_taken_from_duplicates() -> None:
    features = np.repeat(np.array([[0.0, 1.0], [2.0, 3.0]]), 20, axis=0)
    with pytest.raises(UsageError, match="give 'gamma'"):
        fit(features, affinity="rbf")
    assert fit(features, affinity="rbf", gamma=1.0).tree.size.tolist() == [40, 20, 20]
    assert fit(features).tree.size.tolist() == [40, 20, 20]


@pytest.mark.parametrize(
    ("inputs", "n_clusters", "code", "part"),
    [
        ({"features": np.ones((2, 3))}, 3, "too-few-points", "only 2 point(s)"),
        ({"features": np.ones((9, 3))}, 2, "too-few-points", "only 1 distinct point(s)"),
        ({"similarity": np.ones((2, 3))}, 2, "wrong-shape", "must be square"),
        ({"similarity": np.eye(2)}, 3, "too-few-points", "'similarity' has only 2"),
        ({"similarity": np.diag([1.0, 0.0])}, 2, "no-similarity", "Row 1"),
        ({}, 2, "wrong-input", "exactly one of the inputs"),
        ({"features": np.eye(2), "similarity": np.eye(2)}, 2, "wrong-input", "not both"),
    ],
)
def test_unusable_input_is_named(
    inputs: dict[str, np.ndarray], n_clusters: int, code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(**inputs, n_clusters=n_clusters)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_inputs_too_large_for_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = {"features": (50_000, 4)}
    with pytest.raises(UsageError, match=r"GiB.*affinity 'knn'"):
        METHOD.check_size(shapes, SpectralParams(affinity="rbf"), 8 << 30)
    METHOD.check_size(shapes, SpectralParams(), 8 << 30)
    with pytest.raises(UsageError, match="compares all pairs of 300,000 points"):
        METHOD.check_size({"features": (300_000, 4)}, SpectralParams(), 8 << 30)
    monkeypatch.setattr(budget, "available", lambda: 100_000)
    with pytest.raises(UsageError, match="dense similarity of 90 points"):
        fit(similarity=np.ones((90, 90)))


CATEGORIES = np.random.default_rng(0).permutation(np.repeat([0, 1], 20))


def categorical(kind: str, group: np.ndarray, seed: int) -> Any:
    """Rows of two groups whose values differ in most of 12 columns: as 0 and 1, or as a table."""
    rng = np.random.default_rng(seed)
    own = (np.arange(12) % 2 == group[:, None]) ^ (rng.random((group.size, 12)) < 0.1)
    if kind != "gower":
        return {"features": own.astype(np.float32)}
    texts = {
        f"c{at}": pa.array(np.where(own[:, at], "yes", "no")).dictionary_encode()
        for at in range(12)
    }
    columns = [ItemColumn(name, "category", values) for name, values in texts.items()]
    return {"items": ItemTable(tuple(columns))}


@pytest.mark.parametrize("affinity", ["knn", "rbf"])
@pytest.mark.parametrize("metric", ["hamming", "jaccard", "gower"])
def test_points_compared_by_pairs_are_clustered_and_new_ones_join_them(
    metric: Any, affinity: Any
) -> None:
    given = categorical(metric, CATEGORIES, 1)
    fitted = METHOD.fit(
        Data(given), SpectralParams(n_clusters=2, metric=metric, affinity=affinity, n_init=2)
    )
    assert adjusted_rand_score(CATEGORIES, fitted.tree.leaf_of_point) == 1.0
    new = METHOD.predict(fitted.model, fitted.tree, Data(categorical(metric, 1 - CATEGORIES, 2)))
    leaf_of = [fitted.tree.leaf_of_point[group == CATEGORIES][0] for group in (0, 1)]
    assert new.leaf.tolist() == [leaf_of[group] for group in 1 - CATEGORIES]
    again = METHOD.predict(fitted.model, fitted.tree, Data(given))
    if affinity == "rbf":
        assert again.leaf.tolist() == fitted.tree.leaf_of_point.tolist()
    else:
        assert any("at the distance of their last neighbour" in text for text in fitted.warnings)


def test_distances_make_the_graph_that_features_make() -> None:
    features = np.random.default_rng(3).normal(size=(30, 3))
    square = cdist(features, features)
    for affinity in ("knn", "rbf"):
        expected = of_features(features, affinity, 5, None)
        found = of_distances(square, "features", affinity, 5, None)
        graphs = [
            each.toarray() if isinstance(each, sp.csr_array) else each
            for each in (found.affinity, expected.affinity)
        ]
        np.testing.assert_allclose(*graphs, atol=1e-12)
        vectors = np.eye(30)[:, :4]
        np.testing.assert_allclose(
            found.coordinates(vectors), expected.coordinates(vectors), atol=1e-12
        )


@pytest.mark.parametrize(
    ("given", "params", "code"),
    [
        ({"similarity": np.eye(3)}, {"metric": "hamming"}, "wrong-parameter"),
        ({"features": np.eye(3)}, {"metric": "gower"}, "wrong-parameter"),
        ({"features": np.eye(3)}, {"weights": {"a": 1.0}}, "wrong-parameter"),
        ({"features": np.array([[np.nan, 1.0], [1, 0]])}, {"metric": "hamming"}, None),
        ({"features": np.ones((3, 2))}, {"metric": "jaccard"}, "too-few-points"),
        (categorical("gower", np.zeros(1, int), 0), {}, "too-few-points"),
        (categorical("gower", np.arange(4) % 2, 0), {"metric": "jaccard"}, "wrong-parameter"),
    ],
)
def test_metrics_that_do_not_apply_are_refused(
    given: Any, params: dict[str, Any], code: str | None
) -> None:
    with pytest.raises(UsageError) as refused:
        METHOD.fit(Data(given), SpectralParams(n_clusters=2, **params))
    assert code is None or refused.value.code == code
