"""Known clusters made separable: the least change of distances that does it; then new ones are
found.

A, semidefinite, is the nearest to the identity for which every two known clusters are separable:
(m_i - m_j)' A (m_i - m_j) >= gamma (tr(A C_i) + tr(A C_j)), m their means, C their covariances (0
for a single row). Rows are then multiplied by L, L'L = A, and those that are not labelled are
clustered by a mixture.

Up to some gamma the identity does, and nothing changes: the least over pairs of |m_i - m_j|^2 / (tr
C_i + tr C_j), given as `least_separation`. Above some other nothing but A = 0 does; since the
constraints make a cone, A is then 0 at once, and else its trace is at least 1. Such a gamma is
refused. Where the two lie depends on the number of columns and on how clusters overlap, so that no
one number suits all data: by default ('auto') gamma is chosen by validation on known clusters held
out (`supervision.validation`) among multiples of `least_separation` and doing nothing. Below four
known clusters it is twice that.

Source: Gopal, "Large-scale Structured Learning" (2014), §6.5. Rows are put on one scale first,
since the distance from the identity is not free of scale. Directions in which known rows do not
differ are left as they are, exactly. Cost: O(N D^2), then the solver's (`metric.nearest`):
with 10 known clusters and 30, 60, 90 columns 'clarabel', an interior-point method, takes 0.2, 3 and
16 seconds, 'scs' at most 0.5 and 'dual' 0.02. 'auto' compares candidates by 'dual'. Memory:
O(K D^2), for 'clarabel' 16 D^4 bytes.

Measured: CPU time as N^0.0 D^0.4 K^0.2, from 4,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from models.arrays import Float
from models.method import Paper, Run, Shapes
from models.methods.labelled.metric.nearest import Moments, PairConstraints, nearest
from models.methods.labelled.supervision.inputs import DiscoveryParams, KnownClusters
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.methods.labelled.supervision.transformation import Subspace, n_kept
from models.methods.labelled.supervision.validation import Candidate, choose
from models.running.budget import Cost
from models.running.progress import Progress, silent, subprogress

MOST_STEPS_ROUGHLY = 300
"""The most steps of the dual, in validation."""

ACTIVE = 1e-6
"""Multipliers above this mark active constraints."""

MULTIPLES = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""What 'auto' tries, in multiples of the gamma up to which nothing changes."""


class TCSCSParams(DiscoveryParams):
    gamma: Annotated[float, Field(gt=0, le=1e12)] | Literal["auto"] = Field(
        "auto",
        description="How separable known clusters must be: the least squared distance of two "
        "means, in multiples of the sum of both clusters' variances over columns. 'auto': chosen "
        "by validation on known clusters, doing nothing included.",
    )
    solver: Literal["dual", "clarabel", "scs"] = Field(
        "dual",
        description="What finds the transformation: quasi-Newton steps on the dual ('dual', the "
        "quickest), an interior-point method ('clarabel', precise, slow above some 50 columns), or "
        "operator splitting ('scs').",
    )


class TCSCS(LabelledMethod[TCSCSParams]):
    """See the module's docstring."""

    title = "Cluster separability criterion and a mixture"
    paper = Paper("Large-scale Structured Learning", 2014, "section 6.5")
    Params = TCSCSParams
    cost = Cost(1e-5, times=("n_init",), start=0.7)
    advice = (
        "Use another 'solver' than clarabel, a sample of the rows, or cut them to fewer columns "
        "('n_components')."
    )
    needs_of_values = {"solver": {"clarabel": ("cvxpy", "clarabel"), "scs": ("cvxpy",)}}
    example = {"n_clusters": 2, "n_init": 2, "gamma": 4.0}

    def _memory(self, shapes: Shapes, params: TCSCSParams) -> int:
        rows = super()._memory(shapes, params)
        if params.solver != "clarabel" or not rows:
            return rows
        return rows + 16 * n_kept(shapes["features"], params.n_components) ** 4

    def _learn(
        self, prepared: Prepared, params: TCSCSParams, run: Run, progress: Progress
    ) -> Learned:
        known = prepared.known
        least = Moments.of(known).least_separation
        if least in (0.0, np.inf) and params.gamma == "auto":
            reason = "Two have the same mean" if least == 0.0 else "Their rows do not spread"
            message = f"{reason}, so no 'gamma' could be tried: rows are left as they were."
            return Learned(np.eye(known.points.shape[1]), warnings=(message,))
        if params.gamma == "auto":
            gammas = (0.0, *_possible(known, [multiple * least for multiple in MULTIPLES]))
            choice = choose(
                known,
                [Candidate("nothing", None), *map(_candidate, gammas[1:])],
                min(1, len(gammas) - 1),
                params.clusterer,
                run.rng,
                subprogress(progress, 0.0, 0.8),
            )
            gamma, notes, curves = gammas[choice.number], choice.warnings, choice.curves
            progress = subprogress(progress, 0.8, 1.0)
        else:
            gamma, notes, curves = params.gamma, (), {}
        subspace = Subspace.of(known)
        solution = nearest(_pairs(known, subspace, gamma), params.solver, progress)
        return Learned(
            subspace.transformation(solution.metric),
            metrics={
                "objective": solution.objective,
                "bound": solution.bound,
                "violation": solution.violation,
                "trace": float(np.trace(solution.metric)),
                "n_active": float(np.count_nonzero(solution.multipliers > ACTIVE)),
                "gamma": gamma,
                **({"least_separation": least} if np.isfinite(least) else {}),
            },
            curves=curves,
            warnings=(*notes, *solution.warnings),
        )


def _pairs(known: KnownClusters, subspace: Subspace, gamma: float) -> PairConstraints:
    return PairConstraints(Moments.of(subspace.within(known)), gamma)


def _possible(known: KnownClusters, gammas: Sequence[float]) -> list[float]:
    """The rising gammas for which A is not 0."""
    subspace = Subspace.of(known)
    possible: list[float] = []
    for gamma in gammas:
        solution = nearest(_pairs(known, subspace, gamma), "dual", silent, MOST_STEPS_ROUGHLY)
        if not solution.metric.any():
            break
        possible.append(gamma)
    return possible


def _candidate(gamma: float) -> Candidate:
    def learn(known: KnownClusters) -> Float:
        subspace = Subspace.of(known)
        solution = nearest(_pairs(known, subspace, gamma), "dual", silent, MOST_STEPS_ROUGHLY)
        return subspace.transformation(solution.metric)

    return Candidate(f"gamma {gamma:.4g}", learn)
