"""A job's events as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from anyio import to_thread
from fastapi.sse import ServerSentEvent

from app.http.dependencies import Service
from app.http.job_ends import wait_and_clear
from app.schemas.jobs import EventBody, JobBody, LogBody
from workers.model import Advance
from workers.stores.redis.events import Event, Events, is_id


async def follow(
    service: Service, tenant: str, job_id: str, after: str | None
) -> AsyncIterator[ServerSentEvent]:
    """The job's events after `after`, as they arrive, until it has ended or is deleted.

    An event `lost` marks missing events: because the stream keeps only the last hundred, because it
    has expired, or because `after` is not an event of this job; the events that are still kept
    follow it. The stream is read every `events_poll_s`, and when the job's end is announced.
    """
    events = Events(service.redis, service.settings.key_prefix)
    position = after
    if after is not None and not await to_thread.run_sync(_resumes, events, job_id, after):
        position = None
        yield _lost(after)
    with service.job_ends.expect(job_id) as ended:
        while True:
            # In this order: a job seen as ended has all its events in the stream.
            record = await to_thread.run_sync(service.ledger.get, tenant, job_id)
            if record is None:
                return
            batch = await to_thread.run_sync(events.after, job_id, position)
            if batch and position is not None and not batch[0].follows(position):
                yield _lost(position)
            for event in batch:
                if event.kind != "done":
                    yield _server_sent(event)
                position = event.id
            if record.ended:
                yield ServerSentEvent(event="done", id=position, data=JobBody.of(record))
                return
            if not batch:
                await wait_and_clear(ended, service.settings.events_poll_s)


def _resumes(events: Events, job_id: str, after: str) -> bool:
    """Whether no event after `after` has been dropped."""
    if not is_id(after):
        return False
    if events.has(job_id, after):
        return True
    following = events.after(job_id, after)
    return bool(following) and following[0].follows(after)


def _server_sent(event: Event) -> ServerSentEvent:
    body: Any
    if event.kind == "log":
        body = LogBody(line=str(event.data.get("line", "")), status=event.status)
    else:
        advance = Advance.model_validate(event.data)
        body = EventBody(**advance.model_dump(), status=event.status)
    return ServerSentEvent(event=event.kind, id=event.id, data=body)


def _lost(after: str) -> ServerSentEvent:
    return ServerSentEvent(event="lost", data={"after": after})
