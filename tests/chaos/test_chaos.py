"""Short storms over the service of real processes; `make chaos` has long ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.chaos.faults_kit import FAULTS, S3_FAULTS, Fault
from tests.chaos.parts_kit import Parts
from tests.chaos.rolling_kit import roll
from tests.chaos.storm_kit import Storm, failures
from tests.e2e.topology_kit import weed

SHORT = ("kill worker", "kill child", "connections cut", "redis flushed", "kill valkey")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("names", "n_jobs"),
    [
        pytest.param(SHORT, 40, marks=pytest.mark.timeout(300)),
        pytest.param(tuple(FAULTS), 400, marks=pytest.mark.timeout(1200)),
    ],
)
def test_no_job_is_lost_and_none_ends_twice(
    tmp_path: Path, names: tuple[str, ...], n_jobs: int
) -> None:
    parts = Parts(tmp_path, n_workers=2 if n_jobs > 100 else 1, keeper=n_jobs > 100)
    storm(parts, {name: FAULTS[name] for name in names}, n_jobs)


@pytest.mark.timeout(600)
def test_nor_over_an_object_store_that_fails(tmp_path: Path) -> None:
    with weed(tmp_path) as s3:
        storm(Parts(tmp_path, s3=s3), S3_FAULTS, 60)


@pytest.mark.timeout(600)
def test_rolling_restarts_fail_no_request_and_no_job(tmp_path: Path) -> None:
    parts = Parts(tmp_path, api_processes=2)
    left = ["the parts were not stopped"]
    try:
        result = roll(parts, 2)
        print(result)
    finally:
        left = parts.stop()
    assert result.failures() == [], parts.log()
    assert result.n_jobs > 10
    assert left == []


def storm(parts: Parts, faults: Mapping[str, Fault], n_jobs: int) -> None:
    left = ["the parts were not stopped"]
    try:
        result = Storm(parts, seed=1, faults=faults).run(n_jobs, pause_s=0.2)
        print(result)
    finally:
        left = parts.stop()
    assert failures(result) == [], parts.log()
    assert result.n_jobs == n_jobs
    assert sum(result.faults.values()) > 0
    assert left == []
