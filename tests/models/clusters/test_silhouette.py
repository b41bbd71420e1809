"""Silhouettes: against scikit-learn's and the naive definition; samples and their errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import silhouette_score

from models.clusters import choosing
from models.clusters.choosing import silhouettes
from models.running.progress import silent


def silhouettes_of(features: np.ndarray, *partitions: np.ndarray, seed: int = 0) -> list[float]:
    rng = np.random.default_rng(seed)
    return [one.mean for one in silhouettes(features, partitions, rng, silent)]


def naive(features: np.ndarray, cluster: np.ndarray) -> float:
    """Rousseeuw's definition, point by point."""
    values = []
    for i, own in enumerate(cluster):
        far = np.sqrt(((features - features[i]) ** 2).sum(axis=1))
        mates = [j for j in range(len(cluster)) if cluster[j] == own and j != i]
        others = [far[cluster == k].mean() for k in set(cluster.tolist()) - {own}]
        if not mates:
            values.append(0.0)
            continue
        a, b = far[mates].mean(), min(others)
        values.append(0.0 if max(a, b) == 0 else (b - a) / max(a, b))
    return float(np.mean(values))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(3, 12), st.integers(2, 5))
def test_it_is_the_naive_definition(seed: int, n_points: int, n_clusters: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.integers(4, size=(n_points, 2)).astype(float)
    cluster = np.concatenate([[0, 1], rng.integers(n_clusters, size=n_points - 2)])
    result = silhouettes_of(features, cluster)[0]
    assert result == pytest.approx(naive(features, cluster), abs=1e-6)


@pytest.mark.parametrize("n_points", [50, 700])
def test_several_partitions_at_once_are_scikit_learns(n_points: int) -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(n_points, 5)).astype(np.float32)
    partitions = [rng.integers(k, size=n_points) for k in (2, 3, 7)]
    expected = [silhouette_score(features.astype(float), one) for one in partitions]
    assert silhouettes_of(features, *partitions) == pytest.approx(expected, abs=1e-6)
    assert silhouettes_of(sp.csr_array(features), *partitions) == pytest.approx(expected, abs=1e-6)


def test_many_points_are_measured_by_a_sample_against_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    group = rng.integers(3, size=1500)
    features = rng.normal(size=(1500, 2)) + 3.0 * np.eye(3, 2)[group]
    exact = silhouettes(features, [group], rng, silent)[0]
    assert exact.error == 0.0
    monkeypatch.setattr(choosing, "EXACT_UP_TO", 1000)
    monkeypatch.setattr(choosing, "SAMPLE", 200)
    off = []
    for seed in range(40):
        result = silhouettes(features, [group], np.random.default_rng(seed), silent)[0]
        assert 0 < result.error < 0.05
        off.append((result.mean - exact.mean) / result.error)
    assert abs(np.mean(off)) < 0.5, "unbiased"
    assert 0.6 < np.std(off) < 1.4, "the error is the spread of samples"


def test_with_all_points_in_one_of_two_clusters_it_is_zero() -> None:
    features = np.random.default_rng(3).normal(size=(6, 2))
    assert silhouettes_of(features, np.ones(6, dtype=int)) == [0.0]
