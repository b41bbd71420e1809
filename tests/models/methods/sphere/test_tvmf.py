"""The temporal mixture of von Mises-Fisher distributions as a method."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, softmax

from models import registry
from models.clusters.counts import held_out
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.sphere.tvmf import TVMFParams, usual_c0
from models.numerics import sphere
from models.numerics.sphere import draw_vmf
from tests.models.methods.sphere.sphere_kit import assert_never_falling

METHOD = registry.method("tvmf")
INFERENCES = ["variational-sampling", "variational-bounding"]
SHORT = {"n_init": 1, "max_iter": 60}

each_inference = pytest.mark.parametrize("inference", INFERENCES)


def fit(features: Any, stamps: Any, **params: Any) -> Fitted:
    inputs = {"features": features, "timestamps": stamps}
    for role in ("names", "feature_names"):
        if role in params:
            inputs[role] = params.pop(role)
    return METHOD.fit(Data(inputs), TVMFParams(**{**SHORT, **params}))


def moving(
    n_points: int, n_features: int, n_periods: int, c0: float, seed: int = 0, kappa: float = 15.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(points, the period and the cluster of each, paths (T, 3, D)), the first cluster grows."""
    rng = np.random.default_rng(seed)
    path = [np.linalg.qr(rng.normal(size=(n_features, n_features)))[0][:3]]
    for _ in range(n_periods - 1):
        path.append(draw_vmf(path[-1], c0, rng))
    paths = np.array(path)
    period = rng.integers(n_periods, size=n_points)
    slope = np.linspace(-1.0, 1.0, n_periods)
    weights = softmax(np.stack([1.2 + slope, -slope, 0.2 - slope], axis=1), axis=1)
    own = (rng.random(n_points)[:, None] > weights.cumsum(axis=1)[period]).sum(axis=1)
    return draw_vmf(paths[period, own], kappa * n_features, rng), period, own, paths


@each_inference
@pytest.mark.parametrize("kind", ["float32", "sparse"])
def test_paths_weights_and_turns_are_found(inference: str, kind: str) -> None:
    features, period, own, paths = moving(1500, 25, 6, 500.0)
    rows: Any = sp.csr_array(features) if kind == "sparse" else features.astype(np.float32)
    fitted = fit(rows, period + 2000, c0=500.0, inference=inference, n_clusters=3)
    size = np.bincount(own)
    order = np.argsort(-size)
    rank = np.argsort(order)
    assert (fitted.tree.leaf_of_point - 1 == rank[own]).mean() > 0.995
    arrays, facts = fitted.model.arrays, fitted.model.facts
    truth = paths[:, order]
    assert np.einsum("tkd,tkd->tk", arrays["psi"], truth).min() > 0.97
    counts = np.array([np.bincount(rank[own[period == t]], minlength=3) for t in range(6)])
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert arrays["weights"] == pytest.approx(shares, abs=0.05)
    assert facts["periods"] == ["2000", "2001", "2002", "2003", "2004", "2005"]
    assert facts["rows"] == np.bincount(period).tolist()
    assert facts["weights"] == np.round(arrays["weights"], 6).tolist()
    turn = np.rad2deg(np.arccos(np.einsum("tkd,tkd->tk", arrays["psi"][1:], arrays["psi"][:-1])))
    assert arrays["drift"] == pytest.approx(turn, abs=1e-4)
    assert np.array(facts["drift"]) == pytest.approx(turn, abs=1e-4)
    whole = np.rad2deg(np.arccos(np.einsum("kd,kd->k", arrays["psi"][0], arrays["psi"][-1])))
    assert fitted.tree.extra["drift"][1:] == pytest.approx(whole, abs=1e-4)
    assert arrays["kappa"] == pytest.approx(15.0 * 25, rel=0.12)
    assert fitted.metrics["n_periods"] == 6.0
    assert fitted.warnings == ()
    assert_never_falling(fitted)
    assert json.loads(json.dumps(facts)) == facts


def test_logits_are_the_posterior_predictive_of_each_period() -> None:
    features, period, _, _ = moving(120, 8, 3, 100.0)
    fitted = fit(features, period, c0=100.0, n_clusters=3, held_out=0.2)
    arrays = fitted.model.arrays
    rng = np.random.default_rng(0)
    n = 10_000
    joint = np.empty((120, 3))
    for t in range(3):
        rows = period == t
        for k in range(3):
            mu = draw_vmf(np.tile(arrays["psi"][t, k], (n, 1)), arrays["gamma"][t, k], rng)
            kappa = np.exp(arrays["log_mean"][k] + arrays["log_sd"][k] * rng.standard_normal(n))
            density = sphere.log_c(8, kappa) + kappa * (features[rows] @ mu.T)
            joint[rows, k] = logsumexp(density, axis=1) - np.log(n)
        joint[rows] += np.log(arrays["weights"][t])
    evidence = logsumexp(joint, axis=1)
    near = evidence > -10
    assert near.mean() > 0.9
    assert fitted.point_columns["log_likelihood"][near] == pytest.approx(evidence[near], abs=0.2)
    assert np.exp(fitted.logits) == pytest.approx(np.exp(joint - evidence[:, None]), abs=0.05)
    # Rows are fitted by period, but held out and reported in their own order.
    out = held_out(120, 0.2, np.random.default_rng(0))
    likelihood = fitted.point_columns["log_likelihood"]
    assert fitted.metrics["held_out_log_likelihood"] == pytest.approx(likelihood[out].mean())
    assert fitted.metrics["log_likelihood"] == pytest.approx(likelihood[~out].sum())


def test_the_next_period_is_predicted() -> None:
    features, period, _, _ = moving(1400, 15, 7, 150.0, seed=3)
    before = period < 6
    fitted = fit(features[before], period[before], c0=150.0, n_clusters=3)
    arrays = fitted.model.arrays
    later = Data({"features": features[~before], "timestamps": period[~before]})
    unstamped = Data({"features": features[~before]})
    result = METHOD.logits(fitted.model, later)
    assert (result == METHOD.logits(fitted.model, unstamped)).all()
    # mu of the next period by draws: a step of vMF(., c0) after q's of the last.
    rng = np.random.default_rng(0)
    n = 20_000
    some = features[~before][:40]
    joint = np.empty((40, 3))
    for k in range(3):
        last = draw_vmf(np.tile(arrays["psi"][-1, k], (n, 1)), arrays["gamma"][-1, k], rng)
        mu = draw_vmf(last, 150.0, rng)
        kappa = np.exp(arrays["log_mean"][k] + arrays["log_sd"][k] * rng.standard_normal(n))
        density = sphere.log_c(15, kappa) + kappa * (some @ mu.T)
        joint[:, k] = logsumexp(density, axis=1) - np.log(n)
    joint += np.log(arrays["weights"][-1])
    evidence = logsumexp(joint, axis=1)
    ours = METHOD.in_sample(fitted.model, later)["log_likelihood"]
    assert ours[:40].mean() == pytest.approx(evidence.mean(), abs=0.3)
    # And it is likelier than by clusters that stand still, or by clusters of long ago.
    flat = registry.method("bvmf")
    still = flat.fit(Data({"features": features[before]}), flat.Params(n_clusters=3, n_init=1))
    flat_verdicts = registry.method("bvmf").in_sample

    assert ours.mean() > flat_verdicts(still.model, unstamped)["log_likelihood"].mean() + 1.0
    early = Data({"features": features[~before], "timestamps": np.zeros((~before).sum(), int)})
    assert ours.mean() > METHOD.in_sample(fitted.model, early)["log_likelihood"].mean() + 1.0


def test_order_of_rows_and_kind_of_stamps_do_not_matter() -> None:
    features, period, _, _ = moving(200, 8, 4, 200.0)
    fitted = fit(features, period, n_clusters=3, n_init=2)
    days = np.array([f"2024-05-0{day + 1}" for day in period], dtype=object)
    same = fit(features, days, n_clusters=3, n_init=2)
    assert (fitted.logits == same.logits).all()
    assert same.model.facts["periods"][0] == "2024-05-01T00:00:00Z"
    order = np.argsort(period, kind="stable")
    sorted_rows = fit(features[order], period[order], n_clusters=3, n_init=2)
    assert (fitted.logits[order] == sorted_rows.logits).all()
    bins = fit(features, period / 3, n_periods=4, n_clusters=3, n_init=2)
    assert (fitted.logits == bins.logits).all()
    with pytest.raises(UsageError, match="fitted on times"):
        METHOD.logits(same.model, Data({"features": features, "timestamps": period}))


def test_empty_periods_are_warned_of() -> None:
    features, period, _, _ = moving(200, 6, 4, 200.0)
    kept = period != 2
    fitted = fit(features[kept], period[kept] * 10, n_periods=4, n_clusters=3)
    assert fitted.warnings[0].startswith("1 of 4 periods have no row to fit, the first is 15;")
    assert np.isfinite(fitted.model.arrays["psi"]).all()
    assert fitted.model.facts["rows"][2] == 0


def test_odd_results_are_warned_of() -> None:
    features, period, _, _ = moving(150, 6, 3, 200.0)
    warnings = fit(features, period, n_clusters=3, inference="variational-bounding").warnings
    assert any("one part in 5" in warning for warning in warnings)
    warnings = fit(features, period, n_clusters=6, max_iter=2, tol=0.0).warnings
    assert any("max_iter = 2" in warning for warning in warnings)
    warnings = fit(features, period, n_clusters=1).warnings
    assert any("priors were not estimated" in warning for warning in warnings)


def test_slow_clusters_are_the_default() -> None:
    for n_features in (3, 50, 1000):
        turned = np.rad2deg(np.arccos(sphere.ratio(n_features, usual_c0(n_features))))
        assert turned == pytest.approx(15.0)
    features, period, _, _ = moving(100, 6, 3, 200.0)
    assert fit(features, period, n_clusters=3).metrics["c0"] == pytest.approx(usual_c0(6))


def test_clusters_have_names_and_distinctive_features() -> None:
    features, period, _, paths = moving(300, 5, 3, 2000.0)
    turned = features @ np.linalg.qr(np.vstack([paths[0], np.eye(5)[:2]]).T)[0]
    words = ["a", "b", "c", "d", "e"]
    fitted = fit(turned, period, n_clusters=3, feature_names=words)
    first = [terms[0]["term"] for terms in fitted.model.facts["top_terms"]]
    assert sorted(first) == ["a", "b", "c"]
    named = fit(turned, period, n_clusters=3, names=["p", "q", "r"])
    assert named.tree.name.tolist() == [None, "p", "q", "r"]


@each_inference
@pytest.mark.parametrize("empirical", [True, False])
def test_identical_and_opposite_points_give_no_nan(inference: str, empirical: bool) -> None:
    same = np.repeat(np.eye(4)[:3], [5, 4, 3], axis=0)
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    for features, n_clusters, c0 in (
        (same, 1, 1e9), (same, 3, None), (opposite, 1, None), (opposite, 3, 0.0),
    ):  # fmt: skip
        fitted = fit(
            features,
            np.arange(len(features)) % 3,
            n_clusters=n_clusters,
            inference=inference,
            empirical_bayes=empirical,
            max_iter=6,
            c0=c0,
        )
        assert np.isfinite(fitted.logits).all()
        assert all(np.isfinite(array).all() for array in fitted.model.arrays.values())
        assert all(np.isfinite(value) for value in fitted.metrics.values())


@pytest.mark.parametrize(
    ("features", "stamps", "params", "code", "role"),
    [
        (np.eye(4), np.array(["x"] * 4, dtype=object), {}, "wrong-input", "timestamps"),
        (np.eye(4)[np.arange(2500) % 4], np.arange(2500), {}, "too-large", "timestamps"),
        (np.eye(4)[:2], np.arange(2), {"n_clusters": 3}, "too-few-points", None),
        (np.eye(4)[[0, 0, 0, 1]], np.arange(4), {"n_clusters": 3}, "too-few-points", None),
        (2.0 * np.eye(4), np.arange(4), {}, "not-unit", "features"),
        (np.eye(4), np.arange(4), {"n_clusters": 4, "held_out": 0.5}, "too-few-points", None),
    ],
)  # fmt: skip
def test_unusable_input_is_named(
    features: np.ndarray, stamps: Any, params: dict[str, Any], code: str, role: str | None
) -> None:
    for rows in (features, sp.csr_array(features)):
        with pytest.raises(UsageError) as caught:
            fit(rows, stamps, **{"n_clusters": 2, **params})
        assert caught.value.code == code
        assert caught.value.where.get("role") == role


def test_inputs_too_large_for_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer clusters or periods"):
        METHOD.check_size({"features": (10**6, 4)}, TVMFParams(n_clusters=1000), 1 << 30)
    # Only the stamps determine the number of periods.
    monkeypatch.setattr("models.running.budget.available", lambda: 100_000)
    data = Data({"features": np.eye(99), "timestamps": np.arange(99)})
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer clusters or periods"):
        METHOD._check(data, TVMFParams())
