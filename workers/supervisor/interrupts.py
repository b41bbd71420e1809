"""What may interrupt work on a job: a lease lost, a cancel, a deadline, a worker that is to end."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Literal, TypeVar

from workers import logs
from workers.child.process import Child, Said
from workers.child.run import Outcome
from workers.errors import TransientError
from workers.model import Advance, Request
from workers.settings import WorkerSettings

Verdict = Literal["on", "cancel", "lost"]

_LOOK_EVERY_S = 0.1
"""How often a supervisor looks at cancel, deadline and stop while it waits."""

_LONGEST_BEAT_S = 0.5
"""A cancel is noticed by the heartbeat, so it beats at least this often."""

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Lost(Exception):
    """Another worker has the lease: nothing may be published."""


class CancelAsked(Exception):
    """The user wants the job to end."""


class Stopping(Exception):
    """This worker is to end before the job has."""


class OutOfTime(Exception):
    """The job has run longer than it may."""


class Pulse:
    """Renews a lease from a thread of its own and carries progress along until `stop`."""

    def __init__(
        self, beat: Callable[[Advance | None], Verdict], every_s: float, request: Request
    ) -> None:
        self.verdict: Verdict = "on"
        self._renew, self._every_s, self._request = beat, every_s, request
        self._advance: Advance | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)
        self._thread.start()

    def tell(self, advance: Advance) -> None:
        self._advance = advance

    def stop(self) -> None:
        self._done.set()
        self._thread.join(5.0)

    def _beat(self) -> None:
        logs.request_id.set(self._request.request_id or None)
        while self.verdict != "lost" and not self._done.wait(self._every_s):
            advance, self._advance = self._advance, None
            try:
                self.verdict = self._renew(advance)
            except TransientError as error:
                # The job goes on: its result can still be published if no other attempt is first.
                _log.warning("job %s: no heartbeat: %s", self._request.id, error)
            except Exception:
                _log.exception("job %s: no heartbeat", self._request.id)


def beat_s(settings: WorkerSettings) -> float:
    """Seconds between two heartbeats."""
    return min(settings.heartbeat_s, settings.lease_s / 4, _LONGEST_BEAT_S)


class Watch:
    """Looks after what may interrupt, while something is waited for.

    deadline : by the monotonic clock. stop_at : gives when the worker is to end, None: not yet.
    """

    def __init__(self, pulse: Pulse, deadline: float, stop_at: Callable[[], float | None]) -> None:
        self.pulse = pulse
        self._deadline = deadline
        self._stop_at = stop_at

    def check_ownership(self) -> None:
        """Raises Lost or Stopping."""
        if self.pulse.verdict == "lost":
            raise Lost
        stop_at = self._stop_at()
        if stop_at is not None and time.monotonic() > stop_at:
            raise Stopping

    def check(self) -> None:
        """Raises Lost, Stopping, CancelAsked or OutOfTime."""
        self.check_ownership()
        if self.pulse.verdict == "cancel":
            raise CancelAsked
        if time.monotonic() > self._deadline:
            raise OutOfTime

    def meanwhile(self, work: Callable[[], T]) -> T:
        """The result of `work`, done in another thread so that a long download can be left."""
        done: Future[T] = Future()

        def do() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        threading.Thread(target=do, name="inputs", daemon=True).start()
        while True:
            with contextlib.suppress(NotYet):
                return done.result(_LOOK_EVERY_S)
            self.check()

    def listen(self, child: Child, attend: Callable[[Said | None], None]) -> Outcome:
        """Wait for the child's last word. `attend` gets what it says before, and None now and then.

        Raises what `check` does, and TransientError where something that may pass kept the child
        from its work.
        """
        while True:
            said = child.hear(_LOOK_EVERY_S)
            if said is not None and said.outcome is not None:
                return said.outcome
            if said is not None and said.passing is not None:
                raise said.passed()
            attend(said)
            self.check()
