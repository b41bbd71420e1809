"""Jobs: submitted, followed to their end, and cancelled if the caller stops waiting."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from umbel_client.core.sending import (
    error_of,
    json_of,
    new_key,
    pause,
    post,
    refusal,
    sent,
)
from umbel_client.core.steps import (
    AskSettings,
    Open,
    Operation,
    ReadLine,
    Reply,
    Request,
    Settings,
    Sleep,
)
from umbel_client.errors import JobCancelled, UmbelError, WaitTimeout
from umbel_client.progress import Bar, Progress, bar_of

ENDED = frozenset({"succeeded", "failed", "cancelled"})

FIRST_WAIT_S = 2
"""Jobs that end sooner are answered by the request that submits them; others are followed."""
_SILENCE_S = 30.0
"""A stream of events that says nothing for this long is opened again."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How a call waits for a job.

    wait_s : the most seconds; None: as long as it takes. progress : what shows it. title : the
    words before the bar.
    """

    wait_s: float | None = None
    progress: Progress = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """Work that took longer: what the service accepted it as, and the job that has succeeded."""

    accepted: dict[str, Any]
    job: dict[str, Any]


def awaited(path: str, body: Mapping[str, Any], waiting: Waiting) -> Operation[Reply | Ended]:
    """Submit work and wait for it: the response itself where it came at once, else its job.

    An interrupted wait (Ctrl-C, a cancelled task) cancels the job, also if its id is not known yet.

    Raises ProblemError for a refusal and for a failed job, JobCancelled, WaitTimeout,
    ConnectionFailed, UnexpectedResponse.
    """
    deadline = None if waiting.wait_s is None else time.monotonic() + waiting.wait_s
    first_s = FIRST_WAIT_S if waiting.wait_s is None else min(FIRST_WAIT_S, int(waiting.wait_s))
    request = post(path, body, headers={"Prefer": f"wait={first_s}"})
    try:
        reply: Reply = yield from sent(request)
    except (UmbelError, GeneratorExit):
        raise
    except BaseException:
        # The service may have the job, whose id did not arrive: the same request again tells it.
        yield from _cancel_unnamed(request)
        raise
    if reply.status != 202:
        return reply
    accepted = json_of(reply, "id", "status")
    job_id = str(accepted.get("job") or accepted["id"])
    rest = replace(waiting, wait_s=None)
    return Ended(accepted, (yield from followed(job_id, rest, deadline, waiting.wait_s)))


def followed(
    job_id: str,
    waiting: Waiting,
    deadline: float | None = None,
    wait_s: float | None = None,
    *,
    cancel: bool = True,
) -> Operation[dict[str, Any]]:
    """The job once it has succeeded. Raises as `awaited`.

    deadline : when waiting ends, by the monotonic clock; wait_s : what the caller had asked for.
    cancel : whether an interrupted wait cancels the job.
    """
    if waiting.wait_s is not None:
        deadline, wait_s = time.monotonic() + waiting.wait_s, waiting.wait_s
    bar = bar_of(waiting.progress, waiting.title or job_id)
    try:
        job = yield from _until_ended(job_id, bar, deadline, wait_s)
    except (UmbelError, GeneratorExit):
        raise
    except BaseException:
        if cancel:
            with contextlib.suppress(UmbelError):
                yield from cancelled(job_id)
        raise
    finally:
        bar.end()
    return succeeded(job)


def succeeded(job: dict[str, Any]) -> dict[str, Any]:
    """The job itself. Raises ProblemError if it failed, JobCancelled if it was cancelled."""
    if job["status"] == "failed":
        raise error_of(job.get("error") or {}, str(job["id"]))
    if job["status"] == "cancelled":
        raise JobCancelled(str(job["id"]))
    return job


def cancelled(job_id: str) -> Operation[dict[str, Any]]:
    """The job after it was asked to end. Raises ProblemError, ConnectionFailed."""
    reply = yield from sent(Request("POST", f"/v1/jobs/{job_id}/cancel", headers=new_key()))
    return json_of(reply, "id", "status")


def job_of(job_id: str) -> Operation[dict[str, Any]]:
    """The state of a job. Raises ProblemError, ConnectionFailed, UnexpectedResponse."""
    reply = yield from sent(Request("GET", f"/v1/jobs/{job_id}"))
    return json_of(reply, "id", "status")


def _cancel_unnamed(request: Request) -> Operation[None]:
    headers = {name: value for name, value in request.headers.items() if name != "Prefer"}
    with contextlib.suppress(UmbelError):
        reply = yield from sent(replace(request, headers=headers))
        if reply.media_type == "application/json":
            job = json_of(reply)
            job_id = str(job.get("job") or job.get("id"))
            if job_id.startswith("job_") and job.get("status") not in ENDED:
                yield from cancelled(job_id)


def _until_ended(
    job_id: str, bar: Bar, deadline: float | None, wait_s: float | None
) -> Operation[dict[str, Any]]:
    """Follow the events, as often as the connection is cut; between two streams the job is read."""
    settings: Settings
    settings, _ = yield AskSettings()
    events = _Events()
    n_cuts = 0
    while True:
        n_before = events.n_seen
        done = yield from _one_stream(job_id, events, bar, deadline)
        job = done or (yield from job_of(job_id))
        if job["status"] in ENDED:
            return job
        if deadline is not None and time.monotonic() >= deadline:
            raise WaitTimeout(job_id, wait_s or 0.0)
        n_cuts = 0 if events.n_seen > n_before else n_cuts + 1
        yield Sleep(pause(settings, min(n_cuts, 4), None))


def _one_stream(
    job_id: str, events: _Events, bar: Bar, deadline: float | None
) -> Operation[dict[str, Any] | None]:
    """The ended job; None if the stream ended or was cut before, or the time is over."""
    left = _SILENCE_S if deadline is None else max(0.01, deadline - time.monotonic())
    headers = {"Accept": "text/event-stream", **events.resume_header()}
    path = f"/v1/jobs/{job_id}/events"
    request = Request("GET", path, headers=headers, timeout_s=min(_SILENCE_S, left))
    try:
        reply: Reply = yield Open(request)
        if reply.status in (401, 403, 404):
            raise refusal(reply, request)
        if reply.status != 200:
            return None
        while (line := (yield ReadLine())) is not None:
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


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event whose data is a JSON object."""

    kind: str
    data: dict[str, Any]


class _Events:
    """Reads server-sent events from lines, and remembers where to resume.

    n_seen : how many complete events were read.
    """

    def __init__(self) -> None:
        self.n_seen = 0
        self._last_id: str | None = None
        self._kind = "message"
        self._data: list[str] = []
        self._id: str | None = None

    def resume_header(self) -> dict[str, str]:
        self._clear()
        return {} if self._last_id is None else {"Last-Event-ID": self._last_id}

    def take(self, line: str) -> Event | None:
        """The event that this line ends; None within one, and for comments and unreadable data."""
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                self._kind = value
            elif name == "data":
                self._data.append(value)
            elif name == "id":
                self._id = value
            return None
        kind, data, event_id = self._kind, "\n".join(self._data), self._id
        self._clear()
        if event_id is not None:
            self._last_id = event_id
        try:
            content = json.loads(data) if data else None
        except ValueError:
            content = None
        if not isinstance(content, dict):
            return None
        self.n_seen += 1
        return Event(kind, content)

    def _clear(self) -> None:
        self._kind, self._data, self._id = "message", [], None
