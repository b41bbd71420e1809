"""A job's events as server-sent events."""

from __future__ import annotations

from fastapi.sse import ServerSentEvent

from app.creation.job_schemas import JobBody
from app.http.events import Ended, Lost
from app.resources.jobs.schemas import EventBody, LogBody
from workers.model import Advance
from workers.stores.redis.events import Event


def server_sent(event: Event | Ended | Lost) -> ServerSentEvent:
    if isinstance(event, Lost):
        return ServerSentEvent(event="lost", data={"after": event.after})
    if isinstance(event, Ended):
        return ServerSentEvent(event="done", id=event.id, data=JobBody.of(event.record))
    if event.kind == "log":
        line = LogBody(line=str(event.data.get("line", "")), status=event.status)
        return ServerSentEvent(event=event.kind, id=event.id, data=line)
    advance = Advance.model_validate(event.data)
    body = EventBody(**advance.model_dump(), status=event.status)
    return ServerSentEvent(event=event.kind, id=event.id, data=body)
