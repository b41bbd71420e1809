"""safetensors: a JSON header, then plain little-endian arrays.

The library checks the header (no holes, no overlaps, lengths that fit); the arrays are mapped, not
read. bfloat16, which NumPy lacks, is widened to float32 exactly.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.data import Value
from models.errors import UsageError
from workers.formats import npy, roles
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, broken, choose, shown, unsupported

MAX_HEADER = 16 << 20
_BLOCK = 4 << 20

_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "BF16": "<u2",
    "F32": "<f4",
    "F64": "<f8",
}


@dataclass(frozen=True, slots=True)
class _Entry:
    member: Member
    kind: str
    offset: int


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the array chosen. Reads the header only."""
    entries = _entries(path, bounds)
    members = tuple(entry.member for entry in entries)
    chosen = entries[choose(members, member)]
    _require_readable(chosen)
    roles.require_filled(chosen.member.shape)
    return Facts(chosen.member.shape, chosen.member.dtype, members=members)


def load(path: Path, member: str | None, role: str, bounds: Bounds = DEFAULT) -> Value:
    """The array chosen, mapped read-only; bfloat16 becomes float32 in memory."""
    entries = _entries(path, bounds)
    entry = entries[choose([one.member for one in entries], member)]
    _require_readable(entry)
    shape = entry.member.shape
    roles.require_filled(shape)
    raw = npy.mapped(path, entry.offset, np.dtype(_DTYPES[entry.kind]), shape)
    if entry.kind == "BF16":
        bounds.require(4 * math.prod(shape))
        return roles.shaped(widened(raw), role)
    return roles.shaped(raw, role)


def widened(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """float32 of bfloat16 given as its bits: they are the upper half. Blockwise, exact."""
    out = np.empty(bits.shape, dtype=np.uint32)
    flat, source = out.reshape(-1), bits.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        part[:] = source[start : start + _BLOCK]
        part <<= 16
    return out.view(np.float32)


def _entries(path: Path, bounds: Bounds) -> list[_Entry]:
    length = path.stat().st_size
    if length == 0:
        raise UsageError("The safetensors file is empty.", code="empty")
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if length < 8 or size > length - 8:
            raise UsageError(
                f"The safetensors file is truncated: its header needs {size + 8} bytes, the file "
                f"holds {length}.",
                code="truncated",
                claimed=str(size + 8),
                actual=length,
            )
        if size > MAX_HEADER:
            raise broken(
                f"The safetensors header takes {size} bytes; at most {MAX_HEADER} are accepted."
            )
        entries = _parsed(file.read(size))
    if len(entries) > bounds.max_members:
        raise UsageError(
            f"The file holds {len(entries)} arrays; at most {bounds.max_members} are accepted.",
            code="too-large",
            limit=bounds.max_members,
        )
    out = []
    for name, entry in entries.items():
        kind, shape, (begin, end) = _fields(name, entry)
        if end > length - 8 - size:
            raise UsageError(
                f"The safetensors file is truncated: array {shown(name)} ends at byte {end} of the "
                f"data, the file holds {length - 8 - size}.",
                code="truncated",
                claimed=str(end),
                actual=length - 8 - size,
            )
        if kind in _DTYPES and math.prod(shape) * np.dtype(_DTYPES[kind]).itemsize != end - begin:
            raise broken(
                f"Array {shown(name)} claims the shape {shape} of {kind} but has {end - begin} "
                "bytes."
            )
        out.append(_Entry(Member(name, shape, _dtype(kind)), kind, 8 + size + begin))
    _check_by_library(path)
    return out


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise broken("The safetensors header is not JSON.") from None
    if not isinstance(found, dict):
        raise broken("The safetensors header is not a JSON object.")
    found.pop("__metadata__", None)
    return found


def _fields(name: str, entry: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    match entry:
        case {"dtype": str(kind), "shape": list(shape), "data_offsets": [begin, end]} if all(
            type(n) is int and n >= 0 for n in (*shape, begin, end)
        ):
            return kind, tuple(shape), (begin, end)
    raise broken(
        f"The safetensors header's entry {shown(name)} must give dtype, shape and data_offsets."
    )


def _check_by_library(path: Path) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError:
        raise broken(
            "The safetensors file is not valid: its arrays must follow each other without holes or "
            "overlaps and fill the file."
        ) from None


def _dtype(kind: str) -> str:
    if kind == "BF16":
        return "bfloat16"
    return str(np.dtype(_DTYPES[kind])) if kind in _DTYPES else kind[:20]


def _require_readable(entry: _Entry) -> None:
    if entry.kind not in _DTYPES:
        raise unsupported(
            f"Array {shown(entry.member.name)} has dtype {shown(entry.kind, 20)}; accepted are "
            f"{', '.join(_DTYPES)}."
        )
