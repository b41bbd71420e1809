"""Trees and lists of the caller as files that the service reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from umbel_client import encodings, line_files
from umbel_client._written.endings import TREES
from umbel_client.encodings import Payload
from umbel_client.errors import InputError
from umbel_client.inputs import HINTS, TEXTS, Inline, unmasked
from umbel_client.quoting import path_shown, written

_ACCEPTED = (
    "accepted are Newick, Nexus and JSON text, a linkage matrix, class paths, a mapping with "
    "'nodes', nested 'children' or an hclust, a networkx.DiGraph, and a file of any of the first "
    "four"
)

_TEXT = (
    "text is Newick, which ends with ';', Nexus, which begins with #NEXUS, JSON, or the name of a "
    f"file; {_ACCEPTED}."
)

TREE_ENDINGS = (*(f".{ending}" for ending in sorted(TREES)), ".json", ".jplace")
"""Endings of files that hold a tree as Newick, Nexus or JSON text, which its beginning tells."""


def payload_of(role: str, content: Payload | Inline, about: Mapping[str, Any]) -> Payload:
    """What is uploaded, also for a list that a run would take inline.

    about : `name`, `description`, `tag` and `expires_at`; None: left out.
    """
    if isinstance(content, Inline):
        array = np.array(content.values) if _is_numbers(content.values) else None
        made = encodings.json_list(content.values) if array is None else encodings.npy(array)
        hint = HINTS.get(role)
        content = replace(made, query={} if hint is None else {"role": hint})
    given = {field: value for field, value in about.items() if value is not None}
    return replace(content, query={**content.query, **given})


def tree_file(tree: Any) -> tuple[bytes, str]:
    """The content and the media type of a tree. Raises InputError for what is none."""
    if isinstance(tree, np.ma.MaskedArray):
        tree = unmasked("tree", tree)
    path = Path(tree) if isinstance(tree, os.PathLike) else None
    if isinstance(tree, str) and text_type(tree) is None:
        path = _named(tree)
    if path is not None:
        tree = tree_in(path)
    if isinstance(tree, str):
        media_type = text_type(tree)
        if media_type is None:
            of_file = "" if path is None else f"{path_shown(path)} has no tree: "
            raise InputError("tree", f"{of_file}{_TEXT}")
        return tree.encode(), media_type
    if isinstance(tree, Mapping):
        return _json(dict(tree)), "application/json"
    if type(tree).__module__.partition(".")[0] == "networkx":
        return _json({"nodes": _nodes_of(tree)}), "application/json"
    if isinstance(tree, (list, tuple)) and tree and all(isinstance(path, str) for path in tree):
        if any("\n" in path for path in tree):
            raise InputError("tree", "a class path has no line breaks.")
        return "\n".join(tree).encode(), "text/plain"
    if _are_lists_of_names(tree):
        return _json([list(names) for names in tree]), "application/json"
    array = np.asarray(tree, dtype=object if isinstance(tree, (list, tuple)) else None)
    if array.ndim == 2 and array.shape[1] == 4:
        content = encodings.npy(array.astype(np.float64)).content
        return content.read(0, content.length), "application/x-npy"
    raise InputError("tree", f"a value of type {type(tree).__name__} is no tree; {_ACCEPTED}.")


def tree_in(path: Path) -> Any:
    """The tree in a file, as `tree_file` takes it: Newick, Nexus or JSON text, class paths, or a
    linkage matrix (.npy). Raises InputError for what is none of them."""
    suffix, name = path.suffix.lower(), path_shown(path)
    if not path.is_file():
        raise InputError("tree", f"no file {name}.")
    try:
        if suffix in TREE_ENDINGS:
            return line_files.decoded(path.read_bytes(), name)
        if suffix == ".txt":
            text = line_files.decoded(path.read_bytes(), name)
            return line_files.lines("tree", path, TEXTS) if text_type(text) is None else text
        if suffix == ".npy":
            return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError("tree", f"{name} cannot be read: {error}.") from None
    raise InputError(
        "tree",
        f"{name} ends with {suffix or 'nothing'}; trees are read from .nwk, .nex, .json, from .npy "
        "(a linkage matrix) and from .txt (a class path a line).",
    )


def _named(text: str) -> Path:
    """The file that text names. Raises InputError for text that is no name."""
    path = Path(text)
    try:
        is_name = path.is_file() or path.suffix.lower() in (*TREE_ENDINGS, ".txt", ".npy")
    except (OSError, ValueError):
        is_name = False
    if "\n" in text or not is_name:
        raise InputError("tree", _TEXT)
    return path


def text_type(text: str) -> str | None:
    """The media type of a tree as text; None for text that is no tree."""
    lead = text.lstrip("\ufeff \t\r\n")
    if lead[:6].upper() == "#NEXUS":
        return "text/x-nexus"
    if text.rstrip().endswith((";", "]")) and "(" in text:
        return "text/x-nh"
    if lead.startswith(("{", "[")):
        return "application/json"
    return "text/x-nh" if text.rstrip().endswith(";") else None


def _are_lists_of_names(tree: Any) -> bool:
    return (
        isinstance(tree, (list, tuple))
        and bool(tree)
        and all(
            isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
            for names in tree
        )
    )


def _nodes_of(graph: Any) -> list[dict[str, Any]]:
    """The nodes of a networkx graph, parents before children; `name` and `height` as they are."""
    if not graph.is_directed():
        raise InputError("tree", "the graph is not directed; edges go from parents to children.")
    several = [node for node, degree in graph.in_degree() if degree > 1]
    roots = [node for node, degree in graph.in_degree() if degree == 0]
    if several or len(roots) != 1:
        wrong = (
            f"node {written(several[0])} has several parents" if several else f"{len(roots)} roots"
        )
        raise InputError("tree", f"the graph is no tree: {wrong}.")
    number = {roots[0]: 0}
    nodes = []
    waiting: list[tuple[Any, int | None]] = [(roots[0], None)]
    while waiting:
        node, parent = waiting.pop()
        fields = graph.nodes[node]
        entry: dict[str, Any] = {"id": number[node], "parent": parent}
        name = fields.get("name", node if isinstance(node, str) else None)
        if name is not None:
            entry["name"] = str(name)
        if "height" in fields:
            entry["height"] = float(fields["height"])
        nodes.append(entry)
        for child in graph.successors(node):
            number[child] = len(number)
            waiting.append((child, number[node]))
    return nodes


def _json(value: Mapping[str, Any] | list[Any]) -> bytes:
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError("tree", f"it cannot be written as JSON: {error}.") from None


def _is_numbers(values: list[Any]) -> bool:
    first = values[0] if values else None
    return isinstance(first, list) and bool(first) and not isinstance(first[0], str)
