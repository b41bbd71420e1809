"""Result files survive a round trip."""

from __future__ import annotations

import dataclasses
import json
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save_file

from models.errors import InvalidTree
from models.method import ClassAnswers, Model, Predictions
from models.metrics.nodes import report_on_nodes
from models.preprocess.pipeline import fit
from models.tree.build import from_partition
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.predictions import save_predictions
from workers.artifacts.results import FittedModel, Stage
from workers.errors import NO_ROOM


#      0
#     / \
#    1   2      points: two in node 2, one in node 1
def small() -> Tree:
    return Tree(
        parent=np.array([-1, 0, 0], np.int32),
        height=np.array([2.0, -1.0, 0.5]),
        size=np.array([3, 1, 2]),
        name=np.array([None, "a'\n<b>", "\U0001f339"], object),
        leaf_of_point=np.array([2, 1, 2], np.int32),
        extra={"share": np.array([1.0, np.nan, 0.25])},
    ).validate()


def test_a_tree_survives_a_round_trip(tmp_path: Path) -> None:
    tree = small()
    results.save_tree(tree, tmp_path)
    back = results.load_tree(tmp_path / results.TREE, tmp_path / results.LEAF_OF_POINT)
    for column in ("parent", "height", "size", "leaf_of_point"):
        np.testing.assert_array_equal(getattr(back, column), getattr(tree, column))
        assert getattr(back, column).dtype == getattr(tree, column).dtype
    assert back.name.tolist() == tree.name.tolist()
    np.testing.assert_array_equal(back.extra["share"], tree.extra["share"])
    assert (back.kind, back.monotone) == (tree.kind, tree.monotone)


def test_a_loaded_tree_outlives_its_files(tmp_path: Path) -> None:
    results.save_tree(small(), tmp_path)
    back = results.load_tree(tmp_path / results.TREE, tmp_path / results.LEAF_OF_POINT)
    for name in (results.TREE, results.LEAF_OF_POINT):
        (tmp_path / name).unlink()
    assert back.validate().size.tolist() == [3, 1, 2]


def test_columns_and_points_must_agree(tmp_path: Path) -> None:
    results.save_tree(small(), tmp_path)
    np.save(tmp_path / results.LEAF_OF_POINT, np.array([0, 1], np.int32))
    with pytest.raises(InvalidTree):
        results.load_tree(tmp_path / results.TREE, tmp_path / results.LEAF_OF_POINT)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    results.save_tree(small(), tmp_path)
    np.save(tmp_path / results.LEAF_OF_POINT, np.array([1, None], object), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects"):
        results.load_tree(tmp_path / results.TREE, tmp_path / results.LEAF_OF_POINT)


def test_the_stages_of_a_model_stay_separate(tmp_path: Path) -> None:
    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    stages = [
        Stage("kmeans", {"n_clusters": 3}, Model({"centres": grid.T, "scale.x": grid[0]})),
        Stage("l2h", {}, Model({"centres": np.array([1, 2], np.int32)}, {"names": ["\u00e9"]})),
    ]
    prepared = fit([{"step": "pca", "n": 2}, {"step": "l2"}], grid.T, 0)[0]
    results.save_model(FittedModel(stages, ["features"], (prepared, prepared)), tmp_path)
    model = results.load_model(tmp_path / results.MODEL)
    back = model.stages
    assert model.inputs == ["features"]
    assert len(model.prepared) == 2
    for pipeline in model.prepared:
        np.testing.assert_array_equal(pipeline.apply(grid.T), prepared.apply(grid.T))
    assert [(stage.method, stage.params) for stage in back] == [
        ("kmeans", {"n_clusters": 3}),
        ("l2h", {}),
    ]
    assert set(back[0].model.arrays) == {"centres", "scale.x"}
    # Saved from an array that is not contiguous.
    np.testing.assert_array_equal(back[0].model.arrays["centres"], grid.T)
    assert back[1].model.arrays["centres"].tolist() == [1, 2]
    assert back[1].model.arrays["centres"].dtype == np.int32
    assert back[1].model.facts == {"names": ["\u00e9"]}


def test_the_arrays_of_more_than_ten_stages_stay_separate(tmp_path: Path) -> None:
    stages = [Stage("m", {}, Model({"a": np.array([number])})) for number in range(12)]
    results.save_model(FittedModel(stages, []), tmp_path)
    back = results.load_model(tmp_path / results.MODEL).stages
    assert [stage.model.arrays["a"].tolist() for stage in back] == [[n] for n in range(12)]


@pytest.mark.parametrize("n_rows", [1, 70_000])
def test_predictions(tmp_path: Path, n_rows: int) -> None:
    # Each row has the path 0, 1 but the last, which stops at the root; past 65,536 rows a second
    # batch begins.
    start = np.append(2 * np.arange(n_rows), 2 * n_rows - 1)
    node = np.tile([0, 1], n_rows)[: start[-1]]
    probability = np.where(node == 0, 1.0, 0.5)
    leaf = np.ones(n_rows, np.int64)
    leaf[-1] = 0
    save_predictions(Predictions(leaf, start, node, probability), tmp_path)
    with pa.memory_map(str(tmp_path / results.PREDICTIONS)) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.num_rows == n_rows
    rows = table.to_pylist()
    assert rows[-1] == {"leaf": 0, "path": [0], "probabilities": [1.0]}
    assert all(row == {"leaf": 1, "path": [0, 1], "probabilities": [1.0, 0.5]} for row in rows[:-1])


@pytest.mark.parametrize("top_k", [0, 2])
def test_predictions_of_a_classifier(tmp_path: Path, top_k: int) -> None:
    # Leaves 1 and 2 under an unnamed root; the last row stops there and has no label.
    n_rows = 70_000
    best = np.arange(n_rows) % 2
    start = np.append(2 * np.arange(n_rows), 2 * n_rows - 1)
    node = np.stack([np.zeros(n_rows, int), best + 1], axis=1).ravel()[: start[-1]]
    classes = ClassAnswers(
        name=["pets/cat", "dog"],
        node=np.array([1, 2]),
        start=np.append(np.arange(n_rows), n_rows - 1),
        code=best[:-1],
        top=np.stack([best, 1 - best], axis=1)[:, :top_k],
        score=np.tile([3.0, -3.0], (n_rows, 1))[:, :top_k],
        probability=np.tile([0.75, 0.25], (n_rows, 1))[:, :top_k],
    )
    placed = Predictions(best + 1, start, node, np.ones(start[-1]), classes=classes)
    names = np.array([None, "cat", "dog"], dtype=object)
    save_predictions(placed, tmp_path, names)
    with pa.memory_map(str(tmp_path / results.PREDICTIONS)) as source:
        rows = pa.ipc.open_file(source).read_all().to_pylist()
    assert (rows[-1]["node"], rows[-1]["label"], rows[-1]["labels"]) == (0, None, [])
    for row, number in zip(rows[:-1:999], best[:-1:999], strict=True):
        label = ["pets/cat", "dog"][number]
        assert (row["node"], row["label"], row["labels"]) == (number + 1, label, [label])
    assert ("top" in rows[0]) == (top_k > 0)
    if top_k:
        assert rows[-1]["top"] == [
            {"label": "dog", "node": 2, "score": 3.0, "probability": 0.75},
            {"label": "pets/cat", "node": 1, "score": -3.0, "probability": 0.25},
        ]


WRITES = {
    "tables": lambda folder: results.save_tables({"level": [{"level": 0}] * 9_000}, folder),
    "tree": lambda folder: results.save_tree(large(), folder),
    "model": lambda folder: results.save_model(
        FittedModel([Stage("l2h", {}, Model({"a": np.zeros(9_000)}))], []), folder
    ),
    "arrays": lambda folder: results.save_arrays({"a": np.zeros(9_000)}, folder),
    "predictions": lambda folder: save_predictions(
        Predictions(np.zeros(9_000, int), np.arange(9_001), np.zeros(9_000, int), np.ones(9_000)),
        folder,
    ),
}


def large() -> Tree:
    """A tree with few nodes and many points: the files have very different sizes."""
    return dataclasses.replace(small(), leaf_of_point=np.full(9_000, 1, np.int32))


@pytest.mark.parametrize("output", WRITES)
def test_a_full_disk_is_distinguished_from_a_fault(tmp_path: Path, output: str) -> None:
    """A limit on the size of a file stands in for a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, before[1]))
    try:
        with pytest.raises(OSError) as raised:
            WRITES[output](tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.errno in NO_ROOM


#     0
#   / | \
#  1  2  3      points 0 1 2 in clusters 1 1 3; none in 2
PARTITION = from_partition([0, 0, 2], 3)


def test_a_node_report_survives_a_round_trip(tmp_path: Path) -> None:
    features = np.array([[0.0], [4.0], [5.0]])
    results.save_nodes(
        report_on_nodes(PARTITION, labels=["b", "a", "b"], features=features), tmp_path
    )
    with pa.memory_map(str(tmp_path / results.NODES)) as file:
        rows = pa.ipc.open_file(file).read_all().to_pylist()
    assert [row["node"] for row in rows] == [0, 1, 2, 3]
    assert [row["size"] for row in rows] == [3, 2, 0, 1]
    assert [row["purity"] for row in rows] == [2 / 3, 0.5, None, 1.0]
    assert [row["entropy"] is None for row in rows] == [False, False, True, False]
    assert [row["n_classes"] for row in rows] == [2, 2, 0, 1]
    assert [row["majority"] for row in rows] == ["b", "a", None, "b"]
    assert [row["exemplars"] for row in rows] == [[1, 2, 0], [0, 1], [], [2]]


def test_a_report_has_every_column_for_any_inputs() -> None:
    table = results.node_table(report_on_nodes(PARTITION, labels=[7, -1, 7]))
    assert table["majority"].to_pylist() == [7, -1, None, 7]
    assert table["exemplars"].null_count == 4
    table = results.node_table(report_on_nodes(PARTITION, features=np.ones((3, 1)), n_exemplars=1))
    assert table["exemplars"].to_pylist() == [[0], [0], [], [2]]
    for name in ("purity", "entropy", "n_classes", "majority"):
        assert table[name].null_count == 4
    assert table.column_names == [
        *("node", "size", "purity", "entropy", "n_classes", "majority", "exemplars")
    ]


def test_a_calibration_of_an_earlier_version_shares_no_thresholds(tmp_path: Path) -> None:
    """Classes with few rows have the threshold of all rows, and no promise, as they had."""
    score = np.concatenate([np.arange(20) / 20, np.arange(6) / 6, np.arange(6) / 7])
    arrays = {
        "node": np.array([1, 3, 4]),
        "start": np.array([0, 20, 26, 32]),
        "score": score,
        "cut": np.zeros(0, dtype=np.int64),
    }
    facts = {
        "terms": {"per": "class", "answer": "set", "score": "lac", "alpha": 0.1},
        "temperature": 1.5,
        "by_edges": False,
        "risk": None,
    }
    save_file(arrays, tmp_path / results.CALIBRATION, {"umbel": json.dumps(facts)})
    own = results.load_calibration(tmp_path / results.CALIBRATION)
    assert own.thresholds(0.1).tolist() == [18 / 20, *[np.sort(score)[29]] * 2]
    assert own.promised(0.1).tolist() == [True, False, False]
    assert own.promise(0.1).endswith("at least 0.9, for rows of each class (1 of 3).")
    assert not own.by_size
    results.save_calibration(dataclasses.replace(own, by_size=True), tmp_path)
    assert results.load_calibration(tmp_path / results.CALIBRATION).by_size
