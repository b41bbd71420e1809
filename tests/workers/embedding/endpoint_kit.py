"""A local server of embeddings in OpenAI's form: counts of words, hashed into eight places."""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.workers.webhooks.receiver_kit import Receiver, receiving

WIDTH = 8


def vector(text: str) -> list[float]:
    """The vector of a text."""
    counts = [0.0] * WIDTH
    for word in text.split():
        counts[zlib.crc32(word.encode()) % WIDTH] += 1.0
    return counts


class EmbeddingServer:
    """Answers by `vector`; `next` are other answers, given first."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.url = f"http://127.0.0.1:{receiver.port}/v1"
        receiver.answers = [self._answer] * 1000

    @property
    def batches(self) -> list[list[str]]:
        """The items of each request."""
        return [request.content["input"] for request in self.receiver.requests]

    def next(self, *answers: Any) -> None:
        """Answer by a status, a function, or this JSON."""
        self.receiver.answers[:0] = [
            answer if isinstance(answer, int) or callable(answer) else answering(answer)
            for answer in answers
        ]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        # Last first, as their numbers allow.
        rows = [
            {"index": place, "embedding": vector(text)}
            for place, text in reversed(list(enumerate(self.batches[-1])))
        ]
        answering({"object": "list", "data": rows})(request)


def answering(body: Any) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer by this JSON, or these bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    return answer


@contextlib.contextmanager
def embedding() -> Iterator[EmbeddingServer]:
    with receiving() as receiver:
        yield EmbeddingServer(receiver)
