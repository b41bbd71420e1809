"""A fit of `ghhc` by several processes, and the processes that it starts."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import psutil
import torch

from models.inputs.data import Data
from models.method import Checkpoint, Fitted
from models.methods.hyperbolic.ghhc import GHHC, GHHCParams
from models.running.progress import Progress, silent

PARAMS: dict[str, Any] = {"n_internal": 15, "n_init": 1, "batch_size": 41, "keep": "last"}


def points(n: int = 400) -> np.ndarray:
    """Points in six groups."""
    rng = np.random.default_rng(0)
    middle = 10 * np.eye(6)[rng.integers(6, size=n)]
    return (middle + rng.normal(size=(n, 6))).astype(np.float32)


def fit(
    features: Any,
    n_processes: int,
    progress: Progress = silent,
    checkpoint: Checkpoint | None = None,
    **params: Any,
) -> Fitted:
    """The fit by `n_processes` processes of one thread each."""
    torch.set_num_threads(1)
    return GHHC().fit(
        Data({"features": features}),
        GHHCParams(**{**PARAMS, "processes": n_processes, **params}),
        progress,
        threads=n_processes,
        checkpoint=checkpoint,
    )


def followers() -> list[psutil.Process]:
    """The other processes of the fits of this process."""
    processes = []
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "models.methods.hyperbolic.ball.follower_process" in " ".join(process.cmdline()):
                processes.append(process)
    return processes
