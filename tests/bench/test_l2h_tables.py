"""Cuts into training and test rows, and test rows at the leaves of a hierarchy of logits."""

from __future__ import annotations

import numpy as np
import pytest

from bench import Chosen, l2h_tables
from bench.report import Report
from models.metrics.catalogue import evaluate


def test_a_fifth_of_each_class_is_for_the_test() -> None:
    code = np.repeat([0, 1, 2], [50, 10, 2])
    split = l2h_tables.divided(code, 0)
    assert np.sort(np.concatenate([split.train, split.test])).tolist() == [*range(62)]
    assert np.bincount(code[split.test]).tolist() == [10, 2, 1]
    assert l2h_tables.divided(code, 1).test.tolist() != split.test.tolist()


def test_test_rows_lie_at_the_leaf_of_their_best_class() -> None:
    train = np.kron(np.eye(4), np.full((5, 1), 9.0))
    test = 9.0 * np.eye(4)[[3, 3, 0]]
    placed = l2h_tables.from_logits(train, test)
    tree = placed.tree.validate()
    assert (tree.n_points, tree.n_leaves) == (3, 4)
    assert tree.leaf_of_point[0] == tree.leaf_of_point[1] != tree.leaf_of_point[2]
    scores = evaluate(tree, labels=[1, 1, 0], metrics=("leaf_purity", "accuracy")).metrics
    assert scores == {"leaf_purity": 1.0, "accuracy": 1.0}


def test_a_row_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    code = np.repeat([0, 1, 2], 30)
    features = 8.0 * np.eye(3)[code] + rng.normal(size=(90, 3))
    data = l2h_tables.Labelled(features.astype(np.float32), features, code)
    makers = l2h_tables.makers(data)
    assert list(makers)[-2:] == ["L2H-TURTLE, two spaces", "L2H, classifier"]
    report = Report({})
    for called in ("Ward", "L2H-k-means", "L2H, classifier"):
        l2h_tables.measure(report, called, code, makers[called], 2)
    ward, kmeans, classifier = report.tables["l2h_tables"]
    for row in (ward, kmeans, classifier):
        assert row["accuracy"] == "1.000 +- 0.000"
    assert (ward["leaves"], kmeans["leaves"], classifier["leaves"]) == (18, 3, 3)
    assert (ward["l2h_s"] is None, kmeans["l2h_s"] > 0) == (True, True)


def test_a_part_of_the_table_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report({})
    chosen = Chosen(("digits", "absent"), ("Ward", "L2H, c"), 2)
    l2h_tables.table(report, "quick", chosen)
    rows = report.tables["l2h_tables"]
    assert [(row["what"], row["seeds"]) for row in rows] == [("digits: Ward", 2)]
    assert report.notes["l2h_tables"][0].startswith("Left out: absent")


def test_all_is_made_unless_a_part_is_chosen() -> None:
    chosen = Chosen()
    assert chosen.sets_of(("a", "b")) == ("a", "b")
    assert chosen.seeds_of(5) == 5
    assert chosen.systems_of(["x", "y"]) == ["x", "y"]
    assert (chosen.possible, Chosen(n_seeds=0).possible) == (True, False)
