"""Nodes of a tree by the meaning of their names, or of the texts of their items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from anyio import CapacityLimiter

from app.http import threads
from app.http.dependencies import Service
from app.http.problems import Refused, refused_at
from app.resources.trees.item_columns import files_of
from models.editions.edited import EditedTree
from models.errors import shown as quoted
from models.items.placement import placement
from workers.artifacts import items
from workers.embedding.meaning import NotYet

if TYPE_CHECKING:
    import pyarrow as pa

_AGAIN_S = 5
_AT_ONCE = CapacityLimiter(4)
"""Searches of one process that may wait for the embedder at a time."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The different texts of a tree, and the rows of nodes that each is of.

    text, row : the row `row[k]` has the text `texts[text[k]]`, its name before its items.
    """

    texts: Sequence[str]
    text: np.ndarray[Any, np.dtype[np.int64]]
    row: np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Near:
    """A node that a search by meaning found, by the text that is nearest."""

    row: int
    text: str
    score: float


def texts_of(
    service: Service, tenant: str, tree_id: str, shown: EditedTree, attachment: str | None
) -> Texts:
    """The names of nodes that have a letter, and of an attachment its texts, each at its leaf.

    Blocks; O(n_nodes + n_items). Raises Refused `unknown-input` for what is not attached,
    `wrong-input` for items without texts, `invalid-request` where there is nothing to search.
    """
    number: dict[str, int] = {}
    text, row = [], []
    for node, name in enumerate(shown.tree.name.tolist()):
        if name is not None and any(letter.isalpha() for letter in name):
            text.append(number.setdefault(name, len(number)))
            row.append(node)
    if attachment is not None:
        leaf, columns = _items(service, tenant, tree_id, shown, attachment)
        for column in columns:
            for item, value in enumerate(column.to_pylist()):
                if value is not None and value.strip():
                    text.append(number.setdefault(value, len(number)))
                    row.append(leaf[item])
    if not text:
        raise Refused(
            "invalid-request",
            "No name of this tree has a letter, so there is no meaning to search; attach texts to "
            f"it by POST /v1/trees/{tree_id}/attachments and give the attachment as 'items'.",
        )
    return Texts(list(number), np.array(text), np.array(row))


def _items(
    service: Service, tenant: str, tree_id: str, shown: EditedTree, attachment: str
) -> tuple[list[int], list[pa.Array]]:
    """The leaf of each item, and the columns of texts."""
    if shown.ids is not None:
        raise refused_at(
            "invalid-request",
            "'items' are of the tree as it was made; search them without an edition that moves "
            "nodes.",
            "items",
        )
    file = files_of(service, tenant, tree_id, attachment)
    path = None if file is None else file(items.ITEMS)
    if path is None:
        raise refused_at(
            "unknown-input",
            f"Tree {tree_id!r} has no attachment {quoted(attachment)}; "
            f"GET /v1/trees/{tree_id}/attachments lists its attachments.",
            "items",
        )
    table = items.map_items(path)
    columns = [column.values for column in table.columns if column.kind == "text"]
    if not columns:
        raise refused_at(
            "wrong-input", f"Attachment {quoted(attachment)} has no column of texts.", "items"
        )
    return placement(shown.tree, table.n_items).leaf.tolist(), columns


async def nearest(
    service: Service, tenant: str, texts: Texts, question: str, n: int
) -> tuple[list[Near], dict[str, Any]]:
    """At most `n` nodes, the nearest first, each by its nearest text; and what was sent.

    Raises as `Meaning.nearest`; Refused `unavailable` where it takes longer.
    """

    def scored() -> tuple[list[Near], dict[str, Any]]:
        found = service.meaning.nearest(service.settings, tenant, texts.texts, question)
        score = found.score[texts.text]
        order = np.argsort(-score, kind="stable")
        _, first = np.unique(texts.row[order], return_index=True)
        best = order[np.sort(first)[:n]]
        near = [
            Near(int(texts.row[k]), texts.texts[texts.text[k]], float(score[k]))
            for k in best.tolist()
        ]
        return near, found.sent

    try:
        return await threads.run_sync(scored, limiter=_AT_ONCE)
    except NotYet as error:
        raise Refused("unavailable", str(error), headers={"Retry-After": str(_AGAIN_S)}) from None
