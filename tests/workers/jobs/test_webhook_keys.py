"""Keys that sign webhooks: one for each tenant, derived from the secret of the service."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.workers.webhooks.receiver_kit import secret_of
from workers.assembly import Assembly, assemble
from workers.errors import Missing
from workers.jobs.webhook_keys import sign
from workers.settings import WorkerSettings
from workers.stores.objects import layout


def test_each_tenant_has_a_lasting_key(assembly: Assembly, settings: WorkerSettings) -> None:
    own = secret_of(assembly)
    assert own == secret_of(assemble(settings, lambda *_: None))
    assert own != secret_of(assembly, "bob")
    assert len(assembly.ledger.webhooks.keys.of("ada")) == 1
    secret = assembly.blobs.get(layout.WEBHOOK_ROOT)
    assert len(secret) == 80
    assert secret.decode() not in own


def test_the_first_secret_written_wins(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = assemble(settings, lambda *_: None)
    real = assembly.blobs.get
    reads: list[str] = []

    def get(key: str) -> bytes:
        if key == layout.WEBHOOK_ROOT and not reads:
            reads.append(secret_of(rival))
            raise Missing(key)
        return real(key)

    monkeypatch.setattr(assembly.blobs, "get", get)
    assert secret_of(assembly) == reads[0]


def test_the_documented_receiver_takes_what_is_signed_alone(assembly: Assembly) -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(import base64.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    secret, now = secret_of(assembly), int(time.time())
    keys = assembly.ledger.webhooks.keys.of("ada")
    for body, at, genuine in ((b"{}", now, True), (b"[]", now, False), (b"{}", now - 999, False)):
        signature = sign(keys, "msg_1", at, b"{}")
        headers = {"webhook-id": "msg_1", "webhook-timestamp": str(at)}
        headers["webhook-signature"] = f"v1,x {signature}"
        assert names["is_genuine"](secret, headers, body) is genuine
