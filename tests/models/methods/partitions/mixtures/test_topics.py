"""Topics as arrays: the library's topics restored, bounds by their literal definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln
from sklearn.decomposition import LatentDirichletAllocation

from models.methods.partitions.mixtures.topics import (
    LDAEffort,
    Topics,
    best_topics,
    bounds,
    log_proportions,
    mixtures,
)
from models.running.progress import silent
from tests.models.methods.partitions.texts_kit import texts


def fitted(counts: np.ndarray | sp.csr_array, n_clusters: int = 3, n_init: int = 1) -> Topics:
    effort = LDAEffort(None, None, "batch", 128, n_init, 5)
    return best_topics(counts, n_clusters, effort, np.random.default_rng(0), silent)


@pytest.mark.parametrize("form", ["float32", "float64", "csr"])
def test_a_kept_model_finds_the_topics_that_the_library_does(form: str) -> None:
    counts, _ = texts(0, 50, 12, 30)
    features = sp.csr_array(counts) if form == "csr" else counts.astype(form)
    seed = int(np.random.default_rng(0).integers(2**31))
    library = LatentDirichletAllocation(3, max_iter=5, random_state=seed).fit(features)
    model = fitted(features)
    assert (model.arrays["components"] == library.components_).all()
    assert model.perplexity == library.bound_
    shares = mixtures(features, model.arrays, model.facts)
    expected = library.transform(features, normalize=False)
    np.testing.assert_allclose(shares, expected, rtol=1e-4 if form == "float32" else 1e-9)
    proportions = np.exp(log_proportions(shares.copy()))
    np.testing.assert_allclose(proportions, shares / shares.sum(axis=1, keepdims=True))


def test_topics_in_another_order_are_the_same_to_the_last_bit() -> None:
    counts, _ = texts(1, 40, 10, 25)
    model, order = fitted(counts), np.array([2, 0, 1])
    straight = mixtures(counts, model.arrays, model.facts)
    turned = model.reordered(order)
    assert (mixtures(counts, turned.arrays, turned.facts) == straight[:, order]).all()
    assert (turned.terms == model.terms[order]).all()
    again = turned.reordered(order)
    assert (mixtures(counts, again.arrays, again.facts) == straight[:, order[order]]).all()
    assert turned.share == pytest.approx(model.share[order])
    assert model.terms.sum(axis=1) == pytest.approx(np.ones(3))


def test_a_rows_topics_do_not_depend_on_the_other_rows() -> None:
    counts, _ = texts(2, 30, 10, 25)
    model = fitted(counts)
    together = mixtures(counts, model.arrays, model.facts)
    for row in range(5):
        alone = mixtures(counts[row : row + 1], model.arrays, model.facts)
        assert (alone[0] == together[row]).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_bounds_are_the_variational_ones(sparse: bool) -> None:
    counts, _ = texts(3, 12, 9, 20)
    counts[4] = 0
    model = fitted(counts)
    alpha, components = model.facts["doc_topic_prior"], model.arrays["components"]
    mixture = mixtures(counts, model.arrays, model.facts)
    beta = digamma(components) - digamma(components.sum(axis=1, keepdims=True))
    expected = []
    for row, gamma in zip(counts, mixture, strict=True):
        theta = digamma(gamma) - digamma(gamma.sum())
        value = 0.0
        for term, count in enumerate(row):
            # The best phi for this term is proportional to exp(theta + beta).
            phi = np.exp(theta + beta[:, term])
            phi /= phi.sum()
            value += count * (phi * (theta + beta[:, term] - np.log(phi))).sum()
        value += gammaln(3 * alpha) - 3 * gammaln(alpha) + ((alpha - 1) * theta).sum()
        value -= gammaln(gamma.sum()) - gammaln(gamma).sum() + ((gamma - 1) * theta).sum()
        expected.append(value)
    features = sp.csr_array(counts) if sparse else counts
    assert bounds(features, mixture, model.arrays, model.facts) == pytest.approx(expected)


def test_the_run_with_the_lowest_perplexity_is_chosen() -> None:
    counts, _ = texts(4, 60, 15, 30, n_clusters=5)
    assert fitted(counts, 5, n_init=6).perplexity <= fitted(counts, 5).perplexity
