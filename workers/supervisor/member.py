"""The process in which a member of a cluster computes pieces: a worker that takes no jobs.

It reads ids of jobs from standard input, one a line, helps each while pieces are free, and answers
each with a line of JSON, a text: "" or what went wrong. It ends with its input (`umbel.engine`).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from pydantic import ValidationError

from workers import logs
from workers.assembly import assemble
from workers.child.compiling import keep_in
from workers.child.confinement import close_memory
from workers.child.pool import ChildPool
from workers.child.process import ProcessLimits
from workers.errors import FatalError, TransientError
from workers.jobs.hints import sender
from workers.settings import WorkerSettings, wrong_settings
from workers.stores import privacy
from workers.stores.objects.address import blobs_at
from workers.stores.objects.format import open_store
from workers.stores.redis.address import require_usable
from workers.supervisor.helper import Helper
from workers.supervisor.scratch import own_scratch

_DROP_EVERY_S = 5.0

_log = logging.getLogger(__name__)


def main() -> None:
    """Help jobs until standard input ends; exits 2 where a setting cannot be used."""
    close_memory()
    privacy.begin()
    try:
        settings = WorkerSettings()
        if not settings.redis_url or not settings.store_url:
            raise FatalError("a member of the cluster needs UMBEL_REDIS_URL and UMBEL_STORE_URL")
        require_usable(settings.redis_url)
        open_store(blobs_at(settings))
    except ValidationError as error:
        sys.exit(wrong_settings(error))
    except FatalError as error:
        sys.exit(str(error))
    for name in ("UMBEL_WEBHOOK_SECRET", "UMBEL_NAMING_KEY", "UMBEL_EMBEDDING_KEY"):
        os.environ.pop(name, None)
    logs.configure(settings.log_level, settings.log_format)
    keep_in(os.environ, settings.scratch_dir)
    # What jobs' processes print belongs to the log.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(settings, answers.write)


def _serve(settings: WorkerSettings, answer: Callable[[str], object]) -> None:
    assembly = assemble(settings, sender(settings))
    pool = ChildPool(
        ProcessLimits(
            memory_bytes=settings.job_memory_bytes,
            threads=settings.threads,
            jobs=settings.jobs_per_process,
        ),
        still_s=settings.still_s,
    )
    filled = pool.fill()
    scratch, lock, left = own_scratch(settings.scratch_dir)
    stop_at: list[float] = []
    helper = Helper(
        settings,
        assembly,
        pool,
        scratch=scratch,
        threads=settings.threads,
        stop_at=lambda: stop_at[0] if stop_at else None,
        alone=True,
    )
    jobs: SimpleQueue[str | None] = SimpleQueue()
    threading.Thread(target=_read, args=(jobs, stop_at), name="read", daemon=True).start()
    filled.result()
    for job_id, fence in left:
        with contextlib.suppress(TransientError):
            assembly.ledger.process_died(job_id, fence)
    try:
        while (wanted := _next(jobs, pool)) is not None:
            answer(json.dumps(_helped(helper, wanted)) + "\n")
    finally:
        pool.close()
        lock.close()
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)


def _read(jobs: SimpleQueue[str | None], stop_at: list[float]) -> None:
    for line in sys.stdin:
        jobs.put(line.strip())
    stop_at.append(time.monotonic())
    jobs.put(None)


def _next(jobs: SimpleQueue[str | None], pool: ChildPool) -> str | None:
    """The next id of a job; None: there comes no other."""
    while True:
        try:
            return jobs.get(timeout=_DROP_EVERY_S)
        except Empty:
            pool.drop_idle()


def _helped(helper: Helper, job_id: str) -> str:
    """Help a job; "" or what went wrong."""
    try:
        helper.help(job_id)
    except TransientError as error:
        _log.warning("no help: %s", error)
        return str(error)
    except Exception as error:
        _log.exception("no help")
        return repr(error)
    return ""
