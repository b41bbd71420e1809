"""Damaged files of every format are read or refused; `make fuzz` tries many more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from models.errors import UsageError
from tests.fuzz.corpus_kit import corpus
from tests.fuzz.trial_kit import read, trials
from workers.formats import catalogue

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bounds memory as Linux does")


def test_readers_take_or_refuse_damaged_files(tmp_path: Path) -> None:
    valid = corpus(tmp_path)
    for format, files in valid.items():
        for content in files:
            (tmp_path / "valid").write_bytes(content)
            read(format, tmp_path / "valid")
        findings = list(trials(format, files, 0, 20, tmp_path))
        assert findings == [], f"{format}: {findings[0].what}"


@pytest.mark.parametrize(
    ("format", "content"),
    [
        pytest.param("csv", b"\xef", id="a byte order mark that breaks off"),
        pytest.param("csv", b"\xef\xbb", id="later"),
        pytest.param("arff", b"\x1f", id="a line of a character that is blank as text alone"),
        pytest.param("arff", "\xa0\n@relation r\n\x1f\n".encode(), id="among others"),
    ],
)
def test_files_that_broke_a_reader_are_refused(tmp_path: Path, format: str, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        catalogue.inspect(format, path)
    with pytest.raises(UsageError):
        catalogue.load(format, path, None, "labels")
