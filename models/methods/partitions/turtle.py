"""Turtle: the labelling that linear classifiers learn best, in one or several feature spaces.

A labelling gives each point a probability for each cluster, the mean over spaces of the softmax of
a linear head. It is good if plain linear classifiers, one in each space, learn it in a few steps
and agree with it. The heads are trained towards that, and `gamma` rewards the entropy of the
clusters' sizes, so that not all points end in one cluster. The best of `n_init` runs is the one
whose labels linear classifiers predict best on held-out points (`heads.bilevel`).

Features are used unscaled: a step moves the score of a point by at most the step length times the
sum of the point's absolute values. The defaults are for hundreds of columns with values around 1;
few columns or small values need longer steps, and columns of very different scales need the step
'standardize' first. A large `gamma` favours clusters of equal size. Logits are the logarithms of
the labelling, in float64; clusters are ordered by size, largest first.

Source: Gadetsky, Jiang and Brbic, "Let Go of Your Labels with Unsupervised Transfer" (ICML 2024),
eq. 9 and 12, with the defaults of the authors' program; the equations are in `heads.bilevel`. The
authors' runs differ in their parameters, these in their seeds.

Cost: `n_init` times `max_iter` steps of 4 (inner_iter + 1) B D K multiplications and additions, B
the rows of a batch, D the columns of all spaces; on a GPU ('device': "cuda") that is minutes, on a
processor hours with all defaults. Memory: the features in float32, or a pool of them where they
take more than 512 MiB, a batch, about 10 D K and 5 S B K values, 8 N K bytes for the logits.

Measured: CPU time as N^0.8 D^1.0 K^0.0, from 4,000 x 128 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.arrays import Float
from models.clusters.placing import bytes_of_logits, empty_cluster_warnings, placed
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.heads.bilevel import LabellingParams, LearnedHeads, accuracy, train
from models.methods.partitions.heads.labels import labelled, placed_by
from models.methods.partitions.heads.space_tensors import SpaceTensors, bytes_held, require_spaces
from models.parameters import Device, Seed
from models.running import device
from models.running.progress import subprogress
from models.running.threads import limited
from models.tree.build import from_partition
from models.tree.tree import Tree

VALIDATED = 20_000
"""The number of rows on which runs are compared, or that of a batch if it is larger."""


class TurtleParams(LabellingParams):
    batch_size: int = Field(
        10_000, ge=1, le=10_000_000, description="Points of a step; all where there are fewer."
    )
    n_init: int = Field(
        1,
        ge=1,
        le=1000,
        description="Number of runs; the one with the best cross-validated accuracy is kept.",
    )
    n_folds: int = Field(
        5,
        ge=0,
        le=100,
        description=(
            "Folds of the cross-validation, at most as many as there are points. 0: no "
            "cross-validation, possible with one run only."
        ),
    )
    device: Device = "cpu"
    seed: Seed = 0


class Turtle(Method[TurtleParams]):
    """See the module's docstring."""

    title = "Turtle"
    paper = Paper("Let Go of Your Labels with Unsupervised Transfer", 2024, "ICML, eq. 9 and 12")
    Params = TurtleParams
    inputs = {
        "features": Input(
            by_rows=True,
            many=True,
            description="One row per point; several give the same points in several spaces.",
        ),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    needs = ("torch",)
    placing = "its most probable cluster"
    advice = "Ask for fewer clusters, lower 'batch_size', or use a sample of the points."
    example = {
        "n_clusters": 3,
        "max_iter": 60,
        "learning_rate": 0.05,
        "inner_learning_rate": 0.05,
        "inner_iter": 5,
    }

    def _memory(self, shapes: Shapes, params: TurtleParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, width = shapes["features"]
        kept = bytes_of_logits(shapes, params.n_clusters) + 8 * width * params.n_clusters
        if params.device == "cuda":
            return kept
        batch = min(params.batch_size, n_points)
        learned = (10 * width + 5 * batch) * params.n_clusters + batch * width
        validated = min(max(VALIDATED, batch), n_points) if params.n_folds else 0
        held = bytes_held(n_points, width, params.batch_size)
        return kept + held + 4 * (learned + 2 * validated * width)

    def _check(self, data: Data, params: TurtleParams) -> None:
        device.require(params.device)
        if params.n_init > 1 and params.n_folds < 2:
            raise UsageError(
                f"Parameter 'n_init' is {params.n_init}, and runs are compared by "
                f"cross-validation, but 'n_folds' is {params.n_folds}; then it must be 2 or more.",
                code="wrong-parameter",
                parameter="n_folds",
            )
        if params.n_folds == 1:
            raise UsageError(
                "Parameter 'n_folds' is 1; it is 2 or more, or 0 for no cross-validation.",
                code="wrong-parameter",
                parameter="n_folds",
            )
        data.leaf_names(params.n_clusters, "cluster")
        require_spaces(data, params.n_clusters)

    def _fit(self, data: Data, params: TurtleParams, run: Run) -> Fitted:

        spaces = data.spaces("features")
        with limited(run.threads):
            with device.computing(run.threads):
                reading = subprogress(run.progress, 0.0, 0.05)
                tensors = SpaceTensors(spaces, params.device, params.batch_size, reading)
                best = _best_run(tensors, params, run)
            run.progress(0.95, "assigning points")
            points = labelled(spaces, best.weights, best.bias, tensors.frames)
        n_clusters = params.n_clusters
        return Fitted(
            tree=from_partition(
                points.cluster, n_clusters, names=data.leaf_names(n_clusters, "cluster")
            ),
            model=Model(points.arrays, {"accuracies": best.accuracies}),
            logits=points.logits,
            metrics=best.metrics,
            warnings=(
                *best.warnings,
                *_reach_warnings(tensors, params),
                *empty_cluster_warnings(points.cluster, n_clusters),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the most probable cluster, with its probability."""
        return placed(tree, *placed_by(model, data.spaces("features")))

    def _logits(self, model: Model, data: Data) -> Float:
        return placed_by(model, data.spaces("features"))[1]


def _reach_warnings(tensors: SpaceTensors, params: TurtleParams) -> tuple[str, ...]:
    """A warning if classifiers that start again in each step cannot learn anything.

    A step of Adam moves a parameter by its length at most, so the score of a point by that times
    the sum of its absolute values.
    """
    reach = params.inner_iter * params.inner_learning_rate * min(tensors.sums)
    if params.warm_start or reach >= 1.0:
        return ()
    return (
        f"In {params.inner_iter} steps of {params.inner_learning_rate:g} a classifier's scores "
        f"move by {reach:.2g} at most on a typical point, too little to learn a labelling: raise "
        "'inner_learning_rate' (or 'inner_iter'), and 'learning_rate' likewise, or scale the "
        "features up.",
    )


@dataclass(frozen=True, slots=True)
class _Best:
    """The run that is kept.

    weights, bias : its heads, as for `labelled`. accuracies : cross-validated accuracies of all
        runs.
    """

    weights: list[npt.NDArray[np.float32]]
    bias: npt.NDArray[np.float32]
    metrics: dict[str, float]
    accuracies: list[float]
    warnings: tuple[str, ...]


def _best_run(tensors: SpaceTensors, params: TurtleParams, run: Run) -> _Best:
    """The run with the best cross-validated accuracy, the first of equal ones.

    A run that puts all points in one cluster, which is learned perfectly, ranks last.
    """
    numbers = tensors.sample(max(VALIDATED, params.batch_size), run.rng)
    best: LearnedHeads | None = None
    most = False, -1.0
    accuracies = []
    for number in range(params.n_init):
        start, stop = (0.05 + 0.9 * at / params.n_init for at in (number, number + 1))
        middle = start + 0.9 * (stop - start) if params.n_folds else stop
        prefix = f"run {number + 1} of {params.n_init}" if params.n_init > 1 else ""
        learning = subprogress(run.progress, start, middle, prefix)
        heads = train(tensors, params, run.rng, learning)
        rank = True, 0.0
        if params.n_folds:
            rows = tensors.take(numbers)
            labels = heads.labels(rows)
            within = subprogress(run.progress, middle, stop, prefix)
            accuracies.append(accuracy(rows, labels, params.n_folds, run.rng, within))
            rank = bool((labels != labels[0]).any()), accuracies[-1]
        if rank > most:
            best, most = heads, rank
    assert best is not None
    metrics = {
        "objective": best.objective.value,
        "cross_entropy": best.objective.cross_entropy,
        "entropy": best.objective.entropy,
    }
    notes: tuple[str, ...] = ()
    if params.n_folds:
        metrics["cross_validated_accuracy"] = most[1]
        if len(numbers) < tensors.n_points:
            notes = (
                f"The cross-validated accuracy was measured on a sample of {len(numbers):,} of "
                f"{tensors.n_points:,} points.",
            )
    weights = [tensor.cpu().numpy() for tensor in best.layer.weights]
    bias = np.stack([tensor.cpu().numpy() for tensor in best.layer.bias])
    return _Best(weights, bias, metrics, accuracies, notes)
