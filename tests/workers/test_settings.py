"""Settings from the environment, and refused values."""

from __future__ import annotations

import os
import subprocess

import pytest

from umbel import floors
from workers.settings import WorkerSettings


def test_a_worker_reports_an_invalid_secret(settings: WorkerSettings) -> None:
    env = {
        **os.environ,
        "UMBEL_REDIS_URL": settings.redis_url,
        "UMBEL_STORE_URL": settings.store_url,
        "UMBEL_WEBHOOK_SECRET": "too-short",
    }
    done = subprocess.run(
        floors.command("workers.main"), env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 2
    assert "UMBEL_WEBHOOK_SECRET has one secret" in done.stderr
    assert "too-short" not in done.stderr


def test_networks_are_parsed() -> None:
    networks = WorkerSettings(webhook_allow="10.0.0.0/8, fd00::/8 127.0.0.1").webhook_allow
    assert [str(network) for network in networks] == ["10.0.0.0/8", "fd00::/8", "127.0.0.1/32"]
    assert WorkerSettings(webhook_allow="").webhook_allow == ()
    with pytest.raises(ValueError):
        WorkerSettings(webhook_allow="10.0.0.1/8")
