"""The log: JSON lines with the request's id. The span of a request, and what is not in it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import weakref

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from app.http.observability import Metrics, Observed
from tests.app.conftest import Api, new_job
from workers.logs import JsonLines
from workers.telemetry import traces


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


@pytest.mark.needs("opentelemetry-sdk")
def test_a_request_is_a_span_named_by_its_route(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(traces, "_tracer", provider.get_tracer("test"))
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    caller = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    api.client.get("/v1/jobs/sesame?sesame=1", headers=caller)
    api.client.get("/sesame")
    api.client.get("/livez")
    known = api.client.post("/v1/jobs", json=new_job(name="sesame"), headers=caller).json()
    # A trace that two headers disagree about is nobody's.
    api.client.get("/v1/jobs", headers=[("traceparent", caller["traceparent"])] * 2)
    job, nowhere, submit, request, listed = kept.get_finished_spans()
    assert [job.name, nowhere.name] == ["GET /v1/jobs/{job_id}", "GET none"]
    assert [submit.name, request.name, listed.name] == ["submit", "POST /v1/jobs", "GET /v1/jobs"]
    assert {f"{each.context.trace_id:032x}" for each in (job, submit, request)} == {trace}
    assert nowhere.parent is listed.parent is None
    assert request.parent.span_id == job.parent.span_id == 0x00F067AA0BA902B7
    assert submit.parent.span_id == request.context.span_id
    assert api.claim(known["id"]).request.trace == (f"00-{trace}-{submit.context.span_id:016x}-01")
    assert "trace" not in known
    assert not any("sesame" in each.to_json() for each in kept.get_finished_spans())


class Large:
    """What a request holds."""


def test_what_a_request_held_goes_with_its_client() -> None:
    """Also where the error lies in a circle with it, as that of a request that waited for its turn:
    the collector of circles comes by too rarely for trees of 100 MB."""
    seen: list[weakref.ref[Large]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        held = Large()
        seen.append(weakref.ref(held))
        granted = asyncio.get_running_loop().create_future()
        granted.set_exception(ClientDisconnect)
        await granted

    async def ignore(_: Message) -> None: ...

    async def nothing() -> Message:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/v1/trees/x.csv", "headers": []}
    gc.disable()
    try:
        asyncio.run(Observed(app, Metrics())(scope, nothing, ignore))
        assert seen[0]() is None
    finally:
        gc.enable()
