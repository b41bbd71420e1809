"""The same key and body return the first answer again."""

from __future__ import annotations

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from redis.client import Pipeline
from redis.exceptions import ConnectionError, WatchError
from starlette.responses import Response

from app.http.idempotency import Make, Reservations
from app.http.lives import Lives
from app.http.problems import Refused
from tests.app.conftest import Api, Start, new_job, problem_of
from tests.workers.waiting_kit import until
from workers.errors import StoreUnavailable

KEY = {"Idempotency-Key": "k1"}


def test_a_repeated_request_gets_the_first_answer(api: Api) -> None:
    first = api.client.post("/v1/jobs", json=new_job(), headers=KEY)
    assert first.status_code == 202
    api.finish(first.json()["id"])
    again = api.client.post("/v1/jobs", json=new_job(), headers=KEY)
    assert again.status_code == 202
    assert again.json() == first.json()
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotent-replayed"] == "true"
    assert len(api.client.get("/v1/jobs").json()["items"]) == 1


def test_another_body_is_refused(api: Api) -> None:
    api.client.post("/v1/jobs", json=new_job(), headers=KEY)
    answer = api.client.post("/v1/jobs", json=new_job(name="other"), headers=KEY)
    problem_of(answer, 422, "idempotency-mismatch")


def test_a_key_belongs_to_its_route(api: Api) -> None:
    job = api.client.post("/v1/jobs", json=new_job(), headers=KEY)
    job_id = job.json()["id"]
    assert api.client.post(f"/v1/jobs/{job_id}/cancel", headers=KEY).status_code == 200
    dataset = api.client.post(
        "/v1/datasets",
        content=b"[[1,2],[3,4]]",
        headers={**KEY, "Content-Type": "application/json"},
    )
    assert dataset.status_code == 201


def test_a_refused_request_leaves_the_key_free(api: Api) -> None:
    answer = api.client.post("/v1/jobs", json=new_job(method="nope"), headers=KEY)
    problem_of(answer, 422, "unknown-method")
    assert api.client.post("/v1/jobs", json=new_job(), headers=KEY).status_code == 202


def test_an_upload_is_stored_once(api: Api) -> None:
    headers = {**KEY, "Content-Type": "application/json"}
    first = api.client.post("/v1/datasets?name=a", content=b"[[1,2],[3,4]]", headers=headers)
    again = api.client.post("/v1/datasets?name=a", content=b"[[1,2],[3,4]]", headers=headers)
    assert again.status_code == first.status_code == 201
    assert again.json() == first.json()
    assert len(api.client.get("/v1/datasets").json()["items"]) == 1
    for query, content in (("?name=a", b"[[1,2],[3,5]]"), ("?name=b", b"[[1,2],[3,4]]")):
        repeated = api.client.post(f"/v1/datasets{query}", content=content, headers=headers)
        problem_of(repeated, 422, "idempotency-mismatch")
    contents = [key for key in api.service.blobs.keys("datasets") if key.endswith("content")]
    assert len(contents) == 1


def test_concurrent_requests_make_a_single_job(api: Api) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: api.client.post("/v1/jobs", json=new_job(), headers=KEY), range(16))
        )
    assert {answer.status_code for answer in answers} <= {202, 409}
    job_ids = {answer.json()["id"] for answer in answers if answer.status_code == 202}
    assert len(job_ids) == 1
    assert len(api.client.get("/v1/jobs").json()["items"]) == 1


def test_a_repeat_returns_the_job_even_if_the_answer_was_not_stored(api: Api) -> None:
    first = api.client.post("/v1/jobs", json=new_job(), headers=KEY)
    for key in api.service.redis.scan_iter(f"{api.settings.key_prefix}once:*"):
        api.service.redis.delete(key)
    again = api.client.post("/v1/jobs", json=new_job(), headers=KEY)
    assert again.status_code == 202
    assert again.json()["id"] == first.json()["id"]


@pytest.mark.parametrize("key", ["", "a" * 256, "a b", "\x7f"])
def test_malformed_keys_are_refused(api: Api, key: str) -> None:
    answer = api.client.post("/v1/jobs", json=new_job(), headers={"Idempotency-Key": key})
    body = problem_of(answer, 422, "invalid-request")
    assert body["errors"][0]["header"] == "Idempotency-Key"


def test_tenants_do_not_share_keys(start: Start) -> None:
    from app.http.environment_keys import new_key

    (key_a, line_a), (key_b, line_b) = new_key("a"), new_key("b")
    api = start(api_keys=(line_a, line_b))
    ids = set()
    for key in (key_a, key_b):
        headers = {**KEY, "Authorization": f"Bearer {key}"}
        answer = api.client.post("/v1/jobs", json=new_job(), headers=headers)
        assert answer.status_code == 202
        ids.add(answer.json()["id"])
    assert len(ids) == 2


def test_the_reservation_of_a_dead_process_is_taken_over(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = api.service.reservations
    with pytest.raises(Died):
        anyio.run(run_once, process, "id", die)
    with pytest.raises(Refused) as refused:
        anyio.run(run_once, process, "id", made_here)
    assert refused.value.status_code == 409
    monkeypatch.setattr("app.http.idempotency.PENDING_S", 0.0)
    assert anyio.run(run_once, process, "id", made_here).status_code == 201
    replayed = anyio.run(run_once, process, "id", die)
    assert (replayed.status_code, replayed.body) == (201, b"made")


def test_a_clock_that_is_ahead_takes_over_nothing_that_is_under_way(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes of the API on machines whose clocks differ made two things of one request."""
    process = api.service.reservations
    with pytest.raises(Died):
        anyio.run(run_once, process, "id", die)
    ahead = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: ahead)
    with pytest.raises(Refused, match="still in progress"):
        anyio.run(run_once, process, "id", made_here)


def die_before_the_record(api: Api, monkeypatch: pytest.MonkeyPatch) -> str:
    """A POST whose process was killed after it had stored the request; the id of its job.

    An error that nothing handles stands in for the kill: neither the job nor the key is released.
    """

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(api.service.ledger._records, "create", die)
        patch.setattr(Reservations, "settle", lambda *_: None)
        assert api.client.post("/v1/jobs", json=new_job(), headers=KEY).status_code == 500
    (marker,) = api.service.blobs.keys("open/")
    return marker.rpartition("/")[2]


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_repeat_takes_no_refused_job_for_an_accepted_one(
    api: Api, monkeypatch: pytest.MonkeyPatch, meanwhile: bool
) -> None:
    """The record was made, but the answer was lost, and the first request takes its job back.

    meanwhile : the repeat comes before that.
    """
    records = api.service.ledger._records
    create = records.create
    refused_ids: list[str] = []

    def post() -> Any:
        return api.client.post("/v1/jobs", json=new_job(), headers=KEY)

    def create_then_fail(request: Any, standing: Any, **more: Any) -> None:
        create(request, standing, **more)
        refused_ids.append(request.id)
        if meanwhile:
            # In the process beside this one, whose connection to Redis works.
            get.undo()
            problem_of(post(), 409, "conflict")
            get.setattr(records, "get", away)
        raise StoreUnavailable("away")

    def away(*_: object) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch, monkeypatch.context() as get:
        patch.setattr(records, "create", create_then_fail)
        patch.setattr(Reservations, "settle", lambda *_: None)
        get.setattr(records, "get", away)
        problem_of(post(), 503, "unavailable")
    problem_of(post(), 409, "conflict")
    monkeypatch.setattr("app.http.idempotency.PENDING_S", 0.0)
    accepted = post()
    assert accepted.status_code == 202
    job_id = accepted.json()["id"]
    assert job_id not in refused_ids
    api.finish(job_id)
    restart_redis(api)
    listed = api.client.get("/v1/jobs").json()["items"]
    assert [(job["id"], job["status"]) for job in listed] == [(job_id, "succeeded")]


def test_a_repeat_waits_with_the_first_request(api: Api) -> None:
    """The first one is accepted, and its client waits for the end."""
    waiting = {**KEY, "Prefer": "wait=20"}
    repeats: list[Any] = []

    def repeated() -> bool:
        repeats.append(api.client.post("/v1/jobs", json=new_job(), headers=KEY))
        return bool(repeats[-1].status_code == 202)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(api.client.post, "/v1/jobs", json=new_job(), headers=waiting)
        until(lambda: api.client.get("/v1/jobs").json()["items"] != [])
        until(repeated)
        job = repeats[-1].json()
        assert job["status"] == "queued"
        api.finish(job["id"])
        ended = first.result().json()
    assert (ended["id"], ended["status"]) == (job["id"], "succeeded")
    assert {repeat.status_code for repeat in repeats} <= {202, 409}


def restart_redis(api: Api) -> None:
    """A sweep rebuilds, as after a restart of Redis."""
    api.service.redis.set(f"{api.settings.key_prefix}counted", "an earlier run")

    def swept() -> bool:
        """Refused while the application, which sweeps too, is at it."""
        with contextlib.suppress(StoreUnavailable):
            api.service.ledger.sweep()
            return True
        return False

    until(swept)


def test_a_job_whose_process_died_before_its_record_is_made_once(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = die_before_the_record(api, monkeypatch)
    problem_of(api.client.post("/v1/jobs", json=new_job(), headers=KEY), 409, "conflict")
    monkeypatch.setattr("app.http.idempotency.PENDING_S", 0.0)
    for _ in range(2):
        again = api.client.post("/v1/jobs", json=new_job(), headers=KEY)
        assert again.status_code == 202
        assert again.json()["id"] == first
        assert again.headers["idempotent-replayed"] == "true"
    assert api.sent[-1] == ("cpu", first)
    restart_redis(api)
    assert [job["id"] for job in api.client.get("/v1/jobs").json()["items"]] == [first]


def test_a_job_whose_request_was_stored_in_part_is_made_anew(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = die_before_the_record(api, monkeypatch)
    api.service.blobs.delete(f"open/local/{first}")  # It is written last.
    monkeypatch.setattr("app.http.idempotency.PENDING_S", 0.0)
    again = api.client.post("/v1/jobs", json=new_job(), headers=KEY)
    assert again.status_code == 202
    assert again.json()["id"] != first
    restart_redis(api)
    listed = [job["id"] for job in api.client.get("/v1/jobs").json()["items"]]
    assert listed == [again.json()["id"]]


class Died(BaseException):
    """A process ends."""


def one_of(api: Api, name: str) -> Reservations:
    """The reservations of another process of the API."""
    lives = Lives(api.settings.scratch_dir / name)
    lives.close()
    return Reservations(api.service.redis, api.settings.key_prefix, 60, lives)


async def run_once(process: Reservations, new_id: str, make: Make) -> Response:
    async def nothing(_: str) -> Response | None:
        return None

    once = process.once("local", "POST /x", "k")
    return await once.answer(new_id, b"body", make, nothing)


async def die() -> Response:
    raise Died


async def made_here() -> Response:
    return Response("made", status_code=201)


def test_the_reservation_of_a_process_that_is_seen_to_be_dead_is_taken_over_by_one(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_made = 0
    process = api.service.reservations

    async def make() -> Response:
        nonlocal n_made
        n_made += 1
        return await made_here()

    async def repeats() -> list[int]:
        """Two at the same time: both have read what the dead process had reserved."""
        statuses = []

        async def repeat(number: int) -> None:
            try:
                statuses.append((await run_once(process, f"id{number}", make)).status_code)
            except Refused as refused:
                statuses.append(refused.status_code)

        async with anyio.create_task_group() as group:
            for number in range(2):
                group.start_soon(repeat, number)
        return statuses

    with pytest.raises(Died):
        anyio.run(run_once, process, "id", die)
    assert anyio.run(repeats) == [409, 409]
    monkeypatch.setattr(process.lives, "is_dead", lambda name: name == process.lives.name)
    assert 201 in anyio.run(repeats)
    assert n_made == 1


@pytest.mark.parametrize("moment", ["reserve", "refuse", "answer"])
def test_what_redis_did_not_answer_is_sent_again(
    api: Api, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A repeat waits until Redis answers again, and not until the first request counts as dead."""
    process = one_of(api, "another")
    redis = process.redis

    def lost(*_: object, **__: object) -> None:
        raise ConnectionError("lost")

    async def make() -> Response:
        if moment == "refuse":
            monkeypatch.setattr(redis, "pipeline", lost)
            raise StoreUnavailable("away")
        monkeypatch.setattr(redis, "pipeline", lost)
        return await made_here()

    async def run() -> Response:
        async with anyio.create_task_group() as group:
            group.start_soon(process.send_owed)
            first: Response | None = None
            with contextlib.suppress(StoreUnavailable):
                first = await run_once(process, "id", make)
            assert (first is not None) == (moment == "answer")
            monkeypatch.undo()
            again: Response | None = None
            while again is None:
                with contextlib.suppress(Refused):
                    again = await run_once(process, "id2", made_here)
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        assert again is not None
        return again

    if moment == "reserve":
        set_value = redis.set

        def set_then_lose(*args: Any, **options: Any) -> None:
            set_value(*args, **options)
            lost()

        monkeypatch.setattr(redis, "set", set_then_lose)
    again = anyio.run(run)
    assert (again.headers.get("idempotent-replayed") == "true") == (moment == "answer")


def test_each_request_of_a_key_frees_what_it_reserved(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reserved without an answer; Redis was gone when the second came."""
    process = one_of(api, "another")
    redis = process.redis
    set_value, n_sets = redis.set, 0

    def lose(*args: Any, **options: Any) -> None:
        nonlocal n_sets
        n_sets += 1
        if n_sets == 1:
            set_value(*args, **options)
        raise ConnectionError("lost")

    async def run() -> int:
        for new_id in ("id", "id2"):
            with pytest.raises(StoreUnavailable):
                await run_once(process, new_id, made_here)
        monkeypatch.undo()
        async with anyio.create_task_group() as group:
            group.start_soon(process.send_owed)
            while process._owed:
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        return (await run_once(process, "id3", made_here)).status_code

    monkeypatch.setattr(redis, "set", lose)
    assert anyio.run(run) == 201


def test_what_was_settled_later_stays(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the resource is made was not stored, the response afterwards was."""
    process = one_of(api, "another")
    pipeline = process.redis.pipeline
    once = process.once("local", "POST /x", "k")

    def lost(*_: object, **__: object) -> None:
        raise ConnectionError("lost")

    async def make() -> Response:
        monkeypatch.setattr(process.redis, "pipeline", lost)
        await once.made()
        monkeypatch.setattr(process.redis, "pipeline", pipeline)
        return await made_here()

    async def nothing(_: str) -> Response | None:
        return None

    async def run() -> None:
        await once.answer("id", b"body", make, nothing)

    anyio.run(run)
    assert not process._owed


def test_a_reservation_whose_answer_was_lost_is_its_own(api: Api) -> None:
    process = api.service.reservations
    assert process.reserve("place", "mine") is None
    assert process.reserve("place", "mine") is None
    assert process.reserve("place", "another's") == "mine"
    assert process.take_over("place", "mine", "another's")
    assert not process.take_over("place", "mine", "a third's")
    assert api.service.redis.get("place") == "another's"


def test_what_another_request_has_taken_over_stays(api: Api) -> None:
    """The first one, which took so long that it counted as dead, settles at last."""
    process = api.service.reservations
    first, second, made = (
        json.dumps({"id": "1", "token": token}) for token in ("first", "second", "first made")
    )
    process.reserve("held", first)
    assert process.take_over("held", first, second)
    for value in (None, made):
        process.settle("held", "first", value)
        assert api.service.redis.get("held") == second


def test_what_is_owed_of_one_request_frees_no_other_one_for_the_same_id(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reservation never came to Redis; the repeat, as of an edition or a cancellation, is
    for the same id, and under way when what is owed is sent."""
    process = one_of(api, "another")

    def lost(*_: object, **__: object) -> None:
        raise ConnectionError("lost")

    async def make() -> Response:
        async with anyio.create_task_group() as group:
            group.start_soon(process.send_owed)
            while process._owed:
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        with pytest.raises(Refused, match="still in progress"):
            await run_once(process, "2", die)
        return await made_here()

    async def run() -> list[int]:
        with pytest.raises(StoreUnavailable):
            await run_once(process, "2", die)
        monkeypatch.undo()
        return [(await run_once(process, "2", each)).status_code for each in (make, die)]

    monkeypatch.setattr(process.redis, "set", lost)
    assert anyio.run(run) == [201, 201]


@pytest.mark.parametrize("step", ["get", "multi", "execute"])
def test_a_connection_that_ends_while_a_key_is_settled_is_no_fault(
    api: Api, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    process = one_of(api, "here")
    process.reserve(step, json.dumps({"id": "job_1", "token": "t"}))
    real = getattr(Pipeline, step)
    cut: list[str] = []

    def ending(pipe: Pipeline, *args: Any) -> Any:
        """The connection ends before the command is sent, that of the transaction after it."""
        if pipe.watching and not cut:
            if step == "execute":
                real(pipe, *args)
            cut.append(step)
            process.redis.client_kill_filter(_type="normal", skipme=True)
            if step == "execute":
                raise WatchError("A ConnectionError occurred while watching one or more keys")
        return real(pipe, *args)

    monkeypatch.setattr(Pipeline, step, ending)
    process.settle(step, "t", json.dumps({"id": "job_1", "made": True}))
    assert cut
    assert json.loads(process.redis.get(step) or "")["made"]


def test_connections_that_always_end_are_an_outage(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = one_of(api, "here")

    def ending(pipe: Pipeline, *args: Any) -> Any:
        raise WatchError

    monkeypatch.setattr(Pipeline, "get", ending)
    with pytest.raises(ConnectionError):
        process.take_over("ends", "first", "second")


def test_a_key_whose_process_was_killed_is_free_at_once(api: Api) -> None:
    """Its reservation is there, and its lock is not."""
    with pytest.raises(Died):
        anyio.run(run_once, one_of(api, "lives"), "id", die)
    assert anyio.run(run_once, api.service.reservations, "id2", made_here).status_code == 201
