r"""Class paths such as `animal/cat/lion`: ground-truth hierarchies, and the marks between parts.

The mark is `/`, or another where no path has a slash. A slash in a name is written `\/`.
Backslashes right before a slash, or before the `\` of `\/`, are doubled; others stand for
themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from models.errors import InvalidTree, listed
from models.tree.build import from_parents, levels_below
from models.tree.tree import Tree

OTHERS = ("\t", "->", "=>", "→", "»", ">", "\\", "|", ";", "::")
"""Marks that are read where no path has a `/`; blanks around them are left out."""

_KEPT = (",", ".", ":", "-", "_")
"""Marks that names have, too: paths are not divided at them."""
_OUTLINE = re.compile(r"[ \t]+\S|[-*+•] \S|[│├└|`]")

_SLASH = "\ud800"
_CALLED = {"\t": "a tab"}
# A run of backslashes is looked at once, from its beginning.
_BEFORE_SLASH = re.compile(r"(?<!\\)(\\++)/")
_TO_ESCAPE = re.compile(r"(?<!\\)(\\*+)/")


def parts(path: str) -> list[str]:
    r"""The names in a class path: `a/b\/c` is `a` and `b/c`. O(len(path))."""
    if "\\" not in path:
        return path.split("/")

    # Slashes that belong to names are held as a character that no text has.
    def unescaped(match: re.Match[str]) -> str:
        n_backslashes = len(match[1])
        return "\\" * (n_backslashes // 2) + ("/" if n_backslashes % 2 == 0 else _SLASH)

    return [name.replace(_SLASH, "/") for name in _BEFORE_SLASH.sub(unescaped, path).split("/")]


def joined(names: Iterable[str]) -> str:
    """The class path of names, the inverse of `parts`."""
    escaped = [_TO_ESCAPE.sub(r"\1\1\\/", name) for name in names]
    ahead = [name + "\\" * (len(name) - len(name.rstrip("\\"))) for name in escaped[:-1]]
    return "/".join([*ahead, *escaped[-1:]])


AS_NAMES = "Each row of the hierarchy is a list of names and was read as one path."
AS_PATHS = (
    "Rows of the hierarchy that are lists were read as several paths each, of one name; for one "
    "path a row put '/' between its names."
)


def are_lists_of_names(rows: object) -> bool:
    """Whether each row is a list of the names in one path, and not of several paths: no list begins
    with a path, some have several names, and no name has two places."""
    if not isinstance(rows, list) or set(map(type, rows)) != {list} or not all(rows):
        return False
    if max(map(len, rows)) == 1 or any(type(name) is not str for row in rows for name in row):
        return False
    place_of: dict[str, int] = {}
    return not any("/" in row[0] for row in rows) and all(
        place_of.setdefault(name, place) == place for row in rows for place, name in enumerate(row)
    )


def split(path: str, mark: str) -> list[str]:
    """The names in a path whose parts have another mark between them; one at the end is none."""
    names = [name.strip() for name in path.split(mark)]
    return names[:-1] if len(names) > 1 and not names[-1] else names


def other_mark(paths: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """The mark that the paths have in place of `/`, None for none, and a warning.

    It is one that divides every path, or, where no path has a `/`, some of which several begin with
    the same name; it never leaves an empty name. Beside a mark in every path, a few may have a
    slash in a name. O(length of the paths).
    """
    n_slashes = sum("/" in path for path in paths)
    if 2 * n_slashes > len(paths):
        return None, ()
    warnings: tuple[str, ...] = ()
    for mark in [mark for mark in OTHERS if any(mark in path for path in paths)]:
        having = [path for path in paths if mark in path]
        divided = [split(path, mark) for path in having]
        if any("" in names for names in divided):
            continue
        called = _CALLED.get(mark, repr(mark))
        first = Counter(names[0] for names in divided if len(names) > 1)
        several = bool(first) and max(first.values()) > 1 and not n_slashes
        if first and (len(having) == len(paths) or several):
            return mark, (f"The class paths were divided at {called}, not at '/'.",)
        if not n_slashes:
            warnings = (
                f"{len(having)} of {len(paths)} class paths contain {called}, "
                f"{listed(having, 3)}; it was kept in the names: parts of a path have '/' between "
                "them.",
            )
    return None, warnings


def odd_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """A warning of lines that are likely no class paths: an outline, paths with a mark that is not
    read, edges from parents to children, or a single name. O(length of the lines)."""
    if len(lines) == 1:
        alone = "The text is one line without '/', so that the tree is a single leaf."
        return () if "/" in lines[0] else (alone,)
    marked = [line for line in lines if _OUTLINE.match(line)]
    if marked and not any("/" in line for line in lines):
        return (
            f"{len(marked)} of {len(lines)} lines begin with blanks or signs of an outline, "
            f"{listed(marked, 3)}, which were kept in the names: each line is a whole path here, "
            "with '/' between its parts.",
        )
    names = [parts(line) for line in lines]
    if max(map(len, names)) == 1:
        for mark in _KEPT:
            first = Counter(line.split(mark)[0] for line in lines if mark in line)
            if sum(first.values()) == len(lines) and 2 * len(first) <= len(lines):
                return (
                    f"All {len(lines)} lines contain {mark!r}, {listed(lines, 3)}, and some begin "
                    "with the same name; it was kept in the names: parts of a path have '/' "
                    "between them.",
                )
    if all(len(pair) == 2 for pair in names):
        both = sorted({pair[0] for pair in names} & {pair[1] for pair in names})
        if both:
            return (
                f"Names are both first and second in a line, {listed(both, 3)}: if the lines are "
                "edges from parent to child, send nodes with 'id' and 'parent' as JSON.",
            )
    return ()


def odd_levels(paths: Sequence[str]) -> tuple[str, ...]:
    """A warning of paths that are deeper than most, alone below their node: a slash in them may
    belong to a name. O(length of the paths)."""
    depths = [len(parts(path)) - 1 for path in paths]
    times = Counter(depths)
    usual = min(times, key=lambda depth: (-times[depth], depth))
    deeper = [path for path, depth in zip(paths, depths, strict=True) if depth > usual]
    if not deeper or 2 * len(deeper) > len(paths):
        return ()
    beginnings = Counter(tuple(parts(path)[: usual + 1]) for path in paths)
    odd = [path for path in deeper if beginnings[tuple(parts(path)[: usual + 1])] == 1]
    if not odd:
        return ()
    return (
        f"{len(odd)} class path(s) have more parts than the others, {listed(odd, 3)}: where a "
        r"slash belongs to a name, write it '\/', or give paths as lists of names.",
    )


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
    warnings = (*odd_lines(lines), *warnings)
    line_of: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if _has_empty_part(line):
            what = _EMPTY if line else "is blank; each line is a path. Remove blank lines."
            raise InvalidTree(f"Line {number} {what}", line=number)
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
