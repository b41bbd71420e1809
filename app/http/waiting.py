"""`Prefer: wait=N`: answer with the finished job if it ends in time."""

from __future__ import annotations

import re
import time
from typing import Annotated

from fastapi import Header

from app.http import threads
from app.http.dependencies import Service
from app.http.job_ends import wait_and_clear
from app.http.turns import give_place_up
from workers.model import Record

Prefer = Annotated[
    str | None,
    Header(
        description="`wait=N`: answer when the job has ended, or after N seconds (at most 60).",
        examples=["wait=1"],
    ),
]

_WAIT = re.compile(r'wait\s*=\s*"?(\d{1,9})"?', re.IGNORECASE)


def seconds(prefer: str | None, longest: float) -> float | None:
    """The wait requested by a `Prefer` header, at most `longest`; None if it requests none.

    Other and unreadable preferences are ignored, as in RFC 7240.
    """
    if prefer is None:
        return None
    for preference in prefer.split(","):
        match = _WAIT.fullmatch(preference.partition(";")[0].strip())
        if match:
            return min(float(match[1]), longest)
    return None


def applied(waited: float) -> dict[str, str]:
    """The header that states the applied wait, which is shorter than an excessive request."""
    return {"Preference-Applied": f"wait={waited:g}"}


async def until_ended(service: Service, record: Record, wait: float) -> Record | None:
    """The job once it has ended or `wait` seconds are over; None if it was deleted meanwhile.

    No request waits while the process ends. The job is read when its end is announced, and in any
    case every second; while no announcements arrive, often at first and then less and less often.
    """
    deadline = time.monotonic() + wait
    pause = 0.005
    current: Record | None = record
    with service.job_ends.expect(record.id) as ended:
        while True:
            current = await threads.run_sync(service.ledger.get, record.tenant, record.id)
            left = deadline - time.monotonic()
            if current is None or current.ended or left <= 0 or service.job_ends.released:
                return current
            give_place_up()
            pause = 1.0 if service.job_ends.listening else min(pause * 1.3, 0.5)
            await wait_and_clear(ended, min(pause, left))
