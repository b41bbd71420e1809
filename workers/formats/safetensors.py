"""safetensors: a JSON header, then plain little-endian arrays.

The arrays must follow each other without holes or overlaps and fill the file, as the format
requires; they are mapped, not read. bfloat16, which NumPy lacks, is widened exactly to float32, or
left unchanged if read by rows. Format: https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from models.errors import UsageError, shown
from models.inputs.rows import widened
from models.roles import Want
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, choose
from workers.formats.raw import Content, Layout, LocalContent, mapped
from workers.formats.refusals import broken, unsupported
from workers.formats.tables import Table, require_filled

MAX_HEADER = 16 << 20
_HEAD = 1 << 16

DTYPES = {
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
"""NumPy's name of each dtype; bfloat16 as the integers that its bits are."""


def locate(content: Content, member: str | None, bounds: Bounds = DEFAULT) -> Layout:
    """The position of the chosen array. Reads only the header."""
    entries, start = _header(content, bounds)
    held = content.length - start
    arrays = []
    for name, entry in entries.items():
        kind, shape, (begin, end) = _fields(name, entry)
        if end > held:
            raise _truncated(f"array {shown(name)} ends at byte {end} of the data", end, held)
        if kind in DTYPES and math.prod(shape) * np.dtype(DTYPES[kind]).itemsize != end - begin:
            raise broken(
                f"Array {shown(name)} claims the shape {shape} of {kind} but has {end - begin} "
                "bytes."
            )
        arrays.append((begin, end, kind, Member(name, shape, _dtype(kind))))
    _require_gapless([(begin, end) for begin, end, *_ in arrays], held)
    members = tuple(array for *_, array in arrays)
    begin, _, kind, chosen = arrays[choose(members, member)]
    if kind not in DTYPES:
        raise unsupported(
            f"Array {shown(chosen.name)} has dtype {shown(kind, 20)}; accepted are "
            f"{', '.join(DTYPES)}."
        )
    require_filled(chosen.shape)
    return Layout(
        chosen.shape,
        np.dtype(DTYPES[kind]),
        start + begin,
        bfloat16=kind == "BF16",
        members=members,
    )


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the chosen array. Reads the header only."""
    return locate(LocalContent(path), member, bounds).facts()


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The chosen array, mapped read-only; bfloat16 becomes float32 in memory."""
    layout = locate(LocalContent(path), member, bounds)
    array = mapped(path, layout)
    if layout.bfloat16:
        bounds.require(4 * layout.size)
        array = widened(array)
    return array


def _header(content: Content, bounds: Bounds) -> tuple[dict[str, Any], int]:
    """The entries of the header, and the position where the data begin."""
    length = content.length
    if length == 0:
        raise UsageError("The safetensors file is empty.", code="empty")
    head = content.read(0, _HEAD)
    size = int.from_bytes(head[:8], "little")
    start = 8 + size
    if length < 8 or start > length:
        raise _truncated(f"its header needs {start} bytes", start, length)
    if size > MAX_HEADER:
        raise broken(
            f"The safetensors header takes {size} bytes; at most {MAX_HEADER} are accepted."
        )
    entries = _parsed(head[8:start] if start <= len(head) else content.read(8, start))
    if len(entries) > bounds.max_members:
        raise UsageError(
            f"The file holds {len(entries)} arrays; at most {bounds.max_members} are accepted.",
            code="too-large",
            limit=bounds.max_members,
        )
    return entries, start


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        header = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise broken("The safetensors header is not JSON.") from None
    if not isinstance(header, dict):
        raise broken("The safetensors header is not a JSON object.")
    header.pop("__metadata__", None)
    return header


def _fields(name: str, entry: Any) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    match entry:
        case {"dtype": str(kind), "shape": list(shape), "data_offsets": [begin, end]} if all(
            type(n) is int and n >= 0 for n in (*shape, begin, end)
        ):
            return kind, tuple(shape), (begin, end)
    raise broken(
        f"The safetensors header's entry {shown(name)} must give dtype, shape and data_offsets."
    )


def _require_gapless(spans: list[tuple[int, int]], held: int) -> None:
    """Raise UsageError unless each span begins where the last ended, and the file ends with one."""
    ordered = sorted(spans)
    begins, ends = [begin for begin, _ in ordered], [end for _, end in ordered]
    if [*begins, held] != [0, *ends]:
        raise broken(
            "The safetensors file is not valid: its arrays must follow each other without holes or "
            "overlaps and fill the file."
        )


def _truncated(what: str, claimed: int, actual: int) -> UsageError:
    return UsageError(
        f"The safetensors file is truncated: {what}, the file holds {actual}.",
        code="truncated",
        claimed=str(claimed),
        actual=actual,
    )


def _dtype(kind: str) -> str:
    if kind == "BF16":
        return "bfloat16"
    return str(np.dtype(DTYPES[kind])) if kind in DTYPES else kind[:20]
