"""Latent Dirichlet allocation: topics of generated texts, proportions, likelihood held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.partitions.lda import LDAParams
from models.methods.partitions.mixtures.topics import bounds, mixtures
from tests.models.methods.partitions.texts_kit import texts

METHOD = registry.method("lda")


def fit(features: Any, names: Any = None, feature_names: Any = None, **params: Any) -> Fitted:
    values = {"features": features, "names": names, "feature_names": feature_names}
    inputs = {role: value for role, value in values.items() if value is not None}
    return METHOD.fit(Data(inputs), LDAParams(**params))


def mixed(seed: int = 0, n_points: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Texts of 60 terms that mix three topics with ten terms each, and the shares of the topics."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(3, 0.2), size=n_points)
    topics = np.kron(np.eye(3), np.full(10, 0.1))
    return np.array([rng.multinomial(60, one @ topics) for one in share]), share


@pytest.mark.parametrize("form", ["int64", "float32", "csr", "csr-int"])
def test_the_proportions_of_topics_are_found(form: str) -> None:
    counts, share = mixed()
    values = counts.astype("float32" if form in ("float32", "csr") else "int64")
    fitted = fit(sp.csr_array(values) if "csr" in form else values, n_clusters=3)
    shares = np.exp(fitted.logits)
    assert shares.sum(axis=1) == pytest.approx(np.ones(200))
    match = [int(np.argmax([one @ other for other in share.T])) for one in shares.T]
    assert sorted(match) == [0, 1, 2]
    assert np.abs(shares - share[:, match]).mean() < 0.05
    assert (fitted.tree.leaf_of_point - 1 == shares.argmax(axis=1)).all()
    assert (np.diff(fitted.tree.size[1:]) <= 0).all()
    assert fitted.warnings == ()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_new_rows_are_read_as_old_ones_are(dtype: str) -> None:
    counts = mixed(1)[0].astype(dtype)
    fitted = fit(counts, n_clusters=4)
    again = METHOD.logits(fitted.model, Data({"features": counts}))
    assert (again == fitted.logits).all()
    predictions = METHOD.predict(
        fitted.model, fitted.tree, Data({"features": sp.csr_array(counts)})
    )
    assert (predictions.leaf == fitted.tree.leaf_of_point).mean() > 0.99
    assert predictions.probability[1::2] == pytest.approx(
        np.exp(fitted.logits.max(axis=1)), abs=1e-2
    )


def test_held_out_rows_are_measured_and_placed() -> None:
    counts, share = mixed(2)
    fitted = fit(counts, n_clusters=3, held_out=0.2, seed=3)
    out = np.sort(np.random.default_rng(3).choice(200, 40, replace=False))
    model, rows = fitted.model, counts[out].astype(float)
    expected = bounds(rows, mixtures(rows, model.arrays, model.facts), model.arrays, model.facts)
    assert fitted.metrics["held_out_log_likelihood"] == pytest.approx(expected.mean())
    assert fitted.metrics["held_out_perplexity"] == pytest.approx(np.exp(-expected.mean() / 60))
    assert 10 < fitted.metrics["held_out_perplexity"] < 30, "of thirty terms"
    group = share.argmax(axis=1)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.8


def test_the_number_of_topics_is_chosen() -> None:
    counts, _ = texts(5, 300, 20, 80, n_clusters=3)
    fitted = fit(counts, choose="held-out", max_clusters=4, held_out=0.3, n_init=1)
    curve = dict(fitted.curves["held_out_log_likelihood"])
    assert list(curve) == [2, 3, 4]
    assert fitted.metrics["n_clusters"] == max(curve, key=curve.get)
    assert curve[3] > curve[2]
    best = curve[fitted.metrics["n_clusters"]]
    assert fitted.metrics["held_out_log_likelihood"] == pytest.approx(best)


def test_topics_are_named_by_their_terms() -> None:
    counts, _ = mixed()
    words = [f"{kind}{i}" for kind in ("sport", "law", "star") for i in range(10)]
    fitted = fit(counts, feature_names=words, n_clusters=3)
    kinds = []
    for name, top in zip(fitted.tree.name[1:], fitted.model.facts["top_terms"], strict=True):
        terms = [one["term"] for one in top]
        assert name == ", ".join(terms[:3])
        assert len(terms) == 10
        assert len({one.rstrip("0123456789") for one in terms}) == 1
        kinds.append(terms[0].rstrip("0123456789"))
    assert sorted(kinds) == ["law", "sport", "star"]


def test_online_learning_and_priors_are_passed_on() -> None:
    counts, _ = mixed()
    batch = fit(counts, n_clusters=3)
    for params in ({"learning": "online", "batch_size": 50}, {"topic_word_prior": 1.0}):
        changed = fit(counts, n_clusters=3, **params)
        assert not np.allclose(batch.logits, changed.logits)
    assert fit(counts, n_clusters=3, doc_topic_prior=0.9).model.facts["doc_topic_prior"] == 0.9


def test_rows_without_counts_have_equal_shares() -> None:
    counts, _ = mixed()
    counts[[7, 8, 9]] = 0
    fitted = fit(counts, n_clusters=3)
    assert "3 row(s) hold no count at all, the first is row 7" in fitted.warnings[0]
    assert np.exp(fitted.logits[7:10]) == pytest.approx(np.full((3, 3), 1 / 3))
    assert (fitted.tree.leaf_of_point[7:10] == 1).all()
    predictions = METHOD.predict(fitted.model, fitted.tree, Data({"features": counts}))
    assert (predictions.leaf == fitted.tree.leaf_of_point).all()


def test_weights_that_are_no_whole_numbers_are_taken() -> None:
    counts, _ = mixed()
    assert fit(counts * 0.5, n_clusters=3).tree.n_leaves == 3


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.ones((2, 3)), {"n_clusters": 3}, "too-few-points", "only 2 point(s)"),
        (np.ones((9, 3)), {"n_clusters": 2}, "too-few-points", "only 1 distinct point(s)"),
        (np.array([[0.0, 1], [2, np.nan]]), {}, "not-finite", "NaN at row 1, column 1"),
        (np.array([[0.0, 1], [-2, 1]]), {}, "not-counts", "-2 at row 1, column 0"),
        (np.zeros((3, 2)), {}, "not-counts", "every value is 0"),
        (np.ones((3, 0)), {}, "wrong-shape", "no columns"),
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


def test_prediction_refuses_negative_values() -> None:
    fitted = fit(mixed()[0], n_clusters=3)
    with pytest.raises(UsageError, match="-1 at row 0, column 0"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": np.full((1, 30), -1.0)}))
