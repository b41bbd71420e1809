"""Models in folders of the operator's, run by a process of this machine; nothing is sent."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from models.arrays import Single
from umbel import floors
from workers import processes
from workers.child.template import SECRET
from workers.embedding.endpoint import What
from workers.settings import WorkerSettings
from workers.webhooks.questions import NotAnswered

_MODULE = "workers.embedding.onnx_process"
_LONGEST_LINE = 1 << 16
_WIDEST = 16_384


class LocalEmbedder:
    """As `Embedder`, by a process that starts with the first batch. Close it. One thread at a time,
    which lives as long as the process does.

    url : changes with the files of the models, so that what is kept is of them.
    """

    place = "this service"

    def __init__(self, settings: WorkerSettings, texts: Path | None, images: Path | None) -> None:
        self.model = "" if texts is None else texts.name
        self.image_model = "" if images is None else images.name
        self.url = _fingerprint(texts, images)
        self._folders: dict[What, Path | None] = {"text": texts, "image": images}
        self._timeout_s = self._wait_s = settings.embedding_timeout_s
        self._threads = settings.threads_per_job
        self._memory_bytes = settings.job_memory_bytes or 0
        self._process: subprocess.Popen[bytes] | None = None
        self._runs = ""

    @classmethod
    def of(cls, settings: WorkerSettings) -> LocalEmbedder | None:
        """That of the settings; None without one."""
        texts, images = settings.embedding_folder, settings.embedding_image_folder
        return None if texts is None and images is None else cls(settings, texts, images)

    def vectors(self, what: What, batch: list[str], within_s: float = math.inf) -> Single:
        """(n, width) the vectors of texts, or of images as `data:` addresses.

        within_s : as of `Embedder`. Raises NotAnswered.
        """
        self._wait_s = min(self._timeout_s, within_s)
        until = time.monotonic() + self._wait_s
        process = self._started(what, until)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(batch).encode() + b"\n")
            process.stdin.flush()
        shape = self._line(process, until).get("shape")
        n, width = shape if isinstance(shape, list) and len(shape) == 2 else (0, 0)
        if n != len(batch) or not 1 <= width <= _WIDEST:
            raise self._failed(f"Its vectors have {width} numbers; 1 to {_WIDEST} are taken.")
        values = np.frombuffer(self._read(process, 4 * n * width, until), np.float32)
        if not np.isfinite(values).all():
            raise self._failed("A value of its vectors is not a finite number.")
        return values.reshape(n, width)

    def close(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            processes.stop(process, 0.0)
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _started(self, what: What, until: float) -> subprocess.Popen[bytes]:
        if self._runs != what or (self._process is not None and self._process.poll() is not None):
            self.close()
        if self._process is None:
            inherited, folder = os.environ.items(), self._folders[what]
            assert folder is not None
            self._runs = what
            self._process = processes.spawn(
                floors.command(
                    _MODULE, what, str(folder), str(self._threads), str(self._memory_bytes)
                ),
                env={name: value for name, value in inherited if not name.startswith(SECRET)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self._line(self._process, until)
        return self._process

    def _line(self, process: subprocess.Popen[bytes], until: float) -> dict[str, Any]:
        line = b""
        while not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
            line += self._read(process, 1, until)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            if answer.get("item") is not None:
                raise NotAnswered(str(answer["error"]), item=answer["item"])
            raise self._failed(str(answer["error"]))
        return answer

    def _read(self, process: subprocess.Popen[bytes], n_bytes: int, until: float) -> bytes:
        assert process.stdout is not None
        descriptor, parts, left = process.stdout.fileno(), [], n_bytes
        while left:
            wait_s = until - time.monotonic()
            if wait_s <= 0 or not select.select([descriptor], [], [], wait_s)[0]:
                raise self._failed(
                    f"The model gave no vectors within {self._wait_s:.3g} s.",
                    passes=self._wait_s < self._timeout_s,
                )
            part = os.read(descriptor, min(left, 1 << 20))
            if not part:
                raise self._failed(
                    "The process of the model ended; it may need more memory than a job may have."
                )
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _failed(self, why: str, passes: bool = False) -> NotAnswered:
        self.close()
        return NotAnswered(why, passes=passes)


def _fingerprint(*folders: Path | None) -> str:
    """What changes when a file of the folders does: names, sizes and times."""
    facts = []
    for folder in folders:
        facts.append(str(folder))
        if folder is None:
            continue
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                stat = path.stat()
                facts.append(f"{path.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}")
    return "file:" + hashlib.sha256("\n".join(facts).encode()).hexdigest()
