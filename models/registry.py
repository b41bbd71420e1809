"""All methods: every file in a family's folder, `models/methods/<family>/`, is one.

Folders below a family hold what its methods are made of and are not searched.

Importing a method's module must stay cheap (no torch, no scikit-learn at the top), since the API
process reads the catalogue.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import models.methods
from models.errors import UsageError
from models.method import Method


@cache
def methods() -> dict[str, Method[Any]]:
    """All methods by id, in order of id.

    Raises
    ------
    RuntimeError : two methods with one id, or a module whose name is not its method's id.
    """
    by_id: dict[str, Method[Any]] = {}
    for module in _modules():
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if not issubclass(kind, Method) or kind.__module__ != module.__name__:
                continue
            if inspect.isabstract(kind):
                continue
            if kind.id in by_id:
                raise RuntimeError(f"two methods are called {kind.id!r}")
            if module.__name__.rpartition(".")[2] != kind.id.replace("-", "_"):
                raise RuntimeError(f"method {kind.id!r} lives in module {module.__name__}")
            by_id[kind.id] = kind()
    return dict(sorted(by_id.items()))


def _modules() -> Iterator[ModuleType]:
    for family in pkgutil.iter_modules(models.methods.__path__, "models.methods."):
        package = import_module(family.name)
        for module in pkgutil.iter_modules(package.__path__, f"{family.name}."):
            if not module.ispkg:
                yield import_module(module.name)


def method(method_id: str) -> Method[Any]:
    """The method called `method_id`; raises UsageError naming all of them if there is none."""
    known = methods()
    if method_id not in known:
        raise UsageError(
            f"There is no method {method_id!r}; there are {', '.join(known)}.",
            code="unknown-method",
            parameter="method",
        )
    return known[method_id]
