"""Finds the methods: every module under `models.methods` that has a subclass of `Method`.

Importing a method's module must stay cheap (no torch, no scikit-learn at the top), since the API
process reads the catalogue.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

import models.methods
from models.contract import Method
from models.errors import UsageError


@cache
def methods() -> dict[str, Method[Any]]:
    """All methods by id, in order of id.

    Raises
    ------
    RuntimeError : two methods with one id, or a module whose name is not its method's id.
    """
    found: dict[str, Method[Any]] = {}
    for module_info in pkgutil.walk_packages(models.methods.__path__, "models.methods."):
        if module_info.ispkg:
            continue
        module = import_module(module_info.name)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if not issubclass(kind, Method) or kind.__module__ != module.__name__:
                continue
            if inspect.isabstract(kind):
                continue
            if kind.id in found:
                raise RuntimeError(f"two methods are called {kind.id!r}")
            if module.__name__.rpartition(".")[2] != kind.id.replace("-", "_"):
                raise RuntimeError(f"method {kind.id!r} lives in module {module.__name__}")
            found[kind.id] = kind()
    return dict(sorted(found.items()))


def method(method_id: str) -> Method[Any]:
    """The method called `method_id`; UsageError naming all of them if there is none."""
    known = methods()
    if method_id not in known:
        raise UsageError(
            f"There is no method {method_id!r}; there are {', '.join(known)}.",
            code="unknown-method",
            parameter="method",
        )
    return known[method_id]
