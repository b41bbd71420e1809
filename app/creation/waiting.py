"""What waits for packages that are not installed: methods, values of parameters, maps,
forms, formats of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from app.pictures.renderer import PDF_NEEDS
from models import registry
from models.maps.options import NEEDS
from models.running import packages
from workers.formats.catalogue import FORMATS

LABELS = {"by": "maps by", "form": "pictures as", "format": "files of"}


def beside_methods() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The maps, forms and formats that need optional packages: parameter, value, packages."""
    for by, needed in NEEDS.items():
        yield "by", by, needed
    yield "form", "pdf", PDF_NEEDS
    for format in FORMATS.values():
        if format.needs:
            yield "format", format.id, format.needs


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


class WaitingValue(LateModel):
    """A value that is not accepted, since a package that it needs is not installed where the
    service runs."""

    model_config = ConfigDict(title="WaitingValue")

    parameter: str = Field(description="The parameter that takes the value.")
    value: str
    needs: list[str] = Field(description="The packages that are not installed.")
    install: list[str] = Field(description="The commands by which the operator installs them.")


def waiting_values(
    values: Iterable[tuple[str, str, tuple[str, ...]]],
) -> list[WaitingValue]:
    """The given values that wait for a package.

    values : parameter, value and the packages that it needs.
    """
    waiting: list[WaitingValue] = []
    for parameter, value, needed in values:
        absent = packages.missing(needed)
        if absent:
            commands = dict.fromkeys(map(packages.command, absent))
            waiting.append(
                WaitingValue(parameter=parameter, value=value, needs=absent, install=list(commands))
            )
    return waiting
