"""A tree grown from a root with two leaves: train, split a leaf, and at the end train all.

The leaf that is split is the one with the most points, or with the largest share of the
reconstruction loss. Only the networks that a split adds are trained (`phases`). Which points go
which way is settled early, by the random weights, and the bound hardly differs: so the split of a
leaf is begun from several, and the one that is least in doubt about its points (`doubt`) is trained
on. A split is kept if both of its leaves are the most probable leaf of enough points; else it is
undone, and the leaf is tried once more, then left alone. When there are enough leaves, or none can
be split, all networks are trained together. Leaves without points are then pruned.

Source: Manduchi et al., "Tree Variational Autoencoders" (2023), §2.4. There, and in the authors'
program, a split is begun once and always kept, growth goes on until enough leaves have 1 % of the
points, and leaves with fewer are pruned before the last phase; undoing a failed split at once keeps
the tree as deep as its splits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from models.answers.learned_steps import KeptStates, packed
from models.arrays import Array, Arrays, Float, Int
from models.method import Checkpoint
from models.methods.deep.variational.bound import bounded, rooted
from models.methods.deep.variational.layers import Weights, log_density
from models.methods.deep.variational.network import (
    NOISE,
    NONE,
    Architecture,
    Topology,
    TreeNetwork,
    decoded,
    units,
)
from models.methods.deep.variational.parameters import VariationalParams
from models.methods.deep.variational.phases import (
    Phase,
    Schedule,
    log_leaves,
    mean_terms,
    parts_of,
    points_of_leaves,
)
from models.methods.deep.variational.placing import Nodes
from models.running.progress import Progress
from models.tree.build import levels_below

if TYPE_CHECKING:
    from torch import Generator, Tensor

Curve = list[tuple[int, float]]

FEWEST = 4
"""Points of a leaf that may be split."""

TRIES = 2
"""Times that a leaf's split may fail before it is left alone."""

PART_OF_START = 4
"""A start has the first of so many parts of the passes of its phase."""

_STREAMS = 1 << 20
"""Generators of a start: one for its weights, and one for each pass."""

_REPORTED = 10
"""Steps between two progress reports."""


_STUMP, _SPLIT, _TUNE, _END = range(4)
"""The kinds of phases; the end."""


@dataclass(slots=True)
class GrownNetwork:
    """A tree's networks, and how they were trained.

    losses : negative bound per point by pass, of passes that train all networks.
    split_losses : likewise of the passes of splits, of the part that is trained.
    n_failed : (n_numbers,) how often the split of each node failed.
    n_pruned : leaves that had no point at the end. n_passes : all passes. kept : trees on the way.
    """

    network: TreeNetwork
    losses: Curve = field(default_factory=list)
    split_losses: Curve = field(default_factory=list)
    n_failed: dict[int, int] = field(default_factory=dict)
    n_pruned: int = 0
    n_passes: int = 0
    kept: KeptStates = field(default_factory=lambda: KeptStates(0))


def grow(
    rows: Tensor,
    architecture: Architecture,
    params: VariationalParams,
    rng: np.random.Generator,
    progress: Progress,
    checkpoint: Checkpoint,
    kept: KeptStates | None = None,
) -> GrownNetwork:
    """The networks of a tree with at most `n_clusters` leaves.

    rows : (n_points, n_values) scaled, on the device where everything is computed. kept : takes
        the trees before each split.

    Raises UsageError where training diverges.
    """
    seed = int(rng.integers(2**63))
    growing = _Growing(rows, architecture, params, seed, progress, kept or KeptStates(0))
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
        params: VariationalParams,
        seed: int,
        progress: Progress,
        kept: KeptStates,
    ) -> None:
        self._kept = kept
        self._rows, self._architecture, self._params = rows, architecture, params
        self._passes = params.passes(len(rows))
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
        grown = self._grown
        top = self._top if self.kind == _SPLIT else None
        schedule = self._schedule(self.kind)
        optimizer, self._optimizer = self._optimizer, None
        if self._epoch >= schedule.n_epochs:
            return
        curve = grown.losses if top is None else grown.split_losses
        if top is not None and self._epoch == 0 and self._start_epochs(self.kind):
            phase = self._best_start(top, schedule, curve)
            checkpoint.save(self._state(phase))
        else:
            phase = self._phase(grown.network, top, schedule)
        if optimizer is not None:
            phase.restore(optimizer)
        while self._epoch < schedule.n_epochs:
            report = self._report(curve)
            self._record(curve, phase.epoch(self._epoch, self._generator(1 + self._epoch), report))
            checkpoint.save(self._state(phase))

    def _best_start(self, top: int, schedule: Schedule, curve: Curve) -> Phase:
        """A split after its first passes, from the random weights that leave least in doubt."""
        grown = self._grown
        n_epochs = self._start_epochs(self.kind)
        least_doubt, kept, first = math.inf, None, grown.network
        losses: list[float] = []
        for start in range(self._params.n_init):
            streams = start * _STREAMS
            network = first.with_new_split(top, self._generator(streams)) if start else first
            phase = self._phase(network, top, schedule)
            own = [
                phase.epoch(
                    number,
                    self._generator(streams + 1 + number),
                    self._report(curve, start * n_epochs + number),
                )
                for number in range(n_epochs)
            ]
            in_doubt = doubt(network, self._rows, top, self._fewest_points())
            if kept is None or in_doubt < least_doubt:
                least_doubt, kept, losses, grown.network = in_doubt, phase, own, network
        for loss in losses:
            self._record(curve, loss)
        assert kept is not None
        return kept

    def _schedule(self, kind: int) -> Schedule:
        """The passes of a phase of this kind."""
        params, n_epochs = self._params, self._passes[kind]
        start, end = (0.0, params.kl_growth) if kind != _TUNE else (params.kl_growth, 1.0)
        return Schedule(n_epochs, start, end, int(params.kl_warm_up * n_epochs))

    def _start_epochs(self, kind: int) -> int:
        """The passes of each start of a phase of this kind; 0 where it has only one."""
        several = kind == _SPLIT and self._params.n_init > 1
        return math.ceil(self._passes[kind] / PART_OF_START) if several else 0

    def _work(self, kind: int) -> int:
        """The passes of a phase of this kind, including starts that are given up."""
        return self._passes[kind] + (self._params.n_init - 1) * self._start_epochs(kind)

    def _shares(self) -> Float:
        """About the share of the work of each phase: the first, each split, the last."""
        n_clusters = self._params.n_clusters
        each_split = self._work(_SPLIT) * np.ones(n_clusters - 2)
        last = (1.0 + n_clusters) * self._work(_TUNE)
        work = np.array([3.0 * self._work(_STUMP), *each_split, last])
        return np.asarray(work / max(work.sum(), 1.0))

    def _phase(self, network: TreeNetwork, top: int | None, schedule: Schedule) -> Phase:
        params = self._params
        return Phase(network, self._rows, top, schedule, params.batch_size, params.learning_rate)

    def _record(self, curve: Curve, loss: float) -> None:
        """One more pass of the current phase."""
        self._epoch += 1
        self._n_passes += 1
        curve.append((self._n_passes, loss))

    def _fewest_points(self) -> float:
        """The points that a leaf needs for its split to be kept."""
        return max(1.0, self._params.least_share * len(self._rows) / self._params.n_clusters)

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
        self._keep()
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
                self._grown.n_passes, self._grown.kept = self._n_passes, self._kept
                return self._grown
            empty = leaves[int(sizes.argmin())]
            before = set(network.topology.nodes())
            network.topology = network.topology.pruned(empty)
            gone = before - set(network.topology.nodes())
            network.weights.remove(tuple(f"node.{node}." for node in gone))
            _forget_idle_routers(network)
            self._grown.n_pruned += 1

    def _keep(self) -> None:
        """Offer the tree before a split; one with an empty leaf is none."""
        import torch

        if not self._kept.most:
            return
        network = self._grown.network
        place, n_leaves = points_of_leaves(network, self._rows), len(network.topology.leaves())
        if np.bincount(place, minlength=n_leaves).min() == 0:
            return
        generator = torch.Generator(self._rows.device).manual_seed(0)
        cost = -mean_terms(network, self._rows, generator)["reconstruction"]
        nodes = Nodes.of(network.topology)
        height = np.asarray(levels_below(nodes.parent), dtype=np.float64)
        state = packed(nodes.parent.astype(np.int64), height, nodes.leaves[place])
        self._kept.offer(self._n_passes, cost, lambda: state)

    def _judge(self) -> None:
        """Keep the split if both leaves have enough points; else undo it."""
        grown, network = self._grown, self._grown.network
        leaves, top = network.topology.leaves(), self._top
        sizes = leaf_sizes(network, self._rows)
        children = network.topology.below(top)
        if min(sizes[leaves.index(child)] for child in children) >= self._fewest_points():
            network.weights.remove((f"node.{top}.decoder.",))
            return
        network.weights.remove(network.prefixes(top))
        topology = network.topology.children.copy()
        topology[top] = NONE
        network.topology = Topology(topology)
        grown.n_failed[top] = grown.n_failed.get(top, 0) + 1

    def _leaf_to_split(self) -> int | None:
        """The leaf that is split next; None where none can be or enough leaves are there."""
        network, params = self._grown.network, self._params
        leaves, depth = network.topology.leaves(), network.topology.depth()
        if len(leaves) >= params.n_clusters:
            return None
        sizes = leaf_sizes(network, self._rows)
        worth = sizes.astype(np.float64)
        if params.split_by == "reconstruction":
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

    def _report(self, curve: Curve, n_done: int | None = None) -> Callable[[float], None]:
        """Reports the progress of a pass; the whole never goes back.

        n_done : the passes of starts before this one; None after the starts.
        """
        n_leaves = len(self._grown.network.topology.leaves())
        n_epochs = self._work(self.kind)
        stage = ("training the root", "splitting a leaf", "training all")[self.kind]
        if n_done is None:
            n_done = self._epoch + n_epochs - self._passes[self.kind]
        else:
            stage += ", several starts"
        parts = np.cumsum([0.0, *self._shares()])
        place = {_STUMP: 0, _SPLIT: max(0, n_leaves - 2), _TUNE: len(parts) - 2}[self.kind]
        leaves = n_leaves - (self.kind == _SPLIT)
        loss = f", loss {curve[-1][1]:.5g}" if curve else ""
        message = f"{leaves} leaves, pass {n_done + 1} of {n_epochs}{loss}"
        start, stop = parts[place], parts[place + 1]
        n_steps = 0

        def report(share: float) -> None:
            nonlocal n_steps
            n_steps += 1
            if n_steps % _REPORTED and share < 1.0:
                return
            done = start + (stop - start) * (n_done + share) / n_epochs
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
        arrays.update(self._kept.arrays("states/"))
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
        self._kept = KeptStates.restored(state, "states/", self._kept.most)
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


def doubt(network: TreeNetwork, rows: Tensor, top: int, fewest: float) -> float:
    """The entropy of a node's decisions over that of its mean decision, rows weighted by their
    probability of reaching it: 0 where all are certain, 1 where none tells rows apart; inf where
    one side has fewer than `fewest` points.
    """
    import torch

    leaves = network.topology.leaves()
    pair = [leaves.index(child) for child in network.topology.below(top)]
    reached = torch.cat([log_leaves(network, part)[:, pair] for part in parts_of(rows)])
    joint = reached.double().exp()
    both, points = joint.sum(dim=1, keepdim=True), joint.sum(dim=0)
    if float(points.min()) < fewest:
        return math.inf
    entropy = torch.xlogy(joint, both) - torch.xlogy(joint, joint)
    of_mean = torch.xlogy(points, points.sum()) - torch.xlogy(points, points)
    return float(entropy.sum() / of_mean.sum())


def leaf_sizes(network: TreeNetwork, rows: Tensor) -> Int:
    """(n_leaves,) points of each leaf, in the order of `Topology.leaves`."""
    n_leaves = len(network.topology.leaves())
    return np.bincount(points_of_leaves(network, rows), minlength=n_leaves)
