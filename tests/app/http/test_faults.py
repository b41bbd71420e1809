"""What a server of Redis may answer in the midst of a request, and a process that is being stopped:
no reader gets 500 for it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from redis._parsers.base import BaseParser
from redis.connection import AbstractConnection
from redis.exceptions import ConnectionError, InvalidResponse
from starlette.types import Message, Scope

from app.http.observability import Metrics, Observed
from tests.app.conftest import Api, Start, problem_of
from tests.app.tenants_kit import needed_query
from tests.document_kit import spelled_out

AWAY = (
    "LOADING Valkey is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "READONLY You can't write against a read only replica.",
    "NOSCRIPT No matching script.",
    "BUSY Valkey is busy running a script.",
    "NOAUTH Authentication required.",
    "NOPERM User default has no permissions to run the command",
    "CLUSTERDOWN Hash slot not served",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "NOREPLICAS Not enough good replicas to write.",
    "ERR max number of clients reached",
)
FULL = (
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Errors writing to the AOF file",
)
CLOSED, NONSENSE = "the connection is closed", "no reply of the protocol"


class Answers:
    """What each reply of Redis is replaced by; None: nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fault: str | None = None
        real = AbstractConnection.read_response

        def read_response(connection: AbstractConnection, *given: Any, **named: Any) -> Any:
            reply = real(connection, *given, **named)
            if self.fault is None:
                return reply
            error = self._error(self.fault)
            if isinstance(error, ConnectionError | InvalidResponse):
                connection.disconnect()
            raise error

        monkeypatch.setattr(AbstractConnection, "read_response", read_response)

    def _error(self, fault: str) -> Exception:
        if fault == CLOSED:
            return ConnectionError("Connection closed by server.")
        if fault == NONSENSE:
            return InvalidResponse("Protocol Error: b'x'")
        return BaseParser.parse_error(fault)


def test_no_reader_gets_500_for_what_redis_answers(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing else speaks to Redis meanwhile.
    api = start(sweep_s=3600.0)
    answers = Answers(monkeypatch)
    faults = (*AWAY, *FULL, CLOSED, NONSENSE)
    paths = spelled_out(api.client.get("/openapi.json").json())["paths"]
    # The methods read nothing of it, and take seconds to load.
    reading = {
        path: operations["get"]
        for path, operations in paths.items()
        if "get" in operations and not path.startswith("/v1/methods")
    }
    statuses = Counter[int]()
    for number, (path, operation) in enumerate(sorted(reading.items())):
        address = re.sub(r"\{(\w+)_id\}", lambda found: id_of(found[1]), path)
        address = re.sub(r"\{\w+\}", "0", address)
        answers.fault = faults[number % len(faults)]
        answer = api.client.get(address, params=needed_query(operation))
        answers.fault = None
        assert answer.status_code not in (500, 502), f"{path}: {answer.text}"
        if answer.status_code == 503:
            assert int(answer.headers["Retry-After"]) > 0, path
        statuses[answer.status_code] += 1
    assert statuses[503] > 20, statuses


def id_of(kind: str) -> str:
    prefixes = {"dataset": "ds", "job": "job", "tree": "tr", "model": "md", "upload": "up"}
    more = {"drift": "dr", "comparison": "cmp", "naming": "nm", "map": "map", "heatmap": "hm"}
    return f"{({**prefixes, **more}).get(kind, 'at')}_{'0' * 26}"


@pytest.mark.parametrize("fault", [*AWAY, CLOSED, NONSENSE])
def test_a_job_is_read_later(api: Api, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    answers = Answers(monkeypatch)
    answers.fault = fault
    answer = api.client.get(f"/v1/jobs/{id_of('job')}")
    answers.fault = None
    problem_of(answer, 503, "unavailable")
    assert answer.headers["Retry-After"]


def test_what_lies_in_the_store_and_is_no_object_of_ours_hinders_nothing(api: Api) -> None:
    folders = ("jobs/", "datasets/local/", "open/", "uploads/", "uploads/local/", "removals/")
    more = ("uninspected/", "uninspected/local/", "service/pauses/", "service/shares/")
    for folder in (*folders, *more):
        api.service.blobs.put(f"{folder}.DS_Store", b"x")
    api.service.redis.flushall()
    assert api.client.get("/v1/jobs").json()["items"] == []
    api.service.ledger.sweep()
    api.service.redis.flushall()
    assert api.service.ledger.inspections.sweep() == 0


def test_a_request_that_is_cut_off_by_the_end_of_its_process() -> None:
    async def endless(scope: Scope, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await asyncio.Event().wait()

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def stop() -> None:
        scope = {"type": "http", "method": "GET", "path": "/v1/jobs", "headers": []}
        request = asyncio.ensure_future(Observed(endless, Metrics())(scope, send, send))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request

    asyncio.run(stop())
    assert sent[0]["status"] == 503
    headers = dict(sent[0]["headers"])
    assert (headers[b"retry-after"], headers[b"connection"]) == (b"2", b"close")
