"""Gaussian mixture: a partition and a soft assignment by EM, with any shape of cluster.

The best of `n_init` runs of EM by likelihood, each from the clusters of a run of k-means. The
logits are the log responsibilities log p(k | x); a point lies in the cluster with the largest one.
Clusters are ordered by size, largest first, and at equal size by their means' coordinates.

The number of clusters is given, or chosen by the lowest BIC or the highest mean silhouette.

Features of more than 16.8 million values are never held as a whole: the `n_init` runs, and a
choice, are made on a sample (4.2 million values, up to 16.8 million where full covariances need
them), and the best run goes on by EM over all rows, which are read by rows in each iteration
(`mixtures.gaussian_rows`), on several threads and workers, from checkpoints.

Source: Dempster, Laird and Rubin (1977); scikit-learn's GaussianMixture. Densities are computed
again in double precision (`mixtures.gaussian`), both for fitted and new points. Cost: time O(N K
D^2) for each iteration with full and tied covariances, else O(N K D), plus K D^3; memory a few
copies of the features, or of the sample, and a few times 8 N K bytes, by rows 8 N K bytes and at
most 256 MiB of sums.

Measured: CPU time as N^0.9 D^1.9 K^1.1, from 20,000 x 32 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Arrays, Float, Int, Matrix
from models.clusters import row_sums
from models.clusters.choosing import Choice, Count, check_count
from models.clusters.counts import sample_warning
from models.clusters.likelihoods import JudgesLabels, Likelihoods
from models.clusters.lloyd import require_usable_points
from models.clusters.placing import (
    by_size,
    bytes_of_logits,
    empty_cluster_warnings,
    normalize,
    permute,
    placed,
    reorder,
)
from models.inputs.checks import (
    as_floats,
    refuse_clusters,
    require_columns,
    require_distinct,
    require_rows,
    require_width,
)
from models.inputs.data import Data
from models.inputs.frames import Frame
from models.method import Fitted, Input, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.mixtures import gaussian_rows
from models.methods.partitions.mixtures.gaussian import (
    Covariance,
    GaussianEffort,
    GaussianRun,
    Gaussians,
    best_mixture,
    choose_mixture,
)
from models.methods.partitions.mixtures.of_labels import of_labels
from models.parameters import MaxIter, NInit, Seed
from models.running.budget import Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.build import from_partition
from models.tree.tree import Tree


class GMMParams(Count):
    choose: Literal["bic", "silhouette"] | None = Field(
        None,
        description=(
            "Choose the number of clusters between 'min_clusters' and 'max_clusters': the lowest "
            "'bic' or the highest mean 'silhouette'."
        ),
    )
    covariance: Covariance = Field(
        "full",
        description=(
            "Shape of the clusters: 'full' any ellipsoid each, 'tied' one ellipsoid for all, "
            "'diag' an ellipsoid along the axes each, 'spherical' a ball each."
        ),
    )
    reg_covar: float = Field(
        1e-6,
        ge=0,
        le=1e12,
        description=(
            "Added to the variances, so that they stay positive; for columns that spread by less "
            "than 1e-5 or more than 1e5, times the square of the power of two next to it."
        ),
    )
    n_init: NInit = 1
    max_iter: MaxIter = 100
    tol: float = Field(
        1e-3,
        ge=0,
        le=1e6,
        description="A run ends when the mean log-likelihood of a point changes by less.",
    )
    seed: Seed = 0


class GMM(JudgesLabels[GMMParams]):
    """See the module's docstring."""

    title = "Gaussian mixture"
    paper = Paper(
        "Maximum Likelihood from Incomplete Data via the EM Algorithm",
        1977,
        "Journal of the Royal Statistical Society B 39(1)",
    )
    Params = GMMParams
    cost = Cost(2e-8, columns=2, k="n_clusters", times=("n_init", "max_iter"))
    inputs = {
        "features": Input(by_rows=True, description="One row per point."),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    placing = "the cluster with the largest responsibility"
    advice = (
        "Ask for fewer clusters or another 'covariance', use a sample of the points, or "
        "'minibatch-kmeans'."
    )
    resumes = True
    example = {"n_clusters": 3}

    def _memory(self, shapes: Shapes, params: GMMParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        squares = {"full": params.most, "tied": 1}.get(params.covariance, 0)
        n_points, n_features = shapes["features"]
        beside = 3 * 8 * squares * n_features**2
        if n_points * n_features > gaussian_rows.WHOLE:
            # scikit-learn's three matrices are of the sample.
            return bytes_of_logits(shapes, params.most) + beside + row_sums.SHARE_BYTES
        return 3 * bytes_of_logits(shapes, params.most) + beside

    def _check(self, data: Data, params: GMMParams) -> None:
        features = data.rows("features")
        require_columns(features)
        require_rows(features, params.fewest, params.count_parameter)
        if features.shape[0] < 2:
            refuse_clusters(
                params.fewest, 1, "point, which has no variance", params.count_parameter
            )
        check_count(data, params)
        require_usable_points(features)
        require_distinct(features, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: GMMParams, run: Run) -> Fitted:
        features = data.rows("features")
        within = subprogress(run.progress, 0.05, 0.9)
        added = float(np.ldexp(params.reg_covar, 2 * Frame.of(features).exponent))
        effort = GaussianEffort(
            params.covariance, added, params.n_init, params.max_iter, params.tol
        )
        drawn = gaussian_rows.sampled(features, params.most, params.covariance, run.rng)
        notes: list[str] = []
        if drawn is None:
            choice, best = _best(features.values(0, features.shape[0]), params, effort, run, within)
        else:
            choice, best = _best(drawn, params, effort, run, subprogress(within, 0.0, 0.3))
            rest = subprogress(within, 0.3, 1.0)
            best = gaussian_rows.continued(features, best, effort, run, rest)
            notes.append(sample_warning(len(drawn), features.shape[0], params.n_init))
        run.progress(0.9, "assigning points")
        logits = best.mixture.log_joint(features)
        evidence = normalize(logits)
        cluster = logits.argmax(axis=1)
        n_clusters = logits.shape[1]
        order = by_size(np.bincount(cluster, minlength=n_clusters), best.mixture.means)
        permute(logits, order)
        cluster, mixture = reorder(cluster, order), best.mixture.reordered(order)
        likelihood = float(evidence.sum())
        return Fitted(
            tree=from_partition(cluster, n_clusters, names=data.leaf_names(n_clusters, "cluster")),
            model=Model(mixture.arrays, {"covariance": params.covariance, "added": added}),
            logits=logits,
            metrics={
                "log_likelihood": likelihood,
                "bic": mixture.bic(likelihood, features.shape[0]),
                "aic": 2.0 * mixture.n_parameters - 2.0 * likelihood,
                "n_iter": float(best.n_iter),
                **choice.metrics,
            },
            curves=choice.curves,
            warnings=(
                *choice.warnings,
                *notes,
                *best.warnings(effort),
                *empty_cluster_warnings(cluster, n_clusters),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest responsibility, with it as probability."""
        logits = self._logits(model, data)
        return placed(tree, logits.argmax(axis=1), logits)

    def _piece(
        self, data: Data, params: GMMParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        return gaussian_rows.piece(data.rows("features"), piece, threads, progress)

    def _logits(self, model: Model, data: Data) -> Float:
        features = data.rows("features")
        require_width(features, model.arrays["means"].shape[1])
        logits = Gaussians.of(model.facts["covariance"], model.arrays).log_joint(features)
        normalize(logits)
        return logits

    def _likelihoods(self, model: Model, data: Data, code: Int) -> Likelihoods:
        """Covariances of the labels get what the fit's got ('reg_covar')."""
        features, kind = data.rows("features"), model.facts["covariance"]
        found = Gaussians.of(kind, model.arrays)
        require_width(features, found.means.shape[1])
        added = float(model.facts.get("added", 1e-6))
        own = of_labels(kind, features, code, added)
        notes: tuple[str, ...] = ()
        flat = int((own.least_variance() < 10.0 * added).sum())
        if flat:
            notes = (
                f"{flat} covariance(s) of labels have a direction where 'reg_covar' is a tenth of "
                "the variance or more, as of few rows or rows on a plane: the likelihood of the "
                "labels depends on it.",
            )
        of_found, of_own = (
            float(normalize(mixture.log_joint(features)).mean()) for mixture in (found, own)
        )
        return Likelihoods(of_found, of_own, notes)

    def _n_clusters(self, model: Model) -> int:
        return len(model.arrays["means"])


def _best(
    drawn: Matrix, params: GMMParams, effort: GaussianEffort, run: Run, progress: Progress
) -> tuple[Choice, GaussianRun]:
    """The best run on features in memory, with the number of clusters given or chosen."""
    features = as_floats(drawn)
    assert isinstance(features, np.ndarray)
    if params.choose is None:
        choice = Choice.given(params.n_clusters)
        return choice, best_mixture(features, params.n_clusters, effort, run, progress)
    return choose_mixture(features, params, effort, run, progress)
