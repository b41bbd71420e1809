"""Keys in the store, of both kinds: never the secret itself, every change in one listing."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from workers.artifacts.keys import Keys, id_in
from workers.settings import Limits, by_tenant, in_range, of_tenant
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs

NOW = datetime.now(UTC)


def test_a_key_is_kept_by_its_hash_alone(blobs: Blobs) -> None:
    key, secret = Keys(blobs).add("acme", "read", name="ci", limits=Limits(bytes=5))
    assert id_in(secret) == key.id
    assert key.digest == hashlib.sha256(secret.encode()).hexdigest()
    content = b"".join(blobs.get(path) for path in blobs.keys(""))
    assert secret.encode() not in content
    assert secret[-43:].encode() not in content
    known = Keys(blobs).all()[key.id]
    assert known.key == key
    assert known.refusal(NOW) is None


def test_the_earliest_revocation_counts(blobs: Blobs) -> None:
    keys = Keys(blobs)
    key, _ = keys.add("acme", "write")
    keys.all()
    keys.revoke(key.id, NOW + timedelta(hours=1))
    assert keys.all()[key.id].refusal(NOW + timedelta(minutes=59)) is None
    keys.revoke(key.id, NOW - timedelta(seconds=1))
    keys.revoke(key.id, NOW - timedelta(seconds=1))
    keys.revoke(key.id, NOW + timedelta(days=1))
    for reader in (keys, Keys(blobs)):
        assert reader.all()[key.id].refusal(NOW) == "The key was revoked"


def test_a_key_expires_to_the_instant_also_in_another_zone(blobs: Blobs) -> None:
    at = datetime.fromisoformat("2090-01-01T02:00:00+02:00")
    key, _ = Keys(blobs).add("acme", "write", expires_at=at)
    known = Keys(blobs).all()[key.id]
    assert known.refusal(datetime(2089, 12, 31, 23, 59, 59, tzinfo=UTC)) is None
    why = known.refusal(datetime(2090, 1, 1, tzinfo=UTC))
    assert why == "The key expired at 2090-01-01T00:00:00Z"
    with pytest.raises(ValueError, match="has passed"):
        Keys(blobs).add("acme", "write", expires_at=NOW - timedelta(seconds=1))


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[" * 100_000, b'{"id": "key_x", "tenant": "../a", "role": "admin"}', b"\xff"],
)
def test_an_object_that_is_no_key_admits_nobody_and_hides_no_other(
    blobs: Blobs, content: bytes
) -> None:
    keys = Keys(blobs)
    key, _ = keys.add("acme", "write")
    blobs.put(layout.key("key_x", "key.json"), content)
    blobs.put(layout.key("key_y", "revoked.1"), b"")
    blobs.put(layout.key(key.id, "revoked.x"), b"")
    blobs.put(layout.key(key.id, f"revoked.{10**40}"), b"")
    assert keys.all().keys() == {key.id}
    assert keys.all()[key.id].refusal(NOW) is None


def test_a_copied_key_object_is_not_another_key(blobs: Blobs) -> None:
    keys = Keys(blobs)
    key, _ = keys.add("acme", "write")
    blobs.put(layout.key("key_x", "key.json"), blobs.get(layout.key(key.id, "key.json")))
    assert keys.all().keys() == {key.id}


def test_uses_are_kept_to_the_minute(blobs: Blobs) -> None:
    keys = Keys(blobs)
    assert keys.last_use("key_x") is None
    keys.note_use("key_x", datetime(2026, 1, 2, 3, 4, 59, 9, tzinfo=UTC))
    assert keys.last_use("key_x") == datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    assert keys.all() == {}


@pytest.mark.parametrize("secret", ["", "umbel_", "umbel_" + "a" * 43, "umbel_../../x_" + "a" * 43])
def test_a_key_of_another_form_has_no_id(secret: str) -> None:
    assert id_in(secret) is None


def test_limits_of_tenants() -> None:
    assert by_tenant("") == {}
    numbers = {tenant: int(text) for tenant, text in by_tenant("10, acme:3 b:0").items()}
    assert numbers == {"": 10, "acme": 3, "b": 0}
    assert [of_tenant(numbers, tenant) for tenant in ("acme", "b", "c")] == [3, 0, 10]
    assert of_tenant({"acme": 3}, "c") is None
    for wrong in ("1,2", "a:1,a:2", "A:1", "../a:1"):
        with pytest.raises(ValueError, match="number"):
            by_tenant(wrong)
    for number in (-1, 2**60, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="number"):
            in_range({"": number}, positive=False)
