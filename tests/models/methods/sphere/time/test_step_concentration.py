"""The estimate of C0, against dense algebra, draws from the joint posterior, and known walks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.inputs.data import Data
from models.methods.sphere.bayes.concentrations import Concentrations
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.time.step_concentration import (
    chain_covariance,
    estimated_c0,
    step_cosines,
)
from models.methods.sphere.time.temporal import TemporalPosterior, WeightPaths
from models.methods.sphere.tvmf import TVMF, TVMFParams, usual_c0
from models.numerics import sphere
from models.numerics.sphere import draw_vmf


@given(st.integers(1, 7), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_covariance_of_a_chain_is_the_inverse(n: int, n_chains: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pull = np.exp(rng.normal(scale=3, size=(n, n_chains)))
    link = np.exp(rng.normal(scale=3, size=(n - 1, n_chains))) * (
        rng.random((n - 1, n_chains)) < 0.8
    )
    variance, covariance = chain_covariance(pull, link)
    for chain in range(n_chains):
        precision = np.diag(pull[:, chain])
        for t in range(n - 1):
            step = np.zeros(n)
            step[[t, t + 1]] = 1.0, -1.0
            precision += link[t, chain] * np.outer(step, step)
        inverse = np.linalg.inv(precision)
        assert variance[:, chain] == pytest.approx(np.diag(inverse), rel=1e-8)
        assert covariance[:, chain] == pytest.approx(np.diag(inverse, 1), rel=1e-8, abs=1e-300)


def posterior(pull: np.ndarray, c0: float) -> TemporalPosterior:
    """q of one cluster whose rows pull the mean of period t by pull[t], (T, D), for given kappa."""
    n_periods, n_features = pull.shape
    field = pull[:, None, :].copy()
    for _ in range(200):
        gamma = np.linalg.norm(field, axis=2)
        psi = field / gamma[..., None]
        mean = sphere.ratio(n_features, gamma)[..., None] * psi
        field = pull[:, None, :].copy()
        field[1:] += c0 * mean[:-1]
        field[:-1] += c0 * mean[1:]
    prior = Priors(1.0, np.eye(n_features)[0], 0.0, 1.0, 1.0)
    walk = WeightPaths.of_precision(np.zeros((n_periods, 1)), np.ones((n_periods, 1)), 1.0, 0.3)
    return TemporalPosterior(
        psi, gamma, Concentrations.at(np.ones(1), n_features, prior), walk, prior, c0
    )


@pytest.mark.parametrize(("n_features", "c0", "rows"), [(3, 20.0, 30.0), (10, 60.0, 25.0)])
def test_cosines_are_those_of_the_joint_posterior(n_features: int, c0: float, rows: float) -> None:
    """Gibbs sampling of the path: each mean given its neighbours is a vMF."""
    rng = np.random.default_rng(4)
    n_periods, n_chains = 5, 4000
    start = np.eye(n_features)[:1]
    path = [start]
    for _ in range(n_periods - 1):
        path.append(draw_vmf(path[-1], c0, rng))
    pull = rows * draw_vmf(np.concatenate(path), rows, rng)
    q = posterior(pull, c0)
    mu = np.repeat(q.psi, n_chains, axis=1)
    for _ in range(60):
        for t in range(n_periods):
            field = np.tile(pull[t], (n_chains, 1))
            field += c0 * (mu[t - 1] if t else 0.0)
            field += c0 * (mu[t + 1] if t + 1 < n_periods else 0.0)
            length = np.linalg.norm(field, axis=1, keepdims=True)
            mu[t] = draw_vmf(field / length, length[:, 0], rng)
    drawn = np.einsum("tkd,tkd->tk", mu[1:], mu[:-1]).mean()
    independent = (
        np.einsum("tkd,tkd->tk", q.psi[1:], q.psi[:-1]) * q.lengths[1:] * q.lengths[:-1]
    ).mean()
    assert step_cosines(q).mean() == pytest.approx(drawn, abs=0.1 * abs(drawn - independent))


def moving(
    n_points: int, n_features: int, n_periods: int, c0: float, kappa: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows of three clusters, their periods, and the C0 that suits the true paths best."""
    rng = np.random.default_rng(0)
    path = [np.linalg.qr(rng.normal(size=(n_features, n_features)))[0][:3]]
    for _ in range(n_periods - 1):
        path.append(draw_vmf(path[-1], c0, rng))
    paths = np.array(path)
    period, own = rng.integers(n_periods, size=n_points), rng.integers(3, size=n_points)
    cosine = np.einsum("tkd,tkd->tk", paths[1:], paths[:-1]).mean()
    rows = draw_vmf(paths[period, own], kappa, rng)
    return rows, period, float(sphere.concentration(n_features, cosine))


@pytest.mark.parametrize(
    ("n_points", "n_features", "n_periods", "c0", "kappa"),
    [
        (1500, 25, 6, 500.0, 375.0),
        (3000, 25, 10, 100.0, 375.0),
        (300, 25, 10, 1000.0, 100.0),
        (1000, 50, 12, 200.0, 200.0),
        (500, 200, 10, 3000.0, 800.0),
    ],
)
def test_the_c0_of_known_walks_is_found(
    n_points: int, n_features: int, n_periods: int, c0: float, kappa: float
) -> None:
    rows, period, best = moving(n_points, n_features, n_periods, c0, kappa)
    params = TVMFParams(n_clusters=3, n_init=1, c0="auto")
    fitted = TVMF().fit(Data({"features": rows, "timestamps": period}), params)
    # 3 (T - 1) steps of D - 1 coordinates tell C0 up to 5 % at the fewest, if paths were known.
    assert fitted.metrics["c0"] == pytest.approx(best, rel=0.1)
    assert fitted.model is not None
    assert fitted.model.facts["c0"] == fitted.metrics["c0"]
    assert fitted.warnings == ()


def test_clusters_that_stand_still_have_the_greatest_c0() -> None:
    q = posterior(np.tile(1e12 * np.eye(4)[0], (3, 1)), 1e9)
    assert estimated_c0(q) > 1e8
    still = replace(q, psi=np.repeat(q.psi[:1], 3, axis=0), gamma=np.full((3, 1), 1e30))
    assert estimated_c0(still) == 1e9


def test_one_period_keeps_the_default() -> None:
    rows = draw_vmf(np.tile(np.eye(10)[:3], (20, 1)), 400.0, np.random.default_rng(0))
    data = Data({"features": rows, "timestamps": np.zeros(60, dtype=np.int64)})
    fitted = TVMF().fit(data, TVMFParams(n_clusters=3, n_init=1, c0="auto"))
    assert fitted.metrics["c0"] == usual_c0(10)
