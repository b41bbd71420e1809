"""Pausing lanes, tenants, methods and workers, by administrators."""

from __future__ import annotations

import pytest

from app.http.environment_keys import new_key
from tests.app.conftest import Api, Start, new_job, problem_of
from tests.workers.waiting_kit import until
from workers.artifacts.keys import Keys


def test_a_job_shows_for_what_it_waits(api: Api) -> None:
    put = api.client.put("/v1/pauses/method/l2h", json={"reason": "tonight"})
    assert put.status_code == 200, put.text
    pause = put.json()
    assert (pause["scope"], pause["name"], pause["reason"]) == ("method", "l2h", "tonight")
    assert api.client.get("/v1/pauses").json()["items"] == [pause]
    job = api.client.post("/v1/jobs", json=new_job()).json()
    address = f"/v1/jobs/{job['id']}"
    shown = api.client.get(address)
    assert (shown.json()["status"], shown.json()["paused"]) == ("queued", pause)
    assert api.client.get("/v1/jobs").json()["items"][0]["paused"] == pause
    again = api.client.put("/v1/pauses/method/l2h", json={}).json()
    assert again["reason"] is None
    assert api.client.delete("/v1/pauses/method/l2h").status_code == 204
    after = api.client.get(address)
    assert after.json()["paused"] is None
    assert after.headers["etag"] != shown.headers["etag"]
    problem_of(api.client.delete("/v1/pauses/method/l2h"), 404, "not-found")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("lane/cpu", 200),
        ("lane/gpu:short", 200),
        ("lane/tpu", 422),
        ("lane/cpu:long", 422),
        ("tenant/acme", 200),
        ("tenant/Acme", 422),
        ("method/corrmnl", 200),
        ("method/predict", 200),
        ("method/none", 422),
        ("worker/none", 404),
        ("job/x", 404),
        ("tenant/a%20b", 404),
    ],
)
def test_what_can_be_paused(api: Api, path: str, status: int) -> None:
    assert api.client.put(f"/v1/pauses/{path}", json={}).status_code == status


def test_a_worker_drains_while_it_is_paused(api: Api) -> None:
    workers = api.service.ledger.workers
    for running, paused, status in (
        (["job_1"], False, "active"),
        (["job_1"], True, "draining"),
        ([], True, "drained"),
        ([], False, "active"),
    ):
        workers.seen("host-7-ab", ["cpu"], running)
        if paused:
            api.client.put("/v1/pauses/worker/host-7-ab", json={})
        elif status == "active":
            api.client.delete("/v1/pauses/worker/host-7-ab")
        (worker,) = api.client.get("/v1/workers").json()["items"]
        assert (worker["id"], worker["status"]) == ("host-7-ab", status)
        assert (worker["queues"], worker["running"]) == (["cpu"], running)


def test_only_administrators_pause(start: Start) -> None:
    plain, line = new_key("acme")
    api = start(api_keys=line)
    kept = Keys(api.service.blobs)
    secrets = {role: kept.add("acme", role)[1] for role in ("write", "admin")}
    for secret, allowed in ((secrets["admin"], True), (secrets["write"], False), (plain, False)):
        headers = {"Authorization": f"Bearer {secret}"}
        until(lambda own=headers: api.client.get("/v1/usage", headers=own).status_code == 200)
        answers = [
            api.client.put("/v1/pauses/tenant/other", json={}, headers=headers),
            api.client.get("/v1/pauses", headers=headers),
            api.client.delete("/v1/pauses/tenant/other", headers=headers),
            api.client.get("/v1/workers", headers=headers),
        ]
        expected = [200, 200, 204, 200] if allowed else [403] * 4
        assert [answer.status_code for answer in answers] == expected
