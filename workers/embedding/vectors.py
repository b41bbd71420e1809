"""The vectors of a job's texts or images.

Equal items are sent once. What was given is kept (`workers.embedding.kept`); what this job has, in
a checkpoint, so that the next attempt goes on where a killed one was.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import redis

from models.arrays import Single
from models.errors import UsageError
from models.items.facts import HEAD, media_type
from workers.artifacts import results
from workers.embedding.endpoint import Embedder, What
from workers.embedding.kept import KeptVectors
from workers.embedding.local import LocalEmbedder
from workers.errors import NotReached, problem_of
from workers.kinds.registry import kind_of
from workers.model import Request
from workers.settings import WorkerSettings
from workers.webhooks.questions import NotAnswered
from workers.work.job import Outcome

if TYPE_CHECKING:
    import pyarrow as pa

PAUSES_S = (0.5, 2.0, 8.0)
"""Before a batch is sent again that may be answered later."""
LONGEST_PAUSE_S = 30.0
WHAT = {"text": "the texts, without ids or other columns", "image": "the images, without names"}
"""What is sent, by the column that is embedded."""
_SHARE = 20.0
"""A checkpoint takes at most one part in this many of the time."""
_log = logging.getLogger(__name__)


class _Left(Exception):
    """The attempt has ended meanwhile."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an attempt lends to the embedding of its items.

    last : the checkpoint of an earlier attempt. every_s : how often one is kept by `keep`, from a
    file in `scratch`. left : set when the attempt has ended. progress : takes the share done.
    """

    scratch: Path
    last: Path | None = None
    every_s: float = 10.0
    keep: Callable[[Path], None] = lambda path: None
    left: threading.Event = threading.Event()  # noqa: RUF009
    progress: Callable[[float], None] = lambda fraction: None


def asks_embedder(request: Request, outcome: Outcome) -> bool:
    """Whether items are to be embedded."""
    return outcome.error is None and kind_of(request.kind).embeds


def embedded(
    settings: WorkerSettings,
    client: redis.Redis,
    request: Request,
    outcome: Outcome,
    folder: Path,
    attempt: Attempt,
) -> Outcome:
    """The outcome with the vectors of the items in `folder` beside them; it says what was sent.

    What the embedder does not do is the problem `not-embedded` of the outcome. Raises
    NotReached where it may be answered later: then the job goes on with what it has.
    """
    import pyarrow as pa

    assert outcome.result is not None
    path = folder / results.TO_EMBED
    # Not mapped: the file is removed, since all that is left in the folder is published.
    table = pa.ipc.open_file(pa.py_buffer(path.read_bytes())).read_all()
    path.unlink()
    try:
        embedder = Embedder.of(settings) or LocalEmbedder.of(settings)
        if embedder is None:
            raise _refused(
                "This worker has no embedder; its operator sets UMBEL_EMBEDDING_URL, or a folder "
                "as UMBEL_EMBEDDING_MODEL or UMBEL_EMBEDDING_IMAGE_MODEL."
            )
        work = _Work(settings, client, request, embedder, table, attempt)
        with closing(embedder):
            vectors = work.vectors()
    except UsageError as error:
        return Outcome(error=problem_of(error))
    except _Left:
        return outcome
    ids = table.column("id") if "id" in table.column_names else None
    texts = table.column("text") if "text" in table.column_names else None
    results.save_embedded(vectors, folder, ids, texts)
    result = {**outcome.result, "shape": list(vectors.shape), "sent": work.sent()}
    return outcome.model_copy(update={"result": result, "warnings": work.warnings})


class _Work:
    """The items of one job. own : the column that is embedded."""

    def __init__(
        self,
        settings: WorkerSettings,
        client: redis.Redis,
        request: Request,
        embedder: Embedder | LocalEmbedder,
        table: pa.Table,
        attempt: Attempt,
    ) -> None:
        self._settings, self._embedder, self._attempt = settings, embedder, attempt
        self._own: What = "text" if "text" in table.column_names else "image"
        self._model = embedder.model if self._own == "text" else embedder.image_model
        if not self._model:
            name = "UMBEL_EMBEDDING_MODEL" if self._own == "text" else "UMBEL_EMBEDDING_IMAGE_MODEL"
            raise _refused(f"The embedder has no model of {self._own}s; its operator sets {name}.")
        if table.num_rows > settings.embedding_items:
            raise _refused(
                f"There are {table.num_rows} items; {settings.embedding_items} are the most that "
                "this service embeds in one job."
            )
        coded = table.column(self._own).combine_chunks().dictionary_encode()
        self._items, self._row_of = coded.dictionary, coded.indices.to_numpy()
        self._memory = KeptVectors(settings, client, request.tenant, embedder.url, self._model)
        self._n_sent = self._n_kept = self._n_bytes = self._n_cut = 0
        self.warnings: tuple[str, ...] = ()

    def vectors(self) -> Single:
        """(n_rows, width). Raises UsageError `not-embedded`, NotReached."""
        distinct, n_done = self._begun()
        n, next_at = len(self._items), time.monotonic() + self._attempt.every_s
        while n_done < n:
            if self._attempt.left.is_set():
                raise _Left
            batch = self._batch(n_done)
            found = self._of_batch(batch, n_done)
            width = found.shape[1] if distinct is None else distinct.shape[1]
            if found.shape[1] != width:
                raise _refused(
                    f"It gave vectors of {width} numbers, then, from item {n_done} on, of "
                    f"{found.shape[1]}."
                )
            if distinct is None:
                distinct = np.empty((n, width), np.float32)
            distinct[n_done : n_done + len(batch)] = found
            n_done += len(batch)
            self._attempt.progress(n_done / n)
            began = time.monotonic()
            if n_done < n and began >= next_at:
                self._checkpoint(distinct[:n_done])
                ended = time.monotonic()
                next_at = ended + max(self._attempt.every_s, _SHARE * (ended - began))
        assert distinct is not None
        if self._n_cut:
            self.warnings = (
                f"{self._n_cut} texts are longer than {self._settings.embedding_letters} letters; "
                "their beginnings alone were embedded.",
            )
        return np.asarray(distinct[self._row_of])

    def sent(self) -> dict[str, Any]:
        """What was sent by this attempt, and where to."""
        return {
            "to": self._embedder.place,
            "model": self._model,
            "what": WHAT[self._own],
            "n_items": self._n_sent,
            "n_kept": self._n_kept,
            "n_bytes": self._n_bytes,
        }

    def _begun(self) -> tuple[Single | None, int]:
        """(the vectors with room for all, how many there are) of an earlier attempt."""
        last = self._attempt.last
        if last is None:
            return None, 0
        try:
            had = results.load_arrays(last)["vectors"]
        except Exception:
            _log.warning("a checkpoint cannot be read; the embedding starts anew", exc_info=True)
            return None, 0
        whole = np.empty((len(self._items), had.shape[1]), np.float32)
        whole[: len(had)] = had
        for item in range(len(had)):
            self._n_cut += self._is_cut(item)
        self._n_kept += len(had)
        return whole, len(had)

    def _checkpoint(self, vectors: Single) -> None:
        path = self._attempt.scratch / "vectors"
        results.save_named({"vectors": vectors}, path)
        self._attempt.keep(path)
        path.unlink(missing_ok=True)

    def _batch(self, start: int) -> list[str]:
        """The next items as they are sent, within the bounds of a batch, but at least one."""
        batch: list[str] = []
        n_bytes = 0
        for item in range(start, min(start + self._settings.embedding_batch, len(self._items))):
            self._n_cut += self._is_cut(item)
            text = self._sent_as(item)
            n_bytes += len(text.encode())
            if batch and n_bytes > self._settings.embedding_batch_bytes:
                self._n_cut -= self._is_cut(item)
                break
            batch.append(text)
        return batch

    def _is_cut(self, item: int) -> bool:
        return self._own == "text" and (
            len(self._items[item].as_py()) > self._settings.embedding_letters
        )

    def _sent_as(self, item: int) -> str:
        value = self._items[item].as_py()
        if self._own == "text":
            return str(value[: self._settings.embedding_letters])
        return f"data:{media_type(value[:HEAD])};base64,{base64.b64encode(value).decode()}"

    def _of_batch(self, batch: list[str], start: int) -> Single:
        """start : the first of the items that these are."""
        keys = [self._memory.key(text) for text in batch]
        kept = self._memory.read(keys)
        missing = [place for place, vector in enumerate(kept) if vector is None]
        if missing:
            own = self._answered(
                [batch[place] for place in missing], [start + place for place in missing]
            )
            self._n_sent += len(missing)
            self._n_bytes += sum(len(batch[place].encode()) for place in missing)
            for place, vector in zip(missing, own, strict=True):
                kept[place] = vector
            fresh = zip(missing, own, strict=True)
            self._memory.keep({keys[place]: vector for place, vector in fresh})
        self._n_kept += len(batch) - len(missing)
        vectors = [vector for vector in kept if vector is not None]
        if len({len(vector) for vector in vectors}) > 1:
            widths = sorted({len(vector) for vector in vectors})
            raise _refused(f"It gives vectors of {widths[0]} numbers, and of {widths[-1]}.")
        return np.stack(vectors)

    def _answered(self, batch: list[str], items: list[int]) -> Single:
        """The vectors of a batch. Raises UsageError, NotReached once all pauses are over."""
        for pause_s in self._pauses():
            try:
                return self._embedder.vectors(self._own, batch)
            except NotAnswered as error:
                if error.item is not None:
                    row = int(np.argmax(self._row_of == items[error.item]))
                    raise _refused(f"Row {row} (counted from 0): {error}") from None
                if not error.passes:
                    raise _refused(str(error)) from None
                if pause_s is None:
                    why = f"The embedder at {self._embedder.place} gave no vectors: {error}"
                    raise NotReached(why) from None
                after = error.after
                wished = float(after[:9]) if after.isascii() and after.isdigit() else 0.0
                if self._attempt.left.wait(min(max(pause_s, wished), LONGEST_PAUSE_S)):
                    raise _Left from None
        raise AssertionError

    def _pauses(self) -> Iterator[float | None]:
        yield from PAUSES_S
        yield None


def _refused(why: str) -> UsageError:
    return UsageError(f"The items were not embedded. {why}", code="not-embedded")
