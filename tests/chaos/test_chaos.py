"""A short storm over the service of real processes; `make chaos` has long ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.faults_kit import FAULTS
from tests.chaos.parts_kit import Parts
from tests.chaos.storm_kit import Storm, failures

SHORT = ("kill worker", "kill child", "connections cut", "redis flushed", "kill valkey")


@pytest.mark.slow
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
    parts = Parts(tmp_path, n_workers=2 if n_jobs > 100 else 1)
    left = ["the parts were not stopped"]
    try:
        result = Storm(parts, seed=1, faults={name: FAULTS[name] for name in names}).run(
            n_jobs, pause_s=0.2
        )
        print(result)
    finally:
        left = parts.stop()
    assert failures(result) == [], parts.log()
    assert result.n_jobs == n_jobs
    assert sum(result.faults.values()) > 0
    assert left == []
