"""Mini-batch k-means: near k-means on data with clusters, read by rows, any form of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.partitions import minibatch_kmeans
from models.methods.partitions.means import batches
from models.methods.partitions.minibatch_kmeans import MiniBatchKMeansParams

METHOD = registry.method("minibatch-kmeans")


def fit(features: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    inputs = {"features": features}
    if names is not None:
        inputs["names"] = names
    return METHOD.fit(Data(inputs), MiniBatchKMeansParams(**params))


def blobs(
    sizes: tuple[int, ...] = (300, 900, 600), apart: float = 20.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Round clusters of the given sizes, far apart, sorted by cluster, and their numbers."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=(len(group), 3)) + apart * group[:, None], group


# Drawn: two clusters; the larger is cluster 0.
#
#       root          0 1 2 . . . . . . 10 11
#       /   \         \___/             \__/
#      0     1        3 points          2 points
def test_the_drawn_partition() -> None:
    fitted = fit(np.array([[11.0], [0.0], [10.0], [1.0], [2.0]]), ["big", "small"], n_clusters=2)
    assert fitted.tree.kind == "partition"
    assert fitted.tree.name.tolist() == [None, "big", "small"]
    assert fitted.tree.size.tolist() == [5, 3, 2]
    assert fitted.tree.leaf_of_point.tolist() == [2, 1, 2, 1, 1]


@pytest.mark.parametrize("n_clusters", [5, 20])
def test_the_inertia_is_near_that_of_k_means(n_clusters: int) -> None:
    features = np.random.default_rng(1).normal(size=(4000, 6)).astype(np.float32)
    whole = registry.method("kmeans")
    best = whole.fit(Data({"features": features}), whole.Params(n_clusters=n_clusters, n_init=3))
    fitted = fit(features, n_clusters=n_clusters, batch_size=256)
    assert fitted.metrics["inertia"] < 1.05 * best.metrics["inertia"]
    centers = fitted.model.arrays["centers"]
    far = ((features[:, None] - centers[None]) ** 2).sum(axis=2)
    assert (fitted.tree.leaf_of_point - 1 == far.argmin(axis=1)).mean() > 0.999
    assert fitted.metrics["inertia"] == pytest.approx(far.min(axis=1).sum(), rel=1e-6)
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()


def test_a_file_is_read_by_rows_as_the_array_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "POOL", 1000)
    features, group = blobs()
    np.save(tmp_path / "rows.npy", features.astype(np.float32))
    mapped = ArrayRows(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    fitted = fit(mapped, n_clusters=3, batch_size=100)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) == 1.0
    array = fit(features.astype(np.float32), n_clusters=3, batch_size=100)
    assert (fitted.logits == array.logits).all()
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": mapped}))
    assert (predictions.leaf == fitted.tree.leaf_of_point).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", ">f4", "int32", "uint8", "bfloat16"])
def test_every_kind_of_number_is_taken(dtype: str) -> None:
    features, group = blobs((60, 90, 120))
    if dtype == "bfloat16":
        bits = (features.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        value: Any = ArrayRows(bits, bfloat16=True)
    else:
        value = np.clip(features + 10, 0, None).astype(dtype)
    fitted = fit(value, n_clusters=3, batch_size=50)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) == 1.0
    assert fitted.tree.size.tolist() == [270, 120, 90, 60]


def test_sparse_features_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    features = sp.random_array((600, 40), density=0.1, rng=rng, format="csr")
    features = sp.csr_array(features + sp.csr_array(3.0 * np.eye(3, 40)[group]))
    fitted = fit(features, n_clusters=3, batch_size=100)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) == 1.0
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": features}))
    assert (predictions.leaf == fitted.tree.leaf_of_point).all()


@pytest.mark.parametrize("criterion", ["bic", "silhouette", "gap"])
def test_the_number_of_clusters_is_chosen_on_a_sample(
    criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minibatch_kmeans, "CHOICE_SAMPLE", 300)
    features, group = blobs((300, 500, 400), apart=12.0)
    fitted = fit(features, choose=criterion, max_clusters=6, n_references=5, batch_size=64)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) == 1.0
    assert [k for k, _ in fitted.curves[criterion]] == [2, 3, 4, 5, 6]
    assert any("on a sample of 300 of 1,200 rows" in warning for warning in fitted.warnings)


def test_batches_hold_as_many_rows_as_there_are_clusters() -> None:
    features = np.random.default_rng(2).normal(size=(500, 2))
    assert fit(features, n_clusters=50, batch_size=7).tree.n_leaves == 50


def test_passes_that_were_cut_short_are_warned_of() -> None:
    features = np.random.default_rng(3).normal(size=(2000, 3))
    fitted = fit(features, n_clusters=9, batch_size=32, max_iter=1, tol=0.0)
    assert any("stopped after max_iter = 1" in warning for warning in fitted.warnings)
    assert fitted.metrics["n_iter"] == 1.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("features", "n_clusters", "code", "part"),
    [
        (np.ones((2, 3)), 3, "too-few-points", "only 2 point(s)"),
        (np.ones((9, 3)), 2, "too-few-points", "only 1 distinct point(s)"),
        (np.array([[0.0, 1.0], [2.0, np.nan]]), 1, "not-finite", "NaN at row 1, column 1"),
        (np.array([[1e200], [0.0]]), 1, "too-large", "would overflow"),
        (np.ones((3, 0)), 1, "wrong-shape", "no columns"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, n_clusters: int, code: str, part: str, sparse: bool
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(sp.csr_array(features) if sparse else features, n_clusters=n_clusters)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_prediction_refuses_sparse_rows_that_are_not_finite() -> None:
    fitted = fit(blobs()[0], n_clusters=3)
    new = sp.csr_array([[0.0, 1.0, 2.0], [0.0, np.inf, 2.0]])
    with pytest.raises(UsageError, match="infinite at row 1, column 1"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
