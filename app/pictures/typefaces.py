"""The fonts that pictures are drawn with: the one that ships with the service, and where it has no
glyph the fonts of this machine.

Fonts are read from the folders of the setting `fonts` (`UMBEL_FONTS`) and from those where systems
keep them, never from what a client sends. The folders are read once in a process, and only when a
text has a character that the first font lacks.
"""

from __future__ import annotations

import os
import re
import struct
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import uharfbuzz as hb

FONT_FILE = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"
SYSTEM_FOLDERS = tuple(
    Path(folder).expanduser()
    for folder in (
        *("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts"),
        *("/Library/Fonts", "/System/Library/Fonts", "~/Library/Fonts"),
    )
)
MOST_FILES = 5000
"""The most font files that are looked at."""

_SUFFIXES = frozenset({".ttf", ".otf", ".ttc", ".otc"})
_NO_EMBEDDING = 0x0302
"""Bits of OS/2 fsType: no embedding (0x2), no subsets (0x100), bitmaps only (0x200)."""
_REGULAR = range(350, 451)
_FAMILY = re.compile(r"[\w .+-]{1,100}")
_MOST_CHOSEN = 100_000
_ZWJ = "\u200d"


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """A face of a font file.

    index : its number in a collection. covers : the code points that it has glyphs for.
    """

    path: Path
    index: int
    family: str
    covers: hb.Set

    def has(self, cluster: str) -> bool:
        """Whether it has a glyph for each character that needs one."""
        return all(ord(letter) in self.covers or _is_unseen(letter) for letter in cluster)


class Typefaces:
    """The built-in face, and the fallbacks: from `folders` first, then this machine's."""

    def __init__(self, folders: tuple[Path, ...] = (), system: bool = True) -> None:
        self._folders = (*folders, *(SYSTEM_FOLDERS if system else ()))
        self._chosen: dict[str, Face | None] = {}
        (self.built_in,) = _faces(FONT_FILE)

    @cached_property
    def fallbacks(self) -> tuple[Face, ...]:
        """One regular, upright face of each family that may be embedded, folder by folder; within
        one sans serif first, then by name. Reads all files: some ms each.
        """
        families: dict[str, Face] = {}
        for folder in self._folders:
            faces = [face for file in _files(folder) for face in _faces(file)]
            for face in sorted(faces, key=_rank):
                families.setdefault(face.family, face)
        families.pop(self.built_in.family, None)
        return tuple(families.values())

    def runs(self, text: str) -> list[tuple[Face | None, str]]:
        """`text` cut into runs of one face each, the first that has the glyphs; None: no face has
        them.
        """
        if text.isascii():
            return [(self.built_in, text)]
        runs: list[tuple[Face | None, str]] = []
        for cluster in clusters(text):
            face = self._face(cluster)
            if runs and runs[-1][0] is face:
                face, before = runs.pop()
                cluster = before + cluster
            runs.append((face, cluster))
        return runs

    def _face(self, cluster: str) -> Face | None:
        if self.built_in.has(cluster):
            return self.built_in
        if cluster not in self._chosen:
            if len(self._chosen) >= _MOST_CHOSEN:
                self._chosen.clear()
            self._chosen[cluster] = next((f for f in self.fallbacks if f.has(cluster)), None)
        return self._chosen[cluster]


@cache
def typefaces(folders: tuple[Path, ...] = ()) -> Typefaces:
    """The fonts of this machine and of `folders`, read once."""
    return Typefaces(folders)


def clusters(text: str) -> Iterator[str]:
    """`text` cut where a new character begins for a reader: a letter with its marks, an emoji with
    its modifiers, joined emoji, a flag.
    """
    start, indicators = 0, 0
    for at in range(1, len(text) + 1):
        if at < len(text):
            before, letter = text[at - 1], text[at]
            indicators = indicators + 1 if _is_indicator(before) else 0
            flag = indicators % 2 == 1 and _is_indicator(letter)
            extends = unicodedata.category(letter) in ("Mn", "Mc", "Me") or letter == _ZWJ
            extends |= 0x1F3FB <= ord(letter) <= 0x1F3FF or 0xE0020 <= ord(letter) <= 0xE007F
            if flag or extends or before == _ZWJ:
                continue
        yield text[start:at]
        start = at


def _is_unseen(letter: str) -> bool:
    """Whether a character needs no glyph: joiners, marks of direction, selectors of variants."""
    code = ord(letter)
    selects = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    return selects or unicodedata.category(letter) == "Cf"


def _is_indicator(letter: str) -> bool:
    return 0x1F1E6 <= ord(letter) <= 0x1F1FF


def _files(folder: Path) -> list[Path]:
    files = []
    for parent, _, names in os.walk(folder):
        files += [Path(parent, name) for name in names if Path(name).suffix.lower() in _SUFFIXES]
        if len(files) > MOST_FILES:
            break
    return sorted(files)[:MOST_FILES]


def _faces(file: Path) -> Iterator[Face]:
    """The usable faces of a file; none of one that cannot be read."""
    try:
        blob = hb.Blob.from_file_path(file)
    except (OSError, hb.HarfBuzzError):
        return
    index, n_faces = 0, 1
    while index < n_faces:
        face = hb.Face(blob, index)
        n_faces = face.count
        # The renderers know a face by both names; the family is written into pictures unchanged.
        family = face.get_name(hb.OTNameIdPredefined.TYPOGRAPHIC_FAMILY)
        family = family or face.get_name(hb.OTNameIdPredefined.FONT_FAMILY) or ""
        named = _FAMILY.fullmatch(family) and face.get_name(hb.OTNameIdPredefined.POSTSCRIPT_NAME)
        if named and "cmap" in face.table_tags and _is_usable(face):
            yield Face(file, index, family, face.unicodes)
        index += 1


def _is_usable(face: hb.Face) -> bool:
    """Whether a face is regular and upright, and its licence bits let a file have a subset."""
    table = bytes(face.reference_table("OS/2").data)
    if len(table) < 64:
        return False
    (weight,) = struct.unpack_from(">H", table, 4)
    (embedding,) = struct.unpack_from(">H", table, 8)
    (selection,) = struct.unpack_from(">H", table, 62)
    return weight in _REGULAR and not embedding & _NO_EMBEDDING and not selection & 1


def _rank(face: Face) -> tuple[bool, bool, str]:
    return "Mono" in face.family, "Sans" not in face.family, face.family
