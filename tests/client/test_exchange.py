"""Files and objects of other programs, in the form that they document."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from umbel_client import InputError, Tree, UmbelWarning, exchange

# 0 - 1 - 3 "rose\ttea", 4 "oak"
#   - 2 "fir"
LEAVES: list[dict[str, Any]] = [
    {"leaf": 3, "leaf_name": "rose\ttea", "cluster": 0, "node": 1, "name": "garden"},
    {"leaf": 4, "leaf_name": "oak", "cluster": 0, "node": 1, "name": "garden"},
    {"leaf": 2, "leaf_name": 'fir, "old"', "cluster": 1, "node": 2, "name": None},
    {"leaf": 5, "leaf_name": "x", "cluster": -1, "node": 5, "name": None},
]


class FixedTree:
    """A tree as the functions see it."""

    id = "tr_1"

    def leaf_clusters(self, k: int | None = None, **_: Any) -> list[dict[str, Any]]:
        return LEAVES

    def newick(self, labels: str = "name") -> str:
        return f"({labels});"

    def assignments(self, k: int) -> np.ndarray[Any, Any]:
        return np.array([0, 0, 1, -1])


TREE = cast(Tree, FixedTree())


def test_itol_reads_names_and_clusters_of_leaves() -> None:
    files = exchange.itol(TREE, 2)
    assert files["tree.nwk"] == "(id);"
    assert files["labels.txt"] == (
        'LABELS\nSEPARATOR TAB\nDATA\n3\trose tea\n4\toak\n2\tfir, "old"\n5\tx\n'
    )
    head, _, rows = files["clusters.txt"].partition("DATA\n")
    assert head.startswith("DATASET_COLORSTRIP\nSEPARATOR TAB\nDATASET_LABEL\t")
    assert [row.split("\t") for row in rows.splitlines()] == [
        ["3", exchange.COLOURS[0], "garden"],
        ["4", exchange.COLOURS[0], "garden"],
        ["2", exchange.COLOURS[1], "cluster 1"],
        ["5", exchange.REST, "noise"],
    ]


def test_microreact_reads_a_table_of_leaves() -> None:
    files = exchange.microreact(TREE, 2)
    rows = list(csv.DictReader(io.StringIO(files["data.csv"])))
    assert [row["id"] for row in rows] == ["3", "4", "2", "5"]
    assert rows[2]["name"] == 'fir, "old"'
    assert rows[0]["cluster__colour"] == exchange.COLOURS[0]


def sure(probability: float, label: str | None = "cat", **more: Any) -> dict[str, Any]:
    return {"label": label, "probabilities": [1.0, probability], **more}


def test_what_is_unsure_becomes_tasks_whose_annotations_come_back() -> None:
    predictions = [sure(0.9), sure(0.4, id="b"), sure(0.6, "dog"), sure(0.4)]
    tasks = exchange.label_studio_tasks(list("abcd"), predictions, n=3)
    assert [task["data"][exchange.ROW] for task in tasks] == [1, 3, 2]
    assert tasks[0]["data"] == {"text": "b", exchange.ROW: 1, exchange.ID: "b"}
    assert tasks[2]["predictions"][0]["result"] == [
        {
            "from_name": "label",
            "to_name": "text",
            "type": "choices",
            "value": {"choices": ["dog"]},
        }
    ]

    def annotated(at: str, *choices: str, **more: Any) -> dict[str, Any]:
        value = {"choices": list(choices)}
        chosen = {"from_name": "label", "to_name": "text", "type": "choices", "value": value}
        return {"updated_at": at, "was_cancelled": False, "result": [chosen], **more}

    first, second, third = tasks
    export = [
        {**first, "annotations": [annotated("2026-02", "dog"), annotated("2026-01", "cat")]},
        {**second, "annotations": [annotated("2026-03", "owl", was_cancelled=True)]},
        {**third, "annotations": [annotated("2026-01", "dog", "fox")]},
    ]
    with pytest.warns(UmbelWarning, match=r"1 rows differ \(row 1"):
        labels = exchange.label_studio_labels(export, 4)
    assert labels == [None, "dog", ["dog", "fox"], None]
    smaller: list[dict[str, Any]] = [
        {"text": "b", exchange.ROW: 1, "label": "dog"},
        {exchange.ROW: 0, "label": None},
    ]
    assert exchange.label_studio_labels(smaller, 2) == [None, "dog"]


@pytest.mark.parametrize("row", [None, -1, 4, True, "1", 1.0])
def test_tasks_of_other_rows_are_refused(row: object) -> None:
    with pytest.raises(InputError, match="a number of a row from 0 to 3"):
        exchange.label_studio_labels([{"data": {exchange.ROW: row}, "annotations": []}], 4)


def test_predictions_without_probabilities_are_refused() -> None:
    with pytest.raises(InputError, match="no probability"):
        exchange.label_studio_tasks(["a"], [{"label": "x"}])
    with pytest.raises(InputError, match="2 of them and 1 predictions"):
        exchange.label_studio_tasks(["a", "b"], [sure(0.5)])


class Merges:
    """A data frame as `BERTopic.hierarchical_topics` gives it."""

    def __init__(self, *rows: tuple[str, str, str, float]) -> None:
        self._rows = rows

    def to_dict(self, how: str) -> list[dict[str, Any]]:
        assert how == "records"
        return [
            {
                "Parent_ID": parent,
                "Parent_Name": f"{parent}_parent",
                "Topics": [],
                "Child_Left_ID": left,
                "Child_Left_Name": f"{left}_left",
                "Child_Right_ID": right,
                "Child_Right_Name": f"{right}_right",
                "Distance": distance,
            }
            for parent, left, right, distance in self._rows
        ]


def test_the_topics_of_bertopic_are_a_tree_and_labels() -> None:
    made = exchange.bertopic_hierarchy(Merges(("4", "3", "2", 0.9), ("3", "0", "1", 0.5)))
    # 4 - 3 - 0, 1
    #   - 2
    assert made["nodes"] == [
        {"id": 0, "parent": None, "name": "4_parent", "height": 0.9},
        {"id": 1, "parent": 0, "name": "3_parent", "height": 0.5},
        {"id": 2, "parent": 1, "name": "0_left", "height": 0.0},
        {"id": 3, "parent": 1, "name": "1_right", "height": 0.0},
        {"id": 4, "parent": 0, "name": "2_right", "height": 0.0},
    ]
    for wrong in (
        Merges(("4", "3", "2", 0.9), ("5", "0", "1", 0.5)),
        Merges(("4", "3", "3", 0.9)),
        Merges(("4", "3", "2", 0.9), ("4", "0", "1", 0.5)),
        Merges(("4", "3", "2", 0.9), ("6", "7", "1", 0.5), ("7", "6", "0", 0.5)),
    ):
        with pytest.raises(InputError):
            exchange.bertopic_hierarchy(wrong)
    model = SimpleNamespace(topics_=[1, -1, 0], topic_labels_={0: "0_cat", 1: "1_dog", -1: "-1_x"})
    assert exchange.bertopic_labels(model) == ["1_dog", None, "0_cat"]


def test_labels_that_cleanlab_doubts_are_left_out() -> None:
    labels = np.array([0, 1, 1])
    assert exchange.cleanlab_labels(labels, np.array([False, True, False])) == [0, None, 1]
    assert exchange.cleanlab_labels(list("abc"), np.array([2, 0])) == [None, "b", None]
    for wrong in (np.array([True]), np.array([3])):
        with pytest.raises(InputError):
            exchange.cleanlab_labels(labels, wrong)

    frame = Frame({"is_label_issue": np.array([False, False, True])})
    assert exchange.cleanlab_labels(labels, frame) == [0, 1, None]


class Frame(dict[str, Any]):
    """A data frame, as far as its columns are read."""

    @property
    def columns(self) -> list[str]:
        return list(self)


class Column(list[Any]):
    """A column of a data frame."""

    def tolist(self) -> list[Any]:
        return list(self)

    def isna(self) -> Column:
        return Column(value is None for value in self)


class Rows:
    """Rows as `datasets.Dataset` has them."""

    def __init__(self, columns: dict[str, list[Any]], names: dict[str, list[str]]) -> None:
        self._columns = columns
        self.features = {name: SimpleNamespace(names=names.get(name)) for name in columns}
        self.column_names = list(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]


def test_columns_of_a_hugging_face_dataset() -> None:
    columns: dict[str, list[Any]] = {
        "text": ["a", "b"],
        "label": [1, -1],
        "vector": [[1.0, 2.0], [3.0, 4.0]],
    }
    made = Rows(columns, {"label": ["cat", "dog"]})
    inputs = exchange.hugging_face(made, features="vector", labels="label", documents="text")
    np.testing.assert_array_equal(inputs["features"], [[1, 2], [3, 4]])
    assert (inputs["labels"], inputs["documents"]) == (["dog", None], ["a", "b"])
    with pytest.raises(InputError, match="no column 'rows'; there are 'text'"):
        exchange.hugging_face(made, features="rows")


def test_an_anndata() -> None:
    pytest.importorskip("pandas")
    adata = SimpleNamespace(
        X=np.arange(8.0).reshape(4, 2),
        obs=Frame(kind=Column(["t", None, "b", "b"])),
        obsm={"X_pca": np.ones((4, 1))},
        layers={},
        uns={},
        n_obs=4,
    )
    inputs = exchange.from_anndata(adata, use="X_pca", labels="kind")
    assert inputs["features"].shape == (4, 1)
    assert inputs["labels"] == ["t", None, "b", "b"]
    with pytest.raises(InputError, match="there are 'X', 'X_pca'"):
        exchange.from_anndata(adata, use="X_umap")
    with pytest.raises(InputError, match="no column 'sort'"):
        exchange.from_anndata(adata, labels="sort")
    exchange.into_anndata(adata, TREE, [2])
    assert list(adata.obs["umbel_2"]) == ["0", "0", "1", "noise"]
    assert adata.uns["umbel"]["newick"] == "(name);"
    adata.n_obs = 2
    with pytest.raises(InputError, match="4 rows, and the AnnData 2 observations"):
        exchange.into_anndata(adata, TREE, [2])
