"""Kinds of work by name; the module of one is imported when it is first wanted."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from workers.kinds.kind import Kind

_MODULES = {
    path.stem.rstrip("_"): path.stem
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem not in ("__init__", "kind", "of_fit", "registry")
}


@cache
def kind_of(name: str) -> Kind[Any]:
    """Raises KeyError for a name that is none."""
    found = import_module(f"workers.kinds.{_MODULES[name]}").KIND
    assert isinstance(found, Kind)
    return found


def kinds() -> tuple[Kind[Any], ...]:
    """All of them, in the order of their names."""
    return tuple(map(kind_of, sorted(_MODULES)))
