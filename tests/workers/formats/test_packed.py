"""Content packed by gzip, zstd, bzip2, xz or zip: unpacked in bounded pieces, whatever its
chunks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import UsageError
from workers.formats import packed
from workers.formats.packed import Coding, Unpacker, coding_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACK: dict[Coding, Any] = {
    "gzip": gzip.compress,
    "zstd": zstd.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
CODINGS: list[Coding] = [*PACK]


def unpacked(coding: Coding, content: bytes, step: int) -> bytes:
    unpacker, pieces = Unpacker(coding), []
    for at in range(0, len(content), step):
        pieces += unpacker.feed(content[at : at + step])
    unpacker.end()
    assert all(0 < len(piece) <= packed.PIECE for piece in pieces)
    return b"".join(pieces)


@pytest.mark.parametrize("coding", CODINGS)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4), st.integers(1, 400))
def test_any_members_in_any_chunks(coding: Coding, parts: list[bytes], step: int) -> None:
    content = b"".join(map(PACK[coding], parts))
    assert unpacked(coding, content, step) == b"".join(parts)
    assert coding_of(content) == coding


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("step", [1000, 1 << 16, 1 << 30])
def test_long_content(coding: Coding, step: int) -> None:
    content = os.urandom(300_000) + b"a" * 3_000_000 + os.urandom(10)
    assert unpacked(coding, PACK[coding](content), step) == content


def test_a_gzip_file_may_be_padded_with_zeros() -> None:
    assert unpacked("gzip", gzip.compress(b"abc") + bytes(100), 7) == b"abc"


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("kept", [0, 1, 3, -3, -1])
def test_content_that_breaks_off_is_refused(coding: Coding, kept: int) -> None:
    with pytest.raises(UsageError, match="breaks off") as caught:
        unpacked(coding, PACK[coding](b"abc" * 100)[:kept], 10)
    assert caught.value.code == "truncated"


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("step", [3, 100_000])
def test_damaged_content_is_refused(coding: Coding, step: int) -> None:
    good = PACK[coding](b"abc" * 100)
    bad_contents = [b"nope" * 10, good + b"junk junk"]
    if coding == "gzip":  # Frames of zstd need have no checksum.
        bad_contents.append(good[:12] + b"\xff\xff" + good[14:])
    for bad in bad_contents:
        with pytest.raises(UsageError) as caught:
            unpacked(coding, bad, step)
        assert caught.value.code in ("invalid-file", "truncated")


@pytest.mark.parametrize("coding", CODINGS)
def test_content_that_grows_too_much_is_refused(
    coding: Coding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "SLACK", 1 << 20)
    monkeypatch.setattr(packed, "MOST_RATIO", 100)
    bomb = PACK[coding](bytes(64 << 20))
    with pytest.raises(UsageError) as caught:
        unpacked(coding, bomb, 1 << 12)
    assert caught.value.code == "archive-bomb"
    assert unpacked(coding, PACK[coding](bytes(1 << 20)), 1 << 12) == bytes(1 << 20)


@pytest.mark.parametrize("coding", ["gzip", "zstd", "bzip2", "xz"])
def test_very_many_members_that_hold_nothing_are_refused(coding: Coding) -> None:
    """400,000 empty members, 8 MB, took 95 s of a busy machine."""
    fed = 0

    def members() -> Iterator[bytes]:
        nonlocal fed
        unpacker = Unpacker(coding)
        for _ in range(400):
            fed += 1000
            yield from unpacker.feed(PACK[coding](b"") * 1000)

    with pytest.raises(UsageError, match="almost nothing") as caught:
        list(members())
    assert caught.value.code == "archive-bomb"
    assert fed <= 2000
    # As `bgzip` packs what packs well, and as logs are joined.
    for content, n in ((b"a" * 8_192, 1_500), (os.urandom(300), 1_500), (b"", 1_000)):
        assert unpacked(coding, PACK[coding](content) * n, 1 << 16) == content * n


def test_zstd_may_not_look_back_further_than_its_window() -> None:
    options = {zstd.CompressionParameter.window_log: 27}
    with pytest.raises(UsageError, match="memory"):
        unpacked("zstd", zstd.compress(os.urandom(9 << 20) * 2, options=options), 1 << 16)


@pytest.mark.parametrize("head", [b"", b"\x1f", b"\x93NUMPY", b"x,y\n", b"PK\x03\x04"])
def test_other_content_is_not_packed(head: bytes) -> None:
    assert coding_of(head) is None


def archive(*names: str, method: int = zipfile.ZIP_DEFLATED, streamed: bool = False) -> bytes:
    """Files of these names, of 600,000 bytes each. streamed : with the lengths after each file."""
    sink = io.BytesIO()
    if streamed:
        sink.seekable = lambda: False  # type: ignore[method-assign]
    with zipfile.ZipFile(sink, "w", method) as made:
        for name in names:
            made.writestr(name, b"" if name.endswith("/") else b"1,2\n" * 150_000)
    return sink.getvalue()


@pytest.mark.parametrize("step", [3, 1000, 1 << 30])
@pytest.mark.parametrize(
    "content",
    [
        archive("t.csv"),
        archive("t.csv", method=zipfile.ZIP_STORED),
        archive("a/T.CSV", "__MACOSX/a/._T.CSV", streamed=True),
        archive("a/", "a/b/", "a/b/t.csv", "__MACOSX/a/._T.CSV"),
    ],
    ids=["deflated", "stored", "streamed", "in folders"],
)
def test_the_only_file_of_an_archive(content: bytes, step: int) -> None:
    assert coding_of(content) == "zip"
    assert packed.inner_type(content) == "text/csv"
    step = step if len(content) < 100_000 else max(step, 1000)
    assert unpacked("zip", content, step) == b"1,2\n" * 150_000


@pytest.mark.parametrize("name", ["x.npy", "[Content_Types].xml", "a.png", "data.pkl"])
def test_other_archives_are_not_unpacked(name: str) -> None:
    assert coding_of(archive(name)) is None


def test_archives_that_are_not_unpacked_are_refused() -> None:
    whole = archive("t.csv")
    locked = bytearray(whole)
    locked[6] |= 1
    for content, words in (
        (archive("t.csv", "u.csv"), "several files"),
        (archive("a/", "t.csv", "b/", "u.csv"), "several files"),
        (archive("t.csv", method=zipfile.ZIP_LZMA), "not accepted"),
        (bytes(locked), "not accepted"),
        (whole[:40] + b"\xff" * 60 + whole[100:], "not valid zip"),
        (whole[:300], "breaks off"),
    ):
        with pytest.raises(UsageError, match=words):
            unpacked("zip", content, 100)
