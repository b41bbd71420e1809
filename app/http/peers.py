"""What the kernel knows of the other end of a connection."""

from __future__ import annotations

import asyncio
import fcntl
import select
import sys
import termios

_HUNG_UP = getattr(select, "POLLRDHUP", 0)


def unconfirmed(transport: asyncio.Transport) -> int:
    """Bytes that were written and that the client's machine has not confirmed; 0 if unknown."""
    connection = transport.get_extra_info("socket")
    try:
        return int.from_bytes(
            fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder
        )
    except OSError:
        return 0


def has_left(transport: asyncio.Transport) -> bool:
    """Whether the client has closed the connection already; False where the system does not say
    (Linux does). Microseconds."""
    poll = select.poll()
    try:
        poll.register(transport.get_extra_info("socket").fileno(), _HUNG_UP)
        return bool(_HUNG_UP) and bool(poll.poll(0))
    except (OSError, ValueError):
        return False
