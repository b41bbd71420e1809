"""The running service checked against its own OpenAPI document by schemathesis, with two tenants.

`schemathesis.toml` lists the omitted check and the reason.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app.http.environment_keys import new_key
from tests.app.tenants_kit import check_apart
from tests.document_kit import with_statuses
from tests.e2e.conftest import Service, running

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Tenants:
    """A running service and the keys of two tenants."""

    service: Service
    key: str
    other: str

    def client(self, key: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.service.url, headers={"Authorization": f"Bearer {key}"}, timeout=70.0
        )


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    """A separate service with keys, so that responses to missing keys are checked, too."""
    folder = tmp_path_factory.mktemp("schema") / "data"
    (key, line), (other, other_line) = new_key("acme"), new_key("other")
    with running(folder, workers=1, UMBEL_API_KEYS=f"{line},{other_line}") as service:
        yield Tenants(service, key, other)


@pytest.mark.timeout(900)
def test_the_service_matches_its_document(tenants: Tenants) -> None:
    check_against_document(
        tenants.service,
        tenants.key,
        "--max-examples=1",
        "--phases=examples,fuzzing",
        "--generation-deterministic",
    )
    with tenants.client(tenants.key) as acme, tenants.client(tenants.other) as other:
        check_apart(acme, other)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_service_matches_its_document_at_length(tenants: Tenants) -> None:
    """All phases, the stateful one among them, for each tenant.

    As many examples as come in the time: sequences of 80 operations would go on for hours.
    """
    check_against_document(tenants.service, tenants.key, "--max-examples=200", "--max-time=900")
    check_against_document(tenants.service, tenants.other, "--max-examples=20", "--max-time=300")
    with tenants.client(tenants.key) as acme, tenants.client(tenants.other) as other:
        check_apart(acme, other)
        check_apart(other, acme)


def check_against_document(service: Service, key: str, *options: str) -> None:
    document = httpx.get(f"{service.url}/openapi.json").json()
    operations = sum(len(path) for path in document["paths"].values())
    # Every status is in agreement with `default`; these are those that it may have.
    exact = service.data_dir.with_suffix(".json")
    exact.write_text(json.dumps(with_statuses(document)))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(ROOT / "schemathesis.toml"), "--no-color"),
            *("run", str(exact), "--url", service.url, "-H", f"Authorization: Bearer {key}"),
            *options,
        ],
        capture_output=True,
        text=True,
        cwd=service.data_dir,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    failures, _, rest = done.stdout.partition("= WARNINGS =")
    # A request to repeat a failure by may be very long.
    failures = "\n".join(line[:500] for line in failures.splitlines())
    output = f"{failures[-30_000:]}\n{rest[-3000:]}\n{done.stderr[-2000:]}\n{service.log()}"
    assert done.returncode == 0, output
    tested = re.search(r"Tested: (\d+)", done.stdout)
    assert tested is not None, output
    assert int(tested[1]) == operations
    cases = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert cases is not None, output
    print(f"{cases[1]} requests to {operations} operations, all in agreement with the document")
    assert httpx.get(f"{service.url}/readyz").status_code == 200
