"""What the proxy of the storms does to connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.chaos.proxy_kit import CUT_BYTES, DELAY_S, Proxy

BODY = b"x" * 5000


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = Proxy(server.server_address[1])
    yield proxy
    proxy.close()
    server.shutdown()
    server.server_close()


def get(proxy: Proxy, timeout: float = 5.0) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{proxy.port}/", timeout=timeout)


def test_connections_pass_wait_or_get_no_response(proxy: Proxy) -> None:
    assert get(proxy).content == BODY
    proxy.mode = "delay"
    began = time.monotonic()
    assert get(proxy).content == BODY
    assert time.monotonic() - began >= 2 * DELAY_S
    proxy.mode = "swallow"
    with pytest.raises(httpx.TimeoutException):
        get(proxy, timeout=0.3)
    proxy.mode = "refuse"
    with pytest.raises(httpx.TransportError):
        get(proxy)
    proxy.mode = "pass"
    assert get(proxy).content == BODY


def test_an_object_store_that_fails(proxy: Proxy) -> None:
    for mode, status, code in (("error", 500, "InternalError"), ("busy", 503, "SlowDown")):
        proxy.mode = mode  # type: ignore[assignment]
        response = get(proxy)
        assert response.status_code == status
        assert code in response.text
    proxy.mode = "cut"
    with pytest.raises(httpx.RemoteProtocolError):
        get(proxy)
    assert len(BODY) > CUT_BYTES


def test_open_connections_are_cut(proxy: Proxy) -> None:
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=5.0) as connection:
        connection.sendall(b"GET / HT")
        time.sleep(0.1)
        proxy.cut_all()
        try:
            ending = connection.recv(1)
        except ConnectionError:
            ending = b""
        assert ending == b""
