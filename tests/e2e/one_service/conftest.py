"""One service for all tests of this folder, which leave it intact.

Tests that kill, restart or set up a service of their own are in the folder above.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.client import Api
from tests.e2e.conftest import Service, running
from tests.e2e.one_service.assistant_kit import Served, serving


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    # No test here kills a worker, so none needs to see soon that one is lost.
    with running(tmp_path_factory.mktemp("service") / "data", UMBEL_LEASE_S="60") as service:
        yield service


@pytest.fixture(scope="package")
def served(service: Service) -> Iterator[Served]:
    """One server of tools for assistants, which takes two seconds of a core to start."""
    with serving(service) as served:
        yield served


@pytest.fixture
def api(service: Service) -> Api:
    return Api(service.client, workers=2)
