"""What a client may send before its request is checked, and how long it may take."""

from __future__ import annotations

import contextlib
import json
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from app.http import bodies
from app.http.bodies import INLINE_BYTES
from app.http.buckets import Bucket, Buckets
from app.http.connection_state import State
from app.http.connections import CROWD, MOST_PARTS, SLICE, SPARE, Connection
from app.http.server import Server
from app.http.turns import FairQueue, Taker, taker
from tests.app.http.server_kit import (
    Running,
    answer_of,
    get,
    serving,
    skip_response,
    started,
    status_of,
)
from tests.workers.waiting_kit import until
from workers.embedded import EmbeddedServer

LIMIT = 4096
START = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = (
    b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


@pytest.fixture(scope="module")
def patient(valkey: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server whose deadlines no test reaches."""
    folder = tmp_path_factory.mktemp("patient")
    with serving(
        valkey,
        folder,
        max_header_bytes=LIMIT,
        max_headers=30,
        header_timeout_s=300.0,
        body_timeout_s=300.0,
    ) as running:
        yield running


@pytest.fixture(scope="module")
def hasty(valkey: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("hasty")
    with serving(
        valkey, folder, header_timeout_s=0.5, body_timeout_s=1.0, keep_alive_s=0.5
    ) as running:
        yield running


def problem_of(answer: bytes, status: int, code: str) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert status_of(head) == status, answer
    assert b"connection: close" in head
    problem = json.loads(body)
    assert problem["type"] == f"/problems/{code}"
    assert problem["status"] == status
    assert problem["detail"]
    assert f"x-request-id: {problem['request_id']}".encode() in head


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (START + b"X-A: ", b"a" * 1024),
        (START, b"a: b\r\n" * 100),
        (START, b"abcdefgh" * 128),
        (b"GET /", b"a" * 1024),
        (b"", b"\r\n" * 512),
        (POST + b"2\r\n{}\r\n0\r\nX-A: ", b"a" * 1024),
        (POST + b"2\r\n{}\r\n0\r\n", b"a: b\r\n" * 100),
        (POST + b"2;", b"a" * 1024),
    ],
    ids=["value", "number", "name", "url", "blank lines", "trailer", "trailers", "extension"],
)
def test_an_endless_header_is_refused_before_it_ends(
    patient: Running, start: bytes, piece: bytes
) -> None:
    with patient.connect(start) as connection:
        # The server reads in slices: it may take one more than the limit before it refuses.
        for _ in range((LIMIT + 2 * SLICE) // len(piece) + 1):
            connection.sendall(piece)
        problem_of(answer_of(connection), 431, "headers-too-large")


@pytest.mark.parametrize("start", [START, POST + b"2\r\n{}\r\n0\r\n"], ids=["header", "trailer"])
def test_the_parser_stops_at_the_bound(
    patient: Running, start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of short headers in one piece from many clients would hold up all others."""
    parsed = []
    on_header = Connection.on_header

    def counted(connection: Connection, name: bytes, value: bytes) -> None:
        parsed.append(name)
        on_header(connection, name, value)

    monkeypatch.setattr(Connection, "on_header", counted)
    with patient.connect(start + b"a:b\r\n" * 400) as connection:
        problem_of(answer_of(connection), 431, "headers-too-large")
    assert 5 < len(parsed) < 50


@pytest.mark.parametrize(("n_bytes", "status"), [(LIMIT - 200, 200), (LIMIT, 431)])
def test_a_whole_header_is_held_to_the_bytes(patient: Running, n_bytes: int, status: int) -> None:
    with patient.connect(get("/livez", "Connection: close", f"X-A: {'a' * n_bytes}")) as connection:
        assert status_of(answer_of(connection)) == status


@pytest.mark.parametrize(("n_headers", "status"), [(28, 200), (29, 431)])
def test_a_whole_header_is_held_to_the_number(
    patient: Running, n_headers: int, status: int
) -> None:
    """Besides Host and Connection."""
    lines = [f"a{number}: b" for number in range(n_headers)]
    with patient.connect(get("/livez", "Connection: close", *lines)) as connection:
        assert status_of(answer_of(connection)) == status


@pytest.mark.parametrize("place", ["/livez?{}", "Accept: {}", "Accept: a/b{}"])
def test_a_header_and_a_query_have_few_parts(
    patient: Running, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    separator = {"?": "&", "b": ";"}.get(place[-3], ",")
    answers = []
    for n_parts in (MOST_PARTS, MOST_PARTS + 1):
        given = place.format(separator * (n_parts - 1))
        path, *headers = [given] if place[0] == "/" else ["/livez", given]
        with patient.connect(get(path, "Connection: close", *headers)) as connection:
            answers.append(answer_of(connection))
    assert status_of(answers[0]) == 200
    problem_of(answers[1], 431, "headers-too-large")
    cookies = f"Cookie: {'a=b;' * (MOST_PARTS + 1)}"
    with patient.connect(get("/livez", "Connection: close", cookies)) as connection:
        assert status_of(answer_of(connection)) == 200
    # A refusal before the end of the request is no fault of ours.
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("POST /v1/datasets", 422),
        ("POST /v1/uploads", 201),
        ("GET /v1/datasets", 431),
        ("POST /v1/trees", 431),
    ],
)
def test_an_upload_chooses_any_number_of_columns(
    patient: Running, target: str, status: int
) -> None:
    query = "&".join(["columns"] * (MOST_PARTS + 1))
    request = f"{target}?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with patient.connect(request.encode()) as connection:
        assert status_of(answer_of(connection)) == status


def test_each_request_has_the_whole_bound_of_headers(patient: Running) -> None:
    request = get("/livez", f"X-A: {'a' * (LIMIT * 3 // 4)}")
    with patient.connect() as connection:
        for _ in range(10):
            connection.sendall(request)
            assert status_of(skip_response(connection)) == 200
        connection.sendall(request * 5)
        for _ in range(5):
            assert status_of(skip_response(connection)) == 200


def test_bodies_are_not_held_to_the_bound_of_headers(patient: Running) -> None:
    chunk = b"1,2\n" * 2000
    body = b"".join(
        b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [chunk] * 20 + [b"1,2\n"] * 9
    )
    head = POST.replace(b"/v1/jobs", b"/v1/datasets").replace(b"application/json", b"text/csv")
    with patient.connect(head, body + b"0\r\nX-Trailer: a\r\n\r\n") as connection:
        assert status_of(skip_response(connection)) == 201


def test_a_trailer_is_no_header(patient: Running) -> None:
    """The id of a request is read when its response is made, after the body and its trailers."""
    trailer = b"2\r\n{}\r\n0\r\nIdempotency-Key: \x01\r\n\r\n".replace(b"\x01", b"a b")
    with patient.connect(POST + trailer) as connection:
        # A key with a space would be a separate error, with the header's name.
        assert b"Idempotency-Key" not in answer_of_one(connection)


def answer_of_one(connection: socket.socket) -> bytes:
    connection.shutdown(socket.SHUT_WR)
    return answer_of(connection)


def test_what_is_no_http_is_a_problem(patient: Running) -> None:
    with patient.connect(b"\x00\x01\x02 nothing\r\n\r\n") as connection:
        problem_of(answer_of(connection), 400, "malformed")


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"GET /livez HTTP/1.1\r\n", 400),
        (START + b"hOST: localhost\r\n", 400),
        (START + b"Host: 127.0.0.1\r\n", 400),
        (START, 200),
        (b"GET /livez HTTP/1.0\r\nHost: 127.0.0.1\r\n", 200),
    ],
    ids=["none", "two names", "twice the same", "one", "an older version"],
)
def test_a_request_has_one_host(patient: Running, header: bytes, status: int) -> None:
    # What follows in the same bytes is not read.
    with patient.connect(header + b"Connection: close\r\n\r\n") as connection:
        answer = answer_of(connection)
    assert answer.count(b"HTTP/1.1 ") == 1
    if status == 400:
        problem_of(answer, 400, "malformed")
    else:
        assert status_of(answer) == status


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1/livez", "http://evil.example/livez", "https://127.0.0.1/"]
)
def test_the_target_of_a_request_is_a_path(patient: Running, target: str) -> None:
    with patient.connect(
        f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    ) as connection:
        answer = answer_of(connection)
    problem_of(answer, 400, "malformed")
    assert b"cross-origin-resource-policy: same-origin" in answer


WRONG_HOSTS = [
    b"127.0.0.1:65536",
    b"a" * 256,
    b"evil.example@127.0.0.1",
    b"evil.example:80@127.0.0.1:80",
    b"@localhost",
    b"127.0.0.1/evil",
    b"127.0.0.1\\evil",
    b"127.0.0.1#evil",
    b"127.0.0.1?evil",
    b"127.0.0.1,evil.example",
    b"127.0.0.1 evil.example",
    b"127.0.0.1:80:80",
    b"127.0.0.1:http",
    b"127.0.0.1%2f",
    b"[::1]evil",
    b"[::1%25lo]",
    b"::1",
    b"b\xc3\xbccher.example",
]


def test_a_host_is_a_name_or_an_address(patient: Running) -> None:
    for host in WRONG_HOSTS:
        with patient.connect(b"GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n" % host) as connection:
            problem_of(answer_of(connection), 400, "malformed")
    for host in (b"127.0.0.1", b"umbel_api:8000", b"[::1]:80", b"EXAMPLE.org.:"):
        with patient.connect(
            b"GET /livez HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % host
        ) as connection:
            assert status_of(answer_of(connection)) == 200


@pytest.mark.parametrize(
    "headers",
    [
        b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
        b"Authorization: Bearer a\r\nauthorization: Bearer a\r\n",
        b"Content-Type: application/json\r\nContent-Type: text/csv\r\n",
        b"Idempotency-Key: a\r\nIdempotency-Key: b\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked;q=1\r\n",
    ],
)
def test_what_others_may_read_in_another_way_is_refused(patient: Running, headers: bytes) -> None:
    request = b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n2\r\n{}\r\n0\r\n\r\n" % headers
    with patient.connect(request) as connection:
        answer = answer_of(connection)
    problem_of(answer, 400, "malformed")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_nothing_after_a_request_without_a_host_is_answered(patient: Running) -> None:
    with patient.connect(b"GET /livez HTTP/1.1\r\n\r\n" + get("/livez")) as connection:
        answer = answer_of(connection)
    problem_of(answer, 400, "malformed")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_an_upgrade_is_answered_and_closed(patient: Running) -> None:
    upgrade = get(
        "/livez", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"
    )
    with patient.connect(upgrade) as connection:
        assert status_of(answer_of(connection)) == 200


def test_a_request_begins_without_what_the_one_before_has_set(patient: Running) -> None:
    """Where requests are pipelined: a proxy's connection carries several tenants' requests."""
    app, seen = FastAPI(), list[Taker]()

    @app.get("/")
    async def look() -> None:
        seen.append(taker.get())
        taker.set(Taker("one before"))

    with (
        started(Server(app, patient.service.settings)) as (port, _),
        socket.create_connection(("127.0.0.1", port)) as connection,
    ):
        connection.sendall(get("/") + get("/", "Connection: close"))
        assert answer_of(connection).count(b"HTTP/1.1 200") == 2
    assert seen == [Taker()] * 2


@pytest.mark.parametrize("piece", [b"", START, b"\r\n"], ids=["nothing", "half", "blank line"])
def test_a_header_has_a_deadline(hasty: Running, piece: bytes) -> None:
    with hasty.connect(piece) as connection:
        answer = answer_of(connection)
    if piece:
        problem_of(answer, 408, "timeout")
    else:
        assert answer == b""


def test_a_header_that_drips_has_the_same_deadline(hasty: Running) -> None:
    with hasty.connect(START + b"X-A: ") as connection:
        while not select.select([connection], [], [], 0.1)[0]:
            connection.sendall(b"a")
        problem_of(answer_of(connection), 408, "timeout")


def test_a_server_that_was_held_up_gives_the_time_back(hasty: Running) -> None:
    """The rest of the header comes in time, but the event loop cannot read it."""
    with hasty.connect(START) as connection:
        wait_for(lambda: any(served(hasty, connection)))
        [protocol] = served(hasty, connection)
        wait_for(lambda: protocol._unparsed == len(START))
        checked = threading.Event()

        def held_up() -> None:
            """As after a stall of a minute in which nothing was read."""
            hasty.server._checked_at -= 60
            assert protocol._header_since is not None
            protocol._header_since -= 60
            hasty.server._check()
            checked.set()

        protocol.loop.call_soon_threadsafe(held_up)
        assert checked.wait(30)
        connection.sendall(b"\r\n")
        assert status_of(skip_response(connection)) == 200


def test_a_kept_connection_is_closed(hasty: Running) -> None:
    with hasty.connect(get("/livez")) as connection:
        assert status_of(skip_response(connection)) == 200
        assert connection.recv(1) == b""


def test_a_body_without_progress_has_a_deadline(hasty: Running) -> None:
    head = POST.replace(b"Transfer-Encoding: chunked", b"Content-Length: 100")
    with hasty.connect(head + b"{") as connection:
        problem_of(answer_of(connection), 408, "timeout")


def test_a_body_with_progress_has_none(hasty: Running) -> None:
    """It takes three times the deadline."""
    head = POST.replace(b"Transfer-Encoding: chunked", b"Content-Length: 31")
    with hasty.connect(head + b"{") as connection:
        for _ in range(29):
            time.sleep(0.1)
            connection.sendall(b" ")
        connection.sendall(b"}")
        assert status_of(skip_response(connection)) == 422


def test_a_refused_body_is_not_read_for_ever(hasty: Running) -> None:
    """The response has been sent; then the rest of the body drips."""
    head = POST.replace(b"Transfer-Encoding: chunked", b"Content-Length: 100000000")
    with hasty.connect(head) as connection:
        assert status_of(skip_response(connection)) == 413
        deadline = time.monotonic() + 30
        with contextlib.suppress(OSError):
            while connection.send(b" ") and not select.select([connection], [], [], 0.1)[0]:
                assert time.monotonic() < deadline
        # Closed, not merely silent.
        assert answer_of(connection) == b""


def test_a_response_that_is_not_read_has_a_deadline(hasty: Running) -> None:
    """More is requested, in whole requests, than the buffers of both ends hold."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", hasty.port))
        connection.sendall(get("/openapi.json") * 100)
        wait_for(lambda: bool(served(hasty, connection)))
        wait_for(lambda: not served(hasty, connection))


def served(running: Running, connection: socket.socket) -> list[Connection]:
    """The server's end of a connection, if it is open there."""
    ends = list(running.server._connections)
    return [end for end in ends if end.client == connection.getsockname()]


def test_a_waiting_request_has_no_deadline(hasty: Running) -> None:
    job = b'{"method": "l2h", "inputs": {"logits": [[1, 0], [0, 1]]}}'
    head = POST.replace(
        b"Transfer-Encoding: chunked", b"Prefer: wait=3\r\nContent-Length: %d" % len(job)
    )
    with hasty.connect(head + job) as connection:
        assert status_of(skip_response(connection)) == 202


def test_a_request_that_waits_for_a_turn_leaves_with_its_connection(
    patient: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'["' + b"x" * INLINE_BYTES + b'"]'
    post = POST.replace(b"Transfer-Encoding: chunked", b"Content-Length: %d" % len(body)) + body
    begun: list[bytes] = []
    left, free = threading.Event(), threading.Event()
    parse_json, leave = bodies.parse_json, FairQueue._leave

    def parse(body: bytes, *bound: Any) -> Any:
        begun.append(body)
        free.wait(60.0)
        return parse_json(body, *bound)

    def noticed(waiting: FairQueue, *who: Any) -> None:
        leave(waiting, *who)
        left.set()

    monkeypatch.setattr(bodies, "parse_json", parse)
    monkeypatch.setattr(FairQueue, "_leave", noticed)
    with patient.connect(post) as first:
        until(lambda: bool(begun))
        # The turn of the tenant is taken.
        waiting: list[FairQueue] = []
        wait = FairQueue._wait

        async def waits(own: FairQueue, *how: Any) -> None:
            waiting.append(own)
            await wait(own, *how)

        monkeypatch.setattr(FairQueue, "_wait", waits)
        with patient.connect(post):
            until(lambda: bool(waiting))
        assert left.wait(60.0)
        free.set()
        assert status_of(first.recv(1 << 16)) == 422
    assert len(begun) == 1
    assert (waiting[0].n_running, waiting[0].n_waiting) == (0, 0)


def test_in_a_crowd_nothing_is_done_for_a_client_that_has_left(patient: Running) -> None:
    def answered() -> bytes:
        with patient.connect() as client:
            client.sendall(START + b"Connection: close\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            return answer_of(client)

    with contextlib.ExitStack() as crowd:
        for _ in range(CROWD):
            crowd.enter_context(patient.connect())
        assert answered() == b""
        # Whoever stays is answered as ever.
        stays = crowd.enter_context(patient.connect(START + b"Connection: close\r\n\r\n"))
        assert status_of(answer_of(stays)) == 200


def test_refusals_of_an_address_wait_until_they_are_due(
    patient: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many in a loop took the event loop: each waits, and so do those that send them."""
    due: list[float] = []

    def due_in(self: State, client: Any) -> float:
        due.append(own(self, client))
        return due[-1]

    own = State.due_in
    monkeypatch.setattr(State, "due_in", due_in)
    monkeypatch.setattr(
        patient.server.state, "_refusals", Buckets(Bucket, 2.0, 20.0, time.monotonic)
    )
    began = time.monotonic()
    with contextlib.ExitStack() as clients:
        refused = [clients.enter_context(patient.connect(b"no HTTP\r\n\r\n")) for _ in range(6)]
        for client in refused:
            problem_of(answer_of(client), 400, "malformed")
    assert due[:2] == [0.0, 0.0]
    assert sorted(due[2:]) == due[2:]
    assert time.monotonic() - began > due[-1] > 0


def test_connections_past_the_bound_get_503(
    valkey: EmbeddedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        serving(valkey, tmp_path, max_connections=5, header_timeout_s=300.0) as running,
        contextlib.ExitStack() as stack,
    ):
        idle = [stack.enter_context(running.connect()) for _ in range(5)]
        for _ in range(3):
            with running.connect(get("/livez")) as excess:
                problem_of(answer_of(excess), 503, "unavailable")
        for connection in idle:
            connection.sendall(get("/livez"))
            assert status_of(skip_response(connection)) == 200
        crowd = [stack.enter_context(running.connect()) for _ in range(100)]
        for connection in crowd:
            problem_of(answer_of(connection), 503, "unavailable")
        # Clients that hold on do not keep descriptors of the server.
        wait_for(lambda: len(running.server.server_state.connections) <= 5 + SPARE)
        for connection in (*idle, *crowd):
            connection.close()
        wait_for(lambda: not running.server.server_state.connections)
        with running.connect(get("/livez", "Connection: close")) as connection:
            assert status_of(answer_of(connection)) == 200
    warnings = [
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    ]
    assert any("connections are open" in warning and "(5)" in warning for warning in warnings)


def test_a_kept_connection_makes_room_for_others(
    valkey: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.http.connections.CROWDED_S", 0.2)
    with serving(valkey, tmp_path, max_connections=3, keep_alive_s=300.0) as running:
        open_connections = running.server.server_state.connections
        with running.connect(get("/livez")) as first, running.connect(get("/livez")) as second:
            for connection in (first, second):
                assert status_of(skip_response(connection)) == 200
            # Several checks long: while there is room, nobody has to go.
            time.sleep(1.5)
            assert len(open_connections) == 2
            with running.connect() as third:
                wait_for(lambda: len(open_connections) == 1)
                third.sendall(get("/livez"))
                assert status_of(skip_response(third)) == 200


def wait_for(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.01)
