"""Packages that only some methods need: extras of the distribution, which may be left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from models.errors import UsageError

OPTIONAL = ("torch",)
"""Each is an extra of the same name."""


def missing(needed: Iterable[str] = OPTIONAL) -> list[str]:
    """Those of some packages that are not installed; none is imported."""
    return [package for package in needed if find_spec(package) is None]


def absence(method_id: str, package: str) -> UsageError:
    """The refusal of a method for lack of a package."""
    return UsageError(
        f"Method {method_id!r} needs the package {package}, which is not installed where the "
        f"service runs; its operator installs it by `pip install 'umbel[{package}]'`.",
        code="method-unavailable",
        parameter="method",
    )


@contextmanager
def refusing(method_id: str) -> Iterator[None]:
    """Raises `absence` where an optional package cannot be imported."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        raise absence(method_id, error.name) from None
