"""Vectors that an endpoint gave before, kept in Redis by the hash of all that they depend on, for
the same tenant alone and within the operator's bound for each."""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import redis

from models.arrays import Single
from workers.settings import WorkerSettings

KEPT_S = 7 * 24 * 3600
_log = logging.getLogger(__name__)


class KeptVectors:
    """What is kept for one tenant of one model. Threads may share it."""

    def __init__(
        self, settings: WorkerSettings, client: redis.Redis, tenant: str, url: str, model: str
    ) -> None:
        self._client, self._url, self._model = client, url, model
        self._most_bytes = settings.embedding_kept_bytes
        self._prefix = f"{settings.key_prefix}embedded:{tenant}:"

    def key(self, text: str) -> str:
        """Under which the vector of a text is kept."""
        depends_on = "\n".join((self._url, self._model, text))
        return (
            self._prefix + hashlib.sha256(depends_on.encode("utf-8", "surrogatepass")).hexdigest()
        )

    def read(self, keys: Sequence[str]) -> list[Single | None]:
        """The vectors that were given before; none where Redis does not answer."""
        try:
            answers: Any = self._client.mget(keys)
        except redis.RedisError as error:
            _log.warning("kept vectors are not read: %s", error)
            return [None] * len(keys)
        return [
            None if answer is None else np.frombuffer(base64.b64decode(answer), np.float32)
            for answer in answers
        ]

    def keep(self, vectors: Mapping[str, Single]) -> None:
        """Keep vectors by their keys, as far as the tenant has room for more."""
        texts = {
            key: base64.b64encode(vector.tobytes()).decode() for key, vector in vectors.items()
        }
        n_bytes, counter = sum(map(len, texts.values())), f"{self._prefix}bytes"
        try:
            used: Any = self._client.incrby(counter, n_bytes)
            if used == n_bytes:
                self._client.expire(counter, KEPT_S)
            if used > self._most_bytes:
                self._client.decrby(counter, n_bytes)
                return
            pipeline = self._client.pipeline(transaction=False)
            for key, text in texts.items():
                pipeline.set(key, text, ex=KEPT_S)
            pipeline.execute()
        except redis.RedisError as error:
            _log.warning("vectors are not kept: %s", error)
