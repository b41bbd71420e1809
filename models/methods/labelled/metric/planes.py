"""The metric of max-margin clusters, by cutting planes, each from another clustering of the rows.

Minimises gamma |A - I|^2 + slack over semidefinite A, such that <A, normal> >= loss - slack for
each plane and slack >= 0. Rounds add the plane that an oracle finds most violated, and end when it
finds none.

The master problem of a round is solved by its dual: A = P(I + sum of a_c normal_c / (2 gamma)), P
the nearest semidefinite matrix, for the multipliers a >= 0 of sum at most 1 that maximise
gamma (D - |A|^2) + sum of a_c loss_c, a smooth concave function whose derivative in a_c is what
plane c lacks. It is below the optimum for any a, and never falls as planes are added.

`Clusterings` are other clusterings of the known rows, beside the known one. A clustering z of the N
rows is as good as F_A(z) = -tr(A W_z) / N, W_z the squares and products about its clusters' means.
The squares of all rows are those within clusters and those between them, so that F_A(y) - F_A(z) =
<A, B_y - B_z> / N with the squares B between clusters, of rank K - 1 each: linear in A, one matrix
a clustering.

Its loss is 1 minus the adjusted Rand index with the known clustering, 1 at most: it is blind to how
clusters are numbered, 0 for the same partition alone, and about 1 for one drawn by chance, however
many clusters there are (without the adjustment it would fall as 2 / K).

Source: Gopal, "Large-scale Structured Learning" (2014), §7.3.2, whose constraint has the slack's
sign wrong and no loss, so that it is unbounded; Tsochantaridis et al. (2005); Joachims, Finley and
Yu, "Cutting-Plane Training of Structural SVMs" (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Float, Int
from models.methods.labelled.discovery.finding import distant
from models.methods.labelled.supervision.inputs import KnownClusters
from models.methods.labelled.supervision.transformation import on_cone
from models.metrics.flat import ari, contingency
from models.running.progress import Progress

MOST_TURNS = 100
"""The most iterations of a run of k-means."""


@dataclass(frozen=True, slots=True)
class Plane:
    """What the metric A owes the known clustering over another: <A, normal> >= loss - slack.

    normal : (D, D) (B_y - B_z) / N. loss : 0 to 1.
    """

    normal: Float
    loss: float

    def lacks(self, metric: Float) -> float:
        """The slack that the metric needs here; negative where there is room."""
        return self.loss - float(np.vdot(self.normal, metric))


class Clusterings:
    """Clusterings of known rows into as many clusters as are known."""

    def __init__(self, known: KnownClusters) -> None:
        self._points = known.points - known.points.mean(axis=0)
        self._code, self._n_clusters = known.code, known.n_clusters
        self._known_between = self._between(known.code)

    def plane(self, cluster: Int) -> Plane:
        """For the clustering (N,) of numbers below the number of known clusters. O(N D + K D^2)."""
        table = contingency(cluster, self._code, self._n_clusters, self._n_clusters)
        loss = 1.0 - max(ari(table) or 0.0, 0.0)
        return Plane(self._known_between - self._between(cluster), loss)

    def worst(
        self, transformation: Float, metric: Float, n_runs: int, rng: np.random.Generator
    ) -> Plane:
        """The clustering that lacks most, of all that runs of k-means find, and of what moves of
        single rows make of each and of the known one (`loops.climb`): k-means knows nothing of the
        loss, and moves raise both together.

        transformation : (r, D) L, L'L = metric. The runs start at k-means++ seeds. The worst of all
        clusterings is not found for certain. O(n_runs N K r) for each of their tens of steps.
        """
        from models.methods.labelled.metric.loops import climb

        folded = self._points @ transformation.T.astype(self._points.dtype)
        wide = np.ascontiguousarray(folded, dtype=np.float64)
        planes = []
        for cluster in (
            self._code,
            *(k_means(folded, self._n_clusters, rng) for _ in range(n_runs)),
        ):
            moved = cluster.astype(np.int64)
            climb(wide, self._code.astype(np.int64), moved, self._n_clusters, MOST_TURNS)
            planes += [self.plane(cluster), self.plane(moved)]
        return max(planes, key=lambda plane: plane.lacks(metric))

    def most_slack(self, transformation: Float, metric: Float) -> float:
        """An upper bound on the slack that the metric needs over all clusterings.

        The loss is 1 at most, and the squares between K clusters are the trace of the rows' squares
        in a subspace of K - 1 dimensions, so at most the sum of their K - 1 largest eigenvalues
        (Ky Fan). O(N D r + r^3).
        """
        folded = self._points.astype(np.float64) @ transformation.T
        value = np.linalg.eigvalsh(folded.T @ folded / max(folded.shape[0], 1))
        between = float(np.maximum(value, 0.0)[::-1][: self._n_clusters - 1].sum())
        return max(0.0, 1.0 - float(np.vdot(self._known_between, metric)) + between)

    def _between(self, cluster: Int) -> Float:
        """(D, D) the clusters' squares about the mean of all rows, divided by N."""
        size = np.bincount(cluster, minlength=self._n_clusters)
        indicator = np.zeros((self._n_clusters, cluster.size), dtype=self._points.dtype)
        indicator[cluster, np.arange(cluster.size)] = 1.0
        sums = (indicator @ self._points).astype(np.float64)
        root = sums / np.sqrt(np.maximum(size, 1) * float(cluster.size))[:, None]
        return np.asarray(root.T @ root)


def k_means(points: Array, n_clusters: int, rng: np.random.Generator) -> Int:
    """(N,) clusters by Lloyd's iterations from k-means++ seeds; some may be empty.

    Rounds call this hundreds of times on few rows, where what scikit-learn does around a run would
    take most of the time. The loops of `models.clusters` sum in another order, by which rows on a
    grid, as near to one centre as to another, would go elsewhere. O(N K r) a step.
    """
    seeds, _ = distant(points, points[:0], n_clusters, rng)
    centers = points[seeds]
    rows = np.arange(points.shape[0])
    before = np.full(points.shape[0], -1)
    for _ in range(MOST_TURNS):
        closeness = points @ centers.T - 0.5 * np.einsum("kr,kr->k", centers, centers)
        cluster = closeness.argmax(axis=1)
        if (cluster == before).all():
            break
        before = cluster
        indicator = np.zeros((n_clusters, points.shape[0]), dtype=points.dtype)
        indicator[cluster, rows] = 1.0
        size = indicator.sum(axis=1)
        filled = size > 0.0
        centers[filled] = (indicator @ points)[filled] / size[filled, None]
    return before


PRECISE = 1e-15
"""The change of the dual at which steps end: the gap is of the order of its root."""

MOST_STEPS = 500

SeparationOracle = Callable[[Float], Plane]
"""From a (D, D) metric to a plane that it keeps badly."""


@dataclass(frozen=True, slots=True)
class Master:
    """metric : (D, D) A. multipliers : of the planes. slack : the least for this metric and planes.

    objective : gamma |A - I|^2 + slack. bound : the optimum is at least this.
    """

    metric: Float
    multipliers: Float
    slack: float
    objective: float
    bound: float


@dataclass(frozen=True, slots=True)
class MarginFit:
    """planes : all that were found. bounds : of the optimum, by round.

    lacks : by how much the last plane found was violated beyond the slack.
    """

    master: Master
    planes: tuple[Plane, ...]
    bounds: list[float]
    lacks: float
    converged: bool


def separate(
    oracle: SeparationOracle,
    n_columns: int,
    gamma: float,
    *,
    tol: float,
    max_iter: int,
    progress: Progress,
) -> MarginFit:
    """Rounds until the oracle finds no plane violated by more than `tol`.

    Cost: a round searches once, and solves its master problem in tens of steps of
    O(D^3 + n_planes D^2), from the last round's multipliers; memory 8 D^2 bytes a plane.
    """
    planes: list[Plane] = []
    bounds: list[float] = []
    master = solve(planes, n_columns, gamma, np.zeros(0))
    for turn in range(max_iter + 1):
        plane = oracle(master.metric)
        lacks = plane.lacks(master.metric) - master.slack
        if lacks <= tol or turn == max_iter:
            break
        planes.append(plane)
        master = solve(planes, n_columns, gamma, np.append(master.multipliers, 0.0))
        bounds.append(master.bound)
        share = 1.0 - 1.0 / (1.0 + 0.1 * turn)
        progress(share, "learning", f"round {turn + 1}, objective {master.objective:.6g}")
    return MarginFit(master, tuple(planes), bounds, lacks, lacks <= tol)


def solve(planes: Sequence[Plane], n_columns: int, gamma: float, start: Float) -> Master:
    """The master problem of these planes, from multipliers that it may take."""
    from scipy.optimize import LinearConstraint, minimize

    losses = np.array([plane.loss for plane in planes])
    normals = np.array([plane.normal.ravel() for plane in planes]).reshape(-1, n_columns**2)
    identity = np.eye(n_columns)

    def at(multipliers: Float) -> tuple[Float, float]:
        moved = (multipliers @ normals).reshape(n_columns, n_columns) / (2.0 * gamma)
        metric, squares = on_cone(identity + moved)
        return metric, gamma * (n_columns - squares) + float(multipliers @ losses)

    def fallen(multipliers: Float) -> tuple[float, Float]:
        metric, value = at(multipliers)
        return -value, normals @ metric.ravel() - losses

    multipliers = start
    if len(planes):
        best = minimize(
            fallen,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(planes),
            constraints=[LinearConstraint(np.ones(len(planes)), -np.inf, 1.0)],
            options={"maxiter": MOST_STEPS, "ftol": PRECISE},
        )
        multipliers = np.maximum(best.x, 0.0)
        multipliers /= max(1.0, float(multipliers.sum()))
        if at(multipliers)[1] < at(start)[1]:
            multipliers = start
    metric, bound = at(multipliers)
    slack = max(0.0, float((losses - normals @ metric.ravel()).max(initial=0.0)))
    objective = gamma * float(np.linalg.norm(metric - identity) ** 2) + slack
    return Master(metric, multipliers, slack, objective, bound)
