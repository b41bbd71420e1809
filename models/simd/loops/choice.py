"""Which operations are used, and where numba keeps what is compiled with them.

numba finds compiled code by the source of one function, not of those that it calls. So what is
compiled with plain loops is kept in a folder beneath the usual one. Code that calls no operation is
the same with both, and is kept once.
"""

from __future__ import annotations

import ast
import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from numba import config
from numba.core import caching

from models.simd.switch import PLAIN

FOLDER = "plain-loops"
_OPERATIONS = "models.simd.loops"


def chosen(vectors: ModuleType, plain: ModuleType) -> ModuleType:
    """The module of operations to use."""
    return plain if PLAIN else vectors


@cache
def may_call_operations(module: str) -> bool:
    """Whether functions of a module can call operations: it imports them, directly or through other
    modules of `models`. A module of another package is taken to call them."""
    seen, left = set[str](), [module]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        if name.startswith(_OPERATIONS) or not name.startswith("models."):
            return True
        left += _imported(name)
    return False


@cache
def _imported(module: str) -> list[str]:
    """The modules of `models` that a module imports when it is loaded."""
    file = _source(module)
    if file is None:
        return []
    names = []
    # Compiled functions see what is imported around them, not within other functions.
    for statement in ast.parse(file.read_bytes()).body:
        if isinstance(statement, ast.FunctionDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.startswith("models.")]


def _source(module: str) -> Path | None:
    """The file of a module; None for a name that is none, as one of a function."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    if spec is None:
        try:
            spec = find_spec(module)
        except ModuleNotFoundError:
            return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


class _Beneath:
    def __init__(self, py_func, py_file):
        self._apart = may_call_operations(py_func.__module__)
        super().__init__(py_func, py_file)

    def get_cache_path(self) -> str:
        usual = super().get_cache_path()
        return os.path.join(usual, FOLDER) if self._apart else usual


class Given(_Beneath, caching.UserProvidedCacheLocator):
    """Beneath the folder of `NUMBA_CACHE_DIR`."""


class BesideSource(_Beneath, caching.InTreeCacheLocator):
    """Beneath the folder beside the source."""


class OfUser(_Beneath, caching.UserWideCacheLocator):
    """Beneath the user's folder."""


if PLAIN:
    # Whoever calls an operation imports this before numba looks for a folder for the caller.
    config.CACHE_LOCATOR_CLASSES = ",".join(
        f"{__name__}.{locator.__name__}" for locator in (Given, BesideSource, OfUser)
    )
