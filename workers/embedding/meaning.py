"""The texts that are nearest to a question by meaning: by the cosine of their vectors.

A search answers within `PATIENCE_S` or says how far it is: what it has by then stays in the memory
of the process, and in Redis (`workers.embedding.kept`), so that the next one goes on.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import redis

from models.arrays import Single
from models.errors import UsageError
from workers.embedding.endpoint import Embedder
from workers.embedding.kept import KeptVectors
from workers.embedding.resident import ResidentEmbedder
from workers.settings import WorkerSettings
from workers.webhooks.questions import NotAnswered

MOST_TEXTS = 20_000
"""The most different texts of one search."""
MOST_BYTES = 256 << 20
"""The most bytes of vectors in the memory of a process, of one search or several."""
PATIENCE_S = 20.0
"""A search that takes longer is refused for now."""
_AT_ONCE = 1000
"""Kept vectors are read so many at a time."""
_WHAT = "the question and the texts that it is compared with"


class NotYet(Exception):
    """The texts have no vectors yet, or the embedder does not answer; the message says which."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """score : (n_texts,) float32, the cosine of each text and the question; 0 where either has a
    vector of zeros. sent : what was sent, where to."""

    score: Single
    sent: dict[str, Any]


@dataclass(slots=True)
class _Sent:
    n_items: int = 0
    n_kept: int = 0
    n_bytes: int = 0


class Meaning:
    """Searches of one process. Threads may share it; every call blocks. Close it."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._had: OrderedDict[bytes, Single] = OrderedDict()
        self._resident: ResidentEmbedder | None = None

    def close(self) -> None:
        """End the process of a model in a folder, if one runs."""
        with self._lock:
            resident, self._resident = self._resident, None
        if resident is not None:
            resident.close()

    def _embedder(self, settings: WorkerSettings) -> Embedder | ResidentEmbedder | None:
        endpoint = Embedder.of(settings)
        if endpoint is not None:
            return endpoint
        with self._lock:
            self._resident = ResidentEmbedder.of(settings, self._resident)
            return self._resident

    def nearest(
        self, settings: WorkerSettings, tenant: str, texts: Sequence[str], question: str
    ) -> Nearest:
        """The score of each text, which are different ones.

        O(n_texts x width). Raises UsageError `invalid-request` without an embedder of texts and
        for too many of them, `not-embedded` for vectors that cannot be used, and NotYet.
        """
        embedder = self._embedder(settings)
        if embedder is None or not embedder.model:
            raise UsageError(
                "This service has no embedder of texts, so it searches by name alone: its operator "
                "sets one by UMBEL_EMBEDDING_MODEL, and UMBEL_EMBEDDING_URL where it is an "
                "endpoint's.",
                code="invalid-request",
            )
        if len(texts) > MOST_TEXTS:
            raise UsageError(
                f"There are {len(texts):,} different texts to search; by meaning {MOST_TEXTS:,} "
                "are the most. Search by name.",
                code="invalid-request",
            )
        until = time.monotonic() + PATIENCE_S
        kept = KeptVectors(settings, self._client, tenant, embedder.url, embedder.model)
        ask = _Asking(settings, embedder, kept, until)
        wanted = ask.vectors([question[: settings.embedding_letters]])[0]
        cut = [text[: settings.embedding_letters] for text in texts]
        own = hashlib.sha256("\0".join((tenant, embedder.url, embedder.model)).encode())
        for text in cut:
            own.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        vectors = self._vectors(own.digest(), cut, ask, len(wanted))
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(wanted)
        score = np.zeros(len(texts), np.float32)
        np.divide(vectors @ wanted, lengths, out=score, where=lengths > 0)
        sent = ask.sent
        return Nearest(
            score,
            {
                "to": embedder.place,
                "model": embedder.model,
                "what": _WHAT,
                "n_items": sent.n_items,
                "n_kept": sent.n_kept,
                "n_bytes": sent.n_bytes,
            },
        )

    def _vectors(self, own: bytes, texts: list[str], ask: _Asking, width: int) -> Single:
        if len(texts) * width * 4 > MOST_BYTES:
            most = MOST_BYTES // (4 * width)
            raise UsageError(
                f"There are {len(texts):,} different texts to search; with vectors of {width:,} "
                f"numbers {most:,} are the most. Search by name.",
                code="invalid-request",
            )
        with self._lock:
            had = self._had.get(own)
        if had is None or had.shape[1] != width:
            had = np.empty((0, width), np.float32)
        parts, n_done = [had], len(had)
        try:
            while n_done < len(texts):
                found = ask.vectors(texts[n_done : n_done + _AT_ONCE], parts, width)
                n_done += len(found)
        except NotYet as error:
            n_done = sum(map(len, parts))
            raise NotYet(
                f"{error} {n_done:,} of {len(texts):,} texts have their vectors."
            ) from None
        finally:
            whole = np.concatenate(parts)
            self._keep(own, whole)
        return whole

    def _keep(self, own: bytes, vectors: Single) -> None:
        with self._lock:
            before = self._had.get(own)
            if before is None or len(before) <= len(vectors):
                self._had[own] = vectors
            self._had.move_to_end(own)
            while sum(each.nbytes for each in self._had.values()) > MOST_BYTES:
                self._had.popitem(last=False)


class _Asking:
    """The vectors of texts for one search, until it has to end."""

    def __init__(
        self,
        settings: WorkerSettings,
        embedder: Embedder | ResidentEmbedder,
        kept: KeptVectors,
        until: float,
    ) -> None:
        self._settings, self._embedder, self._kept, self._until = settings, embedder, kept, until
        self.sent = _Sent()

    def vectors(
        self, texts: list[str], parts: list[Single] | None = None, width: int | None = None
    ) -> Single:
        """(n_texts, width) of these texts; each batch that was had is added to `parts`, in order.

        Raises NotYet, UsageError `not-embedded`.
        """
        had: list[Single] = []
        keys = [self._kept.key(text) for text in texts]
        known = self._kept.read(keys)
        start = 0
        while start < len(texts):
            end = self._batch_end(texts, start)
            batch = self._of_batch(texts[start:end], keys[start:end], known[start:end])
            if width is not None and batch.shape[1] != width:
                raise _refused(f"It gives vectors of {width} numbers, and of {batch.shape[1]}.")
            had.append(batch)
            if parts is not None:
                parts.append(batch)
            start = end
        return np.concatenate(had)

    def _batch_end(self, texts: list[str], start: int) -> int:
        """The end of the next batch, within the bounds of one, but at least one text on."""
        n_bytes, end = 0, start
        while end < len(texts) and end - start < self._settings.embedding_batch:
            n_bytes += len(texts[end].encode("utf-8", "surrogatepass"))
            if end > start and n_bytes > self._settings.embedding_batch_bytes:
                break
            end += 1
        return end

    def _of_batch(self, texts: list[str], keys: list[str], known: list[Single | None]) -> Single:
        missing = [place for place, vector in enumerate(known) if vector is None]
        self.sent.n_kept += len(texts) - len(missing)
        if missing:
            fresh = self._answered([texts[place] for place in missing])
            self.sent.n_items += len(missing)
            self.sent.n_bytes += sum(len(texts[place].encode()) for place in missing)
            known = list(known)
            for place, vector in zip(missing, fresh, strict=True):
                known[place] = vector
            pairs = zip(missing, fresh, strict=True)
            self._kept.keep({keys[place]: vector for place, vector in pairs})
        vectors = [vector for vector in known if vector is not None]
        if len(widths := sorted({len(vector) for vector in vectors})) > 1:
            raise _refused(f"It gives vectors of {widths[0]} numbers, and of {widths[-1]}.")
        return np.stack(vectors)

    def _answered(self, texts: list[str]) -> Single:
        left = self._until - time.monotonic()
        if left <= 0:
            raise NotYet("The texts of this tree are still being embedded; search again.")
        embedder = self._embedder
        try:
            return embedder.vectors("text", texts, left)
        except NotAnswered as error:
            if not error.passes:
                raise _refused(str(error)) from None
            raise NotYet(f"The embedder at {embedder.place} gave no vectors: {error}") from None


def _refused(why: str) -> UsageError:
    return UsageError(f"The search was not done. {why}", code="not-embedded")
