"""A worker with time to spare computes pieces of a job that runs elsewhere.

As for a job: a lease that is renewed, a child that is killed when it ends, and nothing left behind.
"""

from __future__ import annotations

import logging
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from models.errors import UsageError
from workers import logs
from workers.artifacts.results import PIECE
from workers.assembly import Assembly
from workers.child.process import Nursery
from workers.child.run import Spec
from workers.errors import FatalError, TransientError
from workers.model import Share
from workers.settings import WorkerSettings
from workers.supervisor.inputs import prepare
from workers.supervisor.interrupts import Lost, OutOfTime, Pulse, Stopping, Watch, beat_s

_log = logging.getLogger(__name__)


class Helper:
    """Helps jobs by their ids; parameters as for a `Supervisor`. Threads share it, one job each.

    stop_at : gives when the worker is to end, None: not yet.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        assembly: Assembly,
        nursery: Nursery,
        *,
        scratch: Path,
        threads: int,
        stop_at: Callable[[], float | None],
    ) -> None:
        self._settings = settings
        self._parts = assembly
        self._pieces = assembly.ledger.pieces
        self._nursery = nursery
        self._scratch = scratch
        self._threads = threads
        self._stop_at = stop_at

    def help(self, job_id: str) -> None:
        """Compute pieces of the job while there are some to be had.

        Raises StoreUnavailable; a piece that was taken is then free again after its lease.
        """
        while self._stop_at() is None and (share := self._pieces.join(job_id)) is not None:
            logs.request_id.set(share.request.request_id or None)
            if not self._compute(share):
                return

    def _compute(self, share: Share) -> bool:
        """Compute one piece; whether to go on with another."""
        pieces, what = self._pieces, f"piece {share.number} of job {share.request.id}"

        def beat(_: object) -> Literal["on", "lost"]:
            return "on" if pieces.beat(share) else "lost"

        pulse = Pulse(beat, beat_s(self._settings), share.request)
        watch = Watch(pulse, time.monotonic() + self._settings.job_timeout_s, self._stop_at)
        folder = self._scratch / f"{share.request.id}-{share.token}"
        try:
            path = self._arrays(watch, share, folder)
            if path is not None:
                pieces.finish(share, path)
                return True
            pieces.leave(share)
        except Lost:
            _log.info("%s is wanted no more", what)
            return True
        except Stopping:
            pieces.give_back(share, spend=False)
        except TransientError as error:
            _log.warning("%s: %s", what, error)
            pieces.give_back(share, spend=True)
        except (OutOfTime, UsageError) as error:
            _log.info("%s is left to the job itself: %r", what, error)
            pieces.leave(share)
        except Exception:
            _log.exception("%s is left to the job itself", what)
            pieces.leave(share)
        finally:
            pulse.stop()
            shutil.rmtree(folder, ignore_errors=True)
        return False

    def _arrays(self, watch: Watch, share: Share, folder: Path) -> Path | None:
        """The file with what a child has computed; None where that failed for good."""
        result = folder / "result"
        result.mkdir(parents=True)
        parts, request = self._parts, share.request

        def get_ready() -> Spec:
            spec = prepare(request, parts.blobs, parts.datasets, parts.trees, result, self._threads)
            return spec.model_copy(update={"piece": share.piece})

        spec = watch.meanwhile(get_ready)
        child = self._nursery.take()
        try:
            child.begin(spec)
            outcome = watch.listen(child, lambda _: None)
        finally:
            self._nursery.drop(child)
        if outcome.error is not None:
            return None
        path = result / PIECE
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FatalError("what came of a piece is not a plain file")
        return path
