"""Keys that sign webhooks: one for each tenant, from one secret of the service."""

from __future__ import annotations

import pytest

from tests.workers.webhooks.receiver_kit import secret_of
from workers.assembly import Assembly, assemble
from workers.errors import Missing
from workers.settings import WorkerSettings
from workers.stores.objects import layout


def test_keys_are_a_tenants_own_and_stay(assembly: Assembly, settings: WorkerSettings) -> None:
    own = secret_of(assembly)
    assert own == secret_of(assemble(settings, lambda *_: None))
    assert own != secret_of(assembly, "bob")
    assert len(assembly.ledger.webhooks.keys.of("ada")) == 1
    kept = assembly.blobs.get(layout.WEBHOOK_ROOT)
    assert len(kept) == 64
    assert kept.decode() not in own


def test_the_first_to_make_the_secret_has_made_it(
    assembly: Assembly, settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = assemble(settings, lambda *_: None)
    real = assembly.blobs.get
    seen: list[str] = []

    def get(key: str) -> bytes:
        if key == layout.WEBHOOK_ROOT and not seen:
            seen.append(secret_of(other))
            raise Missing(key)
        return real(key)

    monkeypatch.setattr(assembly.blobs, "get", get)
    assert secret_of(assembly) == seen[0]
