"""The running service checked against its own OpenAPI document by schemathesis.

`schemathesis.toml` lists the omitted check and the reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.http.environment_keys import new_key
from tests.e2e.conftest import Service, running

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def key_of() -> tuple[str, str]:
    return new_key("acme")


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory, key_of: tuple[str, str]) -> Iterator[Service]:
    """A separate service with keys, so that responses to missing keys are checked, too."""
    folder = tmp_path_factory.mktemp("schema") / "data"
    with running(folder, workers=1, UMBEL_API_KEYS=key_of[1]) as service:
        yield service


@pytest.mark.timeout(300)
def test_the_service_matches_its_document(keyed: Service, key_of: tuple[str, str]) -> None:
    check_against_document(
        keyed,
        key_of[0],
        "--max-examples=3",
        "--phases=examples,fuzzing",
        "--generation-deterministic",
    )


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_service_matches_its_document_at_length(
    keyed: Service, key_of: tuple[str, str]
) -> None:
    check_against_document(keyed, key_of[0], "--max-examples=200")


def check_against_document(service: Service, key: str, *options: str) -> None:
    document = httpx.get(f"{service.url}/openapi.json").json()
    operations = sum(len(path) for path in document["paths"].values())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(ROOT / "schemathesis.toml"), "--no-color"),
            *("run", f"{service.url}/openapi.json", "-H", f"Authorization: Bearer {key}"),
            *options,
        ],
        capture_output=True,
        text=True,
        cwd=service.data_dir,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    output = f"{done.stdout[-10_000:]}\n{done.stderr[-2000:]}\n{service.log()}"
    assert done.returncode == 0, output
    tested = re.search(r"Tested: (\d+)", done.stdout)
    assert tested is not None, output
    assert int(tested[1]) == operations
    cases = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert cases is not None, output
    print(f"{cases[1]} requests to {operations} operations, all in agreement with the document")
    assert httpx.get(f"{service.url}/readyz").status_code == 200
