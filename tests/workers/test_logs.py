"""The formats of the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from workers import logs
from workers.logs import JsonLines, TextLines


@pytest.fixture(autouse=True)
def no_ids() -> Iterator[None]:
    yield
    logs.set_ids(None, None)


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    logger = logging.getLogger("umbel.tests")
    return logger.makeRecord(
        "umbel.tests", logging.WARNING, "f", 1, message, arguments, None, extra=extra
    )


@pytest.mark.parametrize("formatter", [JsonLines(), TextLines()])
def test_ids_of_job_and_request(formatter: logging.Formatter) -> None:
    assert "job" not in formatter.format(record("x"))
    logs.set_ids("job_1", "req_1")
    line = formatter.format(record("x"))
    assert "job_1" in line
    assert "req_1" in line
    assert "job_2" in formatter.format(record("x", job_id="job_2"))
    assert "job_1" not in formatter.format(record("x", job_id="job_2"))
    logs.set_ids("", "")
    assert "_id" not in formatter.format(record("x"))


def test_json() -> None:
    logs.set_ids("job_1", None)
    entry = json.loads(JsonLines().format(record("a %s", 'b"\n', path="/v1", n=3)))
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "warning",
        "logger": "umbel.tests",
        "message": 'a b"\n',
        "job_id": "job_1",
        "path": "/v1",
        "n": 3,
    }


def test_text() -> None:
    logs.set_ids("job_1", None)
    line = TextLines().format(record("a %s", 'é "\n\x1b[31m', path="/v1/a b", n=3, name_="x=y"))
    time, rest = line.split(" ", 1)
    assert time.endswith("Z")
    assert rest == (
        'WARNING umbel.tests: a é "\\n\\u001b[31m job_id=job_1 path="/v1/a b" n=3 name_=x=y'
    )


def test_a_traceback_of_text_is_indented() -> None:
    try:
        raise ValueError("x")
    except ValueError:
        import sys

        entry = logging.LogRecord("a", 40, "p", 1, "failed", (), sys.exc_info())
    first, *others = TextLines().format(entry).splitlines()
    assert first.endswith("a: failed")
    assert others[-1] == "    ValueError: x"
    assert all(line.startswith("    ") for line in others)
