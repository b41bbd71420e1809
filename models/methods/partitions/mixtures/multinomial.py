"""A mixture of multinomials, and EM to a mode of its posterior.

p(x) = sum_k pi_k prod_v theta_kv^x_v: the likelihood of a row as a sequence of its terms, without
the multinomial coefficient, which does not depend on parameters. Theta has a Dirichlet prior with
parameters 1 + `smoothing`, and EM climbs to a mode of the posterior: its objective, log-likelihood
plus log prior up to a constant, never falls.

Source: Rigouste, Cappé and Yvon, "Inference and evaluation of the multinomial mixture model for
text clustering" (2007), section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix
from models.clusters.counts import totals
from models.clusters.kmeans import seed_rows
from models.clusters.placing import normalize
from models.inputs.checks import Points, blocks
from models.running.progress import Progress, subprogress

SMALLEST = 1e-300
"""The log share of a cluster that has lost all its rows."""


@dataclass(frozen=True, slots=True)
class Multinomials:
    """Logarithms of the parameters.

    log_weights : (K,) log pi. log_terms : (K, V) log theta.
    """

    log_weights: Float
    log_terms: Float

    def log_joint(self, features: Points, out: Float | None = None) -> Float:
        """(n_points, K) log of weight times likelihood, in `out`. O(stored values times K)."""
        if out is None:
            out = np.empty((features.shape[0], len(self.log_weights)))
        for block, part in blocks(features, len(self.log_weights)):
            out[block] = part.astype(np.float64, copy=False) @ self.log_terms.T
        out += self.log_weights
        return out

    def n_parameters(self, n_terms: int) -> int:
        """The number of free parameters if `n_terms` of the columns hold any count."""
        return len(self.log_weights) * n_terms - 1


@dataclass(frozen=True, slots=True)
class MultinomialEffort:
    """The prior, and the effort of EM. The fields are parameters of `multinomial`."""

    smoothing: float
    n_init: int
    max_iter: int
    tol: float


@dataclass(frozen=True, slots=True)
class MultinomialRun:
    """A run of EM.

    logits : (n_points, K) log responsibilities; evidence : (n_points,) log p(x) of each row.
    objective : after each iteration; it never falls.
    ended : whether it converged.
    """

    mixture: Multinomials
    logits: Float
    evidence: Float
    objective: tuple[float, ...]
    ended: bool


def best_run(
    features: Matrix,
    n_clusters: int,
    counted: Float,
    effort: MultinomialEffort,
    rng: np.random.Generator,
    progress: Progress,
) -> MultinomialRun:
    """The run that ends with the highest objective, of `effort.n_init`.

    features : counts; sparse ones in double precision.
    counted : (n_points,) 1 for rows that are fitted, 0 for those held out.

    O(stored values times K) for each iteration; two matrices (n_points, K).
    """
    best: MultinomialRun | None = None
    starts = seeds(features, n_clusters, counted, rng)
    for run in range(effort.n_init):
        prefix = f"run {run + 1} of {effort.n_init}"
        within = subprogress(progress, run / effort.n_init, (run + 1) / effort.n_init, prefix)
        within(0.0, "drawing seeds")
        ended = climb(features, next(starts), n_clusters, counted, effort, within)
        if best is None or ended.objective[-1] > best.objective[-1]:
            best = ended
    assert best is not None
    return best


def climb(
    features: Matrix,
    cluster: Int,
    n_clusters: int,
    counted: Float,
    effort: MultinomialEffort,
    progress: Progress,
) -> MultinomialRun:
    """EM from given clusters of rows, until the objective rises by less than a share `tol` of
    itself."""
    logits = np.zeros((features.shape[0], n_clusters))
    logits[np.arange(len(cluster)), cluster] = 1.0
    objective: list[float] = []
    while True:
        turn = len(objective)
        progress(turn / effort.max_iter, "fitting", f"iteration {turn + 1}")
        mixture = _maximize(features, logits, counted, effort.smoothing)
        evidence = normalize(mixture.log_joint(features, logits))
        prior = effort.smoothing * float(mixture.log_terms.sum())
        objective.append(float(evidence @ counted) + prior)
        ended = turn > 0 and objective[-1] - objective[-2] <= effort.tol * abs(objective[-1])
        if ended or turn + 1 == effort.max_iter:
            return MultinomialRun(mixture, logits, evidence, tuple(objective), ended)
        np.exp(logits, out=logits)


def _maximize(features: Matrix, part: Float, counted: Float, smoothing: float) -> Multinomials:
    """The mode given the responsibilities (n_points, K), which are overwritten."""
    part *= counted[:, None]
    size = part.sum(axis=0)
    return maximize(size, _weighted(features, part), float(counted.sum()), smoothing)


def maximize(size: Float, counts: Float, n_fitted: float, smoothing: float) -> Multinomials:
    """The mode given sums under the responsibilities.

    size : (K,) of these. counts : (K, V) under them, not changed. n_fitted : number of rows.
    """
    terms = counts + smoothing
    terms /= terms.sum(axis=1, keepdims=True)
    weights = np.maximum(size / n_fitted, SMALLEST)
    return Multinomials(np.log(weights), np.log(terms, out=terms))


def _weighted(features: Matrix, part: Float) -> Float:
    """(K, V) counts of the terms in the clusters, each row divided by its responsibilities."""
    if isinstance(features, sp.csr_array):
        return np.ascontiguousarray((features.T @ part).T)
    out = np.zeros((part.shape[1], features.shape[1]))
    for block, rows in blocks(features, part.shape[1]):
        out += part[block].T @ rows.astype(np.float64, copy=False)
    return out


def seeds(
    features: Matrix, n_clusters: int, counted: Float, rng: np.random.Generator
) -> Iterator[Int]:
    """Endless initial clusters, (n_points,) each: the nearest of k-means++ seeds.

    Rows are compared by the Hellinger distance of their shares of terms. One copy of the features.
    """
    roots = _roots(features)
    weight = counted * (totals(features) > 0)
    if not weight.any():
        weight = counted
    while True:
        chosen = roots[seed_rows(roots, n_clusters, rng, weight)]
        centers = chosen.toarray() if isinstance(chosen, sp.csr_array) else chosen
        cluster = np.empty(features.shape[0], dtype=np.int64)
        for block, part in blocks(roots, n_clusters):
            cluster[block] = np.asarray(part @ centers.T).argmax(axis=1)
        yield cluster


def _roots(features: Matrix) -> Matrix:
    """Square roots of each row's shares, in the features' precision; 0 for rows of zeros."""
    kind = features.dtype if features.dtype in (np.float32, np.float64) else np.dtype(np.float32)
    total = totals(features)
    scale = 1.0 / np.where(total > 0, total, 1.0)
    if isinstance(features, sp.csr_array):
        data = np.repeat(scale, np.diff(features.indptr)) * features.data
        np.sqrt(data, out=data)
        return sp.csr_array(
            (data.astype(kind, copy=False), features.indices, features.indptr), shape=features.shape
        )
    out = features.astype(kind)
    out *= scale[:, None].astype(kind)
    np.sqrt(out, out=out)
    return out
