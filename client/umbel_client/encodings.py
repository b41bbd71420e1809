"""Arrays as the bytes of files, which are read piece by piece: npy, npz of a sparse matrix,
safetensors, and files as they are.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from umbel_client._written.endings import MEDIA_TYPES, PACKED
from umbel_client.errors import InputError

PART_BYTES = 32 << 20
"""Length of a part of an upload, and of the largest content that goes in one request."""


class Content(Protocol):
    """Bytes of known length that can be read more than once."""

    @property
    def length(self) -> int:
        """The number of bytes."""

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` to `stop`. Raises OSError where they are a file's."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Bytes that lie in several places, one after another; nothing is copied until it is read."""

    parts: tuple[memoryview, ...]

    @classmethod
    def of(cls, *parts: bytes | memoryview) -> Pieces:
        return cls(tuple(memoryview(part).cast("B") for part in parts))

    @property
    def length(self) -> int:
        return sum(part.nbytes for part in self.parts)

    def read(self, start: int, stop: int) -> bytes:
        pieces = []
        begin = 0
        for part in self.parts:
            low, high = max(start - begin, 0), min(stop - begin, part.nbytes)
            if low < high:
                pieces.append(part[low:high])
            begin += part.nbytes
        return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file; its length is that at the time when it was found."""

    path: Path
    length: int

    def read(self, start: int, stop: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)


@dataclass(frozen=True, slots=True)
class Payload:
    """A dataset that is to be uploaded.

    media_type : that of the content; None: the service finds out. query : further facts for the
    service, `role`, `name`, `member`, `n_features` and `expires_at`.
    """

    content: Content
    media_type: str | None = None
    query: Mapping[str, Any] = field(default_factory=dict)

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` to `stop`. Raises InputError for a file that has changed or cannot
        be read."""
        try:
            content = self.content.read(start, stop)
        except OSError as error:
            raise InputError("content", f"the file cannot be read: {error.strerror}.") from None
        if len(content) != stop - start:
            raise InputError("content", "the file became shorter while it was uploaded.")
        return content


def npy(array: npt.NDArray[Any]) -> Payload:
    """An array as a .npy file, without a copy if it lies in one piece in C order."""
    plain = np.ascontiguousarray(array).reshape(array.shape)
    if plain.dtype.byteorder == ">" or (plain.dtype.byteorder == "=" and not _LITTLE):
        plain = plain.astype(plain.dtype.newbyteorder("<"))
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(plain))
    return Payload(Pieces.of(head.getvalue(), _bytes_of(plain)), "application/x-npy")


def sparse_npz(
    layout: str,
    shape: tuple[int, ...],
    data: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    indptr: npt.NDArray[Any],
) -> Payload:
    """A sparse matrix as a .npz file in SciPy's form, not compressed.

    layout : "csr" or "csc". data, indices : (n_stored,). indptr : (n_rows or n_columns, plus 1,).
    """
    file = io.BytesIO()
    np.savez(
        file,
        format=np.array(layout.encode("ascii")),
        shape=np.array(shape, dtype=np.int64),
        data=data,
        indices=indices,
        indptr=indptr,
    )
    return Payload(Pieces.of(file.getbuffer()), "application/x-npz")


def bfloat16(bits: npt.NDArray[np.uint16]) -> Payload:
    """An array of bfloat16, given by its bits, as a .safetensors file: npy has no such numbers."""
    plain = np.ascontiguousarray(bits, dtype="<u2")
    tensor = {"dtype": "BF16", "shape": list(bits.shape), "data_offsets": [0, plain.nbytes]}
    header = json.dumps({"array": tensor}).encode()
    header += b" " * (-len(header) % 8)
    content = Pieces.of(len(header).to_bytes(8, "little"), header, _bytes_of(plain))
    return Payload(content, "application/safetensors")


def json_list(values: list[Any]) -> Payload:
    """A list as a JSON file. Raises ValueError for numbers that JSON does not have."""
    return Payload(Pieces.of(json.dumps(values, allow_nan=False).encode()), "application/json")


_LITTLE = np.little_endian


def media_type_of(name: str) -> str | None:
    """The media type of a file by the ending of its name, of a packed one by what is inside; None:
    the service finds it out."""
    parts = name.lower().split(".")[1:]
    if parts and parts[-1] in PACKED:
        parts.pop()
    return MEDIA_TYPES.get(parts[-1]) if parts else None


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    """The bytes of an array that lies in one piece, where they are."""
    return memoryview(array.reshape(-1).view(np.uint8).data if array.size else b"")
