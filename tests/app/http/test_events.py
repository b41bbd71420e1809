"""Following a job through server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from typing import Any

import anyio
import httpx
import pytest
from fastapi.sse import ServerSentEvent
from starlette.types import Message, Receive, Scope, Send

from app.http.observability import Metrics, Observed
from app.resources.jobs.events import server_sent
from tests.app.conftest import Api, Live, new_job
from tests.workers.waiting_kit import until
from workers.model import Advance


def events_of(text: str) -> list[tuple[str, str | None, Any]]:
    """(event, id, data) of each event except pings."""
    events = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line[:1] != ":")
        if fields:
            events.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
    return events


def followed(api: Api, job_id: str, after: str | None = None) -> list[tuple[str, str | None, Any]]:
    headers = {} if after is None else {"Last-Event-ID": after}
    answer = api.client.get(f"/v1/jobs/{job_id}/events", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    return events_of(answer.text)


@pytest.fixture
def ended(api: Api) -> str:
    job_id = str(api.client.post("/v1/jobs", json=new_job()).json()["id"])
    claim = api.claim(job_id)
    api.service.ledger.beat(claim, Advance(fraction=0.25, stage="merging"))
    api.service.ledger.log(claim, "halfway\nthere <b>")
    api.service.ledger.give_back(claim, spend=False)
    api.finish(job_id)
    return job_id


def test_all_events_in_order(api: Api, ended: str) -> None:
    events = followed(api, ended)
    kinds = [kind for kind, _, _ in events]
    assert kinds[0] == "progress"
    assert kinds[-1] == "done"
    assert kinds.count("done") == 1
    first = events[0][2]
    assert first == {"fraction": 0, "stage": "", "message": "", "eta_s": None, "status": "queued"}
    assert any(data.get("fraction") == 0.25 for _, _, data in events)
    [line] = [data for kind, _, data in events if kind == "log"]
    assert line == {"line": "halfway\nthere <b>", "status": "running"}
    assert events[-1][2] == api.client.get(f"/v1/jobs/{ended}").json()
    assert all(event_id for _, event_id, _ in events)


def test_every_event_can_be_resumed_from(api: Api, ended: str) -> None:
    everything = followed(api, ended)
    for position, (_, event_id, _) in enumerate(everything[:-1]):
        assert followed(api, ended, event_id) == everything[position + 1 :]
    last = followed(api, ended, everything[-1][1])
    assert [kind for kind, _, _ in last] == ["done"]


@pytest.mark.parametrize("after", ["x", "0-1", "999999999999999-999999999999999", "1-1-1", "-", ""])
def test_an_unknown_event_id_is_reported_as_lost(api: Api, ended: str, after: str) -> None:
    events = followed(api, ended, after)
    assert events[0] == ("lost", None, {"after": after})
    assert [kind for kind, _, _ in events[1:]] == [kind for kind, _, _ in followed(api, ended)]


def test_expired_history_is_reported_as_lost(api: Api) -> None:
    job_id = str(api.client.post("/v1/jobs", json=new_job()).json()["id"])
    claim = api.claim(job_id)
    for number in range(150):
        api.service.ledger.log(claim, str(number))
    api.service.ledger.give_back(claim, spend=False)
    api.client.post(f"/v1/jobs/{job_id}/cancel")
    base = followed(api, job_id)[0][1]
    assert base is not None
    events = followed(api, job_id, f"{base.partition('-')[0]}-1")
    assert events[0][0] == "lost"
    assert events[1][1] == base


def test_an_expired_stream_still_reports_the_end(api: Api, ended: str) -> None:
    api.service.redis.delete(f"{api.settings.key_prefix}events:{ended}")
    assert [kind for kind, _, _ in followed(api, ended)] == ["done"]
    assert [kind for kind, _, _ in followed(api, ended, "1-1")] == ["lost", "done"]


def test_events_arrive_during_the_run_and_end_with_its_deletion(live: Live) -> None:
    ledger = live.service.ledger
    job_id = httpx.post(f"{live.url}/v1/jobs", json=new_job()).json()["id"]
    claim = ledger.claim(job_id, "test")
    assert claim is not None
    received = threading.Event()
    lines: list[str] = []

    def work() -> None:
        ledger.beat(claim, Advance(fraction=0.5, stage="merging"))
        if received.wait(60):
            httpx.delete(f"{live.url}/v1/jobs/{job_id}")

    thread = threading.Thread(target=work)
    with httpx.stream("GET", f"{live.url}/v1/jobs/{job_id}/events", timeout=60) as answer:
        for line in answer.iter_lines():
            if not lines:
                thread.start()
            lines.append(line)
            if '"fraction":0.5' in line:
                received.set()
    thread.join()
    assert received.is_set()
    # The deletion first ends the job: a follower may still get that event, with the last progress.
    assert "event: done" not in lines[:-4]


def test_a_follower_that_disconnects_is_released(live: Live) -> None:
    job_id = httpx.post(f"{live.url}/v1/jobs", json=new_job()).json()["id"]
    with httpx.stream("GET", f"{live.url}/v1/jobs/{job_id}/events", timeout=60) as answer:
        next(answer.iter_lines())
    assert httpx.get(f"{live.url}/livez").status_code == 200


def test_followers_of_a_job_share_its_readings(live: Live) -> None:
    """Thirty streams of one job cost Redis what one does."""
    job_id = httpx.post(f"{live.url}/v1/jobs", json=new_job()).json()["id"]

    def n_reads() -> int:
        statistics: Any = live.service.redis.info("commandstats")
        return int(statistics["cmdstat_xrange"]["calls"])

    with contextlib.ExitStack() as stack:
        for _ in range(30):
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", live.port), timeout=30)
            )
            connection.sendall(
                f"GET /v1/jobs/{job_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
            )
            received = b""
            while b"event: progress" not in received:
                received += connection.recv(1 << 16)
        began, before = time.monotonic(), n_reads()
        until(lambda: n_reads() >= before + 20)
        n_read = n_reads() - before
        n_polls = (time.monotonic() - began) / live.service.settings.events_poll_s
    assert n_read <= n_polls + 1


def test_a_follower_catches_up_with_what_others_have_read(api: Api) -> None:
    """It joins a stream that is being read, from any place in it, and gets the events as the first
    follower did."""
    job_id = str(api.client.post("/v1/jobs", json=new_job()).json()["id"])
    claim = api.claim(job_id)
    for number in range(20):
        api.service.ledger.log(claim, str(number))
    collected: list[list[ServerSentEvent]] = []

    async def collect(after: str | None, n_events: int, joined: asyncio.Event) -> None:
        events: list[ServerSentEvent] = []
        collected.append(events)
        async for event in api.service.feeds.follow("local", job_id, after, lambda: False):
            events.append(server_sent(event))
            if len(events) == n_events:
                joined.set()

    async def follow_all() -> None:
        begun: list[asyncio.Event] = []
        tasks = []
        for after, n_events in ((None, 22), (None, 22), (10, 12), (21, 1)):
            position = None if after is None else collected[0][after - 1].id
            begun.append(asyncio.Event())
            tasks.append(asyncio.create_task(collect(position, n_events, begun[-1])))
            if n_events > 1:
                await begun[-1].wait()
        await asyncio.to_thread(api.service.ledger.log, claim, "last")
        await asyncio.gather(*(event.wait() for event in begun))
        await asyncio.to_thread(api.service.ledger.give_back, claim, spend=False)
        await asyncio.to_thread(api.finish, job_id)
        await asyncio.gather(*tasks)

    async def bounded() -> None:
        await asyncio.wait_for(follow_all(), 60)

    # On the loop of the application, as its routes.
    portal: Any = api.client.portal
    portal.call(bounded)
    first, second, third, fourth = [[event.id for event in events] for events in collected]
    assert second == first
    assert third == first[10:]
    assert fourth == first[21:]


def test_a_disconnect_during_an_event_is_not_a_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def ended_by(error: Exception) -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise error

        async def ignore(_: Message) -> None: ...

        async def nothing() -> Message:
            return {"type": "http.disconnect"}

        scope = {"type": "http", "method": "GET", "path": "/v1/jobs/x/events", "headers": []}
        anyio.run(Observed(app, Metrics()), scope, nothing, ignore)

    # As raised by the task group of FastAPI's event stream.
    ended_by(ExceptionGroup("sse", [anyio.BrokenResourceError()]))
    assert not any(record.levelname == "ERROR" for record in caplog.records)
    with pytest.raises(ExceptionGroup):
        ended_by(ExceptionGroup("sse", [anyio.BrokenResourceError(), ValueError("x")]))
    assert any(record.levelname == "ERROR" for record in caplog.records)
