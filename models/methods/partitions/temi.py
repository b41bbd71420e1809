"""Temi: clusters that a point shares with its nearest neighbours, by self-distillation of heads.

Several linear heads with softmax are trained on pairs of a point and one of its `k_neighbors`
nearest neighbours by cosine, to maximise the mutual information of the clusters of the two. Each
head learns from its own moving average, its teacher; the equations are in `heads.distillation`. The
head with the lowest loss over the last pass is kept: logits are the logarithms of its teacher's
probabilities, in float64. Clusters are ordered by size, largest first.

The published momentum of the teacher, 0.996, is for some 12,500 steps: it averages the last 250. By
default the average spans a fiftieth of the steps, as there, but at least 10; else a teacher of
small data would not have begun to learn when training ends: with 3,000 images of 60 classes (two
draws from TinyImageNet; 500 steps) accuracy is .24 and .29 with 0.996, .52 and .55 by default, .48
and .51 by k-means. A warning says if the loss was still falling, or if the teacher lagged behind
the student.

Where they are 'auto', passes, step length and neighbours follow the data (`Schedule`): 500 steps or
more, steps that move a score by at most .1 before the temperature (at the paper's 12,500 steps and
feature sizes about the published 1e-4), and a third of a cluster's points for neighbours.
NMI of 800 rows, two draws each, by the published settings, so, and by k-means: 20 newsgroups .29,
.60, .58; usps .37, .66, .62; optdigits .43, .84, .75; pendigits .51, .62, .71; emoji .25, .51, .58;
segment .31, .39, .56. Clusters come out of like size: where classes are not, take k-means.

So where 'keep' is 'auto' k-means is run as well, and its clusters are kept, as a linear head, where
they tell more of their neighbours' clusters: the mutual information of a point's cluster and its
neighbours', which heads are trained to raise. NMI by heads and by k-means of 800 rows, two draws
each: emoji .549 and .601, .478 and .562, where k-means is kept; heads are kept in 20 newsgroups
(.606 and .595, .594 and .574), optdigits (.766 and .612, .779 and .714), pendigits (.751 and .714,
.766 and .722), USPS (.606 and .560, .617 and .555) and segment (.644 and .664, the one draw of
twelve that this decides for the worse, .622 and .608). The result's `chosen` says which.

Features are used unscaled, except to find neighbours. Some clusters may end without points; a
warning tells how many.

Source: Adaloglou, Michels, Kalisch and Kollmann, "Exploring the Limits of Deep Image Clustering
using Pretrained Models" (BMVC 2023). There a head may have a hidden layer; here it has none.

Cost: 2 N^2 D multiplications and additions for the neighbours, exactly, then 24 N D H K for each
pass over the points, H the number of heads: on a GPU ('device': "cuda") minutes, on a processor
hours with all defaults. Memory: the features in float32 where they take at most 512 MiB (else they
are read repeatedly), a tile of 64 MiB, about 12 B H K and 7 D H K values, B the points of a batch,
4 bytes for each neighbour, 8 N K for the logits.

Measured: CPU time as N^1.3 D^0.2 K^0.0, from 4,000 x 128 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Float, Int
from models.clusters.kmeans import KMeansEffort, best_run
from models.clusters.placing import bytes_of_logits, empty_cluster_warnings, placed
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.frames import Aside, Frame
from models.inputs.rows import Rows
from models.method import (
    Fitted,
    Input,
    Method,
    Model,
    Paper,
    Predictions,
    Run,
    Shapes,
)
from models.methods.partitions.heads.distillation import (
    MOST_NEAR,
    TILE,
    HeadParams,
    Schedule,
    TaughtHeads,
    neighbours,
    train,
)
from models.methods.partitions.heads.labels import Labelled, labelled, placed_by
from models.methods.partitions.heads.space_tensors import (
    SpaceTensors,
    bytes_held,
    framed,
    require_spaces,
)
from models.parameters import Choice, Device, Seed
from models.running import device
from models.running.progress import silent, subprogress
from models.running.threads import limited
from models.tree.build import from_partition
from models.tree.tree import Tree

LEAST_ANGLE = 2.0**-10
"""Rows that lie within such an angle, seen from 0, have cosines that are rounding in single
precision."""

MOST_COMPARED = {"cpu": 5e13, "cuda": 5e16}
"""The N^2 D at which finding neighbours takes most of an hour."""

MOST_LATE_FALL = 0.1
"""The largest share of the loss's fall in the last fifth of the passes that is not warned of."""

MOST_VALUES = 1 << 24
"""The most values of features for which k-means is run beside the heads."""

MOST_APART = 0.1
"""The largest share of points in other clusters by teacher and student that is not warned of."""


class TemiParams(HeadParams):
    keep: Literal["auto", "heads"] = Field(
        "auto",
        description="What the clusters are: those by the best head, or ('auto') by k-means where "
        "these tell more of the clusters of a point's neighbours; features of more than "
        f"{MOST_VALUES:,} values are not compared so.",
    )
    batch_size: int = Field(
        512, ge=1, le=1_000_000, description="Points of a step; all where there are fewer."
    )
    device: Device = "cpu"
    seed: Seed = 0


class Temi(Method[TemiParams]):
    """See the module's docstring."""

    title = "Temi"
    paper = Paper(
        "Exploring the Limits of Deep Image Clustering using Pretrained Models", 2023, "BMVC"
    )
    Params = TemiParams
    inputs = {
        "features": Input(by_rows=True, description="One row per point, none all zeros."),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    needs = ("torch",)
    placing = "the cluster that is most probable by the teacher"
    advice = "Ask for fewer clusters or heads, lower 'batch_size', or use a sample of the points."
    example = {
        "n_clusters": 3,
        "n_heads": 8,
        "k_neighbors": 5,
        "max_iter": 200,
        "learning_rate": 0.02,
    }

    def _memory(self, shapes: Shapes, params: TemiParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, width = shapes["features"]
        if float(n_points) ** 2 * width > MOST_COMPARED[params.device]:
            raise UsageError(
                f"Method 'temi' compares all pairs of {n_points:,} points in {width:,} columns, "
                f"which takes too long with 'device': {params.device!r}. Use a GPU, fewer columns "
                "(preprocess 'pca'), or a sample of the points and predict the rest.",
                code="too-large",
                role="features",
            )
        kept = bytes_of_logits(shapes, params.n_clusters)
        if params.keep == "auto" and n_points * width <= MOST_VALUES:
            # Rows for k-means with a copy, the distances, and the pairs of neighbours.
            kept += 24 * n_points * (width + params.n_clusters + MOST_NEAR)
        if params.device == "cuda":
            return kept
        near = MOST_NEAR if params.k_neighbors == "auto" else params.k_neighbors
        values = TILE + n_points * min(near, n_points)
        batch = min(params.batch_size, n_points)
        values += (12 * batch + 7 * width) * params.n_heads * params.n_clusters
        return kept + bytes_held(n_points, width, params.batch_size) + 4 * values

    def _check(self, data: Data, params: TemiParams) -> None:
        device.require(params.device)
        data.leaf_names(params.n_clusters, "cluster")
        (rows,) = require_spaces(data, params.n_clusters)
        Aside.of(rows).require_directions(LEAST_ANGLE)

    def _fit(self, data: Data, params: TemiParams, run: Run) -> Fitted:

        spaces = data.spaces("features")
        n_clusters = params.n_clusters
        with limited(run.threads):
            with device.computing(run.threads):
                reading = subprogress(run.progress, 0.0, 0.05)
                tensors = SpaceTensors(spaces, params.device, params.batch_size, reading)
                schedule = Schedule.of(
                    params, tensors.n_points, tensors.batch_size, tensors.sums[0]
                )
                n_neighbors = min(schedule.k_neighbors, tensors.n_points - 1)
                near = neighbours(tensors, n_neighbors, subprogress(run.progress, 0.05, 0.2))
                teaching = subprogress(run.progress, 0.2, 0.95)
                taught = train(tensors, near, params, schedule, run.rng, teaching)
                best = int(taught.loss.argmin())
                weights = taught.weights[:, best].cpu().numpy()
                bias = taught.bias[best : best + 1].cpu().numpy()
            run.progress(0.95, "assigning points")
            points = labelled(spaces, [weights], bias, tensors.frames)
            kept: dict[str, Choice] = {}
            notes: tuple[str, ...] = ()
            if params.keep == "auto" and spaces[0].shape[0] * spaces[0].shape[1] <= MOST_VALUES:
                points, kept, notes = _kept(
                    points, spaces, tensors.frames, near.cpu().numpy(), n_clusters, params.seed
                )
        return Fitted(
            tree=from_partition(
                points.cluster, n_clusters, names=data.leaf_names(n_clusters, "cluster")
            ),
            model=Model(points.arrays, {"losses": taught.loss.tolist()}),
            logits=points.logits,
            metrics={"loss": float(taught.loss[best]), "mean_loss": float(taught.loss.mean())},
            warnings=(
                *_neighbour_warnings(tensors.n_points, schedule, n_clusters),
                *_loss_warnings(taught, best, params, schedule),
                *notes,
                *empty_cluster_warnings(points.cluster, n_clusters),
            ),
            chosen={**_chosen(params, schedule), **kept},
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the most probable cluster, with its probability by the teacher."""
        return placed(tree, *placed_by(model, data.spaces("features")))

    def _logits(self, model: Model, data: Data) -> Float:
        return placed_by(model, data.spaces("features"))[1]


def _kept(
    heads: Labelled,
    spaces: Sequence[Rows],
    frames: Sequence[Frame],
    near: Int,
    n_clusters: int,
    seed: int,
) -> tuple[Labelled, dict[str, Choice], tuple[str, ...]]:
    """The clusters by heads or by k-means, which was kept and why, and a warning.

    near : (n_points, k_neighbors). O(N K D) for each iteration of k-means.
    """
    (rows,), (frame,) = spaces, frames
    values = np.asarray(framed(rows, frame).values(0, rows.shape[0]), dtype=np.float64)
    if np.unique(values, axis=0).shape[0] < n_clusters:
        return heads, {}, ()
    mean = values.mean(axis=0)
    values = values - mean
    effort = KMeansEffort(n_init=10, max_iter=300, tol=1e-4)
    run = best_run(values, n_clusters, effort, np.random.default_rng(seed), silent)
    # The nearest centre is the one of the largest x.c - |c|^2 / 2.
    spread = float(np.square(run.centers).mean())
    variance = max(run.inertia / values.size, 1e-12 * spread, np.finfo(np.float64).tiny)
    weights = run.centers.T / variance
    half = 0.5 * np.square(run.centers).sum(axis=1)
    bias = -(mean @ run.centers.T + half)[None] / variance
    by_means = labelled(spaces, [weights], bias, frames)
    own, others = (mutual_information(one.cluster, near) for one in (heads, by_means))
    is_better = others > own * (1.0 + 1e-9)
    why = (
        f"The clusters of a point and of its neighbours have the mutual information {own:.3f} by "
        f"heads, {others:.3f} by k-means."
    )
    if not is_better:
        return heads, {"keep": Choice("heads", why)}, ()
    note = (
        "The clusters are by k-means, which tell more of their neighbours' clusters than those by "
        "the best head; 'keep' 'heads' takes these."
    )
    return by_means, {"keep": Choice("kmeans", why)}, (note,)


def mutual_information(cluster: Int, near: Int) -> float:
    """Between the clusters of the two points of a pair, in nats, each point being paired with its
    neighbours near[i]. O(N k log(N k))."""
    one, other = np.repeat(cluster, near.shape[1]), cluster[near.ravel()]
    n_clusters = int(cluster.max()) + 1
    pair, times = np.unique(one * n_clusters + other, return_counts=True)
    shares = [np.bincount(each, minlength=n_clusters) / one.size for each in (one, other)]
    joint = times / one.size
    first, second = np.divmod(pair, n_clusters)
    return float((joint * np.log(joint / (shares[0][first] * shares[1][second]))).sum())


def _chosen(params: TemiParams, schedule: Schedule) -> dict[str, Choice]:
    """What was taken for parameters that were 'auto'."""
    taken = {
        "k_neighbors": (schedule.k_neighbors, "A third of a cluster's points, from 5 to 50."),
        "max_iter": (schedule.max_iter, "At least 100 passes and 500 steps."),
        "learning_rate": (
            schedule.learning_rate,
            "For the number of steps and the size of the values.",
        ),
    }
    return {
        name: Choice(value, why)
        for name, (value, why) in taken.items()
        if getattr(params, name) == "auto"
    }


def _neighbour_warnings(n_points: int, schedule: Schedule, n_clusters: int) -> tuple[str, ...]:
    """Warnings if points have fewer neighbours than requested, or fewer in their own cluster."""
    wanted, n_others = schedule.k_neighbors, n_points - 1
    mean = n_points / n_clusters
    if wanted > n_others:
        return (
            f"Points were paired with all {n_others} others, fewer than 'k_neighbors' = {wanted}.",
        )
    if wanted > mean:
        return (
            f"Points were paired with 'k_neighbors' = {wanted} others, more than the {mean:.4g} "
            "points that a cluster has on average: pairs join clusters.",
        )
    return ()


def _loss_warnings(
    taught: TaughtHeads, best: int, params: TemiParams, schedule: Schedule
) -> tuple[str, ...]:
    """Warnings if the best head is about as uncertain as one that gives each cluster 1 / K, was
    still learning at the end, or is far from its student."""
    n_clusters, loss = params.n_clusters, float(taught.loss[best])
    uniform = -(2.0 - 2.0 * params.beta) * math.log(n_clusters) / n_clusters
    warnings = []
    if loss >= 1.5 * uniform:
        warnings.append(
            "The best head is hardly more certain than one that gives all clusters the same "
            f"probability: its loss is {loss:.3g}, that of equal probabilities {uniform:.3g}. "
            "Raise 'learning_rate' or 'max_iter', lower 'momentum', or 'standardize' the features."
        )
    fall = float(taught.late_fall[best])
    if fall > MOST_LATE_FALL:
        warnings.append(
            f"The loss was still falling: {fall:.0%} of its fall came in the last fifth of the "
            f"passes. Raise 'max_iter' (now {schedule.max_iter:,}) or 'learning_rate'."
        )
    apart = float(taught.apart[best])
    if apart > MOST_APART:
        warnings.append(
            f"The teacher lags behind its student: in the last pass they put {apart:.0%} of the "
            "points into different clusters. Lower 'momentum' or raise 'max_iter'."
        )
    return tuple(warnings)
