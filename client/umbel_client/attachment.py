"""Items attached to a tree: what its points are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from umbel_client.artifact import Artifact
from umbel_client.errors import InputError
from umbel_client.quoting import shown


class Attachment(Artifact):
    """The items of a tree, a row for each of its rows or leaves.

    columns : its columns, each with `name`, `kind` and what it holds; empty until it has succeeded.
    """

    _collection = "attachments"
    _lists = {"columns": ("columns", "items")}
    columns: list[dict[str, Any]]

    @property
    def basis(self) -> str | None:
        """What items are ordered by: `features` or `logits` of the fit, or None."""
        basis: str | None = self._result.get("basis")
        return basis

    def examples(
        self,
        node: int,
        by: Literal["central", "unsure", "random"] = "central",
        *,
        n: int = 12,
        seed: int = 0,
    ) -> list[dict[str, Any]]:
        """Items under a node, as of `tree.examples`."""
        query = {"by": by, "n": n, "seed": seed}
        path = f"{self._path}/nodes/{node}/examples"
        body = self._connection.described(path, "items", query=query)
        return list(body["items"])

    def outliers(
        self, node: int, by: Literal["far", "near", "doubt"] = "far", *, n: int = 100
    ) -> list[dict[str, Any]]:
        """Items under a node, each with its `distance` to the node's mean, the `doubt` whether it
        belongs there, and its values: the farthest first, the nearest, or the most doubtful.

        With logits there is doubt alone. Raises Conflict where nothing is known to rank them by.
        """
        path = f"{self._path}/nodes/{node}/outliers"
        body = self._connection.described(path, "items", query={"by": by, "n": n})
        return list(body["items"])

    def values(self, column: int | str) -> list[dict[str, Any]]:
        """What the items under each node have in a column of numbers, dates or categories: the
        mean, or the most frequent category with its share.

        column : its name or number. Raises InputError for a name that no column has.
        """
        path = f"{self._path}/columns/{self._number(column)}/nodes"
        body = self._connection.described(path, "items")
        return list(body["items"])

    def matches(
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
        path = f"{self._path}/matches"
        body = self._connection.described(path, "items", query=query)
        return list(body["items"])

    def item(self, item: int) -> dict[str, Any]:
        """The `values` of an item by column, and its `leaf`."""
        path = f"{self._path}/items/{item}"
        return self._connection.described(path, "item", "values")

    def image(self, item: int, column: int | str) -> bytes:
        """The file of an image. Raises InputError for a name that no column has."""
        number = self._number(column)
        path = f"{self._path}/items/{item}/images/{number}"
        return self._connection.raw(path)

    def _number(self, column: int | str) -> int:
        if isinstance(column, int):
            return column
        numbers = {each["name"]: int(each["column"]) for each in self.columns}
        if column not in numbers:
            known = ", ".join(map(shown, numbers)) or "none in a list; read it by its id"
            raise InputError(
                "column", f"there is no column {shown(column)}; its columns are {known}."
            )
        return numbers[column]

    def __repr__(self) -> str:
        names = ", ".join(f"{each['name']} ({each['kind']})" for each in self.columns[:5])
        more = f" and {len(self.columns) - 5} more" if len(self.columns) > 5 else ""
        return f"<{type(self).__name__} {self.id}: {names or self.status}{more}>"
