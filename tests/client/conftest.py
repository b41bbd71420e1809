from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.fault_server_kit import FaultServer, running


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with running() as server:
        yield server


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two clients makes a call."""
    return str(request.param)
