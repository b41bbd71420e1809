"""PATCH of names, descriptions and tags; If-Match; lists by name and tag."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.http.environment_keys import new_key
from tests.app.conftest import Api, Start, Working, new_job, problem_of
from tests.app.tree_kit import NEWICK, fit, post
from workers.artifacts.keys import Keys
from workers.stores.objects.local import LocalBlobs

MERGE = "application/merge-patch+json"
POINTS = [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 4.0]]


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(POINTS))
    return buffer.getvalue()


@pytest.fixture
def paths(working: Working) -> list[str]:
    """A dataset, a job with its tree and its model, and an imported tree."""
    dataset = working.client.post(
        "/v1/datasets?name=first", content=npy(), headers={"Content-Type": "application/x-npy"}
    ).json()
    job = fit(
        working, "kmeans", {"features": dataset["id"]}, params={"n_clusters": 2}, name="first"
    )
    imported = post(working, NEWICK, name="first")
    return [
        f"/v1/datasets/{dataset['id']}",
        f"/v1/jobs/{job['job']}",
        f"/v1/trees/{job['id']}",
        f"/v1/models/md_{job['id'][3:]}",
        f"/v1/trees/{imported['id']}",
    ]


def test_a_patch_changes_what_it_names(working: Working, paths: list[str]) -> None:
    for path in paths:
        before = working.client.get(path)
        assert before.json()["name"] == "first"
        assert before.json()["tags"] == []
        unchanged = working.client.patch(path, json={})
        assert unchanged.status_code == 200, unchanged.text
        assert unchanged.headers["etag"] == before.headers["etag"]
        answer = working.client.patch(
            path,
            json={"description": "<b>\u00e9\u0000", "tags": ["b", "a", "b"]},
            headers={"Content-Type": MERGE},
        )
        assert answer.status_code == 200, answer.text
        after = working.client.get(path)
        assert answer.headers["etag"] == after.headers["etag"] != before.headers["etag"]
        for body in (answer.json(), after.json()):
            assert body["name"] == "first"
            assert body["description"] == "<b>\u00e9\u0000"
            assert body["tags"] == ["b", "a"]
        answer = working.client.patch(path, json={"name": None, "tags": None})
        assert answer.json()["name"] is None
        assert answer.json()["tags"] == []
        assert answer.json()["description"] == "<b>\u00e9\u0000"
        assert working.client.get(path).json()["name"] is None


def test_if_match_refuses_what_was_changed_by_another(working: Working, paths: list[str]) -> None:
    for path in paths:
        old = working.client.get(path).headers["etag"]
        match = {"If-Match": old}
        assert working.client.get(path, headers=match).status_code == 200
        new = working.client.patch(path, json={"name": "mine"}, headers=match).headers["etag"]
        for method in ("GET", "PATCH", "DELETE"):
            body = {"json": {"name": "theirs"}} if method == "PATCH" else {}
            answer = working.client.request(method, path, headers=match, **body)
            problem_of(answer, 412, "precondition-failed")
        weak = {"If-Match": f"W/{new}"}
        problem_of(working.client.patch(path, json={}, headers=weak), 412, "precondition-failed")
        several = {"If-Match": f'"other", {new}'}
        assert working.client.patch(path, json={}, headers=several).status_code == 200
        assert working.client.patch(path, json={}, headers={"If-Match": "*"}).status_code == 200
        assert working.client.get(path).json()["name"] == "mine"
    for path in (paths[3], paths[2], paths[4], paths[0], paths[1]):
        etag = working.client.get(path).headers["etag"]
        assert working.client.delete(path, headers={"If-Match": etag}).status_code == 204
        problem_of(working.client.get(path), 404, "not-found")
        problem_of(working.client.patch(path, json={}, headers={"If-Match": "*"}), 404, "not-found")


def test_the_etag_of_any_form_of_a_tree_will_do(working: Working) -> None:
    path = f"/v1/trees/{post(working, NEWICK)['id']}"
    etag = working.client.get(f"{path}.nwk").headers["etag"]
    answer = working.client.patch(path, json={"name": "x"}, headers={"If-Match": etag})
    assert answer.status_code == 200
    assert working.client.get(f"{path}.nwk").headers["etag"] != etag


@pytest.mark.parametrize(
    "body",
    [
        {"status": "succeeded"},
        {"tags": "one"},
        {"tags": [""]},
        {"tags": [" a"]},
        {"tags": ["a\n"]},
        {"tags": ["a\u0000b"]},
        {"tags": ["x" * 101]},
        {"tags": [str(k) for k in range(51)]},
        {"name": "x" * 1001},
        {"name": 1},
        {"description": "x" * 10_001},
        [],
    ],
)
def test_what_cannot_be_set_is_refused(api: Api, body: Any) -> None:
    job = api.client.post("/v1/jobs", json=new_job(name="kept")).json()
    path = f"/v1/jobs/{job['id']}"
    problem_of(api.client.patch(path, json=body), 422, "invalid-request")
    assert api.client.get(path).json() == job


def test_half_a_surrogate_and_other_types_are_refused(api: Api) -> None:
    path = f"/v1/jobs/{api.client.post('/v1/jobs', json=new_job()).json()['id']}"
    json = {"Content-Type": "application/json"}
    for text in (b'{"tags": ["\\ud800"]}', b'{"name": "\\udc00"}'):
        problem_of(api.client.patch(path, content=text, headers=json), 422, "invalid-request")
    text = {"Content-Type": "text/plain"}
    answer = api.client.patch(path, content=b"{}", headers=text)
    problem_of(answer, 415, "unsupported-format")
    answer = api.client.patch(path, content=b"{", headers=json)
    problem_of(answer, 400, "malformed")
    answer = api.client.patch(path, content=b"x" * (17 << 20), headers=json)
    problem_of(answer, 413, "too-large")


def test_tenants_and_readers_stay_apart(start: Start) -> None:
    ada, bob = new_key("ada"), new_key("bob")
    api = start(api_keys=(ada[1], bob[1]))
    of_ada, of_bob = ({"Authorization": f"Bearer {key[0]}"} for key in (ada, bob))
    job = api.client.post("/v1/jobs", json=new_job(), headers=of_ada).json()["id"]
    patch = {"tags": ["ours"]}
    answer = api.client.patch(f"/v1/jobs/{job}", json=patch, headers=of_bob)
    problem_of(answer, 404, "not-found")
    assert list(api.service.blobs.keys(f"jobs/bob/{job}")) == []
    assert api.client.patch(f"/v1/jobs/{job}", json=patch, headers=of_ada).status_code == 200
    for headers, jobs in ((of_ada, [job]), (of_bob, [])):
        answer = api.client.get("/v1/jobs?tag=ours", headers=headers)
        assert [item["id"] for item in answer.json()["items"]] == jobs


def test_a_key_that_may_only_read_changes_nothing(start: Start, tmp_path: Path) -> None:
    stored = Keys(LocalBlobs(tmp_path / "store"))
    _, reading = stored.add("ada", "read")
    _, writing = stored.add("ada", "write")
    api = start()
    reader, writer = ({"Authorization": f"Bearer {key}"} for key in (reading, writing))
    path = f"/v1/jobs/{api.client.post('/v1/jobs', json=new_job(), headers=writer).json()['id']}"
    problem_of(api.client.patch(path, json={"name": "x"}, headers=reader), 403, "forbidden")
    assert api.client.get(path, headers=reader).json()["name"] is None
    assert api.client.patch(path, json={"name": "x"}, headers=writer).status_code == 200


def test_lists_by_name_and_tag(working: Working, paths: list[str]) -> None:
    for path in paths:
        working.client.patch(path, json={"tags": ["a b", "\u00fc"], "name": "n"})
    for path in (paths[0], paths[1], paths[2]):
        kind, own_id = path.split("/")[2:]

        def ids(query: str, kind: str = kind) -> list[str]:
            answer = working.client.get(f"/v1/{kind}?{query}")
            assert answer.status_code == 200, answer.text
            return [item["id"] for item in answer.json()["items"]]

        assert own_id in ids("tag=a%20b")
        assert own_id in ids("tag=a%20b&tag=%C3%BC")
        assert own_id in ids("name=n&tag=%C3%BC")
        assert ids("tag=a%20b&tag=other") == []
        assert ids("name=first&tag=a%20b") == []
        assert ids("name=other") == []
        answer = working.client.get(f"/v1/{kind}?tag={'x' * 101}")
        problem_of(answer, 422, "invalid-request")
    trees = working.client.get("/v1/trees?tag=%C3%BC&limit=1").json()
    following = working.client.get(
        f"/v1/trees?tag=%C3%BC&limit=1&cursor={trees['next_cursor']}"
    ).json()
    both = [item["id"] for page in (trees, following) for item in page["items"]]
    assert both == [paths[4].split("/")[3], paths[2].split("/")[3]]
    assert following["next_cursor"] is None


def test_cancel_and_parts_honour_if_match(api: Api) -> None:
    job = api.client.post("/v1/jobs", json=new_job())
    path = f"/v1/jobs/{job.json()['id']}"
    stale = {"If-Match": '"stale"'}
    problem_of(api.client.post(f"{path}/cancel", headers=stale), 412, "precondition-failed")
    assert api.client.get(path).json()["status"] == "queued"
    fresh = {"If-Match": api.client.get(path).headers["etag"]}
    assert api.client.post(f"{path}/cancel", headers=fresh).json()["status"] == "cancelled"

    upload = f"/v1/uploads/{api.client.post('/v1/uploads').json()['id']}"
    empty = api.client.get(upload).headers["etag"]
    part = f"{upload}/parts/1"
    refused = api.client.put(part, content=b"x", headers={"If-Match": "*"})
    problem_of(refused, 412, "precondition-failed")
    etag = api.client.put(part, content=npy()).headers["etag"]
    problem_of(api.client.put(part, content=b"x", headers=stale), 412, "precondition-failed")
    assert api.client.put(part, content=npy(), headers={"If-Match": etag}).status_code == 204
    old = {"If-Match": empty}
    problem_of(api.client.post(f"{upload}/complete", headers=old), 412, "precondition-failed")
    problem_of(api.client.delete(upload, headers=old), 412, "precondition-failed")
    new = {"If-Match": api.client.get(upload).headers["etag"]}
    dataset = api.client.post(f"{upload}/complete", headers=new)
    assert dataset.status_code == 201, dataset.text
    content = f"/v1/datasets/{dataset.json()['id']}/content"
    problem_of(api.client.get(content, headers=stale), 412, "precondition-failed")


def test_what_is_made_has_description_and_tags_at_once(working: Working) -> None:
    facts = {"description": "first try", "tags": ["b", "a"]}
    query = "description=first%20try&tag=b&tag=a&tag=b"
    client = working.client
    npy_type = {"Content-Type": "application/x-npy"}
    dataset = client.post(f"/v1/datasets?{query}", content=npy(), headers=npy_type).json()["id"]
    upload = client.post(f"/v1/uploads?{query}").json()["id"]
    client.put(f"/v1/uploads/{upload}/parts/0", content=npy())
    in_parts = client.post(f"/v1/uploads/{upload}/complete", json={}).json()["id"]
    job = fit(
        working,
        "kmeans",
        {"features": dataset},
        params={"n_clusters": 2},
        name="first",
        description="first try",
        tags=["b", "a", "b"],
    )
    imported = client.post(
        f"/v1/trees?{query}", content=NEWICK, headers={"Content-Type": "text/x-nh"}
    ).json()
    paths = {
        f"/v1/datasets/{dataset}": "/v1/datasets",
        f"/v1/datasets/{in_parts}": "/v1/datasets",
        f"/v1/jobs/{job['job']}": "/v1/jobs",
        f"/v1/trees/{job['id']}": "/v1/trees",
        f"/v1/trees/{imported['id']}": "/v1/trees",
        f"/v1/models/md_{job['id'][3:]}": None,
    }
    for path, listed in paths.items():
        body = client.get(path).json()
        assert {name: body[name] for name in facts} == facts, path
        changed = client.patch(path, json={"tags": ["c"]}).json()
        assert (changed["description"], changed["tags"]) == ("first try", ["c"])
        if listed is not None:
            for tag, there in (("a", False), ("c", True)):
                items = client.get(f"{listed}?tag={tag}").json()["items"]
                assert (body["id"] in [item["id"] for item in items]) == there, path


def test_tags_of_what_is_made_are_restored(api: Api) -> None:
    body = {**new_job(), "name": "n", "description": "d", "tags": ["x"]}
    job = api.client.post("/v1/jobs", json=body).json()
    assert (job["description"], job["tags"]) == ("d", ["x"])
    comparison = api.client.post(
        "/v1/comparisons",
        json={"inputs": {"features": POINTS}, "runs": [{"method": "hac"}], "tags": ["x", "y"]},
    ).json()
    assert comparison["tags"] == ["x", "y"]
    api.service.redis.flushdb()
    for path, ids in (
        ("/v1/jobs?tag=x", [comparison["job"], job["id"]]),
        ("/v1/comparisons?tag=y", [comparison["id"]]),
    ):
        items = api.client.get(path).json()["items"]
        assert [item["id"] for item in items] == ids


@pytest.mark.parametrize("tags", ["x", [""], [" a"], ["x" * 101], [str(k) for k in range(51)]])
def test_tags_that_cannot_be_are_refused(api: Api, tags: Any) -> None:
    body = {**new_job(), "tags": tags}
    problem_of(api.client.post("/v1/jobs", json=body), 422, "invalid-request")


def test_lists_are_searched_by_words(working: Working) -> None:
    client = working.client
    headers = {"Content-Type": "application/x-npy"}
    dataset = client.post(
        "/v1/datasets?name=Blue+Whales&description=by+the+sea&tag=thesis",
        content=npy(),
        headers=headers,
    ).json()["id"]
    client.post("/v1/datasets?name=other", content=npy(), headers=headers)
    tree = fit(
        working, "kmeans", {"features": dataset}, params={"n_clusters": 2}, name="Whale groups"
    )
    client.patch(f"/v1/trees/{tree['id']}", json={"tags": ["ocean"], "name": "Sea"})
    made = {"datasets": dataset, "jobs": tree["job"], "trees": tree["id"]}
    for listed, words in (
        *(("datasets", each) for each in ("whale BLUE", "THE sea", "thes", dataset)),
        *(("jobs", each) for each in ("whale", "groups kmeans", tree["job"])),
        *(("trees", each) for each in ("sea ocean", "KMEANS")),
    ):
        items = client.get(f"/v1/{listed}", params={"q": words}).json()["items"]
        assert [item["id"] for item in items] == [made[listed]], (listed, words)
    for listed, words in (("datasets", "whale red"), ("trees", "whale"), ("jobs", "sea")):
        assert client.get(f"/v1/{listed}", params={"q": words}).json()["items"] == []
    problem_of(client.get("/v1/jobs", params={"q": "x" * 201}), 422, "invalid-request")


def test_named_jobs_are_searched(working: Working) -> None:
    tree = fit(working, "hac", {"features": POINTS})
    made = working.client.post(
        f"/v1/trees/{tree['id']}/maps", json={"name": "Plane"}, headers={"Prefer": "wait=60"}
    ).json()
    for words, found in (("plane", [made["id"]]), ("plain", [])):
        items = working.client.get("/v1/maps", params={"q": words}).json()["items"]
        assert [item["id"] for item in items] == found
