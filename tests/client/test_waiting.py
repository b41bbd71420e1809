"""Jobs: followed over cuts, cancelled by whoever stops waiting."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from tests.client.fault_server_kit import (
    CUT,
    Answer,
    FaultServer,
    Request,
    operation,
    problem,
    run_both,
    twin,
)
from umbel_client import problems
from umbel_client.core import waiting
from umbel_client.core.events import Ended, Waiting
from umbel_client.core.messages import Reply
from umbel_client.errors import JobCancelled, WaitTimeout

awaited = operation(waiting.awaited)
followed = operation(waiting.followed)

EVENTS = "/v1/jobs/job_1/events"


def job(status: str, **fields: Any) -> dict[str, Any]:
    return {"id": "job_1", "status": status, "result": None, "error": None, **fields}


def stream(*events: tuple[str, str, Any], cut_after: int | None = None) -> Answer:
    text = "".join(
        f"id: {number}\r\nevent: {kind}\r\ndata: {json.dumps(data)}\r\n\r\n"
        for number, kind, data in events
    )
    headers = {"Content-Type": "text/event-stream"}
    return Answer(200, f": ping\n\n{text}".encode(), headers, cut_after)


def progress(fraction: float) -> dict[str, Any]:
    return {"fraction": fraction, "stage": "merging", "message": "", "status": "running"}


class Service:
    """A service with one job. streams : what `/events` answers, one after another."""

    def __init__(self, *streams: Answer, state: str = "running", posted: Answer | None = None):
        self.streams = list(streams)
        self.state = state
        self.posted = [posted or Answer(202, job("queued"))]
        self.cancelled = 0

    def __call__(self, request: Request) -> Answer:
        if request.path.endswith("/cancel"):
            self.cancelled += 1
            return Answer(200, job("cancelled"))
        if request.method == "POST":
            return self.posted.pop(0) if len(self.posted) > 1 else self.posted[0]
        if request.path == EVENTS:
            return self.streams.pop(0) if self.streams else problem(503, "unavailable")
        return Answer(200, job(self.state))


def test_an_answer_within_the_first_wait_is_taken_as_it_is(server: FaultServer, kind: str) -> None:
    server.answer = Service(posted=Answer(201, job("succeeded")))
    reply = run_both(kind, server, awaited("/v1/jobs", {"method": "hac"}, Waiting()))
    assert isinstance(reply, Reply)
    assert server.requests[0].headers["Prefer"] == "wait=2"
    assert len(server.requests) == 1


def test_a_longer_job_is_followed_to_its_end_over_cuts(server: FaultServer, kind: str) -> None:
    server.answer = Service(
        stream(("1-1", "progress", progress(0.1)), ("1-2", "progress", progress(0.4))),
        stream(("1-3", "progress", progress(0.6)), cut_after=10),
        stream(("1-3", "progress", progress(0.6)), ("1-4", "done", job("succeeded", result=7))),
    )
    seen: list[tuple[float, str]] = []
    how = Waiting(progress=lambda done, stage: seen.append((done, stage)))
    ended = run_both(kind, server, awaited("/v1/jobs", {}, how))
    assert isinstance(ended, Ended)
    assert ended.job["result"] == 7
    assert seen == [(0.1, "merging"), (0.4, "merging"), (0.6, "merging")]
    resumed = [
        request.headers.get("Last-Event-ID")
        for request in server.requests
        if request.path == EVENTS
    ]
    assert resumed == [None, "1-2", "1-2"]


def test_a_service_without_events_is_polled(server: FaultServer, kind: str) -> None:
    service = Service(*[problem(503, "unavailable")] * 3)
    server.answer = service

    def answer(request: Request) -> Answer:
        if not service.streams:
            service.state = "succeeded"
        return service(request)

    server.answer = answer
    assert run_both(kind, server, followed("job_1", Waiting()))["status"] == "succeeded"


def test_a_failed_job_raises_its_problem(server: FaultServer, kind: str) -> None:
    error = {"type": "/problems/out-of-memory", "status": 422, "detail": "Too little memory."}
    server.answer = Service(stream(("1-1", "done", job("failed", error=error))))
    with pytest.raises(problems.OutOfMemory, match="Too little memory") as caught:
        run_both(kind, server, awaited("/v1/jobs", {}, Waiting()))
    assert caught.value.job == "job_1"
    assert server.answer.cancelled == 0


def test_a_cancelled_job_says_so(server: FaultServer, kind: str) -> None:
    server.answer = Service(stream(("1-1", "done", job("cancelled"))))
    with pytest.raises(JobCancelled, match="job_1"):
        run_both(kind, server, awaited("/v1/jobs", {}, Waiting()))


def test_a_wait_that_is_over_leaves_the_job_alone(server: FaultServer, kind: str) -> None:
    service = Service(*[stream(("1-1", "progress", progress(0.1)))] * 50)
    server.answer = service
    with pytest.raises(WaitTimeout, match=r"job_1 has not ended within 0\.05 s"):
        run_both(kind, server, awaited("/v1/jobs", {}, Waiting(wait_s=0.05)))
    assert service.cancelled == 0
    assert server.requests[0].headers["Prefer"] == "wait=0"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, asyncio.CancelledError])
def test_an_interrupted_wait_cancels_the_job(
    server: FaultServer, kind: str, interruption: type[BaseException]
) -> None:
    service = Service(stream(("1-1", "progress", progress(0.1))))
    server.answer = service

    def interrupt(*_: object) -> None:
        raise interruption

    with pytest.raises(interruption):
        run_both(kind, server, awaited("/v1/jobs", {}, Waiting(progress=interrupt)))
    assert service.cancelled == 1


def test_a_job_whose_id_has_not_arrived_is_cancelled_too(server: FaultServer) -> None:
    """The task is cancelled while the service still thinks about the POST."""
    from umbel_client._written.aio.core.connection import AsyncConnection
    from umbel_client.core.messages import Settings

    service, is_cancelled = Service(), threading.Event()

    async def cancelled_early() -> None:
        connection = AsyncConnection(Settings(server.url))
        awaiting = twin(waiting.awaited)(connection, "/v1/jobs", {"a": 1}, Waiting())
        task = asyncio.ensure_future(awaiting)
        while not server.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        is_cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await connection.aclose()

    def answer(request: Request) -> Answer:
        reply = service(request)
        if "Prefer" in request.headers:
            return Answer(reply.status, reply.body, before=lambda: is_cancelled.wait(60))
        return reply

    server.answer = answer
    asyncio.run(cancelled_early())
    posts = [request for request in server.requests if request.path == "/v1/jobs"]
    assert len(posts) == 2
    assert posts[0].headers["Idempotency-Key"] == posts[1].headers["Idempotency-Key"]
    assert posts[0].content == posts[1].content
    assert service.cancelled == 1


def test_a_job_that_is_gone_is_not_waited_for(server: FaultServer, kind: str) -> None:
    server.script(problem(404, "not-found", "There is no job 'job_1'."))
    with pytest.raises(problems.NotFound):
        run_both(kind, server, followed("job_1", Waiting()))


def test_a_cut_before_any_answer_is_followed_again(server: FaultServer, kind: str) -> None:
    server.answer = Service(CUT, stream(("1-1", "done", job("succeeded"))))
    assert run_both(kind, server, followed("job_1", Waiting()))["status"] == "succeeded"
