"""Arrow tables: round trips, also through a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from models.errors import InvalidTree
from models.tree.build import from_parents, from_partition
from models.tree.columns import from_table, to_table
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import any_name, chain, random_tree


@pytest.fixture
def tree() -> Tree:
    #    0
    #   / \
    #  1   2
    return from_parents([-1, 0, 0], [1, 0, 0], [None, "a", ""], [1, 2, 2])


def _same(one: Tree, other: Tree) -> None:
    for column in ("parent", "height", "size", "name", "leaf_of_point"):
        mine, theirs = getattr(one, column), getattr(other, column)
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()
    assert (one.kind, one.monotone) == (other.kind, other.monotone)
    assert list(one.extra) == list(other.extra)


def test_table_of_a_small_tree(tree: Tree) -> None:
    table = to_table(tree)
    assert table.to_pydict() == {
        "parent": [-1, 0, 0],
        "height": [1, 0, 0],
        "size": [3, 1, 2],
        "name": [None, "a", ""],
    }
    assert table.schema.metadata == {b"kind": b"hierarchy", b"monotone": b"true"}


@given(random_tree(names=any_name))
def test_random_trees_come_back(tree: Tree) -> None:
    _same(from_table(to_table(tree), tree.leaf_of_point), tree)


def test_kind_and_monotone_come_back(tree: Tree) -> None:
    partition = from_partition([0, 2], 3)
    _same(from_table(to_table(partition), partition.leaf_of_point), partition)
    falls = from_parents([-1, 0], [0, 1], [None, "a"], monotone=False)
    _same(from_table(to_table(falls), falls.leaf_of_point), falls)


def test_extra_columns_come_back(tree: Tree) -> None:
    mixed = np.empty(3, dtype=object)
    mixed[:] = [None, [1, 2.5], {"x": ["é"]}]
    texts = np.array(["a", None, "c"], dtype=object)
    extra = {
        "float": np.array([0.5, np.nan, np.inf]),
        "float32": np.array([1, 2, 3], dtype=np.float32),
        "int": np.array([1, 2, 3]),
        "flag": np.array([True, False, True]),
        "matrix": np.arange(6, dtype=np.float64).reshape(3, 2),
        "texts": texts,
        "mixed": mixed,
    }
    again = from_table(to_table(replace(tree, extra=extra)), tree.leaf_of_point).extra
    assert list(again) == list(extra)
    for key, column in extra.items():
        assert again[key].dtype == column.dtype
        np.testing.assert_array_equal(again[key], column)


def test_a_file_comes_back_in_batches(tree: Tree, tmp_path: Path) -> None:
    tree = from_partition([0] * 5, 1000)
    tree = replace(tree, extra={"m": np.arange(2002.0).reshape(1001, 2), "b": np.arange(1001) > 5})
    table = to_table(tree)
    path = tmp_path / "tree.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    with pa.memory_map(str(path)) as source:
        read = pa.ipc.open_file(source).read_all()
    again = from_table(read, tree.leaf_of_point)
    _same(again, tree)
    for key, column in tree.extra.items():
        np.testing.assert_array_equal(again.extra[key], column)


def test_tables_that_are_no_tree_are_refused(tree: Tree) -> None:
    table = to_table(tree)
    with pytest.raises(InvalidTree, match="no column 'size'"):
        from_table(table.drop_columns("size"), tree.leaf_of_point)
    with pytest.raises(InvalidTree, match="'height' has nulls"):
        from_table(table.set_column(1, "height", pa.array([1.0, None, 0.0])), tree.leaf_of_point)
    with pytest.raises(InvalidTree, match="kind 'forest'"):
        from_table(table.replace_schema_metadata({"kind": "forest"}), tree.leaf_of_point)
    with pytest.raises(InvalidTree, match="size of node"):
        from_table(table, tree.leaf_of_point[:1])
    with pytest.raises(InvalidTree, match="extra column 'size'"):
        to_table(replace(tree, extra={"size": np.zeros(3)}))


def test_a_chain_of_a_hundred_thousand() -> None:
    tree = chain(100_000)
    _same(from_table(to_table(tree), tree.leaf_of_point), tree)
