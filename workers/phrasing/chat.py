"""One question to a chat endpoint in OpenAI's form, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workers.settings import WorkerSettings
from workers.webhooks.addresses import Guard
from workers.webhooks.questions import Endpoint, NotAnswered

_PATH = "/chat/completions"
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Chat(Endpoint):
    """A chat endpoint with its model."""

    model: str

    @classmethod
    def of(cls, settings: WorkerSettings) -> Chat | None:
        """That of the settings; None without one."""
        if not settings.naming_url:
            return None
        return cls(
            settings.naming_url.rstrip("/"),
            settings.naming_key.get_secret_value(),
            settings.naming_timeout_s,
            Guard(settings.webhook_allow),
            settings.naming_model,
        )

    def phrase(self, system: str, user: str, most_tokens: int) -> str:
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
        return _text(self.answer(_PATH, body, _MOST_BYTES))


def _text(answer: Any) -> str:
    try:
        text = answer["choices"][0]["message"]["content"]
    except (LookupError, TypeError):
        text = None
    if not isinstance(text, str):
        raise NotAnswered("Its answer is not that of a chat endpoint.")
    return text
