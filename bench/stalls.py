"""What holds up other requests: the longest wait for `/livez` while the API is given hard work."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable

import httpx

from bench.report import Report

MOST_MS = 250.0
ROWS = 1_000_000
CONNECTIONS = 200


def rows(report: Report, client: httpx.Client, url: str) -> None:
    """Rows in "service": the longest wait of a client that asks for `/livez` all the time."""

    def long_body() -> None:
        matrix = b"[" + b",".join(b"[%d.5]" % (row % 9) for row in range(ROWS)) + b"]"
        body = b'{"method": "kmeans", "inputs": {"features": %s}}' % matrix
        headers = {"Content-Type": "application/json"}
        answer = client.post("/v1/jobs", content=body, headers=headers)
        assert answer.status_code == 202, answer.text
        client.delete(f"/v1/jobs/{answer.json()['id']}")

    for what, work in (
        (f"a job with {ROWS:,} rows in its body", long_body),
        (f"64 KB of short trailers on {CONNECTIONS} connections", lambda: _trailers(url)),
    ):
        longest = _longest_wait_s(url, work)
        report.goal("service", what, "longest /livez", longest * 1e3, "ms", most=MOST_MS)


def _trailers(url: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    start = (
        b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    )
    connections = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS)]
    for connection in connections:
        connection.sendall(start)
        connection.setblocking(False)
    try:
        for connection in connections:
            try:
                connection.send(b"a:b\r\n" * 12_800)
            except OSError:
                continue
        time.sleep(0.5)
    finally:
        for connection in connections:
            connection.close()


def _longest_wait_s(url: str, work: Callable[[], None]) -> float:
    """The longest wait for `/livez` during `work`."""
    waits: list[float] = []
    stop = threading.Event()

    def ask() -> None:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        while not stop.wait(0.005):
            began = time.perf_counter()
            connection.request("GET", "/livez")
            connection.getresponse().read()
            waits.append(time.perf_counter() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        while not waits:
            time.sleep(0.01)
        waits.clear()
        work()
    finally:
        stop.set()
        asking.join()
    return max(waits)
