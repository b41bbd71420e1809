"""What a job's process prints becomes the worker's log, with the ids that the worker knows."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path

import pytest

from workers.child.output import LONGEST_LINE, MOST_LINES, Output
from workers.logs import JsonLines
from workers.model import Request, now
from workers.work.job import Spec

Written = Callable[[bytes], list[dict[str, object]]]


@pytest.fixture
def written() -> Iterator[Written]:
    """The entries that the worker logs of bytes written by the process."""
    entries: list[dict[str, object]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            entries.append(json.loads(self.format(record)))

    handler = Keep()
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("umbel.job")
    logger.addHandler(handler)
    before, logger.level = logger.level, logging.INFO

    def write(content: bytes) -> list[dict[str, object]]:
        read, other = Pipe(duplex=False)
        output = Output(read, 17)
        request = Request(
            id="job_1", tenant="t", kind="fit", method="hac", created_at=now(), request_id="req_1"
        )
        output.belongs_to(Spec(request=request, sources=(), folder=Path("x")))
        with os.fdopen(os.dup(other.fileno()), "wb", buffering=0) as file:
            other.close()
            file.write(content)
        output.close()
        return entries

    yield write
    logger.removeHandler(handler)
    logger.level = before


def test_text_is_a_warning_of_the_job(written: Written) -> None:
    [first, last] = written(b"a library says \x1b[31m\n\n  \nthe end without a line break \xff")
    for entry in (first, last):
        del entry["time"]
    ids = {"job_id": "job_1", "request_id": "req_1", "pid": 17}
    of = {"level": "warning", "logger": "umbel.job", **ids}
    assert first == {**of, "message": "a library says \x1b[31m"}
    assert last == {**of, "message": "the end without a line break \\xff"}


def test_its_log_keeps_level_and_traceback_and_forges_no_ids(written: Written) -> None:
    inner = {
        "level": "error",
        "logger": "workers.child.process",
        "message": "failed %s",
        "traceback": "t",
        "job_id": "job_of_another",
        "request_id": "req_of_another",
        "time": "never",
    }
    [entry] = written(json.dumps(inner).encode() + b"\n")
    assert entry.pop("time") != "never"
    assert entry == {
        "level": "error",
        "logger": "umbel.job",
        "of": "workers.child.process",
        "message": "failed %s",
        "traceback": "t",
        "job_id": "job_1",
        "request_id": "req_1",
        "pid": 17,
    }


@pytest.mark.parametrize(
    "line", [b"[1]", b'"x"', b'{"level": "info"}', b'{"message": "x", "level": []}', b"[" * 5000]
)
def test_other_json_is_text(written: Written, line: bytes) -> None:
    [entry] = written(line + b"\n")
    assert entry["message"] == line.decode()


def test_lines_are_bounded(written: Written) -> None:
    entries = written(b"x" * (3 * LONGEST_LINE) + b"\n" + b"y\n" * (MOST_LINES + 5))
    assert len(entries) == MOST_LINES + 1
    assert max(len(str(entry["message"])) for entry in entries) == LONGEST_LINE
    assert str(entries[-1]["message"]).endswith("further lines of the job's process")
