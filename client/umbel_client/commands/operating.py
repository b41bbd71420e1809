"""What an operator's commands do: failed jobs, pauses, workers."""

from __future__ import annotations

import time
from argparse import Namespace

from umbel_client.commands import outputs
from umbel_client.commands.outputs import put, say
from umbel_client.commands.work import service
from umbel_client.errors import WaitTimeout

_LOOKS_EVERY_S = 0.5


def failed(arguments: Namespace) -> None:
    """`umbel failed`."""
    with service(arguments, kept=True) as umbel:
        listed = umbel.jobs(
            status="failed",
            reason=arguments.reason,
            method=arguments.method,
            limit=arguments.limit,
        )
        repeats = [job.retry() for job in listed] if arguments.retry else [None] * len(listed)
        rows = []
        for job, repeat in zip(listed, repeats, strict=True):
            error = job.body.get("error") or {}
            rows.append(
                {
                    "id": job.id,
                    "method": job.body.get("method"),
                    "reason": str(error.get("type", "")).rpartition("/")[2],
                    "attempts": job.body.get("attempt"),
                    "finished": job.body.get("finished_at"),
                    "problem": error.get("detail"),
                    **({} if repeat is None else {"repeat": repeat.id}),
                }
            )
        put(rows, arguments.json, outputs.shown(rows) if rows else "No jobs.")


def retry(arguments: Namespace) -> None:
    """`umbel retry`."""
    with service(arguments, kept=True) as umbel:
        repeats = [umbel.job(job_id).retry() for job_id in arguments.jobs]
        rows = [{"id": own, "repeat": job.id, "status": job.status}
                for own, job in zip(arguments.jobs, repeats, strict=True)]  # fmt: skip
        put(rows, arguments.json, outputs.shown(rows))


def pause(arguments: Namespace) -> None:
    """`umbel pause`."""
    with service(arguments, kept=True) as umbel:
        made = umbel.pause(arguments.scope, arguments.name, arguments.reason)
        put(made, arguments.json, f"The {arguments.scope} {arguments.name} is paused.")


def resume(arguments: Namespace) -> None:
    """`umbel resume`."""
    with service(arguments, kept=True) as umbel:
        umbel.resume(arguments.scope, arguments.name)
        say(f"the {arguments.scope} {arguments.name} goes on", arguments.quiet)


def pauses(arguments: Namespace) -> None:
    """`umbel pauses`."""
    with service(arguments, kept=True) as umbel:
        found = umbel.pauses()
        put(found, arguments.json, outputs.shown(found) if found else "Nothing is paused.")


def workers(arguments: Namespace) -> None:
    """`umbel workers`."""
    with service(arguments, kept=True) as umbel:
        found = umbel.workers()
        rows = [
            {**each, "queues": ", ".join(each["queues"]), "running": ", ".join(each["running"])}
            for each in found
        ]
        put(found, arguments.json, outputs.shown(rows) if rows else "No worker is alive.")


def drain(arguments: Namespace) -> None:
    """`umbel drain`."""
    worker, wait_s = arguments.worker, arguments.wait_s
    with service(arguments, kept=True) as umbel:
        umbel.pause("worker", worker, arguments.reason)
        until = None if wait_s is None else time.monotonic() + wait_s
        while any(each["id"] == worker and each["status"] != "drained" for each in umbel.workers()):
            if until is not None and time.monotonic() > until:
                raise WaitTimeout(f"of {worker}", wait_s)
            time.sleep(_LOOKS_EVERY_S)
        say(f"{worker} has no job and takes none", arguments.quiet)
