"""Probabilistic clustering with constraints: one metric that draws known clusters' rows together.

The metric A minimises tr(A M) - log det A. M holds mean squares and products of differences between
known rows, near ones less far ones: tr(A M) is the mean squared distance, under A, of known rows
from their cluster's mean, plus that of pairs of rows in one known cluster, less `cross_weight`
times that of pairs across clusters. Each of the three is a mean, so that it does not depend on the
number of rows. Where M is positive definite the minimum is A = M^-1. Where it is not, as clusters
are far apart, there is none: the smallest multiple of the identity is added to M that raises its
least eigenvalue to `floor`, and a warning says so. A direction is thus stretched by 1 / sqrt(floor)
at most.

Rows are then multiplied by L, L'L = A, and the rows that are not labelled are clustered by a
mixture in the transformed space.

Source: Bilenko, Basu and Mooney, "Integrating Constraints and Metric Learning in Semi-supervised
Clustering" (2004); Gopal, "Large-scale Structured Learning" (2014), §6.6.1, which prints sums
without log det: linear in A, so that the best is 0 or without bound. Rows are put on one scale
first, so that the mean variance of a column is 1. Cost: O(N D^2 + D^3), then `n_init` runs of EM.

Measured: CPU time as N^0.5 D^0.1 K^0.2, from 4,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from models.arrays import Float
from models.method import Paper, Run
from models.methods.labelled.supervision.inputs import DiscoveryParams, KnownClusters
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.methods.labelled.supervision.transformation import factor
from models.running.budget import Cost
from models.running.progress import Progress


def pair_scatter(known: KnownClusters, cross_weight: float) -> Float:
    """(D, D) M: the mean of (x - m)(x - m)' over rows x and their cluster's mean m, and of
    (x - y)(x - y)' over pairs in one cluster, less `cross_weight` times that over pairs across.

    Pairs are summed by moments: n times the squares and products about the mean of n rows equal the
    sum over their pairs. O(N D^2).
    """
    points = known.points.astype(np.float64)
    size, n_rows = known.size, known.code.size
    away = points - known.means[known.code]
    within = away.T @ away
    same = away.T @ (away * size[known.code, None])
    points -= points.mean(axis=0)
    cross = n_rows * (points.T @ points) - same
    n_same = float((size * (size - 1)).sum()) / 2.0
    n_cross = n_rows * (n_rows - 1) / 2.0 - n_same
    scatter: Float = within / n_rows + same / n_same - cross_weight / n_cross * cross
    return scatter


class PCCParams(DiscoveryParams):
    cross_weight: float = Field(
        1.0, ge=0, le=1e6, description="Weight of pairs of rows of different known clusters."
    )
    floor: float = Field(
        1e-3,
        gt=0,
        le=1e6,
        description="The least eigenvalue that M may have, in mean variances of a column; a "
        "multiple of the identity raises M to it.",
    )


class PCC(LabelledMethod[PCCParams]):
    """See the module's docstring."""

    title = "A metric of pairs in closed form and a mixture"
    paper = Paper(
        "Integrating Constraints and Metric Learning in Semi-supervised Clustering", 2004, "ICML"
    )
    Params = PCCParams
    cost = Cost(1e-5, times=("n_init",), start=0.1)
    example = {"n_clusters": 2, "n_init": 2}

    def _learn(
        self, prepared: Prepared, params: PCCParams, run: Run, progress: Progress
    ) -> Learned:
        scatter = pair_scatter(prepared.known, params.cross_weight)
        eigenvalues, vectors = np.linalg.eigh(scatter)
        least = float(eigenvalues[0])
        shift = max(0.0, params.floor - least)
        eigenvalues += shift
        return Learned(
            factor((vectors / eigenvalues) @ vectors.T),
            metrics={
                "objective": eigenvalues.size + float(np.log(eigenvalues).sum()),
                "shift": shift,
            },
            warnings=_shifted(least, shift, params.floor),
        )


def _shifted(least: float, shift: float, floor: float) -> tuple[str, ...]:
    if not shift:
        return ()
    return (
        f"The least eigenvalue of M is {least:.4g}, so {shift:.4g} times the identity was added to "
        f"M, which raises it to 'floor' = {floor:g}.",
    )
