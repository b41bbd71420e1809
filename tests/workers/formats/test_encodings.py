"""UTF-16 and UTF-32 as UTF-8; bytes of a CSV file that are of no encoding, named."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.errors import UsageError
from tests.workers.formats.files_kit import put, refused
from workers.formats import catalogue
from workers.formats.encodings import Recoder

TEXT = "größe,y\r\n1.5,2\r\n" * 100
ENCODINGS = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


def recoded(content: bytes, encoding: str, step: int) -> str:
    recoder, pieces = Recoder(encoding), []
    for at in range(0, len(content), step):
        pieces += recoder.feed(content[at : at + step])
    pieces += recoder.feed(b"", last=True)
    return b"".join(pieces).decode()


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_is_recognised_is_read(encoding: str, mark: str) -> None:
    content = (mark + TEXT).encode(encoding)
    found = catalogue.text_encoding(content)
    if not mark and "32" in encoding:
        assert found is None
        return
    assert found == encoding
    for step in (1, 7, 1 << 20):
        assert recoded(content, found, step) == TEXT


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x,y\n1,2\n",
        "größe\n1\n".encode("cp1252"),
        b"\0\0\0\0",
        b"\xff\xfe",
        b"\x93NUMPY\x01\0v\0{",
        bytes(64),
        b"\x01\0\x02\0\x03\0\x04\0",
    ],
)
def test_other_content_is_left(content: bytes) -> None:
    assert catalogue.text_encoding(content) is None


@pytest.mark.parametrize("broken", [b"\x00\xd8x\0", b"\x00"])
def test_where_text_is_damaged(broken: bytes) -> None:
    content = "a,b\n1,2\n".encode("utf-16-le")
    with pytest.raises(UsageError, match=r"UTF-16 text up to line 3.*byte 16") as caught:
        recoded(content + broken, "utf-16-le", 5)
    assert caught.value.where["line"] == 3


@pytest.mark.parametrize(
    ("far", "name", "rest"),
    [(b"gr\xf6\xdfe", "UTF-8", b"a"), (b"gr\x81", "Windows-1252", b"gr\xf6\xdfe")],
)
@pytest.mark.parametrize("role", ["features", "labels"])
def test_a_byte_of_another_encoding_is_named(
    far: bytes, name: str, rest: bytes, role: str, tmp_path: Path
) -> None:
    """Far below the rows by which the encoding is found."""
    head = b"x,label\n" + (b"1," + rest + b"\n") * 80_000
    path = put(tmp_path / "x.csv", head + b"2," + far + b"\n")
    columns, _ = catalogue.table_columns("csv", path, None, catalogue.Bounds())
    if role == "features" and name == "UTF-8":
        # The column of the byte is not read.
        assert len(catalogue.load("csv", path, None, role, columns=columns)) == 80_001
        return
    error = refused(catalogue.load, "csv", path, None, role, columns=columns)
    assert error.where["line"] == 80_002
    assert f"{name} text up to line 80002, whose byte 4 " in error.detail
    assert f"byte {len(head) + 4} of the file) is 0x{far[2]:02X}" in error.detail
