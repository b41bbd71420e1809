"""Latent Dirichlet allocation: fitted by scikit-learn, kept as arrays, measured row by row.

A model keeps `components` (K, V), the Dirichlet parameters of the topics in the order of the
clusters; `order` (K,), their numbers in the fit; and the facts `doc_topic_prior`,
`topic_word_prior`. The topics of a row are computed in the order of the fit, so that they are the
same to the last bit each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln, logsumexp

from models.arrays import IN_CACHE, Arrays, Float, Int, Matrix, row_blocks
from models.running.progress import Progress


@dataclass(frozen=True, slots=True)
class LDAEffort:
    """The priors, and the effort of the fit. The fields are parameters of `lda`."""

    doc_topic_prior: float | None
    topic_word_prior: float | None
    learning: Literal["batch", "online"]
    batch_size: int
    n_init: int
    max_iter: int


@dataclass(frozen=True, slots=True)
class Topics:
    """Fitted topics.

    arrays, facts : the content of a model. perplexity : an upper bound for the fitted rows.
    """

    arrays: Arrays
    facts: Mapping[str, Any]
    perplexity: float

    @property
    def terms(self) -> Float:
        """(K, V) mean probabilities of the terms."""
        components: Float = self.arrays["components"].astype(np.float64)
        components /= components.sum(axis=1, keepdims=True)
        return components

    @property
    def share(self) -> Float:
        """(K,) share of the counts that each topic explains."""
        mass = self.arrays["components"].sum(axis=1, dtype=np.float64)
        share: Float = mass / mass.sum()
        return share

    def reordered(self, order: Int) -> Topics:
        """The same with topic `order[k]` as topic k."""
        arrays = {name: np.ascontiguousarray(array[order]) for name, array in self.arrays.items()}
        return Topics(arrays, self.facts, self.perplexity)


def best_topics(
    features: Matrix,
    n_clusters: int,
    effort: LDAEffort,
    rng: np.random.Generator,
    progress: Progress,
) -> Topics:
    """The run with the lowest perplexity, of `effort.n_init`.

    features : counts as `models.inputs.checks.as_floats` gives them.
    """
    from sklearn import config_context
    from sklearn.decomposition import LatentDirichletAllocation

    best: Any = None
    for run in range(effort.n_init):
        progress(run / effort.n_init, "fitting", f"run {run + 1} of {effort.n_init}")
        estimator = LatentDirichletAllocation(
            n_components=n_clusters,
            doc_topic_prior=effort.doc_topic_prior,
            topic_word_prior=effort.topic_word_prior,
            learning_method=effort.learning,
            batch_size=effort.batch_size,
            max_iter=effort.max_iter,
            random_state=int(rng.integers(2**31)),
        )
        with config_context(assume_finite=True):
            estimator.fit(features)
        if best is None or estimator.bound_ < best.bound_:
            best = estimator
    return Topics(
        {"components": best.components_, "order": np.arange(n_clusters)},
        {
            "doc_topic_prior": float(best.doc_topic_prior_),
            "topic_word_prior": float(best.topic_word_prior_),
        },
        float(best.bound_),
    )


def mixtures(features: Matrix, arrays: Arrays, facts: Mapping[str, Any]) -> Float:
    """(n_points, K) Dirichlet parameters of each row's topics, in the order of the clusters.

    A row's parameters do not depend on the other rows.
    """
    from sklearn import config_context
    from sklearn.decomposition import LatentDirichletAllocation

    order = arrays["order"]
    components = np.empty_like(arrays["components"])
    components[order] = arrays["components"]
    estimator = LatentDirichletAllocation(n_components=len(components))
    estimator.components_ = components
    estimator.exp_dirichlet_component_ = np.exp(expected_log(components)).astype(components.dtype)
    estimator.doc_topic_prior_ = facts["doc_topic_prior"]
    estimator.topic_word_prior_ = facts["topic_word_prior"]
    estimator.n_features_in_ = components.shape[1]
    with config_context(assume_finite=True):
        mixture = estimator.transform(features, normalize=False)
    return np.asarray(mixture[:, order], dtype=np.float64)


def log_proportions(mixture: Float) -> Float:
    """(n_points, K) logarithms of the mean proportions; overwrites the Dirichlet parameters."""
    mixture /= mixture.sum(axis=1, keepdims=True)
    return np.log(mixture, out=mixture)


def bounds(features: Matrix, mixture: Float, arrays: Arrays, facts: Mapping[str, Any]) -> Float:
    """(n_points,) lower bound of each row's log-likelihood, in nats.

    The row counts as a sequence of its counts, without the multinomial coefficient. Source: the
    terms of equation 16 of Hoffman, Blei and Bach, "Online Learning for Latent Dirichlet
    Allocation" (2010). O(S K) for S stored values.
    """
    prior, n_topics = facts["doc_topic_prior"], mixture.shape[1]
    theta = expected_log(mixture)
    beta = np.ascontiguousarray(expected_log(arrays["components"].astype(np.float64)).T)
    total = mixture.sum(axis=1)
    out: Float = ((prior - mixture) * theta + gammaln(mixture) - gammaln(prior)).sum(axis=1)
    out += gammaln(n_topics * prior) - gammaln(total)
    rows = sp.csr_array(features)
    for block in row_blocks(rows.shape[0], n_topics * (rows.nnz // rows.shape[0] + 1), IN_CACHE):
        part = rows[block].tocoo()
        each = logsumexp(theta[block][part.row] + beta[part.col], axis=1) * part.data
        out[block] += np.bincount(part.row, each, minlength=part.shape[0])
    return out


def expected_log(parameters: Float) -> Float:
    """E[log p] of each row's Dirichlet distribution."""
    total = parameters.sum(axis=1, keepdims=True)
    expected: Float = digamma(parameters) - digamma(total)
    return expected
