"""What is embedded: texts, tables of them, and images."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from umbel_client import frames, items, tables
from umbel_client.encodings import Payload
from umbel_client.errors import InputError
from umbel_client.inputs import (
    Converted,
    File,
    Reference,
    converted,
    stacked,
    table_query,
)
from umbel_client.quoting import path_shown

TEXTS, IMAGES = "documents", "items"
"""The roles that are embedded."""

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""How the names of images in a folder end; other files are left out."""


@contextlib.contextmanager
def embeddable(content: Any, options: Mapping[str, Any]) -> Iterator[dict[str, Converted]]:
    """What is embedded, by where it belongs in the request, while it is sent.

    content : as of `Umbel.embed`. options : of a table, as of `TableOptions`.

    Raises InputError for what is neither texts nor images.
    """
    with contextlib.ExitStack() as files:
        if isinstance(content, (str, os.PathLike)) and os.path.isdir(content):
            content = files.enter_context(_zipped(Path(content)))
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


def _are_images(content: Any) -> bool:
    """Whether it is a zip of images, or a dataset that is one."""
    path = content.path if isinstance(content, File) else content
    if isinstance(path, (str, os.PathLike)) and os.path.isfile(path):
        if not str(path).lower().endswith(".zip"):
            return False
        with contextlib.suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
            return any(name.lower().endswith(ENDINGS) for name in archive.namelist())
        return False
    body = getattr(content, "body", None)
    return isinstance(body, Mapping) and (body.get("format") == "zip" or body.get("role") == IMAGES)


@contextlib.contextmanager
def _zipped(folder: Path) -> Iterator[Path]:
    """The images of a folder and of those in it, by name, as a zip that goes at the end.

    Raises InputError where there are none, or one cannot be read.
    """
    found = sorted(
        path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file()
    )
    if not found:
        raise InputError(
            IMAGES,
            f"there are no images in {path_shown(folder)}; they end in {', '.join(ENDINGS)}.",
        )
    with tempfile.TemporaryDirectory(prefix="umbel-") as place:
        archive = Path(place, f"{folder.resolve().name or 'images'}.zip")
        try:
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED, strict_timestamps=False) as file:
                for path in found:
                    file.write(path, path.relative_to(folder).as_posix())
        except OSError as error:
            raise InputError(IMAGES, f"the images cannot be read: {error.strerror}.") from None
        yield archive
