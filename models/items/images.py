"""Images as files: which are accepted, and how large.

A file is recognised by its first bytes alone, and only its header is read: nothing is decoded.
"""

from __future__ import annotations

import io
import warnings

from models.errors import UsageError

ACCEPTED = "PNG, JPEG, GIF and WebP"
HEAD = 12
"""The bytes by which `media_type` recognises an image."""
MOST_BYTES = 4 << 20
MOST_PIXELS = 16_000_000

_MEDIA = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}


def media_type(head: bytes) -> str | None:
    """The media type of an accepted image by its first bytes; None for all else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _MEDIA["PNG"]
    if head.startswith(b"\xff\xd8\xff"):
        return _MEDIA["JPEG"]
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _MEDIA["GIF"]
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _MEDIA["WEBP"]
    return None


def require_image(content: bytes, where: str) -> None:
    """Raise UsageError unless this is an image that browsers show, and a small one.

    where : what the image is, for the error: "column 'photo', row 3 (counted from 0)".

    `unsupported-format` for what is no such image, `too-large` beyond `MOST_BYTES` and
    `MOST_PIXELS`, `invalid-file` for a header that cannot be read. O(length of the header).
    """
    if media_type(content[:HEAD]) is None:
        raise UsageError(
            f"The image at {where} is not accepted; accepted are {ACCEPTED}.",
            code="unsupported-format",
        )
    if len(content) > MOST_BYTES:
        raise UsageError(
            f"The image at {where} has {len(content):,} bytes; at most {MOST_BYTES:,} are "
            "accepted: make it smaller.",
            code="too-large",
            limit=MOST_BYTES,
        )
    width, height = _size(content, where)
    if width * height > MOST_PIXELS:
        raise UsageError(
            f"The image at {where} has {width:,} x {height:,} pixels; at most {MOST_PIXELS:,} are "
            "accepted: make it smaller.",
            code="too-large",
            limit=MOST_PIXELS,
        )


def _size(content: bytes, where: str) -> tuple[int, int]:
    """Width and height, as the header has them."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # The number of pixels is checked here.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=tuple(_MEDIA)) as image:
                return image.size
    except Image.DecompressionBombError:
        raise UsageError(
            f"The image at {where} has too many pixels; at most {MOST_PIXELS:,} are accepted.",
            code="too-large",
            limit=MOST_PIXELS,
        ) from None
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError):
        raise UsageError(
            f"The image at {where} is damaged: its header cannot be read.", code="invalid-file"
        ) from None
