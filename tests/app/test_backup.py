"""A restored store, and one of the version before, serve the same trees; a newer one is refused."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.cli import main
from app.main import create_app
from tests.app.conftest import make_settings
from tests.app.worker_kit import Work
from umbel import floors
from workers.embedded import EmbeddedServer
from workers.stores.objects.layout import FORMAT_MARK

OLD = Path(__file__).parent / "store-without-mark.zip"
"""Made by the version before stores had a mark: a dataset, a tree by `hac`, a model and a tree by
`l2h`, and a job by `l2h` that waits."""

DATASET, TREE = "ds_01m89b2ewfjdn602axn6w8vfat", "tr_01m89b2f2fja4pzw05vbhqazmj"
MODEL_TREE, WAITING = "tr_01m89b2kmgf7br1vvf48a1s7pa", "job_01m89b2p4d1gvkgbmgh3jssv4c"
NEWICK = (
    "(((2:1.0,3:1.0):5.807113394180414,4:6.807113394180414):0.9280357183542307,"
    "(0:1.0,1:1.0):6.7351491125346445);"
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The data directory of the version before: its store, in a service that is stopped."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path / "old" / "store")
    return tmp_path / "old"


def answers(valkey: EmbeddedServer, store: Path, prefix: str) -> dict[str, Any]:
    """What a service on a store and an empty Redis says, its waiting job run first."""
    work = Work(store.parent / f"{prefix}-attempts")
    changes = {"store_url": store.as_uri(), "key_prefix": f"{prefix}:"}
    app = create_app(make_settings(valkey, store.parent, **changes), work)
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)) as client:
        work.service = app.state.service
        work.service.ledger.ensure_built()
        work("cpu", WAITING)
        work.join()
        paths = (
            f"/v1/datasets/{DATASET}",
            "/v1/datasets",
            f"/v1/trees/{TREE}",
            f"/v1/trees/{TREE}.nwk",
            f"/v1/trees/{MODEL_TREE}",
            "/v1/trees",
            f"/v1/models/{MODEL_TREE.replace('tr_', 'md_')}",
            f"/v1/jobs/{TREE.replace('tr_', 'job_')}",
        )
        responses = {path: client.get(path) for path in paths}
        assert {path: answer.status_code for path, answer in responses.items()} == dict.fromkeys(
            paths, 200
        )
        job = client.get(f"/v1/jobs/{WAITING}").json()
        assert job["status"] == "succeeded"
        return {path: answer.text for path, answer in responses.items()}


def test_a_store_of_the_version_before_opens_and_its_backup_serves_the_same(
    old: Path, valkey: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UMBEL_STORE_URL", raising=False)
    for command in (
        ["backup", str(tmp_path / "copy"), "--data-dir", str(old)],
        ["restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "new")],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 0
    first = answers(valkey, old / "store", f"{tmp_path.name}-old")
    assert first[f"/v1/trees/{TREE}.nwk"].strip() == NEWICK
    second = answers(valkey, tmp_path / "new" / "store", f"{tmp_path.name}-new")
    # The tree of the job that waited has its own times.
    waited = WAITING.replace("job_", "tr_")
    lists = [json.loads(texts.pop("/v1/trees"))["items"] for texts in (first, second)]
    assert [[tree["id"] for tree in trees] for trees in lists] == [
        [waited, MODEL_TREE, TREE],
        [waited, MODEL_TREE, TREE],
    ]
    assert lists[0][1:] == lists[1][1:]
    assert {path: without_version(text) for path, text in first.items()} == {
        path: without_version(text) for path, text in second.items()
    }
    # Nobody else reads it: it has the webhooks' secret, and all data.
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0


def without_version(text: str) -> Any:
    """JSON without a job's `version`, which is the time of the rebuild."""
    try:
        body = json.loads(text)
    except ValueError:
        return text
    if isinstance(body, dict):
        body.pop("version", None)
    return body


@pytest.mark.parametrize("command", ["api", "worker", "serve", "backup"])
def test_a_newer_store_is_refused(
    old: Path, valkey: EmbeddedServer, tmp_path: Path, command: str
) -> None:
    (old / "store" / FORMAT_MARK).parent.mkdir()
    (old / "store" / FORMAT_MARK).write_text('{"format": 2}')
    env = {**os.environ, "UMBEL_REDIS_URL": valkey.url, "UMBEL_STORE_URL": ""}
    if command in ("api", "worker"):
        env["UMBEL_STORE_URL"] = (old / "store").as_uri()
    arguments = {
        "api": ["--port", "0"],
        "worker": [],
        "serve": ["--port", "0", "--data-dir", str(old)],
        "backup": [str(tmp_path / "copy"), "--data-dir", str(old)],
    }
    done = subprocess.run(
        floors.command("app.cli", command, *arguments[command]),
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 2
    assert "written by a newer version of Umbel: it has format 2" in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_of_backup_and_restore(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UMBEL_STORE_URL", (tmp_path / "empty").as_uri())
    for command, text in (
        (["backup", str(tmp_path / "copy")], "The store is empty"),
        (["restore", str(tmp_path / "copy")], "This is no backup"),
        (["backup", "ftp://host/copy"], "use file:///folder, s3://"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 2
        assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["verify", "--data-dir", "there"], "there has no store"),
        (["backup", "copy", "--data-dir", "there"], "there has no store"),
        (["restore", "copy", "--data-dir", "there"], "There is no folder copy."),
        (["verify", "--backup", "copy"], "There is no folder copy."),
    ],
)
def test_a_place_that_is_mistyped_is_neither_whole_nor_made(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UMBEL_STORE_URL", raising=False)
    assert status(command) == 2
    assert text in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_empty_store_is_not_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UMBEL_STORE_URL", (tmp_path / "mistyped").as_uri())
    assert status(["verify"]) == 2
    assert "The store is empty" in capsys.readouterr().err


def status(command: list[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        main(command)
    return ended.value.code


def test_a_verification_names_what_is_damaged(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a store without seals one content that changed is found, marked and brought back."""
    monkeypatch.setattr("workers.verification.course.SETTLE_S", 0.0)
    monkeypatch.delenv("UMBEL_STORE_URL", raising=False)
    there, copy = ["--data-dir", str(old)], str(tmp_path / "copy")
    assert status(["verify", *there]) == 0
    assert status(["backup", copy, *there]) == 0
    content = next((old / "store" / "datasets").rglob("content"))
    content.write_bytes(content.read_bytes()[:-1])
    key = content.relative_to(old / "store").as_posix()
    capsys.readouterr()
    assert status(["verify", "--json", "--rate", "100", *there]) == 3
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(each["key"], each["what"]) for each in found] == [(key, "damaged")]
    assert DATASET in found[0]["owner"]
    assert (old / "store" / "quarantine" / key).exists()
    assert status(["verify", "--backup", copy, *there]) == 0
    assert status(["verify", "--restore-from", copy, *there]) == 0
    assert f"restored: {key}" in capsys.readouterr().out
    assert not (old / "store" / "quarantine" / key).exists()
    Path(copy, "service", "stray").write_text("x")
    assert status(["verify", "--backup", copy, *there]) == 3
    assert "service/stray" in capsys.readouterr().out
