"""The API on its own server, in a thread of the test, and connections byte by byte."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.http.dependencies import Service
from app.http.server import Server
from app.main import create_app
from tests.app.conftest import make_settings
from workers.embedded import EmbeddedServer


def free_port() -> int:
    """A port for a server that is started later. Systems give connections and servers that name no
    port others than these, so that none of them takes it meanwhile."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass
class Running:
    """A server with its service parts, and a way to end it as a signal does."""

    server: Server
    service: Service
    port: int
    thread: threading.Thread

    def connect(self, *pieces: bytes) -> socket.socket:
        """A connection on which the pieces have been sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30.0)
        for piece in pieces:
            connection.sendall(piece)
        return connection

    def stop(self) -> None:
        self.server.should_exit = True


@contextlib.contextmanager
def serving(valkey: EmbeddedServer, folder: Path, **changes: Any) -> Iterator[Running]:
    settings = make_settings(valkey, folder, **changes)
    app = create_app(settings, lambda queue, job_id: None)
    server = Server(app, settings, on_drain=lambda: app.state.service.job_ends.release())
    with started(server) as (port, thread):
        yield Running(server, app.state.service, port, thread)


@contextlib.contextmanager
def started(server: Server) -> Iterator[tuple[int, threading.Thread]]:
    """A server's port and its thread."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield port, thread
        finally:
            server.should_exit = True
            thread.join()


def answer_of(connection: socket.socket) -> bytes:
    """Everything that is received until the server closes; what a reset has left of it."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            received += piece
    return received


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def get(path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def skip_response(connection: socket.socket) -> bytes:
    """Read one response with a Content-Length; its head."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(1)
        assert piece, received
        received += piece
    head = received.lower()
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while length:
        length -= len(connection.recv(length))
    return received
