"""Levels from tables: which columns, their order, labels, noise, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from models.clusterings import levels as levels_module
from models.clusterings.levels import Level, of_cuts, of_table
from models.errors import UsageError
from models.inputs.items import ItemColumn, ItemTable
from models.tree import newick
from tests.models.clusterings.tables_kit import column, table


def split(k: int, n_rows: int = 24) -> list[int]:
    return [row % k for row in range(n_rows)]


def names(levels: list[Level]) -> list[str]:
    return [level.name for level in levels]


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        (["res.0.2", "res.1", "res.0.4"], ["res.0.2", "res.0.4", "res.1"]),
        (["K10", "K2", "K9"], ["K2", "K9", "K10"]),
        (["leiden_0.5", "leiden_1.0", "leiden_0.25"], ["leiden_0.25", "leiden_0.5", "leiden_1.0"]),
        (["leiden_0_5", "leiden_1_0", "leiden_0_25"], ["leiden_0_25", "leiden_0_5", "leiden_1_0"]),
        (["sc3_10_clusters", "sc3_9_clusters"], ["sc3_9_clusters", "sc3_10_clusters"]),
        (["RNA_snn_res.0.8", "RNA_snn_res.0.1"], ["RNA_snn_res.0.1", "RNA_snn_res.0.8"]),
        (["0.2", "10", "3"], ["0.2", "3", "10"]),
        (["r1e-2", "r1e-3"], ["r1e-3", "r1e-2"]),
    ],
)
def test_levels_are_ordered_by_the_numbers_in_their_names(
    given: list[str], ordered: list[str]
) -> None:
    # As many clusters as the rank of the number.
    columns = {name: split(2 + ordered.index(name)) for name in given}
    levels, warnings = of_table(table(columns), None)
    assert names(levels) == ordered
    assert len(warnings) == 1
    assert "ordered by the numbers in their names" in warnings[0]
    straight, silence = of_table(table({name: columns[name] for name in ordered}), None)
    assert names(straight) == ordered
    assert silence == []


def test_names_without_numbers_are_ordered_by_clusters_and_warned_of() -> None:
    levels, warnings = of_table(
        table({"fine": split(6), "coarse": split(2), "mid": split(4)}), None
    )
    assert names(levels) == ["coarse", "mid", "fine"]
    assert "by their number of clusters: coarse (2), mid (4), fine (6)" in warnings[0]


def test_numbers_that_grow_as_clusters_become_fewer_are_taken_backwards() -> None:
    levels, warnings = of_table(table({"eps1": split(6), "eps2": split(4), "eps3": split(2)}), None)
    assert names(levels) == ["eps3", "eps2", "eps1"]
    assert "backwards" in warnings[0]


def test_a_level_with_fewer_clusters_than_the_one_before_is_warned_of() -> None:
    _, warnings = of_table(table({"r1": split(2), "r2": split(5), "r3": split(4)}), None)
    assert warnings == ["Level 'r3' has fewer clusters (4) than the level before it, 'r2' (5)."]


def test_requested_levels_are_taken_as_they_are() -> None:
    given = table({"K2": split(2), "note": split(3), "K4": split(4)})
    levels, warnings = of_table(given, ["K4", "note"])
    assert names(levels) == ["K4", "note"]
    assert warnings == []


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_columns_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for family in (["K2", "K5", "K3"], ["a", "b", "c"]):
        columns = {name: rng.integers(6, size=20).tolist() for name in family}
        order = rng.permutation(family).tolist()
        one, _ = of_table(table(columns), None)
        other, _ = of_table(table({name: columns[name] for name in order}), None)
        assert names(one) == names(other)


def test_columns_beside_a_numbered_set_are_left_out_and_warned_of() -> None:
    columns: dict[str, Any] = {
        "barcode": [f"cell-{row}" for row in range(24)],
        "umap_1": [row / 7 for row in range(24)],
        "umap_2": [row / 9 for row in range(24)],
        "res.0.1": split(2),
        "batch": split(2),
        "res.0.2": split(3),
    }
    levels, warnings = of_table(table(columns), None)
    assert names(levels) == ["res.0.1", "res.0.2"]
    assert "4 column(s) are taken for no level" in warnings[0]
    for name in ("barcode", "umap_1", "umap_2", "batch"):
        assert repr(name) in warnings[0]


@pytest.mark.parametrize("name", ["barcode", "column 0"])
def test_ids_of_rows_are_no_level(name: str) -> None:
    ids = list(range(24)) if name == "column 0" else [f"cell-{row}" for row in range(24)]
    levels, warnings = of_table(table({name: ids, "coarse": split(2), "fine": split(4)}), None)
    assert names(levels) == ["coarse", "fine"]
    assert name in warnings[0]
    assert "another value in every row" in warnings[0]


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, -1, 1, 0, -1],
        [0, 1, None, 1, 0, None],
        ["a", "b", "-1", "b", "a", "NA"],
        ["a", "b", "noise", "b", "a", " NaN "],
        ["a", "b", None, "b", "a", ""],
    ],
)
def test_rows_without_a_label_are_noise(labels: list[Any]) -> None:
    levels, warnings = of_table(table({"K1": [0] * 6, "K2": labels}), None)
    assert levels[1].noise
    assert levels[1].n_clusters == 2
    assert levels[1].labels[2] == "noise"
    assert levels[1].code.tolist() == [0, 1, 2, 1, 0, 2]
    assert not levels[0].noise
    assert warnings == [
        "Level 'K2': 2 row(s) have no label (missing, -1, or a text such as NA or 'noise'); they "
        "are the cluster 'noise' of that level."
    ]


def test_labels_are_ordered_as_numbers_then_as_texts() -> None:
    texts = ["c10", "c9", "b", "10", "9", "2.5", "C"]
    levels, _ = of_table(table({"K1": split(2, 7), "K2": texts}), None)
    assert levels[1].labels == ["2.5", "9", "10", "C", "b", "c9", "c10"]
    assert [levels[1].labels[code] for code in levels[1].code] == texts


def test_zero_of_either_sign_is_one_label() -> None:
    levels, _ = of_table(table({"K1": [0.0, -0.0, 1.0], "K2": [0, 1, 2]}), None)
    assert levels[0].labels == ["0", "1"]


def refused(given: ItemTable, wanted: list[str] | None = None) -> UsageError:
    with pytest.raises(UsageError) as caught:
        of_table(given, wanted)
    return caught.value


def test_columns_that_hold_no_labels_are_refused_by_their_place() -> None:
    error = refused(table({"a": split(2, 4), "b": [0, 1, 0.5, 1]}))
    assert "Column 'b' has the number 0.5 at row 2 (counted from 0)" in error.detail
    assert error.where == {"role": "items"}
    assert "row 1" in refused(table({"a": split(2, 4), "b": [0, 2.0**60, 1, 1]})).detail
    day = ItemColumn("b", "date", pa.array([0] * 4, pa.timestamp("us", "UTC")))
    assert "has dates" in refused(ItemTable((column("a", split(2, 4)), day))).detail
    assert "a label for no row" in refused(table({"K1": [-1, None], "K2": [0, 1]})).detail
    long = refused(table({"K1": ["a", "b" * 201], "K2": [0, 1]}))
    assert (long.code, "201 characters at row 1" in long.detail) == ("too-large", True)


def test_too_few_levels_and_unknown_or_doubled_ones_are_refused() -> None:
    assert refused(table({"K1": [0, 1]})).code == "wrong-shape"
    error = refused(table({"K1": [0, 1], "K2": [0, 1]}), ["K1", "K7"])
    assert error.where == {"parameter": "levels"}
    assert "'K7', which is no column; the columns are 'K1', 'K2'" in error.detail
    assert "twice" in refused(table({"K1": [0, 1], "K2": [0, 1]}), ["K1", "K1"]).detail
    two_sets = table({"a1": [0, 1], "a2": [0, 1], "b1": [0, 1], "b2": [0, 1]})
    assert "several sets of columns" in refused(two_sets).detail


def test_too_many_clusters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels_module, "MOST_CLUSTERS", 5)
    of_table(table({"K1": split(2), "K2": split(3)}), None)
    assert refused(table({"K1": split(2), "K2": split(4)})).code == "too-large"


def test_cuts_of_a_tree_are_levels() -> None:
    # ((a, b), (c, d)) with the left pair lower.
    tree = newick.read("((a:1,b:1)x:2,(c:2,d:2)y:1);")
    levels, warnings = of_cuts(tree, [2, 3])
    assert names(levels) == ["2 clusters", "3 clusters"]
    assert warnings == []
    assert [[level.labels[code] for code in level.code] for level in levels] == [
        ["x", "x", "y", "y"],
        ["x", "x", "c", "d"],
    ]
