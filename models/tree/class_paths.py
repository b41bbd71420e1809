r"""Class paths such as `animal/cat/lion`: ground-truth hierarchies. A slash in a name is `\/`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from models.errors import InvalidTree
from models.tree.build import from_parents, levels_below
from models.tree.dialects.separators import joined, odd_levels, other_mark, parts, split
from models.tree.tree import Tree


def read(text: str) -> Tree:
    """Tree of class paths, one a line: row i of its points is line i, at the leaf that the line's
    path ends in.

    A node is named by the last part of its path; leading and trailing blanks count. The root has no
    name, unless all paths begin with the same part: then that part is the root. If one path
    continues another (`a` and `a/b`), the shorter one gets a separate leaf of the same name below
    its node. Nodes are numbered in order of appearance, with these leaves after all others. The
    height of a node is its largest number of edges to a leaf below. Empty lines at the end and a
    byte-order mark are skipped. Where no path has a `/`, other marks divide them
    (`separators.other_mark`); the tree's `warnings` say that, and which paths are odd.

    Raises InvalidTree, naming the line counted from 1, for a text without a path, an empty line or
    part, and a repeated path. O(len(text) + n_nodes).
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").rstrip("\n").split("\n")
    if lines == [""]:
        raise InvalidTree("The text holds no path.", line=1)
    lines, warnings = with_slashes(lines)
    line_of: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if _has_empty_part(line):
            raise InvalidTree(f"Line {number} {_EMPTY}", line=number)
        if line in line_of:
            raise InvalidTree(
                f"Line {number} has the same path as line {line_of[line]}.", line=number
            )
        line_of[line] = number
    return _tree(list(line_of), warnings)


def of_rows(paths: Iterable[str], rows: Iterable[int], warnings: Sequence[str] = ()) -> Tree:
    """As `read`, of paths that may repeat: row i of its points is the i-th distinct path, in order
    of appearance.

    rows : the row of each path, for errors. warnings : of how the paths were read. Raises
    InvalidTree, naming the row, for an empty part. O(length of the paths).
    """
    return _tree(distinct(paths, rows), tuple(warnings))


def distinct(paths: Iterable[str], rows: Iterable[int]) -> list[str]:
    """The distinct paths in order of appearance, in far less memory than their tree takes.

    Raises InvalidTree as `of_rows`. O(length of the paths).
    """
    known: dict[str, None] = {}
    for path, row in zip(paths, rows, strict=True):
        if path not in known:
            if _has_empty_part(path):
                raise InvalidTree(f"Row {row} (counted from 0) {_EMPTY}", row=row)
            known[path] = None
    return list(known)


def with_slashes(paths: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The paths with `/` between their parts, which may have another mark, and warnings.

    O(length of the paths).
    """
    mark, warnings = other_mark(paths)
    if mark is None:
        return paths, warnings
    return [joined(split(path, mark)) for path in paths], warnings


_EMPTY = "has an empty part; a path is names with one '/' between them."


def _has_empty_part(path: str) -> bool:
    return "//" in f"/{path}/" and "" in parts(path)


def _tree(paths: list[str], warnings: tuple[str, ...]) -> Tree:
    """The tree of distinct paths without empty parts; at least one."""
    parents = [-1]
    names: list[str | None] = [None]
    node_of: dict[tuple[int, str], int] = {}
    ends: list[int] = []
    for path in paths:
        node = 0
        for part in parts(path):
            key = (node, part)
            below = node_of.get(key)
            if below is None:
                below = node_of[key] = len(parents)
                parents.append(node)
                names.append(part)
            node = below
        ends.append(node)
    inner = set(parents)
    leaves: list[int] = []
    for node in ends:
        if node in inner:
            parents.append(node)
            names.append(names[node])
            leaves.append(len(parents) - 1)
        else:
            leaves.append(node)
    # A single node under the root takes its place; it was created first, so it is node 1.
    top = 1 if parents.count(0) == 1 else 0
    parent = np.array(parents[top:], dtype=np.int32) - top
    parent[0] = -1
    tree = from_parents(parent, levels_below(parent), names[top:], np.array(leaves) - top)
    return replace(tree, warnings=(*warnings, *odd_levels(paths)))
