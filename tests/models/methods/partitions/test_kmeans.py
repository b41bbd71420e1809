"""k-means: the partition, its order, the soft assignment by its literal definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models import registry
from models.arrays import Arrays
from models.clusters import lloyd
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.partitions.kmeans import KMeansParams
from models.running.progress import Alone, Crew, Piece, Progress
from tests.models.crew_kit import Scattered
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

METHOD = registry.method("kmeans")


def fit(features: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    inputs = {"features": features}
    if names is not None:
        inputs["names"] = names
    return METHOD.fit(Data(inputs), KMeansParams(**params))


def blobs(seed: int = 0, sizes: tuple[int, ...] = (10, 40, 25), apart: float = 20.0) -> np.ndarray:
    """Round clusters of the given sizes, far apart, rows mixed."""
    rng = np.random.default_rng(seed)
    centre = rng.permutation(np.arange(len(sizes))) * apart
    parts = [rng.normal(loc=c, size=(n, 3)) for c, n in zip(centre, sizes, strict=True)]
    return rng.permutation(np.concatenate(parts))


def literal_log_posterior(features: np.ndarray, centers: np.ndarray, own: np.ndarray) -> np.ndarray:
    """log p(k | x) of equal-weight Gaussians N(centre k, s^2 I), s^2 by maximum likelihood."""
    n_points, n_features = features.shape
    inertia = sum(((x - centers[k]) ** 2).sum() for x, k in zip(features, own, strict=True))
    variance = inertia / (n_points * n_features)
    density = np.array(
        [[-((x - c) ** 2).sum() / (2 * variance) for c in centers] for x in features]
    )
    top = density.max(axis=1, keepdims=True)
    return density - top - np.log(np.exp(density - top).sum(axis=1, keepdims=True))


# Drawn: two clusters; the larger is cluster 0.
#
#       root          0 1 2 . . . . . . 10 11
#       /   \         \___/             \__/
#      0     1        3 points          2 points
def test_the_drawn_partition() -> None:
    fitted = fit(np.array([[11.0], [0.0], [10.0], [1.0], [2.0]]), ["big", "small"], n_clusters=2)
    tree = fitted.tree
    assert tree.kind == "partition"
    assert tree.parent.tolist() == [-1, 0, 0]
    assert tree.name.tolist() == [None, "big", "small"]
    assert tree.size.tolist() == [5, 3, 2]
    assert tree.leaf_of_point.tolist() == [2, 1, 2, 1, 1]
    assert fitted.model.arrays["centers"].ravel() == pytest.approx([1.0, 10.5])
    assert fitted.metrics["inertia"] == pytest.approx(2.5)
    assert fitted.metrics["variance"] == pytest.approx(0.5)
    assert fitted.warnings == ()


@pytest.mark.parametrize(
    ("dtype", "sparse"),
    [(dtype, False) for dtype in ("float16", "float32", "float64", ">f4", "int32")]
    + [(dtype, True) for dtype in ("float32", "float64", "int32")],
)
def test_logits_are_the_log_posterior_of_the_mixture(dtype: str, sparse: bool) -> None:
    features = (blobs(apart=3.0) * 4).astype(dtype)
    fitted = fit(sp.csr_array(features) if sparse else features, n_clusters=4, n_init=2)
    own = fitted.tree.leaf_of_point - 1
    expected = literal_log_posterior(
        features.astype(np.float64), fitted.model.arrays["centers"], own
    )
    assert fitted.logits == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert (fitted.logits.argmax(axis=1) == own).all()


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 5))
def test_every_point_lies_with_its_nearest_centre(seed: int, n_clusters: int) -> None:
    features = np.random.default_rng(seed).normal(size=(12, 2)) + 1e4
    fitted = fit(features, n_clusters=n_clusters, n_init=1, seed=seed)
    centers = fitted.model.arrays["centers"]
    far = ((features[:, None] - centers[None]) ** 2).sum(axis=2)
    own = fitted.tree.leaf_of_point - 1
    assert far[np.arange(12), own] == pytest.approx(far.min(axis=1), rel=1e-6)
    assert fitted.metrics["inertia"] == pytest.approx(far.min(axis=1).sum(), rel=1e-6)
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()


def test_clusters_of_one_size_are_ordered_by_their_centres() -> None:
    features = np.array([[5.0, 1.0], [0.0, 9.0], [0.0, 3.0]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        fitted = fit(features[order], n_clusters=3)
        assert fitted.model.arrays["centers"].tolist() == [[0, 3], [0, 9], [5, 1]]


def test_more_runs_never_give_a_worse_result() -> None:
    features = blobs(3, (8, 8, 8, 8, 8, 8), apart=3.0)
    few = fit(features, n_clusters=6, n_init=1, seed=5).metrics["inertia"]
    many = fit(features, n_clusters=6, n_init=20, seed=5).metrics["inertia"]
    assert many <= few


def test_prediction_is_the_posterior_at_the_nearest_centre() -> None:
    features = blobs(apart=2.0)
    fitted = fit(features, n_clusters=3)
    new = np.random.default_rng(9).normal(size=(20, 3)) * 3
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    centers = fitted.model.arrays["centers"]
    far = ((new[:, None] - centers[None]) ** 2).sum(axis=2)
    density = np.exp(-far / (2 * fitted.metrics["variance"]))
    posterior = density / density.sum(axis=1, keepdims=True)
    assert (predictions.leaf == far.argmin(axis=1) + 1).all()
    assert (predictions.start == 2 * np.arange(21)).all()
    assert (
        predictions.node.reshape(-1, 2) == np.stack([np.zeros(20), predictions.leaf], axis=1)
    ).all()
    probability = predictions.probability.reshape(-1, 2)
    assert (probability[:, 0] == 1.0).all()
    assert probability[:, 1] == pytest.approx(posterior.max(axis=1), rel=1e-9)
    logits = METHOD.logits(fitted.model, Data({"features": new}))
    assert np.exp(logits) == pytest.approx(posterior, rel=1e-9)


def test_sparse_and_dense_features_give_one_partition() -> None:
    features = sp.random_array((300, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    dense = fit(features.toarray(), n_clusters=4, n_init=2)
    wide = sp.csr_array(
        (features.data, features.indices.astype(np.int64), features.indptr.astype(np.int64)),
        shape=features.shape,
    )
    for sparse in (features, wide):
        assert (
            fit(sparse, n_clusters=4, n_init=2).tree.leaf_of_point == dense.tree.leaf_of_point
        ).all()


def test_points_on_their_centres_have_a_variance_that_is_warned_of() -> None:
    features = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
    fitted = fit(features, n_clusters=2)
    assert 0 < fitted.metrics["variance"] < 1e-9
    assert any("a tiny one was used" in warning for warning in fitted.warnings)
    assert np.isfinite(fitted.logits).all()
    assert np.exp(fitted.logits).tolist() == [[0, 1], [1, 0], [1, 0]]


def test_one_cluster_holds_everything() -> None:
    fitted = fit(blobs(), n_clusters=1)
    assert fitted.tree.size.tolist() == [75, 75]
    assert (fitted.logits == 0).all()


def test_a_run_that_did_not_converge_is_warned_of() -> None:
    features = np.random.default_rng(0).normal(size=(500, 5))
    fitted = fit(features, n_clusters=9, n_init=1, max_iter=2, tol=0.0)
    assert any("max_iter = 2" in warning for warning in fitted.warnings)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("features", "n_clusters", "code", "part"),
    [
        (np.ones((2, 3)), 3, "too-few-points", "only 2 point(s)"),
        (np.ones((9, 3)), 2, "too-few-points", "only 1 distinct point(s)"),
        (np.array([[0.0], [-0.0], [1.0], [1.0]]), 3, "too-few-points", "only 2 distinct"),
        (np.array([[0.0, 1.0], [2.0, np.nan]]), 1, "not-finite", "NaN at row 1, column 1"),
        (np.array([[0.0, 1.0], [2.0, -np.inf]]), 1, "not-finite", "infinite at row 1, column 1"),
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


def test_names_are_one_for_each_cluster() -> None:
    with pytest.raises(UsageError, match="2 names; 3 are needed, one for each cluster"):
        fit(blobs(), ["a", "b"], n_clusters=3)


@pytest.mark.parametrize("criterion", ["bic", "silhouette", "gap"])
@pytest.mark.parametrize("sizes", [(40, 25, 30), (30, 20, 35, 25, 30)])
def test_the_number_of_clusters_is_right(criterion: str, sizes: tuple[int, ...]) -> None:
    features = blobs(4, sizes, apart=12.0).astype(np.float32)
    # Where means of the references are a standard error apart, chance decides for fewer clusters.
    fitted = fit(features, choose=criterion, max_clusters=8, n_init=4, n_references=8, seed=1)
    assert fitted.tree.n_leaves == len(sizes)
    assert fitted.metrics["n_clusters"] == len(sizes)
    curve = dict(fitted.curves[criterion])
    assert list(curve) == [2, 3, 4, 5, 6, 7, 8]
    assert curve[len(sizes)] == fitted.metrics[criterion]
    assert fitted.warnings == ()
    fixed = fit(features, n_clusters=len(sizes), n_init=4, seed=1)
    assert (fitted.tree.leaf_of_point == fixed.tree.leaf_of_point).all()
    assert fixed.curves == {}


@pytest.mark.parametrize("criterion", ["bic", "gap"])
def test_one_cluster_may_be_chosen(criterion: str) -> None:
    features = np.random.default_rng(5).normal(size=(80, 2))
    fitted = fit(features, choose=criterion, min_clusters=1, max_clusters=4, n_references=10)
    assert fitted.tree.n_leaves == 1


def test_the_gap_statistic_takes_no_sparse_features() -> None:
    with pytest.raises(UsageError, match="'gap', whose reference points are dense"):
        fit(sp.csr_array(blobs()), choose="gap")
    assert fit(sp.csr_array(blobs()), choose="bic", max_clusters=5).tree.n_leaves == 3


def test_a_choice_among_few_points_is_refused_by_its_own_parameter() -> None:
    with pytest.raises(UsageError) as caught:
        fit(np.zeros((4, 1)), choose="bic")
    assert caught.value.where == {"parameter": "min_clusters"}


def test_logits_that_would_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer clusters"):
        METHOD.check_size({"features": (10**6, 4)}, KMeansParams(n_clusters=1000), 1 << 30)


@pytest.mark.parametrize("choose", [None, "bic"])
def test_what_is_too_large_goes_by_rows_from_a_sample(
    monkeypatch: pytest.MonkeyPatch, choose: str | None
) -> None:
    monkeypatch.setattr(lloyd, "WHOLE", 2_000)
    monkeypatch.setattr(lloyd, "SAMPLE", 600)
    rows = blobs(sizes=(300, 900, 600)).astype(np.float32)
    fitted = fit(ArrayRows(rows), n_clusters=3, choose=choose, max_clusters=5)
    assert fitted.tree.size.tolist() == [1800, 900, 600, 300]
    (note,) = (text for text in fitted.warnings if "on a sample of" in text)
    assert "250 of 1,800 rows" in note if choose else "200 of 1,800 rows" in note
    monkeypatch.undo()
    whole = fit(rows, n_clusters=3)
    assert fitted.metrics["inertia"] == pytest.approx(whole.metrics["inertia"], rel=1e-4)
    assert fitted.model.arrays["centers"] == pytest.approx(whole.model.arrays["centers"], abs=1e-2)


def test_rows_over_workers_are_clustered_as_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lloyd, "WHOLE", 500)
    monkeypatch.setattr(lloyd, "SAMPLE", 200)
    rng = np.random.default_rng(0)
    data = Data({"features": ArrayRows(rng.normal(size=(1200, 3)))})
    params = KMeansParams(n_clusters=6, max_iter=8)

    def fitted(crew: Crew | None) -> Fitted:
        return METHOD.fit(data, params, crew=crew)

    def piece(given: Piece, progress: Progress) -> Arrays:
        return METHOD.piece(data, params, given, progress)

    one, alone = fitted(None), fitted(Alone(piece, 5))
    crews = [Scattered(piece, 5, seed) for seed in range(3)]
    for crew in crews:
        several = fitted(crew)
        assert (several.tree.leaf_of_point == alone.tree.leaf_of_point).all()
        assert several.metrics == alone.metrics
        for name, array in alone.model.arrays.items():
            np.testing.assert_array_equal(several.model.arrays[name], array)
    assert sum(crew.n_lost for crew in crews) > 0
    lost = MemoryCheckpoint(lost_after=3)
    with pytest.raises(WorkerLost):
        METHOD.fit(data, params, crew=crews[0], checkpoint=lost)
    resumed = METHOD.fit(data, params, crew=crews[1], checkpoint=MemoryCheckpoint(lost.state))
    assert resumed.metrics == alone.metrics
    np.testing.assert_array_equal(resumed.model.arrays["centers"], alone.model.arrays["centers"])
    # Sums in other parts differ in their last digits.
    assert (one.tree.leaf_of_point == alone.tree.leaf_of_point).all()
    assert one.model.arrays["centers"] == pytest.approx(alone.model.arrays["centers"], rel=1e-9)


def test_a_value_that_cannot_be_used_is_named_when_read_by_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lloyd, "WHOLE", 30)
    rows = blobs()
    rows[61, 1] = np.nan
    with pytest.raises(UsageError, match="row 61"):
        fit(ArrayRows(rows), n_clusters=3)
