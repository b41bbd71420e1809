"""What comes of a POST."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    """The status of the response, its Retry-After header, "" without one, and its content where
    that was requested."""

    status: int
    retry_after: str
    content: bytes = b""


class NotSent(Exception):
    """There was no response; the message, which a user may see, gives the reason.

    final : trying again will not help.
    """

    def __init__(self, reason: str, *, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final
