"""One request until it is answered: what is repeated, when, and what is raised."""

from __future__ import annotations

import email.utils
import pickle
import time
from dataclasses import replace

import pytest

from tests.client.fault_server_kit import (
    CUT,
    Answer,
    FaultServer,
    operation,
    problem,
    run_both,
    sent,
)
from umbel_client import errors, problems
from umbel_client.core.connection import Connection
from umbel_client.core.messages import Reply, Request, Settings, pause, post, retry_after
from umbel_client.errors import ConnectionFailed, InputError, ProblemError, UnexpectedResponse

OK = Answer(200, {"fine": True})


@pytest.mark.parametrize(
    "fault",
    [
        problem(429, "busy", Retry_After="0"),
        problem(503, "unavailable"),
        problem(409, "conflict", Retry_After="0"),
        CUT,
        Answer(200, {"fine": True}, cut_after=5),
    ],
    ids=["429", "503", "409 in progress", "cut", "cut in the body"],
)
def test_faults_that_pass_are_repeated_with_the_same_key(
    server: FaultServer, kind: str, fault: Answer
) -> None:
    server.script(OK, fault, fault, OK)
    request = post("/v1/jobs", {"method": "hac"})
    # The first answer, so that a cut is one of a service that is there.
    assert run_both(kind, server, sent(Request("GET", "/v1/jobs"))).status == 200
    assert run_both(kind, server, sent(request)).json() == {"fine": True}
    posts = server.requests[1:]
    assert len(posts) == 3
    assert len({each.headers["Idempotency-Key"] for each in posts}) == 1
    assert {each.content for each in posts} == {b'{"method":"hac"}'}


def test_two_posts_have_different_keys() -> None:
    first, second = post("/v1/jobs", {}), post("/v1/jobs", {})
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]


def test_a_refusal_is_raised_at_once_with_all_it_says(server: FaultServer, kind: str) -> None:
    server.script(problem(422, "invalid-request", "params.linkage: Input should be 'ward'."))
    with pytest.raises(problems.InvalidRequest, match="Input should be 'ward'") as caught:
        run_both(kind, server, sent(post("/v1/jobs", {})))
    error = caught.value
    assert (error.status, error.request_id, error.pointers) == (
        422,
        "req_1",
        [("params", "linkage")],
    )
    assert error.type == "/problems/invalid-request"
    assert "req_1" in str(error)
    assert len(server.requests) == 1


def used_up(what: str) -> Answer:
    """The refusal of a request beyond a quota."""
    answer = problem(429, "quota-exceeded", Retry_After="0")
    quota = {"whose": "tenant", "what": what, "used": 3, "limit": 3}
    return replace(answer, body={**answer.body, "quota": quota})


def test_a_quota_of_what_is_kept_is_not_waited_for(server: FaultServer, kind: str) -> None:
    for what in ("bytes", "datasets"):
        server.script(used_up(what))
        with pytest.raises(problems.QuotaExceeded):
            run_both(kind, server, sent(post("/v1/datasets", {})))
    server.script(used_up("queued"), OK)
    assert run_both(kind, server, sent(post("/v1/jobs", {}))).status == 200


def test_retries_come_to_an_end(server: FaultServer, kind: str) -> None:
    server.script(problem(503, "unavailable", "The store does not answer."))
    with pytest.raises(problems.Unavailable):
        run_both(kind, server, sent(Request("GET", "/v1/jobs")), retries=2)
    assert len(server.requests) == 3
    server.script(CUT)
    with pytest.raises(ConnectionFailed, match="was lost during GET /v1/jobs"):
        run_both(kind, server, sent(Request("GET", "/v1/jobs")), retries=1)


def test_retry_after_is_waited_for(server: FaultServer, kind: str) -> None:
    server.script(problem(429, "busy", Retry_After="1"), OK)
    began = time.monotonic()
    run_both(kind, server, sent(Request("GET", "/v1/jobs")), longest_pause_s=0.2)
    assert time.monotonic() - began >= 0.2


def test_pauses_double_with_jitter_up_to_the_longest() -> None:
    settings = Settings("http://x", pause_s=0.1, longest_pause_s=1.0)
    for attempt in range(40):
        whole = min(0.1 * 2**attempt, 1.0)
        drawn = {pause(settings, attempt, None) for _ in range(20)}
        assert all(whole / 2 <= seconds <= whole for seconds in drawn)
        assert len(drawn) > 1
    assert 0.5 <= pause(settings, 0, 0.5) <= 0.55
    assert pause(settings, 0, 3600.0) == 1.0


@pytest.mark.parametrize(("text", "seconds"), [("2", 2.0), ("", None), ("soon", None)])
def test_retry_after_is_seconds(text: str, seconds: float | None) -> None:
    assert retry_after(Reply(429, {"retry-after": text}, b"")) == seconds


@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_retry_after_is_a_date(ahead_s: int) -> None:
    now = time.time()
    date = email.utils.formatdate(now + ahead_s, usegmt=True)
    read = retry_after(Reply(429, {"retry-after": date}, b""))
    left = now + ahead_s - time.time()
    assert read == 0.0 if ahead_s < 0 else read == pytest.approx(left, abs=10.0)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b"<html>", {"Content-Type": "text/html"}),
        Answer(404, b"<html>", {"Content-Type": "text/html"}),
        Answer(302, b"", {"Content-Type": "text/html", "Location": "https://login"}),
        problem(404, "not-found", "There is nothing at this path."),
        problem(405, "method-not-allowed", "This path takes GET, not POST."),
    ],
    ids=["200 html", "404 html", "login page", "unknown path", "unknown method"],
)
def test_another_service_or_version_is_named_as_such(
    server: FaultServer, kind: str, answer: Answer
) -> None:
    described = operation(Connection.described)
    server.script(answer)
    with pytest.raises(UnexpectedResponse, match=r"umbel-client .* speaks version 1.* is the addr"):
        run_both(kind, server, described("/v1/methods", "items"))
    assert server.paths().count("GET /v1/methods") == 1


def test_a_service_of_another_version_is_named(server: FaultServer, kind: str) -> None:
    server.script(
        problem(404, "not-found", "There is nothing at this path."),
        Answer(200, {"api": "2", "service": "7.0", "python": "3.20"}),
    )
    with pytest.raises(
        UnexpectedResponse, match=r"has no POST /v1/x .*: the service is Umbel 7\.0"
    ):
        run_both(kind, server, sent(post("/v1/x", {})))


def test_nobody_there_is_reported_at_once(kind: str) -> None:
    server = FaultServer()
    server.stop()
    with pytest.raises(ConnectionFailed, match="umbel serve"):
        run_both(kind, server, sent(Request("GET", "/v1/jobs")), retries=50, pause_s=10.0)


@pytest.mark.parametrize("part", ["x" * 70_000, "a\0b"])
def test_what_no_address_can_hold_is_refused(server: FaultServer, kind: str, part: str) -> None:
    for request in (Request("GET", f"/v1/trees/{part}"), Request("GET", "/", {"q": "x" * 70_000})):
        with pytest.raises(InputError, match="cannot be requested") as refused:
            run_both(kind, server, sent(request))
        assert len(str(refused.value)) < 300
    assert server.requests == []


def test_a_repeated_delete_of_what_is_gone_has_succeeded(server: FaultServer, kind: str) -> None:
    server.script(CUT, problem(404, "not-found", "There is no job."))
    run_both(kind, server, sent(Request("DELETE", "/v1/jobs/job_1")))
    assert len(server.requests) == 2
    server.script(problem(404, "not-found", "There is no job."))
    with pytest.raises(problems.NotFound):
        run_both(kind, server, sent(Request("DELETE", "/v1/jobs/job_1")))


def test_the_key_goes_with_every_request_and_is_not_shown(server: FaultServer, kind: str) -> None:
    server.script(problem(401, "unauthenticated", "The key is not known."))
    with pytest.raises(problems.Unauthenticated, match="The key is not known") as caught:
        run_both(kind, server, sent(Request("GET", "/v1/jobs")), key="secret")
    assert "UMBEL_KEY" in caught.value.__notes__[0]
    assert server.requests[0].headers["Authorization"] == "Bearer secret"
    assert "secret" not in repr(Settings("http://x", "secret"))


def test_types_that_are_not_known_are_plain_problems(server: FaultServer) -> None:
    server.script(problem(418, "teapot", "Short and stout."))
    with pytest.raises(ProblemError, match="Short and stout") as caught:
        run_both("sync", server, sent(Request("GET", "/v1/jobs")))
    assert type(caught.value) is ProblemError


@pytest.mark.parametrize(
    "error",
    [
        problems.TooLarge({"type": "/problems/too-large", "status": 413, "detail": "Too large."}),
        errors.InputError("features", "it is empty."),
        errors.WaitTimeout("job_1", 2.0),
        errors.JobCancelled("job_1"),
        errors.UnexpectedResponse("The response is none", 200, "<html>"),
        errors.UploadInterrupted("Cut.", "up_1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling(error: Exception) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
