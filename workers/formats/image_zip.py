"""A zip archive of images, read as items: a row for each image, in the natural order of the names.

In natural order numbers within names count as numbers: `cat2.png` comes before `cat10.png`.
Folders, and files that an operating system adds (`__MACOSX/`, names that begin with a
dot, `Thumbs.db`), are passed over. The bytes of an image are held as they are.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import UsageError, shown
from models.items.facts import ACCEPTED, MOST_BYTES, require_image
from models.roles import Want
from workers.formats import archives
from workers.formats.archives import ArchiveKind
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.refusals import unsupported
from workers.formats.tables import NamedColumns, Table

if TYPE_CHECKING:
    import pyarrow as pa

MOST_IMAGES = 200_000
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
COLUMNS = ("file", "image")
_DTYPE = "image"
_DIGITS = re.compile(r"(\d{1,18})", re.ASCII)


def is_own(name: str) -> bool:
    """Whether a member is what an operating system adds, or a folder."""
    last = name.rpartition("/")[2]
    return not last or name.startswith("__MACOSX/") or last.startswith(".") or last == "Thumbs.db"


def begins(first_name: str) -> bool:
    """Whether an archive whose first member has this name is one of images."""
    return is_own(first_name) or first_name.lower().endswith(SUFFIXES)


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """The number of images, after reading each."""
    with archives.opened(path, _KIND, bounds, MOST_IMAGES) as archive:
        infos = _images(archive)
        for info in infos:
            _content(archive, info)
        return Facts((len(infos), len(COLUMNS)), _DTYPE)


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The names and the images. Raises UsageError `wrong-input` where something else is wanted."""
    import pyarrow as pa

    with archives.opened(path, _KIND, bounds, MOST_IMAGES) as archive:
        infos = _images(archive)
        if want != "table":
            raise UsageError(
                "An archive of images is read as items. As features give the pixels as an array: "
                "(n_images, height, width) or (n_images, height, width, channels) in .npy.",
                code="wrong-input",
            )
        chunks: list[pa.Array] = []
        for start in range(0, len(infos), _AT_ONCE):
            some = [_content(archive, info) for info in infos[start : start + _AT_ONCE]]
            chunks.append(pa.array(some, pa.large_binary()))
    names = pa.array([_text(info.filename) for info in infos], pa.large_string())
    return NamedColumns(
        COLUMNS, [pa.chunked_array([names]), pa.chunked_array(chunks, pa.large_binary())]
    )


_AT_ONCE = 256


def _images(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    infos = [info for info in archive.infolist() if not is_own(info.filename)]
    if not infos:
        raise UsageError("The archive holds no images.", code="empty")
    return sorted(infos, key=lambda info: _natural(info.filename))


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    name = shown(info.filename)
    with archives.member(archive, info, _KIND) as file:
        # One byte more than is accepted, so that a longer one is refused.
        content = file.read(MOST_BYTES + 1)
    require_image(content, f"member {name} of the archive")
    return content


def _text(name: str) -> str:
    """The name of a member as text: what is no valid Unicode is replaced."""
    return name.encode("utf-8", "replace").decode()


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in _DIGITS.split(name)
        if part
    ]


def _require(name: str) -> None:
    if not (is_own(name) or name.lower().endswith(SUFFIXES)):
        raise unsupported(
            f"Member {shown(name)} of the archive is no image by its name; an archive of items "
            f"holds {ACCEPTED}, and nothing else."
        )


_KIND = ArchiveKind(
    noun="zip",
    packed_by="stored and deflated members",
    advice="Upload fewer or smaller images.",
    most_directory=64 << 20,
    require=_require,
)
