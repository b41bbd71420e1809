"""Workers that help with the pieces of another worker's job, found and killed."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from tests.e2e.conftest import Service, until


def at_work(service: Service, job: str) -> list[tuple[int, Path]]:
    """Workers with a folder for the job, and the folder."""
    alive = {worker.pid for worker in service.workers()}
    return [
        (pid, folder)
        for folder in (service.data_dir / "scratch").glob(f"w-*/{job}-*")
        if (pid := int(folder.parent.name.split("-")[1])) in alive
    ]


def stop_a_helper(service: Service, job: str) -> Path | None:
    """SIGKILL a worker that computes a piece; its folder, or None if it had just finished."""
    at_work_now: list[tuple[int, Path]] = []

    def two_at_work() -> bool:
        at_work_now[:] = at_work(service, job)
        return len({pid for pid, _ in at_work_now}) > 1 or not running_still(service, job)

    until(two_at_work, why=service.log)
    # The attempt's own folder is created before the folders of its pieces.
    created = {folder: folder.stat().st_ctime for _, folder in at_work_now if folder.exists()}
    if len(created) < 2:
        return None
    victim, folder = max(at_work_now, key=lambda entry: created.get(entry[1], 0.0))
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGSTOP)
        in_the_middle = folder.exists()
        os.kill(victim, signal.SIGKILL)
        return folder if in_the_middle else None
    return None


def running_still(service: Service, job: str) -> bool:
    status = service.client.get(f"/v1/jobs/{job}").json()["status"]
    return status in ("queued", "running")
