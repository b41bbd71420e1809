"""Celery as the sender of hints, against which ours are compared, and which finds the broker."""

from __future__ import annotations

from collections.abc import Callable

from workers.broker import make_app
from workers.jobs.hints import RUN
from workers.settings import WorkerSettings


def celery_sender(settings: WorkerSettings) -> Callable[[str, str], None]:
    """send(queue, job id), as `workers.jobs.hints.sender`."""
    app = make_app(settings)

    def send(queue: str, job_id: str) -> None:
        app.send_task(RUN, args=[job_id], queue=queue, ignore_result=True)

    return send
