"""`expires_at` of datasets, uploads and jobs; `umbel gc` on the service's stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from tests.app.conftest import Api, Working, kept_keys, new_job, problem_of
from tests.app.labelled_kit import ROWS, learn
from tests.app.tree_kit import fit
from workers.embedded import EmbeddedServer, address_of
from workers.model import sibling
from workers.stores.objects.job_files import read_request

CSV = {"Content-Type": "text/csv"}
FUTURE = "2099-01-31T02:00:00+02:00"
SAME = "2099-01-31T00:00:00.000000Z"

WRONG = [
    "2020-01-01T00:00:00Z",
    "2099-01-31T00:00:00",
    "2099-01-31",
    "tomorrow",
    "",
    "4102444800",
    "99999-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "2099-01-31T00:00:00Z\r\nX-A: b",
    "2" * 100_000,
]


def upload(api: Api, expires_at: str | None) -> Any:
    params = {} if expires_at is None else {"expires_at": expires_at}
    return api.client.post("/v1/datasets", params=params, content=b"1,2\n", headers=CSV)


def test_an_expiry_is_shown_in_utc(api: Api) -> None:
    dataset = upload(api, FUTURE).json()
    assert dataset["expires_at"] == SAME
    assert api.client.get(f"/v1/datasets/{dataset['id']}").json()["expires_at"] == SAME
    assert upload(api, None).json()["expires_at"] is None
    job = api.client.post("/v1/jobs", json=new_job(expires_at=FUTURE)).json()
    assert job["expires_at"] == SAME
    assert api.client.get(f"/v1/jobs/{job['id']}").json()["expires_at"] == SAME
    api.finish(job["id"])
    assert api.client.get(f"/v1/jobs/{job['id']}").json()["expires_at"] == SAME
    assert api.client.post("/v1/jobs", json=new_job()).json()["expires_at"] is None
    assert api.client.post("/v1/jobs", json=new_job(expires_at=None)).status_code == 202


def test_an_upload_in_parts_hands_its_expiry_on(api: Api) -> None:
    params = {"expires_at": FUTURE, "media_type": "text/csv"}
    begun = api.client.post("/v1/uploads", params=params).json()["id"]
    api.client.put(f"/v1/uploads/{begun}/parts/1", content=b"1,2\n")
    dataset = api.client.post(f"/v1/uploads/{begun}/complete")
    assert dataset.status_code == 201, dataset.text
    assert dataset.json()["expires_at"] == SAME


@pytest.mark.parametrize("text", WRONG[:-1])
def test_an_expiry_that_cannot_be_is_refused(api: Api, text: str) -> None:
    job = problem_of(
        api.client.post("/v1/jobs", json=new_job(expires_at=text)), 422, "invalid-request"
    )
    assert job["errors"][0]["pointer"] == "/expires_at"
    assert "in the future with its offset" in job["detail"]
    problem_of(upload(api, text), 422, "invalid-request")
    answer = api.client.post("/v1/uploads", params={"expires_at": text})
    problem_of(answer, 422, "invalid-request")
    assert kept_keys(api.service.blobs) == set()


@pytest.mark.parametrize("value", [4102444800, 1e300, True, [FUTURE], {}, WRONG[-1]])
def test_an_expiry_is_text(api: Api, value: object) -> None:
    answer = api.client.post("/v1/jobs", json=new_job(expires_at=value))
    problem_of(answer, 422, "invalid-request")


def gc(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> str:
    monkeypatch.setenv("UMBEL_REDIS_URL", api.settings.redis_url)
    monkeypatch.setenv("UMBEL_STORE_URL", api.settings.store_url)
    monkeypatch.setenv("UMBEL_KEY_PREFIX", api.settings.key_prefix)
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["gc", *options])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_gc_lists_and_removes(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lone, used = upload(api, FUTURE).json()["id"], upload(api, FUTURE).json()["id"]
    body = new_job(inputs={"logits": used})
    job = api.client.post("/v1/jobs", json=body).json()["id"]
    for dataset in (lone, used):
        api.service.datasets.settle(
            "local", dataset, shape=(1, 2), dtype="float64", problem=None, job_id=None
        )
    for _, inspection in api.sent:
        if inspection != job:
            api.service.ledger.delete("local", inspection)
    assert gc(api, monkeypatch, capsys, "--dry-run") == "0 would go, 0 bytes\n"
    expiries = f"{api.settings.key_prefix}expiries"
    api.service.redis.zadd(expiries, {lone: 1, used: 1})
    listed = gc(api, monkeypatch, capsys, "--dry-run")
    assert f"{lone}  local  4 bytes  would go: it has expired" in listed
    assert f"{used}  local  4 bytes  kept, since {job} needs it: it has expired" in listed
    assert listed.endswith("1 would go, 4 bytes\n")
    assert api.client.get(f"/v1/datasets/{lone}").status_code == 200
    assert "1 removed, 4 bytes" in gc(api, monkeypatch, capsys)
    problem_of(api.client.get(f"/v1/datasets/{lone}"), 404, "not-found")
    assert api.client.get(f"/v1/datasets/{used}").status_code == 200
    assert gc(api, monkeypatch, capsys).endswith("0 removed, 0 bytes\n")


def test_gc_without_a_service(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("UMBEL_REDIS_URL", "UMBEL_STORE_URL"):
        monkeypatch.delenv(name, raising=False)
    for options, message in (
        ([], "UMBEL_REDIS_URL"),
        (["--data-dir", str(tmp_path)], "No `umbel serve`"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["gc", *options])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
    monkeypatch.setenv("UMBEL_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("UMBEL_STORE_URL", tmp_path.as_uri())
    with pytest.raises(SystemExit) as ended:
        main(["gc"])
    assert ended.value.code == 1
    assert "does not answer" in capsys.readouterr().err


def test_the_address_of_an_embedded_server(tmp_path: Path) -> None:
    for name in ("redis", 'a "quoted" \\ name', "long" * 30):
        folder = tmp_path / name
        server = EmbeddedServer(folder)
        server._write_config()
        assert address_of(folder) == server.url
    assert address_of(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("evaluations", {"labels": [0, 1, 1]}),
        ("predictions", {"inputs": {"logits": [[4.0, 1.0, 0.0]]}}),
    ],
)
def test_work_on_a_tree_expires(working: Working, path: str, body: dict[str, Any]) -> None:
    tree = fit(working, "l2h", {"logits": [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]})
    at, client = f"/v1/trees/{tree['id']}/{path}", working.client
    done = client.post(at, json={**body, "expires_at": FUTURE}, headers={"Prefer": "wait=60"})
    assert done.status_code == 200, done.text
    [job] = [each for each in client.get("/v1/jobs").json()["items"] if each["kind"] != "fit"]
    assert job["expires_at"] == SAME
    request = read_request(working.service.blobs, "local", job["id"])
    assert request is not None
    assert request.expires_at == SAME
    assert "expires_at" not in request.options
    for wrong in (WRONG[0], 4102444800):
        refused = client.post(at, json={**body, "expires_at": wrong})
        problem = problem_of(refused, 422, "invalid-request")
        assert problem["errors"][0]["pointer"] == "/expires_at"


def test_transformed_rows_expire_with_their_job(working: Working) -> None:
    model, client = learn(working)["result"]["model"], working.client
    at, body = f"/v1/models/{model}/transformations", {"inputs": {"features": ROWS[:4].tolist()}}
    wait = {"Prefer": "wait=60"}
    dataset = client.post(at, json={**body, "expires_at": FUTURE}, headers=wait)
    assert dataset.status_code == 201, dataset.text
    assert dataset.json()["expires_at"] == SAME
    assert client.post(at, json=body, headers=wait).json()["expires_at"] is None
    jobs = client.get("/v1/jobs").json()["items"]
    assert [job["expires_at"] for job in jobs if job["kind"] == "transform"] == [None, SAME]
    problem_of(client.post(at, json={**body, "expires_at": WRONG[0]}), 422, "invalid-request")
    # Both go once that time has passed.
    own, job = dataset.json()["id"], sibling(dataset.json()["id"], "job")
    keys = working.service.settings.key_prefix
    working.service.redis.zadd(f"{keys}expiries", {own: 1, job: 1})
    working.service.ledger.retention.run()
    problem_of(client.get(f"/v1/datasets/{own}"), 404, "not-found")
    problem_of(client.get(f"/v1/jobs/{job}"), 404, "not-found")


def test_a_comparison_expires(api: Api) -> None:
    body = {
        "inputs": {"features": [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 4.0]]},
        "runs": [{"method": "hac"}],
    }
    comparison = api.client.post("/v1/comparisons", json={**body, "expires_at": FUTURE}).json()
    assert comparison["expires_at"] == SAME
    at = f"/v1/comparisons/{comparison['id']}"
    assert api.client.get(at).json()["expires_at"] == SAME
    assert api.client.post("/v1/comparisons", json=body).json()["expires_at"] is None
    refused = api.client.post("/v1/comparisons", json={**body, "expires_at": WRONG[0]})
    problem_of(refused, 422, "invalid-request")
    # It goes once that time has passed and the job has ended.
    job = sibling(comparison["id"], "job")
    result = {"comparison": {"table": [], "best": {}}}
    api.finish(job, result=result)
    api.service.redis.zadd(f"{api.settings.key_prefix}expiries", {job: 1})
    api.service.ledger.retention.run()
    problem_of(api.client.get(at), 404, "not-found")
