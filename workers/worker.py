"""A worker process: takes jobs from its queues, runs each in a child, and sweeps what is due."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import secrets
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait as wait_for
from functools import partial
from pathlib import Path

from celery.worker import state

from workers.assembly import assemble
from workers.broker import WakingPool, make_app, register
from workers.child import template
from workers.child.compiling import COMPILING
from workers.child.pool import ChildPool
from workers.child.process import ProcessLimits
from workers.child.run import trial
from workers.errors import TransientError
from workers.jobs.hints import message, sender
from workers.settings import WorkerSettings
from workers.supervisor.scratch import left_by_dead, own_scratch
from workers.supervisor.supervisor import Supervisor
from workers.telemetry import traces
from workers.webhooks.sender import Sender

_PRESENT_EVERY_S = 1.0
_COMPILING_EVERY_S = 0.3
"""How often a worker that waits for its template looks whether that compiles, and reports it."""

_KILL_S = 1.5
"""How long the children of a stopping worker may take to be killed and their jobs given back."""

_QUICK_EVERY_S = 0.05
"""How often a worker whose slots are taken looks for a job that may run beside them."""

_LAST_SPANS_S = 1.0
"""How long a worker that ends tries to send its last spans."""

_WARM_S = 60.0
"""How long a worker waits for its template and the trial job before it takes jobs anyway; it waits
on while the template compiles."""

_log = logging.getLogger(__name__)


class Worker:
    """One worker process. Create and run it in the main thread."""

    def __init__(self, settings: WorkerSettings, queues: Sequence[str]) -> None:
        traces.begin("umbel-worker")
        self._settings = settings
        self._queues = list(queues)
        self._name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._ended = threading.Event()
        self._warm = threading.Event()
        self._consuming = threading.Event()
        threads = settings.threads_per_job
        self._pool = ChildPool(
            ProcessLimits(
                memory_bytes=settings.job_memory_bytes,
                threads=threads,
                jobs=settings.jobs_per_process,
            ),
            spares=settings.slots + settings.quick_slots + _guest_slots(settings),
            still_s=settings.still_s,
        )
        self._filled = self._pool.fill()
        self._assembly = assemble(settings, sender(settings), message)
        self._webhooks = Sender(self._assembly.ledger.webhooks, settings)
        self._scratch, self._lock, self._left = own_scratch(settings.scratch_dir)
        self._supervisor = Supervisor(
            settings,
            self._assembly,
            self._pool,
            scratch=self._scratch,
            threads=threads,
            worker=self._name,
            queues=self._queues,
        )

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Ends the process."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        self._thread("stop", lambda: self._stop_after(stop))
        self._thread("sweep", self._sweep)
        self._thread("presence", self._report_presence)
        for slot in range(self._settings.quick_slots):
            self._thread(f"quick {slot}", partial(self._run_beside, self._supervisor.run_quick))
        for slot in range(_guest_slots(self._settings)):
            self._thread(f"guest {slot}", partial(self._run_beside, self._supervisor.run_guest))
        self._thread("left", self._requeue_left)
        self._webhooks.start()
        while not stop.is_set():
            self._consume()
            # Celery returns only after an error it cannot handle; jobs must continue.
            stop.wait(1.0)
        threading.Event().wait()

    def _requeue_left(self) -> None:
        """Requeue the jobs of processes that have died on this machine: their leases still hold."""
        for job_id, fence in self._left:
            try:
                self._assembly.ledger.process_died(job_id, fence)
            except TransientError as error:
                _log.warning("job %s waits for the end of its lease: %s", job_id, error)
            except Exception:
                _log.exception("job %s waits for the end of its lease", job_id)

    def _thread(self, name: str, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name=name, daemon=True).start()

    def _consume(self) -> None:
        app = make_app(self._settings)
        register(app, self._supervisor)
        # Tasks in the pool's threads look up the default application.
        app.set_default()
        app.finalize()
        controller = app.WorkController(
            hostname=self._name,
            pool=WakingPool,
            concurrency=self._settings.slots,
            queues=self._queues,
            loglevel=self._settings.log_level.upper(),
            ready_callback=lambda _: self._consuming.set(),
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        # A job taken earlier could only wait, while another worker may be free.
        self._wait_warm()
        try:
            controller.start()
        except Exception:
            _log.exception("Celery's worker failed and is restarted")

    def _wait_warm(self) -> None:
        while not self._warm.wait(_WARM_S) and template.compiling():
            pass

    def _run_beside(self, run: Callable[[], bool]) -> None:
        """Run jobs while the slots are taken: nobody then receives their hints. run : a job, if one
        waits; whether it did."""
        self._wait_warm()
        while not self._ended.wait(_QUICK_EVERY_S):
            while run():
                pass

    def _stop_after(self, stop: threading.Event) -> None:
        """After a signal: let jobs continue for `drain_s`, give back the rest, end the process."""
        stop.wait()
        self._ended.set()
        state.should_stop = 0
        self._webhooks.close()
        self._supervisor.stop(self._settings.drain_s)
        began = time.monotonic()
        self._supervisor.wait_idle(self._settings.drain_s + _KILL_S)
        self._webhooks.stop(max(0.0, self._settings.drain_s - (time.monotonic() - began)))
        self._pool.close()
        self._report_gone()
        self._lock.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        traces.end(_LAST_SPANS_S)
        logging.shutdown()
        os._exit(0)

    def _report_gone(self) -> None:
        try:
            self._assembly.ledger.workers.left(self._name)
        except TransientError as error:
            _log.warning("cannot report that this worker is gone: %s", error)

    def _report_presence(self) -> None:
        """Warm up, then report periodically that this worker is alive: from the moment at which it
        takes jobs, so that a service that is ready runs its first job at once."""
        self._wait_filled()
        try:
            warm(self._pool, self._scratch)
        except Exception:
            _log.exception("the trial job failed")
        self._warm.set()
        self._consuming.wait(_WARM_S)
        self._report(self._present)
        with contextlib.suppress(RuntimeError):  # After `close`.
            self._pool.complete()
        while not self._ended.wait(_PRESENT_EVERY_S):
            self._report(self._present)
            self._pool.drop_idle()

    def _wait_filled(self) -> None:
        """Wait until children wait for jobs; report meanwhile if that takes so long because what
        they need is compiled."""
        announced = False
        while not wait_for([self._filled], _COMPILING_EVERY_S).done and not self._ended.is_set():
            if template.compiling():
                if not announced:
                    _log.info(COMPILING)
                announced = True
                self._report(self._assembly.ledger.workers.compiling)
        self._filled.result()

    def _present(self, name: str) -> None:
        """Report what this worker does; it drains while it is paused."""
        running = self._supervisor.running
        paused = self._assembly.ledger.workers.seen(name, self._queues, running)
        self._supervisor.drain(on=paused)

    def _report(self, report: Callable[[str], None]) -> None:
        try:
            report(self._name)
        except TransientError as error:
            _log.warning("cannot report that this worker is alive: %s", error)
        except Exception:
            _log.exception("cannot report that this worker is alive")

    def _sweep(self) -> None:
        """Handle due jobs periodically, at times that differ between workers."""
        while not self._ended.wait(self._settings.sweep_s * random.uniform(0.75, 1.25)):
            try:
                for job_id, fence in left_by_dead(self._settings.scratch_dir):
                    self._assembly.ledger.process_died(job_id, fence)
                self._assembly.ledger.sweep()
            except TransientError as error:
                _log.warning("nothing swept: %s", error)
            except Exception:
                _log.exception("nothing swept")


def _guest_slots(settings: WorkerSettings) -> int:
    """Slots for tenants who have no other; none where nothing runs beside the slots."""
    return min(settings.quick_slots, 1)


def warm(pool: ChildPool, scratch: Path, timeout_s: float = 180.0) -> None:
    """Run a trivial job in a child, so that the first real one meets warm files and caches.

    Raises RuntimeError if it does not succeed.
    """
    folder = scratch / "trial"
    spec = trial(folder)
    child = pool.take()
    try:
        child.begin(spec)
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            message = child.receive(1.0)
            if message is not None and message.outcome is not None:
                if message.outcome.error is not None:
                    raise RuntimeError(f"the trial job failed: {message.outcome.error['detail']}")
                return
        raise RuntimeError("the trial job does not end")
    finally:
        pool.drop(child)
        pool.refill()
        shutil.rmtree(folder, ignore_errors=True)
