"""What waits for packages that are not installed: methods, values of parameters, maps, forms."""

from __future__ import annotations

from collections.abc import Iterator

from app.pictures.renderer import PDF_NEEDS
from models import packages, registry
from models.maps.options import NEEDS

LABELS = {"by": "maps by", "form": "pictures as"}


def beside_methods() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The maps and forms that need optional packages: parameter, value, packages."""
    for by, needed in NEEDS.items():
        yield "by", by, needed
    yield "form", "pdf", PDF_NEEDS


def sentences() -> list[str]:
    """One for each package that is not installed: what waits for it, and what installs it.

    Imports every method.
    """
    waiting = registry.waiting() if packages.missing() else {}
    for parameter, value, needed in beside_methods():
        for package in packages.missing(needed):
            waiting.setdefault(package, []).append(f"{LABELS[parameter]} {value}")
    return [
        f"{package} is not installed (`{packages.command(package)}`); what waits for it: "
        f"{', '.join(things)}"
        for package, things in waiting.items()
    ]
