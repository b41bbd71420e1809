"""The table of a report on every node, written and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from models.metrics.nodes import report_on_nodes
from models.tree.build import from_partition
from workers.artifacts.results import NODES, save_nodes, to_table

#     0
#   / | \
#  1  2  3      points 0 1 2 in clusters 1 1 3; none in 2
TREE = from_partition([0, 0, 2], 3)


def test_written_and_read_back(tmp_path: Path) -> None:
    features = np.array([[0.0], [4.0], [5.0]])
    save_nodes(report_on_nodes(TREE, labels=["b", "a", "b"], features=features), tmp_path)
    with pa.memory_map(str(tmp_path / NODES)) as file:
        rows = pa.ipc.open_file(file).read_all().to_pylist()
    assert [row["node"] for row in rows] == [0, 1, 2, 3]
    assert [row["size"] for row in rows] == [3, 2, 0, 1]
    assert [row["purity"] for row in rows] == [2 / 3, 0.5, None, 1.0]
    assert [row["entropy"] is None for row in rows] == [False, False, True, False]
    assert [row["n_classes"] for row in rows] == [2, 2, 0, 1]
    assert [row["majority"] for row in rows] == ["b", "a", None, "b"]
    assert [row["exemplars"] for row in rows] == [[1, 2, 0], [0, 1], [], [2]]


def test_integers_and_what_is_not_there() -> None:
    table = to_table(report_on_nodes(TREE, labels=[7, -1, 7]))
    assert table["majority"].to_pylist() == [7, -1, None, 7]
    assert table["exemplars"].null_count == 4
    table = to_table(report_on_nodes(TREE, features=np.ones((3, 1)), n_exemplars=1))
    assert table["exemplars"].to_pylist() == [[0], [0], [], [2]]
    for name in ("purity", "entropy", "n_classes", "majority"):
        assert table[name].null_count == 4
    assert table.column_names == [
        *("node", "size", "purity", "entropy", "n_classes", "majority", "exemplars")
    ]
