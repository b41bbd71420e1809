"""What is embedded: texts, tables of them, and images."""

from __future__ import annotations

import contextlib
import lzma
import os
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from umbel_client import frames, items, tables
from umbel_client.encodings import Payload
from umbel_client.errors import InputError, UmbelWarning
from umbel_client.inputs import (
    Converted,
    File,
    Reference,
    converted,
    stacked,
    table_query,
)
from umbel_client.line_files import decoded
from umbel_client.quoting import path_shown

TEXTS, IMAGES = "documents", "items"
"""The roles that are embedded."""

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""How the names of images in a folder or a zip end."""

TEXT_ENDINGS = (".txt", ".text", ".md", ".rst", "")
"""How the names of texts end, where there are no images; other files are left out."""

MOST_TEXT = 1 << 30
"""Bytes of texts that are read from one folder or zip."""

_BROKEN = (OSError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
"""What a file or a zip raises that cannot be read."""


@contextlib.contextmanager
def embeddable(content: Any, options: Mapping[str, Any]) -> Iterator[dict[str, Converted]]:
    """What is embedded, by where it belongs in the request, while it is sent.

    content : as of `Umbel.embed`. options : of a table, as of `TableOptions`.

    Raises InputError for what is neither texts nor images.
    """
    with contextlib.ExitStack() as files:
        if isinstance(content, (str, os.PathLike)) and os.path.isdir(content):
            paths = _files(Path(content))
            if any(name.lower().endswith(ENDINGS) for name in paths):
                content = files.enter_context(_zipped(Path(content), paths))
            else:
                content = _texts(Path(content), paths, lambda name: paths[name].read_bytes())
        elif (path := _zip_of(content)) is not None and not _are_images(content):
            archive, inside = _opened(path, files)
            if any(map(_is_text, inside)):  # Else it is a table that is packed.
                content = _texts(path, inside, lambda name: archive.read(inside[name]))
        images = _are_images(content)
        yield {f"inputs.{IMAGES if images else TEXTS}": _converted(content, images, options)}


def _converted(content: Any, images: bool, options: Mapping[str, Any]) -> Converted:
    query = table_query(options)
    if images:
        return _with(_one(IMAGES, content), query)
    if frames.is_frame(content):
        table = tables.table_of(TEXTS, content, stacked)
        if not isinstance(table, Payload):
            raise InputError(
                TEXTS, "the data frame has numbers alone; a column of texts is needed."
            )
        return _with(table, {"role": TEXTS, **query})
    if isinstance(content, Mapping) or _are_objects(content):
        lines = items.table(content)
        assert lines is not None
        return _with(lines, {"role": TEXTS, **query})
    return _with(_one(TEXTS, content), query)


def _one(role: str, content: Any) -> Converted:
    found = converted(role, content)
    assert not isinstance(found, list)
    return found


def _with(found: Converted, query: Mapping[str, Any]) -> Converted:
    """A payload with further facts for the service. Raises InputError where nothing is uploaded
    and options of a table are given."""
    if isinstance(found, Payload):
        return Payload(found.content, found.media_type, {**found.query, **query})
    if query:
        kind = f"{found.id} has been uploaded" if isinstance(found, Reference) else "it is a list"
        raise InputError(TEXTS, f"{kind}: leave out {', '.join(query)}.")
    return found


def _are_objects(content: Any) -> bool:
    return isinstance(content, (list, tuple)) and any(isinstance(row, Mapping) for row in content)


def _zip_of(content: Any) -> Path | None:
    """The path of a zip; None for anything else."""
    path = content.path if isinstance(content, File) else content
    if not isinstance(path, (str, os.PathLike)) or not str(path).lower().endswith(".zip"):
        return None
    return Path(path) if zipfile.is_zipfile(path) else None


def _are_images(content: Any) -> bool:
    """Whether it is a zip of images, or a dataset that is one."""
    if (path := _zip_of(content)) is not None:
        with contextlib.suppress(*_BROKEN), zipfile.ZipFile(path) as archive:
            return any(name.lower().endswith(ENDINGS) for name in archive.namelist())
    body = getattr(content, "body", None)
    return isinstance(body, Mapping) and (body.get("format") == "zip" or body.get("role") == IMAGES)


def _files(folder: Path) -> dict[str, Path]:
    """The files of a folder and of those in it, by name from there, in order."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


def _opened(
    path: Path, files: contextlib.ExitStack
) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    """A zip and its members by name. Raises InputError where it is damaged, has two members of one
    name, or texts of more than `MOST_TEXT` bytes."""
    try:
        archive = files.enter_context(zipfile.ZipFile(path))
    except _BROKEN as error:
        raise InputError(TEXTS, f"{path_shown(path)} is a damaged zip: {error}.") from None
    inside: dict[str, zipfile.ZipInfo] = {}
    for each in archive.infolist():
        if not each.is_dir() and inside.setdefault(each.filename, each) is not each:
            raise InputError(
                TEXTS, f"{path_shown(path)} has two members called {path_shown(each.filename)}."
            )
    # As declared: no more is read of a member.
    if sum(each.file_size for name, each in inside.items() if _is_text(name)) > MOST_TEXT:
        raise _too_long(path)
    return archive, inside


def _too_long(place: Path) -> InputError:
    return InputError(TEXTS, f"the texts in {path_shown(place)} have more than 1 GiB.")


def _texts(
    place: Path, files: Mapping[str, Any], read: Callable[[str], bytes]
) -> list[dict[str, str]]:
    """A row for each text of a folder or a zip: its name and what it says.

    Raises InputError where there are none, one is blank or no text, or they are too long.
    """
    names = [name for name in files if _is_text(name)]
    if not names:
        raise InputError(
            TEXTS,
            f"there are no images in {path_shown(place)}, whose names end in "
            f"{', '.join(ENDINGS)}, and no texts, which end in {', '.join(TEXT_ENDINGS[:-1])} or "
            "have no ending.",
        )
    _warn_left_out(place, [name for name in files if not _is_text(name)])
    rows: list[dict[str, str]] = []
    size = 0
    for name in names:
        try:
            content = read(name)
            text = decoded(content, path_shown(name))
        except (*_BROKEN, UnicodeDecodeError) as error:
            raise InputError(
                TEXTS, f"{path_shown(name)} cannot be read as text: {error}."
            ) from None
        if not text.strip():
            raise InputError(TEXTS, f"{path_shown(name)} is blank; leave it out.")
        if (size := size + len(content)) > MOST_TEXT:
            raise _too_long(place)
        # A name that is no Unicode has lone surrogates, which no JSON may have.
        rows.append({"id": name.encode(errors="backslashreplace").decode(), "text": text})
    return rows


def _is_text(name: str) -> bool:
    parts = name.split("/")
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return not hidden and os.path.splitext(parts[-1])[1].lower() in TEXT_ENDINGS


def _warn_left_out(place: Path, names: list[str]) -> None:
    if names:
        warnings.warn(
            f"{len(names):,} other files in {path_shown(place)} are left out, such as "
            f"{path_shown(names[0])}.",
            UmbelWarning,
            stacklevel=4,
        )


@contextlib.contextmanager
def _zipped(folder: Path, files: Mapping[str, Path]) -> Iterator[Path]:
    """The images of a folder as a zip that goes at the end. Raises InputError where one cannot be
    read."""
    found = {name: path for name, path in files.items() if name.lower().endswith(ENDINGS)}
    _warn_left_out(folder, [name for name in files if name not in found])
    with tempfile.TemporaryDirectory(prefix="umbel-") as place:
        archive = Path(place, f"{folder.resolve().name or 'images'}.zip")
        try:
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED, strict_timestamps=False) as file:
                for name, path in found.items():
                    file.write(path, name)
        except OSError as error:
            raise InputError(IMAGES, f"the images cannot be read: {error.strerror}.") from None
        yield archive
