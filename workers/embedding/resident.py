"""Models in folders of the operator's, kept while the threads of a service have questions."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor, TimeoutError

from models.arrays import Single
from workers.embedding.endpoint import What
from workers.embedding.local import LocalEmbedder
from workers.settings import WorkerSettings
from workers.webhooks.questions import NotAnswered

IDLE_S = 300.0
"""After so long without a question its process ends."""


class ResidentEmbedder:
    """As `LocalEmbedder`, for any number of threads, whose batches wait for each other. Close it.

    The process is a child of one thread, since it ends with the thread that started it.
    """

    place = LocalEmbedder.place

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.url, self.model, self.image_model = embedder.url, embedder.model, embedder.image_model
        self._embedder = embedder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedder")
        self._lock = threading.Lock()
        self._idle: threading.Timer | None = None
        self._closed = False

    @classmethod
    def of(
        cls, settings: WorkerSettings, held: ResidentEmbedder | None = None
    ) -> ResidentEmbedder | None:
        """The one of the settings: `held`, unless a file of its folders has changed; None without
        one."""
        embedder = LocalEmbedder.of(settings)
        if embedder is not None and held is not None and held.url == embedder.url:
            return held
        if held is not None:
            held.close()
        return None if embedder is None else cls(embedder)

    def vectors(self, what: What, batch: list[str], within_s: float = math.inf) -> Single:
        """As of `LocalEmbedder`; `within_s` counts from now, also while others are answered."""
        try:
            question = self._thread.submit(self._embedder.vectors, what, batch, within_s)
        except RuntimeError:
            # A file of the model has changed meanwhile, and another thread has closed this one.
            raise NotAnswered("The model was replaced.", passes=True) from None
        try:
            return question.result(None if math.isinf(within_s) else within_s)
        except TimeoutError:
            question.cancel()
            raise NotAnswered("The model is slow, or others wait.", passes=True) from None
        finally:
            self._rest()

    def close(self) -> None:
        """End the process once it has answered."""
        with self._lock:
            self._closed = True
            if self._idle is not None:
                self._idle.cancel()
        self._thread.submit(self._embedder.close)
        self._thread.shutdown(wait=False)

    def _rest(self) -> None:
        """End the process in a while, unless there is another question."""
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            if self._closed:
                return
            self._idle = threading.Timer(IDLE_S, lambda: self._thread.submit(self._embedder.close))
            self._idle.daemon = True
            self._idle.start()
