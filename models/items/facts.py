"""What a column of items holds; and which files are images, and how large they may be.

An image is recognised by its first bytes alone, and only its header is read: nothing is decoded.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np

from models.errors import UsageError
from models.inputs.items import ItemColumn

ACCEPTED = "PNG, JPEG, GIF and WebP"
HEAD = 12
"""The bytes by which `media_type` recognises an image."""
MOST_BYTES = 4 << 20
MOST_PIXELS = 16_000_000

MEDIA = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}


def media_type(head: bytes) -> str | None:
    """The media type of an accepted image by its first bytes; None for all else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return MEDIA["PNG"]
    if head.startswith(b"\xff\xd8\xff"):
        return MEDIA["JPEG"]
    if head.startswith((b"GIF87a", b"GIF89a")):
        return MEDIA["GIF"]
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return MEDIA["WEBP"]
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
            with Image.open(io.BytesIO(content), formats=tuple(MEDIA)) as image:
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


MOST_CATEGORIES = 1000
"""The number of categories that are listed."""
N_QUANTILES = 5
"""The least number, the quartiles and the largest number."""
_TEXT = 1000


def facts(column: ItemColumn) -> dict[str, Any]:
    """Plain JSON: `name`, `kind`, `n` values and `n_missing`; of a number `n_not_finite`, `mean`
    and `quantiles`; of a date `first` and `last` as RFC 3339; of a category `n_categories` and the
    most frequent `categories`, each with its `count`; of images their `formats` with the number of
    each. O(n_items), O(n log n) for numbers.
    """
    import pyarrow.compute as pc

    values = column.values
    n_missing = int(values.null_count)
    common = {
        "name": column.name,
        "kind": column.kind,
        "n": len(values) - n_missing,
        "n_missing": n_missing,
    }
    present = values.drop_null()
    match column.kind:
        case "number":
            numbers = present.to_numpy(zero_copy_only=False)
            shares = np.linspace(0, 1, N_QUANTILES)
            own = {
                "n_not_finite": column.n_not_finite,
                "mean": _mean(numbers) if numbers.size else None,
                "quantiles": np.quantile(numbers, shares, method="nearest").tolist()
                if numbers.size
                else None,
            }
        case "date":
            ends = pc.min_max(present).as_py() if len(present) else {"min": None, "max": None}
            own = {
                "first": None if ends["min"] is None else ends["min"].isoformat(),
                "last": None if ends["max"] is None else ends["max"].isoformat(),
            }
        case "category":
            codes = present.indices.to_numpy(zero_copy_only=False)
            times = np.bincount(codes, minlength=len(values.dictionary))
            texts = values.dictionary[:MOST_CATEGORIES].to_pylist()
            own = {
                "n_categories": len(values.dictionary),
                "categories": [
                    {"text": text[:_TEXT], "count": int(count)}
                    for text, count in zip(texts, times, strict=False)
                ],
            }
        case "image":
            formats: dict[str, int] = {}
            for content in present:
                name = media_type(content.as_buffer()[:HEAD].to_pybytes()) or "unknown"
                formats[name] = formats.get(name, 0) + 1
            own = {"formats": formats}
        case "text":
            own = {}
    return {**common, **own}


def _mean(numbers: np.ndarray) -> float:
    """The mean of finite numbers, finite even where their sum is not."""
    largest = float(np.abs(numbers).max())
    return float((numbers / largest).mean() * largest) if largest else 0.0
