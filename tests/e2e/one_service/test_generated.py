"""Clients that others' generators make of the committed document: they type-check, and run the main
job: upload logits, run `l2h`, read the tree and a cut.

The programs are in `tests/e2e/generated`. A generator that is not installed skips its test.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import Service
from tests.needs_kit import need

PROGRAMS = ROOT / "tests" / "e2e" / "generated"
DOCUMENT = ROOT / "openapi" / "openapi.json"
NODE = ROOT / "node_modules"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(3), 10)
    logits = rng.normal(size=(30, 3))
    logits[np.arange(30), label] += 3
    np.save(tmp_path / "logits.npy", logits)
    return tmp_path


def done(folder: Path, *command: str | Path) -> str:
    """Standard output of a command in a folder; its status is 0."""
    ended = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, f"{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"
    return ended.stdout


def check(output: str) -> None:
    """What the main job prints: the Newick text of three leaves, and the clusters of a cut."""
    newick, n_clusters = output.rsplit(maxsplit=1)
    assert set(re.findall(r"rose|cat|dog", newick)) == {"rose", "cat", "dog"}
    assert newick.endswith(";")
    assert n_clusters == "2"


@pytest.mark.needs("openapi-python-client")
def test_openapi_python_client(service: Service, folder: Path) -> None:
    """With its defaults."""
    output = done(
        folder,
        *(sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"),
        *("--path", DOCUMENT, "--output-path", "generated_client"),
    )
    assert "Unable to" not in output
    assert "will not be generated" not in output
    shutil.copy(PROGRAMS / "main_job.py", folder)
    # What the program calls; all 700 modules together take minutes.
    api = folder / "generated_client" / "api"
    called = (api / "datasets" / "create_dataset.py", api / "jobs" / "create_job.py")
    options = ("--config-file=", "--follow-imports=silent")
    done(folder, sys.executable, "-m", "mypy", *options, "main_job.py", *called)
    check(done(folder, sys.executable, "main_job.py", service.url, "logits.npy"))


@pytest.fixture
def typescript(folder: Path) -> Path:
    need("node", "node_modules")
    (folder / "node_modules").symlink_to(NODE.resolve())
    (folder / "package.json").write_text("{}")
    shutil.copy(PROGRAMS / "tsconfig.json", folder)
    return folder


def test_openapi_typescript_with_openapi_fetch(service: Service, typescript: Path) -> None:
    done(
        typescript,
        *(NODE / ".bin" / "openapi-typescript", DOCUMENT, "--output", "contract.ts"),
        # A parameter with a default may be left out.
        *("--default-non-nullable", "false"),
    )
    shutil.copy(PROGRAMS / "openapi_fetch.ts", typescript)
    done(typescript, NODE / ".bin" / "tsc")
    check(done(typescript, "node", "compiled/openapi_fetch.js", service.url, "logits.npy"))


def test_hey_api(service: Service, typescript: Path) -> None:
    done(
        typescript,
        *(NODE / ".bin" / "openapi-ts", "-i", DOCUMENT, "-o", "client"),
        *("-c", "@hey-api/client-fetch", "--no-log-file"),
    )
    shutil.copy(PROGRAMS / "hey_api.ts", typescript)
    done(typescript, NODE / ".bin" / "tsc")
    check(done(typescript, "node", "compiled/hey_api.js", service.url, "logits.npy"))
