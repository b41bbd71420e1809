"""An autoencoder and a cluster tree in its embedding, trained together.

The network is first trained to reconstruct rows alone. Then the tree starts as one leaf, and at the
start of each epoch leaves are split until there are as many as the schedule wants (`leaves_at`), so
that pruned ones are replaced. Each step moves the network and the centres of leaves down the sum of
reconstruction and, by `clustering_weight`, the tree's losses (`trees.leaf_steps`), by Adam. With
an augmentation each batch is joined by another version of its rows in both stages.

Nothing of a step is read back: some are taken ahead, and those after one that made a leaf too light
change nothing and are taken again once it is removed. On a GPU steps are recorded and replayed.

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
from models.methods.deep.networks.autoencoder import Autoencoder, BatchPass
from models.methods.deep.networks.scaling import BLOCK, Augmentation, RowScaling
from models.methods.deep.trees.cluster_tree import ClusterTree
from models.methods.deep.trees.parameters import AHEAD_BYTES, TreeParams
from models.numerics.descent import Adam, step_together
from models.running.graphs import Replayed
from models.running.progress import Progress, held_progress, subprogress

if TYPE_CHECKING:
    from torch import Tensor

Curve = list[tuple[int, float]]

AHEAD = 16
"""Steps before it is looked whether leaves are to be removed."""

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
        import torch

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
        self._n_versions = 1 if augmentation is None else 2
        n_rows = self._n_versions * -(-rows.n_points // self._n_batches)
        self._ahead = max(1, min(AHEAD, AHEAD_BYTES // (4 * n_rows * (rows.rows.shape[1] + 1))))
        self._pass = BatchPass(network, n_rows)
        # Reconstruction, centres and compression; the last is 1 and counts steps.
        self._losses = network.parameters.new_zeros(4)
        self._losses[3] = 1.0
        self._sums = torch.zeros_like(self._losses)
        self._step = self._new_step()

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
        training = self.training
        order = rng.permutation(self._rows.n_points)
        stage = "pretraining the network" if training.tree is None else "training network and tree"
        batches = np.array_split(order, self._n_batches)
        waiting: list[Tensor] = []
        self._sums.zero_()
        n_done, n_ahead = 0, self._ahead
        while n_done < len(batches):
            n_waiting = min(n_ahead, len(batches) - n_done)
            waiting += [
                self._batch(points, rng)
                for points in batches[n_done + len(waiting) : n_done + n_waiting]
            ]
            for number, rows in enumerate(waiting[:n_waiting], n_done):
                progress(number / len(batches), stage)
                self._step(rows)
            n_taken, is_light = n_waiting, False
            if training.tree is not None:
                n_taken, is_light = self._seen(n_done)
            del waiting[:n_taken]
            n_done += n_taken
            n_ahead = 1 if is_light else min(2 * n_ahead, self._ahead)
            if training.tree is not None and is_light:
                training.tree.prune_light()
                self._step = self._new_step()
        means = (self._sums[:3] / len(batches)).tolist()
        training.n_epochs += 1
        self._require_finite(means)
        for name, mean in zip(CURVES, means, strict=False):
            if training.tree is not None or name == "reconstruction":
                training.curves[name].append((training.n_epochs, mean))
        if training.tree is not None:
            n_leaves = float(training.tree.shape.n_leaves)
            training.curves["n_leaves"].append((training.n_epochs, n_leaves))

    def _batch(self, points: Int, rng: np.random.Generator) -> Tensor:
        """(n n_versions, n_features + 1) rows, then other versions of them; the last column 1."""
        import torch

        n_rows, device = self._n_versions * len(points), self._params.device
        rows = np.ones((n_rows, self._rows.rows.shape[1] + 1), dtype=np.float32)
        rows[: len(points), :-1] = self._rows.take(points)
        batch = torch.from_numpy(rows).to(device)
        if self._augmentation is not None:
            batch[len(points) :, :-1] = self._augmentation(batch[: len(points), :-1], rng)
        return batch

    def _new_step(self) -> Replayed:
        """The step of the network and the tree that there are."""
        import torch

        training, tree = self.training, self.training.tree
        losses = self._losses
        adams, gradients = [training.adam], [training.network.gradient]
        going, stopped = torch.ones_like(losses[0]), torch.zeros_like(losses[0])
        if tree is not None:
            adams, gradients = [*adams, tree.steps.adam], [*gradients, tree.steps.gradient]
            going, stopped = tree.steps.going, tree.steps.stopped

        def step(rows: Tensor) -> None:
            embedding = self._pass.forward(rows, losses[:1])
            back = self._pass.to_embedding()
            counts = None if tree is None else tree.steps.press(embedding, back, losses[1:3])
            self._pass.to_rows(back)
            self._sums.addcmul_(losses, going)
            step_together(adams, gradients, going, stopped)
            if tree is not None and counts is not None:
                tree.steps.weigh(counts)

        return Replayed(step, self._params.device)

    def _seen(self, n_done: int) -> tuple[int, bool]:
        """The steps that were taken beyond `n_done` in this epoch, and whether a leaf is too light
        for more of them."""
        import torch

        assert self.training.tree is not None
        read = torch.stack([self._sums[3], self.training.tree.steps.stopped])
        n_taken, stopped = read.tolist()
        return round(n_taken) - n_done, bool(stopped)

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
        self._step = self._new_step()

    def _new_tree(self, centre: Array) -> ClusterTree:
        params = self._params
        return ClusterTree(
            centre.astype(np.float32),
            params.learning_rate,
            params.n_clusters,
            self._rows.n_points / self._n_batches,
            params.pruning_threshold,
            params.device,
            params.clustering_weight,
            self._n_versions,
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
        self._step = self._new_step()
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
