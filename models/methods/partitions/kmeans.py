"""k-means: a partition into clusters around centres, and a soft assignment from it.

Lloyd's iterations from k-means++ seeds, the best of `n_init` runs by inertia. Clusters are ordered
by size, largest first, those of one size by their centres' coordinates, so their numbers do not
depend on the order of the rows.

Soft assignment: the clusters are read as a mixture of Gaussians with equal weights and one shared
spherical variance s^2 = inertia / (N D), its maximum-likelihood value under the hard assignment.
The logits are the mixture's log posterior: -d(x, centre)^2 / (2 s^2) up to a constant of the row,
so the largest logit is the nearest centre.

Source: Lloyd (1982); Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding"
(2007); scikit-learn's KMeans. Cost: O(N K D) time for each iteration of each run; memory one copy
of the features in single or double precision, whichever they have, and 8 N K bytes for the logits.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pydantic import Field

from models.contract import (
    Fitted,
    Input,
    Method,
    Model,
    Paper,
    Params,
    Predictions,
    Progress,
    Run,
)
from models.data import Data, Matrix, require_finite
from models.errors import UsageError
from models.numerics.softmax import log_softmax, row_blocks
from models.tree.build import from_partition
from models.tree.tree import Tree

Float = npt.NDArray[np.float64]

SMALLEST_VARIANCE = 1e-12
"""Of the shared variance, relative to the centres' own, where all points lie on their centres."""


class KMeansParams(Params):
    n_clusters: int = Field(8, ge=1, le=100_000, description="Number of clusters.")
    n_init: int = Field(
        10, ge=1, le=1000, description="Number of runs from different seeds; the best one serves."
    )
    max_iter: int = Field(300, ge=1, le=100_000, description="Most iterations of a run.")
    tol: float = Field(
        1e-4,
        ge=0,
        le=1,
        description=(
            "A run ends when the centres' squared moves sum to less than this times the mean "
            "variance of the features."
        ),
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of the random generator.")


class KMeans(Method[KMeansParams]):
    """See the module's docstring."""

    id: ClassVar = "kmeans"
    title: ClassVar = "k-means"
    family: ClassVar = "partitions"
    paper: ClassVar = Paper("k-means++: The Advantages of Careful Seeding", 2007, "SODA")
    Params: ClassVar = KMeansParams
    inputs: ClassVar = {
        "features": Input(sparse=True, description="One row per point."),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs: ClassVar = ("tree", "model", "logits")
    example: ClassVar = {"n_clusters": 3, "n_init": 2}

    def _check(self, data: Data, params: KMeansParams) -> None:
        features = data.matrix("features")
        n_points, n_features = features.shape
        if n_features == 0:
            raise UsageError(
                "Input 'features' has no columns.", code="wrong-shape", role="features"
            )
        if n_points < params.n_clusters:
            _refuse_clusters(params.n_clusters, n_points, "point(s)")
        data.leaf_names(params.n_clusters, "cluster")
        require_finite(features, "features")
        _check_squares(features)
        distinct = _count_distinct(features, params.n_clusters)
        if distinct < params.n_clusters:
            _refuse_clusters(params.n_clusters, distinct, "distinct point(s)")

    def _fit(self, data: Data, params: KMeansParams, run: Run) -> Fitted:
        features = data.matrix("features")
        centers, n_iter, ended = _best_run(features, params, run.rng, run.progress)
        run.progress(0.9, "assigning points")
        cluster = _squared_distances(features, centers).argmin(axis=1)
        order = _by_size(np.bincount(cluster, minlength=len(centers)), centers)
        centers = centers[order]
        squared = _squared_distances(features, centers)
        cluster = squared.argmin(axis=1)
        inertia = float(squared[np.arange(len(squared)), cluster].sum())
        variance, floored = _variance(inertia, features.shape, centers)
        names = data.leaf_names(params.n_clusters, "cluster")
        empty = int((np.bincount(cluster, minlength=len(centers)) == 0).sum())
        notes = []
        if not ended:
            notes.append(
                f"The best run was stopped after max_iter = {params.max_iter} iterations, before "
                "it converged."
            )
        if floored:
            notes.append(
                "Every point lies on its cluster's centre, so the variance behind the soft "
                "assignment is 0; a tiny one was used instead."
            )
        if empty:
            notes.append(f"{empty} cluster(s) have no point.")
        return Fitted(
            tree=from_partition(cluster, params.n_clusters, names=names),
            model=Model(arrays={"centers": centers, "variance": np.array([variance])}),
            logits=_log_posterior(squared, variance),
            metrics={"inertia": inertia, "n_iter": float(n_iter), "variance": variance},
            warnings=tuple(notes),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest centre; its probability is the mixture's posterior."""
        squared = self._distances_to(model, data)
        posterior = _log_posterior(squared, float(model.arrays["variance"][0]))
        cluster = squared.argmin(axis=1)
        n_rows = len(cluster)
        leaf = tree.leaves[cluster]
        node = np.zeros((n_rows, 2), dtype=np.int64)
        node[:, 1] = leaf
        probability = np.ones((n_rows, 2))
        probability[:, 1] = np.exp(posterior[np.arange(n_rows), cluster])
        return Predictions(leaf, 2 * np.arange(n_rows + 1), node.ravel(), probability.ravel())

    def _logits(self, model: Model, data: Data) -> Float:
        squared = self._distances_to(model, data)
        return _log_posterior(squared, float(model.arrays["variance"][0]))

    def _distances_to(self, model: Model, data: Data) -> Float:
        features = data.matrix("features")
        centers = model.arrays["centers"]
        if features.shape[1] != centers.shape[1]:
            raise UsageError(
                f"Input 'features' has {features.shape[1]} columns; the model was fitted on "
                f"{centers.shape[1]}.",
                code="wrong-shape",
                role="features",
            )
        require_finite(features, "features")
        _check_squares(features)
        return _squared_distances(features, centers)


def _best_run(
    features: Matrix, params: KMeansParams, rng: np.random.Generator, progress: Progress
) -> tuple[Float, int, bool]:
    """Centres of the run with the least inertia, its iterations, and whether it converged."""
    from sklearn.cluster import KMeans as ScikitKMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    values = _for_scikit(features)
    best: Any = None
    for run in range(params.n_init):
        progress(0.05 + 0.85 * run / params.n_init, "fitting", f"run {run + 1} of {params.n_init}")
        one = ScikitKMeans(
            n_clusters=params.n_clusters,
            init="k-means++",
            n_init=1,
            max_iter=params.max_iter,
            tol=params.tol,
            random_state=int(rng.integers(2**31)),
        )
        # With more threads the order of the sums, so the last digits, would vary from run to run.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one.fit(values)
        if best is None or one.inertia_ < best.inertia_:
            best = one
    centers = np.asarray(best.cluster_centers_, dtype=np.float64)
    return centers, int(best.n_iter_), best.n_iter_ < params.max_iter


def _for_scikit(features: Matrix) -> Matrix:
    """Features as scikit-learn takes them: floats, sparse ones with 32-bit indices."""
    values = features
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if isinstance(values, sp.csr_array) and values.indices.dtype != np.int32:
        if values.nnz >= 2**31:
            raise UsageError(
                f"Input 'features' stores {values.nnz:,} values; a sparse matrix may have "
                f"{2**31 - 1:,} here.",
                code="too-large",
                role="features",
            )
        values = sp.csr_array(
            (values.data, values.indices.astype(np.int32), values.indptr.astype(np.int32)),
            shape=values.shape,
        )
    return values


def _squared_distances(features: Matrix, centers: Float) -> Float:
    """(n_points, n_clusters) squared Euclidean distances in float64, by blocks of rows.

    |x|^2 - 2 x.c + |c|^2 with both moved to the centres' mean, where dense, so that little cancels.
    """
    n_points, n_features = features.shape
    out = np.empty((n_points, len(centers)))
    sparse = isinstance(features, sp.csr_array)
    origin = np.zeros(n_features) if sparse else centers.mean(axis=0)
    moved = centers - origin
    length = np.einsum("kd,kd->k", moved, moved)
    for block in row_blocks(n_points, max(n_features, len(centers)), 1 << 20):
        rows = features[block].astype(np.float64)
        if isinstance(rows, sp.csr_array):
            own = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        else:
            rows -= origin
            own = np.einsum("nd,nd->n", rows, rows)
        out[block] = own[:, None] - 2.0 * (rows @ moved.T) + length
    return np.maximum(out, 0.0, out=out)


def _log_posterior(squared: Float, variance: float) -> Float:
    return log_softmax(squared / (-2.0 * variance))


def _variance(inertia: float, shape: tuple[int, ...], centers: Float) -> tuple[float, bool]:
    """Shared variance of the mixture, and whether it had to be raised from (nearly) zero."""
    spread = float(centers.var(axis=0).mean()) or 1.0
    variance = inertia / (shape[0] * shape[1])
    floor = SMALLEST_VARIANCE * spread
    return (floor, True) if variance < floor else (variance, False)


def _by_size(size: npt.NDArray[np.int64], centers: Float) -> npt.NDArray[np.int64]:
    """Order of clusters: larger first, then by the centres' coordinates from the first on."""
    return np.lexsort((*centers.T[::-1], -size))


def _count_distinct(features: Matrix, enough: int) -> int:
    """Number of distinct rows, counted up to `enough`."""
    seen: set[bytes] = set()
    for block in row_blocks(features.shape[0], features.shape[1]):
        rows = features[block]
        if isinstance(rows, sp.csr_array):
            rows = rows.copy()
            rows.sum_duplicates()
            rows.eliminate_zeros()
            for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
                seen.add(rows.indices[start:end].tobytes() + b"|" + rows.data[start:end].tobytes())
                if len(seen) >= enough:
                    return len(seen)
            continue
        # Adding 0 makes -0.0 equal 0.0 in bytes too.
        for row in np.ascontiguousarray(rows + rows.dtype.type(0)):
            seen.add(row.tobytes())
            if len(seen) >= enough:
                return len(seen)
    return len(seen)


def _check_squares(features: Matrix) -> None:
    """Refuse features whose squares, summed over rows and columns, would overflow their type."""
    kind = np.float32 if features.dtype == np.float32 else np.float64
    values = features.data if isinstance(features, sp.csr_array) else features
    bound = float(np.sqrt(np.finfo(kind).max / (8.0 * features.shape[0] * features.shape[1] + 8.0)))
    if values.size and max(float(values.max()), -float(values.min())) > bound:
        raise UsageError(
            f"Input 'features' has a value beyond {bound:.0e}, whose square would overflow. Scale "
            "the features down.",
            code="too-large",
            role="features",
        )


def _refuse_clusters(wanted: int, there: int, what: str) -> None:
    raise UsageError(
        f"Parameter 'n_clusters' is {wanted}, but input 'features' has only {there} {what}.",
        code="too-few-points",
        parameter="n_clusters",
    )
