"""One service with keys, sign-in and an embedder of texts, since to start one and to run its first
job takes ten seconds of a core. Each file has a tenant for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.app.http.server_kit import free_port
from tests.app.http.sign_in.issuer_kit import CLIENT, SECRET, Issuer, serving
from tests.dashboard.conftest import CALM, Open
from tests.dashboard.keyed.keys_kit import LINES
from tests.e2e.conftest import Service, running
from tests.workers.embedding.endpoint_kit import EmbeddingServer, embedding

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
def issuer() -> Iterator[Issuer]:
    with serving() as running_issuer:
        yield running_issuer


@pytest.fixture(scope="package")
def server() -> Iterator[EmbeddingServer]:
    with embedding() as server:
        yield server


@pytest.fixture(scope="package")
def keyed(
    chromium: Browser,
    issuer: Issuer,
    server: EmbeddingServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    folder, port = tmp_path_factory.mktemp("keyed") / "data", free_port()
    settings = {
        "UMBEL_API_KEYS": ",".join(LINES),
        "UMBEL_OIDC_ISSUER": issuer.url,
        "UMBEL_OIDC_CLIENT_ID": CLIENT,
        "UMBEL_OIDC_CLIENT_SECRET": SECRET,
        "UMBEL_OIDC_URL": f"http://127.0.0.1:{port}",
        "UMBEL_OIDC_GROUPS": "lab=lab:write",
        "UMBEL_EMBEDDING_URL": server.url,
        "UMBEL_EMBEDDING_MODEL": "small",
        "UMBEL_WEBHOOK_ALLOW": "127.0.0.0/8",
    }
    with running(folder, workers=1, port=port, **CALM, **settings) as service:
        yield service


@pytest.fixture
def open_keyed(open_page: Open, keyed: Service) -> Callable[..., Page]:
    def open_(path: str = "/jobs") -> Page:
        page = open_page(path, url=keyed.url, heading=False)
        page.watch.expected.append("401")
        return page

    return open_
