"""The command that runs a worker process.

The template of its children starts first, and loads while the rest of the worker does.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
from collections.abc import Sequence

from pydantic import ValidationError

from workers import logs
from workers.child import template
from workers.child.compiling import keep_in
from workers.child.confinement import close_memory
from workers.errors import FatalError
from workers.settings import WorkerSettings, wrong_settings
from workers.stores import privacy


def main(argv: Sequence[str] | None = None) -> None:
    """Run a worker until SIGTERM or SIGINT; exits 0."""
    close_memory()
    parser = argparse.ArgumentParser(prog="umbel worker", description="Run one worker process.")
    parser.add_argument("--queues", default="cpu", help="comma-separated: cpu, gpu (default: cpu)")
    queues = parser.parse_args(argv).queues.split(",")
    privacy.begin()
    try:
        settings = WorkerSettings()
    except ValidationError as error:
        parser.error(wrong_settings(error))
    if not settings.redis_url or not settings.store_url:
        parser.error("UMBEL_REDIS_URL and UMBEL_STORE_URL must be set")
    try:
        _ = settings.webhook_secrets
    except ValueError as error:
        parser.error(str(error))
    # Children that run jobs do not need it.
    os.environ.pop("UMBEL_WEBHOOK_SECRET", None)
    kept = keep_in(os.environ, settings.scratch_dir)
    template.begin(settings.threads_per_job, later=True)
    logs.configure(settings.log_level, settings.log_format)
    if kept is not None:
        logging.getLogger(__name__).info(kept)

    # Modules stay: a tenth of the time of loading them would go to a collector that finds nothing.
    gc.disable()
    from workers.jobs.hints import QUEUES
    from workers.stores.objects.address import blobs_at
    from workers.stores.objects.format import open_store
    from workers.stores.redis.address import require_usable
    from workers.stores.redis.durability import refuse_cluster
    from workers.worker import Worker

    gc.freeze()
    gc.enable()
    unknown = sorted(set(queues) - set(QUEUES))
    if unknown:
        parser.error(f"there is no queue {unknown[0]!r}; there are {', '.join(QUEUES)}")
    try:
        require_usable(settings.redis_url)
        refuse_cluster(settings.redis_url)
        open_store(blobs_at(settings))
    except FatalError as error:
        parser.error(str(error))
    Worker(settings, queues).run()
