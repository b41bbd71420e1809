"""The best metric: one optimum from any start, its rank, its bound, resumed fits."""

from __future__ import annotations

import numpy as np
import pytest

from models.arrays import Float
from models.method import Checkpoint
from models.methods.labelled.metric.descent import MetricFit, RegularizerName, hold, minimize
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.methods.labelled.supervision.inputs import KnownClusters
from models.running.progress import silent
from tests.models.methods.labelled.gradient_kit import clusters
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost

N_COLUMNS, N_CLUSTERS = 6, 3
KNOWN = clusters(0, n_rows=90, n_columns=N_COLUMNS, n_clusters=N_CLUSTERS, apart=0.7)
SMOOTH: tuple[RegularizerName, ...] = ("identity", "l2", "nuclear", "logdet")

TIGHT = {"identity": 1e-10, "l2": 1e-10, "nuclear": 1e-8, "logdet": 1e-8}
"""Where the objective is not strongly convex it is far closer to its minimum than the bound."""


def fit(
    name: RegularizerName,
    start: Float,
    *,
    known: KnownClusters = KNOWN,
    gamma: float = 3.0,
    tol: float = 1e-7,
    max_iter: int = 5000,
    checkpoint: Checkpoint | None = None,
) -> MetricFit:
    likelihood = ConditionalLikelihood(known.points, known.code, known.n_clusters)
    diagonal = start.ndim == 1
    return minimize(
        likelihood.loss(diagonal),
        hold(name, diagonal),
        gamma,
        start,
        tol=tol,
        max_iter=max_iter,
        progress=silent,
        checkpoint=checkpoint or Checkpoint(),
    )


def far_start(diagonal: bool) -> Float:
    root = np.random.default_rng(7).normal(size=(N_COLUMNS, N_COLUMNS))
    metric = np.asarray(root @ root.T) + 0.1 * np.eye(N_COLUMNS)
    return np.diag(metric).copy() if diagonal else metric


def near_start(diagonal: bool) -> Float:
    return np.ones(N_COLUMNS) if diagonal else np.eye(N_COLUMNS)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("name", SMOOTH)
def test_two_starts_have_one_optimum(name: RegularizerName, diagonal: bool) -> None:
    near, far = (fit(name, start(diagonal), tol=TIGHT[name]) for start in (near_start, far_start))
    assert near.converged
    assert far.converged
    assert near.objectives[-1] == pytest.approx(far.objectives[-1], rel=1e-9)
    np.testing.assert_allclose(near.metric, far.metric, atol=1e-3)
    assert (np.diff(near.objectives) <= 0).all()


@pytest.mark.parametrize("name", [*SMOOTH, "l1"])
def test_the_bound_holds(name: RegularizerName) -> None:
    rough, exact = fit(name, near_start(False), tol=1e-2), fit(name, near_start(False), tol=1e-8)
    assert rough.objectives[-1] - exact.objectives[-1] <= rough.bound + 1e-9
    assert rough.bound <= 1e-2 * rough.objectives[-1]


def rank(metric: Float) -> int:
    return int((abs(np.linalg.eigvalsh(metric)) > 1e-3).sum())


@pytest.mark.parametrize("name", ["l2", "nuclear"])
def test_the_rank_of_the_metric_is_below_the_number_of_clusters(name: RegularizerName) -> None:
    assert 1 <= rank(fit(name, near_start(False)).metric) <= N_CLUSTERS - 1


def test_the_rank_of_what_identity_changes_is_at_most_twice_that() -> None:
    metric = fit("identity", near_start(False), gamma=30.0).metric
    assert np.linalg.eigvalsh(metric)[0] > 1e-3, "the cone is active"
    assert 1 <= rank(metric - np.eye(N_COLUMNS)) <= 2 * (N_CLUSTERS - 1)


def test_the_rank_of_what_logdet_changes_is_at_most_twice_that() -> None:
    metric = fit("logdet", near_start(False)).metric
    assert 1 <= rank(np.linalg.inv(metric) - np.eye(N_COLUMNS)) <= 2 * (N_CLUSTERS - 1)


@pytest.mark.parametrize("name", [*SMOOTH, "l1"])
def test_a_lost_fit_resumes_and_ends_the_same(name: RegularizerName) -> None:
    whole = MemoryCheckpoint()
    expected = fit(name, near_start(False), gamma=0.1, checkpoint=whole)
    n_states = len(whole.states)
    assert n_states > 3
    for n_saved in (1, n_states // 2, n_states):
        lost = MemoryCheckpoint(lost_after=n_saved)
        with pytest.raises(WorkerLost):
            fit(name, near_start(False), gamma=0.1, checkpoint=lost)
        again = MemoryCheckpoint(lost.state)
        resumed = fit(name, near_start(False), gamma=0.1, checkpoint=again)
        np.testing.assert_array_equal(resumed.metric, expected.metric)
        assert resumed.objectives == expected.objectives
        assert len(again.states) <= n_states - n_saved + 1


def test_an_end_before_the_minimum_is_a_warning() -> None:
    stopped = fit("nuclear", near_start(False), max_iter=2)
    assert not stopped.converged
    (warning,) = stopped.warnings
    assert "Not converged after 2 steps" in warning
    assert fit("nuclear", near_start(False), tol=1e-3).warnings == ()
