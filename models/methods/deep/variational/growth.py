"""A tree grown from a root with two leaves: train, split a leaf, and at the end train all.

The leaf that is split is the one with the most points, or with the largest share of the
reconstruction loss. Only the networks that a split adds are trained (`phases`). A split is kept if
both of its leaves are the most probable leaf of enough points; else it is undone, and the leaf is
tried once more from other random weights, then left alone. When there are enough leaves, or none
can be split, all networks are trained together. Leaves without points are then pruned.

Source: Manduchi et al., "Tree Variational Autoencoders" (2023), §2.4. There, and in the authors'
program, a split is always kept, growth goes on until enough leaves have 1 % of the points, and
leaves with fewer are pruned before the last phase; undoing a failed split at once keeps the tree as
deep as its splits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.method import Checkpoint
from models.methods.deep.variational.bound import bounded, rooted
from models.methods.deep.variational.densities import log_density
from models.methods.deep.variational.layers import Weights
from models.methods.deep.variational.network import (
    NOISE,
    Architecture,
    TreeNetwork,
    decoded,
    units,
)
from models.methods.deep.variational.phases import Phase, Schedule, parts_of, points_of_leaves
from models.methods.deep.variational.topology import NONE, Topology
from models.progress import Progress

if TYPE_CHECKING:
    from torch import Generator, Tensor

SplitBy = Literal["points", "reconstruction"]

FEWEST = 4
"""Points of a leaf that may be split."""

TRIES = 2
"""Times that a leaf's split may fail before it is left alone."""

_REPORTED = 10
"""Steps between two progress reports."""


@dataclass(frozen=True, slots=True)
class GrowthEffort:
    """The effort of growing a tree. The fields are parameters of `treevae`."""

    n_clusters: int
    epochs: int
    growth_epochs: int
    tuning_epochs: int
    kl_growth: float
    kl_warm_up: float
    split_by: SplitBy
    least_share: float
    batch_size: int
    learning_rate: float

    def schedule(self, kind: int) -> Schedule:
        """The passes of a phase of this kind."""
        n_epochs = (self.epochs, self.growth_epochs, self.tuning_epochs)[kind]
        start, end = (0.0, self.kl_growth) if kind != _TUNE else (self.kl_growth, 1.0)
        return Schedule(n_epochs, start, end, int(self.kl_warm_up * n_epochs))


_STUMP, _SPLIT, _TUNE, _END = range(4)
"""The kinds of phases; the end."""


@dataclass(slots=True)
class GrownNetwork:
    """A tree's networks, and how they were trained.

    losses : negative bound per point by pass, of passes that train all networks.
    split_losses : likewise of the passes of splits, of the part that is trained.
    n_failed : (n_numbers,) how often the split of each node failed.
    n_pruned : leaves that had no point at the end.
    """

    network: TreeNetwork
    losses: list[tuple[int, float]] = field(default_factory=list)
    split_losses: list[tuple[int, float]] = field(default_factory=list)
    n_failed: dict[int, int] = field(default_factory=dict)
    n_pruned: int = 0


def grow(
    rows: Tensor,
    architecture: Architecture,
    effort: GrowthEffort,
    rng: np.random.Generator,
    progress: Progress,
    checkpoint: Checkpoint,
) -> GrownNetwork:
    """The networks of a tree with at most `n_clusters` leaves.

    rows : (n_points, n_values) scaled, on the device where everything is computed.

    Raises UsageError where training diverges.
    """
    growing = _Growing(rows, architecture, effort, int(rng.integers(2**63)), progress)
    state = checkpoint.load()
    growing.start() if state is None else growing.resume(state)
    while growing.kind != _END:
        growing.train(checkpoint)
        growing.next_phase()
    return growing.finished()


class _Growing:
    """A tree while it grows: what has been trained, and the phase that is next or half done."""

    def __init__(
        self,
        rows: Tensor,
        architecture: Architecture,
        effort: GrowthEffort,
        seed: int,
        progress: Progress,
    ) -> None:
        self._rows, self._architecture, self._effort = rows, architecture, effort
        self._seed, self._progress = seed, progress
        self._fraction = 0.0
        self.kind, self._top = _STUMP, NONE
        self._number, self._epoch, self._n_passes = 0, 0, 0
        self._optimizer: Arrays | None = None
        self._grown: GrownNetwork

    def start(self) -> None:
        """Begin with a root and two leaves."""
        self._grown = GrownNetwork(TreeNetwork.stump(self._architecture, self._generator(0)))

    def train(self, checkpoint: Checkpoint) -> None:
        """The passes of the current phase that are left, a checkpoint after each."""
        effort, grown = self._effort, self._grown
        top = self._top if self.kind == _SPLIT else None
        schedule = effort.schedule(self.kind)
        optimizer, self._optimizer = self._optimizer, None
        if self._epoch >= schedule.n_epochs:
            return
        phase = Phase(
            grown.network, self._rows, top, schedule, effort.batch_size, effort.learning_rate
        )
        if optimizer is not None:
            phase.restore(optimizer)
        curve = grown.losses if top is None else grown.split_losses
        while self._epoch < schedule.n_epochs:
            report = self._report(schedule.n_epochs, curve)
            loss = phase.epoch(self._epoch, self._generator(1 + self._epoch), report)
            self._epoch += 1
            self._n_passes += 1
            curve.append((self._n_passes, loss))
            checkpoint.save(self._state(phase))

    def next_phase(self) -> None:
        """Judge the phase that has ended, and choose the next."""
        network = self._grown.network
        if self.kind == _SPLIT:
            self._judge()
        self._number, self._epoch = self._number + 1, 0
        if self.kind == _TUNE:
            self.kind = _END
            return
        leaf = self._leaf_to_split()
        if leaf is None:
            self.kind, self._top = _TUNE, NONE
            return
        self.kind, self._top = _SPLIT, leaf
        network.topology = network.topology.split(leaf)
        network.add_children(leaf, self._generator(0))

    def finished(self) -> GrownNetwork:
        """The tree without leaves that have no point."""
        network = self._grown.network
        while True:
            leaves = network.topology.leaves()
            sizes = leaf_sizes(network, self._rows)
            if len(leaves) == 1 or sizes.min() > 0:
                return self._grown
            empty = leaves[int(sizes.argmin())]
            before = set(network.topology.nodes())
            network.topology = network.topology.pruned(empty)
            gone = before - set(network.topology.nodes())
            network.weights.remove(tuple(f"node.{node}." for node in gone))
            _forget_idle_routers(network)
            self._grown.n_pruned += 1

    def _judge(self) -> None:
        """Keep the split if both leaves have enough points; else undo it."""
        grown, network = self._grown, self._grown.network
        leaves, top = network.topology.leaves(), self._top
        sizes = leaf_sizes(network, self._rows)
        children = network.topology.below(top)
        least = max(1.0, self._effort.least_share * len(self._rows) / self._effort.n_clusters)
        if min(sizes[leaves.index(child)] for child in children) >= least:
            network.weights.remove((f"node.{top}.decoder.",))
            return
        network.weights.remove(network.prefixes(top))
        topology = network.topology.children.copy()
        topology[top] = NONE
        network.topology = Topology(topology)
        grown.n_failed[top] = grown.n_failed.get(top, 0) + 1

    def _leaf_to_split(self) -> int | None:
        """The leaf that is split next; None where none can be or enough leaves are there."""
        network, effort = self._grown.network, self._effort
        leaves, depth = network.topology.leaves(), network.topology.depth()
        if len(leaves) >= effort.n_clusters:
            return None
        sizes = leaf_sizes(network, self._rows)
        worth = sizes.astype(np.float64)
        if effort.split_by == "reconstruction":
            worth = reconstruction_losses(network, self._rows)
        for place in np.argsort(-worth, kind="stable"):
            leaf = leaves[int(place)]
            failed = self._grown.n_failed.get(leaf, 0) >= TRIES
            shallow = depth[leaf] < self._architecture.max_depth
            if sizes[place] >= FEWEST and shallow and not failed:
                return leaf
        return None

    def _generator(self, stream: int) -> Generator:
        """The generator of one pass (from 1) of the current phase, or of its new weights (0)."""
        import torch

        words = np.random.SeedSequence([self._seed, self._number, stream]).generate_state(2)
        seed = int(words[0]) << 31 ^ int(words[1])
        return torch.Generator(self._rows.device).manual_seed(seed)

    def _report(self, n_epochs: int, curve: list[tuple[int, float]]) -> Callable[[float], None]:
        """Reports the progress of a pass; the whole never goes back."""
        effort, n_leaves = self._effort, len(self._grown.network.topology.leaves())
        parts = np.cumsum([0.0, *_shares(effort)])
        place = {_STUMP: 0, _SPLIT: max(0, n_leaves - 2), _TUNE: len(parts) - 2}[self.kind]
        stage = ("training the root", "splitting a leaf", "training all")[self.kind]
        leaves = n_leaves - (self.kind == _SPLIT)
        loss = f", loss {curve[-1][1]:.5g}" if curve else ""
        message = f"{leaves} leaves, pass {self._epoch + 1} of {n_epochs}{loss}"
        start, stop = parts[place], parts[place + 1]
        n_steps = 0

        def report(share: float) -> None:
            nonlocal n_steps
            n_steps += 1
            if n_steps % _REPORTED and share < 1.0:
                return
            done = start + (stop - start) * (self._epoch + share) / n_epochs
            self._fraction = max(self._fraction, float(done))
            self._progress(self._fraction, stage, message)

        return report

    def _state(self, phase: Phase) -> Arrays:
        grown, network = self._grown, self._grown.network
        arrays: dict[str, Array] = {
            "children": network.topology.children,
            "counters": np.array(
                [self.kind, self._top, self._number, self._epoch, self._n_passes], dtype=np.int64
            ),
            "losses": np.array(grown.losses, dtype=np.float64).reshape(-1, 2),
            "split_losses": np.array(grown.split_losses, dtype=np.float64).reshape(-1, 2),
            "failed": np.array(list(grown.n_failed.items()), dtype=np.int64).reshape(-1, 2),
        }
        weights = network.weights
        named = {"learned": weights.learned, "moving": weights.moving}
        for kind, tensors in named.items():
            for name, tensor in tensors.items():
                arrays[f"{kind}/{name}"] = tensor.detach().cpu().numpy()
        return arrays | {f"adam/{name}": each for name, each in phase.optimizer().items()}

    def resume(self, state: Arrays) -> None:
        """Go on from a checkpoint."""
        weights = Weights(self._tensors(state, "learned"), self._tensors(state, "moving"))
        network = TreeNetwork(self._architecture, Topology(np.array(state["children"])), weights)
        self._grown = GrownNetwork(
            network,
            [(int(at), float(loss)) for at, loss in state["losses"]],
            [(int(at), float(loss)) for at, loss in state["split_losses"]],
            {int(node): int(times) for node, times in state["failed"]},
        )
        self.kind, self._top, self._number, self._epoch, self._n_passes = (
            int(value) for value in state["counters"]
        )
        self._optimizer = {
            name.removeprefix("adam/"): np.array(array)
            for name, array in state.items()
            if name.startswith("adam/")
        }

    def _tensors(self, state: Mapping[str, Array], kind: str) -> dict[str, Tensor]:
        import torch

        return {
            name.partition("/")[2]: torch.tensor(np.array(array)).to(self._rows.device)
            for name, array in state.items()
            if name.startswith(f"{kind}/")
        }


def _shares(effort: GrowthEffort) -> Float:
    """About the share of the work of each phase: the first, each split, the last."""
    n_splits = effort.n_clusters - 2
    each_split = effort.growth_epochs * np.ones(n_splits)
    last = (1.0 + effort.n_clusters) * effort.tuning_epochs
    work = np.array([3.0 * effort.epochs, *each_split, last])
    return np.asarray(work / max(work.sum(), 1.0))


def _forget_idle_routers(network: TreeNetwork) -> None:
    """Remove the routers of nodes with an only child."""
    for node in network.topology.nodes():
        if len(network.topology.below(node)) == 1:
            network.weights.remove((f"node.{node}.prior_router.", f"node.{node}.router."))


def reconstruction_losses(network: TreeNetwork, rows: Tensor) -> Float:
    """(n_leaves,) the sum over rows of -P(leaf | row) log p(row | leaf), at mean embeddings."""
    weights, architecture, topology = network.weights, network.architecture, network.topology
    total = np.zeros(len(topology.leaves()))
    for part in parts_of(rows):
        levels = units(weights, architecture, part, False)
        reached, kl_root = rooted(weights, levels[0], None)
        bounded(weights, architecture, topology, part, levels, reached, kl_root, None)
        for place, leaf in enumerate(topology.leaves()):
            output = decoded(weights, architecture, leaf, reached.embedding[leaf], False)
            density = log_density(part, output, architecture.likelihood, weights.learned.get(NOISE))
            total[place] -= float((reached.log_probability[leaf].exp() * density).sum())
    return total


def leaf_sizes(network: TreeNetwork, rows: Tensor) -> Int:
    """(n_leaves,) points of each leaf, in the order of `Topology.leaves`."""
    n_leaves = len(network.topology.leaves())
    return np.bincount(points_of_leaves(network, rows), minlength=n_leaves)
