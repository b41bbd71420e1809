"""One connection to Valkey that costs little: a message out, its replies in."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import redis


class Wire:
    """url : `unix://:password@path`."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(parts.path)
        self._replies = self._socket.makefile("rb", buffering=1 << 16)
        [hello] = self.ask(("HELLO", 3, "AUTH", "default", parts.password))
        if isinstance(hello, Exception):
            raise hello

    def ask(self, *commands: Sequence[Any]) -> list[Any]:
        """The reply to each command; an error of one is its reply, and is not raised."""
        message = bytearray()
        for command in commands:
            message += b"*%d\r\n" % len(command)
            for part in command:
                data = part if isinstance(part, bytes) else str(part).encode()
                message += b"$%d\r\n%b\r\n" % (len(data), data)
        self._socket.sendall(message)
        return [self._reply() for _ in commands]

    def close(self) -> None:
        self._replies.close()
        self._socket.close()

    def _reply(self) -> Any:
        line = self._replies.readline()
        if not line:
            raise redis.ConnectionError("Valkey has gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self._replies.read(size + 2)[:-2].decode()
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        if kind in (b"*", b"~", b">"):
            return [self._reply() for _ in range(int(rest))]
        if kind == b"%":
            return {self._reply(): self._reply() for _ in range(int(rest))}
        if kind == b"=":
            return self._replies.read(int(rest) + 2)[4:-2].decode()
        if kind == b"-":
            return redis.ResponseError(rest.decode())
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        raise ValueError(f"an unknown reply: {line!r}")
