"""`Prefer: wait=N`: answer with the finished job if it ends in time."""

from __future__ import annotations

import re
import time
from typing import Annotated

from anyio import to_thread
from fastapi import Header

from app.http.dependencies import Service
from app.http.job_ends import woken
from workers.model import Record

Prefer = Annotated[
    str | None,
    Header(
        description="`wait=N`: answer only when the job has ended or after N seconds (at most 60).",
        examples=["wait=1"],
    ),
]

_WAIT = re.compile(r'wait\s*=\s*"?(\d{1,9})"?', re.IGNORECASE)


def seconds(prefer: str | None, longest: float) -> float | None:
    """How long `Prefer` asks to wait, at most `longest`; None where it does not ask.

    What it asks else, or asks in a way that cannot be read, is ignored, as RFC 7240 has it.
    """
    if prefer is None:
        return None
    for preference in prefer.split(","):
        found = _WAIT.fullmatch(preference.partition(";")[0].strip())
        if found:
            return min(float(found[1]), longest)
    return None


def applied(waited: float) -> dict[str, str]:
    """The header that says which wait was applied: less than asked where that was too long."""
    return {"Preference-Applied": f"wait={waited:g}"}


async def until_ended(service: Service, record: Record, wait: float) -> Record | None:
    """The job once it has ended or `wait` seconds are over; None if it was deleted meanwhile.

    Looks when the job's end is announced, and in any case each second; ever more seldom up to
    that while announcements do not come in.
    """
    deadline = time.monotonic() + wait
    pause = 0.005
    current: Record | None = record
    with service.wakes.expect(record.id) as wake:
        while True:
            current = await to_thread.run_sync(service.ledger.get, record.tenant, record.id)
            left = deadline - time.monotonic()
            if current is None or current.ended or left <= 0:
                return current
            pause = 1.0 if service.wakes.listening else min(pause * 1.3, 0.5)
            await woken(wake, min(pause, left))
