"""The entry points `umbel.methods` of installed distributions, read and not imported: a few
milliseconds, once in a process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata

GROUP = "umbel.methods"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point of a distribution, not imported yet."""

    name: str
    distribution: str
    version: str
    point: metadata.EntryPoint


@cache
def entries() -> tuple[Entry, ...]:
    """The entry points of all installed distributions, in order of name and distribution."""
    found: dict[str, list[Entry]] = {}
    for distribution in metadata.distributions():
        # Not `metadata.entry_points`, which one wrong file of whatever distribution breaks.
        if GROUP not in (distribution.read_text("entry_points.txt") or ""):
            continue
        found.setdefault(
            distribution.name,
            [
                Entry(point.name, distribution.name, distribution.version, point)
                for point in distribution.entry_points
                if point.group == GROUP
            ],
        )
    every = [entry for own in found.values() for entry in own]
    return tuple(sorted(every, key=lambda entry: (entry.name, entry.distribution)))
