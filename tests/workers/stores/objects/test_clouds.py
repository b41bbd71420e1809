"""What a bucket must give, refused at the start where it does not; addresses to read it by."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workers.conftest import BUCKET
from tests.workers.stores.objects.clouds_kit import (
    ACCOUNT,
    ACCOUNT_KEY,
    TOKEN,
    Azure,
    Bucket,
    Google,
    Handler,
    cloud,
)
from workers.errors import AlreadyThere, FatalError, StoreUnavailable
from workers.stores.objects.bucket import BucketBlobs
from workers.stores.objects.clouds import CLOUDS, place_of
from workers.stores.objects.format import open_store
from workers.work.remote_rows import RemoteContent

KEYS = {
    "s3": {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"},
    "gs": {"GOOGLE_BEARER_TOKEN": TOKEN},
    "az": {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY},
}


class Plain(Google):
    """As a store that speaks S3 and looks at neither credentials nor conditions."""

    def allowed(self, query: dict[str, str]) -> bool:
        return True


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the credentials of every kind of bucket, or others."""

    def set_keys(**others: str) -> None:
        for keys in KEYS.values():
            for name, value in {**keys, **others}.items():
                monkeypatch.setenv(name, value)

    set_keys()
    return set_keys


def store(scheme: str, endpoint: str, folder: Path, **more: int) -> BucketBlobs:
    own = {"cache": folder / "cache", "cache_bytes": 1 << 20}
    return BucketBlobs(scheme, bucket=BUCKET, prefix="p", endpoint=endpoint, **own, **more)


@pytest.mark.parametrize(
    ("scheme", "kind", "bucket", "others", "message"),
    [
        ("gs", Google, Bucket(BUCKET), {"GOOGLE_BEARER_TOKEN": "x"}, "GOOGLE_SERVICE_ACCOUNT"),
        ("az", Azure, Bucket(BUCKET), {"AZURE_STORAGE_ACCOUNT_NAME": "x"}, "refuses the credent"),
        ("s3", Google, Bucket(BUCKET), {}, "AWS_ACCESS_KEY_ID"),
        ("gs", Google, Bucket("another"), {}, "there is no such bucket"),
        ("az", Azure, Bucket("another"), {}, "there is no such bucket"),
        ("s3", Plain, Bucket("another"), {}, "there is no such bucket"),
        ("gs", Google, Bucket(BUCKET, conditions=False), {}, "does not refuse to write"),
        ("az", Azure, Bucket(BUCKET, conditions=False), {}, "does not refuse to write"),
        ("s3", Plain, Bucket(BUCKET), {}, "does not refuse to write"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_start(
    access: Callable[..., None],
    tmp_path: Path,
    scheme: str,
    kind: type[Handler],
    bucket: Bucket,
    others: dict[str, str],
    message: str,
) -> None:
    access(**others)
    with cloud(kind, bucket) as endpoint:
        blobs = store(scheme, endpoint, tmp_path)
        for _ in range(2):
            with pytest.raises(FatalError, match=message) as raised:
                open_store(blobs)
    assert all(value not in str(raised.value) for value in (ACCOUNT_KEY, TOKEN))


def test_what_can_be_used_is_opened(
    bucket: Callable[[str], BucketBlobs], caplog: pytest.LogCaptureFixture
) -> None:
    for scheme in CLOUDS:
        open_store(bucket(scheme))
    assert not [entry for entry in caplog.records if entry.name.startswith("workers")]


@pytest.mark.parametrize("scheme", CLOUDS)
def test_a_store_that_is_away_is_proved_later(
    access: Callable[..., None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    scheme: str,
) -> None:
    blobs = store(scheme, "http://127.0.0.1:9", tmp_path)
    with pytest.raises(StoreUnavailable):
        blobs.require_usable()
    with caplog.at_level(logging.WARNING):
        open_store(blobs)
    assert "checked later" in caplog.text


def test_credentials_that_cannot_be_any(
    access: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access(AZURE_STORAGE_ACCOUNT_KEY="no base64!")
    with pytest.raises(FatalError, match="AZURE_STORAGE_ACCOUNT_KEY") as raised:
        store("az", "http://127.0.0.1:9", tmp_path)
    assert "no base64" not in str(raised.value)
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME")
    with pytest.raises(FatalError, match="needs AZURE_STORAGE_ACCOUNT_NAME"):
        store("az", "http://127.0.0.1:9", tmp_path)


def test_the_places_of_two_accounts_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    places = set()
    for account in ("one", "two"):
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", account)
        places |= {place_of(scheme, "b", "p", None) for scheme in CLOUDS}
    assert places == {"s3://b/p", "gs://b/p", "az://b/p?one", "az://b/p?two"}


def test_an_address_reads_one_object_by_range(
    access: Callable[..., None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the credentials hold a key that signs; without one the object is downloaded."""
    content = bytes(range(256)) * 8
    for scheme, kind in (("gs", Google), ("az", Azure)):
        with cloud(kind, Bucket(BUCKET)) as endpoint:
            if scheme == "gs":
                blobs = store(scheme, endpoint, tmp_path, stream_bytes=1000)
                blobs.put("a/large", content)
                assert blobs.link("a/large") is None
                assert "sign no address" in caplog.text
                assert blobs.local_path("a/large").read_bytes() == content
                access(GOOGLE_SERVICE_ACCOUNT_KEY=_account(endpoint))
            blobs = store(scheme, endpoint, tmp_path / scheme, stream_bytes=1000)
            blobs.put("a/large", content)
            blobs.put("a/small", b"x")
            assert blobs.link("a/small") is None
            link = blobs.link("a/large")
            assert link is not None
            assert link.size == len(content)
            assert RemoteContent(link, "features").read(300, 1300) == content[300:1300]


def _account(endpoint: str) -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    account = {"client_email": "a@b.c", "private_key_id": "1", "private_key": pem.decode()}
    return json.dumps({**account, "gcs_base_url": endpoint, "disable_oauth": False})


def test_a_race_of_removals_is_no_error(bucket: Callable[[str], BucketBlobs]) -> None:
    """Another process removes what was just listed; Google and Azure answer 404."""
    for scheme in ("gs", "az"):
        blobs, other = bucket(scheme), bucket(scheme)
        other._store = blobs._store
        for number in range(5):
            blobs.put(f"a/{number}", b"x")
        blobs.delete("a/3")
        blobs.put("a/kept", b"y", create=True)
        with pytest.raises(AlreadyThere):
            other.put("a/kept", b"z", create=True)
        blobs.delete_under("a")
        assert list(other.keys("")) == []
