"""Statements of what a release was made of, signed and verified."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import provenance

pytestmark = pytest.mark.needs("securesystemslib")


@pytest.fixture
def keys(tmp_path: Path) -> Callable[[str], tuple[Path, Path, Any]]:
    """A new pair by its name: the private and the public file, and the public key."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    def made(name: str) -> tuple[Path, Path, Any]:
        private = Ed25519PrivateKey.generate()
        paths = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub"
        paths[0].write_bytes(
            private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        )
        public = private.public_key()
        paths[1].write_bytes(
            public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        )
        return *paths, public

    return made


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "a.whl").write_bytes(b"a")
    (folder / "b.tar.gz").write_bytes(b"b")
    monkeypatch.setattr(provenance, "DIST", folder)
    return folder


def test_files_are_vouched_for(
    dist: Path, keys: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    private, public, key = keys("ours")
    provenance.write("provenance", provenance.of_files(), private)
    signed = dist / "provenance.dsse.json"
    # The signature is over DSSE's encoding, literally.
    envelope = json.loads(signed.read_text())
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    encoded = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), encoded)
    assert payload == (dist / "provenance.json").read_bytes()

    provenance.verify(signed, public, dist)
    shown = capsys.readouterr().out
    assert "a.whl" in shown
    assert "commit" in shown
    # A later statement names neither itself nor its signature.
    assert [subject["name"] for subject in provenance.of_files()] == ["a.whl", "b.tar.gz"]


def test_what_was_changed_is_refused(dist: Path, keys: Callable[[str], Any]) -> None:
    private, public, _ = keys("ours")
    provenance.write("provenance", provenance.of_files(), private)
    signed = dist / "provenance.dsse.json"
    with pytest.raises(SystemExit, match="not signed by"):
        provenance.verify(signed, keys("theirs")[1], dist)
    (dist / "a.whl").write_bytes(b"other")
    (dist / "b.tar.gz").unlink()
    with pytest.raises(SystemExit, match=r"(?s)a\.whl is another file.*b\.tar\.gz is missing"):
        provenance.verify(signed, public, dist)
    envelope = json.loads(signed.read_text())
    stated = json.loads(base64.b64decode(envelope["payload"]))
    stated["subject"][0]["digest"]["sha256"] = "0" * 64
    envelope["payload"] = base64.b64encode(json.dumps(stated).encode()).decode()
    signed.write_text(json.dumps(envelope))
    with pytest.raises(SystemExit, match="was changed since"):
        provenance.verify(signed, public, None)


def test_an_image_is_named_by_its_digest(dist: Path, keys: Callable[[str], Any]) -> None:
    private, public, _ = keys("ours")
    image = provenance.of_image("registry.example/umbel@sha256:" + "a" * 64)
    provenance.write("provenance-image", [image], private)
    provenance.verify(dist / "provenance-image.dsse.json", public, None)
    with pytest.raises(SystemExit, match="has no digest"):
        provenance.of_image("umbel:latest")


def test_a_wrong_key_is_named(dist: Path, tmp_path: Path) -> None:
    other = tmp_path / "text"
    other.write_text("no key")
    with pytest.raises(SystemExit, match="is no private key"):
        provenance.write("provenance", provenance.of_files(), other)
