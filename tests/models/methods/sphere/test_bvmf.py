"""The Bayesian mixture of von Mises-Fisher distributions as a method."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.methods.sphere.bvmf import BVMFParams
from models.numerics import sphere
from models.numerics.sphere import draw_vmf, uniform
from tests.models.methods.sphere.bvmf_kit import INFERENCES, METHOD, SHORT, each_inference, fit
from tests.models.methods.sphere.sphere_kit import mixture
from tests.pairwise_kit import pairwise


@each_inference
@pytest.mark.parametrize("kind", ["float32", "sparse"])
def test_clusters_concentrations_and_their_intervals_are_found(inference: str, kind: str) -> None:
    kappa = [40.0, 80.0, 160.0]
    features, own, _ = mixture((200, 120, 60), 25, kappa, seed=4, upright=True)
    rows: Any = sp.csr_array(features) if kind == "sparse" else features.astype(np.float32)
    fitted = fit(rows, n_clusters=3, inference=inference, names=["a", "b", "c"])
    assert (fitted.tree.leaf_of_point - 1 == own).all()
    assert fitted.tree.name.tolist() == [None, "a", "b", "c"]
    extra = fitted.tree.extra
    assert (extra["kappa_low"][1:] < extra["kappa"][1:]).all()
    assert (extra["kappa"][1:] < extra["kappa_high"][1:]).all()
    assert extra["kappa"][1:] == pytest.approx(kappa, rel=0.15)
    assert fitted.metrics["kappa_median"] == pytest.approx(80.0, rel=0.15)
    assert fitted.warnings == ()


@each_inference
def test_logits_are_the_posterior_predictive(inference: str) -> None:
    features = mixture((50, 40), 8, [15.0, 30.0])[0]
    fitted = fit(features, n_clusters=2, inference=inference, held_out=0.2)
    arrays = fitted.model.arrays
    # By draws of mu and kappa from the posterior.
    rng = np.random.default_rng(0)
    n = 40_000
    joint = np.empty((90, 2))
    for k in range(2):
        mu = draw_vmf(np.tile(arrays["psi"][k], (n, 1)), arrays["gamma"][k], rng)
        kappa = np.exp(arrays["log_mean"][k] + arrays["log_sd"][k] * rng.standard_normal(n))
        log_density = sphere.log_c(8, kappa) + kappa * (features @ mu.T)
        joint[:, k] = logsumexp(log_density, axis=1) - np.log(n) + arrays["log_weights"][k]
    evidence = logsumexp(joint, axis=1)
    assert fitted.point_columns["log_likelihood"] == pytest.approx(evidence, abs=0.15)
    assert np.exp(fitted.logits) == pytest.approx(np.exp(joint - evidence[:, None]), abs=0.03)
    assert (fitted.logits.argmax(axis=1) + 1 == fitted.tree.leaf_of_point).all()
    assert fitted.metrics["held_out_log_likelihood"] == pytest.approx(
        (evidence.sum() - fitted.metrics["log_likelihood"]) / 18, abs=0.5
    )


def test_the_three_inferences_agree_on_few_rows() -> None:
    features = mixture((40, 25), 6, [20.0, 50.0], seed=3, upright=True)[0]
    result = {
        inference: fit(
            features, n_clusters=2, inference=inference, empirical_bayes=False, c0=1.0,
            kappa_median=30.0, burn_in=100, n_samples=600,
        ).model.arrays
        for inference in INFERENCES
    }  # fmt: skip
    exact, grid, bound = (result[one] for one in ("gibbs", *INFERENCES[:2]))
    assert grid["psi"] == pytest.approx(exact["psi"], abs=0.03)
    assert bound["psi"] == pytest.approx(exact["psi"], abs=0.03)
    assert grid["rho"] == pytest.approx(exact["rho"], abs=1.0)
    assert grid["kappa"] == pytest.approx(exact["kappa"], rel=0.12)
    assert grid["log_sd"] == pytest.approx(exact["log_sd"], rel=0.25)
    # The bound takes one part in D - 1, a fifth here.
    assert bound["kappa"] / grid["kappa"] == pytest.approx(0.8, abs=0.05)


def test_a_bound_in_few_dimensions_is_warned_of() -> None:
    features = mixture((40, 30), 5, 30.0)[0]
    text = fit(features, n_clusters=2, inference="variational-bounding").warnings
    assert any("one part in 4" in warning for warning in text)


@pytest.mark.parametrize("inference", INFERENCES[1:])
def test_the_same_seed_gives_the_same_and_threads_change_nothing(inference: str) -> None:
    features = mixture((30, 30), 5, 10.0)[0]
    params = BVMFParams(**{**SHORT, "n_clusters": 2, "inference": inference, "n_init": 4})
    on_one_thread, on_three_threads = (
        METHOD.fit(Data({"features": features}), params, threads=n) for n in (1, 3)
    )
    assert (on_one_thread.logits == on_three_threads.logits).all()
    assert on_one_thread.metrics == on_three_threads.metrics


def test_new_rows_are_placed_and_are_in_sample_or_not() -> None:
    features, _, means = mixture((300, 200), 10, 100.0, seed=1)
    fitted = fit(features, n_clusters=2, held_out=0.3, level=0.9)
    rng = np.random.default_rng(3)
    near = Data({"features": draw_vmf(means[np.zeros(2000, int)], 100.0, rng)})
    result = METHOD.predict(fitted.model, fitted.tree, near)
    assert (result.leaf == fitted.tree.leaves[0]).mean() > 0.99
    assert METHOD.in_sample(fitted.model, near)["in_sample"].mean() == pytest.approx(0.9, abs=0.07)
    far = Data({"features": uniform(2000, 10, rng)})
    assert METHOD.in_sample(fitted.model, far)["in_sample"].mean() < 0.05


def test_sharing_strength_is_likelier_out_of_sample() -> None:
    """With few rows a cluster, own kappas overfit; the prior keeps them (figure 5.1's order)."""
    features = mixture((12,) * 12, 30, 25.0, seed=5)[0]
    out = mixture((300,) * 12, 30, 25.0, seed=5)[0]
    # The same means: the same seed draws them first.
    data = Data({"features": out})
    flat = registry.method("vmf")
    plain = flat.fit(
        Data({"features": features}), flat.Params(n_clusters=12, kappa="own", n_init=3)
    )
    vmf_in_sample = registry.method("vmf").in_sample

    result = fit(features, n_clusters=12, n_init=3)
    ours = METHOD.in_sample(result.model, data)["log_likelihood"].mean()
    assert ours > vmf_in_sample(plain.model, data)["log_likelihood"].mean()


@pytest.mark.parametrize(
    ("inference", "form", "empirical"),
    pairwise(
        INFERENCES,
        list(product(("dirichlet", "stick-breaking"), ("own", "shared"))),
        (True, False),
    ),
)
def test_identical_and_opposite_points_give_no_nan(
    inference: str, form: tuple[str, str], empirical: bool
) -> None:
    weights, kappa = form
    same = np.repeat(np.eye(4)[:3], [5, 4, 3], axis=0)
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    sparse = sp.csr_array(np.eye(30)[np.arange(40) * 7 % 30])
    cases: list[tuple[Any, int]] = [(same, 1), (same, 2), (same, 3), (opposite, 1), (opposite, 4)]
    plain = form == ("dirichlet", "own")
    for features, n_clusters in [*cases[0 if plain else 2 :], (sparse, 6)]:
        fitted = fit(
            features,
            n_clusters=n_clusters,
            inference=inference,
            empirical_bayes=empirical,
            weights=weights,
            kappa=kappa,
            max_iter=12,
            burn_in=20,
            n_samples=5,
        )
        assert np.isfinite(fitted.logits).all()
        assert all(np.isfinite(array).all() for array in fitted.model.arrays.values())
        assert all(np.isfinite(value) for value in fitted.metrics.values())
        # By the bound it is the median that stays below.
        assert fitted.model.arrays["log_mean"].max() <= np.log(1.0001e6)
        if inference != "variational-bounding":
            assert fitted.metrics["kappa_max"] <= 2e6


@pytest.mark.parametrize("inference", INFERENCES[:2])
@pytest.mark.parametrize("empirical", [True, False])
def test_batches_come_to_the_same_posterior(inference: str, empirical: bool) -> None:
    features, own, _ = mixture((500, 300, 200), 25, [40.0, 80.0, 160.0], seed=4, upright=True)
    params = {"n_clusters": 3, "inference": inference, "empirical_bayes": empirical}
    whole, result = fit(features, **params), fit(features, **params, batch_size=200)
    assert (result.tree.leaf_of_point - 1 == own).all()
    assert result.warnings == ()
    for name in ("psi", "kappa", "rho", "log_sd"):
        assert result.model.arrays[name] == pytest.approx(
            whole.model.arrays[name], rel=0.02, abs=1e-3
        )
    for name in ("c0", "kappa_median", "kappa_sigma", "objective"):
        assert result.metrics[name] == pytest.approx(whole.metrics[name], rel=0.02)
    estimates = result.curves["objective_estimate_by_epoch"]
    assert len(estimates) == result.metrics["n_iter"] - 1


def test_the_process_by_batches_is_warned_of() -> None:
    features = mixture((200, 150), 10, 80.0, upright=True)[0]
    fitted = fit(features, n_clusters=5, weights="stick-breaking", batch_size=50)
    assert 2 <= fitted.tree.n_leaves <= 5
    assert any("are not merged" in warning for warning in fitted.warnings)


def test_gibbs_takes_no_batches() -> None:
    with pytest.raises(UsageError, match="leave out 'batch_size'") as caught:
        fit(np.eye(4), n_clusters=2, inference="gibbs", batch_size=2)
    assert caught.value.where == {"parameter": "batch_size"}


def test_one_cluster_leaves_the_priors_unchanged() -> None:
    fitted = fit(mixture((40,), 5, 30.0)[0], n_clusters=1, c0=2.0, kappa_median=7.0)
    assert fitted.metrics["c0"] == 2.0
    assert fitted.metrics["kappa_median"] == pytest.approx(7.0)
    assert any("priors were not estimated" in warning for warning in fitted.warnings)


def test_a_run_that_did_not_converge_is_warned_of() -> None:
    fitted = fit(uniform(200, 5, np.random.default_rng(0)), n_clusters=6, max_iter=2, tol=0.0)
    assert any("max_iter = 2" in warning for warning in fitted.warnings)


@pytest.mark.parametrize(
    ("features", "params", "code"),
    [
        (np.eye(4)[:2], {"n_clusters": 3}, "too-few-points"),
        (np.eye(4)[[0, 0, 0, 1]], {"n_clusters": 3}, "too-few-points"),
        (np.ones((4, 1)), {"n_clusters": 2}, "wrong-shape"),
        (2.0 * np.eye(4), {"n_clusters": 2}, "not-unit"),
        (np.eye(4) * [1, 1, 0, 1], {"n_clusters": 2}, "zero-row"),
        (np.eye(4), {"n_clusters": 4, "held_out": 0.5}, "too-few-points"),
    ],
)
def test_unusable_input_is_named(features: np.ndarray, params: dict[str, Any], code: str) -> None:
    for rows in (features, sp.csr_array(features)):
        with pytest.raises(UsageError) as caught:
            fit(rows, **params)
        assert caught.value.code == code


def test_inputs_too_large_for_memory_are_refused() -> None:
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer clusters"):
        METHOD.check_size({"features": (10**6, 4)}, BVMFParams(n_clusters=1000), 1 << 30)
