"""Rows without a label, clustered and learned from by turns.

A first metric is learned from the known rows. Then, round by round, the other rows are clustered in
the transformed space, and the metric is learned again from the known rows and, by a weight that
grows, from these clusters as if they were known. The softmax of an unlabelled row is over the new
clusters only. Each round's metric is the minimum of a convex objective, but the rounds together
have none that they lower.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.8.3 (TCS-GM-UL).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.arrays import Array, Float, Int
from models.methods.labelled.discovery.finding import find
from models.methods.labelled.discovery.mixture import Clusterer
from models.methods.labelled.metric.descent import Loss, MetricFit
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.metrics.flat import ari, contingency
from models.running.progress import Progress, subprogress

RISING_ROUNDS = 5
"""The weight is whole from this round on; before, it grows by the same amount each round."""

MOST_ROUNDS = 10
N_INIT = 10
SAME = 1.0 - 1e-12


class Likelihood(Protocol):
    """Minus a log likelihood of a metric."""

    @property
    def n_columns(self) -> int: ...

    def loss(self, diagonal: bool) -> Loss: ...


@dataclass(frozen=True, slots=True)
class Both:
    """The sum of two likelihoods."""

    first: Likelihood
    second: Likelihood

    @property
    def n_columns(self) -> int:
        return self.first.n_columns

    def loss(self, diagonal: bool) -> Loss:
        return SumLoss(self.first.loss(diagonal), self.second.loss(diagonal))


class SumLoss:
    """The sum of two losses; its image are the values of theirs."""

    def __init__(self, first: Loss, second: Loss) -> None:
        self._losses = first, second
        self._shapes: list[tuple[int, ...]] = []

    def image(self, metric: Float) -> Float:
        images = [loss.image(metric) for loss in self._losses]
        self._shapes = [image.shape for image in images]
        return np.concatenate([image.ravel() for image in images])

    def value(self, image: Float) -> float:
        return sum(loss.value(part) for loss, part in self._parts(image))

    def slope(self, image: Float) -> tuple[float, Float]:
        (one, of_one), (other, of_other) = (loss.slope(part) for loss, part in self._parts(image))
        return one + other, of_one + of_other

    def _parts(self, image: Float) -> list[tuple[Loss, Float]]:
        split = np.split(image, [int(np.prod(self._shapes[0]))])
        return [
            (loss, part.reshape(shape))
            for loss, part, shape in zip(self._losses, split, self._shapes, strict=True)
        ]


Learner = Callable[[Likelihood, Float | None, Progress], MetricFit]
"""From a likelihood, and a metric to start from, to the best metric."""


@dataclass(frozen=True, slots=True)
class RoundsFit:
    """fit : of the last round. agreements : the adjusted Rand index of each round's clusters with
    the round before, from the second round on. warnings : how it ended."""

    fit: MetricFit
    agreements: list[float]
    warnings: tuple[str, ...]


def learn_by_rounds(
    points: Array,
    code: Int,
    n_new: int,
    weight: float,
    *,
    learn: Learner,
    factor: Callable[[Float], Float],
    clusterer: Clusterer,
    may_join: bool,
    rng: np.random.Generator,
    progress: Progress,
) -> RoundsFit:
    """The metric of the last round: once the clusters stay the same under the whole weight, or
    after `MOST_ROUNDS`.

    points : (n_rows, D). code : (n_rows,) the known cluster, -1 for none. weight : of an unlabelled
        row's log-likelihood in the end; a known row's is 1.
    factor : from a metric to L. may_join : whether unlabelled rows may be of known clusters; those
        that are so in a round are not learned from.

    Cost: a round learns once, from the metric before, and runs EM `N_INIT` times.
    """
    known = np.flatnonzero(code >= 0)
    n_known = int(code.max()) + 1
    of_known = ConditionalLikelihood(points[known], code[known], n_known)
    free = np.flatnonzero(code < 0)
    fit = learn(of_known, None, subprogress(progress, 0.0, 0.2))
    cluster_before: Int | None = None
    agreements: list[float] = []
    for number in range(1, MOST_ROUNDS + 1):
        begin, middle, end = (0.2 + 0.8 * (number - 1 + part) / MOST_ROUNDS for part in (0, 0.5, 1))
        matrix = factor(fit.metric)
        if not matrix.size:
            return RoundsFit(fit, agreements, ())
        discovery = find(
            np.asarray(points @ matrix.T.astype(points.dtype)),
            code,
            n_new,
            clusterer=clusterer,
            may_join=may_join,
            n_init=N_INIT,
            rng=rng,
            progress=subprogress(progress, begin, middle),
        )
        cluster = discovery.cluster[free]
        if cluster_before is not None:
            n_all = n_known + n_new
            agreements.append(ari(contingency(cluster, cluster_before, n_all, n_all)) or 0.0)
            if agreements[-1] >= SAME and number > RISING_ROUNDS:
                ending = f"the same from round {number - 1} to {number}"
                return RoundsFit(fit, agreements, (_ended(ending),))
        cluster_before = cluster
        new = free[cluster >= n_known]
        _, code_new = np.unique(cluster[cluster >= n_known], return_inverse=True)
        n_present = int(code_new.max(initial=-1)) + 1
        if n_present < 2:
            ending = f"fewer than two in round {number}, too few to learn from"
            return RoundsFit(fit, agreements, (_ended(ending),))
        share = weight * min(1.0, number / RISING_ROUNDS)
        of_new = ConditionalLikelihood(points[new], code_new, n_present, np.full(new.size, share))
        fit = learn(Both(of_known, of_new), fit.metric, subprogress(progress, middle, end))
    ending = (
        f"still changing after {MOST_ROUNDS} rounds (adjusted Rand index with the round before "
        f"{agreements[-1]:.3f})"
    )
    return RoundsFit(fit, agreements, (_ended(ending),))


def _ended(ending: str) -> str:
    return (
        f"Rows without labels were clustered and learned from by turns; the clusters were {ending}."
    )
