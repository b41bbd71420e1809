"""What colours a picture: the clusters of a cut, or a labels dataset."""

from __future__ import annotations

from collections import Counter

import numpy as np

from app.deps import Service, is_id
from app.problems import Refused, not_found
from models.tree.tree import Tree
from workers.formats import json as json_format
from workers.formats import npy

READ_HERE = ("npy", "json")
"""Formats that are safe to open in the API process."""


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
    if dataset.format not in READ_HERE:
        raise Refused(
            "invalid-request",
            f"Dataset {color_by!r} is {dataset.format}; colours are read from npy and JSON.",
        )
    path = service.blobs.local_path(service.datasets.content_key(tenant, color_by))
    if dataset.format == "npy":
        value = npy.load(path, dataset.member, "labels")
    else:
        value = json_format.parse(path.read_bytes(), "labels")
    labels = [str(label) for label in np.asarray(value, dtype=object)]
    if len(labels) == tree.n_points:
        return _majority(tree, labels)
    if len(labels) == tree.n_leaves:
        return list(labels)
    raise Refused(
        "wrong-shape",
        f"Dataset {color_by!r} has {len(labels)} labels; the tree has {tree.n_points} rows and "
        f"{tree.n_leaves} leaves.",
    )


def _majority(tree: Tree, labels: list[str]) -> list[str | None]:
    """The most frequent label of each leaf's rows (ties: the first by name), None without rows."""
    counts: dict[int, Counter[str]] = {}
    for leaf, label in zip(tree.leaf_of_point.tolist(), labels, strict=True):
        counts.setdefault(leaf, Counter())[label] += 1
    return [
        min(counts[leaf].items(), key=lambda item: (-item[1], item[0]))[0]
        if leaf in counts
        else None
        for leaf in tree.leaves.tolist()
    ]
