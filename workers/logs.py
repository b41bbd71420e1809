"""The log on standard error, as JSON lines or text, with the ids of the request and the job that an
entry belongs to, and of the trace and the span where traces are sent."""

from __future__ import annotations

import json
import logging
import time
from contextvars import ContextVar
from typing import Literal

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
job_id: ContextVar[str | None] = ContextVar("job_id", default=None)
span_ids: ContextVar[tuple[str, str] | None] = ContextVar("span_ids", default=None)
"""The ids of the trace and the span."""

Format = Literal["json", "text"]
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_ids(job: str | None, request: str | None, traceparent: str | None = None) -> None:
    """Entries of this thread from now on belong to this job, the request that submitted it, and
    the span of a `traceparent` that the service itself has made."""
    _, *ids = (traceparent or "").split("-")
    span_ids.set((ids[0], ids[1]) if len(ids) == 3 else None)
    job_id.set(job or None)
    request_id.set(request or None)


class JsonLines(logging.Formatter):
    """User input stays text: line breaks and control characters are escaped by JSON."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_members(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


class TextLines(logging.Formatter):
    """For people: one line for an entry, further members as `name=value`, and the lines of a
    traceback after it, indented. Control characters of user input are escaped as in JSON."""

    def format(self, record: logging.LogRecord) -> str:
        members = [f"{name}={_escaped(value)}" for name, value in _members(record).items()]
        message = json.dumps(record.getMessage(), ensure_ascii=False)[1:-1].replace('\\"', '"')
        line = " ".join(
            [f"{_time(record)} {record.levelname:<7} {record.name}: {message}", *members]
        )
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n    {part}" for part in trace.splitlines())
        return line


def configure(level: str, form: Format = "json") -> None:
    """Send the log of this process to standard error; called by the commands."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # At level debug, numba logs every step of every compilation.
    logging.getLogger("numba").setLevel(logging.WARNING)


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


def _members(record: logging.LogRecord) -> dict[str, object]:
    """The ids, and what the call gave as `extra`, which wins."""
    trace_id, span_id = span_ids.get() or (None, None)
    ids = {
        "request_id": request_id.get(),
        "job_id": job_id.get(),
        "trace_id": trace_id,
        "span_id": span_id,
    }
    return {name: value for name, value in ids.items() if value is not None} | {
        name: value
        for name, value in vars(record).items()
        if name not in _STANDARD and not name.startswith("_")
    }


def _escaped(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    plain = isinstance(value, str) and value and " " not in value and "\\" not in text
    return text[1:-1] if plain else text
