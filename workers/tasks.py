"""The one task: hand a job's id to the supervisor."""

from __future__ import annotations

import logging
from typing import Any

from celery import Celery

from workers.celery_app import RUN
from workers.supervisor import Supervisor

_log = logging.getLogger(__name__)


def register(app: Celery, supervisor: Supervisor) -> None:
    """Make `app` run jobs by `supervisor`."""

    def run(job_id: Any) -> None:
        if isinstance(job_id, str):
            supervisor.run(job_id)
        else:
            _log.warning("dropped a message whose argument is no job id")

    app.task(name=RUN, ignore_result=True, acks_late=False, shared=False)(run)
