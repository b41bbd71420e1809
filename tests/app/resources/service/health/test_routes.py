"""Health and metrics."""

from __future__ import annotations

import asyncio
import re
import threading
from importlib.metadata import version

import pytest

from app.http.dependencies import Service
from app.resources.service.health import routes
from app.resources.service.health.routes import State
from models.running import packages
from tests.app.conftest import Api, Start, new_job, problem_of
from tests.workers.waiting_kit import until
from workers.errors import COMPARING, StoreFull, StoreUnavailable
from workers.jobs import rebuild
from workers.jobs.ledger import Ledger


def test_live(api: Api) -> None:
    assert api.client.get("/livez", headers={"Host": "10.0.0.5"}).json() == {"status": "ok"}


def test_ready_needs_a_worker(api: Api) -> None:
    api.service.ledger.ensure_built(60.0)
    body = problem_of(api.client.get("/readyz"), 503, "unavailable")
    assert body["away"] == ["workers"]
    assert body["instance"] == api.client.get("/v1/version").json()["instance"] != ""
    api.service.ledger.workers.seen("w")
    assert api.client.get("/readyz").json() == {
        "status": "ok",
        "instance": api.settings.instance_id,
    }


def test_workers_that_still_compile_are_announced(api: Api) -> None:
    api.service.ledger.ensure_built(60.0)
    api.service.ledger.workers.compiling("w")
    body = problem_of(api.client.get("/readyz"), 503, "unavailable")
    assert body["detail"] == "Not ready: compiling, about a minute, once."
    assert body["away"] == ["workers"]
    api.service.redis.delete(f"{api.settings.key_prefix}compiling")
    body = problem_of(api.client.get("/readyz"), 503, "unavailable")
    assert body["detail"] == "Not ready: workers cannot be reached."
    api.service.ledger.workers.compiling("w")
    api.service.ledger.workers.seen("other")
    assert api.client.get("/readyz").json() == {
        "status": "ok",
        "instance": api.settings.instance_id,
    }


def test_a_rebuild_that_takes_long_is_named_with_how_far_it_is(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "_GLANCE_S", 0.0)
    records, prefix = api.service.ledger._records, api.settings.key_prefix
    api.service.ledger.workers.seen("w")
    # Another process rebuilds.
    until(lambda: records.rebuild_begin("other", 600.0))
    api.service.redis.delete(f"{prefix}counted")
    assert records.rebuild_hold("other", 600.0, f"{COMPARING}: 4,000 of 14,640")
    words = "comparing records with the store: 4,000 of 14,640"

    answer = api.client.get("/readyz")
    body = problem_of(answer, 503, "unavailable")
    assert (body["detail"], body["away"]) == (f"Not ready: {words}.", ["records"])
    assert answer.headers["Retry-After"] == "2"
    lenient = api.client.get("/readyz?workers=false").json()
    assert lenient["warnings"] == [f"Lists answer 503 for now: {words}."]

    monkeypatch.setattr(rebuild.Rebuild.ensure, "__defaults__", (0.0,))
    monkeypatch.setattr(Ledger.ensure_built, "__defaults__", (0.0,))
    refused = api.client.get("/v1/jobs")
    assert words in problem_of(refused, 503, "unavailable")["detail"]
    assert refused.headers["Retry-After"] == "5"
    # What is looked up by its id is served meanwhile.
    job = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    assert api.client.get(f"/v1/jobs/{job}").status_code == 200

    assert records.rebuild_end("other", "")
    until(lambda: api.client.get("/readyz").status_code == 200)
    assert api.client.get("/v1/jobs").status_code == 200


def test_whether_requests_may_come_does_not_need_a_worker(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/readyz?workers=false"
    api.service.ledger.ensure_built(60.0)
    assert api.client.get(path).json() == {
        "status": "ok",
        "workers": 0,
        "instance": api.settings.instance_id,
    }
    api.service.ledger.workers.seen("w")
    assert api.client.get(path).json() == {
        "status": "ok",
        "workers": 1,
        "instance": api.settings.instance_id,
    }

    def away() -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(api.service.blobs, "ping", away)
    assert problem_of(api.client.get(path), 503, "unavailable")["away"] == ["store"]


def test_readiness_names_the_unreachable_part(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(api.service.blobs, "ping", away)
    body = problem_of(api.client.get("/readyz"), 503, "unavailable")
    assert body["away"] == ["store", "workers"]


def test_requests_at_one_time_share_a_check(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, they write to the store no more than once at a time."""
    begun, release, n_checks = threading.Event(), threading.Event(), 0

    def counted(_: Service) -> State:
        nonlocal n_checks
        n_checks += 1
        begun.set()
        assert release.wait(30.0)
        return State(["store"], [], n_checks, ())

    monkeypatch.setattr(routes, "_state", counted)

    async def work() -> None:
        first = asyncio.create_task(routes._checked(api.service))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        later = [asyncio.create_task(routes._checked(api.service)) for _ in range(9)]
        await asyncio.sleep(0)
        # One whose client leaves takes the check from nobody.
        later[0].cancel()
        release.set()
        assert await first == State(["store"], [], 1, ())
        # What came meanwhile is not answered by what was seen before.
        assert await asyncio.gather(*later[1:]) == [State(["store"], [], 2, ())] * 8

    asyncio.run(work())


def test_requests_that_share_a_check_change_nothing_of_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = State([], [], 0, ())

    async def checked(_: Service) -> State:
        return state

    monkeypatch.setattr(routes, "_checked", checked)
    for _ in range(2):
        assert problem_of(api.client.get("/readyz"), 503, "unavailable")["away"] == ["workers"]


def test_readiness_names_the_part_without_room(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.service.ledger.workers.seen("w")
    api.service.ledger.ensure_built(60.0)
    with monkeypatch.context() as patch:
        patch.setattr(api.service.blobs, "free_bytes", lambda: 4096)
        body = problem_of(api.client.get("/readyz"), 507, "full")
    assert body["full"] == ["store"]

    def full() -> None:
        raise StoreFull("no room")

    with monkeypatch.context() as patch:
        patch.setattr(api.service.blobs, "ping", full)
        assert problem_of(api.client.get("/readyz"), 507, "full")["full"] == ["store"]
    assert api.client.get("/readyz").json() == {
        "status": "ok",
        "instance": api.settings.instance_id,
    }


def test_reads_go_on_while_redis_has_no_room(api: Api) -> None:
    job_id = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    unneeded = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    redis, prefix = api.service.redis, api.settings.key_prefix
    redis.set(f"{prefix}counted", "an earlier run")
    redis.config_set("maxmemory", 1)
    try:
        assert problem_of(api.client.get("/readyz"), 507, "full")["full"] == ["redis"]
        full = problem_of(api.client.post("/v1/jobs", json=new_job()), 507, "full")
        assert "Redis has no memory left" in full["detail"]
        assert "delete what is not needed, which needs no room" in full["detail"]
        assert api.client.delete(f"/v1/jobs/{unneeded}").status_code == 204
        assert [job["id"] for job in api.client.get("/v1/jobs").json()["items"]] == [job_id]
        assert api.client.get(f"/v1/jobs/{job_id}").json()["status"] == "queued"
        assert api.client.get("/v1/datasets").json()["items"] == []
        redis.delete(f"{prefix}counted")  # It has lost everything: an empty list would be wrong.
        problem_of(api.client.get("/v1/jobs"), 503, "unavailable")
        redis.delete(f"{prefix}job:{job_id}")
        problem_of(api.client.get(f"/v1/jobs/{job_id}"), 503, "unavailable")
    finally:
        redis.config_set("maxmemory", 0)

    def served() -> bool:
        """Not at once on a busy machine: a comparison takes longer than a request waits."""
        return api.client.get(f"/v1/jobs/{job_id}").status_code == 200

    def ready() -> bool:
        api.service.ledger.workers.seen("w")
        return api.client.get("/readyz").status_code == 200

    until(served)
    assert api.client.get(f"/v1/jobs/{job_id}").json()["status"] == "queued"
    until(ready)
    assert api.client.get("/readyz").json() == {
        "status": "ok",
        "instance": api.settings.instance_id,
    }


def test_metrics(api: Api) -> None:
    job_id = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    api.client.get(f"/v1/jobs/{job_id}")
    api.client.get("/v1/nothing")
    text = api.client.get("/metrics").text
    for line in (
        'umbel_requests_total{method="POST",route="/v1/jobs",status="202"} 1.0',
        'umbel_requests_total{method="GET",route="/v1/jobs/{job_id}",status="200"} 1.0',
        'umbel_requests_total{method="GET",route="none",status="404"} 1.0',
        'umbel_jobs{status="queued"} 1.0',
        'umbel_queued{queue="cpu"} 1.0',
        "umbel_workers 0.0",
        "umbel_redis_up 1.0",
    ):
        assert line in text, text
    assert job_id not in text


def test_metrics_of_jobs_queues_and_tenants(start: Start) -> None:
    api = start(metrics_tenants=1, metrics_store_s=0.05)
    for _ in range(3):
        job_id = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    api.finish(job_id)
    lines = api.client.get("/metrics").text.splitlines()
    for line in (
        'umbel_jobs_ended_total{method="l2h",status="succeeded"} 1.0',
        'umbel_attempts_total{method="l2h",outcome="succeeded"} 1.0',
        'umbel_job_wait_seconds_count{lane="cpu:short",method="l2h"} 1.0',
        'umbel_job_wait_seconds_bucket{lane="cpu:short",le="+Inf",method="l2h"} 1.0',
        'umbel_job_duration_seconds_count{method="l2h",status="succeeded"} 1.0',
        'umbel_lane_jobs{kind="short",queue="cpu"} 2.0',
        'umbel_lane_oldest_seconds{kind="quick",queue="cpu"} 0.0',
        'umbel_tenant_jobs{status="queued",tenant="local"} 2.0',
        'umbel_tenant_jobs{status="succeeded",tenant="local"} 1.0',
    ):
        assert line in lines, lines
    [oldest] = [
        line for line in lines if 'umbel_lane_oldest_seconds{kind="short",queue="cpu"}' in line
    ]
    assert 0 < float(oldest.rsplit(" ", 1)[1]) < 60
    stored = 'umbel_tenant_store_bytes{kind="requests",tenant="local"}'
    until(lambda: stored in api.client.get("/metrics").text)


def test_metrics_say_that_redis_is_away(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(api.service.ledger, "counts", away)
    text = api.client.get("/metrics").text
    assert "umbel_redis_up 0.0" in text
    assert "umbel_store_free_bytes" in text
    assert "umbel_workers" not in text


def test_the_sweeper_runs_as_long_as_the_app(api: Api) -> None:
    assert api.settings.sweep_s == 1.0
    assert threading.active_count() > 1


def test_the_version(api: Api) -> None:
    body = api.client.get("/v1/version").json()
    assert body["api"] == api.client.get("/openapi.json").json()["info"]["version"]
    assert body["service"] == version("umbel")
    assert re.fullmatch(r"3\.\d+\.\d+", body["python"])
    lacking = packages.missing(["umap-learn", "openTSNE", "typst"])
    assert [name for each in body["waiting"] for name in each["needs"]] == lacking
    problem_of(api.client.get("/v1/version?x=1"), 422, "invalid-request")
