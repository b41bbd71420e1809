"""A container's health check: whether a worker on this host has reported lately.

`umbel health` runs it: it exits with 0 if so, else with 1 and the reason on one line.
"""

from __future__ import annotations

import socket
import sys
from typing import cast

from workers.errors import TransientError
from workers.settings import WorkerSettings
from workers.stores.redis.client import connect, translated
from workers.stores.redis.workers import WORKER_S


def seen(settings: WorkerSettings, host: str) -> bool:
    """Whether a worker on `host` has reported within `WORKER_S`.

    Raises TransientError if Redis is unavailable.
    """
    client = connect(settings.redis_url)
    with translated():
        since = int(client.time()[0]) - WORKER_S
        key = f"{settings.key_prefix}workers"
        names = cast("list[str]", client.zrangebyscore(key, since, "+inf"))
    client.close()
    # The name of a worker is host-pid-token.
    return any(name.rsplit("-", 2)[0] == host for name in names)


def main() -> None:
    host = socket.gethostname()
    try:
        if seen(WorkerSettings(), host):
            return
    except TransientError as error:
        sys.exit(str(error))
    sys.exit(f"no worker on {host} in the last {WORKER_S:.0f} s")
