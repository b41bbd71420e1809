"""One picture from SVG to PNG or PDF (standard output): the child process of `renderer`.

Standard input is a JSON object: `form`, `svg`, `width`, `height` (pixels of a PNG, millimetres of a
PDF), `described`, `family`, `fonts`, the files of fonts, `cpu_s` and `memory_bytes`, past which a
signal ends it. Imports nothing of the service, starts in 50 ms, ends by itself.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

_PAGE = b"""
#set document(title: sys.inputs.described, date: none)
#set page(
  width: float(sys.inputs.width) * 1mm,
  height: float(sys.inputs.height) * 1mm,
  margin: 0pt,
  fill: none,
)
#image(
  bytes(sys.inputs.svg),
  format: "svg",
  width: 100%,
  height: 100%,
  fit: "stretch",
  alt: sys.inputs.described,
)
"""


def main() -> None:
    request = json.load(sys.stdin)
    _bound(request)
    forms = {"png": _png, "pdf": _pdf}
    sys.stdout.buffer.write(forms[request["form"]](request))


def _bound(request: dict[str, Any]) -> None:
    """Bound time and memory, where the system does that, and leave no core file."""
    for limit, value in (
        (resource.RLIMIT_CPU, request["cpu_s"]),
        (resource.RLIMIT_DATA, request["memory_bytes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))


def _png(request: dict[str, Any]) -> bytes:
    import resvg_py

    family = request["family"]
    image: bytes = resvg_py.svg_to_bytes(
        svg_string=request["svg"],
        width=request["width"],
        skip_system_fonts=True,
        font_files=request["fonts"],
        font_family=family,
        sans_serif_family=family,
        serif_family=family,
        monospace_family=family,
    )
    return image


def _pdf(request: dict[str, Any]) -> bytes:
    import typst

    with tempfile.TemporaryDirectory() as folder:
        # Typst takes folders of fonts, not files; nothing else is in its root.
        for number, file in enumerate(request["fonts"]):
            Path(folder, f"{number}{Path(file).suffix}").symlink_to(file)
        fonts = typst.Fonts(
            include_system_fonts=False, include_embedded_fonts=False, font_paths=[folder]
        )
        inputs = {name: str(request[name]) for name in ("svg", "described", "width", "height")}
        compiler = typst.Compiler(root=folder, font_paths=fonts)
        document = compiler.compile(input=_PAGE, format="pdf", sys_inputs=inputs)
        if not isinstance(document, bytes):
            raise RuntimeError("a picture is one page")
        return document


if __name__ == "__main__":
    main()
