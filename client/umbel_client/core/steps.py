"""What an operation asks of the driver that runs it: plain data, the same for both drivers.

An operation is a generator. It yields a step, receives the step's result (or has its exception
raised at the `yield`), and returns its own result. So retries, uploads and waiting are written
once, and `umbel_client.core.drivers` runs them over a blocking or an asynchronous connection.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

READ_TIMEOUT_S = 60.0
"""How long a response may take, besides the wait that a request prefers."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a client was told: the service, and how hard to try.

    url : address of the service without a slash at the end.
    key : sent as `Authorization: Bearer`; None: no key.
    retries : how often a request is repeated after a refusal that passes, or a cut connection.
    pause_s : the first pause before a repetition is at most this long; each next one at most
        twice as long as the one before.
    longest_pause_s : no pause is longer, whatever the service asks for.
    """

    url: str
    key: str | None = None
    retries: int = 5
    pause_s: float = 0.25
    longest_pause_s: float = 30.0

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, key={'None' if self.key is None else '***'})"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request.

    timeout_s : how long the response may take.
    """

    method: str
    path: str
    query: Mapping[str, str | int | float | list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    timeout_s: float = READ_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def media_type(self) -> str:
        """The media type without parameters, in lower case; "" if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """The body as JSON. Raises ValueError if it is none."""
        return json.loads(self.content)


@dataclass(frozen=True, slots=True)
class AskSettings:
    """Gives the `Settings`, and whether the service has answered before."""


@dataclass(frozen=True, slots=True)
class Send:
    """Sends a request once and gives the `Reply`, whatever its status.

    Raises httpx.TransportError.
    """

    request: Request


@dataclass(frozen=True, slots=True)
class Sleep:
    """Waits."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """Begins a response that is read by lines; gives its `Reply`, whose content is empty unless
    the status is an error's. The response ends with the next `Open` or the operation.

    Raises httpx.TransportError.
    """

    request: Request


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Gives the next line of the open response without its end; None after the last one.

    Raises httpx.TransportError.
    """


Step: TypeAlias = AskSettings | Send | Sleep | Open | ReadLine
Operation: TypeAlias = Generator[Step, Any, T]
