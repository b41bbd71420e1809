"""The tables of a classifier, against their definitions and scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer

from models.metrics.classification.scores import labels_of
from models.tree import class_paths
from tests.models.metrics.classification.rows_kit import LabelledRows, labelled_rows
from tests.models.metrics.trees_kit import tree_of

BINS = {"0": (0, 0), "1-5": (1, 5), "6-10": (6, 10), "11-20": (11, 20), "21-50": (21, 50),
        "51-100": (51, 100), ">100": (101, 10**9)}  # fmt: skip


def table_of(case: LabelledRows, name: str) -> list[dict[str, Any]]:
    evaluation = case.evaluate(metrics=[], by=[name])
    assert list(evaluation.tables) == [name]
    assert evaluation.metrics == {}
    return evaluation.tables[name]


def measured(case: LabelledRows, nodes: list[str], *, paths: bool) -> dict[str, Any]:
    """F1 over nodes, a row counting for its labels or for the paths to them."""
    each, sums, support = [], np.zeros(2), 0
    true = [case.true(row) for row in case.labelled]
    given = [case.predicted(row) for row in case.labelled]
    if paths:
        root = {"n0"}
        true, given = ([(case.paths(labels) | root) if labels else labels for labels in side]
                       for side in (true, given))  # fmt: skip
    for name in nodes:
        hits = sum(name in a and name in b for a, b in zip(true, given, strict=True))
        n_true, n_given = (sum(name in labels for labels in side) for side in (true, given))
        support += n_true
        if n_true + n_given:
            each.append(2 * hits / (n_true + n_given))
            sums += 2 * hits, n_true + n_given
    return {
        "n_occurring": len(each),
        "support": support,
        "macro_f1": pytest.approx(np.mean(each)) if each else None,
        "micro_f1": pytest.approx(sums[0] / sums[1]) if each else None,
    }


@given(case=labelled_rows())
def test_by_level(case: LabelledRows) -> None:
    table = table_of(case, "level")
    depth = case.tree.depth
    assert len(table) == depth.max() + 1
    for level, row in enumerate(table):
        nodes = [f"n{node}" for node in np.flatnonzero(depth == level)]
        unknown = ["u1", "u2"] if level == 1 else []
        expected = measured(case, [*nodes, *unknown], paths=True)
        assert row == {"level": level, "n_nodes": len(nodes), **expected}


@given(case=labelled_rows())
def test_by_node(case: LabelledRows) -> None:
    table = table_of(case, "node")
    assert [row["node"] for row in table] == list(range(case.tree.n_nodes))
    assert [row["level"] for row in table] == case.tree.depth.tolist()
    for row in table:
        name = f"n{row['node']}"
        expected = measured(case, [name], paths=True)
        assert row["f1"] == expected["macro_f1"]
        assert row["support"] == expected["support"]
        true = [
            bool(row) and name in case.paths(row) | {"n0"} for row in map(case.true, case.labelled)
        ]
        given = [
            bool(row) and name in case.paths(row) | {"n0"}
            for row in map(case.predicted, case.labelled)
        ]
        both = sum(a and b for a, b in zip(true, given, strict=True))
        assert row["n_given"] == sum(given)
        assert row["recall"] == (pytest.approx(both / sum(true)) if any(true) else None)
        assert row["precision"] == (pytest.approx(both / sum(given)) if any(given) else None)


@given(case=labelled_rows(), data=st.data())
def test_by_size_of_class(case: LabelledRows, data: st.DataObject) -> None:
    n_nodes = case.tree.n_nodes
    counts = data.draw(
        st.lists(
            st.sampled_from([0, 1, 5, 6, 10, 11, 50, 51, 100, 101, 500]),
            min_size=n_nodes,
            max_size=n_nodes,
        )
    )
    case = replace(case, tree=replace(case.tree, extra={"rows": np.array(counts)}))
    table = table_of(case, "class_size")
    names = {f"n{node}": counts[node] for node in case.class_node.tolist()}
    others = set().union(*(case.true(row) for row in case.labelled)) - names.keys()
    names |= dict.fromkeys(others, 0)
    rows = {row["training_examples"]: row for row in table}
    assert list(rows) == [name for name in BINS if name != "0" or 0 in names.values()]
    for name, row in rows.items():
        low, high = BINS[name]
        inside = [label for label, n in names.items() if low <= n <= high]
        expected = measured(case, inside, paths=False)
        assert row == {"training_examples": name, "n_classes": len(inside), **expected}


@given(case=labelled_rows())
def test_by_class(case: LabelledRows) -> None:
    table = table_of(case, "class")
    labels = [row["label"] for row in table]
    classes = [f"n{node}" for node in case.class_node.tolist()]
    assert labels[: len(classes)] == classes
    true = [case.true(row) for row in case.labelled]
    given = [case.predicted(row) for row in case.labelled]
    assert set(labels[len(classes) :]) == set().union(*true) - {*classes}
    binarizer = MultiLabelBinarizer(classes=labels)
    precision, recall, f1, support = precision_recall_fscore_support(
        binarizer.fit_transform(true), binarizer.transform(given), zero_division=np.nan
    )
    for at, row in enumerate(table):
        for name, values in (("precision", precision), ("recall", recall), ("f1", f1)):
            value = np.nan if row[name] is None else row[name]
            assert value == pytest.approx(values[at], nan_ok=True), name
        assert row["support"] == support[at]
        assert row["n_given"] == sum(row["label"] in labels for labels in given)
        known = row["label"].startswith("n")
        assert row["node"] == (int(row["label"][1:]) if known else None)
        size = case.tree.size[row["node"]] if row["label"] in classes else 0
        assert row["training_examples"] == size


@given(case=labelled_rows())
def test_confusions(case: LabelledRows) -> None:
    table = table_of(case, "confusions")
    order = np.argsort(-case.probability, axis=1, kind="stable")
    ranks = case.class_node[order].tolist()
    expected: dict[tuple[str, str | None], int] = {}
    for row in case.labelled:
        true = case.true(row)
        wrong = sorted(
            case.predicted(row) - true,
            key=lambda name: ranks[row].index(int(name[1:])),
        )
        for label in true - case.predicted(row):
            pair = (label, wrong[0] if wrong else None)
            expected[pair] = expected.get(pair, 0) + 1
    assert {(row["true"], row["predicted"]): row["count"] for row in table} == expected
    counts = [row["count"] for row in table]
    assert counts == sorted(counts, reverse=True)
    for row in table:
        for side in ("true", "predicted"):
            name = row[side]
            known = name is not None and name.startswith("n")
            assert row[f"{side}_node"] == (int(name[1:]) if known else None)


def test_doubled_names_are_shown_as_paths() -> None:
    tree = class_paths.read("a/x\nb/x\nb/y\nx/z")
    shown = labels_of(tree, np.arange(1, tree.n_nodes))
    assert sorted(shown) == ["a", "a/x", "b", "b/x", "x", "y", "z"]
    deep = class_paths.read("/".join("abcdefgh" * 8 + "c"))
    assert labels_of(deep, np.array([deep.n_nodes - 1]))[0].count("/") == 31


def test_a_deep_tree_has_a_row_for_each_level() -> None:
    # A chain of 20,000 nodes, each but the last with a leaf beside it.
    n_levels = 20_000
    spine = np.arange(0, 2 * n_levels, 2)
    parent = np.empty(2 * n_levels, dtype=np.int64)
    parent[2::2], parent[1::2], parent[0] = spine[:-1], spine, -1
    tree = tree_of(parent, np.flatnonzero(np.bincount(parent[1:], minlength=2 * n_levels) == 0))
    tree = replace(tree, name=np.array([f"n{v}" for v in range(tree.n_nodes)], dtype=object))
    classes = tree.leaves[[0, -1]]
    given = np.eye(2, dtype=bool)
    labels: list[set[str] | None] = [{f"n{classes[1]}"}] * 2
    case = LabelledRows(tree, classes, labels, given * 0.8 + 0.1, given, one_each=True)
    table = table_of(case, "level")
    assert len(table) == n_levels + 1
    # From level 2 on, one of two rows is right about the one node on its true path.
    assert table[2]["macro_f1"] == table[n_levels - 1]["macro_f1"] == pytest.approx(2 / 3)
