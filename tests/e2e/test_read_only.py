"""A service whose source and whose user's home cannot be written: it compiles, once, and works."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import PATIENCE_S, until
from workers.child.compiling import COMPILING

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def _as_others() -> None:
    """Let modes of files hold for the program that is executed, even if root executes it."""
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    """A copy of the source that cannot be written, without what numba has compiled. Python's own
    bytecode comes along, as in an image: each process of both services would make all anew."""
    copy = tmp_path / "source"
    for package in sorted(ROOT.glob("*/__init__.py")):
        if package.parent.name != "tests":
            skipped = shutil.ignore_patterns("*.nb[ic]")
            shutil.copytree(package.parent, copy / package.parent.name, ignore=skipped)
    folders = [copy, *(path for path in copy.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield copy
    for folder in folders:
        folder.chmod(0o755)


@contextmanager
def serving(source: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """The address of a service, and its log."""
    data, log = folder / "data", folder / "log"
    home = folder / "home"
    home.mkdir(exist_ok=True)
    home.chmod(0o555)
    hidden = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env |= {"HOME": str(home), "PYTHONPATH": str(source), "UMBEL_THREADS": "1"}
    code = "from app.cli import main; main()"
    words = ["serve", "--port", "0", "--data-dir", str(data), "--workers", "1"]
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, *words],
            env=env,
            cwd=folder,
            stdout=output,
            stderr=output,
            preexec_fn=_as_others,
        )
    try:
        until((data / "url").exists, why=log.read_text)
        yield (data / "url").read_text().strip(), log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drops a capability of Linux")
def test_a_service_that_can_write_its_data_alone(tmp_path: Path, source: Path) -> None:
    with serving(source, tmp_path) as (url, log):
        lines = log.read_text().splitlines()
        kept = f"compiled code is kept in {tmp_path / 'data' / 'compiled'}: "
        assert any(line.startswith(kept) for line in lines)
        # Where the API comes up late, nobody had to wait, and nothing is announced.
        assert lines.count(COMPILING) <= 1
        compiled = _compiled(tmp_path)
        assert compiled
        job = {"method": "l2h", "inputs": {"logits": [[2.0, 0.0], [0.0, 2.0], [1.0, 3.0]]}}
        client = httpx.Client(base_url=url, timeout=PATIENCE_S)
        made = client.post("/v1/jobs", json=job)
        assert made.status_code == 202, made.text
        until(lambda: _status(client, made.json()["id"]) == "succeeded", why=log.read_text)
    with serving(source, tmp_path) as (_, log):
        assert COMPILING not in log.read_text().splitlines()
        again = _compiled(tmp_path)
        assert {path: again[path] for path in compiled} == compiled


def _compiled(folder: Path) -> dict[Path, int]:
    """What numba has compiled, with the times at which it was written."""
    found = (folder / "data" / "compiled").rglob("*.nbc")
    return {path: path.stat().st_mtime_ns for path in found}


def _status(client: httpx.Client, job: str) -> str:
    return str(client.get(f"/v1/jobs/{job}").json()["status"])
