"""Spans: their parents, what they carry, and that they are nothing where none are sent."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest

from tests.needs_kit import need
from workers import logs
from workers.telemetry import traces

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_without_a_collector_the_sdk_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    code = (
        "import sys; from workers.telemetry import traces\n"
        "traces.begin('x')\n"
        "with traces.span('a', n=1) as step: step.note(b=2); step.past('c', 1); step.fail('d')\n"
        "traces.Stages().reach('e')\n"
        "assert traces.traceparent() is None and not traces.active()\n"
        "traces.end(1.0)\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "the protocol is grpc"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "no traces are sent"),
    ],
)
def test_what_cannot_be_done_is_logged(
    name: str,
    value: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv(name, value)
    with caplog.at_level(logging.WARNING):
        traces.begin("test")
    assert message in caplog.text
    assert not traces.active()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The finished spans, as the SDK has them."""
    need("opentelemetry-sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(traces, "_tracer", provider.get_tracer("test"))
    return lambda: {span.name: span for span in kept.get_finished_spans()}


def test_parents_and_ids(spans: Any) -> None:
    with traces.span("outer", kind="server", parent=PARENT, n_bytes=3) as outer:
        outer.rename("renamed")
        with traces.span("inner"):
            entry = logs.JsonLines().format(logging.makeLogRecord({"msg": "x"}))
            own = traces.traceparent()
        stages = traces.Stages()
        for stage in ("fitting", "fitting", "my SECRET column", "done"):
            stages.reach(stage)
        stages.end()
    assert traces.traceparent() is None
    assert logs.span_ids.get() is None
    by_name = spans()
    assert set(by_name) == {"renamed", "inner", "fitting", "other", "done"}
    root = by_name["renamed"]
    assert f"{root.context.trace_id:032x}" == PARENT[3:35]
    assert f"{root.parent.span_id:016x}" == PARENT[36:52]
    assert dict(root.attributes) == {"umbel.n_bytes": 3}
    assert all(
        by_name[name].parent.span_id == root.context.span_id
        for name in by_name
        if name != "renamed"
    )
    inner = by_name["inner"].context
    assert own == f"00-{inner.trace_id:032x}-{inner.span_id:016x}-01"
    assert f"{inner.trace_id:032x}" in entry
    assert f"{inner.span_id:016x}" in entry


def test_an_error_is_known_by_its_class_alone(spans: Any) -> None:
    with pytest.raises(KeyError), traces.span("a"):
        raise KeyError("sesame")
    [span] = spans().values()
    assert "sesame" not in span.to_json()
    assert span.attributes["error.type"] == "KeyError"
    assert not span.status.is_ok


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "x",
        PARENT.upper(),
        PARENT + "-",
        PARENT + "\n",
        "ff" + PARENT[2:],
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
        "a" * 100_000,
    ],
)
def test_a_parent_in_another_form_is_none(parent: str, spans: Any) -> None:
    with traces.span("a", parent=parent):
        pass
    assert spans()["a"].parent is None


def test_a_process_of_a_job_cannot_make_spans_without_end(spans: Any) -> None:
    with traces.span("compute"):
        stages = traces.Stages()
        for number in range(1000):
            stages.reach(f"stage {number}")
        stages.end()
    assert len(spans()) == 1 + 64
