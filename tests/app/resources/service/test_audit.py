"""Who changed what, when and from where, as the audit log has it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.http import auditing
from app.resources.service.audit import routes
from tests.app.conftest import Api, Start, Working, problem_of
from tests.app.tree_kit import NEWICK
from workers.artifacts import audit
from workers.artifacts.audit import AuditWriter, Event, Filter, expire, found
from workers.artifacts.keys import Keys
from workers.errors import StoreUnavailable
from workers.model import now
from workers.stores.objects.local import LocalBlobs
from workers.verification.course import verify


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def listed(api: Api | Working, key: str, **query: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    wanted = dict(query)
    while True:
        answer = api.client.get("/v1/audit", params=wanted, headers=bearer(key))
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page["items"]) <= wanted.get("limit", 50)
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        wanted["cursor"] = page["next_cursor"]


def event(action: str = "POST /v1/jobs", tenant: str = "acme", at: str = "", **more: Any) -> Event:
    fields = {"path": "/v1/jobs", "status": 202, "origin": "10.0.0.1", "request": "r", **more}
    return Event(at=at or now(), tenant=tenant, actor="key_1", action=action, **fields)


def test_changes_refusals_and_links_are_noted(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "_OBJECTS", 2)
    api = working
    keys = Keys(api.service.blobs)
    made, secret = keys.add("acme", "write", name="ci")
    _, read_secret = keys.add("acme", "read")
    other, other_secret = keys.add("other", "write")
    _, admin = keys.add("ops", "admin")
    api.client.portal.call(api.service.keyring.load, keys)  # type: ignore[union-attr]
    hidden = "never-in-the-log"
    headers = {**bearer(secret), "X-Forwarded-For": "192.0.2.7", "Content-Type": "text/x-nh"}
    query = {"name": hidden}
    tree = api.client.post("/v1/trees", params=query, content=NEWICK, headers=headers)
    assert tree.status_code < 300, tree.text
    path = f"/v1/trees/{tree.json()['id']}"
    assert api.client.patch(path, json={"name": hidden}, headers=bearer(secret)).is_success
    assert api.client.get(path, headers=bearer(secret)).is_success  # Nothing changes.
    assert api.client.patch(path, json={"name": "x"}, headers=bearer(read_secret)).is_error
    assert api.client.delete(path, headers=bearer(other_secret)).status_code == 404
    assert api.client.get(path, headers=bearer(hidden)).status_code == 401
    link = api.client.post(f"{path}/shares", json={}, headers=bearer(secret)).json()
    assert api.client.get(path, headers=bearer(link["token"])).is_success
    assert api.client.delete(f"/v1/shares/{link['id']}", headers=bearer(secret)).is_success

    lines = listed(api, admin)[::-1]
    assert [(line["action"], line["actor"], line["status"]) for line in lines] == [
        ("POST /v1/trees", made.id, tree.status_code),
        ("PATCH /v1/trees/{tree_id}", made.id, 200),
        ("sign-in", "unknown", 403),
        ("DELETE /v1/trees/{tree_id}", other.id, 404),
        ("sign-in", "unknown", 401),
        ("POST /v1/trees/{tree_id}/shares", made.id, 201),
        ("GET /v1/trees/{tree_id}", link["id"], 200),
        ("DELETE /v1/shares/{share_id}", made.id, 204),
    ]
    first = lines[0]
    assert (first["tenant"], first["name"], first["role"]) == ("acme", "ci", "write")
    assert (first["origin"], first["forwarded"]) == ("127.0.0.1", "192.0.2.7")
    assert (first["path"], first["made"]) == ("/v1/trees", path)
    assert lines == listed(api, admin, limit=2)[::-1] == sorted(lines, key=lambda each: each["at"])
    for filters, wanted in (
        ({"tenant": "other"}, [3]),
        ({"actor": link["id"]}, [6]),
        ({"action": "DELETE"}, [3, 7]),
        ({"since": lines[5]["at"]}, [5, 6, 7]),
        ({"until": lines[2]["at"]}, [0, 1]),
        ({"since": "2020-01-01T00:00:00+02:00", "until": "2020-02-01T00:00:00Z"}, []),
    ):
        assert listed(api, admin, **filters)[::-1] == [lines[n] for n in wanted], filters
    exported = api.client.get("/v1/audit.jsonl", headers=bearer(admin))
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line) for line in exported.text.splitlines()][::-1] == lines
    lines_alone = {**bearer(admin), "Accept": "application/x-ndjson"}
    assert api.client.get("/v1/audit", headers=lines_alone).text == exported.text
    stored = b"".join(api.service.blobs.get(key) for key in api.service.blobs.keys("audit/"))
    for text in (hidden, secret, link["token"]):
        assert text.encode() not in stored
    for key in (secret, read_secret):
        problem_of(api.client.get("/v1/audit", headers=bearer(key)), 403, "forbidden")
    for wrong in ("x", "é", "MjAyNg", admin):
        answer = api.client.get("/v1/audit", params={"cursor": wrong}, headers=bearer(admin))
        assert answer.status_code == 422, answer.text
    # All that is stored is whole.
    assert verify(api.service.blobs, settle_s=0).findings == ()


def test_a_key_of_the_settings_reads_its_tenants_lines_alone(start: Start) -> None:
    from app.http.environment_keys import new_key

    (one, first), (two, second) = new_key("one"), new_key("two")
    api = start(api_keys=(first, second))
    for key in (one, two):
        assert api.client.post("/v1/uploads", headers=bearer(key)).is_success
    assert [line["tenant"] for line in listed(api, one)] == ["one"]
    answer = api.client.get("/v1/audit", params={"tenant": "two"}, headers=bearer(one))
    problem_of(answer, 403, "forbidden")


def test_a_flood_of_refusals_is_counted_and_not_written(start: Start) -> None:
    api = start(api_keys=("acme:" + "0" * 64,))
    with api_second(api):
        for _ in range(auditing._REFUSALS_PER_S + 7):
            api.client.get("/v1/jobs", headers=bearer("wrong"))
    api.client.get("/v1/jobs", headers=bearer("wrong"))
    writer = api.service.audit.writer
    assert writer is not None
    writer.ship()
    lines = [line for _, line in found(api.service.blobs, Filter()) if line is not None]
    assert len(lines) == auditing._REFUSALS_PER_S + 1
    assert lines[0].skipped == 7


@contextmanager
def api_second(api: Api) -> Iterator[None]:
    """One second of the log's clock, however long it takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.http.auditing.time.monotonic", lambda: 5.0)
        yield


def test_what_a_killed_process_wrote_is_kept(tmp_path: Path) -> None:
    blobs, folder = LocalBlobs(tmp_path / "store"), tmp_path / "audit"
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from workers.artifacts.audit import AuditWriter, Event\n"
        "from workers.stores.objects.local import LocalBlobs\n"
        "writer = AuditWriter(LocalBlobs(Path(sys.argv[1])), Path(sys.argv[2]))\n"
        "for n in range(5):\n"
        "    if n == 3: writer.ship()\n"
        "    writer.write(Event(at='2026-03-01T00:00:00.000000Z', tenant='t', actor='a',\n"
        "        action=str(n), path='/', status=200, origin=None, request='r'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", script, str(blobs.root), str(folder)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (left,) = folder.iterdir()
    with left.open("ab") as file:
        file.write(b'{"at":"cut')
    alive = AuditWriter(blobs, folder)
    alive.write(event(at="2026-03-01T00:00:01.000000Z"))
    other = AuditWriter(blobs, folder)
    assert other.adopt() == 1  # Not what a living process writes.
    assert [line.action for _, line in found(blobs, Filter()) if line is not None] == [
        *("4", "3", "2", "1", "0")
    ]
    alive.ship()
    assert not any(folder.iterdir())
    assert verify(blobs, settle_s=0).findings == ()
    keys = sorted(blobs.keys("audit/"))
    assert len(keys) == 3
    content = blobs.get(keys[1])
    blobs.put(keys[1], content.replace(b'"3"', b'"9"'))
    assert [each.key for each in verify(blobs, settle_s=0, quarantine=False).findings] == [keys[1]]


def test_a_store_that_is_away_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = LocalBlobs(tmp_path / "store")
    writer = AuditWriter(blobs, tmp_path / "audit")
    put = LocalBlobs.put

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(LocalBlobs, "put", away)
    for number in range(3):
        writer.write(event(str(number)))
        with pytest.raises(StoreUnavailable):
            writer.ship()
    monkeypatch.setattr(audit, "MOST_WAITING", 1)
    writer.write(event("too many"))
    monkeypatch.undo()
    assert LocalBlobs.put is put
    writer.ship()
    writer.write(event("3"))
    writer.ship()
    lines = [line for _, line in found(blobs, Filter()) if line is not None]
    assert [(line.action, line.skipped) for line in lines] == [
        *(("3", 1), ("2", 0), ("1", 0), ("0", 0))
    ]


def test_old_days_go(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path / "store")
    writer = AuditWriter(blobs, tmp_path / "audit")
    writer.write(event("old", at="2020-01-01T00:00:00.000000Z"))
    writer.write(event("new"))
    writer.ship()
    assert expire(blobs, 30) == 1
    assert [line.action for _, line in found(blobs, Filter()) if line is not None] == ["new"]


def test_commands_are_noted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UMBEL_STORE_URL", (tmp_path / "store").as_uri())

    def run(*command: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*command])
        assert ended.value.code == 0
        return capsys.readouterr().out

    secret = run("keys", "new", "acme").split()[7]
    key_id = next(iter(Keys(LocalBlobs(tmp_path / "store")).all()))
    run("keys", "revoke", key_id)
    lines = [json.loads(line) for line in run("audit", "--actor", "operator").splitlines()]
    assert [(line["action"], line["path"]) for line in lines] == [
        ("keys revoke", key_id),
        ("keys new", key_id),
    ]
    assert run("audit", "--action", "keys new").count("\n") == 1
    assert run("audit", "--until", "2020-01-01T00:00Z") == ""
    assert secret not in json.dumps(lines)
    assert os.environ["UMBEL_STORE_URL"]
