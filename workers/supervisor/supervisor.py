"""One attempt of one job, from outside: lease, heartbeat, cancel, deadline, publication.

Runs in a thread of a worker process; a child does the computing. Does not import torch.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from models.errors import UsageError
from models.running.progress import SHARED
from workers import logs
from workers.artifacts.checkpoints import FOLDER, Checkpoints
from workers.assembly import Assembly
from workers.child.messages import ChildMessage
from workers.child.pool import Child, ChildPool
from workers.embedding.vectors import Attempt, asks_embedder, embedded
from workers.errors import (
    NO_ROOM,
    Damaged,
    NoProcess,
    NotReached,
    Problem,
    StoreFull,
    StoreUnavailable,
    TransientError,
    made_room,
    problem,
    problem_of,
    process_lost,
    worker_stopping,
)
from workers.jobs.pieces import n_pieces
from workers.kinds.kind import Lane
from workers.kinds.registry import kind_of
from workers.model import Advance, Claim, End, now
from workers.phrasing.names import asks_model, phrased
from workers.settings import WorkerSettings
from workers.supervisor.helper import Helper
from workers.supervisor.inputs import prepare
from workers.supervisor.interrupts import (
    CancelRequested,
    Heartbeat,
    Interrupts,
    LeaseLost,
    MakesRoom,
    OutOfTime,
    WorkerStopping,
    beat_s,
)
from workers.supervisor.pieces import AttemptPieces
from workers.supervisor.scratch import folder_of
from workers.telemetry import traces
from workers.telemetry.job_counts import Meter, Stage
from workers.work.job import Outcome, Spec

_AFTER_FAILURE_S = 1.0
"""The pause before the next look for quick jobs while Redis or the store is unavailable."""

_ASKS_EVERY_S = 1.0
"""How often an attempt asks whether it must make room."""

Slot = Literal["slot", "quick", "guest"]
"""Where a worker runs a job: in a slot; beside its slots, if it is quick or short; or beside all of
these, for a tenant who has none of them."""

_log = logging.getLogger(__name__)


class Supervisor:
    """Runs jobs by their ids for one worker process. Threads share it, one job each.

    scratch : folder used by this worker only, on the store's file system if that is local.
    threads : the number that one job may use. queues : those whose jobs it runs.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        assembly: Assembly,
        pool: ChildPool,
        *,
        scratch: Path,
        threads: int,
        worker: str,
        queues: Sequence[str] = ("cpu",),
    ) -> None:
        self._settings = settings
        self._assembly = assembly
        self._pool = pool
        self._scratch = scratch
        self._threads = threads
        self._worker = worker
        self._queues = tuple(queues)
        self._helper = Helper(
            settings,
            assembly,
            pool,
            scratch=scratch,
            threads=threads,
            stop_at=lambda: self._stop_at,
        )
        self._checkpoints = Checkpoints(assembly.blobs)
        self._stop_at: float | None = None
        self._running = {"slot": 0, "quick": 0, "guest": 0}
        self._tenants: list[str] = []
        self._last: dict[str, str] = {}
        self._jobs: list[str] = []
        self._draining = False
        self._change = threading.Condition()

    def run(self, job_id: str, queue: str | None = None) -> None:
        """Run the job whose turn it is; if none waits, help the running job `job_id`.

        Long and short fits come in turns. Quick jobs come last where there are slots for them,
        else first. Never raises. queue : the one that the hint came from; its jobs are first.
        """
        queues = sorted(self._queues, key=lambda name: name != queue)

        def work() -> bool:
            if not self._attempt_next(queues, "slot") and not self._draining:
                with self._at(job_id):
                    self._helper.help(job_id)
            return True

        self._in_slot("slot", work)

    def run_quick(self) -> bool:
        """Run the quick or short job whose turn it is, if this worker's slots are taken; whether it
        did. Quick and short ones come in turns.

        Never raises.
        """
        return self._full("slot") and self._in_slot(
            "quick", lambda: self._attempt_next(self._queues, "quick")
        )

    def run_guest(self) -> bool:
        """Run the quick or short job whose turn it is, of a tenant of whom this worker runs none,
        if all slots are taken, those for quick work too; whether it did.

        Never raises.
        """
        if not (self._full("slot") and self._full("quick")):
            return False
        return self._in_slot("guest", lambda: self._attempt_next(self._queues, "guest"))

    @property
    def running(self) -> list[str]:
        """The jobs at which this worker is."""
        return list(self._jobs)

    def drain(self, *, on: bool) -> None:
        """Whether to give back jobs that have saved a checkpoint, and help with none. Redis gives a
        paused worker no jobs."""
        if on != self._draining:
            _log.info("this worker %s", "drains: it is paused" if on else "takes jobs again")
        self._draining = on

    def stop(self, drain_s: float) -> None:
        """Take no more jobs; running jobs may continue for `drain_s` seconds."""
        self._stop_at = time.monotonic() + drain_s

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until no job runs; False if one still runs after `timeout_s`."""
        with self._change:
            return self._change.wait_for(lambda: not any(self._running.values()), timeout_s)

    def _in_slot(self, slot: Slot, work: Callable[[], bool]) -> bool:
        """The result of `work`; False if this worker stops, or `work` fails."""
        try:
            with self._counted(slot):
                return self._stop_at is None and work()
        except TransientError as error:
            _log.warning("jobs are left for later: %s", error)
            if slot != "slot":
                # Nobody else holds back the next look, as the broker does with hints.
                time.sleep(_AFTER_FAILURE_S)
        except Exception:
            _log.exception("the supervisor failed")
        finally:
            logs.set_ids(None, None)
        return False

    def _full(self, slot: Literal["slot", "quick"]) -> bool:
        settings = self._settings
        return self._running[slot] >= {"slot": settings.slots, "quick": settings.quick_slots}[slot]

    def _kinds(self, slot: Slot) -> tuple[Lane, ...]:
        """The kinds of lanes in the order in which a slot looks at them: of two that take turns the
        one comes later that had the last."""
        in_turns: tuple[Lane, Lane] = ("fit", "short") if slot == "slot" else ("quick", "short")
        if self._last.get(slot) == in_turns[0]:
            in_turns = in_turns[::-1]
        if slot != "slot":
            return in_turns
        return (*in_turns, "quick") if self._settings.quick_slots else ("quick", *in_turns)

    def _attempt_next(self, queues: Sequence[str], slot: Slot) -> bool:
        """Run the job whose turn it is in a slot; False if none waits."""
        start_ns = traces.now_ns()
        lanes = [f"{queue}:{kind}" for kind in self._kinds(slot) for queue in queues]
        without = self._tenants if slot == "guest" else ()
        claim = self._assembly.ledger.claim_next(lanes, self._worker, without)
        if claim is None:
            return False
        self._last[slot] = claim.lane
        request = claim.request
        with traces.span(
            "attempt",
            kind="consumer",
            parent=request.trace,
            start_ns=start_ns,
            job_id=request.id,
            kind_of_job=request.kind,
            method=request.method,
            attempt=claim.attempt,
        ) as step:
            step.past("claim", start_ns)
            with self._at(request.id, request.tenant):
                self._attempt(claim, step)
        return True

    @contextlib.contextmanager
    def _at(self, job_id: str, *tenants: str) -> Iterator[None]:
        """While this worker is at a job. tenants : whose job it is, where it runs here."""
        self._jobs.append(job_id)
        self._tenants += tenants
        try:
            yield
        finally:
            self._jobs.remove(job_id)
            for tenant in tenants:
                self._tenants.remove(tenant)

    @contextlib.contextmanager
    def _counted(self, slot: Slot) -> Iterator[None]:
        with self._change:
            self._running[slot] += 1
        try:
            yield
        finally:
            with self._change:
                self._running[slot] -= 1
                self._change.notify_all()

    def _attempt(self, claim: Claim, step: traces.Span) -> None:
        settings, ledger = self._settings, self._assembly.ledger
        logs.set_ids(
            claim.request.id,
            claim.request.request_id,
            traces.traceparent() or claim.request.trace,
        )
        _log.info("attempt %d of a job by %s begins", claim.attempt, claim.request.method)
        heartbeat = Heartbeat(
            lambda advance: ledger.beat(claim, advance), beat_s(settings), claim.request
        )
        folder = self._scratch / folder_of(claim.request.id, claim.fence)
        pieces = AttemptPieces(ledger.pieces, claim, settings)

        def keep(number: int) -> None:
            path = folder / FOLDER / str(number)
            self._checkpoints.keep(claim, path)
            path.unlink(missing_ok=True)

        deadline = time.monotonic() + settings.job_timeout_s
        shared = folder / SHARED
        attempt = _Attempt(
            claim,
            pieces,
            keep,
            shared,
            heartbeat,
            deadline,
            lambda: self._stop_at,
            settings.still_s,
            Meter(self._assembly.redis, settings, claim.request.method),
            lambda: self._draining,
            partial(ledger.makes_room, claim, self._shorter()),
            settings.room_s,
        )
        try:
            end = self._end(attempt, folder)
            step.note(status=end.status)
            if end.error is not None:
                step.fail(end.error["type"].rpartition("/")[2])
            with attempt.stage("publish"):
                self._publish(
                    attempt, end, folder / "result" if end.status == "succeeded" else None
                )
            _log.info(
                "the job has ended",
                extra={"status": end.status, "seconds": round(attempt.elapsed_s, 3)},
            )
        except LeaseLost:
            step.fail("lease-lost")
            _log.warning("job %s: the lease was lost, the result is discarded", claim.request.id)
            with contextlib.suppress(TransientError):
                ledger.forsake(claim)
        except WorkerStopping:
            step.fail("worker-stopping")
            _log.info("job %s is given back because this worker stops", claim.request.id)
            ledger.give_back(claim, retry=worker_stopping(), spend=False)
        except MakesRoom:
            step.fail("made-room")
            _log.info("job %s makes room for shorter ones", claim.request.id)
            ledger.give_back(claim, retry=made_room(), spend=False, lane="fit")
        except NoProcess as error:
            step.fail("no-process")
            _log.warning("job %s is given back: %s", claim.request.id, error)
            ledger.give_back(
                claim, retry=process_lost(error), spend=False, delay_s=settings.resend_s
            )
        except TransientError as error:
            step.fail(type(error).__name__)
            _log.warning("job %s attempt %d: %s", claim.request.id, claim.attempt, error)
            ledger.give_back(claim, retry=_reason(error), spend=True, why=_why(error))
        except Exception as error:
            step.fail(type(error).__name__)
            _log.exception("job %s attempt %d", claim.request.id, claim.attempt)
            ledger.give_back(claim, retry=_reason(error), spend=True, why=_why(error))
        finally:
            self._pool.refill()
            heartbeat.stop()
            pieces.close()
            attempt.meter.send()
            shutil.rmtree(folder, ignore_errors=True)

    def _shorter(self) -> list[str]:
        """The lanes for whose jobs an attempt makes room."""
        return [f"{queue}:{kind}" for kind in ("quick", "short") for queue in self._queues]

    def _end(self, attempt: _Attempt, folder: Path) -> End:
        """Run the job; returns its final end."""
        try:
            outcome = self._outcome(attempt, folder)
        except CancelRequested:
            return attempt.end("cancelled")
        except OutOfTime:
            return attempt.end("failed", error=_too_long(self._settings.job_timeout_s))
        except (UsageError, Damaged) as error:
            return attempt.end("failed", error=problem_of(error))
        if outcome.error is not None:
            return attempt.end("failed", outcome)
        return attempt.end("succeeded", outcome)

    def _outcome(self, attempt: _Attempt, folder: Path) -> Outcome:
        result = folder / "result"
        result.mkdir(parents=True)
        parts, request = self._assembly, attempt.claim.request
        # What the child prints belongs to this attempt.
        trace = traces.traceparent() or request.trace

        def ready() -> Spec:
            spec = prepare(request, parts.blobs, parts.datasets, parts.trees, result, self._threads)
            size = sum(source.n_bytes for source in spec.sources)
            return spec.model_copy(
                update={
                    "n_pieces": n_pieces(size, self._settings),
                    "checkpoint": self._checkpoints.latest(request)
                    if kind_of(request.kind).resumes(request)
                    else None,
                    "checkpoint_s": self._settings.checkpoint_s,
                    "request": request.model_copy(update={"trace": trace}),
                }
            )

        meter = attempt.meter
        with attempt.stage("inputs") as step:
            spec = attempt.meanwhile(ready)
            step.note(n_bytes=sum(source.n_bytes for source in spec.sources))
        with attempt.stage("process"):
            child = attempt.meanwhile(partial(self._pool.begin, spec), self._pool.drop)
        try:
            with attempt.stage("compute"), attempt.computing():
                outcome = attempt.listen(
                    child, lambda message: attempt.attend(child, message), attempt.child_waits
                )
        finally:
            peak_bytes = child.peak_bytes()
            if peak_bytes is not None:
                meter.memory(peak_bytes)
            self._pool.release(child, request.tenant)
        if asks_model(request, outcome):
            # Children have no network.
            return attempt.meanwhile(
                partial(phrased, self._settings, parts.redis, request, outcome, result)
            )
        if asks_embedder(request, outcome):
            return self._embedded(attempt, spec, outcome)
        return outcome

    def _embedded(self, attempt: _Attempt, spec: Spec, outcome: Outcome) -> Outcome:
        """The outcome with the vectors of the items that the child left."""
        claim, left = attempt.claim, threading.Event()
        lent = Attempt(
            spec.folder.parent,
            spec.checkpoint,
            self._settings.checkpoint_s,
            partial(self._checkpoints.keep, claim),
            left,
            lambda share: attempt.heartbeat.carry(
                Advance(fraction=0.05 + 0.94 * share, stage="embedding")
            ),
        )
        redis = self._assembly.redis
        try:
            return attempt.meanwhile(
                partial(embedded, self._settings, redis, claim.request, outcome, spec.folder, lent)
            )
        finally:
            left.set()

    def _publish(self, attempt: _Attempt, end: End, folder: Path | None) -> None:
        """Finish the job; retries for a while if Redis or the store is unavailable."""
        ledger, pause_s = self._assembly.ledger, 0.1
        give_up_at = time.monotonic() + max(30.0, 4 * self._settings.lease_s)
        while True:
            try:
                ledger.finish(attempt.claim, end, folder)
                return
            except TransientError as error:
                _log.warning("job %s is not published yet: %s", end.job, error)
                if time.monotonic() > give_up_at:
                    raise
            attempt.check_ownership()
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 2.0)


class _Attempt(Interrupts):
    """One claim: what may interrupt it, and what its child sends before the outcome.

    keep : stores the checkpoint with the given number.
    shared : the file in which the child leaves the arrays that pieces share.
    drains : whether the worker gives jobs back.
    makes_room : whether shorter jobs wait, for which this one makes room after `room_s`.
    """

    def __init__(
        self,
        claim: Claim,
        pieces: AttemptPieces,
        keep: Callable[[int], None],
        shared: Path,
        heartbeat: Heartbeat,
        deadline: float,
        stop_at: Callable[[], float | None],
        still_s: float,
        meter: Meter,
        drains: Callable[[], bool],
        makes_room: Callable[[], bool],
        room_s: float,
    ) -> None:
        super().__init__(heartbeat, deadline, stop_at, still_s)
        self.claim = claim
        self.meter = meter
        self._pieces = pieces
        self._keep = keep
        self._shared = shared
        self._stages = traces.Stages()
        self._began = time.monotonic()
        self._drains = drains
        self._makes_room = makes_room
        self._asks_at = self._began + room_s

    def attend(self, child: Child, message: ChildMessage | None) -> None:
        """Forward the child's progress, keep its checkpoints, hand it the pieces it requests."""
        if message is not None:
            if message.advance is not None:
                self._stages.reach(message.advance.stage)
                self.heartbeat.carry(self._with_eta(message.advance))
            if message.checkpoint is not None:
                self.meanwhile(partial(self._keep, message.checkpoint))
                if self._drains():
                    raise WorkerStopping
                self._make_room()
            if message.pieces is not None:
                shared = self._shared if message.shared else None
                self.meanwhile(partial(self._pieces.post, message.pieces, shared))
            if message.piece_request is not None:
                self._pieces.request(message.piece_request.finished)
        assignment = self._pieces.assignment(self.meanwhile)
        if assignment is not None:
            child.send(assignment)
        self._pieces.invite()
        if self.claim.lane != "fit":
            self._make_room()

    def _make_room(self) -> None:
        """Raises MakesRoom if shorter jobs wait. To be called when little is lost: of a long job
        after a checkpoint; one that was expected to be short or quick becomes a long one."""
        if time.monotonic() < self._asks_at:
            return
        self._asks_at = time.monotonic() + _ASKS_EVERY_S
        with contextlib.suppress(TransientError):
            if self.meanwhile(self._makes_room):
                raise MakesRoom

    @contextlib.contextmanager
    def stage(self, name: Stage) -> Iterator[traces.Span]:
        """A stage of the attempt, for the metrics and the trace."""
        with self.meter.stage(name), traces.span(name) as step:
            yield step

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """While the child computes: the stages that it reports are steps of the trace."""
        self._stages = traces.Stages()
        try:
            yield
        finally:
            self._stages.end()

    def child_waits(self) -> bool:
        """Whether the child waits for the answer to its request for a piece."""
        return self._pieces.requested

    def end(
        self,
        status: Literal["succeeded", "failed", "cancelled"],
        outcome: Outcome | None = None,
        *,
        error: Problem | None = None,
    ) -> End:
        """The end of the job; a problem carries the id of the user's request."""
        request = self.claim.request
        outcome = outcome or Outcome(error=error)
        error = outcome.error
        if error is not None and request.request_id:
            error = {**error, "request_id": request.request_id}
        return End(
            job=request.id,
            status=status,
            attempt=self.claim.attempt,
            fence=self.claim.fence,
            started_at=self.claim.started_at,
            finished_at=now(),
            result=outcome.result,
            tree=outcome.tree,
            warnings=outcome.warnings,
            error=error,
        )

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _with_eta(self, advance: Advance) -> Advance:
        elapsed = self.elapsed_s
        if advance.eta_s is not None or advance.fraction < 0.01 or elapsed < 0.5:
            return advance
        left = elapsed * (1.0 - advance.fraction) / advance.fraction
        return advance.model_copy(update={"eta_s": round(left, 1)})


def _why(error: Exception) -> Problem | None:
    """The problem of a job whose last attempt raised `error`; None: its worker was lost."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return problem_of(StoreFull())
    if isinstance(error, (StoreFull, StoreUnavailable, NotReached)):
        return problem_of(error)
    return None


def _reason(error: Exception) -> Problem:
    """Why the job is tried again after `error`, without internal details."""
    known = _why(error)
    if known is not None:
        return known
    return process_lost(error) if isinstance(error, TransientError) else problem_of(error)


def _too_long(limit_s: float) -> Problem:
    return problem(
        "deadline-exceeded",
        "The job ran longer than it may",
        422,
        f"The job was stopped after {limit_s:g} seconds, the longest that one may run. Use fewer "
        "points or features, or a method that scales.",
    )
