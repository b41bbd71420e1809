"""One POST to a receiver that may be slow, endless or hostile.

The host is resolved once and the connection goes to the very address that was checked, so a name
that changes its address in between has no effect; TLS is verified for the name. No redirects, no
proxies, no cookies, one deadline for everything.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import httpcore

from workers.webhooks.addresses import Guard, NotAllowed, Target
from workers.webhooks.replies import NotSent, Reply

_CONNECT_S = 5.0
"""The timeout for connecting to one of several addresses of a host."""

_HEAD_BYTES = 256 << 10
"""Bytes read until the last header: informational responses (1xx) before it cost time."""

_REST_S = 1.0
_REST_BYTES = 64 << 10
"""Bytes read after the status, with what marks their chunks, so that the receiver is not cut off
in the middle of its response."""


def post(
    target: Target,
    headers: Mapping[str, str],
    body: bytes,
    guard: Guard,
    timeout_s: float,
    most_bytes: int | None = None,
) -> Reply:
    """The response to a POST of `body`. Raises NotSent, within `timeout_s`.

    most_bytes : the content is read, if it has no more; None: it is of no use.
    Only the system's resolver may take longer; then nothing is sent.
    """
    network = _Network(target, guard, time.monotonic() + timeout_s)
    sent = [("Host", target.authority), ("Connection", "close"), *headers.items()]
    url = httpcore.URL(
        scheme=target.scheme.encode(),
        host=target.host.encode(),
        port=target.port,
        target=target.path.encode("ascii"),
    )
    context = _context() if target.scheme == "https" else None
    reply = None
    try:
        with (
            httpcore.ConnectionPool(
                ssl_context=context, max_connections=1, network_backend=network
            ) as pool,
            pool.stream("POST", url, headers=sent, content=body) as response,
        ):
            named = {name.lower(): value for name, value in response.headers}
            retry_after = named.get(b"retry-after", b"").decode("latin-1").strip()
            if most_bytes is not None:
                network.bytes_left = None
                return Reply(response.status, retry_after, _read(response, most_bytes))
            network.bytes_left = _REST_BYTES
            reply = Reply(response.status, retry_after)
            network.deadline = min(network.deadline, time.monotonic() + _REST_S)
            _read_some(response)
    except Exception as error:
        # Errors after the status do not matter.
        if reply is None:
            raise _failure(error, timeout_s) from None
    return reply


def _failure(error: Exception, timeout_s: float) -> Exception:
    """The error to raise for one of httpcore, the guard or the socket.

    A fault of ours is left unchanged.
    """
    match error:
        case NotAllowed():
            return NotSent("The host has an address that webhooks may not be sent to.", final=True)
        case TimeoutError():
            return NotSent(f"There was no answer within {timeout_s:g} s.")
        case socket.gaierror():
            return NotSent("The name of the host was not found.")
        case ConnectionRefusedError():
            return NotSent("The connection was refused.")
        case ssl.SSLCertVerificationError():
            return NotSent(f"The certificate is not valid: {error.verify_message}.")
        case ssl.SSLError():
            return NotSent("TLS could not be agreed on.")
        case OSError():
            return NotSent("The connection broke off or could not be made.")
        case httpcore.ProtocolError() | ValueError():
            return NotSent("The answer is not HTTP.")
    return error


def _read_some(response: httpcore.Response) -> None:
    size = 0
    for piece in response.iter_stream():
        size += len(piece)
        if size > _REST_BYTES:
            return


def _read(response: httpcore.Response, most_bytes: int) -> bytes:
    """Raises NotSent for a longer content."""
    content = bytearray()
    for piece in response.iter_stream():
        content += piece
        if len(content) > most_bytes:
            raise NotSent(f"The answer has more than {most_bytes} bytes.")
    return bytes(content)


@cache
def _context() -> ssl.SSLContext:
    import httpx

    # Certificates of certifi, or of SSL_CERT_FILE and SSL_CERT_DIR.
    return httpx.create_ssl_context()


class _Network(httpcore.NetworkBackend):
    """Connects to the target, if the guard allows it, and to nothing else."""

    def __init__(self, target: Target, guard: Guard, deadline: float) -> None:
        self._target = target
        self._guard = guard
        self.host = target.host
        self.deadline = deadline
        self.bytes_left: int | None = _HEAD_BYTES

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        if (host, port) != (self._target.host, self._target.port):
            raise NotAllowed
        addresses = self._guard.addresses(self._target)
        last: OSError = TimeoutError()
        for family, where in addresses:
            connection = socket.socket(family, socket.SOCK_STREAM)
            try:
                left = self.left()
                connection.settimeout(left if len(addresses) == 1 else min(left, _CONNECT_S))
                connection.connect(where)
            except OSError as error:
                connection.close()
                last = error
            except BaseException:
                connection.close()
                raise
            else:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return _Stream(connection, self)
        raise last

    def left(self) -> float:
        """Seconds until the deadline. TimeoutError once it has passed."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def count(self, n_bytes: int) -> None:
        """Raises NotSent where more was read than may be."""
        if self.bytes_left is not None:
            self.bytes_left -= n_bytes
            if self.bytes_left < 0:
                raise NotSent(f"The answer has no status within {_HEAD_BYTES} bytes.")


class _Stream(httpcore.NetworkStream):
    """A connection on which no step outlasts the deadline, whatever its own timeout."""

    def __init__(self, connection: socket.socket, network: _Network) -> None:
        self._connection = connection
        self._network = network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._connection.settimeout(self._network.left())
        piece = self._connection.recv(max_bytes)
        self._network.count(len(piece))
        return piece

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        left = memoryview(buffer)
        while left:
            self._connection.settimeout(self._network.left())
            left = left[self._connection.send(left) :]

    def close(self) -> None:
        self._connection.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        self._connection.settimeout(self._network.left())
        try:
            wrapped = ssl_context.wrap_socket(self._connection, server_hostname=self._network.host)
        except BaseException:
            self._connection.close()
            raise
        return _Stream(wrapped, self._network)

    def get_extra_info(self, info: str) -> Any:
        return None
