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

from tests.conftest import ROOT
from tests.e2e.conftest import Service, running
from umbel_client import Umbel
from umbel_client.problems import UnknownMethod

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


def test_the_command_runs_it_on_a_file(service: Service, path: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array(ROWS))
    run = ("run", "median-split", "x.npy", "--feature", "0", "--out", "rows.npy", "--cut", "k=2")
    # First by a service that has it, from an environment that does not; then in one that has it.
    alone = os.pathsep.join(map(str, (ROOT, ROOT / "client")))
    command(alone, tmp_path, *run, UMBEL_URL=service.url)
    assert sides(np.load(tmp_path / "rows.npy")) == SIDES
    words = ("median-split:feature=1", "hac", "--features", "x.npy", "--url", service.url)
    assert "median-split" in command(alone, tmp_path, "compare", *words)
    assert "median-split" in command(alone, tmp_path, "methods", "--url", service.url)
    (tmp_path / "rows.npy").unlink()
    command(path, tmp_path, *run)
    assert sides(np.load(tmp_path / "rows.npy")) == SIDES


def test_the_command_lists_it_and_what_is_left_out(path: str, tmp_path: Path) -> None:
    text = command(path, tmp_path, "methods")
    assert "median-split" in text
    assert "Left out: hac of toy-methods 0.3: Umbel has a method of this id." in text
    assert "Traceback" not in text
    assert "feature : The column that is cut." in command(path, tmp_path, "methods", "median-split")


def test_its_results_are_read_when_it_is_gone(service: Service, data_dir: Path) -> None:
    job = service.ended(service.submit(BODY))
    tree, model = job["result"]["tree"], job["result"]["model"]
    assert service.stop() == 0
    with running(data_dir, workers=1) as without:
        assert without.client.get("/v1/methods/median-split").status_code == 404
        assert without.client.get(f"/v1/jobs/{job['id']}").json() == job
        assert without.client.get(f"/v1/trees/{tree}.nwk").status_code == 200
        assert without.client.get(f"/v1/models/{model}").status_code == 200
        with Umbel(without.url) as umbel, pytest.raises(UnknownMethod):
            umbel.model(model).predict(features=ROWS)
