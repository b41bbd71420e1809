"""Mixture of multinomials: clusters of generated texts, likelihoods, choice, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.partitions.multinomial import MultinomialParams
from tests.models.methods.partitions.texts_kit import texts

METHOD = registry.method("multinomial")


def fit(features: Any, names: Any = None, feature_names: Any = None, **params: Any) -> Fitted:
    values = {"features": features, "names": names, "feature_names": feature_names}
    inputs = {role: value for role, value in values.items() if value is not None}
    return METHOD.fit(Data(inputs), MultinomialParams(**params))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint16"])
def test_topics_are_found_and_ordered_by_size(dtype: str, sparse: bool) -> None:
    counts, group = texts(0, 300, 40, 60)
    features = counts.astype(dtype)
    fitted = fit(sp.csr_array(features) if sparse else features, n_clusters=3)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.98
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()
    terms = np.exp(fitted.model.arrays["log_terms"])
    assert terms.sum(axis=1) == pytest.approx(np.ones(3))
    biggest = counts[fitted.tree.leaf_of_point == 1].sum(axis=0)
    assert terms[0] == pytest.approx(biggest / biggest.sum(), abs=0.01)
    assert fitted.warnings == ()


def test_logits_and_likelihood_are_the_models() -> None:
    counts, _ = texts(1)
    fitted = fit(counts, n_clusters=4)
    arrays = fitted.model.arrays
    joint = arrays["log_weights"] + counts @ arrays["log_terms"].T
    evidence = logsumexp(joint, axis=1)
    assert fitted.logits == pytest.approx(joint - evidence[:, None], abs=1e-9)
    assert fitted.metrics["log_likelihood"] == pytest.approx(evidence.sum())
    assert fitted.metrics["perplexity"] == pytest.approx(np.exp(-evidence.sum() / counts.sum()))
    seen = int((counts.sum(axis=0) > 0).sum())
    expected = (4 * seen - 1) * np.log(60) - 2 * evidence.sum()
    assert fitted.metrics["bic"] == pytest.approx(expected)
    new, _ = texts(2, 30)
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": new}))
    logits = METHOD.logits(fitted.model, Data({"features": sp.csr_array(new)}))
    assert (predictions.leaf == logits.argmax(axis=1) + 1).all()
    assert predictions.probability[1::2] == pytest.approx(np.exp(logits.max(axis=1)))


def test_held_out_rows_are_measured_and_placed() -> None:
    counts, group = texts(3, 200, 30, 40)
    fitted = fit(counts, n_clusters=3, held_out=0.25, seed=4)
    out = np.zeros(200, dtype=bool)
    out[np.random.default_rng(4).choice(200, 50, replace=False)] = True
    arrays = fitted.model.arrays
    evidence = logsumexp(arrays["log_weights"] + counts @ arrays["log_terms"].T, axis=1)
    assert fitted.metrics["held_out_log_likelihood"] == pytest.approx(evidence[out].mean())
    assert fitted.metrics["log_likelihood"] == pytest.approx(evidence[~out].sum())
    perplexity = np.exp(-evidence[out].sum() / counts[out].sum())
    assert fitted.metrics["held_out_perplexity"] == pytest.approx(perplexity)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.95


@pytest.mark.parametrize("criterion", ["bic", "held-out"])
def test_the_number_of_clusters_is_chosen(criterion: str) -> None:
    counts, group = texts(5, 300, 12, 80, n_clusters=4)
    fitted = fit(counts, choose=criterion, max_clusters=7, held_out=0.3)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.95
    assert fitted.tree.n_leaves == 4
    name = "bic" if criterion == "bic" else "held_out_log_likelihood"
    curve = dict(fitted.curves[name])
    assert list(curve) == [2, 3, 4, 5, 6, 7]
    assert curve[4] == pytest.approx(fitted.metrics[name])
    if criterion == "held-out":
        assert fitted.metrics["held_out_log_likelihood_standard_error"] > 0


# Three topics of two terms each.
def test_clusters_are_named_by_their_terms() -> None:
    counts = np.repeat(np.kron(np.eye(3, dtype=int), [[3, 2]]), [30, 20, 10], axis=0)
    words = ["goal", "team", "vote", "law", "star", "moon"]
    fitted = fit(counts, feature_names=words, n_clusters=3)
    assert fitted.tree.name.tolist() == [None, "goal, team", "vote, law", "star, moon"]
    assert [one["term"] for one in fitted.model.facts["top_terms"][0]] == ["goal", "team"]
    named = fit(counts, names=["a", "b", "c"], feature_names=words, n_clusters=3)
    assert named.tree.name.tolist() == [None, "a", "b", "c"]


def test_rows_without_counts_get_the_shares_of_the_clusters() -> None:
    counts, _ = texts(6, 100, 30, 40)
    counts[[5, 50]] = 0
    fitted = fit(counts, n_clusters=3)
    assert "2 row(s) hold no count at all, the first is row 5" in fitted.warnings[0]
    shares = np.exp(fitted.model.arrays["log_weights"])
    assert np.exp(fitted.logits[[5, 50]]) == pytest.approx(np.array([shares, shares]))


def test_more_runs_never_give_a_worse_result() -> None:
    counts, _ = texts(7, 80, 6, 10)
    few = fit(counts, n_clusters=5, n_init=1, seed=3)
    many = fit(counts, n_clusters=5, n_init=9, seed=3)

    def objective(fitted: Fitted) -> float:
        return fitted.metrics["log_likelihood"] + 0.1 * fitted.model.arrays["log_terms"].sum()

    assert objective(many) >= objective(few) - 1e-9


def test_a_run_that_did_not_converge_is_warned_of() -> None:
    fitted = fit(texts(8)[0], n_clusters=4, max_iter=1)
    assert any("max_iter = 1" in warning for warning in fitted.warnings)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.ones((2, 3)), {"n_clusters": 3}, "too-few-points", "only 2 point(s)"),
        (np.ones((9, 3)), {"n_clusters": 2}, "too-few-points", "only 1 distinct point(s)"),
        (np.array([[0.0, 1], [2, np.nan]]), {}, "not-finite", "NaN at row 1, column 1"),
        (np.array([[0.0, 1], [-2, 1]]), {}, "not-counts", "-2 at row 1, column 0"),
        (np.array([[0.0, 1], [0.5, 1]]), {}, "not-counts", "0.5 at row 1, column 0"),
        (np.zeros((3, 2)), {}, "not-counts", "every value is 0"),
        (np.ones((3, 0)), {}, "wrong-shape", "no columns"),
        (
            np.eye(4),
            {"n_clusters": 3, "held_out": 0.5},
            "too-few-points",
            "Only 2 of 4 rows",
        ),
        (np.eye(4), {"choose": "held-out"}, "wrong-parameter", "set 'held_out'"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, part: str, sparse: bool
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(sp.csr_array(features) if sparse else features, **{"n_clusters": 1, **params})
    assert caught.value.code == code
    assert part in caught.value.detail


def test_prediction_refuses_values_that_are_no_counts() -> None:
    fitted = fit(texts()[0], n_clusters=3)
    with pytest.raises(UsageError, match="whole numbers"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": np.full((1, 8), 0.5)}))
