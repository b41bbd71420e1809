"""What may interrupt work on a job: a lost lease, a cancel, a deadline, the end of the worker."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Literal, TypeVar

from workers import logs
from workers.child.messages import ChildMessage
from workers.child.pool import Child
from workers.child.stillness import Stillness
from workers.errors import TransientError
from workers.model import Advance, Request
from workers.settings import WorkerSettings
from workers.work.job import Outcome

LeaseState = Literal["on", "cancel", "lost"]

_CHECK_EVERY_S = 0.1
"""How often a waiting supervisor checks for a cancel, the deadline and a stop."""

_LOOK_EVERY_S = 0.5
"""How often it looks whether the job has computed for long."""

_LONGEST_PAUSE_S = 0.5
"""The longest pause between heartbeats, by which cancels are noticed."""

_log = logging.getLogger(__name__)
T = TypeVar("T")


class LeaseLost(Exception):
    """Another worker has the lease: nothing may be published."""


class CancelRequested(Exception):
    """The user has cancelled the job."""


class WorkerStopping(Exception):
    """This worker must stop before the job has ended."""


class MakesRoom(Exception):
    """The job goes back to its queue, so that shorter ones run."""


class OutOfTime(Exception):
    """The job has exceeded its time limit."""


class Heartbeat:
    """Renews a lease and reports progress from its own thread, until `stop`.

    renew : renews the lease once, with the latest progress if there is any.
    """

    def __init__(
        self, renew: Callable[[Advance | None], LeaseState], every_s: float, request: Request
    ) -> None:
        self.lease: LeaseState = "on"
        self._renew, self._every_s, self._request = renew, every_s, request
        self._advance: Advance | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def carry(self, advance: Advance) -> None:
        """Report this progress with the next beat."""
        self._advance = advance

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(5.0)

    def _beat(self) -> None:
        logs.set_ids(self._request.id, self._request.request_id)
        while self.lease != "lost" and not self._stopped.wait(self._every_s):
            advance, self._advance = self._advance, None
            try:
                self.lease = self._renew(advance)
            except TransientError as error:
                # The job goes on: its result can still be published if no other attempt is first.
                _log.warning("job %s: no heartbeat: %s", self._request.id, error)
            except Exception:
                _log.exception("job %s: no heartbeat", self._request.id)


def beat_s(settings: WorkerSettings) -> float:
    """Seconds between two heartbeats."""
    return min(settings.heartbeat_s, settings.lease_s / 4, _LONGEST_PAUSE_S)


class Interrupts:
    """Checks for interrupts while a worker waits for something.

    deadline : by the monotonic clock. stop_at : returns the time at which the worker must stop;
        None: not yet. still_s : how long a child may be silent without using CPU time.
    """

    def __init__(
        self,
        heartbeat: Heartbeat,
        deadline: float,
        stop_at: Callable[[], float | None],
        still_s: float = 60.0,
    ) -> None:
        self.heartbeat = heartbeat
        self._deadline = deadline
        self._stop_at = stop_at
        self._still_s = still_s

    def check_ownership(self) -> None:
        """Raises LeaseLost or WorkerStopping."""
        if self.heartbeat.lease == "lost":
            raise LeaseLost
        stop_at = self._stop_at()
        if stop_at is not None and time.monotonic() > stop_at:
            raise WorkerStopping

    def check(self) -> None:
        """Raises LeaseLost, WorkerStopping, CancelRequested or OutOfTime."""
        self.check_ownership()
        if self.heartbeat.lease == "cancel":
            raise CancelRequested
        if time.monotonic() > self._deadline:
            raise OutOfTime

    def meanwhile(
        self, work: Callable[[], T], discard: Callable[[T], object] = lambda _: None
    ) -> T:
        """The result of `work`, run in another thread so that a long download can be abandoned.

        Raises what `check` and `work` do. discard : called with a result that comes afterwards.
        """
        result: Future[T] = Future()

        def do() -> None:
            try:
                result.set_result(work())
            except BaseException as error:
                result.set_exception(error)

        threading.Thread(target=do, name="inputs", daemon=True).start()
        while True:
            with contextlib.suppress(NotYet):
                return result.result(_CHECK_EVERY_S)
            try:
                self.check()
            except BaseException:
                result.add_done_callback(
                    lambda late: discard(late.result()) if late.exception() is None else None
                )
                raise

    def listen(
        self,
        child: Child,
        attend: Callable[[ChildMessage | None], None],
        waits: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Wait for the child's outcome.

        `attend` is called with each earlier message, and regularly with None. `waits` says whether
        the child waits for an answer of ours. Raises what `check` does, and TransientError if a
        transient condition kept the child from its work, or it stands still.
        """
        stillness = Stillness(child.pid, self._still_s)
        look_at = time.monotonic() + _LOOK_EVERY_S
        while True:
            message = child.receive(_CHECK_EVERY_S)
            if time.monotonic() > look_at:
                look_at = math.inf if child.gives_way() else time.monotonic() + _LOOK_EVERY_S
            if message is not None or waits():
                stillness.reset()
            elif stillness.exceeded():
                raise TransientError(
                    f"the job's process was silent and used no CPU time for {self._still_s:g} s"
                )
            if message is not None and message.outcome is not None:
                return message.outcome
            if message is not None and message.transient is not None:
                raise message.transient_error()
            attend(message)
            self.check()
