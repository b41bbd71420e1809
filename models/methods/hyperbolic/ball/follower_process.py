"""A follower process: it takes the steps that the first process (`process_group`) sends it.

`main` runs in a fresh interpreter, with the follower's setting as its only argument, in JSON.
Points are mapped from files of the first process, so they are in memory once; orders arrive line by
line on stdin, and gradients go through `all_reduce`.

No follower outlives the first process: the kernel kills both together (Linux), and a follower exits
when stdin closes.
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
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from models.methods.hyperbolic.ball.descent import (
    AllReduce,
    Descent,
    DistributedAllReduce,
    join_group,
)
from models.methods.hyperbolic.ball.parameters import BallEffort, BallObjective
from models.methods.hyperbolic.ball.triples import FixedTriples, batch_rng, draw_ahead
from models.running.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

FAILED, NO_MEMORY, NO_GPU_MEMORY = 1, 12, 13
"""Exit codes."""

_PR_SET_PDEATHSIG = 1


class MappedTriples(FixedTriples):
    """A follower's triples, of the pools that the first process published."""

    def __init__(
        self, folder: Path, batch_size: int, seed: int, all_reduce: AllReduce, device: str
    ) -> None:
        self._folder, self._batch_size, self._seed = folder, batch_size, seed
        self._all_reduce, self._device = all_reduce, device
        self._pool = -1

    def open(self, pool: int, number: int) -> None:
        """Draw from pool number `pool` in round number `number`."""
        import torch

        if pool != self._pool:
            points = np.load(self._folder / f"points-{pool}.npy", mmap_mode="r")
            self._near = np.load(self._folder / f"near-{pool}.npy", mmap_mode="r")
            self._points = points
            if self._device != "cpu":
                self._on_device = torch.from_numpy(np.array(points)).to(self._device)
            self._pool = pool
        self._rng = batch_rng(self._seed, number)

    def ahead(self, n_steps: int) -> Tensor:
        import torch

        part = self._all_reduce.part(self._batch_size)
        numbers = draw_ahead(self._near, self._batch_size, n_steps, part, self._rng)
        if self._device == "cpu":
            return torch.from_numpy(np.asarray(self._points[numbers]))
        return self._on_device[torch.from_numpy(numbers).to(self._device)]

    def begin_round(self, number: int, progress: Progress) -> None:
        """Does nothing: `open` begins a round."""


def main() -> None:
    """Follow until stdin closes; the exit code tells what went wrong."""
    setting = json.loads(sys.argv[1])
    _die_with(setting["parent"])
    messages = _messages()
    try:
        _follow(setting, messages)
    except BaseException as error:
        # If the fit has ended, that is the cause, and a traceback would not be read.
        if os.getppid() == setting["parent"]:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(_exit_code(error))
    os._exit(0)


def _follow(setting: dict[str, Any], messages: SimpleQueue[dict[str, Any]]) -> None:
    import torch
    import torch.distributed

    from models.methods.hyperbolic.ball.training import take_steps

    rank, size, folder = setting["rank"], setting["size"], Path(setting["folder"])
    device = setting["device"]
    if device == "cuda":
        torch.cuda.set_device(rank)
    all_reduce = DistributedAllReduce(rank, size, setting["threads"])
    (folder / f"ready-{rank}").touch()
    task = messages.get()
    objective = BallObjective(**task["effort"]["objective"])
    effort = BallEffort(**{**task["effort"], "objective": objective})
    triple_seed, noise_seed = task["seeds"]
    torch.set_num_threads(setting["threads"])
    with torch.no_grad():
        join_group(folder, rank, size, device)
        nodes = torch.zeros(task["shape"], dtype=torch.float32, device=device)
        mover = Descent(nodes, effort.optimizer, effort.learning_rate, effort.max_norm)
        triples = MappedTriples(folder, effort.batch_size, triple_seed, all_reduce, device)
        while True:
            order = messages.get()
            number, n_steps = order["number"], order["n_steps"]
            begin = number * effort.round_size
            triples.open(order["pool"], number)
            mover.n_steps = order["before"]
            all_reduce.begin_round(number, n_steps, mover)
            take_steps(
                triples, mover, effort, begin, n_steps, [noise_seed, number], _no_report, all_reduce
            )


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when `parent` dies; exit if it is dead already."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(FAILED)


def _messages() -> SimpleQueue[dict[str, Any]]:
    """The parsed lines of stdin as they arrive; the process exits when stdin closes."""
    messages: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def read() -> None:
        with contextlib.suppress(Exception):
            for line in sys.stdin.buffer:
                messages.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return messages


def _exit_code(error: BaseException) -> int:
    import torch

    if isinstance(error, MemoryError):
        return NO_MEMORY
    return NO_GPU_MEMORY if isinstance(error, torch.OutOfMemoryError) else FAILED


def _no_report(step: int) -> None:
    """The first process reports progress."""
