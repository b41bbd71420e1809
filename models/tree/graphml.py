"""GraphML text: nodes with their numbers and names, of a tree or a graph, for programs on graphs.

Source: Brandes, Eiglsperger, Herman, Himsolt and Marshall, Graph Drawing 2001.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays
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
    return graph("tree", node, columns, node[tree.parent[1:]], node[1:], {})


def graph(
    name: str, node: Array, columns: Arrays, source: Array, target: Array, edge_columns: Arrays
) -> Iterator[str]:
    """A directed graph, in pieces.

    node : (n_nodes,) ids. source, target : (n_edges,) ids. columns, edge_columns : numbers,
    booleans or texts of each node and edge; what is None or not finite is left out. O(nodes +
    edges).
    """
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    )
    for what, described in (("node", columns), ("edge", edge_columns)):
        for key, column in described.items():
            attribute = _attribute(key)
            yield (
                f'<key id="{attribute}" for="{what}" attr.name="{attribute}" '
                f'attr.type="{_TYPES[column.dtype.kind]}"/>\n'
            )
    yield f'<graph id="{name}" edgedefault="directed">\n'
    for start in range(0, len(node), _PIECE):
        rows = slice(start, start + _PIECE)
        yield "".join(
            f'<node id="{number}">{cells}</node>\n'
            for number, cells in zip(node[rows].tolist(), _cells(columns, rows), strict=True)
        )
    for start in range(0, len(source), _PIECE):
        rows = slice(start, start + _PIECE)
        ends = zip(source[rows].tolist(), target[rows].tolist(), strict=True)
        if not edge_columns:
            yield "".join(f'<edge source="{one}" target="{other}"/>\n' for one, other in ends)
            continue
        yield "".join(
            f'<edge source="{one}" target="{other}">{cells}</edge>\n'
            for (one, other), cells in zip(ends, _cells(edge_columns, rows), strict=True)
        )
    yield "</graph>\n</graphml>\n"


def _cells(columns: Arrays, rows: slice) -> Iterator[str]:
    data = [_data(key, column[rows]) for key, column in columns.items()]
    return map("".join, zip(*data, strict=True))


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
