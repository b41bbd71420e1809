"""The other processes of a fit (`.following`): started, given their rounds, ended with it.

Each is a fresh interpreter: the process of a job was forked and has threads by now, so it can fork
no more, and a GPU outlives no fork. Points lie in a file that all map, so they are in memory once;
what is to be done comes line by line through a pipe, and gradients go through torch's all-reduce
(gloo on processors, by the loopback interface; NCCL on GPUs, one for each process). The first
process is the fit itself: it alone judges, draws pools, tells progress and keeps checkpoints.

None outlives the fit: they stay in its process group, the kernel kills them with it (Linux), and
they end themselves where the pipe does. One that dies ends the fit: killed, by an OSError (EIO),
which may pass; out of memory, as the fit itself would.

Cost: about two seconds to start, `BYTES` of memory each.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from models.methods.hyperbolic.ball import follower_process
from models.methods.hyperbolic.ball.all_reduce import Together, meet
from models.methods.hyperbolic.ball.descent import Descent
from models.methods.hyperbolic.ball.follower_process import NO_GPU_MEMORY, NO_MEMORY
from models.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor

    from models.device import Device
    from models.methods.hyperbolic.ball.pools import Pool
    from models.methods.hyperbolic.ball.training import Effort

BYTES = 300 << 20
"""What a process takes besides its part of a step."""

_START_S = 120.0
_LOOK_EVERY_S = 0.02


class Ranks(Together):
    """The first process, and those that it starts. To be used in a `with` statement.

    threads : of all of them together.
    """

    def __init__(self, size: int, threads: int, device: Device) -> None:
        super().__init__(0, size, max(1, threads // size))
        self._device: Device = device
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder = Path()
        self._pool = -1
        self._joined = False

    def __enter__(self) -> Ranks:
        self._folder = Path(tempfile.mkdtemp(prefix="ranks-"))
        try:
            for rank in range(1, self.size):
                self._processes.append(self._started(rank))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, (RuntimeError, OSError)):
                self._blame(error)
        finally:
            self._end()

    def join(
        self, effort: Effort, points: Tensor, n_nodes: int, seeds: Sequence[int], progress: Progress
    ) -> None:
        """Wait for the others and tell them what is moved.

        points : those of a pool. seeds : of triples, and of noise and children.
        """
        until = time.monotonic() + _START_S
        while not all((self._folder / f"ready-{rank}").exists() for rank in range(1, self.size)):
            progress(0.0, "starting processes", f"{self.size} processes")
            if any(process.poll() is not None for process in self._processes):
                raise RuntimeError("a process of the fit ended before its first step")
            if time.monotonic() > until:
                raise OSError(errno.EIO, "a process of the fit does not start")
            time.sleep(_LOOK_EVERY_S)
        task = {
            "effort": asdict(effort),
            "shape": [n_nodes, points.shape[1]],
            "seeds": [int(seed) for seed in seeds],
        }
        self._say(task)
        meet(self._folder, 0, self.size, self._device)
        self._joined = True

    def give(self, pool: Pool, number: int) -> None:
        if number == self._pool:
            return
        np.save(self._folder / f"points-{number}.npy", pool.points.cpu().numpy())
        np.save(self._folder / f"near-{number}.npy", pool.near)
        # Whoever maps the one before keeps it.
        for name in ("points", "near"):
            (self._folder / f"{name}-{self._pool}.npy").unlink(missing_ok=True)
        self._pool = number

    def begin(self, number: int, n_steps: int, mover: Descent) -> None:
        self._say(
            {"number": number, "n_steps": n_steps, "pool": self._pool, "before": mover.n_steps}
        )
        super().begin(number, n_steps, mover)

    def _say(self, told: dict[str, Any]) -> None:
        line = json.dumps(told).encode() + b"\n"
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()

    def _started(self, rank: int) -> subprocess.Popen[bytes]:
        told = {
            "rank": rank,
            "size": self.size,
            "parent": os.getpid(),
            "folder": str(self._folder),
            "device": self._device,
            "threads": self._threads,
        }
        command = f"from {follower_process.__name__} import main; main()"
        return subprocess.Popen(
            [sys.executable, "-P", "-c", command, json.dumps(told)],
            stdin=subprocess.PIPE,
            # Threads that spin while they wait would take the cores from the other processes.
            env={
                **os.environ,
                "OMP_NUM_THREADS": str(self._threads),
                "OMP_WAIT_POLICY": "passive",
            },
        )

    def _blame(self, error: Exception) -> None:
        """Raise what ended one of the others, where that is why this one cannot go on."""
        import torch

        until = time.monotonic() + 2.0
        codes: list[int] = []
        while not codes and time.monotonic() < until:
            codes = [code for one in self._processes if (code := one.poll()) is not None]
            time.sleep(_LOOK_EVERY_S)
        if any(code < 0 for code in codes):
            name = signal.Signals(-min(codes)).name
            raise OSError(errno.EIO, f"a process of the fit was killed by {name}") from error
        if NO_MEMORY in codes:
            raise MemoryError from error
        if NO_GPU_MEMORY in codes:
            raise torch.OutOfMemoryError("in another process of the fit") from error

    def _end(self) -> None:
        import torch.distributed as dist

        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
        if self._joined:
            dist.destroy_process_group()
        shutil.rmtree(self._folder, ignore_errors=True)
