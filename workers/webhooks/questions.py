"""A question in JSON to an endpoint that the operator set, and its answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from workers.webhooks.addresses import Guard, parse
from workers.webhooks.posting import post
from workers.webhooks.replies import NotSent

_LATER = (408, 425, 429)
"""Statuses below 500 that may pass."""

_BEFORE_VALUES = (b",", b"[", b"{")
"""Each value of JSON but the first follows one of them, or the name of a member that does."""


class NotAnswered(Exception):
    """There was no answer that can be used; the message, which a user may see, says why.

    passes : whether the same question may be answered later. after : `Retry-After` as it came.
    item : the place of the one item of the question that has no answer.
    """

    def __init__(
        self, message: str, *, passes: bool = False, after: str = "", item: int | None = None
    ) -> None:
        super().__init__(message)
        self.passes = passes
        self.after = after
        self.item = item


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint in OpenAI's form.

    guard : says which addresses may be reached, as for webhooks.
    """

    url: str
    key: str
    timeout_s: float
    guard: Guard

    @property
    def place(self) -> str:
        """Host and port."""
        return parse(self.url).place

    def answer(
        self, path: str, body: dict[str, Any], most_bytes: int, most_values: int | None = None
    ) -> Any:
        """The answer, None where it is not JSON or has more values. Raises NotAnswered, within
        `timeout_s`.

        most_bytes, most_values : of the answer; 64 MiB of `{},` take 1.5 GB once they are read.
        """
        headers = {"Content-Type": "application/json", "User-Agent": "Umbel"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        content = json.dumps(body).encode()
        try:
            reply = post(
                parse(self.url + path), headers, content, self.guard, self.timeout_s, most_bytes
            )
        except NotSent as error:
            raise NotAnswered(str(error), passes=not error.final) from None
        if not 200 <= reply.status < 300:
            passes = reply.status >= 500 or reply.status in _LATER
            why = f"It answered with HTTP {reply.status}."
            raise NotAnswered(why, passes=passes, after=reply.retry_after)
        if most_values is not None and sum(map(reply.content.count, _BEFORE_VALUES)) > most_values:
            return None
        try:
            return json.loads(reply.content)
        except (ValueError, RecursionError):
            return None
