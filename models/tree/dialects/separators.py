r"""Marks between the parts of class paths: `/`, or others where no path has one.

A slash in a name is written `\/`. Backslashes right before a slash, or before the `\` of `\/`, are
doubled; others stand for themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from models.errors import listed

OTHERS = ("\t", ">", "\\", "|", ";", "::")
"""Marks that are read where no path has a `/`; blanks around them are left out."""

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
