"""One batch to an endpoint of embeddings in OpenAI's form, and its vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from models.arrays import Single
from workers.settings import WorkerSettings
from workers.webhooks.addresses import Guard
from workers.webhooks.questions import Endpoint, NotAnswered

What = Literal["text", "image"]
"""What a batch is of: each has a model."""

_PATH = "/embeddings"
_MOST_BYTES = 64 << 20
_WIDEST = 16_384
_BESIDE = 1_000
"""Values of an answer, and of each item there, beside the numbers of vectors, at most."""
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Embedder(Endpoint):
    """An endpoint with its model of texts, or of images; "" where it has none."""

    model: str
    image_model: str

    @classmethod
    def of(cls, settings: WorkerSettings) -> Embedder | None:
        """That of the settings; None without one."""
        if not settings.embedding_url:
            return None
        return cls(
            settings.embedding_url.rstrip("/"),
            settings.embedding_key.get_secret_value(),
            settings.embedding_timeout_s,
            Guard(settings.webhook_allow),
            settings.embedding_model,
            settings.embedding_image_model,
        )

    def close(self) -> None:
        """Nothing is held."""

    def vectors(self, what: What, batch: list[str], within_s: float = math.inf) -> Single:
        """(n, width) the vectors of texts, or of images as `data:` addresses.

        within_s : the most seconds to wait, below the operator's.

        Raises NotAnswered, also for an answer with another number of vectors, vectors of several
        widths, or a value that is not a finite number of 32 bits.
        """
        model = self.model if what == "text" else self.image_model
        body = {"model": model, "input": batch, "encoding_format": "float"}
        own = replace(self, timeout_s=min(self.timeout_s, within_s))
        most_values = len(batch) * (_WIDEST + _BESIDE) + _BESIDE
        return _vectors(own.answer(_PATH, body, _MOST_BYTES, most_values), len(batch))


def _vectors(answer: Any, n: int) -> Single:
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        raise NotAnswered("Its answer is not that of an endpoint of embeddings.")
    if len(data) != n:
        raise NotAnswered(f"It gave {len(data)} vectors for {n} items.")
    rows: list[Any] = [None] * n
    for place, each in enumerate(data):
        own = each.get("index", place) if isinstance(each, dict) else None
        if type(own) is not int or not 0 <= own < n or rows[own] is not None:
            raise NotAnswered("Its vectors are not numbered 0, 1, ... as the items are.")
        rows[own] = each.get("embedding")
    width = len(rows[0]) if isinstance(rows[0], list) else 0
    if not 1 <= width <= _WIDEST:
        raise NotAnswered(f"A vector is a list of 1 to {_WIDEST} numbers; its first is none.")
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise NotAnswered("Its vectors have several widths.")
        for value in row:
            if type(value) not in (int, float) or not _fits(value):
                raise NotAnswered("A value of its vectors is not a finite number.")
    return np.array(rows, dtype=np.float32)


def _fits(value: float) -> bool:
    return (
        math.isfinite(value) and abs(value) <= _LARGEST
        if type(value) is float
        else (abs(value) <= _LARGEST)
    )
