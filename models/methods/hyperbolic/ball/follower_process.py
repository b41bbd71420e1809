"""What the other processes of a fit do: the steps that the first one (`.ranks`) tells them to take.

Points are mapped from the files that it wrote, so they are in memory once; what is to be done comes
line by line by stdin, gradients go through `.team`.

None outlives the first: the kernel kills it with that (Linux), and it ends itself where stdin does.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from models.arrays import Arrays
from models.methods.hyperbolic.ball.all_reduce import Team, Together, meet
from models.methods.hyperbolic.ball.descent import Descent
from models.methods.hyperbolic.ball.losses import Objective
from models.methods.hyperbolic.ball.triples import batch_rng, triples
from models.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

FAILED, NO_MEMORY, NO_GPU_MEMORY = 1, 12, 13
"""Exit codes."""

_PR_SET_PDEATHSIG = 1


class Mapped:
    """Leaves of the other processes: the points of the pools that the first one gives."""

    learned: Sequence[Tensor] = ()

    def __init__(self, folder: Path, batch_size: int, seed: int, team: Team, device: str) -> None:
        self._folder, self._batch_size, self._seed = folder, batch_size, seed
        self._team, self._device = team, device
        self._pool = -1

    def open(self, pool: int, number: int) -> None:
        """The pool and the round of these numbers."""
        import torch

        if pool != self._pool:
            points = np.load(self._folder / f"points-{pool}.npy", mmap_mode="r")
            self._near = np.load(self._folder / f"near-{pool}.npy", mmap_mode="r")
            self._points = points
            if self._device != "cpu":
                self._on_device = torch.from_numpy(np.array(points)).to(self._device)
            self._pool = pool
        self._rng = batch_rng(self._seed, number)

    def draw(self) -> Tensor:
        import torch

        numbers = triples(self._near, self._batch_size, self._rng)
        numbers = numbers[:, self._team.part(self._batch_size)]
        if self._device == "cpu":
            return torch.from_numpy(np.asarray(self._points[numbers]))
        return self._on_device[torch.from_numpy(numbers).to(self._device)]

    def begin(self, number: int, progress: Progress) -> None:
        """`open` does it."""

    def problem(self) -> None:
        """There is none."""

    def learn(self, gradients: Sequence[Tensor]) -> None:
        """Nothing is."""

    def keep(self) -> None:
        """They do not change."""

    def arrays(self) -> Arrays:
        return {}

    def restore(self, arrays: Arrays) -> None:
        """All that matters comes with `open`."""


def main() -> None:
    """`sys.argv[1]` is what `Ranks` tells it, lines of stdin what it is to do."""
    told = json.loads(sys.argv[1])
    _die_with(told["parent"])
    lines = _lines()
    try:
        _work(told, lines)
    except BaseException as error:
        # Where the fit has ended, that is all there is to say.
        if os.getppid() == told["parent"]:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(_code(error))
    os._exit(0)


def _work(told: dict[str, Any], lines: SimpleQueue[dict[str, Any]]) -> None:
    import torch
    import torch.distributed

    from models.methods.hyperbolic.ball.training import Effort, steps

    rank, size, folder = told["rank"], told["size"], Path(told["folder"])
    device = told["device"]
    if device == "cuda":
        torch.cuda.set_device(rank)
    team = Together(rank, size, told["threads"])
    (folder / f"ready-{rank}").touch()
    task = lines.get()
    effort = Effort(**{**task["effort"], "objective": Objective(**task["effort"]["objective"])})
    of_triples, of_noise = task["seeds"]
    torch.set_num_threads(told["threads"])
    with torch.no_grad():
        meet(folder, rank, size, device)
        nodes = torch.zeros(task["shape"], dtype=torch.float32, device=device)
        mover = Descent(nodes, effort.optimizer, effort.learning_rate, effort.max_norm)
        leaves = Mapped(folder, effort.batch_size, of_triples, team, device)
        while True:
            asked = lines.get()
            number = asked["number"]
            leaves.open(asked["pool"], number)
            mover.n_steps = asked["before"]
            team.begin(number, asked["n_steps"], mover)
            steps(leaves, mover, effort, asked["n_steps"], [of_noise, number], _silent, team)


def _die_with(parent: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(FAILED)


def _lines() -> SimpleQueue[dict[str, Any]]:
    """What comes by stdin; the process ends where that does."""
    found: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        with contextlib.suppress(Exception):
            for line in sys.stdin.buffer:
                found.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, name="lifeline", daemon=True).start()
    return found


def _code(error: BaseException) -> int:
    import torch

    if isinstance(error, MemoryError):
        return NO_MEMORY
    return NO_GPU_MEMORY if isinstance(error, torch.OutOfMemoryError) else FAILED


def _silent(step: int) -> None:
    """The first process tells."""
