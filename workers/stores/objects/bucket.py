"""Blobs in a bucket: of S3 or what speaks it, of Google Cloud Storage, or of Azure (a container).

Credentials come from the environment (`clouds`). An unreachable store is noticed within about ten
seconds. Objects read by path are downloaded into a cache on the local disk, named by key and ETag,
so a changed object is a different file. Larger objects are read by range, from an address that
needs no credentials; where the credentials cannot sign one, they are downloaded too.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from workers.errors import AlreadyThere, FatalError, Missing, StoreFull, StoreUnavailable
from workers.stores.objects.blobs import Link, checked, checked_prefix
from workers.stores.objects.cache import Cache
from workers.stores.objects.clouds import CLOUDS, open_bucket, place_of
from workers.stores.objects.layout import PINGS, ping
from workers.stores.objects.streams import batches

if TYPE_CHECKING:
    from obstore import ObjectMeta

PIECE = 1 << 20
PART = 8 << 20
_PARTS_AT_ONCE = 4
_LONGEST_LINK_S = 7 * 24 * 3600.0
_FULL = re.compile(r"(?<![\w.:])507\b|StorageFull|QuotaExceeded|InsufficientStorage")
"""In the text of an error; 507 may also be the end of a port or of a time."""
_NO_CONDITIONS = re.compile(r"(?<![\w.:])501\b|NotImplemented")


_log = logging.getLogger(__name__)


class BucketBlobs:
    """The `Blobs` under one prefix of a bucket. Threads and processes may share it.

    scheme : of `clouds.CLOUDS`. stream_bytes : an object larger than this has a `link`. link_s :
    how long the link is valid; stores allow 7 days. Raises FatalError as `open_bucket`.
    """

    def __init__(
        self,
        scheme: str,
        *,
        bucket: str,
        prefix: str,
        endpoint: str | None,
        cache: Path,
        cache_bytes: int,
        stream_bytes: int = 1 << 30,
        link_s: float = _LONGEST_LINK_S,
    ) -> None:
        self.place = place_of(scheme, bucket, prefix, endpoint)
        self._store = open_bucket(scheme, bucket, prefix, endpoint)
        self._ping = ping(secrets.randbelow(PINGS))
        self._credentials = CLOUDS[scheme].credentials
        self._cache = Cache(cache, cache_bytes)
        self._stream_bytes = stream_bytes
        self._link_for = timedelta(seconds=math.ceil(min(link_s, _LONGEST_LINK_S)))

    def put(self, key: str, data: bytes | memoryview, *, create: bool = False) -> None:
        with _translated(checked(key)):
            mode: Any = "create" if create else "overwrite"
            obstore.put(self._store, key, data, mode=mode, use_multipart=False)

    def put_all(self, objects: Mapping[str, bytes | memoryview]) -> None:
        for key, data in objects.items():
            try:
                self.put(key, data, create=True)
            except AlreadyThere:
                # A write whose response was lost is sent again, and finds what it wrote itself.
                if self.get(key) != data:
                    raise

    def put_files(self, files: Mapping[str, Path], then: tuple[str, bytes] | None = None) -> None:
        for key, path in files.items():
            self.put_file(key, path)
        if then is not None:
            self.put(*then, create=True)

    def put_file(self, key: str, path: Path) -> None:
        with _translated(checked(key)):
            large = path.stat().st_size > PART
            obstore.put(
                self._store,
                key,
                path,
                use_multipart=large,
                chunk_size=PART,
                max_concurrency=_PARTS_AT_ONCE,
            )

    async def put_stream(self, key: str, chunks: AsyncIterator[bytes]) -> int:
        checked(key)
        parts = batches(chunks, PART)
        first = await anext(parts, b"")
        second = await anext(parts, b"")
        if not second:
            with _translated(key):
                await obstore.put_async(self._store, key, first, use_multipart=False)
            return len(first)
        length = len(first) + len(second)
        source = _Source()
        upload = asyncio.ensure_future(self._upload(key, source))
        try:
            await source.give(first, upload)
            await source.give(second, upload)
            async for part in parts:
                length += len(part)
                await source.give(part, upload)
            await source.give(b"", upload)
            await upload
        except BaseException:
            # The upload must fail by itself, so that it discards the parts already sent.
            source.break_off()
            with suppress(BaseException):
                await upload
            raise
        return length

    async def _upload(self, key: str, source: _Source) -> None:
        with _translated(key):
            await obstore.put_async(
                self._store,
                key,
                source,
                use_multipart=True,
                chunk_size=PART,
                max_concurrency=_PARTS_AT_ONCE,
            )

    def get(self, key: str) -> bytes:
        with _translated(checked(key)):
            return bytes(obstore.get(self._store, key).bytes())

    def read(self, key: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        size = self.size(key)
        if size is None:
            raise Missing(key)
        stop = size if end is None else min(end, size)
        if start >= stop:
            return iter(())
        with _translated(key):
            response = obstore.get(self._store, key, options={"range": (start, stop)})
            stream = response.stream(min_chunk_size=PIECE)

        def pieces() -> Iterator[bytes]:
            with _translated(key):
                for piece in stream:
                    yield bytes(piece)

        return pieces()

    def size(self, key: str) -> int | None:
        try:
            with _translated(checked(key)):
                return int(obstore.head(self._store, key)["size"])
        except Missing:
            return None

    def local_path(self, key: str) -> Path:
        with _translated(checked(key)):
            facts = obstore.head(self._store, key)
        version = _version(facts)
        cached = self._cache.get(key, version)
        if cached is not None:
            return cached
        with _translated(key):
            response = obstore.get(self._store, key, options={"if_match": facts["e_tag"]})
            return self._cache.add(key, version, response.stream(min_chunk_size=PIECE))

    def link(self, key: str) -> Link | None:
        with _translated(checked(key)):
            facts = obstore.head(self._store, key)
            if facts["size"] <= self._stream_bytes or facts["e_tag"] is None:
                return None
            if self._cache.get(key, _version(facts)) is not None:
                return None
        try:
            url = obstore.sign(self._store, "GET", key, self._link_for)
        except (BaseError, OSError) as error:
            _log.warning(
                "%s: these credentials sign no address (%s), so large objects are downloaded whole",
                self.place,
                type(error).__name__,
            )
            return None
        return Link(url=url, size=facts["size"], etag=facts["e_tag"])

    def keys(self, prefix: str) -> Iterator[str]:
        for key, _ in self.sizes(prefix):
            yield key

    def strays(self, prefix: str) -> Iterator[str]:
        return iter(())

    def sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        whole = checked_prefix(prefix) if prefix else ""
        with _translated(prefix):
            for batch in obstore.list(self._store, prefix=whole or None):
                for entry in batch:
                    yield entry["path"], int(entry["size"])

    def delete(self, key: str) -> None:
        try:
            with _translated(checked(key)):
                obstore.delete(self._store, key)
        except Missing:
            return

    def delete_under(self, prefix: str) -> None:
        whole = checked_prefix(prefix)
        with _translated(prefix):
            for batch in obstore.list(self._store, prefix=whole, chunk_size=1000):
                keys = [entry["path"] for entry in batch]
                try:
                    obstore.delete(self._store, keys)
                except FileNotFoundError:
                    # Another process removes them as well; not every store takes that for done.
                    for key in keys:
                        self.delete(key)

    def free_bytes(self) -> int | None:
        return None

    def remove_leftovers(self) -> None:
        """Nothing: an upload in parts that was not completed is no object, and the store or a
        lifecycle rule of the bucket removes it."""

    def ping(self) -> None:
        with _translated("ping"):
            obstore.put(self._store, self._ping, b"", use_multipart=False)

    def require_usable(self) -> None:
        try:
            obstore.put(self._store, self._ping, b"", use_multipart=False)
            obstore.put(self._store, self._ping, b"", mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise FatalError(
                f"{self.place} refuses the credentials, or they may not write there "
                f"({type(error).__name__}); set {self._credentials}"
            ) from None
        except FileNotFoundError:
            raise FatalError(f"{self.place}: there is no such bucket; make it first") from None
        except (BaseError, OSError) as error:
            if not _NO_CONDITIONS.search(str(error)):
                raise StoreUnavailable(
                    f"the object store failed: {type(error).__name__}"
                ) from error
        raise FatalError(
            f"{self.place} does not refuse to write an object that is there already "
            "(If-None-Match: *), which every promise of the service rests on; use a store that does"
        )


class _Source:
    """The parts of an upload as an iterator; an empty part is the end."""

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1)

    async def give(self, part: bytes, upload: asyncio.Future[None]) -> None:
        """Hand over one part once there is room.

        Raises the error of `upload` if it fails meanwhile.
        """
        giving = asyncio.ensure_future(self._parts.put(part))
        try:
            await asyncio.wait({giving, upload}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            giving.cancel()
        if upload.done():
            upload.result()

    def break_off(self) -> None:
        """Make the upload fail."""
        while not self._parts.empty():
            self._parts.get_nowait()
        self._parts.put_nowait(None)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        part = await self._parts.get()
        if part is None:
            raise RuntimeError("the stream was interrupted")
        if not part:
            raise StopAsyncIteration
        return part


def _version(facts: ObjectMeta) -> str:
    return f"{facts['e_tag']}-{facts['size']}"


@contextmanager
def _translated(key: str) -> Iterator[None]:
    """Errors of the store's client as errors of `workers.errors`."""
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(key) from error
    except (AlreadyExistsError, PreconditionError) as error:
        raise AlreadyThere(key) from error
    except (BaseError, OSError) as error:
        if _FULL.search(str(error)):
            raise StoreFull("the object store has no room left") from error
        raise StoreUnavailable(f"the object store failed: {type(error).__name__}") from error
