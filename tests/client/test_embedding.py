"""Texts of folders and zips, odd and damaged ones too."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from umbel_client import embedding
from umbel_client.embedding import embeddable
from umbel_client.encodings import Payload
from umbel_client.errors import InputError


def rows(content: Any) -> list[dict[str, str]]:
    with embeddable(content, {}) as found:
        (payload,) = found.values()
        assert isinstance(payload, Payload)
        sent: Any = payload.content
        return [json.loads(line) for part in sent.parts for line in bytes(part).splitlines()]


def packed(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(f"{name.rstrip('_')}.txt", text)
    return path


def test_a_name_that_is_no_unicode_can_be_sent(tmp_path: Path) -> None:
    for name in (b"a\xff.txt", b"b\n.txt"):
        try:
            Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("some words")
        except OSError:
            pytest.skip("the file system takes no such names")
    assert [row["id"] for row in rows(tmp_path)] == ["a\\udcff.txt", "b\n.txt"]


def test_damaged_zips_are_refused(tmp_path: Path) -> None:
    content = packed(tmp_path / "x.zip", a="words " * 99, b="more words").read_bytes()
    for place, word in ((40, "'a.txt' cannot be read"), (content.find(b"PK\1\2"), "damaged zip")):
        spoilt = content[:place] + b"\xff" * 6 + content[place + 6 :]
        (tmp_path / "y.zip").write_bytes(spoilt)
        with pytest.raises(InputError, match=word):
            rows(tmp_path / "y.zip")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"two members called 'a\.txt'"):
        rows(packed(tmp_path / "x.zip", a="words", a_="others"))


def test_a_zip_of_too_much_text_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "x.zip", a="a" * 60, b="b" * 60)
    monkeypatch.setattr(embedding, "MOST_TEXT", 100)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(InputError, match="more than 1 GiB"):
        rows(path)
