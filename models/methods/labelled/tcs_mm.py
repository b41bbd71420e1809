"""Known clusters a better clustering than all others, by a margin; then new ones are found.

With the mean squared distance of a row to its cluster's mean as what makes a clustering bad, A,
semidefinite, minimises gamma |A - I|^2 + slack, such that under A the known clustering of the
labelled rows is better than any other of as many clusters, by the other's loss minus the slack. The
loss is 1 minus the adjusted Rand index. Rows are then multiplied by L, L'L = A, and those that are
not labelled are clustered by a mixture.

Other clusterings are too many to list. Each round takes the A that is best against those found so
far and adds the one that lacks most of all that `n_searches` runs of k-means under it find, and
that moves of single rows make of these; rounds end when none of `THOROUGH` times as many runs lacks
more than `tol`. The worst clustering itself is NP-hard to find: `slack` is that of the worst one
found, so the whole slack is no less, and no more than `slack_bound`, which holds for every
clustering (by eigenvalues; `metric.planes.Clusterings.most_slack`). A warning gives both. By
default ('auto') gamma is chosen by validation on known clusters held out
(`supervision.validation`), doing nothing included.

Source: Gopal, "Large-scale Structured Learning" (2014), §7.3.2. Its constraint lacks the loss and
has the sign of the slack wrong, so that it is unbounded; its C is 1 here, since A depends on
gamma / C alone. Squares are divided by the number of rows, so that gamma does not depend on it.
Rows are put on one scale first. Cost: a round takes `n_searches` runs of k-means on the labelled
rows, O(N K D) a step, and tens of O(D^3 + n D^2) for n rounds so far. Memory: 16 n D^2 bytes.

Measured: CPU time as N^0.2 D^0.0 K^0.4, from 2,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from models.arrays import Float
from models.errors import UsageError
from models.method import Paper, Run, Shapes
from models.methods.labelled.metric.planes import Clusterings, MarginFit, Plane, separate
from models.methods.labelled.supervision.inputs import DiscoveryParams, KnownClusters
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.methods.labelled.supervision.transformation import Subspace, factor, n_kept
from models.methods.labelled.supervision.validation import Candidate, choose
from models.running.progress import Progress, silent, subprogress

GAMMAS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""What 'auto' tries; the first where nothing can be validated.

A is the identity plus <= 1 / (2 gamma) times differences of variances, of rows whose mean variance
of a column is 1."""

THOROUGH = 5
"""How many times `n_searches` runs look for a worse clustering before rounds end."""

ROUGHLY = (3, 1e-2, 20)
"""Searches a round, tolerance and most rounds in validation."""


class TCSMMParams(DiscoveryParams):
    gamma: Annotated[float, Field(gt=0, le=1e12)] | Literal["auto"] = Field(
        "auto",
        description="Weight of the squared distance of the transformation's square A from the "
        "identity, against the slack of the margin. 'auto': chosen by validation on known "
        "clusters, doing nothing included.",
    )
    n_searches: int = Field(
        10,
        ge=1,
        le=1000,
        description="Number of runs of k-means that look for a better clustering in each round; "
        "before the last, five times as many.",
    )
    tol: float = Field(
        1e-3,
        gt=0,
        le=1,
        description="Rounds end when no clustering is found that lacks more than this, in units "
        "of the loss, which is 1 for a clustering drawn by chance.",
    )
    max_iter: int = Field(100, ge=1, le=1000, description="Largest number of rounds.")


class TCSMM(LabelledMethod[TCSMMParams]):
    """See the module's docstring."""

    title = "Max-margin transformation and a mixture"
    paper = Paper("Large-scale Structured Learning", 2014, "section 7.3.2")
    Params = TCSMMParams
    example = {"n_clusters": 2, "n_init": 2, "gamma": 0.1, "n_searches": 2, "max_iter": 10}

    def _memory(self, shapes: Shapes, params: TCSMMParams) -> int:
        rows = super()._memory(shapes, params)
        if not rows:
            return rows
        return rows + 16 * params.max_iter * n_kept(shapes["features"], params.n_components) ** 2

    def _learn(
        self, prepared: Prepared, params: TCSMMParams, run: Run, progress: Progress
    ) -> Learned:
        known = prepared.known
        n_columns = known.points.shape[1]
        notes: tuple[str, ...] = ()
        curves: dict[str, list[tuple[int, float]]] = {}
        if params.gamma == "auto":
            choice = choose(
                known,
                [Candidate("nothing", None), *(_candidate(gamma, run.rng) for gamma in GAMMAS)],
                1,
                params.clusterer,
                run.rng,
                subprogress(progress, 0.0, 0.8),
            )
            if choice.number == 0:
                return Learned(np.eye(n_columns), curves=choice.curves, warnings=choice.warnings)
            gamma, notes, curves = GAMMAS[choice.number - 1], choice.warnings, choice.curves
            progress = subprogress(progress, 0.8, 1.0)
        else:
            gamma = params.gamma
        subspace = Subspace.of(known)
        effort = (params.n_searches, params.tol, params.max_iter)
        within = subspace.within(known)
        fit = _fit(within, gamma, effort, run.rng, progress)
        metric, slack = fit.master.metric, fit.master.slack + max(fit.lacks, 0.0)
        slack_bound = max(slack, Clusterings(within).most_slack(factor(metric), metric))
        matrix = subspace.transformation(fit.master.metric)
        if not matrix.size:
            raise UsageError(
                f"The learned transformation is 0 with 'gamma' {gamma:g}: no other tells the "
                "known clusters better than clusterings that were found; use a larger 'gamma'.",
                code="wrong-parameter",
                parameter="gamma",
            )
        return Learned(
            matrix,
            metrics={
                "objective": fit.master.objective + slack - fit.master.slack,
                "bound": fit.master.bound,
                "slack": slack,
                "slack_bound": slack_bound,
                "n_iter": float(len(fit.planes)),
                "gamma": gamma,
            },
            curves={**curves, "objective": list(enumerate(fit.bounds, 1))},
            warnings=(*notes, *_warnings(fit, slack, slack_bound)),
        )


def _fit(
    known: KnownClusters,
    gamma: float,
    effort: tuple[int, float, int],
    rng: np.random.Generator,
    progress: Progress,
) -> MarginFit:
    clusterings = Clusterings(known)
    n_searches, tol, max_iter = effort

    found: list[Plane] = []

    def oracle(metric: Float) -> Plane:
        transformation = factor(metric)
        slack = max((plane.lacks(metric) for plane in found), default=0.0)
        worst = clusterings.worst(transformation, metric, n_searches, rng)
        if worst.lacks(metric) <= max(slack, 0.0) + tol:
            others = clusterings.worst(transformation, metric, THOROUGH * n_searches, rng)
            worst = max(worst, others, key=lambda plane: plane.lacks(metric))
        found.append(worst)
        return worst

    n_columns = known.points.shape[1]
    return separate(oracle, n_columns, gamma, tol=tol, max_iter=max_iter, progress=progress)


def _candidate(gamma: float, rng: np.random.Generator) -> Candidate:
    def learn(known: KnownClusters) -> Float:
        subspace = Subspace.of(known)
        fit = _fit(subspace.within(known), gamma, ROUGHLY, rng, silent)
        return subspace.transformation(fit.master.metric)

    return Candidate(f"gamma {gamma:g}", learn)


def _warnings(fit: MarginFit, slack: float, slack_bound: float) -> tuple[str, ...]:
    bounds = (
        f"The worst clustering of all cannot be found for certain: it lacks at least {slack:.3g} "
        f"(`slack`), and at most {slack_bound:.3g} (`slack_bound`)."
    )
    if not fit.planes:
        return (
            "Rows are left as they were: under none of the clusterings that were found does the "
            "known one lack its margin.",
            bounds,
        )
    oracle = (
        f"The known clustering has its margin, but for the slack, against {len(fit.planes)} other "
        f"clustering(s) that k-means and moves of rows found. {bounds}"
    )
    if fit.converged:
        return (oracle,)
    return (
        oracle,
        f"Not converged after {len(fit.planes)} rounds: the last clustering found lacked "
        f"{fit.lacks:.2g}. Raise 'max_iter' or 'tol'.",
    )
