"""Records of datasets, as an upload makes them."""

from __future__ import annotations

from typing import Any

from workers.artifacts.datasets import Dataset
from workers.model import new_id, now


def dataset(dataset_id: str | None = None, **changed: Any) -> Dataset:
    """A ready dataset, a small matrix of features, with the fields of `changed`."""
    fields: dict[str, Any] = {
        "id": dataset_id or new_id("ds"),
        "tenant": "ada",
        "name": "train",
        "role": "features",
        "status": "ready",
        "format": "npy",
        "member": None,
        "shape": (3, 2),
        "dtype": "float32",
        "bytes": 6,
        "sha256": "0" * 64,
        "created_at": now(),
        "problem": None,
    }
    return Dataset(**fields | changed)
