"""The health check of a worker's container."""

from __future__ import annotations

import pytest

from workers.assembly import Assembly
from workers.errors import TransientError
from workers.health import seen
from workers.settings import WorkerSettings


def test_a_worker_is_healthy_while_it_reports(assembly: Assembly, settings: WorkerSettings) -> None:
    assert not seen(settings, "host-a")
    assembly.ledger.workers.seen("host-a-17-abcdef")
    assert seen(settings, "host-a")
    assert not seen(settings, "host")
    assembly.ledger.workers.left("host-a-17-abcdef")
    assert not seen(settings, "host-a")


def test_an_unreachable_redis_is_reported(settings: WorkerSettings) -> None:
    away = settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
    with pytest.raises(TransientError):
        seen(away, "host-a")
