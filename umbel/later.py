"""Modules that a library loads with itself and that nobody here uses are loaded when they are used.

SciPy loads all that NumPy has, whose compiler of Fortran and tools of tests are .1 CPU s in each of
the processes that others are forked from.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

UNUSED = ("numpy.f2py", "numpy.testing")


class Later(MetaPathFinder):
    """Finds the modules of `UNUSED`; what is found is loaded when it is first looked into."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in UNUSED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec
