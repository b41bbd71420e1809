"""Large margin nearest neighbours: known rows near their neighbours, other clusters' rows far.

Each known row should be nearer to its target neighbours, the `n_neighbors` rows of its cluster that
are nearest before anything is learned, than to any row of another known cluster, by a margin of 1.
The squared distance under A to a target neighbour costs `1 - mu`, and what another row lacks of the
margin costs `mu`. This is convex in A, semidefinite: the minimum is found whatever the start, up to
a stated bound. Rows are then multiplied by L, L'L = A, and the rows that are not labelled are
clustered by a mixture in the transformed space.

Source: Weinberger and Saul, "Distance Metric Learning for Large Margin Nearest Neighbor
Classification" (2009), eq. 11 to 13; Gopal, "Large-scale Structured Learning" (2014), §6.6.1, with
50 target neighbours. Deviations: the cost of a shortfall is rounded off below 0.1, so that it has a
gradient; distances are squared, as in the first source. Rows are put on one scale first, since the
margin is not free of it. Steps are taken where rows spread evenly, which changes no minimum.

Cost: tens to hundreds of steps of O(P (D + n_neighbors) + D^3), where P pairs of rows are or may
become too near, and now and then O(N^2 D) to find these; then `n_init` runs of EM. P is at most N^2
and far less where clusters are apart. From more than 2,000 known rows some are drawn, with a
warning; that many, of 16 columns in overlapping clusters, took 53 steps of 0.9 s. Memory: about 60
P bytes.

Measured: CPU time as N^1.0 D^0.0 K^0.0, from 2,000 x 16 and 8 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from models.arrays import Array, Float
from models.errors import UsageError
from models.method import Paper, Run, Shapes
from models.methods.labelled.metric.descent import Direct, hold, minimize
from models.methods.labelled.metric.neighbours import LargeMargin, target_neighbours
from models.methods.labelled.supervision.inputs import DiscoveryParams, KnownClusters
from models.methods.labelled.supervision.method import LabelledMethod, Learned, Prepared
from models.methods.labelled.supervision.transformation import factor
from models.methods.labelled.supervision.validation import sample
from models.parameters import MaxIter
from models.running.progress import Progress

MOST_ROWS = 2000
BYTES_OF_PAIR = 60
LEAST_SHARE = 0.01
"""The share of the mean variance added to each: directions of less spread are not made even."""


class LMNNParams(DiscoveryParams):
    n_neighbors: int = Field(
        50,
        ge=1,
        le=10_000,
        description="Number of target neighbours of a known row, at most the other rows of its "
        "cluster.",
    )
    mu: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Weight of rows of other clusters that are too near; that of the distances to "
        "target neighbours is 1 - mu.",
    )
    tol: float = Field(
        1e-3,
        gt=0,
        le=1,
        description="Learning ends when the objective can fall by this share at most.",
    )
    max_iter: MaxIter = 1000


class LMNN(LabelledMethod[LMNNParams]):
    """See the module's docstring."""

    title = "Large margin nearest neighbours and a mixture"
    paper = Paper(
        "Distance Metric Learning for Large Margin Nearest Neighbor Classification", 2009, "JMLR"
    )
    Params = LMNNParams
    resumes = True
    example = {"n_clusters": 2, "n_init": 2, "n_neighbors": 3, "tol": 1e-2}

    def _memory(self, shapes: Shapes, params: LMNNParams) -> int:
        n_rows = min(shapes.get("features", (0,))[0], MOST_ROWS)
        return super()._memory(shapes, params) + BYTES_OF_PAIR * n_rows**2

    def _learn(
        self, prepared: Prepared, params: LMNNParams, run: Run, progress: Progress
    ) -> Learned:
        known = prepared.known
        some = sample(known, MOST_ROWS, run.rng)
        targets = target_neighbours(some.points, some.code, params.n_neighbors)
        even, identity = _even(some.points)
        fit = minimize(
            Direct(LargeMargin(some.points @ even, some.code, targets, params.mu).of_matrix),
            # Without a weight it holds the metric on the cone alone.
            hold("nuclear", diagonal=False),
            0.0,
            identity,
            tol=params.tol,
            max_iter=params.max_iter,
            progress=progress,
            checkpoint=run.checkpoint,
        )
        matrix = factor(even @ fit.metric @ even.T)
        if not matrix.size:
            raise UsageError(
                "The learned metric is 0, so that all rows fall together: rows that should be near "
                "count for more than those too near. Use a larger 'mu'.",
                code="wrong-parameter",
                parameter="mu",
            )
        return Learned(
            matrix,
            metrics={
                "objective": fit.objectives[-1],
                "bound": fit.bound,
                "n_iter": float(len(fit.objectives) - 1),
                "rank": float(matrix.shape[0]),
            },
            curves={"objective": list(enumerate(fit.objectives))},
            warnings=(*_drawn(known, some), *_cut(some, params.n_neighbors), *fit.warnings),
        )


def _even(points: Array) -> tuple[Float, Float]:
    """(D, D) T by which rows spread about evenly in all directions, and the metric of rows times T
    under which distances equal those between the rows themselves.

    A metric A' there is T A' T' here. The minimum is the same and takes far fewer steps.
    """
    away = points - points.mean(axis=0)
    variances, axes = np.linalg.eigh(np.asarray(away.T @ away, dtype=np.float64) / len(points))
    variances = np.maximum(variances, 0.0) + max(LEAST_SHARE * float(variances.mean()), 1e-12)
    return axes / np.sqrt(variances), np.diag(variances)


def _drawn(known: KnownClusters, some: KnownClusters) -> tuple[str, ...]:
    if some.code.size == known.code.size:
        return ()
    return (
        f"The metric was learned from {some.code.size:,} of the {known.code.size:,} labelled rows, "
        "drawn in each known cluster alike.",
    )


def _cut(known: KnownClusters, n_neighbors: int) -> tuple[str, ...]:
    """A warning where clusters have fewer rows than a row should have neighbours."""
    small = known.size[known.size <= n_neighbors]
    if not small.size:
        return ()
    return (
        f"Rows of {small.size} known cluster(s) have fewer target neighbours than 'n_neighbors' = "
        f"{n_neighbors}: all other rows of their cluster, {small.min() - 1} at least.",
    )
