"""Silhouette, Davies-Bouldin and Calinski-Harabasz against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn import metrics as sk

from models.metrics import separation
from models.metrics.catalogue import evaluate
from models.metrics.inputs import distances_of
from models.metrics.pairs import Euclidean
from models.metrics.separation import calinski_harabasz, davies_bouldin, silhouette
from models.tree.build import from_partition
from models.tree.cut import Cut, cut

METRICS = ["silhouette", "davies_bouldin", "calinski_harabasz"]


def clusters_of(cluster: np.ndarray, n_clusters: int) -> Cut:
    return cut(from_partition(cluster, n_clusters))


def check(features: np.ndarray, cluster: np.ndarray, n_clusters: int, close: float) -> None:
    clusters = clusters_of(cluster, n_clusters)
    n_groups = len(set(cluster.tolist()))
    answers = [
        silhouette(Euclidean(features), clusters),
        davies_bouldin(features, clusters),
        calinski_harabasz(features, clusters),
    ]
    assert all(answer.standard_error is None for answer in answers)
    if not 2 <= n_groups < features.shape[0]:
        assert all(answer.value is None and answer.warnings for answer in answers)
        return
    dense = features.toarray() if sp.issparse(features) else features.astype(np.float64)
    expected = sk.silhouette_score(dense, cluster)
    assert answers[0].value == pytest.approx(expected, abs=close)
    centre = np.array([dense[cluster == one].mean(axis=0) for one in np.unique(cluster)])
    if pdist(centre).min() > 1e-6:  # scikit-learn rounds the distance of equal centres up to 1e-8
        assert answers[1].value == pytest.approx(sk.davies_bouldin_score(dense, cluster), rel=close)
    if answers[2].value is None:
        assert "centre" in answers[2].warnings[0]
        assert all(np.ptp(dense[cluster == one], axis=0).max() == 0 for one in set(cluster))
    else:
        expected = sk.calinski_harabasz_score(dense, cluster)
        assert answers[2].value == pytest.approx(expected, rel=close)


@given(st.integers(1, 30), st.integers(1, 9), st.integers(0, 2**32), st.sampled_from([0, 1, 9]))
def test_scikit_learn_agrees(n_points: int, n_clusters: int, seed: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    # Rounded to no digits, points and centres fall together.
    features = np.round(rng.normal(size=(n_points, 3)), digits)
    check(features, rng.integers(0, n_clusters, n_points), n_clusters, 1e-7)


def test_clusters_of_one_centre_do_not_count_against_each_other() -> None:
    # Centres 0, 0 and 10, spreads 1, 2 and 3: the greatest are 0.4, 0.5 and 0.5.
    features = np.array([[-1.0], [1.0], [-2.0], [2.0], [7.0], [13.0]])
    answer = davies_bouldin(features, clusters_of(np.array([0, 0, 1, 1, 2, 2]), 3))
    assert answer.value == pytest.approx(1.4 / 3)


@pytest.mark.parametrize("form", [np.float32, np.float16, np.int64, "sparse", "fortran"])
def test_every_kind_of_features(form: Any) -> None:
    rng = np.random.default_rng(1)
    cluster = rng.integers(0, 7, 300)
    features: Any = np.round(10 * rng.normal(size=(7, 5))[cluster] + rng.normal(size=(300, 5)))
    features[:, 2] *= rng.random(300) < 0.3
    if form == "sparse":
        features = sp.csr_array(features)
    elif form == "fortran":
        features = np.asfortranarray(features)
    else:
        features = features.astype(form)
    check(features, cluster, 9, 1e-6)


def test_points_far_from_the_origin() -> None:
    rng = np.random.default_rng(2)
    cluster = rng.integers(0, 3, 200)
    features = rng.normal(size=(3, 4))[cluster] + 0.1 * rng.normal(size=(200, 4))
    near = silhouette(Euclidean(features), clusters_of(cluster, 3)).value
    far = silhouette(Euclidean(features + 1e8), clusters_of(cluster, 3)).value
    assert far == pytest.approx(near, abs=1e-6)


@pytest.mark.parametrize("values", [40, 3000])
def test_blocks_make_no_difference(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    cluster = rng.integers(0, 11, 150)
    features = rng.normal(size=(150, 4)) + cluster[:, None]
    monkeypatch.setattr(separation, "BLOCK_VALUES", values)
    check(features, cluster, 11, 1e-9)
    check(sp.csr_array(features), cluster, 11, 1e-7)


def test_distances_given() -> None:
    rng = np.random.default_rng(4)
    cluster = rng.integers(0, 4, 80)
    square = squareform(pdist(rng.normal(size=(80, 3)) + cluster[:, None], "cityblock"))
    result = silhouette(distances_of(square, 80), clusters_of(cluster, 4))
    expected = sk.silhouette_score(square, cluster, metric="precomputed")
    assert result.value == pytest.approx(expected, rel=1e-12)
    # What rounding leaves on the diagonal is no distance.
    square += 1e-6 * np.eye(80)
    result = silhouette(distances_of(square, 80), clusters_of(cluster, 4))
    assert result.value == pytest.approx(expected, rel=1e-12)


def test_estimates_are_unbiased_and_know_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    cluster = rng.integers(0, 90, 400)
    features = 3 * rng.normal(size=(90, 4))[cluster] + rng.normal(size=(400, 4))
    clusters = clusters_of(cluster, 90)
    monkeypatch.setattr(separation, "AT_LEAST", 40)
    for metric, given_ in ((silhouette, Euclidean(features)), (davies_bouldin, features)):
        exact = metric(given_, clusters).value
        assert exact is not None
        with monkeypatch.context() as patched:
            patched.setattr(separation, "EXACT_VALUES", 1)
            runs = [
                metric(given_, clusters, rng=np.random.default_rng(seed)) for seed in range(300)
            ]
        values = np.array([run.value for run in runs])
        errors = np.array([run.standard_error for run in runs])
        spread = values.std(ddof=1)
        assert errors.mean() == pytest.approx(spread, rel=0.15)
        assert abs(values.mean() - exact) < 4 * spread / np.sqrt(300)
        assert "40 sampled" in runs[0].warnings[0]


def test_clusters_that_cannot_be_measured() -> None:
    features = np.arange(8.0)[:, None]
    for cluster, n_clusters in ((np.zeros(8, int), 3), (np.arange(8), 8)):
        tree = from_partition(cluster, n_clusters)
        evaluation = evaluate(tree, features=features, metrics=METRICS, cut={"level": 1})
        assert set(evaluation.metrics.values()) == {None}
        assert len(evaluation.warnings) == 3
        assert "at least 2" in evaluation.warnings[0]
    pairs = np.repeat([0.0, 5.0], 4)[:, None]
    evaluation = evaluate(from_partition(np.repeat([0, 1], 4), 2), features=pairs, metrics=METRICS)
    assert evaluation.metrics == {
        "silhouette": 1.0,
        "davies_bouldin": 0.0,
        "calinski_harabasz": None,
    }
