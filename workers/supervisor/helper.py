"""Help from an idle worker: it computes pieces of a job that runs on another worker.

As for a job, a lease is renewed, the child is killed when the work is interrupted, and nothing is
left behind.
"""

from __future__ import annotations

import logging
import shutil
import stat
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from models.errors import UsageError
from workers import logs
from workers.artifacts.results import PIECE
from workers.assembly import Assembly
from workers.child.pool import ChildPool
from workers.errors import FatalError, Missing, NoProcess, TransientError
from workers.model import PieceClaim
from workers.settings import WorkerSettings
from workers.supervisor.inputs import prepare
from workers.supervisor.interrupts import (
    Heartbeat,
    Interrupts,
    LeaseLost,
    OutOfTime,
    WorkerStopping,
    beat_s,
)
from workers.telemetry import traces
from workers.work.job import Spec

_log = logging.getLogger(__name__)


class Helper:
    """Helps jobs by their ids; parameters as for a `Supervisor`. Threads share it, one job each.

    stop_at : returns the time at which the worker must stop; None: not yet.
    alone : whether this process takes no jobs, which would come first.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        assembly: Assembly,
        pool: ChildPool,
        *,
        scratch: Path,
        threads: int,
        stop_at: Callable[[], float | None],
        alone: bool = False,
    ) -> None:
        self._settings = settings
        self._assembly = assembly
        self._pieces = assembly.ledger.pieces
        self._pool = pool
        self._scratch = scratch
        self._threads = threads
        self._stop_at = stop_at
        self._alone = alone

    def help(self, job_id: str) -> None:
        """Compute pieces of the job while any are free.

        Raises StoreUnavailable; a taken piece is then free again after its lease.
        """
        while self._stop_at() is None:
            claim = self._pieces.join(job_id, jobs_first=not self._alone)
            if claim is None:
                return
            request = claim.request
            logs.set_ids(request.id, request.request_id, request.trace)
            with traces.span(
                "piece", kind="consumer", parent=request.trace, job_id=request.id, n=claim.number
            ) as step:
                done = self._compute(claim)
                if not done:
                    step.fail("not-computed")
            if not done:
                return

    def _compute(self, claim: PieceClaim) -> bool:
        """Compute one piece; returns whether to continue with another."""
        pieces, name = self._pieces, f"piece {claim.number} of job {claim.request.id}"

        def renew(_: object) -> Literal["on", "lost"]:
            return "on" if pieces.beat(claim) else "lost"

        heartbeat = Heartbeat(renew, beat_s(self._settings), claim.request)
        deadline = time.monotonic() + self._settings.job_timeout_s
        interrupts = Interrupts(heartbeat, deadline, self._stop_at, self._settings.still_s)
        folder = self._scratch / f"{claim.request.id}-{claim.token}"
        try:
            path = self._arrays(interrupts, claim, folder)
            if path is not None:
                pieces.finish(claim, path)
                return True
            pieces.leave(claim)
        except LeaseLost:
            _log.info("%s is no longer needed", name)
            return True
        except WorkerStopping:
            pieces.give_back(claim, spend=False)
        except NoProcess as error:
            _log.warning("%s: %s", name, error)
            pieces.give_back(claim, spend=False)
        except TransientError as error:
            _log.warning("%s: %s", name, error)
            pieces.give_back(claim, spend=True)
        except (OutOfTime, UsageError, Missing) as error:
            _log.info("%s is left to the worker of the job: %r", name, error)
            pieces.leave(claim)
        except Exception:
            _log.exception("%s is left to the worker of the job", name)
            pieces.leave(claim)
        finally:
            self._pool.refill()
            heartbeat.stop()
            shutil.rmtree(folder, ignore_errors=True)
        return False

    def _arrays(self, interrupts: Interrupts, claim: PieceClaim, folder: Path) -> Path | None:
        """The file with the piece's arrays, computed by a child; None if it failed for good."""
        result = folder / "result"
        result.mkdir(parents=True)
        parts = self._assembly

        def ready() -> Spec:
            spec = prepare(
                claim.request, parts.blobs, parts.datasets, parts.trees, result, self._threads
            )
            shared = self._pieces.shared(claim)
            return spec.model_copy(update={"piece": claim.piece, "shared": shared})

        spec = interrupts.meanwhile(ready)
        child = interrupts.meanwhile(partial(self._pool.begin, spec), self._pool.drop)
        try:
            outcome = interrupts.listen(child, lambda _: None)
        finally:
            self._pool.release(child, claim.request.tenant)
        if outcome.error is not None:
            return None
        path = result / PIECE
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FatalError("the result of a piece is not a plain file")
        return path
