"""The trace of a job over the running service, and what a broken collector costs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.collector_kit import Collector, SpanRow, collecting
from tests.e2e.conftest import Service, running, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
]

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
BODY = {
    "method": "hac",
    "params": {"linkage": "ward"},
    "inputs": {
        "features": [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 4.0]],
        "names": ["sesame", "b", "c", "d"],
    },
    "name": "sesame",
}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module")
def service(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address,
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=swordfish",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "UMBEL_LOG_LEVEL": "info",
        "UMBEL_WEBHOOK_ALLOW": "127.0.0.0/8",
    }
    with running(tmp_path_factory.mktemp("traces") / "data", workers=1, **env) as service:
        yield service


def _single(spans: list[SpanRow], name: str) -> SpanRow:
    [span] = [span for span in spans if span.name == name]
    return span


def test_the_whole_tree(service: Service, collector: Collector) -> None:
    body = {**BODY, "webhook": f"{collector.address}/hook"}
    job_id = service.submit(body, traceparent=f"00-{TRACE}-{CALLER}-01")
    assert service.ended(job_id)["status"] == "succeeded"
    until(lambda: {"attempt", "webhook"} <= {span.name for span in collector.of(TRACE)})
    spans = collector.of(TRACE)
    request, submit = _single(spans, "POST /v1/jobs"), _single(spans, "submit")
    attempt, compute = _single(spans, "attempt"), _single(spans, "compute")
    assert request.parent == CALLER
    assert submit.parent == request.span_id
    assert attempt.parent == submit.span_id
    for name in ("claim", "inputs", "process", "compute", "publish"):
        assert _single(spans, name).parent == attempt.span_id
    stages = [span for span in spans if span.parent == compute.span_id]
    assert "checking" in [span.name for span in stages]
    assert all(compute.start_ns <= span.start_ns <= span.end_ns for span in stages)
    assert _single(spans, "webhook").parent == submit.span_id
    assert {request.service, submit.service} == {"umbel-api"}
    assert attempt.service == "umbel-worker"
    assert attempt.attributes["umbel.job_id"] == submit.attributes["umbel.job_id"] == job_id
    assert attempt.attributes["umbel.method"] == "hac"
    assert attempt.attributes["umbel.status"] == "succeeded"
    assert request.attributes["umbel.status"] == 202
    assert not any(span.failed for span in (request, submit, attempt, compute))
    for secret in (b"sesame", b"swordfish", b"ward"):
        assert secret not in collector.content


def test_log_entries_have_the_ids(service: Service, collector: Collector) -> None:
    trace = TRACE.replace("4bf", "5bf")
    job_id = service.submit(BODY, traceparent=f"00-{trace}-{CALLER}-01")
    service.ended(job_id)
    until(lambda: "attempt" in {span.name for span in collector.of(trace)})
    known = {span.span_id for span in collector.of(trace)}
    log = (service.data_dir / "log").read_text()
    lines = [line for line in log.splitlines() if line.startswith("{")]
    entries = [entry for entry in map(json.loads, lines) if entry.get("trace_id") == trace]
    assert {"umbel.requests", "workers.supervisor.supervisor"} <= {e["logger"] for e in entries}
    assert {entry["span_id"] for entry in entries} <= known


def test_a_trace_that_is_not_sampled_is_not_sent(service: Service, collector: Collector) -> None:
    trace = TRACE.replace("4bf", "6bf")
    job_id = service.submit(BODY, traceparent=f"00-{trace}-{CALLER}-00")
    assert service.ended(job_id)["status"] == "succeeded"
    later = TRACE.replace("4bf", "7bf")
    service.ended(service.submit(BODY, traceparent=f"00-{later}-{CALLER}-01"))
    until(lambda: "attempt" in {span.name for span in collector.of(later)})
    assert collector.of(trace) == []


@pytest.mark.parametrize("how", ["hangs", "refuses"])
def test_a_broken_collector_holds_up_no_job(how: str, tmp_path: Path) -> None:
    with collecting() as collector:
        collector.hang = threading.Event()
        address = collector.address if how == "hangs" else "http://127.0.0.1:1"
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": address,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            # So small a queue is full after a few jobs.
            "OTEL_BSP_MAX_QUEUE_SIZE": "16",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "16",
        }
        with running(tmp_path / "data", workers=1, **env) as service:
            ids = [service.submit(BODY) for _ in range(10)]
            assert [service.ended(job_id)["status"] for job_id in ids] == ["succeeded"] * 10
            assert [service.ended(job_id)["attempt"] for job_id in ids] == [1] * 10
            if how == "hangs":
                # Both processes have met it.
                until(lambda: collector.n_requests >= 2)
            # A request to it may hang for 10 s; no process waits for that.
            assert service.stop() == 0
