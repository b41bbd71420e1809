"""SVG text to PNG and PDF, with the fonts that are given: the same picture on every machine.

Waits for a separate process: the renderers hold the interpreter lock while they draw (0.2 s at
1,000 px, 3 s at 4,000), which would block every other request. Safe to call from any thread. Reads
only the font files and nothing from the network.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Sequence
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any

from app.pictures.lettering import FONT
from app.pictures.typefaces import FONT_FILE
from models.errors import UsageError
from workers.errors import TransientError

_RENDER = Path(__file__).with_name("render.py")
# The renderer must not get secrets from the environment of the service.
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SYSTEMROOT")
PDF_NEEDS = ("typst",)
"""The optional packages (`models.running.packages`) of `pdf`."""
TIMEOUT_S = 60.0
CPU_S = 15
"""Processor seconds of a picture; the largest that are drawn of trees take 3."""
MEMORY_BYTES = 2 << 30
SHORT_S = 1.0
"""A renderer that takes longer goes on with less priority, so that short ones need not wait."""
_LESS = 10
MAX_PX = 4096
MAX_PIXELS = MAX_PX * MAX_PX * 5 // 4
"""A title or a note makes a circular picture slightly taller than wide."""

_SIZE = re.compile(r'<svg [^>]*?viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_DESCRIBED = re.compile(r'<svg [^>]*?aria-label="([^"]*)"')
_IHDR_END = 33


def png(
    svg: str, px: int, *, fonts: Sequence[Path] = (FONT_FILE,), dpi: float | None = None
) -> bytes:
    """Render a picture of `app.pictures` at `px` pixels of width; four bytes of memory a pixel.

    dpi : pixels an inch, which the file then says (the chunk pHYs).

    Raises UsageError for no pixel and for more than 4096 x 5120, and as `pdf`.
    """
    wide, tall = size_of(svg)
    high = max(1, round(px * tall / wide))
    cause = "px" if dpi is None else "dpi"
    if px < 1:
        raise UsageError(
            f"Parameter {cause!r} gives {px} pixels; a PNG is at least one pixel wide.",
            code="wrong-parameter",
            parameter=cause,
        )
    if px * high > MAX_PIXELS:
        fewer = "fewer px" if dpi is None else "fewer dpi or millimetres"
        raise UsageError(
            f"This picture would have {px:,} x {high:,} pixels; a PNG has at most "
            f"{MAX_PIXELS:,}. Ask for {fewer}, a smaller depth, shape=circular, SVG or PDF.",
            code="wrong-parameter",
            parameter=cause,
        )
    image = _rendered("png", svg, px, high, fonts)
    if dpi is None:
        return image
    per_metre = round(dpi / 0.0254)
    return image[:_IHDR_END] + _chunk(b"pHYs", per_metre) + image[_IHDR_END:]


def _chunk(kind: bytes, per_metre: int) -> bytes:
    content = kind + struct.pack(">IIB", per_metre, per_metre, 1)
    return struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))


def pdf(
    svg: str, width_mm: float, height_mm: float, *, fonts: Sequence[Path] = (FONT_FILE,)
) -> bytes:
    """A PDF of one page with a picture of `app.pictures` as vectors. Text can be searched, fonts
    are embedded as subsets; the description of the picture is its title and alternative text. The
    same picture gives the same bytes.

    Raises UsageError `too-costly` for a picture that takes more than `CPU_S` or `MEMORY_BYTES`,
    TransientError after `TIMEOUT_S`, RuntimeError if the renderer fails otherwise.
    """
    return _rendered("pdf", svg, width_mm, height_mm, fonts)


def size_of(svg: str) -> tuple[float, float]:
    """Width and height of a picture in its own unit. Raises ValueError for another document."""
    match = _SIZE.search(svg)
    if match is None:
        raise ValueError("not a picture of app.pictures: no viewBox that begins at 0 0")
    return float(match[1]), float(match[2])


def _rendered(form: str, svg: str, width: float, height: float, fonts: Sequence[Path]) -> bytes:
    described = _DESCRIBED.search(svg)
    request: dict[str, Any] = {
        "form": form,
        "svg": svg,
        "width": width,
        "height": height,
        "described": unescape(described[1]) if described else "",
        "family": FONT,
        "fonts": [str(file) for file in fonts],
        "cpu_s": CPU_S,
        "memory_bytes": MEMORY_BYTES,
    }
    process = subprocess.Popen(
        [sys.executable, "-P", _RENDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    with process:
        try:
            image, errors = _ended(process, json.dumps(request).encode())
        except BaseException:
            process.kill()
            raise
    if process.returncode < 0:
        raise UsageError(
            f"This picture takes more than {CPU_S} seconds of a processor or "
            f"{MEMORY_BYTES >> 30} GiB of memory. Ask for fewer pixels, or draw less.",
            code="too-costly",
        )
    if process.returncode:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"the renderer ended with {process.returncode}: {''.join(last)[:500]}")
    return image


def _ended(process: subprocess.Popen[bytes], request: bytes) -> tuple[bytes, bytes]:
    """What a renderer has written at its end. Raises TransientError after `TIMEOUT_S`."""
    try:
        return process.communicate(request, SHORT_S)
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            nice = os.getpriority(os.PRIO_PROCESS, process.pid) + _LESS
            os.setpriority(os.PRIO_PROCESS, process.pid, nice)
    try:
        return process.communicate(timeout=TIMEOUT_S - SHORT_S)
    except subprocess.TimeoutExpired:
        raise TransientError(f"a picture was not drawn within {TIMEOUT_S:g} s") from None
