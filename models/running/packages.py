"""Packages that only some methods, values of parameters, maps, pictures or files need: extras of
the distribution, which may be left out.

What needs one names it: a method in `needs` and `needs_of_values`, a map in `models.maps.options`,
a form of pictures in `app.http.picture_forms`, a format of files in `workers.formats.catalogue`.
Each is then refused by the same sentence.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from models.errors import UsageError


@dataclass(frozen=True, slots=True)
class Package:
    """module : what is imported of it. extra : of the distribution, which installs it."""

    module: str
    extra: str


OPTIONAL = {
    "torch": Package("torch", "torch"),
    "umap-learn": Package("umap", "maps"),
    "openTSNE": Package("openTSNE", "maps"),
    "cvxpy": Package("cvxpy", "cones"),
    "clarabel": Package("clarabel", "cones"),
    "typst": Package("typst", "pdf"),
    "h5py": Package("h5py", "h5ad"),
}
"""By the name of the package."""

COMPILED = {"openTSNE": ("linux", "aarch64")}
"""Where the extra leaves a package out, since it has no wheel there: platform and machine."""


def missing(needed: Iterable[str] = tuple(OPTIONAL)) -> list[str]:
    """The packages among `needed` that are not installed; none is imported."""
    return [name for name in needed if find_spec(OPTIONAL[name].module) is None]


def command(package: str) -> str:
    """What installs a package."""
    if COMPILED.get(package) == (sys.platform, platform.machine()):
        return f"pip install {package}"
    return f"pip install 'umbel[{OPTIONAL[package].extra}]'"


def absence(
    what: str, package: str, *, code: str = "method-unavailable", parameter: str
) -> UsageError:
    """The refusal of something for lack of a package.

    what : the beginning of the sentence. parameter : what of the request is refused.
    """
    compiled = "" if "[" in command(package) else ", which compiles it: it has no wheel there"
    return UsageError(
        f"{what} needs the package {package}, which is not installed where the service runs; its "
        f"operator installs it by `{command(package)}`{compiled}.",
        code=code,
        parameter=parameter,
    )


def require(
    what: str, needed: Iterable[str], *, code: str = "method-unavailable", parameter: str
) -> None:
    """Raises `absence` for the first of some packages that is not installed."""
    for package in missing(needed):
        raise absence(what, package, code=code, parameter=parameter)


@contextmanager
def refusing(what: str, *, parameter: str) -> Iterator[None]:
    """Raises `absence` where an optional package cannot be imported."""
    try:
        yield
    except ModuleNotFoundError as error:
        for name, package in OPTIONAL.items():
            if error.name == package.module:
                raise absence(what, name, parameter=parameter) from None
        raise
