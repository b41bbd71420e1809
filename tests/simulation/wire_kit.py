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
        self._read, self._at = b"", 0
        [hello] = self.ask(("HELLO", 3, "AUTH", "default", parts.password))
        if isinstance(hello, Exception):
            raise hello

    def ask(self, *commands: Sequence[Any]) -> list[Any]:
        """The reply to each command; an error of one is its reply, and is not raised."""
        parts: list[bytes] = []
        for command in commands:
            parts.append(b"*%d\r\n" % len(command))
            for part in command:
                data = part if isinstance(part, bytes) else str(part).encode()
                parts += (b"$%d\r\n" % len(data), data, b"\r\n")
        self._socket.sendall(b"".join(parts))
        return [self._reply() for _ in commands]

    def close(self) -> None:
        self._socket.close()

    def _line(self) -> bytes:
        """The next line, without its end."""
        while (end := self._read.find(b"\r\n", self._at)) < 0:
            self._more()
        line = self._read[self._at : end]
        self._at = end + 2
        return line

    def _text(self, size: int) -> str:
        while len(self._read) < self._at + size + 2:
            self._more()
        text = self._read[self._at : self._at + size].decode()
        self._at += size + 2
        return text

    def _more(self) -> None:
        data = self._socket.recv(1 << 16)
        if not data:
            raise redis.ConnectionError("Valkey has gone")
        self._read, self._at = self._read[self._at :] + data, 0

    def _reply(self) -> Any:
        line = self._line()
        kind, rest = line[0], line[1:]
        if kind == 36:  # $
            return self._text(int(rest)) if rest != b"-1" else None
        if kind == 58:  # :
            return int(rest)
        if kind == 43:  # +
            return rest.decode()
        if kind in b"*~>":
            return [self._reply() for _ in range(int(rest))]
        if kind == 95:  # _
            return None
        if kind == 37:  # %
            return {self._reply(): self._reply() for _ in range(int(rest))}
        if kind == 61:  # =
            return self._text(int(rest))[4:]
        if kind == 45:  # -
            return redis.ResponseError(rest.decode())
        if kind == 44:  # ,
            return float(rest)
        if kind == 35:  # #
            return rest == b"t"
        raise ValueError(f"an unknown reply: {line!r}")
