"""A mixture of Gaussians, its densities in double precision, and its fit by scikit-learn's EM.

`Gaussians` is the mixture: what a model keeps, log densities of rows, BIC. `best_mixture` gives the
best of several runs of EM, `choose_mixture` the best number of clusters.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrmm

from models.arrays import Arrays, Float, Int
from models.clusters.choosing import Choice, Count, by_silhouette, candidates, lowest
from models.clusters.kmeans import squared_distances
from models.clusters.placing import normalize
from models.errors import UsageError
from models.inputs.checks import Points, blocks, require_usable
from models.method import Run
from models.running.progress import Progress, progress_parts, subprogress
from models.running.threads import limited

Covariance = Literal["full", "tied", "diag", "spherical"]

SMALLEST_LOG = -1e300
"""The logarithm of a zero weight, so that sums stay finite."""


@dataclass(frozen=True, slots=True)
class Gaussians:
    """A mixture of K Gaussians in D dimensions.

    weights : (K,). means : (K, D). covariances : depending on `kind`, (K, D, D), (D, D), (K, D) or
        (K,).
    """

    kind: Covariance
    weights: Float
    means: Float
    covariances: Float

    @classmethod
    def of(cls, kind: Covariance, arrays: Arrays) -> Gaussians:
        """The mixture of `Gaussians.arrays`."""
        fields = ("weights", "means", "covariances")
        return cls(kind, *(np.asarray(arrays[name], dtype=np.float64) for name in fields))

    @property
    def arrays(self) -> dict[str, Float]:
        """Weights, means and covariances by name, as a model keeps them."""
        fields = ("weights", "means", "covariances")
        return {name: np.ascontiguousarray(getattr(self, name)) for name in fields}

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        n_clusters, n_features = (int(n) for n in self.means.shape)
        square = n_features * (n_features + 1) // 2
        spread: dict[str, int] = {
            "full": n_clusters * square,
            "tied": square,
            "diag": n_clusters * n_features,
            "spherical": n_clusters,
        }
        return spread[self.kind] + n_clusters * n_features + n_clusters - 1

    def bic(self, likelihood: float, n_points: int) -> float:
        """Bayesian information criterion from the log-likelihood of the points.

        The lowest is best.
        """
        return self.n_parameters * math.log(n_points) - 2.0 * likelihood

    def reordered(self, order: Int) -> Gaussians:
        """The mixture with component `order[c]` as component c."""
        shared = self.kind == "tied"
        return replace(
            self,
            weights=self.weights[order],
            means=self.means[order],
            covariances=self.covariances if shared else self.covariances[order],
        )

    def log_joint(self, features: Points) -> Float:
        """(n_points, K) log of weight times density, by blocks of rows.

        O(N K D^2) for full and tied covariances, else O(N K D). Raises LinAlgError for a covariance
        that is not positive definite; raises UsageError as `clusters.kmeans.squared_distances`.
        """
        n_features = self.means.shape[1]
        with np.errstate(divide="ignore"):
            offset = np.log(self.weights) - 0.5 * n_features * np.log(2.0 * np.pi)
        if self.kind == "spherical":
            out = squared_distances(features, self.means)
            out /= self.covariances
            out += n_features * np.log(self.covariances)
        elif self.kind == "diag":
            out = self._along_axes(features)
        else:
            out = self._whitened(features)
        out *= -0.5
        out += np.maximum(offset, SMALLEST_LOG)
        return out

    def least_variance(self) -> Float:
        """(K,), tied (1,): the least variance of a feature given those before it."""
        spread = self.covariances
        if self.kind in ("full", "tied"):
            spread = np.diagonal(self._roots(), axis1=1, axis2=2) ** 2
        least: Float = spread.reshape(len(spread), -1).min(axis=1)
        return least

    def rounding(self, dtype: np.dtype[Any]) -> float:
        """The variance that rounding alone may cause, for features of `dtype`.

        Scikit-learn computes full covariances about the mean, others as differences of squares.
        """
        if self.kind == "full":
            scale = float(np.diagonal(self.covariances, axis1=1, axis2=2).max())
        else:
            spread = np.diagonal(self.covariances) if self.kind == "tied" else self.covariances
            scale = float(spread.max() + (self.means**2).max())
        return 10.0 * float(np.finfo(dtype).eps) * scale

    def _roots(self) -> Float:
        """(K, D, D) lower Cholesky factors; (1, D, D) for a tied covariance."""
        n_features = self.means.shape[1]
        square = self.covariances.reshape(-1, n_features, n_features)
        roots: Float = np.linalg.cholesky(square).astype(np.float64, copy=False)
        return roots

    def _along_axes(self, features: Points) -> Float:
        """Squared distances in units of each feature's deviation, plus log determinants."""
        out = np.empty((features.shape[0], len(self.means)))
        origin = np.sort(self.means, axis=0).mean(axis=0)
        moved = self.means - origin
        precision = 1.0 / self.covariances
        own = (moved**2 * precision).sum(axis=1) + np.log(self.covariances).sum(axis=1)
        for block, part in blocks(features, len(self.means)):
            rows = _finite(part, block.start, features.shape[0]) - origin
            squared = out[block]
            np.matmul(rows, -2.0 * (moved * precision).T, out=squared)
            squared += own
            squared += rows**2 @ precision.T
        return out

    def _whitened(self, features: Points) -> Float:
        """Squared lengths of whitened differences from the mean, plus log determinants."""
        out = np.empty((features.shape[0], len(self.means)))
        identity = np.eye(self.means.shape[1])
        roots = self._roots()
        whitening = [np.asfortranarray(solve_triangular(r, identity, lower=True)) for r in roots]
        logs = [2.0 * np.log(np.diagonal(root)).sum() for root in roots]
        shared = self.kind == "tied"
        for block, part in blocks(features, len(self.means)):
            rows = _finite(part, block.start, features.shape[0])
            for cluster, mean in enumerate(self.means):
                at = 0 if shared else cluster
                # A product with a triangle: half of that with a square.
                white = dtrmm(1.0, whitening[at], (rows - mean).T, lower=1, overwrite_b=1).T
                out[block, cluster] = np.einsum("nd,nd->n", white, white) + logs[at]
        return out


def _finite(part: npt.NDArray[np.generic], first_row: int, n_points: int) -> Float:
    """Rows in double precision. Raises UsageError for unusable values."""
    rows: Float = part.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.einsum("nd,nd->", rows, rows)
    if not np.isfinite(length):
        require_usable(part, first_row, n_points)
    return rows


@dataclass(frozen=True, slots=True)
class GaussianEffort:
    """The kind of covariances, and the effort of EM. The fields are parameters of `gmm`."""

    kind: Covariance
    reg_covar: float
    n_init: int
    max_iter: int
    tol: float


@dataclass(frozen=True, slots=True)
class GaussianRun:
    """The best run of EM.

    bound : the mean log-likelihood of a point, which EM maximises. ended : whether it converged.
    n_failed : runs that ended in a singular covariance.
    """

    mixture: Gaussians
    bound: float
    n_iter: int
    ended: bool
    n_failed: int

    def warnings(self, effort: GaussianEffort) -> list[str]:
        """Warnings for the user, one sentence each."""
        sentences = []
        if not self.ended:
            sentences.append(
                f"The best run was stopped after max_iter = {effort.max_iter} iterations, before "
                "it converged."
            )
        if self.n_failed:
            sentences.append(
                f"{self.n_failed} of {effort.n_init} runs ended in a singular covariance and were "
                "left out."
            )
        flat = int((self.mixture.least_variance() < 10.0 * effort.reg_covar).sum())
        if flat:
            sentences.append(
                f"{flat} covariance(s) have a direction where 'reg_covar' is a tenth of the "
                "variance or more: their points lie on a plane, on few places, or the features "
                "are on a small scale. The likelihood, and what follows from it, depends on "
                "'reg_covar'."
            )
        return sentences


def best_mixture(
    features: npt.NDArray[Any],
    n_clusters: int,
    effort: GaussianEffort,
    run: Run,
    progress: Progress,
) -> GaussianRun:
    """The run with the highest likelihood. Raises UsageError if every run fails."""
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    best: GaussianRun | None = None
    failed = 0
    with limited({"blas": run.threads, "openmp": 1}), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number in range(effort.n_init):
            progress(number / effort.n_init, "fitting", f"run {number + 1} of {effort.n_init}")
            estimator = GaussianMixture(
                n_components=n_clusters,
                covariance_type=effort.kind,
                tol=effort.tol,
                reg_covar=effort.reg_covar,
                max_iter=effort.max_iter,
                random_state=int(run.rng.integers(2**31)),
            )
            try:
                with config_context(assume_finite=True):
                    estimator.fit(features)
                mixture = Gaussians.of(
                    effort.kind,
                    {
                        "weights": estimator.weights_,
                        "means": estimator.means_,
                        "covariances": estimator.covariances_,
                    },
                )
                if (mixture.least_variance() <= mixture.rounding(features.dtype)).any():
                    failed += 1
                    continue
            except (ValueError, np.linalg.LinAlgError) as error:
                if "ill-defined" not in str(error) and "positive definite" not in str(error):
                    raise
                failed += 1
                continue
            bound = float(estimator.lower_bound_)
            if best is None or bound > best.bound:
                n_iter = int(estimator.n_iter_)
                best = GaussianRun(mixture, bound, n_iter, bool(estimator.converged_), 0)
    if best is None:
        raise singular(n_clusters, effort)
    return replace(best, n_failed=failed)


def singular(n_clusters: int, effort: GaussianEffort) -> UsageError:
    """The refusal where no run ends with covariances that can be inverted."""
    return UsageError(
        f"A covariance became singular with {n_clusters} clusters, 'covariance' "
        f"{effort.kind!r} and 'reg_covar' = {effort.reg_covar:g}: some cluster holds too few "
        "distinct points, or its features depend on each other. Use fewer clusters, a larger "
        "'reg_covar', 'diag' or 'spherical' covariance, or standardize the features.",
        code="singular-covariance",
        parameter="reg_covar",
    )


def choose_mixture(
    features: npt.NDArray[Any], params: Count, effort: GaussianEffort, run: Run, progress: Progress
) -> tuple[Choice, GaussianRun]:
    """The choice by `params.choose` ('bic' or 'silhouette') and the mixture with that number.

    Numbers with singular covariances are left out; raises UsageError if all are.
    """
    numbers, notes = candidates(features, params)
    fits: dict[int, GaussianRun] = {}
    clusters: list[Int] = []
    values: list[float] = []
    refusal: UsageError | None = None
    for part, number in progress_parts(progress, 0.9, numbers):
        try:
            fits[number] = best_mixture(features, number, effort, run, part)
        except UsageError as error:
            refusal = error
            continue
        logits = fits[number].mixture.log_joint(features)
        likelihood = float(normalize(logits).sum())
        values.append(fits[number].mixture.bic(likelihood, features.shape[0]))
        if params.choose == "silhouette":
            clusters.append(logits.argmax(axis=1))
    if not fits and refusal is not None:
        raise refusal
    if refusal is not None:
        left_out = len(numbers) - len(fits)
        notes += (f"{left_out} number(s) of clusters led to singular covariances, left out.",)
    if params.choose == "bic":
        choice = lowest("bic", list(fits), values, notes)
    else:
        rest = subprogress(progress, 0.9, 1.0)
        choice = by_silhouette(features, list(fits), clusters, run.rng, rest, notes)
    return choice, fits[choice.n_clusters]
