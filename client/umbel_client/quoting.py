"""Foreign names and values in messages.

`shown` and `listed` write names as the service does; `written` a value of any type, `path_shown`
the whole path of a file, `plain` a name without quotes. `as_arguments` and `as_options` say a
sentence of the service in the words of Python and of the command line.
"""

from __future__ import annotations

import os
import re

from umbel_client._written.quoting import listed, shown

__all__ = ["as_arguments", "as_options", "listed", "path_shown", "plain", "shown", "written"]

_LONGEST_PATH = 4096


def written(value: object) -> str:
    """A text as `shown`, another value as Python writes it."""
    return shown(str(value)) if isinstance(value, str) else repr(value)


def path_shown(path: str | os.PathLike[str]) -> str:
    """A path as `shown`, however long."""
    return shown(os.fspath(path), _LONGEST_PATH)


def plain(text: str, limit: int = 80) -> str:
    """A name in a table: cut at `limit` characters, without quotes; escaped as by `shown` where not
    all of it can be seen."""
    cut = text if len(text) <= limit else f"{text[:limit]}..."
    return cut if cut.isprintable() else shown(text, limit)[1:-1]


_OPTIONS = "columns|(?:id|label|text|weight)_column|delimiter|decimal|thousands|header|member"
_QUERY = re.compile(rf"\?({_OPTIONS})=(\.\.\.)?")
_ARGUMENT = re.compile(rf"(?<!\w)({_OPTIONS})=(?!\w)(\.\.\.)?")


def as_arguments(sentence: str) -> str:
    """A sentence of the service with arguments of Python in place of its query parameters."""
    return _QUERY.sub(r"\1=\2", sentence)


def as_options(sentence: str) -> str:
    """A sentence of the service, or in words of Python, with options of commands in their place."""

    def option(found: re.Match[str]) -> str:
        name = found[1]
        value = " NAME" if found[2] else ""
        return "FILE:NAME" if name == "member" else f"--{name.replace('_', '-')}{value}"

    own = _ARGUMENT.sub(option, _QUERY.sub(option, sentence))
    for words, others in _OTHERWISE.items():
        own = own.replace(words, others)
    return _PARAMETER.sub(lambda found: f"--{found[1].replace('_', '-')}:", own)


_PARAMETER = re.compile(r"^params\.(\w+):")
VALUES = "arrays of NumPy, SciPy or torch, data frames of pandas or polars"
"""What Python has and no command line."""
_OTHERWISE = {
    f"accepted are {VALUES}, lists, paths of files, ids such as 'ds_...', and datasets": (
        "accepted are files, and ids such as 'ds_...'"
    ),
    ", or with Umbel.local(); or": "; or",
    "Umbel(url), or UMBEL_URL": "--url, or UMBEL_URL",
}
"""Words of Python, and what the command line has in their place."""
