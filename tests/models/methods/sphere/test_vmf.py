"""Mixture of von Mises-Fisher distributions as a method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from pydantic import ValidationError
from scipy.optimize import brentq
from scipy.special import ive, logsumexp

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.sphere.vmf import VMFParams
from models.numerics.sphere import draw_vmf, uniform
from tests.models.methods.sphere.sphere_kit import mixture

METHOD = registry.method("vmf")


def fit(features: Any, **params: Any) -> Fitted:
    inputs = {"features": features}
    for role in ("names", "feature_names"):
        if role in params:
            inputs[role] = params.pop(role)
    return METHOD.fit(Data(inputs), VMFParams(**params))


def literal_log_joint(features: np.ndarray, arrays: Any) -> np.ndarray:
    """log pi_k C_D(kappa_k) exp(kappa_k mu_k . x) by SciPy's Bessel function."""
    n_features = features.shape[1]
    order = n_features / 2 - 1
    kappa = arrays["kappa"]
    log_i = np.log(ive(order, kappa)) + kappa
    log_c = order * np.log(kappa) - (order + 1) * np.log(2 * np.pi) - log_i
    return arrays["log_weights"] + log_c + kappa * (features @ arrays["means"].T)


# Drawn: two clusters of directions; the larger is cluster 0.
#
#       root
#       /   \
#      0     1
#  east x 3  north x 2
def test_the_drawn_partition() -> None:
    angle = np.radians([90.0, 1.0, 0.0, 88.0, -1.0])
    features = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    fitted = fit(features, n_clusters=2, names=["east", "north"])
    tree = fitted.tree
    assert tree.kind == "partition"
    assert tree.name.tolist() == [None, "east", "north"]
    assert tree.size.tolist() == [5, 3, 2]
    assert tree.leaf_of_point.tolist() == [2, 1, 1, 2, 1]
    assert fitted.model.arrays["means"] == pytest.approx(
        np.array([[1, 0], [np.cos(np.radians(89)), np.sin(np.radians(89))]]), abs=1e-6
    )
    assert tree.extra["kappa"][1:] == pytest.approx(fitted.metrics["kappa_max"])
    assert 0 < tree.extra["kappa"][0] < tree.extra["kappa"][1]


@pytest.mark.parametrize("kappa", ["shared", "own"])
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse", "rows"])
def test_logits_are_the_log_posterior(kind: str, kappa: str) -> None:
    features = mixture((60, 40, 30), 8, 12.0)[0]
    rows: Any = features
    if kind == "float32":
        rows = features = features.astype(np.float32)
    elif kind == "sparse":
        rows = sp.csr_array(features)
    elif kind == "rows":
        rows = ArrayRows(features)
    fitted = fit(rows, n_clusters=3, kappa=kappa, held_out=0.2)
    joint = literal_log_joint(features.astype(np.float64), fitted.model.arrays)
    evidence = logsumexp(joint, axis=1)
    assert fitted.logits == pytest.approx(joint - evidence[:, None], rel=1e-9, abs=1e-8)
    assert (fitted.logits.argmax(axis=1) + 1 == fitted.tree.leaf_of_point).all()
    assert fitted.point_columns["log_likelihood"] == pytest.approx(evidence, rel=1e-9)
    both = fitted.metrics["log_likelihood"] + 26 * fitted.metrics["held_out_log_likelihood"]
    assert both == pytest.approx(evidence.sum(), rel=1e-9)
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("kappa", ["shared", "own"])
def test_clusters_are_found(assignment: str, kappa: str) -> None:
    features, own, _ = mixture((200, 120, 60, 30), 30, 80.0, seed=4, upright=True)
    fitted = fit(features, n_clusters=4, assignment=assignment, kappa=kappa)
    assert (fitted.tree.leaf_of_point - 1 == own).all()
    assert fitted.metrics["kappa_max"] == pytest.approx(80.0, rel=0.2)
    assert fitted.warnings == ()


def test_spherical_k_means_assigns_by_cosine_with_equal_weights() -> None:
    features = uniform(300, 4, np.random.default_rng(0))
    fitted = fit(features, n_clusters=5, assignment="hard")
    means = fitted.model.arrays["means"]
    assert (fitted.tree.leaf_of_point - 1 == (features @ means.T).argmax(axis=1)).all()
    assert np.exp(fitted.model.arrays["log_weights"]) == pytest.approx(0.2)


def test_more_runs_never_give_a_worse_result() -> None:
    features = mixture((20,) * 8, 5, 20.0, seed=6)[0]
    few, many = (fit(features, n_clusters=8, n_init=n).metrics["log_likelihood"] for n in (1, 10))
    assert many >= few - 1e-9


@pytest.mark.parametrize(("choose", "out"), [("bic", 0.0), ("held-out", 0.3)])
def test_the_number_of_clusters_is_right(choose: str, out: float) -> None:
    features = mixture((90, 80, 70, 60), 6, 60.0, seed=8, upright=True)[0]
    fitted = fit(features, choose=choose, max_clusters=7, held_out=out, n_init=3)
    name = "bic" if choose == "bic" else "held_out_log_likelihood"
    curve = dict(fitted.curves[name])
    assert list(curve) == [2, 3, 4, 5, 6, 7]
    assert fitted.tree.n_leaves == 4
    assert fitted.metrics["n_clusters"] == 4
    assert fitted.metrics[name] == pytest.approx(curve[4], rel=1e-6)


def test_new_rows_are_placed_and_are_in_sample_or_not() -> None:
    features, _, means = mixture((300, 200), 10, 100.0, seed=1)
    fitted = fit(features, n_clusters=2, held_out=0.3, level=0.9)
    rng = np.random.default_rng(3)
    near = draw_vmf(means[np.zeros(2000, int)], 100.0, rng)
    far = uniform(2000, 10, rng)
    data = Data({"features": near})
    result = METHOD.predict(fitted.model, fitted.tree, data)
    assert (result.leaf == fitted.tree.leaves[0]).mean() > 0.99
    probability = np.exp(METHOD.logits(fitted.model, data)).max(axis=1)
    assert result.probability.reshape(-1, 2)[:, 1] == pytest.approx(probability)
    inside = METHOD.in_sample(fitted.model, data)
    assert {name: column.tolist() for name, column in result.columns.items()} == {
        name: column.tolist() for name, column in inside.items()
    }
    assert fitted.tree.extra["weight"][1:].sum() == pytest.approx(1.0)
    assert inside["in_sample"].mean() == pytest.approx(0.9, abs=0.07)
    assert METHOD.in_sample(fitted.model, Data({"features": far}))["in_sample"].mean() < 0.05
    assert set(inside) == set(fitted.point_columns)
    assert fitted.model.facts["level"] == 0.9


def test_sparse_rows_give_the_same_and_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    features = np.abs(rng.normal(size=(300, 50))) * (rng.random((300, 50)) < 0.2)
    features[:, :3] += 0.01
    features[:100, 3:10] *= 8
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    dense = fit(features, n_clusters=3)

    def refuse(*args: Any, **more: Any) -> None:
        raise AssertionError("made dense")

    monkeypatch.setattr(sp.csr_array, "todense", refuse)
    result = fit(sp.csr_array(features), n_clusters=3)
    assert (result.tree.leaf_of_point == dense.tree.leaf_of_point).all()
    assert result.logits == pytest.approx(dense.logits, abs=1e-6)


def test_a_cluster_is_named_by_its_distinctive_features() -> None:
    rows = np.zeros((30, 5))
    rows[:20, 0], rows[:20, 1] = 0.8, 0.6
    rows[20:, 3], rows[20:, 4] = 0.6, 0.8
    names = ["cat", "dog", "whale", "tea", "coffee"]
    fitted = fit(rows, n_clusters=2, feature_names=names)
    assert fitted.tree.name.tolist() == [None, "cat, dog", "coffee, tea"]
    top = fitted.model.facts["top_terms"][0]
    assert [one["term"] for one in top] == ["cat", "dog"]
    assert [one["weight"] for one in top] == pytest.approx([0.8, 0.6])


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("kappa", ["shared", "own"])
def test_identical_points_cap_kappa_and_are_warned_of(assignment: str, kappa: str) -> None:
    features = np.repeat(np.eye(4)[:3], [5, 4, 3], axis=0)
    for n_clusters in (1, 2, 3):
        fitted = fit(features, n_clusters=n_clusters, assignment=assignment, kappa=kappa)
        assert np.isfinite(fitted.logits).all()
        assert all(np.isfinite(array).all() for array in fitted.model.arrays.values())
        if n_clusters == 3:
            assert fitted.tree.size.tolist() == [12, 5, 4, 3]
            assert fitted.metrics["kappa_max"] == 1e6
            assert any("'max_kappa' = 1e+06" in warning for warning in fitted.warnings)
    single = fit(np.repeat(np.eye(4)[:1], 6, axis=0), n_clusters=1, kappa=kappa)
    assert any("nearly identical" in warning for warning in single.warnings)


def test_opposite_points_have_no_mean_and_no_nan() -> None:
    features = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    for kappa in ("shared", "own"):
        for assignment in ("soft", "hard"):
            fitted = fit(features, n_clusters=1, kappa=kappa, assignment=assignment)
            assert fitted.metrics["kappa_max"] == pytest.approx(0.0, abs=1e-12)
            assert fitted.metrics["log_likelihood"] == pytest.approx(-4 * np.log(2 * np.pi))


def test_a_run_that_did_not_converge_is_warned_of() -> None:
    features = uniform(400, 5, np.random.default_rng(0))
    fitted = fit(features, n_clusters=9, n_init=1, max_iter=2, tol=0.0)
    assert any("max_iter = 2" in warning for warning in fitted.warnings)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.eye(4)[:2], {"n_clusters": 3}, "too-few-points", "only 2 point(s)"),
        (np.eye(4)[[0, 0, 0, 1]], {"n_clusters": 3}, "too-few-points", "only 2 distinct"),
        (np.ones((4, 1)), {"n_clusters": 2}, "wrong-shape", "at least 2"),
        (2.0 * np.eye(4), {"n_clusters": 2}, "not-unit", "Row 0"),
        (np.eye(4) * [1, 1, 0, 1], {"n_clusters": 2}, "zero-row", "Row 2"),
        (np.eye(4) * [1, np.nan, 1, 1], {"n_clusters": 2}, "not-finite", "NaN at row"),
        (np.eye(4), {"choose": "held-out"}, "wrong-parameter", "no row is"),
        (np.eye(4), {"n_clusters": 4, "held_out": 0.5}, "too-few-points", "2 of 4 rows"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, part: str, sparse: bool
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(sp.csr_array(features) if sparse else features, **params)
    assert caught.value.code == code
    assert part in caught.value.detail


@pytest.mark.parametrize("kind", ["float32", "sparse", "rows"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_batches_come_to_the_same_clusters(assignment: str, kind: str) -> None:
    features, own, _ = mixture((500, 300, 200), 12, 60.0, seed=4, upright=True)
    rows: Any = features.astype(np.float32)
    if kind == "sparse":
        rows = sp.csr_array(features)
    elif kind == "rows":
        rows = ArrayRows(rows)
    params = {"n_clusters": 3, "n_init": 2, "assignment": assignment, "held_out": 0.1}
    whole, result = fit(rows, **params), fit(rows, **params, batch_size=100)
    assert (result.tree.leaf_of_point - 1 == own).all()
    assert result.warnings == ()
    mean = whole.metrics["log_likelihood"] / 900
    assert result.metrics["log_likelihood"] / 900 == pytest.approx(mean, abs=1e-3)
    estimates = result.curves["objective_estimate_by_epoch"]
    assert [epoch for epoch, _ in estimates] == list(range(1, int(result.metrics["n_iter"])))
    assert estimates[-1][1] / 900 == pytest.approx(mean, abs=0.3)
    assert "objective_estimate_by_epoch" not in whole.curves


@pytest.mark.parametrize(("choose", "out"), [("bic", 0.0), ("held-out", 0.3)])
def test_the_number_of_clusters_is_found_by_batches(choose: str, out: float) -> None:
    features = mixture((180, 160, 140, 120), 6, 60.0, seed=8, upright=True)[0]
    fitted = fit(
        features, choose=choose, min_clusters=3, max_clusters=6, held_out=out, n_init=2,
        batch_size=80,
    )  # fmt: skip
    assert fitted.tree.n_leaves == 4
    assert len(fitted.curves["objective_estimate_by_epoch"]) > 1


def test_batches_that_were_stopped_are_warned_of() -> None:
    features = uniform(300, 5, np.random.default_rng(0))
    fitted = fit(features, n_clusters=5, n_init=1, max_iter=1, batch_size=50)
    assert any("max_iter = 1 epochs" in warning for warning in fitted.warnings)
    with pytest.raises(ValidationError):
        VMFParams(batch_size=0)


def test_names_must_be_as_many_as_columns() -> None:
    with pytest.raises(UsageError, match="3 names; 4 are needed"):
        fit(np.eye(4), n_clusters=2, feature_names=["a", "b", "c"])


def test_prediction_refuses_rows_that_are_not_of_unit_length() -> None:
    fitted = fit(np.eye(5), n_clusters=2)
    with pytest.raises(UsageError, match="length 2"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": 2 * np.eye(5)}))


def test_inputs_too_large_for_memory_are_refused() -> None:
    with pytest.raises(UsageError, match=r"GiB.*Ask for fewer clusters"):
        METHOD.check_size({"features": (10**6, 4)}, VMFParams(n_clusters=1000), 1 << 30)


@pytest.mark.parametrize(
    "options", [{}, {"assignment": "hard"}, {"choose": "bic", "max_clusters": 5}]
)
def test_runs_at_once_change_nothing(options: dict[str, Any]) -> None:
    features = mixture((60, 50, 40), 6, 20.0)[0]
    params = VMFParams(n_clusters=3, n_init=5, **options)
    on_one_thread, on_three_threads = (
        METHOD.fit(Data({"features": features}), params, threads=n) for n in (1, 3)
    )
    assert on_one_thread.metrics == on_three_threads.metrics
    assert (on_one_thread.logits == on_three_threads.logits).all()


@pytest.mark.parametrize("kappa", ["shared", "own"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_labels_are_judged_by_the_mixture_that_is_likeliest_for_them(kappa: str, form: Any) -> None:
    rng = np.random.default_rng(5)
    code = np.repeat([0, 1], [40, 60])
    centres = np.repeat(np.eye(4)[:2], [40, 60], axis=0)
    rows = draw_vmf(centres, np.repeat([5.0, 20.0], [40, 60]), rng)
    fitted = fit(form(rows), n_clusters=2, kappa=kappa)
    judged = METHOD.likelihoods(fitted.model, Data({"features": form(rows)}), code)
    sums = np.array([rows[code == cluster].sum(axis=0) for cluster in (0, 1)])
    length = np.linalg.norm(sums, axis=1)

    def concentration(r: float) -> float:
        return float(brentq(lambda k: ive(2.0, k) / ive(1.0, k) - r, 1e-3, 1e4))

    shared = concentration(length.sum() / 100)
    arrays = {
        "log_weights": np.log([0.4, 0.6]),
        "means": sums / length[:, None],
        "kappa": np.array(
            [shared, shared]
            if kappa == "shared"
            else [concentration(length[0] / 40), concentration(length[1] / 60)]
        ),
    }
    expected = logsumexp(literal_log_joint(rows, arrays), axis=1).mean()
    assert judged.labelled == pytest.approx(expected, abs=1e-8)
    assert judged.found == pytest.approx(fitted.metrics["log_likelihood"] / 100, abs=1e-8)
    assert judged.found >= judged.labelled
