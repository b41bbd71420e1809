"""GraphML text: the nodes of a tree with their numbers and names, for programs on graphs.

Source: Brandes, Eiglsperger, Herman, Himsolt and Marshall, Graph Drawing 2001.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

from models.tree.tree import Tree

_PIECE = 4096
"""The number of nodes written at a time."""
_TYPES = {"i": "long", "u": "long", "f": "double", "b": "boolean", "U": "string", "O": "string"}
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have; they become U+FFFD."""


def write(tree: Tree, *, ids: npt.NDArray[np.int64] | None = None) -> Iterator[str]:
    """A directed graph with an edge from each parent to each of its children, in pieces.

    Nodes have `name`, `height`, `size` and the extra columns of one number or text a node, such as
    `support`; a value that is None or not finite is left out.

    ids : (n_nodes,) the ids to write instead of row numbers, for a part of a tree. O(n_nodes).
    """
    node = np.arange(tree.n_nodes) if ids is None else ids
    columns = {"name": tree.name, "height": tree.height, "size": tree.size}
    for key, column in tree.extra.items():
        values = np.asarray(column)
        if values.ndim == 1 and (values.dtype.kind != "O" or _is_text(values)):
            columns[key] = values
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    )
    for key, column in columns.items():
        name = _attribute(key)
        yield (
            f'<key id="{name}" for="node" attr.name="{name}" '
            f'attr.type="{_TYPES[column.dtype.kind]}"/>\n'
        )
    yield '<graph id="tree" edgedefault="directed">\n'
    for start in range(0, tree.n_nodes, _PIECE):
        rows = slice(start, start + _PIECE)
        data = [_data(key, column[rows]) for key, column in columns.items()]
        yield "".join(
            f'<node id="{number}">{"".join(cells)}</node>\n'
            for number, cells in zip(node[rows].tolist(), zip(*data, strict=True), strict=True)
        )
    for start in range(1, tree.n_nodes, _PIECE):
        rows = slice(start, start + _PIECE)
        above = node[tree.parent[rows]].tolist()
        yield "".join(
            f'<edge source="{parent}" target="{number}"/>\n'
            for parent, number in zip(above, node[rows].tolist(), strict=True)
        )
    yield "</graph>\n</graphml>\n"


def _is_text(values: npt.NDArray[Any]) -> bool:
    return all(value is None or isinstance(value, str) for value in values.tolist())


def _data(key: str, column: npt.NDArray[Any]) -> list[str]:
    name = _attribute(key)
    texts: list[str | None]
    if column.dtype.kind == "f":
        texts = [repr(value) if np.isfinite(value) else None for value in column.tolist()]
    elif column.dtype.kind == "b":
        texts = ["true" if value else "false" for value in column.tolist()]
    else:
        texts = [None if value is None else _text(str(value)) for value in column.tolist()]
    return ["" if text is None else f'<data key="{name}">{text}</data>' for text in texts]


def _text(text: str) -> str:
    # A parser would turn a bare carriage return into a line feed.
    return escape(_INVALID.sub("\ufffd", text), {"\r": "&#13;"})


def _attribute(text: str) -> str:
    return escape(_INVALID.sub("\ufffd", text), {'"': "&quot;"})
