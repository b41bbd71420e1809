"""Mini-batch k-means: k-means by small random batches, for files larger than memory.

Centres start from k-means++ on a random sample of the rows, the best of `n_init` seedings there;
then they are moved by batches that together hold each row once a pass, until a pass no longer
lowers the inertia of the sample. The features are read by rows. Clusters are ordered, and the soft
assignment is made, as by `kmeans`.

Dense features of more than 134 million values are passed over in shares by a crew, from checkpoints
(`means.batch_rows`): each share of the rows moves the centres by its own batches, and after a pass
they are averaged. Any number of workers and threads gives the same bits.

The number of clusters is given, or chosen as by `kmeans` (`means.by_criterion`), with k-means on
the sample.

Source: Sculley, "Web-scale k-means clustering" (2010); scikit-learn's MiniBatchKMeans. Batches are
drawn without replacement from pools of rows (`means.batches`), so that a file is read in stretches.
Cost: O(N K D) time for each pass; memory one pool (32 M values, or the features
where they are fewer), the sample and 8 N K bytes for the logits.

Measured: CPU time as N^0.8 D^0.4 K^0.3, from 40,000 x 64 and 16 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from models.arrays import Arrays, Float, Int, Matrix
from models.clusters.choosing import Choice, Count, check_count
from models.clusters.kmeans import KMeansEffort, nearest, seed_rows, spherical, total_inertia
from models.clusters.placing import bytes_of_logits, empty_cluster_warnings, placed
from models.inputs.checks import (
    Points,
    as_floats,
    by_rows,
    require_columns,
    require_distinct,
    require_rows,
    require_squares,
    require_width,
)
from models.inputs.data import Data, require_finite
from models.inputs.frames import Frame
from models.inputs.rows import Rows
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.means import batch_rows
from models.methods.partitions.means.batches import sample, shuffled
from models.methods.partitions.means.by_criterion import choose_number, require_dense_for_gap
from models.parameters import Seed
from models.running.budget import Cost
from models.running.progress import Piece, Progress, subprogress
from models.running.threads import limited
from models.tree.build import from_partition
from models.tree.tree import Tree

SAMPLE = 3_000
"""The least number of rows from which the first centres are drawn."""

CHOICE_SAMPLE = 10_000
"""The least number of rows on which the number of clusters is chosen."""


class MiniBatchKMeansParams(Count):
    choose: Literal["bic", "silhouette", "gap"] | None = Field(
        None,
        description=(
            "Choose the number of clusters between 'min_clusters' and 'max_clusters' on a sample "
            "of the rows: the lowest 'bic' of spherical Gaussians, the highest mean 'silhouette', "
            "or by the 'gap' statistic the fewest within one standard error of the next."
        ),
    )
    n_references: int = Field(
        20, ge=2, le=1000, description="Draws of reference points for the gap statistic."
    )
    batch_size: int = Field(
        1024,
        ge=1,
        le=1_000_000,
        description="Rows of a batch, at least as many as there are clusters.",
    )
    n_init: int = Field(
        3,
        ge=1,
        le=1000,
        description="Number of seedings of the sample; the one with the least inertia serves.",
    )
    max_iter: int = Field(20, ge=1, le=10_000, description="Most passes over the rows.")
    tol: float = Field(
        1e-3,
        ge=0,
        le=1,
        description=(
            "The passes end when one lowers the inertia of the sample by less than this share."
        ),
    )
    reassignment_ratio: float = Field(
        0.01,
        ge=0,
        le=1,
        description=(
            "A centre with fewer points than this share of the largest cluster's is moved to "
            "a random point of the batch."
        ),
    )
    seed: Seed = 0


class MiniBatchKMeans(Method[MiniBatchKMeansParams]):
    """See the module's docstring."""

    title = "Mini-batch k-means"
    paper = Paper("Web-scale k-means clustering", 2010, "WWW")
    Params = MiniBatchKMeansParams
    cost = Cost(5e-8, k="n_clusters", times=("n_init",))
    inputs = {
        "features": Input(sparse=True, by_rows=True, description="One row per point."),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    placing = "the cluster with the nearest centre"
    advice = "Ask for fewer clusters, or use a sample of the points."
    example = {"n_clusters": 3}
    resumes = True

    def _memory(self, shapes: Shapes, params: MiniBatchKMeansParams) -> int:
        return bytes_of_logits(shapes, params.most)

    def _check(self, data: Data, params: MiniBatchKMeansParams) -> None:
        features = by_rows(data)
        require_columns(features)
        require_rows(features, params.fewest, params.count_parameter)
        check_count(data, params)
        require_dense_for_gap(data, params)
        if isinstance(features, sp.csr_array):
            require_finite(features, "features")
            require_squares(features)
        require_distinct(features, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: MiniBatchKMeansParams, run: Run) -> Fitted:
        given, frame, features = _framed(data)
        run.progress(0.0, "drawing a sample")
        least = SAMPLE if params.choose is None else CHOICE_SAMPLE
        n_rows = max(least, 3 * params.batch_size, 10 * params.most)
        drawn = as_floats(sample(features, n_rows, run.rng))
        notes: list[str] = []
        choice = Choice.given(params.n_clusters)
        if params.choose is None:
            centers = _seeds(drawn, params, run.rng)
        else:
            effort = KMeansEffort(params.n_init)
            choice, runs = choose_number(
                drawn,
                params,
                effort,
                params.n_references,
                run.rng,
                subprogress(run.progress, 0.0, 0.5),
            )
            centers = runs[choice.n_clusters].centers
            if drawn.shape[0] < features.shape[0]:
                notes.append(
                    f"The number of clusters was chosen on a sample of {drawn.shape[0]:,} of "
                    f"{features.shape[0]:,} rows."
                )
        start = 0.05 if params.choose is None else 0.5
        passes = subprogress(run.progress, start, 0.9)
        if batch_rows.in_shares(features):
            assert isinstance(features, Rows)
            assert isinstance(drawn, np.ndarray)
            effort_of_pass = batch_rows.Effort(
                max(params.batch_size, len(centers)),
                params.max_iter,
                params.tol,
                params.reassignment_ratio,
            )
            centers, n_iter, settled = batch_rows.refined(
                features, centers, drawn, effort_of_pass, run, passes
            )
        else:
            centers, n_iter, settled = _refine(features, centers, drawn, params, run.rng, passes)
        run.progress(0.9, "assigning points")
        partition = spherical(given, frame.back(centers))
        if not settled:
            notes.append(
                f"The passes were stopped after max_iter = {params.max_iter}, before the inertia "
                "settled."
            )
        n_clusters = len(centers)
        return Fitted(
            tree=from_partition(
                partition.cluster, n_clusters, names=data.leaf_names(n_clusters, "cluster")
            ),
            model=Model(arrays=partition.arrays),
            logits=partition.logits,
            metrics={
                "inertia": partition.inertia,
                "n_iter": float(n_iter),
                "variance": partition.variance,
                **choice.metrics,
            },
            curves=choice.curves,
            warnings=(
                *choice.warnings,
                *notes,
                *partition.warnings,
                *empty_cluster_warnings(partition.cluster, n_clusters),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest centre; its probability is the mixture's posterior."""
        return placed(tree, *self._placed(model, data))

    def _logits(self, model: Model, data: Data) -> Float:
        return self._placed(model, data)[1]

    def _piece(
        self,
        data: Data,
        params: MiniBatchKMeansParams,
        piece: Piece,
        progress: Progress,
        threads: int,
    ) -> Arrays:
        features = _framed(data)[2]
        assert isinstance(features, Rows)
        return batch_rows.piece(features, piece, threads, progress)

    def _placed(self, model: Model, data: Data) -> tuple[Int, Float]:
        features = by_rows(data)
        require_width(features, model.arrays["centers"].shape[1])
        return nearest(model, features)


def _framed(data: Data) -> tuple[Points, Frame, Points]:
    """The features as given, their frame, and in it."""
    given = by_rows(data)
    frame = Frame.of(given, scaled_beyond=None)
    return given, frame, frame.rows(given)


def _seeds(drawn: Matrix, params: MiniBatchKMeansParams, rng: np.random.Generator) -> Float:
    """The seeding of the sample with the least inertia, of `n_init`."""

    best, least = None, np.inf
    with limited(1):
        for _ in range(params.n_init):
            seeds = drawn[seed_rows(drawn, params.n_clusters, rng)]
            dense = seeds.toarray() if isinstance(seeds, sp.csr_array) else seeds
            centers: Float = dense.astype(np.float64)
            inertia = total_inertia(drawn, centers)
            if best is None or inertia < least:
                best, least = centers, inertia
    assert best is not None
    return best


def _refine(
    features: Points,
    centers: Float,
    drawn: Matrix,
    params: MiniBatchKMeansParams,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Float, int, bool]:
    """Centres after the passes, the number of passes, and whether the inertia settled."""
    from sklearn import config_context
    from sklearn.cluster import MiniBatchKMeans as ScikitMiniBatchKMeans

    # Scikit-learn does not accept a first batch with fewer rows than clusters.
    batch_size = max(params.batch_size, len(centers))
    estimator = ScikitMiniBatchKMeans(
        n_clusters=len(centers),
        init=centers,
        n_init=1,
        batch_size=batch_size,
        compute_labels=False,
        reassignment_ratio=params.reassignment_ratio,
        random_state=int(rng.integers(2**31)),
    )
    before = total_inertia(drawn, centers)
    sparse = isinstance(features, sp.csr_array)
    with limited(1), config_context(assume_finite=True):
        for turn in range(params.max_iter):
            within = subprogress(progress, turn / params.max_iter, (turn + 1) / params.max_iter)
            message = f"pass {turn + 1} of at most {params.max_iter}"
            batches = shuffled(features, batch_size, rng, checked=sparse or turn > 0)
            for number, (done, batch) in enumerate(batches):
                if number % 50 == 0:
                    within(done, "moving centres", message)
                estimator.partial_fit(as_floats(batch))
            centers = np.asarray(estimator.cluster_centers_, dtype=np.float64)
            now = total_inertia(drawn, centers)
            if now >= before * (1.0 - params.tol):
                return centers, turn + 1, True
            before = now
    return centers, params.max_iter, False
