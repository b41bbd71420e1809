"""A local server that speaks the chat-completions format, as far as one question needs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.workers.webhooks.receiver_kit import Receiver, receiving

Name = Callable[[str], str | None]
"""The name for a node by its evidence; None: the answer leaves it out."""


class ChatServer:
    """Names each node of a question by `name`; `next` are other answers, given first."""

    def __init__(self, receiver: Receiver, name: Name) -> None:
        self.receiver, self._name = receiver, name
        self.url = f"http://127.0.0.1:{receiver.port}/v1"
        receiver.answers = [self._answer] * 100

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The nodes of each question, with their evidence and siblings."""
        return [
            json.loads(request.content["messages"][1]["content"])
            for request in self.receiver.requests
        ]

    def next(self, *answers: Any) -> None:
        """Answer by a status, or by this text."""
        self.receiver.answers[:0] = [
            answer if isinstance(answer, int) else _saying(answer) for answer in answers
        ]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        named = {node: self._name(about["evidence"]) for node, about in self.questions[-1].items()}
        given = {node: name for node, name in named.items() if name is not None}
        # As models do, with something around the object.
        _saying(completion(f"Here are the names:\n```json\n{json.dumps(given)}\n```"))(request)


def completion(text: str) -> bytes:
    """A completion with this text."""
    message = {"role": "assistant", "content": text}
    return json.dumps({"object": "chat.completion", "choices": [{"message": message}]}).encode()


def _saying(content: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    return answer


@contextlib.contextmanager
def chatting(name: Name = str.upper) -> Iterator[ChatServer]:
    with receiving() as receiver:
        yield ChatServer(receiver, name)
