"""Gaussian mixture: the library's fit, responsibilities by their definition, singular shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.partitions.gmm import GMMParams
from models.methods.partitions.mixtures.gaussian import Covariance

METHOD = registry.method("gmm")
KINDS: tuple[Covariance, ...] = ("full", "tied", "diag", "spherical")


def fit(features: np.ndarray, names: list[str] | None = None, **params: Any) -> Fitted:
    inputs: dict[str, Any] = {"features": features}
    if names is not None:
        inputs["names"] = names
    return METHOD.fit(Data(inputs), GMMParams(**params))


def crosses(seed: int = 0, n_points: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Three long clusters that cross near the origin, of sizes 1 : 2 : 3, and their numbers."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], [n_points // 6, n_points // 3, n_points // 2])
    turn = np.pi * group / 3
    along, across = rng.normal(size=(2, len(group))) * [[6.0], [0.3]]
    x = along * np.cos(turn) - across * np.sin(turn) + 3.0 * group
    y = along * np.sin(turn) + across * np.cos(turn)
    return np.stack([x, y], axis=1), group


def test_long_clusters_are_found_and_ordered_by_size() -> None:
    features, group = crosses()
    fitted = fit(features, ["big", "middle", "small"], n_clusters=3, n_init=5)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.85
    assert fitted.tree.name.tolist() == [None, "big", "middle", "small"]
    assert (np.diff(fitted.tree.size[1:]) < 0).all()
    assert fitted.tree.kind == "partition"
    assert fitted.warnings == ()


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_log_responsibilities(kind: Covariance) -> None:
    features, _ = crosses(1, 120)
    fitted = fit(features, n_clusters=4, covariance=kind)
    arrays = fitted.model.arrays
    joint = []
    for k in range(4):
        spread = arrays["covariances"] if kind == "tied" else arrays["covariances"][k]
        spread = spread if kind in ("full", "tied") else spread * np.eye(2)
        density = multivariate_normal.logpdf(features, arrays["means"][k], spread)
        joint.append(np.log(arrays["weights"][k]) + density)
    evidence = logsumexp(joint, axis=0)
    assert fitted.logits == pytest.approx(np.transpose(joint - evidence), rel=1e-9, abs=1e-9)
    assert fitted.metrics["log_likelihood"] == pytest.approx(evidence.sum())
    assert (fitted.logits.argmax(axis=1) == fitted.tree.leaf_of_point - 1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_scikit_learns_fit(kind: Covariance, dtype: str) -> None:
    features = crosses(2, 300)[0].astype(dtype)
    fitted = fit(features, n_clusters=3, covariance=kind, seed=5)
    seed = int(np.random.default_rng(5).integers(2**31))
    library = GaussianMixture(3, covariance_type=kind, random_state=seed).fit(features)
    # Means that are the same to rounding need not sort the same, so each finds its nearest.
    for name in ("weights", "means"):
        ours, theirs = fitted.model.arrays[name], getattr(library, f"{name}_")
        assert np.sort(ours, axis=0) == pytest.approx(np.sort(theirs, axis=0), rel=1e-6)
    assert fitted.metrics["bic"] == pytest.approx(library.bic(features), rel=1e-5)
    assert fitted.metrics["aic"] == pytest.approx(library.aic(features), rel=1e-5)
    assert adjusted_rand_score(library.predict(features), fitted.tree.leaf_of_point) == 1.0


def test_more_runs_never_give_a_worse_result() -> None:
    features = np.random.default_rng(3).normal(size=(200, 3))
    few = fit(features, n_clusters=5, n_init=1, seed=4).metrics["log_likelihood"]
    many = fit(features, n_clusters=5, n_init=8, seed=4).metrics["log_likelihood"]
    assert many > few - 1e-3 * len(features)


def test_prediction_is_the_largest_responsibility() -> None:
    fitted = fit(crosses()[0], n_clusters=3)
    new = np.random.default_rng(9).normal(size=(20, 2)) * 5
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    logits = METHOD.logits(fitted.model, Data({"features": new}))
    assert np.exp(logits).sum(axis=1) == pytest.approx(np.ones(20))
    assert (predictions.leaf == logits.argmax(axis=1) + 1).all()
    assert predictions.probability.reshape(-1, 2)[:, 1] == pytest.approx(np.exp(logits.max(axis=1)))
    far = METHOD.logits(fitted.model, Data({"features": np.full((1, 2), 1e9)}))
    assert np.isfinite(far).all()


@pytest.mark.parametrize("criterion", ["bic", "silhouette"])
def test_the_number_of_clusters_is_chosen(criterion: str) -> None:
    rng = np.random.default_rng(6)
    group = rng.integers(4, size=400)
    features = rng.normal(size=(400, 2)) + 12.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[group]
    fitted = fit(features, choose=criterion, max_clusters=7, n_init=2)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) == 1.0
    curve = dict(fitted.curves[criterion])
    assert list(curve) == [2, 3, 4, 5, 6, 7]
    assert fitted.metrics[criterion] == pytest.approx(curve[4])
    assert fitted.metrics["n_clusters"] == 4.0


def test_one_long_cluster_is_one_by_bic() -> None:
    rng = np.random.default_rng(7)
    features = rng.normal(size=(300, 2)) @ np.array([[5.0, 4.0], [0.0, 0.5]])
    assert fit(features, choose="bic", min_clusters=1, max_clusters=4).tree.n_leaves == 1


def test_a_singular_covariance_is_refused_or_warned_of() -> None:
    features = np.random.default_rng(8).normal(size=(60, 3))
    features[:, 2] = features[:, 0] - features[:, 1]
    with pytest.raises(UsageError, match="singular with 2 clusters") as caught:
        fit(features * 1e3, n_clusters=2, reg_covar=0.0, covariance="full", n_init=2)
    assert caught.value.code == "singular-covariance"
    fitted = fit(features, n_clusters=2)
    assert any("2 covariance(s) have a direction" in warning for warning in fitted.warnings)
    assert fit(features, n_clusters=2, covariance="diag").warnings == ()


@pytest.mark.parametrize("kind", KINDS)
def test_duplicate_points_and_constant_columns_are_warned_of(kind: Covariance) -> None:
    features = np.repeat(np.array([[0.0, 1.0, 5.0], [3.0, 2.0, 5.0]]), 10, axis=0)
    fitted = fit(features, n_clusters=2, covariance=kind)
    assert fitted.tree.size.tolist() == [20, 10, 10]
    assert any("depends on 'reg_covar'" in warning for warning in fitted.warnings)
    with pytest.raises(UsageError) as caught:
        fit(features, n_clusters=2, covariance=kind, reg_covar=0.0)
    assert caught.value.code == "singular-covariance"


def test_numbers_whose_covariances_are_singular_are_left_out_of_a_choice() -> None:
    corners = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 6, axis=0)
    features = np.concatenate([corners, corners + 40.0])
    fitted = fit(features, choose="bic", max_clusters=5, reg_covar=0.0)
    assert fitted.tree.size.tolist() == [36, 18, 18]
    assert dict(fitted.curves["bic"]).keys() == {2.0}
    assert any("3 number(s) of clusters led to singular" in warning for warning in fitted.warnings)
    with pytest.raises(UsageError) as caught:
        fit(features, choose="bic", min_clusters=3, max_clusters=4, reg_covar=0.0)
    assert caught.value.code == "singular-covariance"


def test_a_run_that_did_not_converge_is_warned_of() -> None:
    features = np.random.default_rng(0).normal(size=(300, 3))
    fitted = fit(features, n_clusters=5, max_iter=1)
    assert any("max_iter = 1" in warning for warning in fitted.warnings)


@pytest.mark.parametrize(
    ("features", "n_clusters", "code", "part"),
    [
        (np.ones((2, 3)), 3, "too-few-points", "only 2 point(s)"),
        (np.ones((1, 3)), 1, "too-few-points", "only 1 point, which has no variance"),
        (np.ones((9, 3)), 2, "too-few-points", "only 1 distinct point(s)"),
        (np.array([[1e200], [0.0]]), 1, "too-large", "would overflow"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, n_clusters: int, code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, n_clusters=n_clusters)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_covariances_that_would_not_fit_are_refused() -> None:
    shapes = {"features": (1000, 4000)}
    with pytest.raises(UsageError, match=r"GiB.*another 'covariance'"):
        METHOD.check_size(shapes, GMMParams(n_clusters=20), 2 << 30)
    METHOD.check_size(shapes, GMMParams(n_clusters=20, covariance="diag"), 2 << 30)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_judged_by_the_mixture_that_is_likeliest_for_them(kind: Covariance) -> None:
    rng = np.random.default_rng(3)
    code = np.repeat([0, 1, 2], [30, 50, 40])
    features = rng.normal(size=(120, 3)) * [1.0, 2.0, 0.5] + 2.0 * code[:, None]
    features[:, 1] += features[:, 0]
    judged = METHOD.likelihoods(
        fit(features, n_clusters=3, covariance=kind, n_init=3).model, Data({"features": features}),
        code,
    )  # fmt: skip
    own = [features[code == cluster] for cluster in range(3)]
    covariances = [np.cov(rows.T, bias=True) for rows in own]
    pooled = sum(len(rows) * one for rows, one in zip(own, covariances, strict=True)) / 120
    joint = []
    for rows, covariance in zip(own, covariances, strict=True):
        used = {
            "full": covariance,
            "tied": pooled,
            "diag": np.diag(np.diag(covariance)),
            "spherical": np.eye(3) * np.diag(covariance).mean(),
        }[kind] + 1e-6 * np.eye(3)
        density = multivariate_normal(rows.mean(axis=0), used)
        joint.append(np.log(len(rows) / 120) + density.logpdf(features))
    assert judged.labelled == pytest.approx(logsumexp(joint, axis=0).mean(), abs=1e-9)
    fitted = fit(features, n_clusters=3, covariance=kind, n_init=3)
    assert judged.found == pytest.approx(fitted.metrics["log_likelihood"] / 120, abs=1e-9)


def test_a_warning_tells_what_the_likelihood_of_labels_is_worth() -> None:
    rng = np.random.default_rng(4)
    features = rng.normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], 30, axis=0)
    fitted, rows = fit(features, n_clusters=2), Data({"features": features})
    same = METHOD.likelihoods(fitted.model, rows, fitted.tree.leaf_of_point - 1)
    assert same.labelled == pytest.approx(same.found, abs=1e-3)
    shuffled = METHOD.likelihoods(fitted.model, rows, rng.permutation(60) % 2)
    assert shuffled.labelled < shuffled.found - 0.5
    assert "more runs will not find them" in shuffled.warnings[-1]
    few = METHOD.likelihoods(fitted.model, rows, np.arange(60) // 2)
    assert "30 classes and the model 2 clusters" in few.warnings[0]
    assert "covariance(s) of labels have a direction" in few.warnings[1]
    assert "ended in a poor optimum" in few.warnings[2]
