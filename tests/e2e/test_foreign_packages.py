"""Foreign packages `app`, `workers` and `models` on the path: neither side disturbs the other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import Service, running
from umbel import floors

LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three, as a repository of machine learning may have them."""
    folder = tmp_path_factory.mktemp("foreign")
    for name in floors.FLOORS:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("THEIRS = True\n")
    return folder


def paths(foreign: Path) -> dict[str, str]:
    """Theirs first on the path, then the folder of `umbel`, as where it is installed."""
    return {"PYTHONPATH": os.pathsep.join([str(foreign), str(ROOT), str(ROOT / "client")])}


@pytest.fixture(scope="module")
def service(foreign: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("service") / "data"
    with running(data, workers=1, **paths(foreign)) as service:
        yield service


def test_a_job_runs_and_is_drawn(service: Service) -> None:
    """API, worker, template, the job's process and the one that draws."""
    job = service.ended(service.submit({"method": "l2h", "inputs": {"logits": LOGITS}}))
    assert job["status"] == "succeeded", job
    picture = service.client.get(f"/v1/trees/{job['result']['tree']}.png")
    assert picture.content.startswith(b"\x89PNG")


@pytest.mark.needs("torch")
def test_a_fit_on_several_processes(service: Service) -> None:
    points = [[float(i % 4), float(i // 4), 0.5 * (i % 3)] for i in range(16)]
    params = {"processes": 2, "max_iter": 5, "n_internal": 3}
    body = {"method": "ghhc", "params": params, "inputs": {"features": points}}
    job = service.ended(service.submit(body))
    assert job["status"] == "succeeded", job


def test_the_command_runs_in_their_folder(foreign: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "umbel", "--version"],
        cwd=foreign,
        env={**os.environ, **paths(foreign)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("umbel ")


def test_others_keep_theirs(foreign: Path) -> None:
    code = "import umbel, app, workers, models; assert app.THEIRS and models.THEIRS"
    env = {**os.environ, **paths(foreign)}
    subprocess.run([sys.executable, "-P", "-c", code], env=env, check=True)


def test_theirs_imported_first_are_refused_by_name(foreign: Path) -> None:
    code = "import models; import umbel.floors"
    env = {**os.environ, **paths(foreign)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert f"'models' was imported from {foreign / 'models'}" in done.stderr
