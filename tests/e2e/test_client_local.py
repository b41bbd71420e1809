"""`Umbel.local()`: a service that ends with the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import until
from umbel_client import CannotStart, Umbel

pytestmark = pytest.mark.slow

FEATURES = [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 4.0]]
SCRIPT = """
import sys, time
from umbel_client import Umbel
umbel = Umbel.local(workers=1)
print(umbel.url, umbel._service.data_dir, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "client"), str(ROOT)]))


def gone(url: str) -> bool:
    try:
        httpx.get(f"{url}/livez")
    except httpx.TransportError:
        return True
    return False


def test_it_runs_methods_and_ends_with_its_client(tmp_path: Path) -> None:
    with Umbel.local(tmp_path / "data", workers=1) as umbel:
        assert umbel.run("hac", features=FEATURES).n_leaves == 4
    assert gone(umbel.url)
    assert (tmp_path / "data").exists()


def test_it_ends_with_a_process_that_is_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url, folder = process.stdout.readline().split()
    assert httpx.get(f"{url}/livez").status_code == 200
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: gone(url) and not Path(folder).exists())


def test_without_the_server_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStart, match="not installed"):
        Umbel.local()
