"""Who is invited to compute pieces of a running job: idle workers, or the members of a Dask
cluster.

The board keeps the promise (leases, tokens, fences; `workers.jobs.pieces`), whoever computes. A
carrier only brings helpers to it, so an invitation may be lost, come late or come twice.
"""

from __future__ import annotations

import logging
import queue as queues
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Protocol

from umbel import engine
from workers.errors import FatalError
from workers.settings import WorkerSettings
from workers.stores.redis.workers import WorkerBook

Hint = Callable[[str, str], None]

_ANSWER_S = 5.0
"""How long the scheduler may take to answer."""
_AGAIN_S = 30.0
"""How long a cluster that could not be reached is left alone."""

_log = logging.getLogger(__name__)


class Carrier(Protocol):
    """Brings helpers to the boards of jobs. Threads may share it."""

    def invite(self, queue: str, job_id: str, most: int) -> None:
        """Ask for up to `most` helpers of a running job. Raises StoreUnavailable."""
        ...

    def waits(self, queue: str) -> bool:
        """Whether earlier invitations wait for somebody to follow them."""
        ...


class IdleWorkers:
    """Workers that have no job of their own: a hint for a running job is an invitation.

    hint(queue, job id) : sends a hint. hints(queue) : how many wait.
    """

    def __init__(self, workers: WorkerBook, hint: Hint, hints: Callable[[str], int]) -> None:
        self._workers = workers
        self._hint = hint
        self._hints = hints

    def invite(self, queue: str, job_id: str, most: int) -> None:
        for _ in range(min(most, self._workers.n_alive())):
            self._hint(queue, job_id)

    def waits(self, queue: str) -> bool:
        return bool(self._hints(queue))


class DaskMembers:
    """The members of a Dask cluster, each as one helper (`umbel.engine`).

    One thread speaks to the scheduler, so that no job waits for it; while the scheduler
    cannot be reached, or has no members, `instead` invites.

    address : of the scheduler, as dask://host:8786 or dask+tls://host:8786.
    """

    def __init__(self, address: str, instead: Carrier) -> None:
        protocol, _, place = address.partition("://")
        self._address = f"{'tls' if protocol == 'dask+tls' else 'tcp'}://{place}"
        self._instead = instead
        self._requests: queues.SimpleQueue[tuple[str, str, int]] = queues.SimpleQueue()
        # Dask forgets a task whose future nobody holds.
        self._at_work: defaultdict[str, set[Any]] = defaultdict(set)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._client: Any = None
        self._alone_until = 0.0

    def invite(self, queue: str, job_id: str, most: int) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
                self._thread.start()
        self._requests.put((queue, job_id, most))

    def waits(self, queue: str) -> bool:
        # `_submit` knows how many are at work.
        return False

    def _serve(self) -> None:
        while True:
            queue, job_id, most = self._requests.get()
            try:
                if time.monotonic() >= self._alone_until and self._submit(queue, job_id, most):
                    continue
            except Exception as error:  # Dask raises many kinds.
                self._alone_until = time.monotonic() + _AGAIN_S
                _log.warning("the cluster at %s cannot be reached: %r", self._address, error)
                self._disconnect()
            try:
                self._instead.invite(queue, job_id, most)
            except Exception as error:
                _log.warning("job %s: cannot request help: %s", job_id, error)

    def _submit(self, queue: str, job_id: str, most: int) -> bool:
        """Ask members until `most` are at work for the job; False: there are none at all."""
        client = self._connected()
        known = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER_S)
        members = list(known["workers"].values())
        if queue == "gpu":
            members = [member for member in members if member["resources"].get("GPU")]
        with self._lock:
            n_wanted = min(most, len(members)) - len(self._at_work.get(job_id, ()))
        for _ in range(n_wanted):
            future = client.submit(
                engine.help_with,
                job_id,
                version("umbel"),
                pure=False,
                retries=0,
                resources={"GPU": 1} if queue == "gpu" else None,
            )
            with self._lock:
                self._at_work[job_id].add(future)
            future.add_done_callback(partial(self._left, job_id))
        return bool(members)

    def _left(self, job_id: str, future: Any) -> None:
        """Called when a member has done what it could, or is lost."""
        with self._lock:
            self._at_work[job_id].discard(future)
            if not self._at_work[job_id]:
                del self._at_work[job_id]
        if future.status == "error":
            _log.warning("a member of the cluster does not help: %s", future.exception())

    def _connected(self) -> Any:
        if self._client is None or self._client.status != "running":
            from distributed import Client

            self._disconnect()
            self._client = Client(  # type: ignore[no-untyped-call]
                self._address, timeout=_ANSWER_S, set_as_default=False, name="umbel"
            )
        return self._client

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        with self._lock:
            self._at_work.clear()
        if client is not None:
            threading.Thread(target=client.close, daemon=True).start()


def carrier(settings: WorkerSettings, idle: Carrier) -> Carrier:
    """The carrier of the settings: `idle`, or the cluster of `engine`.

    Raises FatalError where its package is not installed.
    """
    if not settings.engine:
        return idle
    if find_spec("distributed") is None:
        raise FatalError(
            "UMBEL_ENGINE needs the package distributed: pip install 'umbel[dask]'; without "
            "UMBEL_ENGINE the workers share the pieces of fits among themselves"
        )
    return DaskMembers(settings.engine, idle)
