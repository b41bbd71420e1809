"""Items attached to a tree: what its points are.

For asyncio. Written by `make client` from `umbel_client.attachment`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from umbel_client import frames
from umbel_client._written.aio.artifact import AsyncArtifact
from umbel_client.core import trees
from umbel_client.core.drivers import AsyncDriver
from umbel_client.encodings import Payload, Pieces
from umbel_client.errors import InputError
from umbel_client.inputs import Converted, Inline, Input, converted

ROLE = "items"
Items: TypeAlias = "Input | Mapping[str, Sequence[Any]]"
"""Columns by their names, a data frame, a list of objects, or a path, id or dataset."""

_SCALARS = (str, int, float, bool, type(None))


class AsyncAttachment(AsyncArtifact):
    """The items of a tree, a row for each of its rows or leaves.

    body : the attachment as the service describes it. columns : its columns, each with `name`,
    `kind` and what it holds; empty until it has succeeded.
    """

    _collection = "attachments"

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        super().__init__(driver, body)
        self.columns: list[dict[str, Any]] = list(self.body.pop("columns", ()))

    @property
    def basis(self) -> str | None:
        """What items are ordered by: `features` or `logits` of the fit, or None."""
        basis: str | None = (self.body.get("result") or {}).get("basis")
        return basis

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing, and why."""
        return tuple(self.body["warnings"])

    async def examples(
        self,
        node: int,
        by: Literal["central", "unsure", "random"] = "central",
        *,
        n: int = 12,
        seed: int = 0,
    ) -> list[dict[str, Any]]:
        """Items under a node, as of `tree.examples`."""
        query = {"by": by, "n": n, "seed": seed}
        path = f"/v1/attachments/{self.id}/nodes/{node}/examples"
        body = await self._driver.run(trees.described(path, "items", query=query))
        return list(body["items"])

    async def values(self, column: int | str) -> list[dict[str, Any]]:
        """What the items under each node have in a column of numbers, dates or categories: the
        mean, or the most frequent category with its share.

        column : its name or number. Raises InputError for a name that no column has.
        """
        path = f"/v1/attachments/{self.id}/columns/{self._number(column)}/nodes"
        body = await self._driver.run(trees.described(path, "items"))
        return list(body["items"])

    async def matches(
        self,
        column: int | str,
        *,
        equals: Sequence[str] = (),
        contains: str | None = None,
        low: float | str | None = None,
        high: float | str | None = None,
    ) -> list[dict[str, Any]]:
        """How many items under each node meet a condition (`n_matches` of `n`); a missing value
        meets none.

        column : its name or number. equals : texts or categories, one of which it is. contains : a
        part of a text, in any case. low, high : numbers or dates between which it lies, ends
        included. Raises InputError for a name that no column has.
        """
        query = {
            "column": self._number(column),
            "equals": [equals] if isinstance(equals, str) else list(equals),
            "contains": contains,
            "low": low,
            "high": high,
        }
        path = f"/v1/attachments/{self.id}/matches"
        body = await self._driver.run(trees.described(path, "items", query=query))
        return list(body["items"])

    async def item(self, item: int) -> dict[str, Any]:
        """The `values` of an item by column, and its `leaf`."""
        path = f"/v1/attachments/{self.id}/items/{item}"
        return await self._driver.run(trees.described(path, "item", "values"))

    async def image(self, item: int, column: int | str) -> bytes:
        """The file of an image. Raises InputError for a name that no column has."""
        number = self._number(column)
        path = f"/v1/attachments/{self.id}/items/{item}/images/{number}"
        return await self._driver.run(trees.raw(path))

    def _number(self, column: int | str) -> int:
        if isinstance(column, int):
            return column
        numbers = {each["name"]: int(each["column"]) for each in self.columns}
        if column not in numbers:
            known = ", ".join(map(repr, numbers)) or "none, as it is listed; read it by its id"
            raise InputError("column", f"there is no column {column!r}; its columns are {known}.")
        return numbers[column]

    def __repr__(self) -> str:
        names = ", ".join(f"{each['name']} ({each['kind']})" for each in self.columns[:5])
        more = f" and {len(self.columns) - 5} more" if len(self.columns) > 5 else ""
        return f"<AsyncAttachment {self.id}: {names or self.body['status']}{more}>"


def converted_items(value: Items) -> Converted:
    """Items in the form in which they travel: what is not a file or stored becomes JSON lines.

    Raises InputError for columns of different lengths, and for values that are neither texts,
    numbers, dates, truths nor missing; images are given as a zip, Arrow or Parquet file.
    """
    if isinstance(value, Mapping):
        columns = {str(name): _values(column) for name, column in value.items()}
    elif frames.is_frame(value):
        columns = frames.columns_of(ROLE, value)
    elif isinstance(value, (list, tuple)) and all(isinstance(row, Mapping) for row in value):
        names = dict.fromkeys(str(name) for row in value for name in row)
        columns = {name: [row.get(name) for row in value] for name in names}
    else:
        found = converted(ROLE, value)
        if isinstance(found, (list, Inline)) or (
            isinstance(found, Payload) and found.query.get("role") != ROLE
        ):
            raise InputError(ROLE, "a table with named columns is needed.")
        return found
    lengths = {name: len(column) for name, column in columns.items()}
    if not columns or not max(lengths.values()):
        raise InputError(ROLE, "there are no rows.")
    if len(set(lengths.values())) > 1:
        raise InputError(ROLE, f"the columns have different lengths: {lengths}.")
    plain = [
        [_plain(name, at, cell) for at, cell in enumerate(column)]
        for name, column in columns.items()
    ]
    lines = [
        json.dumps(dict(zip(columns, row, strict=True)), allow_nan=False)
        for row in zip(*plain, strict=True)
    ]
    return Payload(
        Pieces.of("\n".join([*lines, ""]).encode()), "application/x-ndjson", {"role": ROLE}
    )


def _values(column: Any) -> list[Any]:
    if frames.is_column(column):
        return frames.values_of(ROLE, column)
    if isinstance(column, str):
        raise InputError(ROLE, "a column is a list with a value for each row, not a text.")
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _plain(name: str, row: int, value: Any) -> Any:
    """A value as JSON has it; None for one that is missing or not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if frames.is_missing(value) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, _SCALARS):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise InputError(
        ROLE,
        f"column {name!r} has a value of type {type(value).__name__} at row {row}; accepted are "
        "texts, numbers, dates, truths and None. Images are given as a file: zip, Arrow, Parquet.",
    )
