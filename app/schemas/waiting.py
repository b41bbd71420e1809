"""What is not accepted for lack of a package, over the wire."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from models import packages


class WaitingValue(BaseModel):
    """A value that is not accepted, since a package that it needs is not installed where the
    service runs."""

    model_config = ConfigDict(title="WaitingValue")

    parameter: str = Field(description="Of which it is a value.")
    value: str
    needs: list[str] = Field(description="The packages that are not installed.")
    install: list[str] = Field(description="The commands by which the operator installs them.")


def waiting_values(
    values: Iterable[tuple[str, str, tuple[str, ...]]],
) -> list[WaitingValue]:
    """Those of some values that wait for a package.

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
