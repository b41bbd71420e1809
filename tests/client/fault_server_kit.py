"""A server that answers as a test tells it to, and cuts connections where a test wants it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlsplit

from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client.core.connection import Connection
from umbel_client.core.messages import Settings

PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Request:
    """A request that arrived."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Answer:
    """A response. cut_after : the connection is cut after so many bytes of the body; 0: before any
    of the response is sent."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    before: Callable[[], object] | None = None

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


def problem(status: int, code: str, detail: str = "Wrong.", **headers: str) -> Answer:
    body = {
        "type": f"/problems/{code}",
        "title": code,
        "status": status,
        "detail": detail,
        "request_id": "req_1",
        "errors": [{"detail": detail, "pointer": "/params/linkage"}],
    }
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, body, {"Content-Type": PROBLEM, **sent})


CUT = Answer(cut_after=0)


class FaultServer:
    """A running server. `answer` decides on each request; `requests` are all that arrived."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer: Callable[[Request], Answer] = lambda _: Answer(404)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:
                    self.close_connection = True

            def _handle(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length") or 0))
                address = urlsplit(self.path)
                request = Request(
                    self.command,
                    address.path,
                    parse_qs(address.query),
                    dict(self.headers.items()),
                    content,
                )
                server.requests.append(request)
                answer = server.answer(request)
                if answer.before is not None:
                    answer.before()
                if answer.cut_after == 0:
                    self.close_connection = True
                    return
                headers = {"Content-Type": "application/json", **answer.headers}
                self.send_response(answer.status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if answer.status != 204:
                    self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content[: answer.cut_after])
                if answer.cut_after is not None:
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = _handle

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *answers: Answer) -> None:
        """Give these answers one after another, the last one again and again."""
        left = list(answers)
        self.answer = lambda _: left.pop(0) if len(left) > 1 else left[0]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def paths(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in self.requests]


@contextmanager
def running() -> Iterator[FaultServer]:
    server = FaultServer()
    try:
        yield server
    finally:
        server.stop()


@dataclass(frozen=True)
class Call:
    """A function that is to be called with a connection and these arguments.

    asynchronous : the same for asyncio; of a function of the client it is known.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    asynchronous: Callable[..., Any] | None = None


def operation(function: Callable[..., Any]) -> Callable[..., Call]:
    """The function without its connection: what it gives is for `run_both`."""
    return lambda *args, **kwargs: Call(function, args, kwargs)


sent = operation(Connection.send)


def twin(function: Callable[..., Any]) -> Any:
    """The same for asyncio, of a function or method of a blocking module."""
    name = function.__module__.replace("umbel_client.", "umbel_client._written.aio.", 1)
    *of, own = function.__qualname__.split(".")
    found: Any = import_module(name)
    for each in of:
        found = getattr(found, f"Async{each}")
    return getattr(found, own)


def settings_of(server: FaultServer, **settings: Any) -> Settings:
    """Settings with short pauses."""
    return Settings(server.url, **{"pause_s": 0.001, "longest_pause_s": 0.05, **settings})


def run_both(kind: str, server: FaultServer, call: Call, **settings: Any) -> Any:
    """The result of a call, `sync` or `async`, with short pauses."""
    own = settings_of(server, **settings)
    if kind == "sync":
        connection = Connection(own)
        try:
            return call.function(connection, *call.args, **call.kwargs)
        finally:
            connection.close()

    async def ran() -> Any:
        asynchronous = AsyncConnection(own)
        try:
            function = call.asynchronous or twin(call.function)
            return await function(asynchronous, *call.args, **call.kwargs)
        finally:
            await asynchronous.aclose()

    return asyncio.run(ran())
