"""Columns of items for pictures of their tree: `at_X.2` is column 2 of an attachment."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from app.http.dependencies import Service
from app.http.problems import refused_at
from app.pictures.strips import MOST_STRIPS, Column
from models.errors import shown
from workers.artifacts import items
from workers.model import sibling

REFERENCE = re.compile(r"(at_[0-9a-z]{26})\.([0-9]{1,3})")

Files = Callable[[str], Path | None]
"""Gives the path of a file of an attachment."""


def files_of(service: Service, tenant: str, tree_id: str, attachment_id: str) -> Files | None:
    """The files of an attachment; None where this tree has no such items. Blocks."""
    record = service.ledger.get(tenant, sibling(attachment_id, "job"))
    if record is None or (record.result or {}).get("tree") != tree_id:
        return None
    file = partial(service.trees.file, tenant, attachment_id)
    return None if file(items.ITEMS) is None else file


def strip_columns(
    service: Service, tenant: str, tree_id: str, strips: str | None
) -> tuple[Column, ...]:
    """The columns that `strips` names, from the inside out; none without it.

    Blocks; O(n_nodes) a column. Raises Refused `invalid-request` for what is no list of up to
    `MOST_STRIPS` different columns, and for a column without values of nodes; `unknown-input` for
    one that this tree's attachments do not have.
    """
    if strips is None:
        return ()
    names = strips.split(",")
    if len(names) > MOST_STRIPS or len(set(names)) < len(names):
        raise refused_at(
            "invalid-request",
            f"'strips' names {len(names)} columns; it takes up to {MOST_STRIPS} different ones.",
            "strips",
        )
    return tuple(_column(service, tenant, tree_id, name) for name in names)


def _column(service: Service, tenant: str, tree_id: str, name: str) -> Column:
    match = REFERENCE.fullmatch(name)
    if match is None:
        raise refused_at(
            "invalid-request",
            f"'strips' has {shown(name)}; it takes columns such as 'at_X.2': the id of an "
            "attachment, a dot and the number of a column.",
            "strips",
        )
    number = int(match[2])
    file = files_of(service, tenant, tree_id, match[1])
    path = None if file is None else file(items.COLUMNS)
    columns = [] if path is None else items.load_columns(path)
    if file is None or number >= len(columns):
        raise refused_at(
            "unknown-input",
            f"Tree {tree_id!r} has no column {shown(name)} attached; "
            f"GET /v1/trees/{tree_id}/attachments lists its attachments.",
            "strips",
        )
    facts = columns[number]
    nodes = file(items.ITEM_NODES)
    values = {} if nodes is None else items.map_item_nodes(nodes, number)
    if not values:
        raise refused_at(
            "invalid-request",
            f"Column {shown(name)} is one of kind {facts['kind']!r} without values of nodes; a "
            "strip shows numbers, dates or categories that have them (`of_nodes`).",
            "strips",
        )
    known = {
        key: array.to_numpy(zero_copy_only=False).astype(np.float64)
        for key, array in values.items()
    }
    return Column(
        facts["name"],
        number,
        facts["kind"],
        known["value"],
        known.get("share"),
        _ends(facts),
        tuple(each["text"] for each in facts.get("categories", ())),
    )


def _ends(facts: dict[str, Any]) -> tuple[float, float] | None:
    """The least and the largest value of a column of numbers, or of dates in seconds since 1970."""
    if facts.get("quantiles"):
        return facts["quantiles"][0], facts["quantiles"][-1]
    if facts.get("first"):
        first, last = (datetime.fromisoformat(facts[end]).timestamp() for end in ("first", "last"))
        return first, last
    return None
