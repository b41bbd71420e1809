"""`Prefer: dedupe`: what the tenant has already is not stored again."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from app.http.environment_keys import new_key
from tests.app.conftest import Api, Start
from workers.model import earliest_suffix

NPY = {"Content-Type": "application/x-npy"}
DEDUPE = {**NPY, "Prefer": "respond-async, dedupe"}


def npy(fill: float = 1.0) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.full((3, 2), fill))
    return buffer.getvalue()


def upload(api: Api, query: str = "", content: bytes | None = None, **headers: str) -> Any:
    answer = api.client.post(
        f"/v1/datasets{query}", content=content or npy(), headers={**DEDUPE, **headers}
    )
    assert answer.status_code in (200, 201), answer.text
    return answer


def in_parts(api: Api, query: str = "", prefer: str = "dedupe", key: str | None = None) -> Any:
    headers = {} if key is None else {"Authorization": key}
    path = f"/v1/uploads/{api.client.post(f'/v1/uploads{query}', headers=headers).json()['id']}"
    content = npy()
    for number, start in enumerate(range(0, len(content), 100)):
        part = content[start : start + 100]
        api.client.put(f"{path}/parts/{number}", content=part, headers=headers)
    answer = api.client.post(f"{path}/complete", headers={**headers, "Prefer": prefer})
    assert answer.status_code in (200, 201), answer.text
    return answer


def stored(api: Api) -> list[str]:
    return sorted(key for key in api.service.blobs.keys("datasets/") if key.endswith("/content"))


@pytest.mark.parametrize("again", [upload, in_parts])
def test_the_same_upload_gives_the_same_dataset(api: Api, again: Any) -> None:
    first = upload(api, "?name=x&role=features")
    assert first.status_code == 201
    assert "preference-applied" not in first.headers
    before = (stored(api), api.client.get("/v1/usage").json()["tenant"])
    second = again(api, "?name=x&role=features")
    assert second.status_code == 200
    assert second.headers["preference-applied"] == "dedupe"
    assert second.headers["location"] == first.headers["location"]
    assert second.json() == first.json()
    assert (stored(api), api.client.get("/v1/usage").json()["tenant"]) == before
    content = api.client.get(f"{first.headers['location']}/content").content
    assert content == npy()


@pytest.mark.parametrize("again", [upload, in_parts])
@pytest.mark.parametrize(
    "query",
    ["?name=y&role=features", "?name=x", "?name=x&role=logits", "?name=x&role=features&member=a"],
)
def test_what_differs_is_a_dataset_of_its_own(api: Api, again: Any, query: str) -> None:
    first = upload(api, "?name=x&role=features").json()["id"]
    other = again(api, query)
    assert other.status_code == 201
    assert other.json()["id"] != first
    assert len(stored(api)) == 2


def test_without_the_preference_nothing_changes(api: Api) -> None:
    a, b = (api.client.post("/v1/datasets", content=npy(), headers=NPY).json() for _ in range(2))
    assert a["id"] != b["id"]
    assert in_parts(api, prefer="wait=1").status_code == 201
    assert upload(api, content=npy(2.0)).status_code == 201


def test_a_renamed_or_removed_dataset_is_not_found_by_what_it_was(api: Api) -> None:
    first = upload(api, "?name=x").json()["id"]
    api.client.patch(f"/v1/datasets/{first}", json={"name": "y"})
    second = upload(api, "?name=x")
    assert second.status_code == 201
    assert upload(api, "?name=y").json()["id"] == first
    api.client.delete(f"/v1/datasets/{first}")
    assert upload(api, "?name=y").status_code == 201
    api.service.redis.flushdb()
    api.service.ledger.rebuild()
    assert upload(api, "?name=x").json()["id"] == second.json()["id"]


def test_one_that_goes_earlier_is_not_used(api: Api) -> None:
    def at(hours: int) -> str:
        when = datetime.now(UTC) + timedelta(hours=hours)
        return f"?expires_at={when.strftime('%Y-%m-%dT%H:%M:%SZ')}"

    early = upload(api, at(1)).json()["id"]
    assert upload(api, at(1)).status_code in (200, 201)
    late = upload(api, at(5))
    assert late.status_code == 201
    assert upload(api, at(2)).json()["id"] == late.json()["id"] != early
    forever = upload(api)
    assert forever.status_code == 201
    assert upload(api, at(9)).json()["id"] == forever.json()["id"]
    # What is being removed is not used either.
    api.service.redis.hset(f"{api.settings.key_prefix}going", forever.json()["id"], "local")
    assert upload(api).status_code == 201


def test_where_age_removes_an_old_one_is_not_used(start: Start) -> None:
    api = start(keep_datasets_days="1")
    datasets = api.service.datasets
    known = datasets.get("local", upload(api).json()["id"])
    assert known is not None
    datasets.delete("local", known.id)
    used = []
    for hours in (13, 11):
        made = datetime.now(UTC) - timedelta(hours=hours)
        old = known.model_copy(update={"id": f"ds_{earliest_suffix(made)}"})
        api.service.blobs.put(datasets.content_key("local", old.id), npy())
        datasets.create(old)
        answer = upload(api)
        used.append(answer.status_code == 200)
        datasets.delete("local", answer.json()["id"])
    assert used == [False, True]


def test_tenants_stay_apart(start: Start) -> None:
    ada, bob = new_key("ada"), new_key("bob")
    api = start(api_keys=(ada[1], bob[1]))
    of_ada, of_bob = (f"Bearer {key[0]}" for key in (ada, bob))
    first = upload(api, Authorization=of_ada)
    assert first.status_code == 201
    assert upload(api, Authorization=of_bob).status_code == 201
    assert in_parts(api, key=of_bob).status_code == 200
    assert upload(api, Authorization=of_ada).json()["id"] == first.json()["id"]


def test_an_idempotency_key_gets_the_same_answer(api: Api) -> None:
    first = upload(api)
    keyed = {"Idempotency-Key": "k"}
    a, b = (upload(api, **keyed) for _ in range(2))
    assert a.json() == b.json() == first.json()
    assert b.headers["idempotent-replayed"] == "true"
    assert b.headers["preference-applied"] == "dedupe"
    assert len(stored(api)) == 1


def test_an_invalid_dataset_is_not_used(api: Api) -> None:
    csv = {"Content-Type": "text/csv"}
    first = upload(api, content=b"a,b\n1,2\n", **csv).json()["id"]
    assert upload(api, content=b"a,b\n1,2\n", **csv).json()["id"] == first
    problem = {"type": "/problems/x", "title": "x", "status": 422, "detail": "x"}
    api.service.datasets.inspected("local", first, shape=None, dtype=None, problem=problem)
    assert upload(api, content=b"a,b\n1,2\n", **csv).status_code == 201
