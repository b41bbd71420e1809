"""Streams of bytes regrouped into larger pieces, since each piece costs a thread switch."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from workers.stores.objects.blobs import Blobs

HEAD = 64 << 10
_HASHED_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Stored:
    """A stream that was stored: its length, its hash in hexadecimal, its first 64 KiB."""

    length: int
    sha256: str
    head: bytes


async def batches(chunks: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """The same bytes in pieces of at least `size`, except the last. None is empty."""
    waiting: list[bytes] = []
    length = 0
    async for chunk in chunks:
        waiting.append(chunk)
        length += len(chunk)
        if length >= size:
            yield b"".join(waiting)
            waiting, length = [], 0
    if length:
        yield b"".join(waiting)


async def store(blobs: Blobs, key: str, chunks: AsyncIterator[bytes]) -> Stored:
    """Store a stream of bytes under `key`. Nothing is left if `chunks` raises."""
    digest = hashlib.sha256()
    head = bytearray()

    async def hashed() -> AsyncIterator[bytes]:
        # One batch is hashed by a thread while the store takes it and the next is received.
        hashing: asyncio.Future[None] | None = None
        async for batch in batches(chunks, _HASHED_AT_ONCE):
            if len(head) < HEAD:
                head.extend(batch[: HEAD - len(head)])
            if hashing is not None:
                await hashing
            hashing = asyncio.ensure_future(asyncio.to_thread(digest.update, batch))
            yield batch
        if hashing is not None:
            await hashing

    size = await blobs.put_stream(key, hashed())
    return Stored(size, digest.hexdigest(), bytes(head))
