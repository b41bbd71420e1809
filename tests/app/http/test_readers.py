"""Bytes that take the parser long wait for their turn, whole, while others are answered."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.http import readers
from app.http.connections import FIRST_SLICE, PIECES, REQUEST_PIECES, SLICE, Connection
from app.http.readers import SHARE, Readers
from tests.app.http.server_kit import Running, answer_of, get, serving, skip_response, status_of
from tests.workers.waiting_kit import until
from workers.embedded import EmbeddedServer

UPLOAD = (
    b"POST /v1/datasets HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)


class Line:
    """Where the line of a server's connections is served when a test says so."""

    def __init__(self, running: Running) -> None:
        self.due: list[Callable[[], None]] = []
        self.waits = True
        self.running = running
        self.readers = Readers(self._later)
        running.server.state._readers = self.readers

    @property
    def connections(self) -> list[Connection]:
        return list(self.running.server.state.connections)  # type: ignore[arg-type]

    def serve(self) -> None:
        self.waits = False
        for each in self.due:
            self.connections[0].loop.call_soon_threadsafe(each)

    def _later(self, seconds: float, function: Callable[[], None]) -> object:
        if self.waits:
            return self.due.append(function)
        return self.connections[0].loop.call_later(0, function)


@pytest.fixture
def line(valkey: EmbeddedServer, tmp_path: Path) -> Iterator[Line]:
    with serving(valkey, tmp_path, body_timeout_s=300.0) as running:
        yield Line(running)


def test_a_body_of_many_pieces_waits_and_arrives_whole(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_pieces, parse = [0], Connection.on_body

    def count(self: Connection, body: bytes) -> None:
        n_pieces[0] += 1
        parse(self, body)

    monkeypatch.setattr(Connection, "on_body", count)
    content = b"1\n" * 10_000
    body = b"".join(b"1\r\n%c\r\n" % each for each in content) + b"0\r\n\r\n"
    with line.running.connect(UPLOAD, body) as connection:
        until(lambda: line.due)
        assert n_pieces[0] <= PIECES + SLICE // 6
        assert line.readers.n_bytes > 0
        with line.running.connect(get("/livez", "Connection: close")) as other:
            assert status_of(answer_of(other)) == 200
        line.serve()
        head, _, answer = answer_of(connection).partition(b"\r\n\r\n")
    assert status_of(head) == 201
    assert json.loads(answer)["sha256"] == hashlib.sha256(content).hexdigest()
    assert n_pieces[0] == len(content)
    assert line.readers.n_bytes == 0


def test_pipelined_requests_wait_for_the_ones_before_them(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest, begin = [0], Connection.on_headers_complete

    def look(self: Connection) -> None:
        begin(self)
        longest[0] = max(longest[0], len(self.pipeline))

    monkeypatch.setattr(Connection, "on_headers_complete", look)
    n = 1500
    requests = b"".join(get("/livez", f"X-Request-Id: number-{each}") for each in range(n))
    with line.running.connect(requests + get("/livez", "Connection: close")) as connection:
        until(lambda: line.due)
        (held,) = line.connections
        # One that waits for its turn is no idle one, which may make room for others.
        held.loop.call_soon_threadsafe(held.close_if_idle, math.inf)
        line.serve()
        answer = answer_of(connection)
    ids = [part.partition(b"\r\n")[0] for part in answer.split(b"x-request-id: ")[1:]]
    assert ids[:-1] == [b"number-%d" % each for each in range(n)]
    assert len(ids) == n + 1
    assert longest[0] <= FIRST_SLICE // len(get("/livez")) + 1 < PIECES // REQUEST_PIECES + 20


def test_a_client_that_leaves_holds_nothing_back(line: Line) -> None:
    with line.running.connect(UPLOAD, b"1\r\n1\r\n" * 10_000):
        until(lambda: line.readers.n_bytes)
        (held,) = [each for each in line.connections if each._held]
        held.loop.call_soon_threadsafe(held.transport.abort)
        until(lambda: not line.readers.n_bytes)


def test_too_much_that_is_held_back_is_refused(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "HELD_BYTES", 1000)
    with line.running.connect(UPLOAD, b"1\r\n1\r\n" * 10_000) as connection:
        assert status_of(skip_response(connection)) == 503
    until(lambda: not line.readers.n_bytes)


def test_a_connection_whose_bytes_wait_is_not_idle(line: Line) -> None:
    sent = b"".join([get("/livez")] * 40 + [get("/livez", "Connection: close")])
    with line.running.connect(sent) as connection:
        until(lambda: line.due)
        timers = [each.timeout_keep_alive_task for each in line.connections]
        assert timers == [None]
        line.serve()
        assert answer_of(connection).count(b"HTTP/1.1 200") == 41


def test_who_holds_less_than_others_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "HELD_BYTES", 100)
    line = Readers(lambda seconds, function: None)
    line.count("a", 90)
    assert not line.is_full("a")
    line.count("b", 20)
    assert line.n_bytes == 110
    assert line.is_full("a")
    assert not line.is_full("b")
    line.count("a", -90)
    assert not line.is_full("b")


class One:
    """One that waits, with so many pieces of work of a millisecond."""

    def __init__(self, turns: Turns, whose: str, n_left: int) -> None:
        self.turns, self.whose, self.n_left = turns, whose, n_left

    def read_on(self) -> None:
        self.turns.now += 0.001
        self.turns.served.append(self.whose)
        self.n_left -= 1
        if self.n_left:
            self.turns.readers.stand(self)


class Turns:
    """A line whose time passes where it works or waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.served: list[str] = []
        self.due: list[tuple[float, Any]] = []
        self.readers = Readers(self._later, lambda: self.now, lambda: self.now)

    def _later(self, seconds: float, function: Callable[[], None]) -> None:
        self.due.append((self.now + seconds, function))

    def run(self) -> None:
        while self.due:
            at, function = self.due.pop(0)
            self.now = max(self.now, at)
            function()


def test_tenants_take_turns_and_the_line_has_its_share_of_the_time() -> None:
    turns = Turns()
    many = [One(turns, "a", 50) for _ in range(10)]
    for each in (*many, One(turns, "b", 5)):
        turns.readers.stand(each)
        turns.readers.stand(each)
    turns.run()
    assert turns.served[:10] == ["a", "b"] * 5
    assert turns.served.count("a") == 500
    work = 0.505
    assert turns.now == pytest.approx(work / SHARE, rel=0.02)
    last = One(turns, "b", 1)
    turns.readers.stand(last)
    turns.readers.leave(last)
    turns.readers.leave(last)
    turns.run()
    assert turns.served.count("b") == 5


def test_one_that_fails_holds_nobody_up() -> None:
    class Failing(One):
        def read_on(self) -> None:
            raise RuntimeError

    turns = Turns()
    turns.readers.stand(Failing(turns, "a", 1))
    turns.readers.stand(One(turns, "b", 2))
    with pytest.raises(RuntimeError):
        turns.run()
    turns.run()
    assert turns.served == ["b", "b"]
