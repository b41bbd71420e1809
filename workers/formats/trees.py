"""Uploaded trees: ground-truth hierarchies and other tools' trees. Runs in the child."""

from __future__ import annotations

from pathlib import Path

from models.errors import InvalidTree
from models.inputs.data import Data
from models.tree.tree import Tree

FORMATS: dict[str, str] = {
    "text/x-nh": "newick",
    "text/x-nexus": "nexus",
    "application/json": "json",
    "application/x-npy": "linkage",
    "text/plain": "paths",
}
"""Media type -> format id."""


def read_tree(format_id: str, path: Path) -> Tree:
    """The tree in a file of one of `FORMATS`. Rows are its leaves in order; where the leaves are
    named by the numbers of rows, these rows.

    Raises InvalidTree naming the place for a file that holds no tree.
    """
    from models.tree import class_paths, linkage, nested, newick, nexus, rows

    if format_id == "linkage":
        from workers.formats import catalogue, npy

        facts = npy.inspect(path, None)
        if len(facts.shape) != 2 or facts.dtype == "str":
            raise InvalidTree(
                f"A linkage is a matrix of numbers with 4 columns; the array is {facts.dtype} of "
                f"shape {facts.shape}."
            )
        matrix = catalogue.load("npy", path, None, "distances")
        return linkage.from_scipy(Data({"linkage": matrix}).dense("linkage"))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidTree(
            f"The tree is not UTF-8 text: byte {error.start} cannot be read."
        ) from error
    if format_id == "newick":
        return rows.numbered(newick.read(text))
    if format_id == "nexus":
        return rows.numbered(nexus.read(text))
    if format_id == "json":
        from workers.formats import json as json_format

        return rows.numbered(nested.read(json_format.decode(text)))
    return class_paths.read(text)
