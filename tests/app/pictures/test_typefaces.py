"""Runs of text: each character by the first font that has it; fonts from folders alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.pictures.typefaces import FONT_FILE, Typefaces, clusters
from tests.app.pictures.font_kit import make_font


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "boxes.ttf", "Boxes")
    make_font(folder / "forbidden.ttf", "Aa Forbidden", embedding=0x2)
    make_font(folder / "odd.ttf", "Odd'}</style>")
    (folder / "broken.ttf").write_bytes(b"\0\1\0\0 not a font")
    (folder / "notes.txt").write_text("no font")
    return folder


def runs(faces: Typefaces, text: str) -> list[tuple[str | None, str]]:
    return [(face and face.family, run) for face, run in faces.runs(text)]


def test_runs_go_to_the_first_font_with_the_glyphs(folder: Path) -> None:
    faces = Typefaces((folder,), system=False)
    assert [face.family for face in faces.fallbacks] == ["Boxes"]
    assert runs(faces, "dog 犬猫!") == [
        ("DejaVu Sans", "dog "),
        ("Boxes", "犬猫"),
        ("DejaVu Sans", "!"),
    ]
    assert runs(faces, "é\u0301\u200d") == [("DejaVu Sans", "é\u0301\u200d")]
    assert runs(faces, "👩\u200d👩") == [("Boxes", "👩\u200d👩")]
    assert runs(faces, "中a") == [(None, "中"), ("DejaVu Sans", "a")]
    assert runs(faces, "") == [("DejaVu Sans", "")]


def test_without_folders_there_are_no_fallbacks(tmp_path: Path) -> None:
    faces = Typefaces((tmp_path, tmp_path / "missing"), system=False)
    assert faces.fallbacks == ()
    assert faces.built_in.path == FONT_FILE
    assert runs(faces, "犬") == [(None, "犬")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("ab", ["a", "b"]),
        ("e\u0301x", ["e\u0301", "x"]),
        ("हिन्दी", ["हि", "न्", "दी"]),
        ("👩\u200d👩\u200d👧!", ["👩\u200d👩\u200d👧", "!"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("🇩🇪🇫🇷🇮", ["🇩🇪", "🇫🇷", "🇮"]),
        ("❤\ufe0fa", ["❤\ufe0f", "a"]),
    ],
)
def test_clusters(text: str, parts: list[str]) -> None:
    assert list(clusters(text)) == parts
