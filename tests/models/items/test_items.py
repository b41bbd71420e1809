"""Items of a tree against the literal definitions, and the images that are accepted."""

from __future__ import annotations

import io
import zlib
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from models.errors import UsageError
from models.inputs.items import ItemColumn, Kind, ranked
from models.items import placement as aggregates
from models.items import rankings
from models.items.conditions import MOST_CONDITIONS, Condition, meeting, meeting_all
from models.items.facts import MOST_BYTES, media_type, require_image
from models.items.placement import placement
from models.items.points import points_of
from models.items.rankings import MOST_DOUBT, Order, standings
from models.tree.build import from_parents, from_partition
from models.tree.tree import Tree
from models.tree.walk import path
from tests.models.tree.strategies_kit import random_tree


def items_under(tree: Tree, n_items: int) -> list[list[int]]:
    """The items under each node, by the paths of their leaves alone."""
    leaf = tree.leaf_of_point if n_items == tree.n_points else tree.leaves
    under: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for item, own in enumerate(leaf.tolist()):
        for node in path(tree, own).tolist():
            under[node].append(item)
    return under


@given(random_tree(max_leaves=7), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_values_of_nodes_are_those_of_the_items_under_them(
    tree: Tree, per_leaf: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n_items = tree.n_leaves if per_leaf else tree.n_points
    placed = placement(tree, n_items)
    under = items_under(tree, n_items)
    numbers = rng.choice([np.nan, 0.0, -3.5, 1e308, 7.25], n_items)
    code = rng.integers(-1, 3, n_items).astype(np.int32)
    chosen = rng.random(n_items) < 0.5
    means = aggregates.means(tree, placed, numbers)
    majority, share = aggregates.majorities(tree, placed, code)
    counts = aggregates.matches(tree, placed, chosen)
    for node, items in enumerate(under):
        assert sorted(placed.under(node).tolist()) == items
        present = [numbers[item] / 4 for item in items if not np.isnan(numbers[item])]
        expected = 4 * sum(each / len(present) for each in present) if present else np.nan
        assert means[node] == pytest.approx(expected, nan_ok=True)
        held = Counter(int(code[item]) for item in items if code[item] >= 0)
        if held:
            best = min(held, key=lambda each: (-held[each], each))
            assert (majority[node], share[node]) == (best, held[best] / held.total())
        else:
            assert majority[node] == -1
            assert np.isnan(share[node])
        assert counts[node] == sum(bool(chosen[item]) for item in items)


def chain(n: int) -> Tree:
    """A chain of n inner nodes, each with a leaf of one row."""
    inner = np.arange(-1, n - 1)
    parent = np.concatenate([inner, np.arange(n)])
    return from_parents(parent, np.zeros(2 * n), [None] * (2 * n), n + np.arange(n))


def test_a_deep_chain() -> None:
    tree = chain(3000)
    placed = placement(tree, 3000)
    means = aggregates.means(tree, placed, np.arange(3000.0))
    # The last inner node has one leaf below it, the one before two, ....
    assert means[:3000] == pytest.approx((np.arange(3000) + 2999) / 2)


def test_items_are_rows_or_leaves() -> None:
    tree = from_parents([-1, 0, 0], [1.0, 0.0, 0.0], [None] * 3, np.array([2, 1, 2, 2]))
    assert placement(tree, 4).under(2).tolist() == [0, 2, 3]
    assert placement(tree, 2).under(2).tolist() == [1]
    with pytest.raises(UsageError, match="3 items; the tree has 4 rows and 2 leaves"):
        placement(tree, 3)


def test_rankings(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = from_parents([-1, 0, 0], [1.0, 0.0, 0.0], [None] * 3, np.array([2, 1, 2, 2, 1]))
    placed = placement(tree, 5)
    features = np.array([[0.0, 0], [9, 9], [1, 0], [4, 0], [9, 8]])
    known, kept = rankings.vectors(features, tree, placed)
    assert kept is None
    # The mean of the rows 0, 2 and 3 is (5/3, 0).
    central = rankings.ranked(placed, 2, "central", 2, known=known)
    assert central.item.tolist() == [2, 0]
    assert central.score == pytest.approx([2 / 3, 5 / 3])
    assert rankings.ranked(placed, 2, "unsure", 9, known=known).item.tolist() == [3, 0, 2]
    drawn = [rankings.ranked(placed, 0, "random", 2, seed=seed).item.tolist() for seed in (1, 1)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 2
    monkeypatch.setattr(rankings, "MOST_COMPARED", 2)
    few = rankings.ranked(placed, 2, "central", 9, known=known)
    assert (few.n_compared, len(few.item)) == (2, 2)
    by_leaf, _ = rankings.vectors(features, tree, placement(tree, 2))
    assert by_leaf == pytest.approx(np.array([[9, 8.5], [5 / 3, 0]]))
    wide = np.random.default_rng(0).normal(size=(5, 100))
    reduced, share = rankings.vectors(wide, tree, placed)
    assert reduced.shape == (5, 5)
    assert share == pytest.approx(1.0)
    gaps = np.linalg.norm(reduced[0] - reduced[1:], axis=1)
    in_order = wide[placed.order]
    assert gaps == pytest.approx(np.linalg.norm(in_order[0] - in_order[1:], axis=1), rel=1e-4)
    with pytest.raises(UsageError, match="4 rows to rank items by; the tree has 5"):
        rankings.vectors(features[:4], tree, placed)


def literal_standings(tree: Tree, node: int, known: np.ndarray[Any, Any]) -> list[Any]:
    """(item, distance, doubt, nearest) of each item under the node, by loops; items are rows."""
    under = items_under(tree, tree.n_points)
    means = {v: known[rows].mean(axis=0) for v, rows in enumerate(under) if rows}
    siblings = [
        v
        for v in range(1, tree.n_nodes)
        if node and v != node and tree.parent[v] == tree.parent[node] and v in means
    ]
    found = []
    for item in under[node]:
        own = float(np.linalg.norm(known[item] - means[node]))
        others = [(float(np.linalg.norm(known[item] - means[v])), v) for v in siblings]
        best = min(others) if others else None
        doubt = None if best is None else min(own / best[0] if best[0] else np.inf, MOST_DOUBT)
        found.append((item, own, doubt, None if best is None else best[1]))
    return found


@given(random_tree(), st.integers(0, 1000))
def test_outliers_are_those_of_the_definition(tree: Tree, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 11
    leaf = rng.choice(tree.leaves, n).astype(np.int32)
    size = np.array([sum(v in path(tree, int(p)) for p in leaf) for v in range(tree.n_nodes)])
    tree = replace(tree, leaf_of_point=leaf, size=size).validate()
    known = rng.normal(size=(n, 3))
    placed = placement(tree, n) if tree.n_leaves != n else None
    if placed is None or placed.per != "row":
        return
    in_order = known[placed.order]
    for node in range(tree.n_nodes):
        expected = {own[0]: own[1:] for own in literal_standings(tree, node, known)}
        by_order: tuple[Order, ...] = ("far", "near", "doubt")
        for order in by_order:
            has_doubt = all(doubt is not None for _, doubt, _ in expected.values())
            if order == "doubt" and not (expected and has_doubt):
                if expected:
                    with pytest.raises(UsageError, match="no siblings"):
                        standings(tree, placed, node, order, n, in_order)
                continue
            found = standings(tree, placed, node, order, n, in_order)
            assert sorted(found.item.tolist()) == sorted(expected)
            assert found.distance is not None
            for at, item in enumerate(found.item.tolist()):
                distance, doubt, nearest = expected[item]
                assert found.distance[at] == pytest.approx(distance)
                if doubt is not None and found.doubt is not None and found.nearest is not None:
                    assert found.doubt[at] == pytest.approx(doubt)
                    assert found.nearest[at] == nearest
                else:
                    assert doubt is None
                    assert found.doubt is None
            values = found.doubt if order == "doubt" else found.distance
            assert values is not None
            falls = np.diff(values) <= 0 if order != "near" else np.diff(values) >= 0
            assert falls.all()


def test_the_doubt_of_margins_is_what_they_lack() -> None:
    tree = from_partition(np.array([0, 0, 0, 1]), 2)
    placed = placement(tree, 4)
    known = np.array([0.9, np.nan, 0.25, 0.5], dtype=np.float32)
    found = standings(tree, placed, 1, "doubt", 10, known)
    assert found.item.tolist() == [2, 0, 1]
    assert found.doubt is not None
    assert found.doubt[:2] == pytest.approx([0.75, 0.1])
    assert found.distance is None
    with pytest.raises(UsageError, match="by=doubt"):
        standings(tree, placed, 1, "far", 10, known)


def test_points_are_their_own_items() -> None:
    tree = from_partition(np.array([0, 0, 1]), 2, names=["a", "b"])
    table, warnings = points_of(tree)
    (named,) = table.columns
    # b holds one row alone.
    assert named.values.to_pylist() == ["0", "1", "b"]
    assert warnings == []
    images = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5) / 59
    table, _ = points_of(tree, images)
    assert [column.kind for column in table.columns] == ["image", "text"]
    for row, content in enumerate(table.columns[0].values.to_pylist()):
        shown = np.asarray(Image.open(io.BytesIO(content)))
        assert shown.tolist() == np.rint(255 * images[row].astype(float)).tolist()
    table, _ = points_of(tree, images.reshape(3, 20), (4, 5))
    assert [column.kind for column in table.columns] == ["image", "text"]
    table, _ = points_of(tree, images.reshape(3, 20))
    assert [column.kind for column in table.columns] == ["text"]


def column(kind: Kind, values: pa.Array) -> ItemColumn:
    return ItemColumn("x", kind, values)


def test_conditions() -> None:
    numbers = column("number", pa.array([1.0, None, 3.0]))
    assert meeting(numbers, Condition(low="1", high="2.5")).tolist() == [True, False, False]
    texts = column("text", pa.array(["Straße", None, "a.b"], pa.large_string()))
    assert meeting(texts, Condition(contains="STRA")).tolist() == [True, False, False]
    # A text, not a pattern.
    assert meeting(texts, Condition(contains=".")).tolist() == [False, False, True]
    groups = column("category", ranked(pa.array(["b", "a", None, "b"])))
    assert meeting(groups, Condition(equals=("b", "c"))).tolist() == [True, False, False, True]
    moments = pa.array([0, 86_399_000_000, 86_400_000_000, None], pa.timestamp("us", "UTC"))
    dates = column("date", moments)
    found = meeting(dates, Condition(low="1970-01-01", high="1970-01-01"))
    assert found.tolist() == [True, True, False, False]
    assert meeting(dates, Condition(high="1970-01-01T00:00:00+01:00")).sum() == 0
    for own, condition in (
        (numbers, Condition()),
        (numbers, Condition(low="inf")),
        (numbers, Condition(contains="1")),
        (groups, Condition(low="1")),
        (dates, Condition(low="0000-00-00")),
        (dates, Condition(high="9999-12-31T23:59:59-23:59")),
        (column("image", pa.array([b""])), Condition(contains="x")),
    ):
        with pytest.raises(UsageError) as error:
            meeting(own, condition)
        assert error.value.code == "wrong-parameter"


@st.composite
def columns_and_conditions(draw: st.DrawFn) -> tuple[list[ItemColumn], list[tuple[int, Condition]]]:
    """Columns of each kind with missing values, and conditions on them."""
    n = draw(st.integers(0, 12))

    def rows(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(st.none() | values, min_size=n, max_size=n))

    words = st.sampled_from(["Ab", "abc", "b", "C.a", ""])
    columns = [
        column("number", pa.array(rows(st.integers(-3, 3).map(float)), pa.float64())),
        column("text", pa.array(rows(words), pa.large_string())),
        column("category", pa.array(rows(words), pa.string()).dictionary_encode()),
    ]
    end = st.none() | st.integers(-4, 4).map(str)
    ranges = st.builds(Condition, low=end, high=end).filter(lambda each: each.is_range)
    part = st.none() | st.sampled_from(["a", "B", "."])
    equal = st.lists(words, max_size=2).map(tuple)
    texts = st.builds(Condition, equal, part).filter(lambda each: each.is_of_text)
    single = st.tuples(st.just(0), ranges) | st.tuples(st.integers(1, 2), texts)
    return columns, draw(st.lists(single, min_size=1, max_size=MOST_CONDITIONS))


def holds(value: Any, condition: Condition) -> bool:
    """The literal definition for one item."""
    if value is None:
        return False
    if condition.is_range:
        low = -np.inf if condition.low is None else float(condition.low)
        high = np.inf if condition.high is None else float(condition.high)
        return bool(low <= value <= high)
    is_one = not condition.equals or value in condition.equals
    return is_one and (condition.contains or "").lower() in value.lower()


@given(columns_and_conditions())
@settings(deadline=None)
def test_all_of_several_conditions_hold(
    drawn: tuple[list[ItemColumn], list[tuple[int, Condition]]],
) -> None:
    columns, conditions = drawn
    values = [each.values.to_pylist() for each in columns]
    expected = [
        all(holds(values[number][row], condition) for number, condition in conditions)
        for row in range(len(values[0]))
    ]
    met = meeting_all([(columns[number], condition) for number, condition in conditions])
    assert met.tolist() == expected


def test_a_wrong_condition_among_several_is_named() -> None:
    numbers = column("number", pa.array([1.0]))
    right, wrong = (numbers, Condition(low="0")), (numbers, Condition(high="x"))
    with pytest.raises(UsageError, match=r"^In condition 2: An end of the range is 'x'"):
        meeting_all([right, wrong])
    with pytest.raises(UsageError, match=r"^An end of the range"):
        meeting_all([wrong])


def encoded(form: str, size: tuple[int, int] = (3, 2)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, (200, 10, 10)).save(content, form)
    return content.getvalue()


def vast_png(width: int, height: int) -> bytes:
    """A PNG whose header alone is whole."""
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    return (
        b"\x89PNG\r\n\x1a\n\0\0\0\x0d"
        + head
        + zlib.crc32(head).to_bytes(4, "big")
        + b"\0\0\0\0IDAT"
    )


def test_images() -> None:
    for form in ("PNG", "JPEG", "GIF", "WEBP"):
        content = encoded(form)
        require_image(content, "row 3")
        assert media_type(content) == f"image/{form.lower()}"
    for content, code in (
        (b"", "unsupported-format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "unsupported-format"),
        (b"<html><script>1</script>", "unsupported-format"),
        (encoded("BMP"), "unsupported-format"),
        (encoded("PNG")[:20], "invalid-file"),
        (b"\xff\xd8\xff<script>", "invalid-file"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "invalid-file"),
        (vast_png(50_000, 50_000), "too-large"),
        (vast_png(5_000, 5_000), "too-large"),
        (encoded("PNG") + b"\0" * MOST_BYTES, "too-large"),
    ):
        with pytest.raises(UsageError, match="row 3") as error:
            require_image(content, "row 3")
        assert error.value.code == code
