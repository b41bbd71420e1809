"""The wrapping of every request: its id, the log, Prometheus metrics, safe headers, our own errors.

HEAD is answered as GET without the content (RFC 9110), wherever there is a GET that ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import time
import traceback
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from anyio import BrokenResourceError
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.problems import ENDLESS, KINDS, respond
from app.http.turns import AGAIN_S, gone
from workers.errors import problem
from workers.logs import request_id as current_request_id
from workers.telemetry import traces

_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_log = logging.getLogger("umbel.requests")

SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
}
"""Set unless a route sets its own; our pages have their own policy."""


class Metrics:
    """What `/metrics` shows; each app has its own registry.

    Several processes of the API behind one port write into one folder (prometheus_client's
    multiprocess mode), so that it does not matter which of them answers.
    """

    def __init__(self) -> None:
        self._folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        self._shown: list[Collector] = []
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "umbel_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "umbel_request_seconds",
            "Time until the whole response was sent.",
            ["method", "route"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
            registry=self.registry,
        )

    def show(self, collector: Collector) -> None:
        """Add what `collector` reads at each scrape."""
        self._shown.append(collector)

    def text(self) -> bytes:
        """The metrics of all processes of the API together, in Prometheus's text format."""
        shown = CollectorRegistry()
        if not self._folder:
            shown.register(self.registry)
        else:
            MultiProcessCollector(shown, self._folder)  # type: ignore[no-untyped-call]
        for collector in self._shown:
            shown.register(collector)
        return generate_latest(shown)


class Observed:
    """ASGI middleware, the outermost one."""

    def __init__(self, app: ASGIApp, metrics: Metrics, root_path: str = "") -> None:
        self.app = app
        self._root_path = root_path.rstrip("/")
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self._root_path:
            scope["root_path"] = self._root_path
        request_id = _request_id(scope)
        with _traced(scope, request_id) as step:
            await self._answer(scope, receive, send, request_id, step)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, request_id: str, step: traces.Span
    ) -> None:
        scope.setdefault("state", {})["request_id"] = request_id
        gone.set(scope["state"].get("gone"))
        token = current_request_id.set(request_id)
        started = time.perf_counter()
        status = 0
        method = scope["method"]
        bare = method == "HEAD" and not scope["path"].endswith(ENDLESS)
        if bare:
            # A copy: the server's scope keeps HEAD, so that it sends Content-Length unchanged.
            # Range is defined for GET alone (RFC 9110, section 14.2).
            headers = [pair for pair in scope["headers"] if pair[0] != b"range"]
            scope = {**scope, "method": "GET", "headers": headers}

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            elif bare and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            await self.app(scope, receive, send_on)
        except ClientDisconnect as error:
            status = status or 499
            # Its frames hold what was read, in a circle with it that only the collector would end.
            traceback.clear_frames(error.__traceback__)
            error.__traceback__ = None
        except asyncio.CancelledError:
            # The process ends, and has waited for this request as long as it may.
            if not status:
                code, title, _ = KINDS["unavailable"]
                body = problem(
                    "unavailable", title, code, "The service is being stopped. Try again."
                )
                await respond(request_id, body, _STOPPED)(scope, receive, send_on)
            raise
        except Exception as error:
            if status and _client_left(error):
                return
            _log.exception("unhandled error", extra={"path": scope["path"]})
            if status:
                raise
            code, title, _ = KINDS["internal"]
            body = problem(
                "internal",
                title,
                code,
                "The request failed through a fault of ours; our log has it under the request id.",
            )
            await respond(request_id, body)(scope, receive, send_on)
        finally:
            self._record(scope, method, status, time.perf_counter() - started)
            _describe(step, scope, method, status)
            current_request_id.reset(token)

    def _record(self, scope: Scope, requested: str, status: int, seconds: float) -> None:
        route = _template(scope)
        method = requested if requested in _METHODS else "OTHER"
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        _log.info(
            "request",
            extra={
                "method": method,
                "path": scope["path"],
                "status": status,
                "ms": round(seconds * 1000, 1),
            },
        )


def _client_left(error: Exception) -> bool:
    """Whether the error only means that a client disconnected while an event was sent to it."""
    if isinstance(error, ExceptionGroup):
        return error.split(BrokenResourceError)[1] is None
    return isinstance(error, BrokenResourceError)


_STOPPED = {"Retry-After": str(AGAIN_S), "Connection": "close"}
_PROBES = frozenset({"livez", "readyz", "metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _template(scope: Scope) -> str:
    """The route's template, so that ids do not become labels."""
    path: Any = getattr(scope.get("route"), "path_format", None)
    return str(path) if path else "none"


def _traced(scope: Scope, request_id: str) -> AbstractContextManager[traces.Span]:
    """The span of a request; none for probes, and where no traces are sent."""
    if not traces.active() or scope["path"].rpartition("/")[2] in _PROBES:
        return nullcontext(traces.Span())
    given = [value for name, value in scope["headers"] if name == b"traceparent"]
    parent = given[0].decode("latin-1") if len(given) == 1 else None
    return traces.span("request", kind="server", parent=parent, request_id=request_id)


def _describe(step: traces.Span, scope: Scope, requested: str, status: int) -> None:
    """Name the span by the route's template: the path has ids, and a query may have anything."""
    method = requested if requested in _METHODS else "OTHER"
    route = _template(scope)
    step.rename(f"{method} {route}")
    step.note(method=method, route=route, status=status)
    if status >= 500:
        step.fail(str(status))


def _request_id(scope: Scope) -> str:
    """The client's request id if it has a plain form, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            text: str = value.decode("latin-1")
            if _ID.fullmatch(text):
                return text
    return f"req_{secrets.token_hex(12)}"
