"""A finished picture with its texts cut into runs of one font each, and with the fonts themselves.

`typeset` is the last step of every picture: its renderers and readers then need no fallback of
their own, and draw the same glyphs.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

import uharfbuzz as hb

from app.pictures.typefaces import FONT_FILE, Face, Typefaces

_TEXT = re.compile(r"(<text [^>]*>)([^<]*)")
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Typeset:
    """A picture and the faces of its texts. missing : characters that no face has."""

    svg: str
    faces: tuple[Face, ...]
    letters: dict[Face, str]
    missing: str

    def files(self) -> list[Path]:
        """The files of the faces, each once; the built-in one, if there is no text."""
        return list(dict.fromkeys(face.path for face in self.faces)) or [FONT_FILE]

    def warning(self) -> str | None:
        """The characters that are drawn as boxes, and what to install, in ASCII; None without."""
        if not self.missing:
            return None
        named = [
            f"U+{ord(letter):04X} {unicodedata.name(letter, 'without a name')}"
            for letter in self.missing[:_MOST_NAMED]
        ]
        more = len(self.missing) - len(named)
        packages = sorted({_package(letter) for letter in self.missing})
        return (
            f"no font of the service has {', '.join(named)}"
            + (f" and {more:,} more" if more else "")
            + f"; the operator can install {', '.join(packages)}, or name a folder of fonts in "
            "UMBEL_FONTS"
        )

    def embedded(self) -> str:
        """The picture with the glyphs that it uses, as `data:` addresses. Some ms a face."""
        rules = "".join(
            f"@font-face{{font-family:'{face.family}';src:url(data:font/"
            f"{'otf' if data[:4] == b'OTTO' else 'ttf'};base64,{b64encode(data).decode()})}}"
            for face, data in ((face, subset(face, self.letters[face])) for face in self.faces)
        )
        head, end, rest = self.svg.partition(">")
        return f"{head}{end}<style>{rules}</style>{rest}" if rules else self.svg


def typeset(svg: str, typefaces: Typefaces) -> Typeset:
    """Cut the texts of a picture. Runs of fallback faces become `tspan`s that name their family."""
    used: dict[Face, set[str]] = {}
    missing: dict[str, None] = {}

    def cut(match: re.Match[str]) -> str:
        parts = [match[1]]
        for face, run in typefaces.runs(unescape(match[2])):
            written = escape(run)
            if face is None:
                missing.update(dict.fromkeys(run))
                face = typefaces.built_in
            used.setdefault(face, set()).update(run)
            if face is typefaces.built_in:
                parts.append(written)
            else:
                parts.append(f'<tspan font-family="{escape(face.family)}">{written}</tspan>')
        return "".join(parts)

    svg = _TEXT.sub(cut, svg)
    return Typeset(
        svg,
        tuple(used),
        {face: "".join(sorted(letters)) for face, letters in used.items()},
        "".join(letter for letter in missing if unicodedata.category(letter) != "Cf"),
    )


def subset(face: Face, letters: str) -> bytes:
    """A font file with the glyphs of `letters` and what shaping makes of them."""
    wanted = hb.SubsetInput()
    wanted.unicode_set.update(map(ord, letters))
    wanted.flags = hb.SubsetFlags.NO_HINTING
    whole = hb.Face(hb.Blob.from_file_path(face.path), face.index)
    return bytes(hb.subset(whole, wanted).blob.data)


def _package(letter: str) -> str:
    """The Debian package of fonts that most likely has a character."""
    name = unicodedata.name(letter, "")
    if name.startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")):
        return "fonts-noto-cjk"
    if ord(letter) >= 0x1F000 and unicodedata.category(letter) in ("So", "Sk"):
        return "fonts-noto-color-emoji"
    return "fonts-noto-core"
