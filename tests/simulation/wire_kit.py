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
        self._before: list[bytes] = []
        self._lines: list[bytes] = []
        self._at = 0
        [hello] = self.ask(("HELLO", 3, "AUTH", "default", parts.password))
        if isinstance(hello, Exception):
            raise hello

    def ask(self, *commands: Sequence[Any]) -> list[Any]:
        """The reply to each command; an error of one is its reply, and is not raised."""
        n_before = len(self._before)
        parts = [*self._before, *map(_packed, commands)]
        self._before = []
        self._socket.sendall(b"".join(parts))
        read, replies = b"", []
        while len(replies) < len(parts):
            data = self._socket.recv(1 << 18)
            if not data:
                raise redis.ConnectionError("Valkey has gone")
            read = read + data if read else data
            if not read.endswith(_END):
                continue
            self._lines, self._at = read.split(_END), 0
            try:
                replies = [self._reply() for _ in parts]
            except IndexError:  # The end of a line that is not the last one.
                replies = []
        for reply in replies[:n_before]:
            if isinstance(reply, Exception):
                raise reply
        return replies[n_before:]

    def first(self, *command: Any) -> None:
        """Send a command with the next one, which then raises an error of it."""
        self._before.append(_packed(command))

    def close(self) -> None:
        self._socket.close()

    def _reply(self) -> Any:
        at = self._at
        line = self._lines[at]
        self._at = at + 1
        kind, rest = line[0], line[1:]
        if kind == 36:  # $
            return None if rest == b"-1" else self._text(int(rest))
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

    def _text(self, size: int) -> str:
        """So many bytes; the ends of lines that are in them count."""
        text = self._lines[self._at]
        self._at += 1
        while len(text) < size:
            text += _END + self._lines[self._at]
            self._at += 1
        return text.decode()


_END = b"\r\n"


def _packed(command: Sequence[Any]) -> bytes:
    parts = [b"*%d\r\n" % len(command)]
    for part in command:
        data = part if isinstance(part, bytes) else str(part).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)
