"""Other clusterings of known rows against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from models.arrays import Float, Int
from models.methods.labelled.margin.clusterings import Clusterings, k_means
from models.methods.labelled.supervision.known import KnownClusters


def badness(points: Float, cluster: Int, metric: Float) -> float:
    """The mean of (x - m)' A (x - m), m the mean of the row's cluster."""
    total = 0.0
    for number in np.unique(cluster):
        away = points[cluster == number] - points[cluster == number].mean(axis=0)
        total += float(np.einsum("nd,de,ne->", away, metric, away))
    return total / cluster.size


def drawn(seed: int) -> KnownClusters:
    rng = np.random.default_rng(seed)
    code = np.append(np.arange(3), rng.integers(3, size=12))
    return KnownClusters(rng.normal(size=(15, 4)) + 5.0, code, 3)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n_used=st.integers(1, 3))
def test_a_plane_is_how_much_worse_a_clustering_is(seed: int, n_used: int) -> None:
    known = drawn(seed)
    rng = np.random.default_rng(seed + 1)
    cluster = rng.integers(n_used, size=15)
    root = rng.normal(size=(4, 4))
    metric = root @ root.T
    plane = Clusterings(known).plane(cluster)
    worse = badness(known.points, cluster, metric) - badness(known.points, known.code, metric)
    loss = 1.0 - max(adjusted_rand_score(known.code, cluster), 0.0)
    assert np.vdot(plane.normal, metric) == pytest.approx(worse, abs=1e-9)
    assert plane.loss == pytest.approx(loss, abs=1e-12)
    assert plane.lacks(metric) == pytest.approx(loss - worse, abs=1e-9)


def test_numbers_of_clusters_do_not_matter() -> None:
    known = drawn(0)
    plane = Clusterings(known).plane((known.code + 1) % 3)
    assert plane.loss == 0.0
    assert plane.normal == pytest.approx(np.zeros((4, 4)), abs=1e-12)


def test_the_worst_of_more_runs_is_no_better() -> None:
    known = drawn(1)
    metric = np.diag([1.0, 2.0, 0.5, 0.0])
    lacks = [
        Clusterings(known)
        .worst(np.sqrt(metric), metric, runs, np.random.default_rng(2))
        .lacks(metric)
        for runs in (1, 5, 50)
    ]
    assert lacks == sorted(lacks)
    assert lacks[-1] > 0.0


def test_k_means_ends_where_each_row_is_nearest_to_its_mean() -> None:
    points = np.random.default_rng(0).normal(size=(200, 3))
    cluster = k_means(points, 5, np.random.default_rng(1))
    means = np.array([points[cluster == number].mean(axis=0) for number in range(5)])
    away = ((points[:, None] - means) ** 2).sum(axis=2)
    assert (away.argmin(axis=1) == cluster).all()


def test_k_means_finds_clusters_far_apart() -> None:
    truth = np.arange(40) % 4
    points = 100.0 * np.eye(4)[truth] + np.random.default_rng(0).normal(size=(40, 4))
    assert adjusted_rand_score(truth, k_means(points, 4, np.random.default_rng(1))) == 1.0


@pytest.mark.parametrize("shape", [(6, 2), (6, 0)])
def test_k_means_takes_rows_that_fall_together(shape: tuple[int, int]) -> None:
    assert not k_means(np.zeros(shape), 3, np.random.default_rng(0)).any()
