"""Clients that call one application with keys."""

from __future__ import annotations

from starlette.testclient import TestClient


def as_caller(client: TestClient, secret: str) -> TestClient:
    """The same application, called with this key."""
    caller = TestClient(
        client.app,
        base_url="http://127.0.0.1:8000",
        client=("127.0.0.1", 50000),
        headers={"Authorization": f"Bearer {secret}"},
    )
    caller.portal = client.portal
    return caller
