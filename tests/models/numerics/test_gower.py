"""Gower's distance against its definition, pair by pair, and the rules of R's daisy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.arrays import Float
from models.errors import UsageError
from models.graphs import measured as module
from models.graphs.measured import measured
from models.inputs.data import Data
from models.inputs.items import ItemColumn, ItemTable, ranked
from models.numerics.gower import Gower

Values = list[Any]


def distances(table: ItemTable, weights: dict[str, float] | None) -> Float:
    points = measured(Data({"items": table}), "euclidean", weights)
    assert points is not None
    return points.square()


def column(name: str, kind: Any, values: Values) -> ItemColumn:
    types = {
        "number": pa.float64(),
        "date": pa.timestamp("us", "UTC"),
        "text": pa.large_string(),
    }
    if kind == "category":
        return ItemColumn(name, kind, ranked(pa.array(values, pa.large_string())))
    return ItemColumn(name, kind, pa.array(values, types[kind]))


def day(number: int) -> datetime:
    return datetime(1990 + number % 50, 1 + number % 12, 1 + number % 28, tzinfo=UTC)


def literal(columns: dict[str, Values], weights: dict[str, float], i: int, j: int) -> float | None:
    """One pair; None for no common column."""
    total = weight = 0.0
    for name, values in columns.items():
        a, b, w = values[i], values[j], weights.get(name, 1.0)
        held = [value for value in values if value is not None]
        if a is None or b is None or not w:
            continue
        if isinstance(a, str):
            apart = float(a != b)
        else:
            span = max(held) - min(held)
            apart = abs(a - b) / span if span else 0.0
        total, weight = total + w * apart, weight + w
    return total / weight if weight else None


def drawn(seed: int, n: int, missing: float) -> tuple[ItemTable, dict[str, Values]]:
    rng = np.random.default_rng(seed)

    def holed(values: Values) -> Values:
        return [None if rng.random() < missing else value for value in values]

    columns = {
        "size": holed((rng.normal(size=n) * 1e3).tolist()),
        "count": holed(rng.integers(0, 3, size=n).astype(float).tolist()),
        "colour": holed([("red", "green", "blue")[k] for k in rng.integers(0, 3, size=n)]),
        "flag": holed([("true", "false")[k] for k in rng.integers(0, 2, size=n)]),
        "day": holed([day(int(k)) for k in rng.integers(0, 900, size=n)]),
        "same": [7.0] * n,
    }
    kinds = {"colour": "category", "flag": "category", "day": "date"}
    table = ItemTable(
        tuple(column(name, kinds.get(name, "number"), each) for name, each in columns.items())
    )
    return table, columns


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(2, 9),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([{}, {"size": 2.5, "colour": 0.25}, {"count": 0.0, "day": 3.0}]),
)
def test_each_pair_is_its_definition(
    seed: int, n: int, missing: float, weights: dict[str, float]
) -> None:
    table, columns = drawn(seed, n, missing)
    found = distances(table, weights)
    for i in range(n):
        for j in range(n):
            assert found[i, j] == pytest.approx(literal(columns, weights, i, j), abs=1e-12)


def test_the_order_of_columns_and_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = drawn(1, 40, 0.2)
    whole = distances(table, None)
    monkeypatch.setattr(module, "AT_ONCE", 64)
    np.testing.assert_array_equal(distances(table, None), whole)
    turned = ItemTable(table.columns[::-1])
    np.testing.assert_allclose(distances(turned, None), whole, rtol=1e-12, atol=1e-15)


def test_daisys_rules_on_a_literal_table() -> None:
    """By hand: the range of x is 10; where a value is missing the column does not count."""
    table = ItemTable(
        (
            column("x", "number", [0.0, 5.0, None, 10.0]),
            column("c", "category", ["a", "b", "a", None]),
            column("d", "date", [day(0), day(0), day(0), day(0)]),
        )
    )
    found = distances(table, None)
    upper: list[list[float]] = [
        [0, (0.5 + 1 + 0) / 3, (0 + 0) / 2, (1 + 0) / 2],
        [0, 0, (1 + 0) / 2, (0.5 + 0) / 2],
        [0, 0, 0, 0 / 1],
        [0, 0, 0, 0],
    ]
    half = np.triu(np.array(upper))
    np.testing.assert_allclose(found, half + half.T, rtol=1e-15)


def test_warnings_say_how_each_column_was_taken() -> None:
    table = ItemTable(
        (
            column("x", "number", [0.0, 5.0, None]),
            column("c", "category", ["a", "b", "a"]),
            column("d", "date", [day(0), day(1), day(2)]),
            column("one", "number", [4.0, 4.0, 4.0]),
            column("note", "text", ["p", "q", "r"]),
            column("empty", "number", [None, None, None]),
            column("off", "number", [1.0, 2.0, 3.0]),
        )
    )
    first, second = Gower.of(table, {"c": 2.0, "off": 0.0}).warnings
    assert "'x' as number, missing in 1 row(s)" in first
    assert "'c' as category of weight 2" in first
    assert "'d' as date" in first
    assert "'one' as number of one value" in first
    assert "'note' (text), 'empty' (no value), 'off' (weight 0)" in second


@pytest.mark.parametrize(
    ("columns", "weights", "message"),
    [
        ({"x": ("number", [1.0, None, 2.0]), "y": ("number", [1.0, 2.0, None])}, {},
         "numbers 1 and 2, .* no column"),
        ({"x": ("number", [1.0, None, 2.0])}, {}, "Row 1 of input 'items' .* no value"),
        ({"note": ("text", ["a", "b", "c"])}, {}, r"no column .* left out are 'note' \(text\)"),
        ({"x": ("number", [1.0, 1.0, 2.0])}, {"z": 1.0}, "column 'z', which .* does not have: 'x'"),
        ({"x": ("number", [1.0, 1.0, 2.0])}, {"x": 0.0}, "left out are 'x'"),
        ({"x": ("number", [1.0] * 3), "t": ("text", ["a"] * 3)}, {"t": 1.0}, "'t' .*not compared"),
    ],
)  # fmt: skip
def test_what_has_no_distance_is_refused(
    columns: dict[str, Any], weights: dict[str, float], message: str
) -> None:
    table = ItemTable(tuple(column(name, *each) for name, each in columns.items()))
    with pytest.raises(UsageError, match=message):
        distances(table, weights)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1.7e308])
def test_ranges_of_any_size(scale: float) -> None:
    table = ItemTable((column("x", "number", [-scale, 0.0, scale]),))
    found = distances(table, None)
    np.testing.assert_allclose(found, [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]], rtol=1e-12)
