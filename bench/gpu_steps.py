"""What a step of training gives a card to do: operations, host syncs, bytes copied.

A card is busy only as long as the processor can keep up: each operation takes about 11 us of it, a
host sync makes it wait. So these are counted on the processor, where no card is at hand: a fit of
few steps is taken from one of more, and the difference divided by the steps between them, so that a
pass's own work is spread over its steps (`operations.counted`). For the mixtures a step is a pass
over the rows, which on a card are there for all passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bench import Size
from bench.gpu_fits import points
from bench.operations import Counts, counted
from bench.report import Report
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.deep.variational.network import Architecture, TreeNetwork
from models.methods.deep.variational.phases import Phase, Schedule
from models.methods.partitions.heads import bilevel
from models.methods.partitions.heads.space_tensors import SpaceTensors
from models.methods.partitions.turtle import TurtleParams
from models.methods.sphere.mixture.pass_gpu import DevicePasses
from models.methods.sphere.mixture.rows import UnitRows
from models.registry import method
from models.running.device import computing
from models.running.progress import silent

N_POINTS, N_COLUMNS = 256, 12


@dataclass(frozen=True, slots=True)
class Steps:
    """A training loop that is counted.

    what : the method, and what of it. run : takes a number of turns. few, many : two such numbers.
    n_steps : steps of a turn.
    """

    what: str
    run: Callable[[int], object]
    few: int
    many: int
    n_steps: int = 1


def _fit(name: str, turns: str, params: Mapping[str, Any]) -> Callable[[int], object]:
    """Fits of a method; `turns` is the parameter that has their number."""
    used = method(name)

    def run(number: int) -> object:
        chosen = used.Params.model_validate({**params, turns: number})
        return used.fit(Data({"features": points(N_POINTS, N_COLUMNS, unit=False)}), chosen, silent)

    return run


def _turtle(number: int) -> object:
    """The labelling alone, without the validation of its result."""
    params = TurtleParams(n_clusters=4, max_iter=number)
    rows = ArrayRows(points(N_POINTS, N_COLUMNS, unit=False))
    tensors = SpaceTensors([rows], "cpu", params.batch_size, silent)
    with computing(1):
        return bilevel.train(tensors, params, np.random.default_rng(0), silent)


_BATCH = 32
_DEEPECT = {"n_clusters": 8, "hidden_sizes": [16, 8], "embedding_size": 4, "batch_size": _BATCH}


def _treevae(n_leaves: int) -> Callable[[int], object]:
    """Passes that train all networks of a balanced tree, without the checkpoints between them."""

    def run(number: int) -> None:
        generator = torch.Generator().manual_seed(0)
        with computing(1):
            network = TreeNetwork.stump(
                Architecture(N_COLUMNS, (16, 8), 4, 6, "gaussian"), generator
            )
            for leaf in range(1, n_leaves - 1):
                network.topology = network.topology.split(leaf)
                network.add_children(leaf, generator)
                network.weights.remove((f"node.{leaf}.decoder.",))
            rows = torch.from_numpy(points(N_POINTS, N_COLUMNS, unit=False))
            phase = Phase(network, rows, None, Schedule(number, 0.1, 1.0, 0), _BATCH, 0.001)
            for turn in range(number):
                phase.epoch(turn, generator, lambda share: None)

    return run


def loops() -> tuple[Steps, ...]:
    """Every training loop that may run on a card, but for the passes of mixtures."""
    n_batches = N_POINTS // _BATCH
    joint = {**_DEEPECT, "pretrain_epochs": 2, "growth": 0.01}
    return (
        Steps("turtle", _turtle, 20, 40),
        Steps("temi", _fit("temi", "max_iter", {"n_clusters": 4, "batch_size": 64}), 6, 8, 4),
        Steps("ghhc", _fit("ghhc", "max_iter", {"n_init": 1, "n_internal": 9}), 20, 40),
        Steps("hyphc", _fit("hyphc", "max_iter", {"n_init": 1}), 20, 40),
        Steps(
            "deepect, the network alone",
            _fit("deepect", "pretrain_epochs", {**_DEEPECT, "epochs": 1}),
            1,
            3,
            n_batches,
        ),
        Steps("deepect, 8 leaves", _fit("deepect", "epochs", joint), 2, 4, n_batches),
        *(Steps(f"treevae, {n} leaves", _treevae(n), 1, 2, n_batches) for n in (2, 8)),
    )


def table(report: Report, size: Size) -> None:
    """A row in "gpu_steps" for each loop, of a step."""
    for steps in loops():
        _row(report, steps.what, per_step(steps))
    _row(report, "vmf, bvmf: a pass", of_mixtures())


def _row(report: Report, what: str, counts: Counts) -> None:
    report.row(
        "gpu_steps",
        what=what,
        operations=counts.n_operations,
        syncs=counts.n_syncs,
        kb_in=counts.bytes_in / 1e3,
        kb_out=counts.bytes_out / 1e3,
    )


def per_step(steps: Steps) -> Counts:
    """What a step gives a card to do."""
    with counted() as few:
        steps.run(steps.few)
    with counted() as many:
        steps.run(steps.many)
    return many.beyond(few, (steps.many - steps.few) * steps.n_steps)


def of_mixtures() -> Counts:
    """What a pass of a mixture gives a card to do, once the rows are there."""
    rows = UnitRows.of(Data({"features": points(N_POINTS, N_COLUMNS, unit=True)}))
    weights, offsets = np.ones((4, N_COLUMNS)), np.zeros(4)
    n_passes = 5
    with DevicePasses(rows, 1, "cpu") as used, counted() as counts:
        for _ in range(n_passes):
            used.expect(weights, offsets, np.ones(N_POINTS), silent)
    return counts.beyond(Counts(), n_passes)
