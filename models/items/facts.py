"""What a column of items holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.inputs.items import ItemColumn
from models.items.images import HEAD, media_type

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
