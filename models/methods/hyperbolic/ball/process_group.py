"""The other processes of a fit (`follower_process`): how they start, get their rounds, and end.

Each is a fresh interpreter: the process of a job was itself forked and has threads by now, so it
cannot fork again, and a GPU does not survive a fork. All processes map the file of the points, so
these are in memory once. Orders go line by line through a pipe, and gradients through torch's
all-reduce (gloo on processors, by the loopback interface; NCCL on GPUs, one for each process). The
first process is the fit itself: it alone measures costs, draws pools, reports progress and saves
checkpoints.

No process outlives the fit: all stay in its process group, the kernel kills them with it (Linux),
and they exit when the pipe closes. If one dies, the fit ends: with an OSError (EIO), which counts
as transient, if it was killed; with the fit's own error if it ran out of memory.

Cost: about two seconds to start, `PROCESS_BYTES` of memory each.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from models.methods.hyperbolic.ball import follower_process
from models.methods.hyperbolic.ball.descent import Descent, DistributedAllReduce, join_group
from models.methods.hyperbolic.ball.follower_process import NO_GPU_MEMORY, NO_MEMORY
from models.methods.hyperbolic.ball.parameters import BallEffort
from models.running.progress import Progress
from umbel import floors

if TYPE_CHECKING:
    from torch import Tensor

    from models.methods.hyperbolic.ball.points import Pool
    from models.running.device import Device

PROCESS_BYTES = 300 << 20
"""The memory of a process besides its part of a step."""

_START_S = 120.0
_POLL_S = 0.02
_EXIT_S = 2.0


class ProcessGroup(DistributedAllReduce):
    """The first process, with the followers that it starts. To be used in a `with` statement.

    threads : of all processes together.
    """

    def __init__(self, size: int, threads: int, device: Device) -> None:
        super().__init__(0, size, max(1, threads // size))
        self._device: Device = device
        self._followers: list[subprocess.Popen[bytes]] = []
        self._folder = Path()
        self._pool = -1
        self._joined = False

    def __enter__(self) -> ProcessGroup:
        self._folder = Path(tempfile.mkdtemp(prefix="process-group-"))
        try:
            for rank in range(1, self.size):
                self._followers.append(self._start_follower(rank))
        except BaseException:
            self._stop()
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
                self._raise_cause(error)
        finally:
            self._stop()

    def start(
        self,
        effort: BallEffort,
        points: Tensor,
        n_nodes: int,
        seeds: Sequence[int],
        progress: Progress,
    ) -> None:
        """Wait until all followers run, and send them their task.

        points : the points of a pool. seeds : for triples, and for noise and children.
        RuntimeError if a follower exits, OSError (EIO) if one does not start in time.
        """
        deadline = time.monotonic() + _START_S
        while not all((self._folder / f"ready-{rank}").exists() for rank in range(1, self.size)):
            progress(0.0, "starting processes", f"{self.size} processes")
            if any(process.poll() is not None for process in self._followers):
                raise RuntimeError("a process of the fit ended before its first step")
            if time.monotonic() > deadline:
                raise OSError(errno.EIO, "a process of the fit does not start")
            time.sleep(_POLL_S)
        task = {
            "effort": asdict(effort),
            "shape": [n_nodes, points.shape[1]],
            "seeds": [int(seed) for seed in seeds],
        }
        self._send(task)
        join_group(self._folder, 0, self.size, self._device)
        self._joined = True

    def publish(self, pool: Pool, number: int) -> None:
        if number == self._pool:
            return
        np.save(self._folder / f"points-{number}.npy", pool.points.cpu().numpy())
        np.save(self._folder / f"near-{number}.npy", pool.near)
        # A follower that still maps the previous pool keeps its data after the file is gone.
        for name in ("points", "near"):
            (self._folder / f"{name}-{self._pool}.npy").unlink(missing_ok=True)
        self._pool = number

    def begin_round(self, number: int, n_steps: int, mover: Descent) -> None:
        self._send(
            {"number": number, "n_steps": n_steps, "pool": self._pool, "before": mover.n_steps}
        )
        super().begin_round(number, n_steps, mover)

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        for process in self._followers:
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()

    def _start_follower(self, rank: int) -> subprocess.Popen[bytes]:
        setting = {
            "rank": rank,
            "size": self.size,
            "parent": os.getpid(),
            "folder": str(self._folder),
            "device": self._device,
            "threads": self._threads,
        }
        return subprocess.Popen(
            floors.command(follower_process.__name__, json.dumps(setting)),
            stdin=subprocess.PIPE,
            # Threads that spin while they wait would take the cores from the other processes.
            env={
                **os.environ,
                "OMP_NUM_THREADS": str(self._threads),
                "OMP_WAIT_POLICY": "passive",
            },
        )

    def _raise_cause(self, error: Exception) -> None:
        """Raise the error that ended a follower, if that is why this process cannot continue."""
        import torch

        deadline = time.monotonic() + _EXIT_S
        codes: list[int] = []
        while not codes and time.monotonic() < deadline:
            polled = [process.poll() for process in self._followers]
            codes = [code for code in polled if code is not None]
            time.sleep(_POLL_S)
        if any(code < 0 for code in codes):
            name = signal.Signals(-min(codes)).name
            raise OSError(errno.EIO, f"a process of the fit was killed by {name}") from error
        if NO_MEMORY in codes:
            raise MemoryError from error
        if NO_GPU_MEMORY in codes:
            raise torch.OutOfMemoryError("in another process of the fit") from error

    def _stop(self) -> None:
        import torch.distributed as dist

        for process in self._followers:
            process.kill()
        for process in self._followers:
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
        if self._joined:
            dist.destroy_process_group()
        shutil.rmtree(self._folder, ignore_errors=True)
