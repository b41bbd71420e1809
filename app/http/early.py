"""What `umbel serve` starts before it has loaded what it needs itself.

The processes that others are forked from load for longer than all else, and nothing that is checked
before the service starts concerns them: they hold no credentials and serve nothing by themselves.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping

from app.http.processes import ApiProcesses, WorkerProcesses
from workers.child import confinement
from workers.child.compiling import keeps_as_usual
from workers.stores import privacy

_OPTIONS = ("--queues", "cpu,gpu")


class Early:
    """The processes of a service, of which none serves yet. Call from the main thread.

    listener : a socket that does not listen yet (`unbound`). environment : gives the environment of
    those that will serve; set it before.
    """

    def __init__(self, listener: socket.socket, n_apis: int, n_workers: int) -> None:
        confinement.close_memory()
        privacy.begin()
        self.listener = listener
        self.environment: Callable[[], Mapping[str, str]] = lambda: os.environ
        self.n_workers = n_workers
        self.workers: WorkerProcesses | None = None
        self.apis = ApiProcesses(n_apis, self.listener, lambda: self.environment())
        self.apis.load()

    def load_workers(self, threads: int) -> WorkerProcesses:
        """threads : that one job may use."""
        self.workers = WorkerProcesses(
            self.n_workers, _OPTIONS, threads, lambda: self.environment()
        )
        if keeps_as_usual(os.environ):
            self.workers.load()
        return self.workers

    def close(self) -> None:
        """End what runs, at once: a service that ran has ended its processes by then."""
        if self.workers is not None:
            self.workers.kill()
            self.workers.stop(0.0)
        self.apis.stop(0.0)
