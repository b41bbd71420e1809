"""The way of a job as a trace: spans of OpenTelemetry from the request to the webhook.

OpenTelemetry's SDK is not imported, and every span is a no-op, until `begin` finds the address of a
collector in the environment (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT).
Spans are sent by a thread, from a queue of bounded length: a collector that hangs or refuses costs
spans and no time.

A span has ids, names of methods and numbers, and the class of an error. It never has what a tenant
wrote: no names, values of parameters, paths of requests or messages of errors.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any, Literal

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from workers import logs

Kind = Literal["internal", "server", "producer", "consumer", "client"]
Attribute = str | int | float | bool

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_TRACEPARENT = "traceparent"
_LONGEST_TRACEPARENT = 100
_STAGE = re.compile(r"[a-z][a-z0-9_ -]{0,59}")
_MOST_STAGES = 64
"""The most spans of stages in one attempt; later stages belong to the last of them."""

_log = logging.getLogger(__name__)
_propagator = TraceContextTextMapPropagator()
_provider: Any = None
_tracer: trace.Tracer | None = None


class Span:
    """One step of a trace; without a span of OpenTelemetry it records nothing."""

    def __init__(self, span: trace.Span = trace.INVALID_SPAN) -> None:
        self._span = span

    def note(self, **attributes: Attribute) -> None:
        """Add attributes, named `umbel.<name>`."""
        self._span.set_attributes(_named(attributes))

    def rename(self, name: str) -> None:
        """Give it another name."""
        self._span.update_name(name)

    def fail(self, kind: str) -> None:
        """Mark it as failed. kind : the type of a problem or the class of an error."""
        self._span.set_attribute("error.type", kind)
        self._span.set_status(trace.Status(trace.StatusCode.ERROR))

    def past(self, name: str, start_ns: int) -> None:
        """Add a step within it that lasted from `start_ns` (of `time.time_ns`) until now."""
        if _tracer is not None:
            within = trace.set_span_in_context(self._span)
            _tracer.start_span(name, context=within, start_time=start_ns).end()


def begin(service: str) -> None:
    """Send the spans of this process from now on, if a collector's address is configured.

    service : its `service.name`, unless the environment names another. What is configured and
    cannot be done is logged as a warning: a service without traces still does its work.
    """
    global _provider, _tracer
    if _provider is not None or not any(os.environ.get(name) for name in _ENDPOINTS):
        return
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    protocol = next(filter(None, map(os.environ.get, _PROTOCOLS)), _PROTOCOL)
    if protocol != _PROTOCOL:
        _log.warning("no traces are sent: the protocol is %s; set it to %s", protocol, _PROTOCOL)
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        _log.warning("no traces are sent: %s; install umbel[telemetry]", error)
        return
    # The exporter logs each batch that it could not send; once in a while is enough.
    logging.getLogger(OTLPSpanExporter.__module__).addFilter(_Seldom())
    own = {"service.version": metadata.version("umbel")} if _installed() else {}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        own["service.name"] = service
    try:
        provider = TracerProvider(resource=Resource.create(own), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except ValueError as error:
        _log.warning("no traces are sent: %s", error)
        return
    _provider, _tracer = provider, provider.get_tracer("umbel")


def end(grace_s: float) -> None:
    """Send what is left, for at most `grace_s` seconds; no span is recorded afterwards."""
    global _provider, _tracer
    provider, _provider, _tracer = _provider, None, None
    if provider is not None:
        last = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
        last.start()
        last.join(grace_s)


def active() -> bool:
    """Whether spans are recorded."""
    return _tracer is not None


@contextmanager
def span(
    name: str,
    *,
    kind: Kind = "internal",
    parent: str | None = None,
    start_ns: int | None = None,
    **attributes: Attribute,
) -> Iterator[Span]:
    """A step, within the one that is under way in this thread or task, or within `parent`.

    parent : a `traceparent` (W3C Trace Context); one in another form counts as none. start_ns :
    when it began, of `time.time_ns`; None: now. An exception passes through and marks the step.
    """
    if _tracer is None:
        yield Span()
        return
    with _tracer.start_as_current_span(
        name,
        context=None if parent is None else _context(parent),
        kind=trace.SpanKind[kind.upper()],
        attributes=_named(attributes),
        start_time=start_ns,
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        recorded, ids = Span(started), started.get_span_context()
        token = logs.span_ids.set((f"{ids.trace_id:032x}", f"{ids.span_id:016x}"))
        try:
            yield recorded
        except Exception as error:
            recorded.fail(type(error).__name__)
            raise
        finally:
            logs.span_ids.reset(token)


def traceparent() -> str | None:
    """The step that is under way, to be a `parent` elsewhere; None: there is none."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get(_TRACEPARENT)


class Stages:
    """The stages that a job's process reports, each a step within the one under way at creation.

    The process computes on a tenant's input and is not trusted: a name in another form than a
    method's is `other`.
    """

    def __init__(self) -> None:
        self._parent = traceparent()
        self._name = ""
        self._span: trace.Span | None = None
        self._n_begun = 0

    def reach(self, stage: str) -> None:
        """The stage now; the one before has ended if it is another."""
        name = stage if _STAGE.fullmatch(stage) else "other"
        if self._parent is None or name == self._name or self._n_begun == _MOST_STAGES:
            return
        self.end()
        if _tracer is not None:
            self._name = name
            self._n_begun += 1
            self._span = _tracer.start_span(name, context=_context(self._parent))

    def end(self) -> None:
        """The last stage has ended."""
        if self._span is not None:
            self._span.end()
            self._span = None


def now_ns() -> int:
    """The time of a span's start, in ns since 1970."""
    return time.time_ns()


def _context(parent: str) -> Context:
    """The context of a `traceparent`: an empty one if it has another form."""
    usable = len(parent) <= _LONGEST_TRACEPARENT and parent.isprintable()
    return _propagator.extract({_TRACEPARENT: parent} if usable else {}, Context())


def _named(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    return {f"umbel.{name}": value for name, value in attributes.items()}


def _installed() -> bool:
    try:
        metadata.version("umbel")
    except metadata.PackageNotFoundError:
        return False
    return True


class _Seldom(logging.Filter):
    """Passes an entry a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._next_at = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + 60.0
        return True
