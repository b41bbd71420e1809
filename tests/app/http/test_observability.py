"""The log: JSON lines with the request's id."""

from __future__ import annotations

import json
import logging

import pytest

from tests.app.conftest import Api
from workers.logs import JsonLines


def test_every_request_is_logged_in_a_line_with_its_id(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler = Keep()
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("umbel.requests")
    logger.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, "umbel.requests"):
            api.client.get("/v1/a%0Ab%22", headers={"X-Request-ID": "r-1"})
    finally:
        logger.removeHandler(handler)
    [line] = lines
    assert "\n" not in line
    entry = json.loads(line)
    assert entry["request_id"] == "r-1"
    assert entry["path"] == '/v1/a\nb"'
    assert entry["status"] == 404
    assert entry["level"] == "info"
    assert entry["time"].endswith("Z")


def test_a_traceback_is_logged_in_a_line() -> None:
    try:
        raise ValueError("x\ny")
    except ValueError:
        import sys

        record = logging.LogRecord("a", 40, "p", 1, "failed %s", ("b",), sys.exc_info())
    line = JsonLines().format(record)
    assert "\n" not in line
    entry = json.loads(line)
    assert entry["message"] == "failed b"
    assert "ValueError: x\ny" in entry["traceback"]
