"""Foreign names and values in messages.

`shown` and `listed` write names as the service does; `written` a value of any type, `path_shown`
the whole path of a file, `plain` a name without quotes.
"""

from __future__ import annotations

import os

from umbel_client._written.quoting import listed, shown

__all__ = ["listed", "path_shown", "plain", "shown", "written"]

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
