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
mixture of Gaussians. By default ('auto') regularizer and gamma are chosen by validation on known
clusters held out (`supervision.validation`), among doing nothing, 'identity', 'l2', 'nuclear' and
Fisher discriminants; a warning names the choice. With two or three known clusters nothing is
learned, unless 'regularizer' or 'gamma' is given: there is nothing to validate on. With four to six
these and the shapes below are compared by the agreement of the new clusters that they find
(`supervision.agreement`).

The clusters have one spread in the thesis, which loses what a transformation shows where they are
longer in one direction than in another. By default ('covariance' auto) one spread, one covariance
for all and one for each (`discovery.shapes`) are compared by the same validation, the last two also
on rows as they are; one spread is kept unless another is better by more than the standard error,
and where known clusters are too few for validation. The result's `chosen` says which. BIC is not
used: a covariance undoes any transformation, so that a likelihood favours the directions in which
rows vary, which figure 6.1 shows to be the wrong ones.

`form` 'low-rank' learns L of `rank` rows itself, which is not convex: the best of several starts.
With `use_unlabeled` the rows without a label are clustered and learned from by turns
(`metric.unlabelled`); on generated mixtures that helped 'l2' where few clusters were known, and
mostly cost a little elsewhere.

Other densities (`densities`) are not convex either. L starts as the identity and ends in a local
minimum near it; the objective never rises. 'vmf': rows, measured from their mean, become directions
L x / |L x|, with the concentration `kappa` about each cluster's mean direction, and are clustered
by directions. 'gamma': rows are positive, L >= 0, columns of L x have gamma distributions, and
their logarithms are clustered, since the length of a row of L changes no gamma density (on
generated mixtures that finds far more than clustering L x). There the regularizer is of L:
|L - I|^2 ('identity'), for 'vmf' also that of L'L in 'logdet'; penalties that only shrink L have no
minimum.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.4, §6.8.3, §C.2; Gopal and Yang (2014).
The printed density and gradient lack factors 1/2. Rows are put on one scale first, since 'identity'
is not free of scale. What 'l2' and 'nuclear' leave of A beyond its K - 1 largest eigenvalues, which
is 0 at the minimum, is cut. Cost: O(N K D + D^3) for each of tens to hundreds of steps (densities
other than Gaussian: O(N D^2 + N K D)), then `n_init` runs of EM; 'auto' some twenty candidates on
six to twelve splits of at most 4,000 rows. Memory: a few copies of the rows, O(N K + D^2).

Measured: CPU time as N^0.0 D^0.5 K^0.4, from 4,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from models.arrays import Array, Float, Matrix
from models.inputs.data import Data
from models.method import Checkpoint, Paper, Run, Shapes
from models.methods.labelled.densities import gamma as of_gamma
from models.methods.labelled.densities import low_rank, vmf
from models.methods.labelled.densities.minimum import Effort, LocalMinimum
from models.methods.labelled.discovery.mixture import Clusterer
from models.methods.labelled.discovery.shapes import SHAPES
from models.methods.labelled.metric.descent import MetricFit, RegularizerName, hold, minimize
from models.methods.labelled.metric.fisher import discriminants, of_means
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.methods.labelled.metric.unlabelled import Likelihood, learn_by_rounds
from models.methods.labelled.supervision.agreement import agree
from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.methods.labelled.supervision.tcs_options import TCSParams, check_options
from models.methods.labelled.supervision.transformation import Preparation, factor, prepare
from models.methods.labelled.supervision.validation import (
    FEWEST,
    Candidate,
    Learner,
    choose,
    validate,
)
from models.running.progress import Progress, silent, subprogress

GAMMAS = (1.0, 1e-1, 1e-2, 1e-3)
"""What 'auto' tries, in shares of the number of known rows."""

AUTOMATIC: tuple[RegularizerName, ...] = ("identity", "l2", "nuclear")
ROUGHLY = (1e-3, 300)
"""Tolerance and most steps in validation."""

CAUTIOUS = ("identity", 1e-1)
"""What is learned where nothing can be validated; of another regularizer, with this gamma."""

ENOUGH = 7
"""Known clusters from which validation is better than agreement: with fewer it learns from four or
less."""


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


AGREEING = (
    Setting(None, 0.0),
    Setting("identity", 1e-1),
    Setting("identity", 1e-2),
    Setting("l2", 1e-1),
    Setting("l2", 1e-2),
    Setting("nuclear", 1e-2),
    Setting("fisher", 1e-1),
    Setting("fisher", 1e-3),
)
"""What is compared by agreement, each with every shape of cluster."""


class TCS(LabelledMethod[TCSParams]):
    """See the module's docstring."""

    title = "Transformation-based clustering with supervision"
    paper = Paper("Transformation-based Clustering with Supervision", 2014, "UAI")
    Params = TCSParams
    resumes = True
    example = {"n_clusters": 2, "n_init": 2, "regularizer": "l2", "gamma": 1.0}

    def _check(self, data: Data, params: TCSParams) -> None:
        super()._check(data, params)
        check_options(params)
        if params.density == "gamma":
            of_gamma.require_positive(data.matrix("features"))

    def _memory(self, shapes: Shapes, params: TCSParams) -> int:
        memory = super()._memory(shapes, params)
        if not memory or (params.density == "gaussian" and params.form != "low-rank"):
            return memory
        n_rows, n_columns = shapes["features"]
        if params.density != "gamma":  # which alone is never cut
            n_columns = min(n_columns, 1000)
        # Rows in double precision with their gradients, and what L-BFGS keeps.
        return memory + 56 * n_rows * n_columns + 200 * n_columns**2

    def _prepare(
        self, features: Matrix, params: TCSParams
    ) -> tuple[Preparation, Array, tuple[str, ...]]:
        if params.density == "gamma":
            return prepare(features, None, params.seed, centered=False)
        preparation, points, notes = super()._prepare(features, params)
        if params.density == "vmf":
            vmf.require_directions(points)
            if params.clusterer != "vmf":
                notes = (*notes, "Rows are clustered by their directions, as density 'vmf' asks.")
        return preparation, points, notes

    def _clusterer(self, params: TCSParams) -> Clusterer:
        if params.density == "gaussian":
            return params.clusterer
        return "vmf" if params.density == "vmf" else "log-gmm"

    def _learn(
        self, prepared: Prepared, params: TCSParams, run: Run, progress: Progress
    ) -> Learned:
        known = prepared.known
        settings = self._settings(known, params)
        notes: tuple[str, ...] = ()
        curves: Mapping[str, list[tuple[int, float]]] = {}
        chosen, begin = settings[0], 0.0
        if _by_agreement(known, params):
            return self._agreed(prepared, params, run, progress)
        if len(settings) > 1:
            chosen, notes, curves = self._chosen(known, settings, params, run, progress)
            begin = 0.8
        within = subprogress(progress, begin, 1.0)
        effort = Effort(params.tol, params.max_iter)
        checkpoint = run.checkpoint
        while True:
            if params.use_unlabeled and chosen.regularizer not in (None, "fisher"):
                learned = _learned_by_rounds(
                    prepared, chosen, params, self._clusterer(params), run.rng, within
                )
            else:
                learned = _learned(known, chosen, params, effort, within, checkpoint)
            if learned.matrix.size or len(settings) == 1:
                break
            notes = (*notes, f"With {chosen.name} the transformation is 0, so it was not used.")
            chosen = _weaker(chosen, settings)
            # What is saved is of the setting before.
            checkpoint = Checkpoint()
        if params.use_unlabeled and chosen.regularizer in (None, "fisher"):
            notes = (*notes, f"'use_unlabeled' has no effect with what was chosen ({chosen.name}).")
        learned = replace(
            learned, curves={**curves, **learned.curves}, warnings=(*notes, *learned.warnings)
        )
        return self._shaped(learned, known, chosen, len(settings) > 1, params, run)

    def _agreed(
        self, prepared: Prepared, params: TCSParams, run: Run, progress: Progress
    ) -> Learned:
        """What is learned where validation has too few known clusters."""
        known, clusterer = prepared.known, self._clusterer(params)
        candidates: list[Candidate] = []
        for setting in AGREEING:
            learn = None if setting.regularizer is None else _learner(setting, params)
            candidates += [Candidate(f"{setting.name}, {s}", learn, s) for s in SHAPES]
        within = subprogress(progress, 0.0, 0.8)
        agreement = agree(
            known,
            prepared.free,
            params.n_clusters,
            candidates,
            clusterer,
            run.rng,
            within,
            run.threads,
        )
        best = agreement.best
        setting, covariance = AGREEING[best // len(SHAPES)], candidates[best].covariance
        effort = Effort(params.tol, params.max_iter)
        rest = subprogress(progress, 0.8, 1.0)
        learned = _learned(known, setting, params, effort, rest, run.checkpoint)
        why = (
            f"{known.n_clusters} known clusters are few to validate on ({ENOUGH} are needed): of "
            f"{len(candidates)} ways the one whose new clusters agree most with the others'"
        )
        mean = f"(mean normalized mutual information {agreement.means[best]:.3f})."
        few = int(np.bincount(known.code).min())
        notes = [f"Chosen by agreement: {setting.name}. {why} {mean}"]
        if few < known.points.shape[1]:
            notes.append(
                f"The smallest known cluster has {few} rows in {known.points.shape[1]} columns: "
                "what is learned from so few is worth little, and the new clusters may be no "
                "better than without labels."
            )
        return replace(
            learned,
            covariance=covariance,
            because=f"{why} {mean}",
            curves={
                **learned.curves,
                "agreement_by_candidate": list(enumerate(agreement.means.tolist())),
            },
            warnings=(*notes, *learned.warnings),
        )

    def _shaped(
        self,
        learned: Learned,
        known: KnownClusters,
        setting: Setting,
        is_open: bool,
        params: TCSParams,
        run: Run,
    ) -> Learned:
        """With the clusters' covariance. is_open : whether the transformation may be left out."""
        clusterer = self._clusterer(params)
        if clusterer == "vmf":
            return learned
        if params.covariance != "auto":
            return replace(learned, covariance=params.covariance)
        if known.n_clusters < FEWEST:
            why = (
                f"{known.n_clusters} known clusters are too few to validate on ({FEWEST} are "
                "needed); a likelihood would not see what the known clusters show."
            )
            return replace(learned, because=why)
        learn = None if setting.regularizer is None else _learner(setting, params)
        candidates = [Candidate(shape, learn, shape) for shape in SHAPES]
        if is_open and learn is not None:
            plain = [Candidate(f"{shape}, rows as they are", None, shape) for shape in SHAPES[1:]]
            candidates += plain
        validated = validate(known, candidates, clusterer, run.rng, silent, run.threads)
        means = validated.scores.mean(axis=1).tolist()
        best = candidates[validated.best]
        scores = ", ".join(
            f"{one.name} {mean:.3f}" for one, mean in zip(candidates, means, strict=True)
        )
        why = f"By validation on known clusters (normalized mutual information: {scores})."
        curves = {**learned.curves, "validation_nmi_by_covariance": list(enumerate(means))}
        if best.learn is not learn:
            note = (
                f"Without a transformation, clusters with {best.covariance} covariances were "
                "better on known clusters, so that none was used."
            )
            learned = replace(
                learned,
                matrix=np.eye(known.points.shape[1]),
                warnings=(*learned.warnings, note),
            )
        return replace(learned, covariance=best.covariance, because=why, curves=curves)

    def _settings(self, known: KnownClusters, params: TCSParams) -> list[Setting]:
        """What is compared; one setting where nothing is to be chosen."""
        n_rows = known.code.size
        gammas = GAMMAS if params.gamma == "auto" else (params.gamma / n_rows,)
        regularizer = params.regularizer
        if regularizer == "auto" and params.density != "gaussian":
            regularizer = "identity"
        if regularizer != "auto":
            some = [Setting(regularizer, gamma) for gamma in gammas]
            return some if len(some) == 1 else [Setting(None, 0.0), *some]
        several = [Setting(name, gamma) for name in AUTOMATIC for gamma in gammas]
        # Discriminants mix all columns.
        fisher = [Setting("fisher", gamma) for gamma in gammas if params.form == "full"]
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
        pairs = [(some.regularizer, some.gamma) for some in settings]
        alike = [number for number, (_, gamma) in enumerate(pairs) if gamma == CAUTIOUS[1]]
        cautious = pairs.index(CAUTIOUS) if CAUTIOUS in pairs else [*alike, 1][0]
        if (params.regularizer, params.gamma) == ("auto", "auto") and not params.use_unlabeled:
            # What cannot be validated is as often a loss as a gain.
            cautious = 0
        within = subprogress(progress, 0.0, 0.8)
        clusterer = self._clusterer(params)
        choice = choose(known, candidates, cautious, clusterer, run.rng, within, run.threads)
        return settings[choice.number], choice.warnings, choice.curves


def _by_agreement(known: KnownClusters, params: TCSParams) -> bool:
    """Whether all is left open, and known clusters are few."""
    is_open = (params.density, params.form, params.regularizer, params.gamma, params.covariance)
    return (
        is_open == ("gaussian", "full", "auto", "auto", "auto")
        and FEWEST <= known.n_clusters < ENOUGH
        and params.clusterer == "gmm"
        and params.choose is None
        and not (params.may_join or params.use_unlabeled)
    )


def _weaker(setting: Setting, settings: Sequence[Setting]) -> Setting:
    """The next smaller gamma of the same regularizer; the first setting where there is none."""
    below = [
        other
        for other in settings
        if other.regularizer == setting.regularizer and other.gamma < setting.gamma
    ]
    return max(below, key=lambda other: other.gamma) if below else settings[0]


def _learner(setting: Setting, params: TCSParams) -> Learner:
    def learn(known: KnownClusters) -> Float:
        return _learned(known, setting, params, Effort(*ROUGHLY), silent, Checkpoint()).matrix

    return learn


def _learned(
    known: KnownClusters,
    setting: Setting,
    params: TCSParams,
    effort: Effort,
    progress: Progress,
    checkpoint: Checkpoint,
) -> Learned:
    """What the known clusters alone give."""
    gamma = setting.gamma * known.code.size
    if setting.regularizer is None:
        return Learned(np.eye(known.points.shape[1]))
    if setting.regularizer == "fisher":
        return discriminants(known, of_means(known), gamma)
    if params.density == "gaussian" and params.form != "low-rank":
        likelihood = ConditionalLikelihood(known.points, known.code, known.n_clusters)
        fit = _metric(
            likelihood, setting.regularizer, gamma, params, effort, None, progress, checkpoint
        )
        return _of_metric(fit, gamma, _most_rank(setting.regularizer, known.n_clusters - 1))
    minimum = _local(known, setting.regularizer, gamma, params, effort, progress)
    matrix = minimum.point if minimum.point.ndim == 2 else np.diag(minimum.point)
    if params.form == "low-rank":
        matrix = factor(matrix.T @ matrix)
    return Learned(
        matrix,
        metrics={
            "objective": minimum.objectives[-1],
            "n_iter": float(len(minimum.objectives) - 1),
            "rank": float(matrix.shape[0]),
            "gamma": gamma,
        },
        curves={"objective": list(enumerate(minimum.objectives))},
        warnings=minimum.warnings,
    )


def _metric(
    likelihood: Likelihood,
    regularizer: RegularizerName,
    gamma: float,
    params: TCSParams,
    effort: Effort,
    start: Float | None,
    progress: Progress,
    checkpoint: Checkpoint,
) -> MetricFit:
    """The convex minimum. start : a metric; None: the identity."""
    diagonal = params.form == "diagonal"
    if start is None:
        start = np.ones(likelihood.n_columns) if diagonal else np.eye(likelihood.n_columns)
    return minimize(
        likelihood.loss(diagonal),
        hold(regularizer, diagonal),
        gamma,
        start,
        tol=effort.tol,
        max_iter=effort.max_iter,
        progress=progress,
        checkpoint=checkpoint,
    )


def _most_rank(regularizer: RegularizerName, n_differences: int) -> int | None:
    """The largest rank of the best metric; None: any. n_differences : how many differences of known
    means are independent.

    What is short of the minimum leaves small eigenvalues beyond, at which clustering would look.
    """
    return n_differences if regularizer in ("l2", "nuclear") else None


def _of_metric(fit: MetricFit, gamma: float, most_rank: int | None) -> Learned:
    matrix = _matrix(fit.metric, most_rank)
    return Learned(
        matrix,
        metrics={
            "objective": fit.objectives[-1],
            "bound": fit.bound,
            "n_iter": float(len(fit.objectives) - 1),
            "rank": float(matrix.shape[0]),
            "gamma": gamma,
        },
        curves={"objective": list(enumerate(fit.objectives))},
        warnings=fit.warnings,
    )


def _matrix(metric: Float, most_rank: int | None = None) -> Float:
    """(r, D) L with L'L = A, of a matrix A, which has at most this rank, or of a diagonal."""
    if metric.ndim == 2:
        return factor(metric, most_rank)
    kept = np.flatnonzero(metric > 1e-10 * max(float(metric.max()), 0.0))
    matrix = np.zeros((kept.size, metric.size))
    matrix[np.arange(kept.size), kept] = np.sqrt(metric[kept])
    return matrix


def _learned_by_rounds(
    prepared: Prepared,
    setting: Setting,
    params: TCSParams,
    clusterer: Clusterer,
    rng: np.random.Generator,
    progress: Progress,
) -> Learned:
    """What the known clusters and the rows without a label give."""
    regularizer = setting.regularizer
    assert regularizer is not None
    assert regularizer != "fisher"
    gamma = setting.gamma * prepared.known.code.size
    effort = Effort(params.tol, params.max_iter)

    def learn(likelihood: Likelihood, start: Float | None, within: Progress) -> MetricFit:
        # A round is short, so that a lost fit starts again.
        return _metric(likelihood, regularizer, gamma, params, effort, start, within, Checkpoint())

    rounds = learn_by_rounds(
        prepared.points,
        prepared.labels.code,
        params.n_clusters,
        params.unlabeled_weight,
        learn=learn,
        factor=_matrix,
        clusterer=clusterer,
        may_join=params.may_join,
        rng=rng,
        progress=progress,
    )
    learned = _of_metric(rounds.fit, gamma, None)
    return replace(
        learned,
        curves={**learned.curves, "agreement": list(enumerate(rounds.agreements, 2))},
        warnings=(*learned.warnings, *rounds.warnings),
    )


def _local(
    known: KnownClusters,
    regularizer: RegularizerName,
    gamma: float,
    params: TCSParams,
    effort: Effort,
    progress: Progress,
) -> LocalMinimum:
    """The local minimum of a density or form that is not convex."""
    if params.density == "gamma":
        return of_gamma.fitted(known, gamma, effort, progress)
    if params.density == "vmf":
        diagonal = params.form == "diagonal"
        return vmf.fitted(known, params.kappa, diagonal, regularizer, gamma, effort, progress)
    assert params.rank is not None
    rng = np.random.default_rng(params.seed)
    return low_rank.fitted(known, params.rank, regularizer, gamma, effort, rng, progress)
