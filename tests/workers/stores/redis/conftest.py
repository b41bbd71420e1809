"""Servers of Valkey for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.stores.redis.started_kit import Started


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    own = Started(tmp_path)
    yield own
    own.close()
