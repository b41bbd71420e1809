"""Streams of bytes in larger pieces: small ones would cost a switch of threads each."""

from __future__ import annotations

from collections.abc import AsyncIterator


async def batches(chunks: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """The same bytes in pieces of at least `size`, the last one excepted. None is empty."""
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
