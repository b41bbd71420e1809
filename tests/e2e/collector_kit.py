"""A collector of traces: decodes what the service sends by OTLP over HTTP."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class SpanRow:
    """A span as it arrived. parent : "" for a root."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent: str
    attributes: dict[str, Any]
    failed: bool
    start_ns: int
    end_ns: int


@dataclass
class Collector:
    """The spans that have arrived, and every byte that did."""

    address: str = ""
    spans: list[SpanRow] = field(default_factory=list)
    content: bytes = b""
    n_requests: int = 0
    hang: threading.Event | None = None
    """If set, a request is answered only when this event is."""

    def of(self, trace_id: str) -> list[SpanRow]:
        """The spans of a trace."""
        return [span for span in self.spans if span.trace_id == trace_id]

    def take(self, body: bytes) -> None:
        """Decode one request."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        self.content += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _attributes(resource.resource)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [
                    SpanRow(
                        service=service,
                        name=span.name,
                        trace_id=span.trace_id.hex(),
                        span_id=span.span_id.hex(),
                        parent=span.parent_span_id.hex(),
                        attributes=_attributes(span),
                        failed=span.status.code == 2,
                        start_ns=span.start_time_unix_nano,
                        end_ns=span.end_time_unix_nano,
                    )
                    for span in scope.spans
                ]


def _attributes(message: Any) -> dict[str, Any]:
    return {
        item.key: getattr(item.value, item.value.WhichOneof("value")) for item in message.attributes
    }


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port; it answers 200 to any other request, too, and forgets it."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.n_requests += 1
            if collector.hang is not None:
                collector.hang.wait(120.0)
                return
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                collector.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield collector
    finally:
        if collector.hang is not None:
            collector.hang.set()
        server.shutdown()
        server.server_close()
