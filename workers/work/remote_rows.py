"""A matrix that stays in the object store: its rows are read by range, over HTTP.

Nothing is kept on disk, and only a few blocks of the matrix in memory. Only the address is needed:
no credentials, no knowledge of the store.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import UsageError
from models.inputs.rows import Rows
from workers.errors import FatalError, StoreUnavailable
from workers.formats import npy, roles
from workers.formats.catalogue import locate
from workers.formats.facts import Facts
from workers.formats.raw import Layout, runs
from workers.stores.objects.blobs import Link

BLOCK_BYTES = 8 << 20
"""The size of a scan's reads: smaller ones cost requests, larger ones memory."""

STRETCH_BYTES = 4 << 20
NEAR_BYTES = 512 << 10
"""Scattered rows no farther apart than this are read in one request, with the bytes between: those
take about as long as another request. At most `STRETCH_BYTES` a request."""

AT_ONCE = 32
"""Concurrent requests: a remote store answers each after tens of milliseconds."""

AHEAD = 6
_KEPT = 32
"""The largest number of blocks in memory; usually those read ahead and one per reading thread."""

GIVE_UP_S = 60.0
"""How long requests to an unavailable store are retried."""


class RemoteContent:
    """The bytes of one object. Threads may share it.

    A request is retried, with growing pauses, if the connection is refused or cut, or if the store
    does not answer, is too busy or fails.

    Raises
    ------
    UsageError : `input-deleted`, the object is gone or has been replaced.
    StoreUnavailable : the store has been away for long, or the address has expired.
    """

    def __init__(self, link: Link, role: str) -> None:
        from obstore.store import HTTPStore

        self.length = link.size
        self._etag = link.etag
        self._role = role
        self._object = HTTPStore.from_url(
            link.url,
            client_options={
                "allow_http": link.url.startswith("http://"),
                "connect_timeout": "5s",
                "read_timeout": "10s",
                "timeout": "5m",
            },
            retry_config={
                "max_retries": 1000,
                "retry_timeout": timedelta(seconds=GIVE_UP_S),
                "backoff": {
                    "init_backoff": timedelta(milliseconds=100),
                    "max_backoff": timedelta(seconds=5),
                    "base": 2,
                },
            },
        )

    def read(self, start: int, stop: int) -> bytes:
        return bytes(self.fetch(start, min(stop, self.length)))

    def fetch(self, start: int, stop: int) -> memoryview:
        """The bytes [start, stop), all of them within the object."""
        import obstore
        from obstore.exceptions import BaseError, PreconditionError

        # The client's own errors contain the address, a secret, so they must not be passed on.
        try:
            response = obstore.get(
                self._object, "", options={"range": (start, stop), "if_match": self._etag}
            )
            content = memoryview(response.bytes())
        except (FileNotFoundError, PreconditionError):
            raise self._gone() from None
        except (BaseError, OSError) as error:
            raise StoreUnavailable(f"the object store failed: {type(error).__name__}") from None
        if response.meta["e_tag"] != self._etag or response.meta["size"] != self.length:
            raise self._gone()
        if len(content) != stop - start:
            raise StoreUnavailable("the object store gave fewer bytes than requested")
        return content

    def _gone(self) -> UsageError:
        return UsageError(
            f"Input {self._role!r} was deleted while the job read it; upload it again and "
            "submit a new job.",
            code="input-deleted",
            role=self._role,
        )


@dataclass(slots=True)
class _Block:
    """Rows being fetched; `left` of them have not been handed out yet."""

    rows: Future[npt.NDArray[Any]]
    left: int
    begun: bool = False


class RemoteRows(Rows):
    """Rows of a matrix in C order in an object.

    Threads may share it. A scan is read ahead in blocks, several at a time, and a block is dropped
    once all its rows have been handed out. Scattered rows are fetched in stretches, many at a time;
    `take` needs memory for its result and `AT_ONCE` stretches, and as much time for a single row as
    for `NEAR_BYTES`. Raises the errors of `RemoteContent`.
    """

    far = True

    def __init__(self, content: RemoteContent, layout: Layout) -> None:
        self.shape = (layout.shape[0], layout.shape[1])
        self.dtype = layout.dtype.newbyteorder("=")
        self.bfloat16 = layout.bfloat16
        self._content = content
        self._layout = layout
        self._width = self.shape[1] * self.dtype.itemsize
        self._step = max(1, BLOCK_BYTES // self._width)
        self._near = NEAR_BYTES // self._width
        self._longest = max(1, STRETCH_BYTES // self._width)
        self._blocks: OrderedDict[int, _Block] = OrderedDict()
        self._recent: deque[int] = deque(maxlen=2 * _KEPT)
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, "rows")

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        stop = min(stop, self.shape[0])
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        first, last = start // self._step, (stop - 1) // self._step
        upto = self._wanted(first, last)
        if first == last:
            return np.require(self._part(first, start, stop, upto), self.dtype, ["C", "A"])
        out = np.empty((stop - start, self.shape[1]), self.dtype)
        for number in range(first, last + 1):
            low = max(start, number * self._step)
            high = min(stop, (number + 1) * self._step)
            out[low - start : high - start] = self._part(number, low, high, upto)
        return out

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        out = np.empty((len(rows), self.shape[1]), self.dtype)

        def fetch(begin: int, end: int) -> None:
            first = int(rows[begin])
            stretch = self._fetch(first, int(rows[end - 1]) + 1)
            out[begin:end] = stretch[rows[begin:end] - first]

        stretches = runs(rows, self._near, self._longest)
        for _ in self._pool.map(lambda bounds: fetch(*bounds), stretches):
            pass
        return out

    def _wanted(self, first: int, last: int) -> int:
        """The last block to fetch after a read of blocks `first` to `last`: further ahead in a
        scan."""
        with self._lock:
            scan = first == 0 or first in self._recent or first - 1 in self._recent
        n_blocks = -(-self.shape[0] // self._step)
        return min(last + AHEAD, n_blocks - 1) if scan else last

    def _part(self, number: int, start: int, stop: int, upto: int) -> npt.NDArray[Any]:
        """Rows [start, stop), all within block `number`; blocks up to `upto` are fetched ahead."""
        with self._lock:
            block = self._request(number)
            if not block.begun:
                block.begun = True
                self._recent.append(number)
                scans = sum(other.begun for other in self._blocks.values())
                ahead = min(AHEAD, max(1, _KEPT // scans - 1))
                for after in range(number + 1, min(number + ahead, upto) + 1):
                    self._request(after)
            block.left -= stop - start
            if block.left <= 0:
                self._blocks.pop(number, None)
            while len(self._blocks) > _KEPT:
                self._blocks.popitem(last=False)
        try:
            rows = block.rows.result()
        except Exception:
            with self._lock:
                if self._blocks.get(number) is block:
                    del self._blocks[number]
            raise
        return rows[start - number * self._step : stop - number * self._step]

    def _request(self, number: int) -> _Block:
        if number not in self._blocks:
            start = number * self._step
            stop = min(start + self._step, self.shape[0])
            rows = self._pool.submit(self._fetch, start, stop)
            self._blocks[number] = _Block(rows, stop - start)
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def _fetch(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows [start, stop) as stored."""
        offset = self._layout.offset
        content = self._content.fetch(offset + start * self._width, offset + stop * self._width)
        return np.frombuffer(content, self._layout.dtype).reshape(-1, self.shape[1])


def facts_of(link: Link, format: str, member: str | None, role: str) -> Facts:
    """As `workers.formats.catalogue.inspect`, for an object of one of the formats `RAW`."""
    content = RemoteContent(link, role)
    layout = locate(format, content, member)
    npy.require_text(content, layout)
    return layout.facts()


def rows(link: Link, format: str, member: str | None, role: str) -> RemoteRows:
    """The matrix of `role` in an object of one of the formats `RAW`; its header is read now.

    Errors as `workers.formats.catalogue.load`, and as `RemoteContent`.
    """
    content = RemoteContent(link, role)
    layout = locate(format, content, member)
    roles.require_matrix(layout.shape, layout.dtype, role)
    if layout.fortran:
        raise FatalError("a matrix in Fortran order cannot be read by rows remotely")
    return RemoteRows(content, layout)
