"""What a job's process writes to standard output and error, as entries of its worker's log.

The process computes on a user's input, so nothing of it is trusted: entries have the ids of the job
that the worker gave it, lines are bounded in length and number, and the log's format escapes them.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from multiprocessing.connection import Connection
from typing import Any

from workers import logs
from workers.work.job import Spec

LONGEST_LINE = 8192
MOST_LINES = 1000
_READ = 1 << 16
_SILENT_S, _MOST_WAITS = 1.0, 30
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_log = logging.getLogger("umbel.job")


def redirect(pipe: Connection) -> None:
    """In the job's process: send standard output and error into `pipe`."""
    for number in (1, 2):
        os.dup2(pipe.fileno(), number)
    pipe.close()


class Output:
    """In the worker: logs what arrives at the other end of the pipe, in a thread, until it is
    closed."""

    def __init__(self, pipe: Connection, pid: int) -> None:
        self._pipe = pipe
        self._pid = pid
        self._ids: tuple[str | None, str | None, str | None] = (None, None, None)
        self._n_lines = self._n_logged = 0
        self._thread = threading.Thread(target=self._read, name="job output", daemon=True)
        self._thread.start()

    def belongs_to(self, spec: Spec) -> None:
        """What comes from now on is of this job."""
        self._count_left_out()
        self._ids = (spec.request.id, spec.request.request_id, spec.request.trace)
        self._n_lines = 0

    def close(self) -> None:
        """Wait for the rest of what a process that has ended has written: as long as lines still
        come, since a process that it has started may hold the pipe and say nothing."""
        for _ in range(_MOST_WAITS):
            before = self._n_logged
            self._thread.join(_SILENT_S)
            if not self._thread.is_alive() or self._n_logged == before:
                break

    def _read(self) -> None:
        rest = b""
        with self._pipe:
            while True:
                try:
                    read = os.read(self._pipe.fileno(), _READ)
                except OSError:
                    read = b""
                *lines, rest = (rest + read).split(b"\n")
                if len(rest) > LONGEST_LINE or not read:
                    lines, rest = [*lines, rest], b""
                logs.set_ids(*self._ids)
                for line in lines:
                    self._emit(line)
                    self._n_logged += 1
                if not read:
                    break
        self._count_left_out()

    def _count_left_out(self) -> None:
        if self._n_lines > MOST_LINES:
            _log.warning("%d further lines of the job's process", self._n_lines - MOST_LINES)

    def _emit(self, line: bytes) -> None:
        if not line.strip():
            return
        self._n_lines += 1
        if self._n_lines > MOST_LINES:
            return
        entry = _entry(line)
        extra: dict[str, Any] = {"pid": self._pid}
        if entry is None:
            text, level = line[:LONGEST_LINE].decode("utf-8", "backslashreplace"), logging.WARNING
        else:
            text, level = str(entry["message"]), _LEVELS[entry["level"]]
            extra |= {name: entry[name] for name in ("logger", "traceback") if name in entry}
            extra["of"] = extra.pop("logger", None)
        _log.log(level, "%s", text, extra=extra)


def _entry(line: bytes) -> dict[str, Any] | None:
    """The entry of the process's own log; None for a line that is none."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(entry, dict) and "message" in entry and entry.get("level") in list(_LEVELS)
    return entry if known else None
