"""The forms a tree is served in, and how a client says which one it wants."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from app.http.problems import Refused
from app.pictures.palette import Palette, Theme
from models.tree import walk
from models.tree.categories import Categories
from models.tree.tree import Tree
from workers.artifacts.trees import TreeRecord

if TYPE_CHECKING:
    import pyarrow as pa

Chunks = Iterator[bytes]
_ROWS = 16_384
_VALUES = 1 << 17


@dataclass(frozen=True, slots=True)
class Wanted:
    """A stored tree and what the client asked of its form; each form uses what means something.

    root, depth : the part to serve. color : of pictures.
    """

    record: TreeRecord
    tree: Tree
    root: int = 0
    depth: int | None = None
    layout: Literal["flat", "nested"] = "flat"
    labels: Literal["name", "id"] = "name"
    shape: Literal["circular", "rectangular", "icicle"] = "circular"
    px: int = 1000
    height: int | None = None
    palette: Palette = "okabe-ito"
    theme: Theme = "light"
    title: str | None = None
    color: Categories | None = None

    def part(self) -> tuple[Tree, npt.NDArray[np.int64] | None]:
        """The tree or the part asked for, and the ids its nodes have in the whole tree."""
        if self.root == 0 and self.depth is None:
            return self.tree, None
        found = walk.part(self.tree, self.root, self.depth)
        return found.tree, found.node


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """One form of a T: suffix, media type, writer. `loses_heights`: leaf heights are not kept."""

    suffix: str
    media: str
    write: Callable[[T], Chunks]
    loses_heights: bool = False


def _json(wanted: Wanted) -> Chunks:
    from models.tree import nested

    tree, ids = wanted.part()
    record = wanted.record
    head = {
        "id": record.id,
        "job": record.job,
        "name": record.name,
        "method": record.method,
        "kind": tree.kind,
        "monotone": tree.monotone,
        "n_points": tree.n_points,
        "n_leaves": tree.n_leaves,
        "max_depth": tree.max_depth,
        "created_at": record.created_at,
    }
    if wanted.layout == "nested":
        nodes, key = nested.write(tree, ids=ids), "root"
    else:
        nodes, key = nested.flat_nodes(tree, ids=ids), "nodes"
    yield json.dumps(head, ensure_ascii=True)[:-1].encode() + f', "{key}": '.encode()
    for chunk in nodes:
        yield chunk.encode()
    yield b"}\n"


def _newick(wanted: Wanted) -> Chunks:
    from models.tree import newick

    tree, ids = wanted.part()
    for chunk in newick.write(tree, labels=wanted.labels, ids=ids):
        yield chunk.encode()


def _nexus(wanted: Wanted) -> Chunks:
    from models.tree import nexus

    tree, ids = wanted.part()
    for chunk in nexus.write(tree, labels=wanted.labels, ids=ids):
        yield chunk.encode()


def _linkage(wanted: Wanted) -> Chunks:
    from models.tree import linkage

    yield from npy_chunks(linkage.to_scipy(wanted.part()[0]))


def _hclust(wanted: Wanted) -> Chunks:
    from models.tree import linkage

    parts = linkage.hclust(wanted.part()[0])
    columns: dict[str, npt.NDArray[Any] | list[str]] = {
        "merge": parts.merge,
        "height": parts.height,
        "order": parts.order,
        "labels": parts.labels,
    }
    for number, (key, column) in enumerate(columns.items()):
        yield f'{", " if number else "{"}"{key}": ['.encode()
        # The encoder keeps the interpreter to itself, so it gets short lists.
        for start in range(0, len(column), _ROWS):
            rows = column[start : start + _ROWS]
            text = json.dumps(rows if isinstance(rows, list) else rows.tolist(), ensure_ascii=True)
            yield (", " if start else "").encode() + text[1:-1].encode()
        yield b"]"
    yield b"}\n"


def _arrow(wanted: Wanted) -> Chunks:
    from models.tree import columns

    yield from arrow_chunks(columns.to_table(wanted.part()[0]))


def _svg(wanted: Wanted) -> Chunks:
    yield _drawn(wanted).encode()


def _png(wanted: Wanted) -> Chunks:
    from app.pictures.png import png

    yield png(_drawn(wanted), wanted.px)


def _drawn(wanted: Wanted) -> str:
    from app.pictures.svg import svg

    return svg(
        wanted.tree,
        root=wanted.root,
        depth=wanted.depth,
        shape=wanted.shape,
        px=wanted.px,
        height=wanted.height,
        categories=wanted.color,
        palette=wanted.palette,
        theme=wanted.theme,
        title=wanted.title,
        labels=wanted.labels,
    )


FORMS: tuple[Form[Wanted], ...] = (
    Form("json", "application/json", _json),
    Form("nwk", "text/x-nh", _newick),
    Form("nex", "text/x-nexus", _nexus),
    Form("linkage.npy", "application/x-npy", _linkage, loses_heights=True),
    Form("hclust.json", "application/vnd.umbel.hclust+json", _hclust, loses_heights=True),
    Form("arrow", "application/vnd.apache.arrow.file", _arrow),
    Form("svg", "image/svg+xml", _svg),
    Form("png", "image/png", _png),
)


def by_suffix(suffix: str, among: Sequence[Form[T]]) -> Form[T]:
    """The form with this suffix; 406 naming what there is."""
    for form in among:
        if form.suffix == suffix:
            return form
    raise _none_fits(f"the suffix .{suffix}", among)


def by_accept(accept: str | None, among: Sequence[Form[T]]) -> Form[T]:
    """The form that an Accept header likes best, the first of `among` where it does not care.

    406 naming what there is where none of them is accepted.
    """
    if not accept or not accept.strip():
        return among[0]
    ranges = [_media_range(item) for item in accept.split(",") if item.strip()]
    best, best_quality = None, 0.0
    for form in among:
        quality = _quality(form.media, ranges)
        if quality > best_quality:
            best, best_quality = form, quality
    if best is None:
        raise _none_fits(f"Accept: {accept[:200]}", among)
    return best


def _media_range(item: str) -> tuple[str, float]:
    media, *parameters = (part.strip().lower() for part in item.split(";"))
    quality = 1.0
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                quality = float(parameter[2:])
            except ValueError:
                quality = 0.0
    return media, quality


def _quality(media: str, ranges: Sequence[tuple[str, float]]) -> float:
    """RFC 9110: the most specific range that fits decides."""
    kind = media.partition("/")[0]
    for wanted in (media, f"{kind}/*", "*/*"):
        fitting = [quality for given, quality in ranges if given == wanted]
        if fitting:
            return max(fitting)
    return 0.0


def _none_fits(what: str, among: Sequence[Form[T]]) -> Refused:
    there_are = ", ".join(f".{form.suffix} ({form.media})" for form in among)
    return Refused("not-acceptable", f"Nothing fits {what}; there are {there_are}.")


def lost(form: Form[Wanted], tree: Tree) -> str | None:
    """What of this tree the form cannot carry, as the text of a `Warning` header."""
    if form.loses_heights and bool(np.any(tree.height[tree.leaves] != 0)):
        return '199 - "leaf heights other than 0 are not kept in this form"'
    return None


def npy_chunks(array: npt.NDArray[Any]) -> Chunks:
    """The array as a .npy file, a megabyte at a time."""
    whole = np.ascontiguousarray(array)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(whole))
    yield head.getvalue()
    flat = whole.reshape(-1)
    for start in range(0, flat.size, _VALUES):
        yield flat[start : start + _VALUES].tobytes()


def arrow_chunks(table: pa.Table) -> Chunks:
    """The table as an Arrow file, a record batch at a time."""
    import pyarrow as pa

    sink = _Drained()
    with pa.ipc.new_file(pa.PythonFile(sink, "w"), table.schema) as writer:
        for batch in table.to_batches(max_chunksize=_VALUES // 2):
            writer.write_batch(batch)
            yield sink.drain()
    yield sink.drain()


class _Drained(io.RawIOBase):
    """A file that is only written to and emptied now and then."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._size

    def drain(self) -> bytes:
        """What was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What may begin a formula; the last four are the wide forms of the first four."""


def cell(name: str) -> str:
    """A name that a spreadsheet would take for a formula is kept as text by an apostrophe."""
    return f"'{name}" if name.startswith(_FORMULA) else name
