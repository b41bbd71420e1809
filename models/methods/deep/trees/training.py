"""An autoencoder and a cluster tree in its embedding, trained together.

The network is first trained to reconstruct rows alone. Then the tree starts as one leaf, and at the
start of each epoch leaves are split until there are as many as the schedule wants (`leaves_at`), so
that pruned ones are replaced. Each step moves the network and the centres of leaves down the sum of
reconstruction and, by `clustering_weight`, the tree's losses (`trees.cluster_tree`), by Adam. With
an augmentation each batch is joined by another version of its rows in both stages.

The random numbers of an epoch depend only on its number, so a fit resumed from a checkpoint, taken
after an epoch, gives the same result.

Source: Mautz, Plant and Böhm (2020), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from models.answers.learned_steps import KeptStates
from models.arrays import Array, Arrays, Int, Single, row_blocks
from models.errors import UsageError
from models.method import Run
from models.methods.deep.networks.autoencoder import Autoencoder
from models.methods.deep.networks.scaling import BLOCK, Augmentation, RowScaling
from models.methods.deep.trees.cluster_tree import ClusterTree
from models.methods.deep.trees.parameters import TreeParams
from models.numerics.descent import Adam
from models.running.progress import Progress, held_progress, subprogress

if TYPE_CHECKING:
    from torch import Tensor

Curve = list[tuple[int, float]]

CURVES = ("reconstruction", "centres", "compression", "n_leaves")


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """Rows in a canonical order, scaled when they are read.

    rows : as stored. order : (n_points,) the row of each point.
    """

    rows: Array
    order: Int
    scaling: RowScaling

    @property
    def n_points(self) -> int:
        return len(self.order)

    def take(self, points: Int | slice) -> Single:
        return self.scaling.apply(self.rows[self.order[points]])


@dataclass(slots=True)
class Training:
    """A network and its tree after some epochs.

    tree : None before the first epoch with it.
    curves : by name, the mean over each epoch's steps; of leaves, the number at its end.
    """

    network: Autoencoder
    adam: Adam
    tree: ClusterTree | None = None
    n_epochs: int = 0
    curves: dict[str, Curve] = field(default_factory=lambda: {name: [] for name in CURVES})


class Trainer:
    """Trains on given rows. To be used within `models.running.device.computing`."""

    def __init__(
        self,
        rows: ScaledRows,
        params: TreeParams,
        seed: int,
        augmentation: Augmentation | None = None,
        keep_steps: int = 0,
        described: Callable[[ClusterTree, Single], tuple[float, Array]] | None = None,
    ) -> None:
        """augmentation : makes another version of each row, which is trained on as well.

        keep_steps : the most earlier trees that are kept. described : the cost of a tree and its
        array for `KeptStates`, given the points' embeddings.
        """
        self.kept, self._described = KeptStates(keep_steps), described
        self._rows, self._params, self._seed = rows, params, seed
        self._augmentation = augmentation
        self._n_batches = max(1, round(rows.n_points / params.points_of_step(rows.n_points)))
        network = Autoencoder(
            rows.rows.shape[1],
            params.hidden_sizes,
            params.embedding_size,
            np.random.default_rng([seed, 0]),
            params.device,
        )
        self.training = Training(network, Adam(network.parameters, params.learning_rate))

    def train(self, run: Run) -> Training:
        """All epochs, from the checkpoint where there is one.

        Raises UsageError where a loss is not finite.
        """
        training, params = self.training, self._params
        saved = run.checkpoint.load()
        if saved is not None:
            self._restore(saved)
        while training.n_epochs < params.n_epochs:
            number = training.n_epochs
            progress, within = held_progress(_epoch_progress(run.progress, training, params))
            if number >= params.n_pretrained:
                self._grow(number - params.n_pretrained, within)
            self._epoch(np.random.default_rng([self._seed, 1, number]), progress)
            run.checkpoint.save(self._arrays())
        return training

    def _epoch(self, rng: np.random.Generator, progress: Progress) -> None:
        """One pass over the points in random order."""
        import torch

        training, tree = self.training, self.training.tree
        order = rng.permutation(self._rows.n_points)
        sums = training.network.parameters.new_zeros(3)
        stage = "pretraining the network" if tree is None else "training network and tree"
        batches = np.array_split(order, self._n_batches)
        for number, points in enumerate(batches):
            progress(number / len(batches), stage)
            rows = torch.from_numpy(self._rows.take(points)).to(self._params.device)
            n_points = len(rows)
            if self._augmentation is not None:
                rows = torch.cat([rows, self._augmentation(rows, rng)])
            training.network.gradient.zero_()
            counts = None
            with torch.enable_grad():
                embedding = training.network.encode(rows)
                loss = torch.nn.functional.mse_loss(training.network.decode(embedding), rows)
                sums[0] += loss.detach()
                if tree is not None:
                    losses = tree.losses(embedding, len(rows) // n_points)
                    counts = losses.counts
                    sums[1:] += torch.stack([losses.centres, losses.compression]).detach()
                    loss = loss + self._params.clustering_weight * (
                        losses.centres + losses.compression
                    )
                loss.backward()  # type: ignore[no-untyped-call]
            training.adam.step(training.network.gradient)
            if tree is not None and counts is not None:
                tree.step(counts)
        means = (sums / len(batches)).tolist()
        training.n_epochs += 1
        self._require_finite(means)
        for name, mean in zip(CURVES, means, strict=False):
            if tree is not None or name == "reconstruction":
                training.curves[name].append((training.n_epochs, mean))
        if tree is not None:
            training.curves["n_leaves"].append((training.n_epochs, float(tree.shape.n_leaves)))

    def _require_finite(self, losses: list[float]) -> None:
        if np.isfinite(losses).all():
            return
        raise UsageError(
            f"The training diverged: the loss of epoch {self.training.n_epochs} is not finite. "
            f"Lower 'learning_rate' (it is {self._params.learning_rate:g}).",
            code="diverged",
            parameter="learning_rate",
        )

    def _grow(self, epoch: int, progress: Progress) -> None:
        """Start the tree, or split its leaves, where the schedule wants more of them."""
        training = self.training
        n_wanted = self._params.leaves_at(epoch)
        if training.tree is not None and training.tree.shape.n_leaves >= n_wanted:
            return
        embedding = self.embed()
        if self.kept.most and training.tree is not None and self._described is not None:
            cost, state = self._described(training.tree, embedding)
            self.kept.offer(training.n_epochs, cost, lambda: state)
        if training.tree is None:
            training.tree = self._new_tree(embedding.mean(axis=0, dtype=np.float64))
            training.adam = Adam(training.network.parameters, self._params.learning_rate)
        rng = np.random.default_rng([self._seed, 2, epoch])
        training.tree.grow(embedding, n_wanted, rng, progress)

    def _new_tree(self, centre: Array) -> ClusterTree:
        params = self._params
        return ClusterTree(
            centre.astype(np.float32),
            params.learning_rate,
            params.n_clusters,
            self._rows.n_points / self._n_batches,
            params.pruning_threshold,
            params.device,
        )

    def embed(self) -> Single:
        """(n_points, E) the embeddings of all points, in canonical order."""
        import torch

        out = np.empty((self._rows.n_points, self._params.embedding_size), dtype=np.float32)
        width = max(self._rows.rows.shape[1], *self._params.hidden_sizes)
        for block in row_blocks(self._rows.n_points, width, BLOCK):
            rows: Tensor = torch.from_numpy(self._rows.take(block)).to(self._params.device)
            out[block] = self.training.network.encode(rows).cpu().numpy()
        return out

    def _arrays(self) -> dict[str, Array]:
        training = self.training
        arrays: dict[str, Array] = {
            "parameters": training.network.parameters.cpu().numpy().copy(),
            "n_epochs": np.array(training.n_epochs),
            **{f"adam.{name}": array for name, array in training.adam.arrays().items()},
            **{
                f"curves.{name}": np.array(curve, dtype=np.float64).reshape(-1, 2)
                for name, curve in training.curves.items()
            },
        }
        if training.tree is not None:
            arrays |= {f"tree.{name}": array for name, array in training.tree.arrays().items()}
        arrays.update(self.kept.arrays("states."))
        return arrays

    def _restore(self, saved: Arrays) -> None:
        import torch

        training = self.training
        training.network.parameters.copy_(torch.from_numpy(np.array(saved["parameters"])))
        training.n_epochs = int(saved["n_epochs"])
        training.curves = {
            name: [(int(epoch), float(value)) for epoch, value in saved[f"curves.{name}"]]
            for name in CURVES
        }
        if "tree.parent" in saved:
            training.tree = self._new_tree(np.zeros(self._params.embedding_size))
            training.tree.restore(_part(saved, "tree."))
            training.adam = Adam(training.network.parameters, self._params.learning_rate)
        training.adam.restore(_part(saved, "adam."))
        self.kept = KeptStates.restored(saved, "states.", self.kept.most)


def _part(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, under the remainder of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _epoch_progress(progress: Progress, training: Training, params: TreeParams) -> Progress:
    """The progress of an epoch, with the last losses."""
    number = training.n_epochs
    measured = "".join(
        f", {name} {training.curves[name][-1][1]:.4g}"
        for name in CURVES[:3]
        if training.curves[name]
    )
    within = subprogress(
        progress,
        0.05 + 0.85 * number / params.n_epochs,
        0.05 + 0.85 * (number + 1) / params.n_epochs,
    )

    def report(fraction: float, stage: str, message: str = "") -> None:
        within(fraction, stage, message or f"epoch {number + 1} of {params.n_epochs}{measured}")

    return report
