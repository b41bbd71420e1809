"""A service with a method of another distribution, over HTTP and by the client's commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.cli import main
from app.main import create_app
from tests.app.conftest import Given
from tests.app.worker_kit import Work
from tests.conftest import ROOT
from tests.e2e.conftest import Service, running
from umbel_client import Umbel
from workers.embedded import EmbeddedServer

ROWS = [[0.1, 3.0], [0.4, 1.0], [2.0, 1.0], [2.1, 5.0], [0.2, 2.0], [1.9, 0.0]]
SIDES = [0, 0, 1, 1, 0, 1]
BODY = {"method": "median-split", "inputs": {"features": ROWS}, "params": {"feature": 0}}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service") / "data"


@pytest.fixture(scope="module")
def service(path: str, data_dir: Path) -> Iterator[Service]:
    with running(data_dir, workers=1, PYTHONPATH=path) as service:
        yield service


def sides(leaves: Any) -> list[int]:
    """The clusters of rows, numbered in the order in which they appear."""
    _, first, side = np.unique(leaves, return_index=True, return_inverse=True)
    return list(np.argsort(np.argsort(first))[side])


def test_the_catalogue_and_the_version_name_it(service: Service) -> None:
    entries = {each["id"]: each for each in service.client.get("/v1/methods").json()["items"]}
    assert entries["median-split"]["family"] == "toys"
    assert entries["median-split"] == service.client.get("/v1/methods/median-split").json()
    assert entries["hac"]["family"] == "features"
    assert not {"gone", "unfinished"} & entries.keys()
    found = {each.pop("name"): each for each in service.client.get("/v1/version").json()["plugins"]}
    assert found["median-split"] == {
        "distribution": "toy-methods",
        "version": "0.3",
        "problem": None,
    }
    assert found["hac"]["problem"] == "Umbel has a method of this id."
    assert found["gone"]["problem"].endswith("cannot be imported: ModuleNotFoundError.")
    assert "_predict" in found["unfinished"]["problem"]


def test_the_log_names_what_is_left_out(service: Service) -> None:
    service.client.get("/v1/version")
    log = (service.data_dir / "log").read_text()
    assert "the method 'gone' of toy-methods 0.3 is left out" in log
    assert "No module named 'toy_methods.gone'" in log


def test_the_document_has_its_parameters_beside_the_committed_ones(service: Service) -> None:
    served = service.client.get("/openapi.json").json()
    committed = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    schemas = served["components"]["schemas"]
    own = {name for name in schemas if name not in committed["components"]["schemas"]}
    assert own == {f"PluginMedianSplit{kind}" for kind in ("Params", "Job", "Step", "Run")}
    assert schemas["PluginMedianSplitParams"]["properties"]["feature"]["maximum"] == 1_000_000
    job = schemas["NewJob"]
    reference = "#/components/schemas/PluginMedianSplitJob"
    assert job["discriminator"]["mapping"].pop("median-split") == reference
    assert job["oneOf"].pop() == {"$ref": reference}
    assert job == committed["components"]["schemas"]["NewJob"]


def test_a_job_of_it_over_http(service: Service) -> None:
    job = service.ended(service.submit(BODY))
    assert job["status"] == "succeeded", job
    tree = f"/v1/trees/{job['result']['tree']}"
    assert service.client.get(f"{tree}.png").content.startswith(b"\x89PNG")
    body = {"inputs": {"features": [[0.0, 9.0], [3.0, 9.0]]}}
    answer = service.client.post(f"/v1/models/{job['result']['model']}/predictions", json=body)
    assert [row["leaf"] for row in answer.json()["items"]] == [1, 2]


def test_wrong_parameters_of_it_are_refused(service: Service) -> None:
    answer = service.client.post("/v1/jobs", json={**BODY, "params": {"feature": -1}})
    assert answer.status_code == 422
    job = service.ended(service.submit({**BODY, "params": {"feature": 9}}))
    assert "There is no column 9" in job["error"]["detail"]


def test_the_client_runs_it(service: Service) -> None:
    with Umbel(service.url) as umbel:
        tree = umbel.run("median-split", features=np.array(ROWS), feature=0)
        assert sides(tree.assignments(k=2)) == SIDES
        comparison = umbel.compare(["hac", ("median-split", {"feature": 1})], features=ROWS)
        assert [row["error"] for row in comparison.table] == [None, None]


def command(path: str, folder: Path, *words: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "umbel", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


RUN = ("run", "median-split", "x.npy", "--feature", "0", "--out", "rows.npy", "--cut", "k=2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.array(ROWS))
    return tmp_path


def test_the_command_runs_it_by_a_service_where_it_is_not_installed(
    service: Service,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)

    def alone(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--url", service.url])
        output, error = capsys.readouterr()
        assert not ended.value.code, error
        return output + error

    alone(*RUN)
    assert sides(np.load("rows.npy")) == SIDES
    compared = alone("compare", "median-split:feature=1", "hac", "--features", "x.npy")
    assert "median-split" in compared
    assert "median-split" in alone("methods")


def test_the_command_runs_it_without_a_service(path: str, folder: Path) -> None:
    command(path, folder, *RUN)
    assert sides(np.load(folder / "rows.npy")) == SIDES


def test_the_command_lists_it_and_what_is_left_out(
    path: str, tmp_path: Path, installed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = command(path, tmp_path, "methods")
    assert "median-split" in text
    assert "Left out: hac of toy-methods 0.3: Umbel has a method of this id." in text
    assert "Traceback" not in text
    with pytest.raises(SystemExit):
        main(["methods", "median-split"])
    assert "feature : The column that is cut." in capsys.readouterr().out


def test_its_results_are_read_when_it_is_gone(
    service: Service, data_dir: Path, tmp_path: Path
) -> None:
    job = service.ended(service.submit(BODY))
    tree, model = job["result"]["tree"], job["result"]["model"]
    assert service.stop() == 0
    # This process has it not.
    server = EmbeddedServer(data_dir / "redis")
    server.start()
    settings = Given(
        redis_url=server.url, store_url=f"file://{data_dir}/store", scratch_dir=tmp_path
    )
    work = Work(tmp_path / "attempts")
    app = create_app(settings, work)
    origin = {"base_url": "http://127.0.0.1:8000", "client": ("127.0.0.1", 50000)}
    with TestClient(app, **origin) as without:
        work.service = app.state.service
        assert without.get("/v1/methods/median-split").status_code == 404
        assert without.get(f"/v1/jobs/{job['id']}").json() == job
        assert without.get(f"/v1/trees/{tree}.nwk").status_code == 200
        assert without.get(f"/v1/models/{model}").status_code == 200
        body = {"inputs": {"features": ROWS}}
        without.post(f"/v1/models/{model}/predictions", json=body)
        work.join()
        [(_, failed)] = work.sent
        error = without.get(f"/v1/jobs/{failed}").json()["error"]
        assert error["type"] == "/problems/unknown-method"
    server.stop()
