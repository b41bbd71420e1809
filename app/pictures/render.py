"""One picture from SVG (standard input) to PNG (standard output): the child process of `png`.

Arguments: width, height, font file, font family. Imports nothing of the service, starts in 50 ms,
ends by itself.
"""

from __future__ import annotations

import sys

import resvg_py


def main() -> None:
    width, height, font_file, family = sys.argv[1:]
    image = resvg_py.svg_to_bytes(
        svg_string=sys.stdin.buffer.read().decode(),
        width=int(width),
        height=int(height),
        skip_system_fonts=True,
        font_files=[font_file],
        font_family=family,
        sans_serif_family=family,
        serif_family=family,
        monospace_family=family,
    )
    sys.stdout.buffer.write(image)


if __name__ == "__main__":
    main()
