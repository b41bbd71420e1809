"""What colours a picture: the clusters of a cut, or a labels dataset."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from app.deps import Service, is_id
from app.problems import Refused, not_found
from models.tree.tree import Tree
from workers.datasets import Dataset
from workers.errors import Missing
from workers.formats import json as json_format
from workers.formats import npy

READ_HERE = ("npy", "json")
"""Formats that are safe to open in the API process."""

MOST_BYTES = 64 << 20
"""A larger dataset is not opened in the API process."""


def coloring(
    service: Service, tenant: str, tree: Tree, color_by: str | None
) -> str | list[str | None] | None:
    """`color_by` as pictures take it: None, "cluster:<k>", or one category per leaf.

    A dataset may have a label per input row (a leaf takes its most frequent one) or per leaf, in
    the order of the leaves' node ids. Blocks. Raises Refused for anything else.
    """
    if color_by is None or color_by.startswith("cluster:"):
        return color_by
    if not is_id(color_by, "ds"):
        raise Refused(
            "invalid-request",
            f"color_by {color_by!r} is neither 'cluster:<k>' nor the id of a labels dataset.",
        )
    dataset = service.datasets.get(tenant, color_by)
    if dataset is None:
        raise not_found("dataset", color_by)
    _require_small(dataset)
    labels = _labels(service, dataset)
    if len(labels) == tree.n_points:
        return _majority(tree, labels)
    if len(labels) == tree.n_leaves:
        return [str(label) for label in labels.tolist()]
    raise _wrong_length(dataset, len(labels), tree)


def _require_small(dataset: Dataset) -> None:
    if dataset.format not in READ_HERE:
        raise Refused(
            "invalid-request",
            f"Dataset {dataset.id!r} is {dataset.format}; colours are read from npy and JSON.",
        )
    if dataset.bytes > MOST_BYTES:
        raise Refused(
            "invalid-request",
            f"Dataset {dataset.id!r} has {dataset.bytes} bytes; colours are read from at most "
            f"{MOST_BYTES}.",
        )


def _labels(service: Service, dataset: Dataset) -> npt.NDArray[Any]:
    """(n_labels,) integers or texts."""
    try:
        path = service.blobs.local_path(service.datasets.content_key(dataset.tenant, dataset.id))
        if dataset.format == "npy":
            value = npy.load(path, dataset.member, "labels")
        else:
            value = json_format.parse(path.read_bytes(), "labels")
    except (Missing, FileNotFoundError):
        # Deleted since it was looked up.
        raise not_found("dataset", dataset.id) from None
    return np.asarray(value)


def _wrong_length(dataset: Dataset, n_labels: int, tree: Tree) -> Refused:
    return Refused(
        "wrong-shape",
        f"Dataset {dataset.id!r} has {n_labels} labels; the tree has {tree.n_points} rows and "
        f"{tree.n_leaves} leaves.",
    )


def _majority(tree: Tree, labels: npt.NDArray[Any]) -> list[str | None]:
    """The most frequent label of each leaf's rows (ties: the first as text), None without rows.

    O(n_points log n_points), the interpreter's lock let go in between.
    """
    import pyarrow as pa

    coded = pa.array(labels).dictionary_encode()
    texts = np.array([str(text) for text in coded.dictionary.to_pylist()], dtype=object)
    order = np.argsort(texts, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    pair = tree.leaf_of_point * np.int64(len(order)) + rank[coded.indices.to_numpy()]
    found, times = np.unique(pair, return_counts=True)
    leaf, label = np.divmod(found, len(order))
    # The last of a leaf's pairs in this order is its most frequent label, of equals the first.
    best = np.lexsort((-label, times, leaf))
    last = np.flatnonzero(np.diff(leaf[best], append=-1))
    category = dict(zip(leaf[best][last].tolist(), texts[order][label[best][last]], strict=True))
    return [category.get(node) for node in tree.leaves.tolist()]
