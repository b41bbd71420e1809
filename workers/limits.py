"""Limits on what a tenant, or one key, may use."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

EVERYONE = ""
"""The name under which a setting holds the limit of tenants that it does not name."""

MOST = 2**53 - 1
"""The largest limit: Lua scripts compute with doubles, which hold whole numbers up to this."""

TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
N = TypeVar("N", int, float)


class Limits(BaseModel):
    """The most that may be used; None: as much as there is.

    bytes : of datasets, of parts of uploads, of inline inputs, and of the results of jobs.
    datasets : how many. queued, running : jobs that are listed to clients, in these states.
    requests_per_s : requests a second, on average over ten seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int | None = Field(None, ge=0, le=MOST)
    datasets: int | None = Field(None, ge=0, le=MOST)
    queued: int | None = Field(None, ge=0, le=MOST)
    running: int | None = Field(None, ge=0, le=MOST)
    requests_per_s: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False)

    @property
    def any(self) -> bool:
        return any(getattr(self, name) is not None for name in type(self).model_fields)

    def stated(self) -> dict[str, int | float]:
        """The limits that there are."""
        return self.model_dump(exclude_none=True)


def by_tenant(text: str) -> dict[str, str]:
    """The numbers in `100,acme:200`, as texts: one for everyone else, and those of tenants.

    Raises ValueError for a tenant that cannot be one, and for one that is named twice.
    """
    numbers: dict[str, str] = {}
    for part in re.split(r"[\s,]+", text.strip()):
        tenant, _, number = part.rpartition(":")
        if not part:
            continue
        if tenant and not TENANT.fullmatch(tenant):
            raise ValueError(f"{tenant!r} cannot be a tenant; write `number` or `tenant:number`")
        if tenant in numbers:
            raise ValueError(f"{tenant or 'everyone'!r} has two numbers")
        numbers[tenant] = number
    return numbers


def in_range(numbers: Mapping[str, N], *, positive: bool) -> None:
    """Raise ValueError for a number below 0 (or, with `positive`, not above 0) or too large."""
    for tenant, number in numbers.items():
        least = number > 0 if positive else number >= 0
        if not (math.isfinite(number) and least and number <= MOST):
            raise ValueError(
                f"{number} of {tenant or 'everyone'!r}: write a number "
                f"{'above' if positive else 'of at least'} 0 and at most {MOST}"
            )


def of_tenant(numbers: Mapping[str, N], tenant: str) -> N | None:
    """The number of a tenant; None if it has none."""
    return numbers.get(tenant, numbers.get(EVERYONE))


def admission(tenant: Limits, key: Limits) -> str:
    """The limits of a request as the scripts take them, "" where nothing is limited."""
    scopes = {"tenant": tenant, "key": key}
    stated = {whose: limits.stated() for whose, limits in scopes.items() if limits.any}
    return json.dumps(stated) if stated else ""
