"""SVG text to PNG, with the font that ships with the service: the same picture on every machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from app.pictures.lettering import FONT
from models.errors import UsageError

FONT_FILE = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"
_RENDER = Path(__file__).with_name("render.py")
# The renderer must not get secrets from the environment of the service.
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SYSTEMROOT")
MAX_PX = 4096
TIMEOUT_S = 60.0
MAX_PIXELS = MAX_PX * MAX_PX * 5 // 4
"""A title or a note makes a circular picture slightly taller than wide."""

_SIZE = re.compile(r'<svg [^>]*?viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def png(svg_text: str, px: int) -> bytes:
    """Render a picture of `app.pictures.svg` at `px` pixels of width.

    Waits for a separate process: resvg_py holds the interpreter lock while it draws (0.2 s at 1,000
    px, 3 s at 4,000), which would block every other request. Safe to call from any thread. Reads
    only the font file and nothing from the network; takes four bytes of memory per pixel.

    Raises UsageError for px outside 1 to 4096 and for a picture with more than 4096 x 5120 pixels;
    RuntimeError and subprocess.TimeoutExpired if the renderer fails.
    """
    if not 1 <= px <= MAX_PX:
        raise UsageError(
            f"Parameter 'px' is {px}; a PNG is 1 to {MAX_PX} pixels wide.",
            code="wrong-parameter",
            parameter="px",
        )
    match = _SIZE.search(svg_text)
    if match is None:
        raise ValueError("not a picture of app.pictures.svg: no viewBox that begins at 0 0")
    tall = round(px * float(match[2]) / float(match[1]))
    if px * tall > MAX_PIXELS:
        raise UsageError(
            f"This picture would have {px:,} x {tall:,} pixels; a PNG has at most "
            f"{MAX_PIXELS:,}. Ask for fewer px, a smaller depth, shape=circular, or SVG.",
            code="wrong-parameter",
            parameter="px",
        )
    done = subprocess.run(
        [sys.executable, "-P", _RENDER, str(px), str(max(1, tall)), FONT_FILE, FONT],
        input=svg_text.encode(),
        capture_output=True,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"the renderer ended with {done.returncode}: {''.join(last)[:500]}")
    return done.stdout
