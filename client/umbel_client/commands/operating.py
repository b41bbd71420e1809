"""What an operator's commands do: failed jobs."""

from __future__ import annotations

from argparse import Namespace

from umbel_client.commands import outputs
from umbel_client.commands.outputs import put
from umbel_client.commands.work import service


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
