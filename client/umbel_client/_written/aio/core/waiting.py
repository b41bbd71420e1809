"""Jobs: submitted, followed to their end, and cancelled if the caller stops waiting.

For asyncio. Written by `make client` from `umbel_client.core.waiting`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx

from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client.core import messages, opening
from umbel_client.core.events import ENDED, Ended, Events, Waiting, succeeded
from umbel_client.core.messages import Reply, Request, json_of, new_key, post
from umbel_client.errors import UmbelError, WaitTimeout
from umbel_client.progress import Bar, bar_of, began

FIRST_WAIT_S = 2
"""Jobs that end sooner are answered by the request that submits them; others are followed."""
_SILENCE_S = 30.0
"""A stream of events that says nothing for this long is opened again."""


async def awaited(
    connection: AsyncConnection, path: str, body: Mapping[str, Any], waiting: Waiting
) -> Reply | Ended:
    """Submit work and wait for it: the response itself where it came at once, else its job.

    An interrupted wait (Ctrl-C, a cancelled task) cancels the job, also if its id is not known yet.

    Raises ProblemError for a refusal and for a failed job, JobCancelled, WaitTimeout,
    ConnectionFailed, UnexpectedResponse.
    """
    deadline = None if waiting.wait_s is None else time.monotonic() + waiting.wait_s
    first_s = FIRST_WAIT_S if waiting.wait_s is None else int(min(FIRST_WAIT_S, waiting.wait_s))
    request = post(path, body, headers={"Prefer": f"wait={first_s}"})
    try:
        reply = await connection.send(request)
    except UmbelError:
        raise
    except BaseException:
        # The service may have the job, whose id did not arrive: the same request again tells it.
        await _cancel_unnamed(connection, request)
        raise
    if reply.status != 202:
        return reply
    accepted = json_of(reply, "id", "status")
    job_id = str(accepted.get("job") or accepted["id"])
    rest = replace(waiting, wait_s=None)
    return Ended(accepted, await followed(connection, job_id, rest, deadline, waiting.wait_s))


async def followed(
    connection: AsyncConnection,
    job_id: str,
    waiting: Waiting,
    deadline: float | None = None,
    wait_s: float | None = None,
    *,
    cancel: bool = True,
) -> dict[str, Any]:
    """The job once it has succeeded. Raises as `awaited`.

    deadline : when waiting ends, by the monotonic clock; wait_s : the seconds that the caller gave.
    cancel : whether an interrupted wait cancels the job.
    """
    if waiting.wait_s is not None:
        deadline, wait_s = time.monotonic() + waiting.wait_s, waiting.wait_s
    bar = bar_of(waiting.progress, waiting.title or job_id)
    try:
        began(job_id, cancel)
        job = await _until_ended(connection, job_id, bar, deadline, wait_s)
    except UmbelError:
        raise
    except BaseException:
        if cancel:
            with contextlib.suppress(UmbelError):
                await cancelled(connection, job_id)
        raise
    finally:
        bar.end()
    return succeeded(job)


async def cancelled(connection: AsyncConnection, job_id: str) -> dict[str, Any]:
    """The job after the request that ends it."""
    request = Request("POST", f"/v1/jobs/{job_id}/cancel", headers=new_key())
    return json_of(await connection.send(request), "id", "status")


async def retried(connection: AsyncConnection, job_id: str) -> dict[str, Any]:
    """The job that repeats a failed one."""
    request = Request("POST", f"/v1/jobs/{job_id}/retry", headers=new_key())
    return json_of(await connection.send(request), "id", "status")


async def job_of(connection: AsyncConnection, job_id: str) -> dict[str, Any]:
    """The state of a job."""
    return await connection.described(f"/v1/jobs/{job_id}", "id", "status")


async def _cancel_unnamed(connection: AsyncConnection, request: Request) -> None:
    headers = {name: value for name, value in request.headers.items() if name != "Prefer"}
    with contextlib.suppress(UmbelError):
        reply = await connection.send(replace(request, headers=headers))
        if reply.media_type == "application/json":
            job = json_of(reply)
            job_id = str(job.get("job") or job.get("id"))
            if job_id.startswith("job_") and job.get("status") not in ENDED:
                await cancelled(connection, job_id)


async def _until_ended(
    connection: AsyncConnection, job_id: str, bar: Bar, deadline: float | None, wait_s: float | None
) -> dict[str, Any]:
    """Follow the events, as often as the connection is cut; between two streams the job is read."""
    events = Events()
    n_cuts = 0
    while True:
        n_before = events.n_seen
        job = await _one_stream(connection, job_id, events, bar, deadline)
        if job is None:
            job = await job_of(connection, job_id)
        if job["status"] in ENDED:
            return job
        if deadline is not None and time.monotonic() >= deadline:
            raise WaitTimeout(job_id, wait_s or 0.0)
        n_cuts = 0 if events.n_seen > n_before else n_cuts + 1
        await asyncio.sleep(messages.pause(connection.settings, min(n_cuts, 4), None))


async def _one_stream(
    connection: AsyncConnection, job_id: str, events: Events, bar: Bar, deadline: float | None
) -> dict[str, Any] | None:
    """The ended job; None if the stream ended or was cut before, or the time is over."""
    left = _SILENCE_S if deadline is None else max(0.01, deadline - time.monotonic())
    headers = {"Accept": "text/event-stream", **events.resume_header()}
    path = f"/v1/jobs/{job_id}/events"
    request = Request("GET", path, headers=headers, timeout_s=min(_SILENCE_S, left))
    client = connection.opened()
    try:
        async with client.stream(**opening.arguments_of(request)) as response:
            if response.status_code in (401, 403, 404):
                content = await response.aread()
                reply = Reply(response.status_code, response.headers, content)
                raise messages.refusal(reply, request)
            if response.status_code != 200:
                return None
            async for line in response.aiter_lines():
                event = events.take(line)
                if event is not None and event.kind == "done":
                    return event.data
                if event is not None and event.kind == "progress":
                    stage = event.data.get("message") or event.data.get("stage") or ""
                    bar.update(float(event.data.get("fraction") or 0.0), str(stage))
                if deadline is not None and time.monotonic() >= deadline:
                    return None
    except httpx.TransportError:
        return None
    return None
