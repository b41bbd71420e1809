"""The process that runs a model of an operator's folder (`workers.embedding.local`).

It has a bound of memory, no network and no other process. It reads lines of JSON, each a list of
texts, or of images as `data:` addresses, and answers each with a line and the values.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from models.arrays import Single
from workers.embedding.onnx_session import Unusable

_NICE = 5
"""Whoever waits for an answer of the service comes first."""


class Model(Protocol):
    """A model in memory."""

    def vectors(self, batch: list[str], /) -> Single:
        """(n, width) float32. Raises Unusable, MemoryError."""


def answer_all(model: Model, lines: BinaryIO, answers: BinaryIO) -> None:
    """Answer each line of items until there is none."""
    for line in lines:
        vectors: Single | None = None
        answer = _tried(lambda line=line: model.vectors(json.loads(line)))  # type: ignore[misc]
        if isinstance(answer, np.ndarray):
            vectors = answer
            answer = {"shape": list(vectors.shape)}
        _write(answers, answer, vectors)


def _tried(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Unusable as error:
        return {"error": str(error), "item": error.item}
    except MemoryError:
        return {"error": "The model needs more memory than a job may have."}


def _write(answers: BinaryIO, answer: Any, vectors: Single | None = None) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    if vectors is not None:
        answers.write(vectors.tobytes())
    answers.flush()


def _opened(what: str, folder: Path, threads: int) -> Model:
    if what == "text":
        from workers.embedding.onnx_texts import TextModel

        return TextModel(folder, threads)
    from workers.embedding.onnx_images import ImageModel

    return ImageModel(folder, threads)


def main() -> None:
    """What it takes (text, image), folder, threads, bytes of memory (0: no bound)."""
    from workers.child.confinement import confine

    what, folder = sys.argv[1], Path(sys.argv[2])
    threads, most = int(sys.argv[3]), int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if most and sys.platform.startswith("linux"):
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    os.nice(_NICE)
    confine(sockets=False)
    answers = sys.stdout.buffer
    model = _tried(lambda: _opened(what, folder, threads))
    if isinstance(model, dict):
        _write(answers, model)
        return
    _write(answers, {"ready": True})
    answer_all(model, sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
