"""kill -9 of the worker that embeds, between two answers of the endpoint."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.e2e.conftest import running
from tests.workers.embedding.endpoint_kit import embedding, vector
from umbel_client import Umbel

TEXTS = ["a red fox", "a grey wolf", "the sea", "the deep sea"]


def test_the_next_attempt_sends_only_what_is_missing(tmp_path: Path) -> None:
    with embedding() as server:
        settings = {
            "UMBEL_EMBEDDING_URL": server.url,
            "UMBEL_EMBEDDING_MODEL": "small",
            "UMBEL_EMBEDDING_BATCH": "1",
            "UMBEL_WEBHOOK_ALLOW": "127.0.0.0/8",
            "UMBEL_LEASE_S": "15",
        }
        with running(tmp_path / "data", workers=1, **settings) as service:

            def kill(request: BaseHTTPRequestHandler) -> None:
                for worker in service.workers():
                    worker.kill()

            def first(request: BaseHTTPRequestHandler) -> None:
                server._answer(request)

            server.next(first, first, kill)
            body = {"inputs": {"documents": TEXTS}}
            accepted = service.client.post(
                "/v1/embeddings", json=body, headers={"Prefer": "wait=0"}
            )
            assert accepted.status_code == 202, accepted.text
            job = service.ended(accepted.json()["id"])
            assert (job["status"], job["attempt"]) == ("succeeded", 2), job
            assert server.batches == [[text] for text in [*TEXTS[:3], *TEXTS[2:]]]
            with Umbel(service.url) as umbel:
                dataset = umbel.dataset(job["result"]["dataset"])
                assert dataset.array().tolist() == [vector(text) for text in TEXTS]
                assert len(umbel.datasets()) == 1
