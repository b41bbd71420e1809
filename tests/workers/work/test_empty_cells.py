"""Refusals of a column of features by the name that its table has."""

from __future__ import annotations

import pytest

from models.errors import UsageError
from workers.formats.column_roles import Column
from workers.work.empty_cells import with_column_name
from workers.work.sources import Source

COLUMNS = (
    Column(name="id", type="text", role="id"),
    *(Column(name=name, type="number", role="feature") for name in ("a", "price")),
)
TABLE = Source(role="features", kind="dataset", path=None, format="csv", columns=COLUMNS)
ARRAY = Source(role="features", kind="dataset", path=None, format="npy")


@pytest.mark.parametrize(
    ("source", "steps", "detail", "column", "named"),
    [
        (TABLE, (), "Too large.", 1, True),
        (TABLE, ({"step": "standardize"},), "Too large.", 1, True),
        (TABLE, ({"step": "pca", "n": 1},), "Too large.", 1, False),
        (TABLE, (), "Too large: 'price'.", 1, False),
        (TABLE, (), "Too large.", None, False),
        (TABLE, (), "Too large.", "price", False),
        (TABLE, (), "Too large.", 7, False),
        (ARRAY, (), "Too large.", 1, False),
    ],
)
def test_the_name_of_the_column_is_added_where_it_is_known(
    source: Source, steps: tuple[dict[str, object], ...], detail: str, column: object, named: bool
) -> None:
    where = {} if column is None else {"column": column}
    error = UsageError(detail, code="too-large", role="features", **where)
    found = with_column_name(error, (source,), steps)
    assert found.detail == (f"{detail} Column 1 is 'price'." if named else detail)
    assert (found.code, found.where) == (error.code, error.where)
