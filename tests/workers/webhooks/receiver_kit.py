"""An HTTP server that receives webhooks and answers as a test requires."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.workers.waiting_kit import PATIENCE_S
from workers.assembly import Assembly
from workers.jobs.webhook_keys import encoded


@dataclass(frozen=True)
class ReceivedWebhook:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def content(self) -> Any:
        return json.loads(self.body)


Behave = Callable[[BaseHTTPRequestHandler], None]


class Receiver:
    """Answers each request with the next of `answers`, then with 204.

    An answer is a status, (status, headers), or a function that handles the request.
    """

    def __init__(self) -> None:
        self.requests: list[ReceivedWebhook] = []
        self.answers: list[int | tuple[int, dict[str, str]] | Behave] = []
        self.over = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                receiver.handle(self)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?token=s3cret"
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()

    @property
    def server(self) -> ThreadingHTTPServer:
        return self._server

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(ReceivedWebhook(request.path, headers, body, time.time()))
        answer = self.answers.pop(0) if self.answers else 204
        if callable(answer):
            # The sender may have disconnected.
            with contextlib.suppress(OSError):
                answer(request)
            request.close_connection = True
            return
        status, more = answer if isinstance(answer, tuple) else (answer, {})
        request.send_response(status)
        for name, value in {"Content-Length": "0", **more}.items():
            request.send_header(name, value)
        request.end_headers()

    def wait(self, count: int = 1, timeout_s: float = PATIENCE_S) -> list[ReceivedWebhook]:
        """All requests, once there are `count`."""
        until(lambda: len(self.requests) >= count, timeout_s)
        return self.requests

    def hang(self, _: BaseHTTPRequestHandler) -> None:
        """Never answer."""
        self.over.wait(PATIENCE_S)

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.close()


def until(reached: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + timeout_s
    while not reached():
        assert time.monotonic() < end, "the condition was not reached in time"
        time.sleep(0.005)


def verify(secret: str, webhook: ReceivedWebhook, tolerance_s: float = 300.0) -> None:
    """Verify a signature as Standard Webhooks 1.0.0 prescribes; AssertionError if it is wrong.

    secret : `whsec_...`.
    """
    prefix, _, key = secret.partition("_")
    assert prefix == "whsec"
    assert abs(time.time() - int(webhook.headers["webhook-timestamp"])) < tolerance_s
    assert "." not in webhook.id
    signed = b".".join(
        [webhook.id.encode(), webhook.headers["webhook-timestamp"].encode(), webhook.body]
    )
    digest = hmac.new(base64.b64decode(key, validate=True), signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    assert expected in webhook.headers["webhook-signature"].split(" ")


def secret_of(assembly: Assembly, tenant: str = "ada") -> str:
    """The key that verifies a tenant's webhooks."""
    return encoded(assembly.ledger.webhooks.keys.of(tenant)[0])
