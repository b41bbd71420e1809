"""One question to a chat endpoint in OpenAI's form, and its answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from workers.settings import WorkerSettings
from workers.webhooks.addresses import Guard, parse
from workers.webhooks.posting import NotSent, post

_PATH = "/chat/completions"
_MOST_BYTES = 1 << 20


class NotAnswered(Exception):
    """There was no answer that can be used; the message, which a user may see, says why."""


@dataclass(frozen=True, slots=True)
class Chat:
    """An endpoint. guard : says which addresses may be reached, as for webhooks."""

    url: str
    key: str
    model: str
    timeout_s: float
    guard: Guard

    @classmethod
    def of(cls, settings: WorkerSettings) -> Chat | None:
        """That of the settings; None without one."""
        if not settings.naming_url:
            return None
        return cls(
            settings.naming_url.rstrip("/"),
            settings.naming_key.get_secret_value(),
            settings.naming_model,
            settings.naming_timeout_s,
            Guard(settings.webhook_allow),
        )

    @property
    def place(self) -> str:
        """Host and port."""
        return parse(self.url).place

    def answer(self, system: str, user: str, most_tokens: int) -> str:
        """The text of the answer. Raises NotAnswered, within `timeout_s`."""
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            "temperature": 0,
            "max_tokens": most_tokens,
        }
        headers = {"Content-Type": "application/json", "User-Agent": "Umbel"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            reply = post(
                parse(self.url + _PATH),
                headers,
                json.dumps(body).encode(),
                self.guard,
                self.timeout_s,
                _MOST_BYTES,
            )
        except NotSent as error:
            raise NotAnswered(str(error)) from None
        if not 200 <= reply.status < 300:
            raise NotAnswered(f"It answered with HTTP {reply.status}.")
        return _text(reply.content)


def _text(content: bytes) -> str:
    try:
        answer: Any = json.loads(content)
        text = answer["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        text = None
    if not isinstance(text, str):
        raise NotAnswered("Its answer is not that of a chat endpoint.")
    return text
