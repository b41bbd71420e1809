"""Multinomials and topics by rows: literal passes, the same whoever computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.clusters import row_sums
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.partitions.mixtures import multinomial_rows, topic_rows
from models.methods.partitions.mixtures.multinomial import Multinomials
from tests.models.methods.partitions.mixtures.by_rows_kit import assert_same_whoever_computes
from tests.models.methods.partitions.texts_kit import texts

FORMS = ("dense", "float32", "sparse")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fitted as a whole is next to nothing, and shares are short."""
    for module in (multinomial_rows, topic_rows):
        monkeypatch.setattr(module, "WHOLE", 100)
        monkeypatch.setattr(module, "SAMPLE", 1000)
    monkeypatch.setattr(row_sums, "LEAST_VALUES", 128)


def points(counts: np.ndarray, form: str) -> Any:
    if form == "sparse":
        return sp.csr_array(counts)
    return ArrayRows(counts.astype("float32" if form == "float32" else "int64"))


def some_texts(n_points: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Rows of counts of three groups, and the group of each."""
    rng = np.random.default_rng(0)
    group = rng.choice(3, n_points, p=[0.5, 0.3, 0.2])
    terms = rng.dirichlet(np.full(12, 0.3), size=3)
    return np.stack([rng.multinomial(40, terms[own]) for own in group]), group


@pytest.mark.parametrize("form", FORMS)
def test_a_pass_of_multinomials_is_the_literal_one(form: str) -> None:
    counts, _ = texts(3)
    rng = np.random.default_rng(1)
    weights, terms = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(counts.shape[1]), size=3)
    counted = (np.arange(len(counts)) % 4 > 0).astype(np.uint8)
    mixture = Multinomials(np.log(weights), np.log(terms))
    found = multinomial_rows.sums_of(points(counts, form), mixture, counted, 10, 50)
    size, total, evidence = np.zeros(3), np.zeros_like(terms), 0.0
    for i in range(10, 50):
        joint = np.array([weights[k] * np.prod(terms[k] ** counts[i]) for k in range(3)])
        for k in range(3):
            size[k] += counted[i] * joint[k] / joint.sum()
            total[k] += counted[i] * joint[k] / joint.sum() * counts[i]
        evidence += counted[i] * np.log(joint.sum())
    assert found["size"] == pytest.approx(size)
    assert found["counts"] == pytest.approx(total)
    assert found["evidence"] == pytest.approx([evidence])


@pytest.mark.parametrize("form", FORMS)
def test_a_pass_of_topics_is_the_literal_one(form: str) -> None:
    counts, _ = texts(4)
    components = np.random.default_rng(2).gamma(100.0, 0.01, size=(3, counts.shape[1]))
    counted = (np.arange(len(counts)) % 3 > 0).astype(np.uint8)
    found = topic_rows.sums_of(points(counts, form), components, 0.3, counted, 5, 45)
    word = np.exp(digamma(components) - digamma(components.sum(axis=1, keepdims=True)))
    sums = np.zeros_like(components)
    for i in np.flatnonzero(counted[5:45]) + 5:
        own = np.ones(3)
        for _ in range(topic_rows.ROW_ITER):
            before, theta = own, np.exp(digamma(own) - digamma(own.sum()))
            share = theta[:, None] * word / (theta @ word)
            own = 0.3 + share @ counts[i]
            if np.abs(own - before).mean() < topic_rows.ROW_TOL:
                break
        theta = np.exp(digamma(own) - digamma(own.sum()))
        sums += theta[:, None] * word / (theta @ word) * counts[i]
    assert found["sums"].T * word == pytest.approx(sums, rel=1e-9)


def test_topics_of_rows_and_perplexity_are_the_librarys() -> None:
    """To about 1e-8, as exactly as the library computes the digamma function."""
    counts, _ = texts(5, 50, 12, 30)
    library = LatentDirichletAllocation(3, max_iter=4, random_state=0).fit(counts)
    arrays = {"components": library.components_, "order": np.arange(3)}
    facts = {"doc_topic_prior": library.doc_topic_prior_}
    expected = library.transform(counts, normalize=False)
    for form in FORMS:
        found = topic_rows.mixtures(points(counts, form), arrays, facts)
        np.testing.assert_allclose(found, expected, rtol=1e-7)
    turned = {"components": library.components_[[2, 0, 1]], "order": np.array([2, 0, 1])}
    found = topic_rows.mixtures(points(counts, "dense"), turned, facts)
    np.testing.assert_allclose(found, expected[:, [2, 0, 1]], rtol=1e-7)
    sums = topic_rows.sums_of(
        points(counts, "sparse"), library.components_, library.doc_topic_prior_,
        np.ones(50, dtype=np.uint8), 0, 50,
    )  # fmt: skip
    bound = sums["bound"][0] + topic_rows.topic_bound(
        library.components_, library.topic_word_prior_
    )
    assert np.exp(-bound / counts.sum()) == pytest.approx(library.perplexity(counts))


@pytest.mark.parametrize(("form", "held_out"), [("dense", 0.2), ("sparse", 0.0)])
@pytest.mark.parametrize("name", ["multinomial", "lda"])
@pytest.mark.usefixtures("small")
def test_lost_workers_and_a_lost_fit_change_no_bit(name: str, form: str, held_out: float) -> None:
    method = registry.method(name)
    given = {"tol": 0.0, "max_iter": 6, "n_init": 2} if name == "multinomial" else {"max_iter": 3}
    params = method.Params(n_clusters=3, held_out=held_out, **given)
    counts, group = some_texts()
    fitted = assert_same_whoever_computes(method, Data({"features": points(counts, form)}), params)
    assert any("on a sample of" in text for text in fitted.warnings)
    assert adjusted_rand_score(group, fitted.tree.leaf_of_point) > 0.6


@pytest.mark.parametrize(
    ("name", "choose", "max_iter"),
    [("multinomial", None, 30), ("multinomial", "held-out", 30), ("lda", None, 4)],
)
@pytest.mark.usefixtures("small")
def test_by_rows_as_good_as_whole(
    name: str, choose: str | None, max_iter: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, (counts, _) = registry.method(name), some_texts()
    params = method.Params(
        n_clusters=3, choose=choose, max_clusters=4, held_out=0.2, max_iter=max_iter
    )
    by_rows = method.fit(Data({"features": points(counts, "dense")}), params)
    predicted = method.predict(by_rows.model, by_rows.tree, Data({"features": counts}))
    assert predicted.leaf.tolist() == by_rows.tree.leaf_of_point.tolist()
    monkeypatch.undo()
    whole = method.fit(Data({"features": counts}), params)
    for measure in ("perplexity", "held_out_log_likelihood"):
        assert by_rows.metrics[measure] == pytest.approx(whole.metrics[measure], rel=0.03)


@pytest.mark.parametrize("name", ["multinomial", "lda"])
@pytest.mark.usefixtures("small")
def test_a_negative_count_by_rows_is_named(name: str) -> None:
    counts, _ = some_texts()
    counts[333, 4] = -2
    method = registry.method(name)
    with pytest.raises(UsageError, match="-2 at row 333, column 4"):
        method.fit(Data({"features": ArrayRows(counts)}), method.Params(n_clusters=3))
