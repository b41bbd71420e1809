"""How a job is waited for, and the events that tell how far it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from umbel_client.core.messages import error_of
from umbel_client.errors import JobCancelled
from umbel_client.progress import Progress

ENDED = frozenset({"succeeded", "failed", "cancelled"})


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


def succeeded(job: dict[str, Any]) -> dict[str, Any]:
    """The job itself. Raises ProblemError if it failed, JobCancelled if it was cancelled."""
    if job["status"] == "failed":
        raise error_of(job.get("error") or {}, str(job["id"]))
    if job["status"] == "cancelled":
        raise JobCancelled(str(job["id"]))
    return job


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event whose data is a JSON object."""

    kind: str
    data: dict[str, Any]


class Events:
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
        """The header of a request that goes on after the last event."""
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
