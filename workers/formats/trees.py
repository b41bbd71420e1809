"""Uploaded trees: ground-truth hierarchies and other tools' trees. Runs in the child.

The media type is what the sender takes the content for; where it is certainly something else, such
as Newick sent as plain text, it is read as that, with a warning.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from models.errors import InvalidTree
from models.inputs.data import Data
from models.tree.dialects import opens, text_format
from models.tree.tree import Tree
from workers.formats.tree_documents import read_document, read_text

FORMATS: dict[str, str] = {
    "text/x-nh": "newick",
    "text/x-nexus": "nexus",
    "application/json": "json",
    "application/vnd.umbel.hclust+json": "json",
    "application/x-npy": "linkage",
    "text/plain": "paths",
}
"""Media type -> format id."""

NAMES = {
    "newick": "Newick",
    "nexus": "Nexus",
    "json": "JSON",
    "linkage": "a linkage (.npy)",
    "paths": "class paths",
}

_MAGIC = (
    (b"\x93NUMPY", "a NumPy array (.npy)", "send a linkage as application/x-npy"),
    (b"PK\x03\x04", "a zip file, such as an Excel workbook or .npz", "send the tree as text"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "send the tree as text"),
    (b"\x1f\x8b", "compressed by gzip", "unpack it"),
    (b"%PDF-", "a PDF", "send the tree as text"),
    (b"ARROW1", "an Arrow file", "send the tree as JSON"),
    (b"PAR1", "a Parquet file", "send the tree as JSON"),
    (b"RDX3\n", "an R data file", "write the tree by ape::write.tree, or an hclust as JSON"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
)
_NO_TREES = (
    (re.compile("<"), "XML or HTML (phyloXML, NeXML and GraphML are not read)"),
    (re.compile("#mega", re.I), "a MEGA file, from which MEGA exports trees as Newick"),
    (
        re.compile(
            r"(?=[^\n]*\bparent)(?=[^\n]*\b(?:id|key|name)\b)[\"\w ]+(?:[,;\t][\"\w ]+)+\r?\n", re.I
        ),
        "a table of nodes, which as JSON is a list of objects",
    ),
    (
        re.compile(
            r"[\"' ]*(?:parents?|source|from|ancestor|hypernym)[\"' ]*[,;\t]"
            r"[\"' ]*(?:child(?:ren)?|target|to|descendant|hyponym)[\"' ]*\r?\n"
            r"|[\"' ]*(?:child|target|to)[\"' ]*[,;\t][\"' ]*(?:parent|source|from)[\"' ]*\r?\n",
            re.IGNORECASE,
        ),
        "a list of edges, which as JSON is nodes with 'id' and 'parent'",
    ),
    (re.compile(r"(?:strict\s+)?(?:di)?graph\b[^\n{]*\{", re.IGNORECASE), "a graph in DOT"),
    (re.compile(r"(?:[^\n\[]*\n)?graph\s*\[", re.IGNORECASE), "a graph in GML"),
)
"""Beginnings of texts that would pass for class paths, and what they are."""

_PIECE = 1 << 20


def read_tree(format_id: str, path: Path) -> Tree:
    """The tree in a file of one of `FORMATS`, or of another of them that the content shows. Rows
    are its leaves in order; where the leaves are named by the numbers of rows, these rows.

    What was decided or left out is in the tree's `warnings`, and nodes that lie higher than their
    parent.

    Raises InvalidTree naming the place for a file that holds no tree.
    """
    tree = _read_tree(format_id, path)
    if tree.monotone:
        return tree
    n_falls = int((tree.height[1:] > tree.height[tree.parent[1:]]).sum())
    sentence = f"{n_falls} node(s) lie higher than their parent: the tree is not monotone."
    return replace(tree, warnings=(*tree.warnings, sentence))


def _read_tree(format_id: str, path: Path) -> Tree:
    from models.tree import linkage

    if format_id != "linkage" and _is_newick(path):
        return _read_as(format_id, "newick", lambda: _newick(path))
    content = path.read_bytes()
    if format_id == "linkage" and content.startswith(b"\x93NUMPY"):
        from workers.formats import catalogue, npy

        facts = npy.inspect(path, None)
        if len(facts.shape) != 2 or facts.dtype == "str":
            raise InvalidTree(
                f"A linkage is a matrix of numbers with 4 columns; the array is {facts.dtype} of "
                f"shape {facts.shape}."
            )
        matrix = catalogue.load("npy", path, None, "distances")
        return linkage.from_scipy(Data({"linkage": matrix}).dense("linkage"))
    for magic, what, instead in _MAGIC:
        certain = not magic.decode("latin-1").isprintable() or b"\x00" in content
        if certain and content.startswith(magic):
            raise InvalidTree(f"The tree is not UTF-8 text: the content is {what}; {instead}.")
    if format_id == "linkage":
        from workers.formats import npy

        npy.inspect(path, None)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidTree(
            f"The tree is not UTF-8 text: byte {error.start} cannot be read."
        ) from error
    bare = text.strip()
    if format_id != "json" and bare[:2] == '"(' and bare[-1] == '"':
        # Newick as one cell of a table.
        text = bare[1:-1].replace('""', '"')
    form, document = _recognised(format_id, text)

    def read() -> Tree:
        return read_document(document) if form == "json" else read_text(form, text)

    return _read_as(format_id, form, read)


def _read_as(format_id: str, form: str, read: Callable[[], Tree]) -> Tree:
    """The tree that was sent as `format_id` and is read as `form`."""
    if form == format_id:
        return read()
    try:
        tree = read()
    except InvalidTree as error:
        detail = f"The content looks like {NAMES[form]}. {error.detail}"
        raise InvalidTree(detail, **error.where) from error
    sentence = f"The content is {NAMES[form]}, not {NAMES[format_id]}, and was read as that."
    return replace(tree, warnings=(sentence, *tree.warnings))


def _newick(path: Path) -> Tree:
    """The tree of a file in Newick, of which no more than a piece is in memory at a time."""
    from models.tree import newick, rows

    with path.open(encoding="utf-8-sig", newline="") as file:
        return rows.numbered(newick.read_file(file))


def _is_newick(path: Path) -> bool:
    """Whether a file is UTF-8 that begins with a bracket and ends as a tree does. False also where
    that cannot be seen within `_PIECE` bytes at either end."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        lead = file.read(_PIECE).removeprefix(codecs.BOM_UTF8)
        file.seek(max(0, path.stat().st_size - _PIECE))
        end = file.read().decode("utf-8", "replace").rstrip()
        begin = lead.decode("utf-8", "replace")
        if not (opens(begin) and end.endswith((";", "]"))):
            return False
        file.seek(0)
        try:
            while piece := file.read(_PIECE):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _recognised(format_id: str, text: str) -> tuple[str, Any]:
    """The format of a text that was sent as another, and the JSON document if it is one."""
    from workers.formats import json as json_format

    form = text_format(text)
    if form is not None:
        return form, None
    if format_id == "json":
        return "json", json_format.decode(text)
    lead = text.lstrip()
    for pattern, what in _NO_TREES:
        if pattern.match(lead):
            raise _refused(what)
    if format_id == "paths" and _is_linkage(lead):
        raise _refused("a linkage as text, which is read as .npy or as a JSON list of rows")
    if format_id == "paths" and re.fullmatch(r"(?:\s*-\d+[,;\s]+-\d+\s*\n)[-\d,;\s]*", lead):
        raise _refused("the merges of an hclust as text, which as JSON has merge, height and order")
    if re.match(r"[{\[]\s*[\"\[{\]}]", lead):
        return "json", json_format.decode(text)
    return format_id, None


def _refused(what: str) -> InvalidTree:
    return InvalidTree(f"The content is {what}; accepted are {', '.join(NAMES.values())}.")


def _is_linkage(text: str) -> bool:
    """Whether a text begins with rows of 4 numbers."""
    from workers.formats import tables

    rows = [re.split(r"[,;\s]++", line.strip()) for line in text[:4000].split("\n")[:20]]
    whole = rows if len(text) <= 4000 else rows[:-1]
    return bool(whole) and all(
        len(row) == 4 and all(map(tables.is_number, row)) for row in whole if row != [""]
    )
