"""POSTs: what sends them is loaded by the first one, which the start of a process does not need."""

from __future__ import annotations

from collections.abc import Mapping

from workers.webhooks.addresses import Guard, Target
from workers.webhooks.replies import Reply


def post(
    target: Target,
    headers: Mapping[str, str],
    body: bytes,
    guard: Guard,
    timeout_s: float,
    most_bytes: int | None = None,
) -> Reply:
    """As `workers.webhooks.exchange.post`."""
    from workers.webhooks import exchange

    return exchange.post(target, headers, body, guard, timeout_s, most_bytes)
