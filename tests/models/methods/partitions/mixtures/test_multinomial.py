"""EM of a mixture of multinomials against the naive one, row by row and term by term."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.clusters.counts import in_doubles
from models.methods.partitions.mixtures.multinomial import (
    MultinomialEffort,
    MultinomialRun,
    Multinomials,
    climb,
    seeds,
)
from models.running.progress import silent
from tests.models.methods.partitions.texts_kit import texts


def naive(
    counts: np.ndarray, cluster: np.ndarray, n_clusters: int, smoothing: float, n_iter: int
) -> tuple[np.ndarray, list[float]]:
    """Responsibilities and the objective after each of `n_iter` iterations, in plain Python."""
    n_points, n_terms = counts.shape
    share = [[float(cluster[i] == k) for k in range(n_clusters)] for i in range(n_points)]
    objective = []
    for _ in range(n_iter):
        weight, theta = [], []
        for k in range(n_clusters):
            weight.append(max(sum(share[i][k] for i in range(n_points)) / n_points, 1e-300))
            mass = [
                smoothing + sum(share[i][k] * counts[i, v] for i in range(n_points))
                for v in range(n_terms)
            ]
            theta.append([one / sum(mass) for one in mass])
        total = smoothing * sum(np.log(p) for own in theta for p in own)
        for i in range(n_points):
            joint = [
                np.log(weight[k]) + sum(counts[i, v] * np.log(theta[k][v]) for v in range(n_terms))
                for k in range(n_clusters)
            ]
            top = max(joint)
            evidence = top + np.log(sum(np.exp(one - top) for one in joint))
            share[i] = [np.exp(one - evidence) for one in joint]
            total += evidence
        objective.append(total)
    return np.array(share), objective


def run(
    counts: np.ndarray | sp.csr_array,
    cluster: np.ndarray,
    n_clusters: int = 3,
    smoothing: float = 0.1,
    max_iter: int = 12,
    tol: float = 0.0,
    counted: np.ndarray | None = None,
) -> MultinomialRun:
    every = np.ones(counts.shape[0]) if counted is None else counted
    effort = MultinomialEffort(smoothing, 1, max_iter, tol)
    return climb(in_doubles(counts), cluster, n_clusters, every, effort, silent)


@pytest.mark.parametrize("form", ["float64", "float32", "int32", "uint8", "csr", "csr-float32"])
@pytest.mark.parametrize("smoothing", [1e-6, 0.1, 2.0])
def test_it_is_the_naive_em(form: str, smoothing: float) -> None:
    counts, _ = texts()
    start = np.random.default_rng(1).integers(3, size=60)
    kind = "float32" if form == "csr-float32" else form
    values = counts if form == "csr" else counts.astype(kind)
    features = sp.csr_array(values) if "csr" in form else values
    result = run(features, start, smoothing=smoothing)
    share, objective = naive(counts, start, 3, smoothing, len(result.objective))
    assert result.objective == pytest.approx(objective, rel=1e-12)
    assert np.exp(result.logits) == pytest.approx(share, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(1, 5),
    st.floats(1e-6, 5.0),
    st.booleans(),
)
def test_the_objective_never_falls(
    seed: int, n_clusters: int, smoothing: float, sparse: bool
) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.3, 3.0, size=6), size=(15, 6)).astype(float)
    start = rng.integers(n_clusters, size=15)
    features = sp.csr_array(counts) if sparse else counts
    result = run(features, start, n_clusters, smoothing, max_iter=40)
    steps = np.diff(result.objective)
    assert (steps >= -1e-9 * np.abs(result.objective[1:])).all()
    assert np.isfinite(result.logits).all()


def test_with_next_to_no_smoothing_the_likelihood_itself_never_falls() -> None:
    counts, _ = texts(3)
    counts[0] = 0
    start = np.random.default_rng(2).integers(4, size=60)
    likelihood = [
        float(run(counts, start, 4, 1e-9, max_iter=turns).evidence.sum()) for turns in range(1, 25)
    ]
    assert (np.diff(likelihood) >= -1e-7).all()
    assert likelihood[-1] > likelihood[0]


def test_float32_counts_are_summed_in_double_precision() -> None:
    """1 + 2^24 is 2^24 in single precision."""
    counts = np.array([[2.0**24, 0.0], [1.0, 1.0], [1.0, 0.0]], dtype=np.float32)
    result = run(counts, np.zeros(3, dtype=int), 1, smoothing=1e-9, max_iter=1)
    assert np.exp(result.mixture.log_terms[0, 0]) == pytest.approx(1 - 1 / (2**24 + 3), rel=1e-14)


def test_rows_held_out_change_nothing_but_are_measured() -> None:
    counts, _ = texts(4)
    counted = np.ones(60)
    counted[40:] = 0.0
    start = np.random.default_rng(3).integers(3, size=60)
    result = run(counts, start, counted=counted)
    alone = run(counts[:40], start[:40])
    assert result.objective == pytest.approx(alone.objective, rel=1e-12)
    assert result.mixture.log_terms == pytest.approx(alone.mixture.log_terms)
    joint = alone.mixture.log_joint(counts)
    assert result.evidence == pytest.approx(np.log(np.exp(joint).sum(axis=1)))


def test_a_run_ends_where_the_objective_settles() -> None:
    counts, group = texts(5)
    result = run(counts, group, tol=1e-3, max_iter=50)
    rises = np.diff(result.objective) / np.abs(result.objective[1:])
    assert result.ended
    assert (rises[:-1] > 1e-3).all()
    assert rises[-1] <= 1e-3
    assert not run(counts, np.arange(60) % 3, tol=0.0, max_iter=2).ended


@pytest.mark.parametrize("sparse", [False, True])
def test_seeds_take_no_row_that_is_empty_or_held_out(sparse: bool) -> None:
    counts = np.zeros((30, 3))
    counts[10:20] = [5, 0, 0]
    counts[20:25] = [0, 9, 0]
    counts[25:] = [0, 0, 2]
    counted = np.ones(30)
    counted[25:] = 0.0
    features = sp.csr_array(counts) if sparse else counts
    starts = seeds(features, 2, counted, np.random.default_rng(0))
    for _ in range(5):
        cluster = next(starts)
        assert len(set(cluster[10:20])) == len(set(cluster[20:25])) == 1
        assert cluster[10] != cluster[20]


def test_the_joint_is_the_literal_one() -> None:
    counts, _ = texts(6, n_points=5)
    rng = np.random.default_rng(7)
    weights, terms = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(8), size=3)
    log_joint = Multinomials(np.log(weights), np.log(terms)).log_joint(counts)
    literal = [[np.log(weights[k] * np.prod(terms[k] ** row)) for k in range(3)] for row in counts]
    assert log_joint == pytest.approx(np.array(literal))
