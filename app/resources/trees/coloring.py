"""The colouring of a tree: by the clusters of a cut, or by a dataset of labels."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.http.dependencies import Service, is_id
from app.http.problems import Refused, not_found
from app.resources.trees.item_columns import REFERENCE, files_of
from models.errors import UsageError, shown
from models.inputs.label_sets import LabelSets, at_most_one
from models.tree.labels import Categories, Labels, labels, of_cut, of_labels
from models.tree.tree import Tree
from workers.artifacts import items
from workers.artifacts.datasets import Dataset
from workers.errors import Missing
from workers.formats import catalogue
from workers.formats import json as json_format

READ_HERE = {"npy": 64 << 20, "json": json_format.MAX_JSON, "csv": 16 << 20}
"""Formats that are safe to open in the API process, and up to what size in bytes."""

KEPT_BYTES = 64 << 20
"""The total size in bytes up to which read categories are cached."""

COLOR_BY = (
    "`cluster:<k>`, `height:<h>` or `level:<n>` for the clusters of that cut of the whole tree, or "
    "the id of a dataset of labels (npy, JSON or CSV), one per input row or per leaf, or "
    "`at_X.<n>` for column n of the items of an attachment, a column of categories."
)

_CUT = re.compile(r"(cluster|height|level):(.*)", re.DOTALL)


class Cache:
    """The categories last read from labels, by tenant, tree and dataset: none of these changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: OrderedDict[tuple[str, str, str], tuple[Categories, int]] = OrderedDict()

    def get(self, key: tuple[str, str, str]) -> Categories | None:
        with self._lock:
            if key not in self._cached:
                return None
            self._cached.move_to_end(key)
            return self._cached[key][0]

    def put(self, key: tuple[str, str, str], categories: Categories, size: int) -> None:
        with self._lock:
            self._cached[key] = categories, size
            while sum(size for _, size in self._cached.values()) > KEPT_BYTES:
                self._cached.popitem(last=False)


_cache = Cache()


def coloring(
    service: Service, tenant: str, tree_id: str, tree: Tree, color_by: str | None
) -> Categories | None:
    """The categories named by `color_by`; None without it.

    Blocks. Raises Refused for a value that is neither a cut nor a dataset of labels of this tenant
    that fits the tree, UsageError for a cut that does not exist.
    """
    if color_by is None:
        return None
    match = _CUT.fullmatch(color_by)
    if match is not None:
        return of_cut(tree, **_cut(color_by, match[1], match[2]))
    return by_labels(service, tenant, tree_id, tree, color_by, "color_by")


def by_labels(
    service: Service, tenant: str, tree_id: str, tree: Tree, dataset_id: str, parameter: str
) -> Categories:
    """The categories of a dataset of labels, one per input row or per leaf.

    Labels per leaf are in the order of the leaves' node ids. The dataset is looked up each time;
    its labels are cached. Blocks. Raises Refused as `coloring` does.
    """
    if not is_id(dataset_id, "ds"):
        cuts = "'cluster:<k>', 'height:<h>', 'level:<n>' nor " if parameter == "color_by" else ""
        raise Refused(
            "invalid-request",
            f"{parameter} {dataset_id!r} is {'neither ' if cuts else 'not '}{cuts}the id of a "
            "dataset of labels.",
        )
    dataset = service.datasets.get(tenant, dataset_id)
    if dataset is None:
        raise not_found("dataset", dataset_id)
    key = (tenant, tree_id, dataset_id)
    categories = _cache.get(key)
    if categories is None:
        numbered, warnings = _numbered(service, dataset, tree)
        categories = replace(of_labels(tree, numbered), warnings=warnings)
        size = 4 * len(numbered.code) + 8 * tree.n_leaves + numbered.text.nbytes
        _cache.put(key, categories, size)
    return categories


def by_items(service: Service, tenant: str, tree_id: str, tree: Tree, color_by: str) -> Categories:
    """The categories of a column of items. Blocks. Raises Refused as `coloring` does."""
    match = REFERENCE.fullmatch(color_by)
    if match is None:
        raise Refused(
            "invalid-request",
            f"color_by {color_by!r} is not the id of an attachment, a dot and the number of a "
            "column.",
        )
    attachment_id, number = match[1], int(match[2])
    file = files_of(service, tenant, tree_id, attachment_id)
    path = None if file is None else file(items.ITEMS)
    if path is None:
        raise not_found("attachment of this tree", attachment_id)
    key = (tenant, tree_id, color_by)
    categories = _cache.get(key)
    if categories is None:
        columns = items.map_items(path).columns
        column = columns[number] if number < len(columns) else None
        if column is None or column.kind != "category":
            raise Refused(
                "invalid-request",
                f"Column {number} of attachment {attachment_id!r} is no column of categories.",
            )
        numbered = labels(tree, column.values.to_pylist())
        categories = of_labels(tree, numbered)
        _cache.put(key, categories, 4 * len(numbered.code) + 8 * tree.n_leaves)
    return categories


def _cut(color_by: str, word: str, value: str) -> dict[str, Any]:
    """The arguments of `of_cut`."""
    whole = r"[0-9]{1,9}"
    if word == "height":
        try:
            return {"height": float(value)}
        except ValueError:
            pass
    elif re.fullmatch(whole, value) and (word == "level" or int(value)):
        return {"k" if word == "cluster" else "level": int(value)}
    raise UsageError(
        f"Parameter 'color_by' is {shown(color_by)}; it takes 'cluster:<k>' with k from 1, "
        "'height:<h>' with a number, 'level:<n>' with n from 0, or the id of a dataset of labels.",
        code="wrong-parameter",
        parameter="color_by",
    )


def _numbered(service: Service, dataset: Dataset, tree: Tree) -> tuple[Labels, tuple[str, ...]]:
    """The labels as numbers, and warnings."""
    most = READ_HERE.get(dataset.format)
    if most is None:
        raise Refused(
            "invalid-request",
            f"Dataset {dataset.id!r} is {dataset.format}; labels are read from "
            f"{', '.join(READ_HERE)}.",
        )
    if dataset.bytes > most:
        raise Refused(
            "invalid-request",
            f"Dataset {dataset.id!r} has {dataset.bytes} bytes; labels are read from at most "
            f"{most} bytes of {dataset.format}.",
        )
    values = _values(service, dataset)
    warnings: tuple[str, ...] = ()
    if dataset.format == "csv" and len(values) - 1 in (tree.n_points, tree.n_leaves):
        warnings = (
            f"The first line of the labels, {shown(str(values[0]))}, is taken for a header.",
        )
        values = values[1:]
    if len(values) not in (tree.n_points, tree.n_leaves):
        raise Refused(
            "wrong-shape",
            f"Dataset {dataset.id!r} has {len(values)} labels; the tree has {tree.n_points} rows "
            f"and {tree.n_leaves} leaves.",
        )
    return labels(tree, values), warnings


def _values(service: Service, dataset: Dataset) -> npt.NDArray[Any]:
    """(n_labels,) integers or strings, None for a row without a label."""
    try:
        path = service.datasets.content(dataset)
        value = catalogue.load(
            dataset.format, path, dataset.member, "labels", columns=dataset.columns or ()
        )
    except (Missing, FileNotFoundError):
        # It was deleted after it was looked up.
        raise not_found("dataset", dataset.id) from None
    return at_most_one(value) if isinstance(value, LabelSets) else np.asarray(value)
