"""All methods: every file in a family's folder, `models/methods/<family>/`, is one, and what other
distributions add (`models.plugins`).

Folders below a family hold what its methods are made of and are not searched.

A method's module is imported when the method is first requested: a process that meets few methods
loads few. It must stay cheap (no torch, scikit-learn or scipy.optimize at the top), since the API
process reads the catalogue.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import models.methods
from models.errors import UsageError, shown
from models.method import Method
from models.plugins.entry_points import Entry, entries
from models.plugins.loading import Plugin, load, refused
from models.running import packages


@cache
def methods() -> dict[str, Method[Any]]:
    """All methods by id, in order of id, including plug-ins' methods. Raises as `built_in`."""
    plugged = [plugin.method for plugin in plugins() if plugin.method is not None]
    every = {**built_in(), **{method.id: method for method in plugged}}
    return dict(sorted(every.items()))


@cache
def built_in() -> dict[str, Method[Any]]:
    """The methods of Umbel itself by id, in order of id.

    Raises
    ------
    RuntimeError : two methods with one id, or a module whose name is not its method's id.
    """
    by_id: dict[str, Method[Any]] = {}
    for name in _modules():
        if (found := _method_in(name)) is None:
            continue
        if found.id in by_id:
            raise RuntimeError(f"two methods are called {found.id!r}")
        by_id[found.id] = found
    return dict(sorted(by_id.items()))


def known(method_id: str) -> Method[Any] | None:
    """The method called `method_id`; None if there is none. No other is imported."""
    if (name := _names().get(method_id)) is not None:
        return _method_in(name)
    entry = next((each for each in entries() if each.name == method_id), None)
    return None if entry is None else _plugged(entry).method


@cache
def plugins() -> tuple[Plugin, ...]:
    """The methods of other distributions, and those that are left out; imports them all."""
    return tuple(map(_plugged, entries()))


def method(method_id: str) -> Method[Any]:
    """The method called `method_id`; raises UsageError naming all of them if there is none, and
    the one that was likely meant."""
    found = known(method_id)
    if found is None:
        near = get_close_matches(method_id[:80].lower().replace("_", "-"), methods(), 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"There is no method {shown(method_id)}; there are {', '.join(methods())}.{meant}",
            code="unknown-method",
            parameter="method",
        )
    return found


def require_distances(method_id: str) -> None:
    """Raises UsageError for a method that cannot leave empty values out of distances, with those
    that can."""
    if not method(method_id).takes_gaps:
        able = ", ".join(repr(each.id) for each in methods().values() if each.takes_gaps)
        raise UsageError(
            f"Method {method_id!r} does not measure distances over the columns in which both "
            f"rows have a value; of the step 'missing' it takes 'mean' and 'median'. 'pairwise' is "
            f"for {able}.",
            code="wrong-parameter",
            parameter="preprocess",
        )


def waiting() -> dict[str, list[str]]:
    """By package that is not installed, what of the methods waits for it: ids, and values of
    parameters as `tcs-cs with solver=scs`."""
    by_package: dict[str, list[str]] = {}
    for found in methods().values():
        for package in packages.missing(found.needs):
            by_package.setdefault(package, []).append(found.id)
        for parameter, value, needed in found.values_with_needs():
            for package in packages.missing(set(needed) - set(found.needs)):
                by_package.setdefault(package, []).append(f"{found.id} with {parameter}={value}")
    return by_package


@cache
def _plugged(entry: Entry) -> Plugin:
    """A plug-in; one whose id exists is left out."""
    if entry.name in _names():
        return refused(entry, "Umbel has a method of this id.")
    first = next(each for each in entries() if each.name == entry.name)
    if first != entry:
        return refused(entry, f"{first.distribution} has a method of this id.")
    return load(entry)


def _modules() -> Iterator[str]:
    """The names of the modules that may hold a method."""
    for family in pkgutil.iter_modules(models.methods.__path__, "models.methods."):
        package = import_module(family.name)
        for module in pkgutil.iter_modules(package.__path__, f"{family.name}."):
            if not module.ispkg:
                yield module.name


@cache
def _names() -> dict[str, str]:
    """The module of each method by the id that it would have."""
    return {name.rpartition(".")[2].replace("_", "-"): name for name in _modules()}


@cache
def _method_in(name: str) -> Method[Any] | None:
    """The method that a module defines; None if it has none."""
    found: Method[Any] | None = None
    for _, kind in inspect.getmembers(import_module(name), inspect.isclass):
        if not issubclass(kind, Method) or kind.__module__ != name or inspect.isabstract(kind):
            continue
        if name.rpartition(".")[2] != kind.id.replace("-", "_"):
            raise RuntimeError(f"method {kind.id!r} lives in module {name}")
        if found is not None:
            raise RuntimeError(f"two methods are called {kind.id!r}")
        found = kind()
    return found
