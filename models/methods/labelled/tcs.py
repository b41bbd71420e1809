"""The transformation under which a mixture tells the known clusters best; then new ones are found.

With density `gaussian` a row x of known cluster k, whose rows have the mean m_k, has the
probability softmax_k(-(x - m_k)' A (x - m_k) / 2). A, semidefinite, minimises minus the log
likelihood of the known rows plus `gamma` times the `regularizer`: the squared distance from the
identity ('identity') or from 0 ('l2'), the trace ('nuclear'), trace - log det ('logdet'), or the
sum of |A - I| over entries ('l1'). This is convex: the minimum is found whatever the start, up to a
stated bound. x' A x cancels in the softmax, so that the rank of A is at most K - 1 for 'l2' and
'nuclear', that of A - I at most 2 (K - 1) for 'identity', and neither 'identity' nor 'logdet' can
change A in a direction in which the known means do not differ: where clusters spread widely in such
a direction, use 'nuclear' or 'l2'.

Rows are then multiplied by L, L'L = A, and the rows that are not labelled are clustered by a
mixture with one spread for all clusters. By default ('auto') regularizer and gamma are chosen by
validation on known clusters held out (`choosing.validation`), among doing nothing, 'identity',
'l2', 'nuclear' and Fisher discriminants; the choice is told in the warnings.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4; Gopal and Yang (2014). The printed
density and gradient lack factors 1/2. Rows are put on one scale first, since 'identity' is not free
of scale. Cost: O(N K D + D^3) for each of tens to hundreds of steps, then `n_init` runs of EM;
'auto' some twenty candidates on six splits of at most 4,000 rows. Memory: a few copies of the
rows, O(N K + D^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Float
from models.method import Checkpoint, Paper, Run
from models.methods.labelled.choosing.choice import choose
from models.methods.labelled.choosing.validation import Candidate, Learner
from models.methods.labelled.discriminants.fisher import discriminants, of_means
from models.methods.labelled.metric.descent import MetricFit, minimize
from models.methods.labelled.metric.holds import RegularizerName, hold
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.methods.labelled.supervision.inputs import DiscoveryParams
from models.methods.labelled.supervision.known import KnownClusters
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.methods.labelled.supervision.transformation import factor
from models.parameters import MaxIter
from models.progress import Progress, silent, subprogress

GAMMAS = (1e-1, 1e-2, 1e-3, 1e-4)
"""What 'auto' tries, in shares of the number of known rows."""

AUTOMATIC: tuple[RegularizerName, ...] = ("identity", "l2", "nuclear")
ROUGHLY = (1e-3, 300)
"""Tolerance and most steps in validation."""

CAUTIOUS = "identity"
"""What is learned, with the first gamma, where nothing can be validated."""


class TCSParams(DiscoveryParams):
    regularizer: Literal["auto", "identity", "l2", "nuclear", "logdet", "l1"] = Field(
        "auto",
        description="What holds the transformation's square A: its distance from the identity or "
        "from 0 ('l2'), its trace ('nuclear'), trace - log det, or the entries of |A - I| ('l1'). "
        "'auto': chosen by validation on known clusters, doing nothing included.",
    )
    gamma: float | Literal["auto"] = Field(
        "auto",
        description="Weight of the regularizer against the sum of log-likelihoods of known rows. "
        "'auto': chosen by validation on known clusters.",
    )
    form: Literal["full", "diagonal"] = Field(
        "full",
        description="Whether the transformation mixes columns ('full') or stretches each by itself "
        "('diagonal').",
    )
    tol: float = Field(
        1e-6,
        gt=0,
        le=1,
        description="Learning ends when the objective can fall by this share at most.",
    )
    max_iter: MaxIter = 2000


@dataclass(frozen=True, slots=True)
class Setting:
    """How a transformation is learned. gamma : in shares of the number of known rows.

    regularizer : or 'fisher', Fisher discriminants; None: nothing is learned.
    """

    regularizer: RegularizerName | Literal["fisher"] | None
    gamma: float

    @property
    def name(self) -> str:
        return (
            f"{self.regularizer}, gamma {self.gamma:g} per row" if self.regularizer else "nothing"
        )


class TCS(LabelledMethod[TCSParams]):
    """See the module's docstring."""

    title = "Transformation-based clustering with supervision"
    paper = Paper("Transformation-based Clustering with Supervision", 2014, "UAI")
    Params = TCSParams
    resumes = True
    example = {"n_clusters": 2, "n_init": 2, "regularizer": "l2", "gamma": 1.0}

    def _learn(
        self, prepared: Prepared, params: TCSParams, run: Run, progress: Progress
    ) -> Learned:
        known = prepared.known
        settings = self._settings(known, params)
        notes: tuple[str, ...] = ()
        if len(settings) > 1:
            chosen, notes, curves = self._chosen(known, settings, params, run, progress)
        else:
            chosen, curves = settings[0], {}
        if chosen.regularizer is None:
            return Learned(np.eye(known.points.shape[1]), curves=curves, warnings=notes)
        if chosen.regularizer == "fisher":
            learned = discriminants(known, of_means(known), chosen.gamma * known.code.size)
            return Learned(learned.matrix, curves={**curves, **learned.curves}, warnings=notes)
        within = subprogress(progress, 0.8 if len(settings) > 1 else 0.0, 1.0)
        fit = _fit(known, chosen, params, (params.tol, params.max_iter), within, run.checkpoint)
        matrix = _matrix(fit.metric)
        return Learned(
            matrix,
            metrics={
                "objective": fit.objectives[-1],
                "bound": fit.bound,
                "n_iter": float(len(fit.objectives) - 1),
                "rank": float(matrix.shape[0]),
                "gamma": chosen.gamma * known.code.size,
            },
            curves={**curves, "objective": list(enumerate(fit.objectives))},
            warnings=(*notes, *fit.warnings),
        )

    def _settings(self, known: KnownClusters, params: TCSParams) -> list[Setting]:
        """What is compared; one setting where nothing is to be chosen."""
        n_rows = known.code.size
        gammas = GAMMAS if params.gamma == "auto" else (params.gamma / n_rows,)
        if params.regularizer != "auto":
            some = [Setting(params.regularizer, gamma) for gamma in gammas]
            return some if len(some) == 1 else [Setting(None, 0.0), *some]
        several = [Setting(name, gamma) for name in AUTOMATIC for gamma in gammas]
        fisher = [Setting("fisher", gamma) for gamma in gammas]
        return [Setting(None, 0.0), *several, *fisher]

    def _chosen(
        self,
        known: KnownClusters,
        settings: Sequence[Setting],
        params: TCSParams,
        run: Run,
        progress: Progress,
    ) -> tuple[Setting, tuple[str, ...], dict[str, list[tuple[int, float]]]]:
        """The setting to learn by, what to say of it, and the scores by number of setting."""
        candidates = [
            Candidate(some.name, None if some.regularizer is None else _learner(some, params))
            for some in settings
        ]
        names = [some.regularizer for some in settings]
        cautious = names.index(CAUTIOUS) if CAUTIOUS in names else 1
        within = subprogress(progress, 0.0, 0.8)
        choice = choose(known, candidates, cautious, params.clusterer, run.rng, within)
        return settings[choice.number], choice.warnings, choice.curves


def _learner(setting: Setting, params: TCSParams) -> Learner:
    def learn(known: KnownClusters) -> Float:
        if setting.regularizer == "fisher":
            gamma = setting.gamma * known.code.size
            return discriminants(known, of_means(known), gamma).matrix
        fit = _fit(known, setting, params, ROUGHLY, silent, Checkpoint())
        return _matrix(fit.metric)

    return learn


def _fit(
    known: KnownClusters,
    setting: Setting,
    params: TCSParams,
    effort: tuple[float, int],
    progress: Progress,
    checkpoint: Checkpoint,
) -> MetricFit:
    assert setting.regularizer is not None
    assert setting.regularizer != "fisher"
    likelihood = ConditionalLikelihood(known.points, known.code, known.n_clusters)
    n_columns = known.points.shape[1]
    diagonal = params.form == "diagonal"
    tol, max_iter = effort
    return minimize(
        likelihood.of_diagonal if diagonal else likelihood.of_matrix,
        hold(setting.regularizer, diagonal),
        setting.gamma * known.code.size,
        np.ones(n_columns) if diagonal else np.eye(n_columns),
        tol=tol,
        max_iter=max_iter,
        progress=progress,
        checkpoint=checkpoint,
    )


def _matrix(metric: Float) -> Float:
    """(r, D) L with L'L = A, of a matrix A or a diagonal."""
    if metric.ndim == 2:
        return factor(metric)
    kept = np.flatnonzero(metric > 1e-10 * max(float(metric.max()), 0.0))
    matrix = np.zeros((kept.size, metric.size))
    matrix[np.arange(kept.size), kept] = np.sqrt(metric[kept])
    return matrix
