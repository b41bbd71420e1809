"""The API over a real Valkey and a real folder, with a stand-in for the worker.

The stand-in claims jobs through the ledger as a worker does, so only the computation is faked.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from pydantic import BaseModel
from starlette.testclient import TestClient

from app.http.dependencies import Service
from app.main import create_app
from app.settings import Settings
from tests.app.worker_kit import Work
from workers.embedded import EmbeddedServer
from workers.model import Advance, Claim, End, now, sibling
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.layout import AUDIT

PROBLEM = "application/problem+json"


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path_factory.mktemp("valkey"))
    server.start()
    yield server
    server.stop()


@dataclass
class Api:
    """A running application: its client, its service parts, and the hints it sent."""

    client: TestClient
    service: Service
    settings: Settings
    sent: list[tuple[str, str]] = field(default_factory=list)

    def claim(self, job_id: str) -> Claim:
        claim = self.service.ledger.claim(job_id, "test")
        assert claim is not None
        return claim

    def finish(self, job_id: str, folder: Path | None = None, **changes: Any) -> None:
        """Bring the job to its end, with the record of a tree that has no files."""
        claim = self.claim(job_id)
        self.service.ledger.beat(claim, Advance(fraction=0.5, stage="merging"))
        end: dict[str, Any] = {
            "job": job_id,
            "status": "succeeded",
            "attempt": claim.attempt,
            "fence": claim.fence,
            "started_at": claim.started_at,
            "finished_at": now(),
            "result": {"tree": sibling(job_id, "tr"), "model": None, "metrics": {}},
        }
        assert self.service.ledger.finish(claim, End(**{**end, **changes}), folder)


Start = Callable[..., Api]


@pytest.fixture
def start(valkey: EmbeddedServer, tmp_path: Path) -> Iterator[Start]:
    """Starts an application with its own settings."""
    with contextlib.ExitStack() as stack:

        def started(client: tuple[str, int] = ("127.0.0.1", 50000), **changes: Any) -> Api:
            settings = make_settings(valkey, tmp_path, **changes)
            sent: list[tuple[str, str]] = []
            app = create_app(settings, lambda queue, job_id: sent.append((queue, job_id)))
            test_client = TestClient(
                app,
                base_url="http://127.0.0.1:8000",
                client=client,
                raise_server_exceptions=False,
            )
            stack.enter_context(test_client)
            return Api(test_client, app.state.service, settings, sent)

        yield started


class Given(Settings):
    """What a test gives and else the defaults, never the environment: to prepare to read it takes
    as long as to start an application."""

    def __init__(self, **values: Any) -> None:
        BaseModel.__init__(self, **values)


def make_settings(valkey: EmbeddedServer, folder: Path, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "redis_url": valkey.url,
        "store_url": f"file://{folder}/store",
        "scratch_dir": folder / "scratch",
        "key_prefix": f"{folder.name}:",
        "min_free_bytes": 0,
        "events_poll_s": 0.02,
        # Stand-ins renew no lease: however slow the machine is, no sweep takes their jobs away.
        "lease_s": 600.0,
        "resend_s": 600.0,
    }
    return Given(**{**values, **changes})


@pytest.fixture
def api(start: Start) -> Api:
    return start()


@dataclass
class Working:
    """A running application whose jobs run in threads of the test."""

    client: TestClient
    service: Service
    work: Work


@pytest.fixture
def working(valkey: EmbeddedServer, tmp_path: Path) -> Iterator[Working]:
    work = Work(tmp_path / "attempts")
    app = create_app(make_settings(valkey, tmp_path), work)
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50000)) as client:
        work.service = app.state.service
        yield Working(client, app.state.service, work)
        work.join()


@dataclass
class Live:
    """An application on a real server."""

    url: str
    port: int
    service: Service


@pytest.fixture
def live(valkey: EmbeddedServer, tmp_path: Path) -> Iterator[Live]:
    settings = make_settings(valkey, tmp_path)
    app = create_app(settings, lambda queue, job_id: None)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Live(f"http://127.0.0.1:{port}", port, app.state.service)
        server.should_exit = True
        thread.join()


LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]


def new_job(**changes: Any) -> dict[str, Any]:
    return {"method": "l2h", "inputs": {"logits": LOGITS}, **changes}


def kept_keys(blobs: Blobs) -> set[str]:
    """The keys in a store but for the audit log, which is put there every few seconds."""
    return {key for key in blobs.keys("") if not key.startswith(AUDIT)}


def problem_of(response: Any, status: int, code: str) -> dict[str, Any]:
    """The problem in a response; asserts its status and code."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    body: dict[str, Any] = response.json()
    assert body["type"] == f"/problems/{code}", body
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == response.headers["x-request-id"]
    return body
