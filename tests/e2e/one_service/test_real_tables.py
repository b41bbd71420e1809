"""Tables as real tools export them: by HTTP, by the Python client and on the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from tests.e2e.client import Api
from tests.e2e.conftest import Service
from tests.workers.formats.real_tables_kit import TABLES, Real
from umbel_client import File, Umbel, UmbelError
from workers.formats.catalogue import FORMATS

MEDIA = {"csv": "text/csv", "tsv": "text/tab-separated-values", "txt": "text/csv"}


def media_of(real: Real) -> str:
    return MEDIA.get(real.ending) or FORMATS[real.format].media_types[0]


def check(real: Real, body: dict[str, Any]) -> None:
    """A dataset is described as is right."""
    if real.refusal:
        assert body["status"] == "invalid", real.name
        assert [word for word in real.refusal if word not in body["problem"]["detail"]] == []
        return
    assert body["status"] == "ready", (real.name, body["problem"])
    assert body["shape"] == [len(real.values), len(real.values[0])], real.name
    used = [column["name"] for column in body["columns"] if column["role"] == "feature"]
    assert used == list(real.features), real.name
    note = " ".join(body["warnings"])
    assert [word for word in real.words if word not in note] == [], real.name


def test_by_http(service: Service, api: Api) -> None:
    for real in TABLES.values():
        answer = service.client.post(
            "/v1/datasets",
            params={"role": "features"},
            content=real.content,
            headers={"Content-Type": media_of(real)},
        )
        if answer.status_code in (400, 422):
            assert [word for word in real.refusal if word not in answer.json()["detail"]] == []
            assert real.refusal
            continue
        assert answer.status_code == 201, answer.text
        body = api.inspected(answer.json())
        check(real, body)
        if real.refusal:
            continue
        job = service.client.post(
            "/v1/jobs",
            json={"method": "hac", "inputs": {"features": body["id"]}},
            headers={"Prefer": "wait=60"},
        ).json()
        assert job["status"] == "succeeded", (real.name, job)
        tree = job["result"]["tree"]
        found = service.client.get(f"/v1/trees/{tree}/assignments?k=2").json()
        if real.ids is not None:
            assert found["ids"] == list(real.ids), real.name


def test_by_the_python_client(service: Service, tmp_path: Path) -> None:
    with Umbel(service.url) as umbel:
        for number, real in enumerate(TABLES.values()):
            path = tmp_path / f"{number}.{real.ending}"
            path.write_bytes(real.content)
            given = File(path, media_type=media_of(real))
            if real.refusal:
                with pytest.raises(UmbelError) as caught:
                    umbel.run("hac", features=given, progress=False)
                assert [word for word in real.refusal if word not in str(caught.value)] == []
                continue
            dataset = umbel.upload(given, progress=False)
            while dataset.status == "inspecting":
                time.sleep(0.05)
                dataset.refresh()
            check(real, dict(dataset.body))


def test_on_the_command_line(
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("UMBEL_URL", service.url)
    for number, real in enumerate(TABLES.values()):
        path = tmp_path / f"{number}.{'csv' if real.ending == 'txt' else real.ending}"
        path.write_bytes(real.content)
        tree = tmp_path / f"{number}.nwk"
        with pytest.raises(SystemExit) as ended:
            main(["run", "hac", str(path), "--out", str(tree)])
        output, error = capsys.readouterr()
        assert "Traceback" not in error
        if real.refusal:
            assert ended.value.code != 0
            assert [word for word in real.refusal if word not in error] == [], error
            continue
        assert ended.value.code == 0, (real.name, error)
        shown = output + error
        plain = shown.replace("\n", " ")
        assert [word for word in real.words if word not in plain] == [], shown
        if real.ids is not None:
            newick = tree.read_text(encoding="utf-8")
            assert [own for own in real.ids if own not in newick] == [], newick
