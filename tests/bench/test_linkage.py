"""The cost of a tree on the graph of nearest rows, in the table of `ghhc` and average linkage."""

from __future__ import annotations

import numpy as np
import pytest

from bench import Chosen, linkage
from bench.report import Report
from models.inputs.data import Data
from models.registry import method
from models.tree.tree import Tree


def above(tree: Tree, node: int) -> list[int]:
    """The node and all its ancestors, itself first."""
    path = [node]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path


def test_the_cost_on_the_graph_of_neighbours_is_the_share_below_the_common_ancestor() -> None:
    points = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    hac = method("hac")
    tree = hac.fit(Data({"features": points}), hac.Params(linkage="average")).tree
    near = linkage.neighbours(points)
    squares = np.square(points[:, None] - points[None]).sum(axis=2) + np.diag(np.full(30, np.inf))
    assert np.array_equal(near, squares.argsort(axis=1)[:, : linkage.N_NEIGHBORS])
    paths = [above(tree, leaf) for leaf in tree.leaf_of_point]
    shares = []
    for point, others in enumerate(near):
        for other in others:
            common = next(node for node in paths[point] if node in paths[other])
            shares.append(np.mean([common in path for path in paths]))
    assert linkage.graph_cost(tree, near) == pytest.approx(np.mean(shares))


@pytest.mark.needs("torch")
def test_ghhc_reports_the_same_cost() -> None:
    points = linkage.scaled(np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32))
    ghhc = method("ghhc")
    params = ghhc.Params(n_internal=12, max_iter=20, scaling="none")
    fitted = ghhc.fit(Data({"features": points}), params, threads=1)
    cost = linkage.graph_cost(fitted.tree, linkage.neighbours(points))
    assert cost == pytest.approx(fitted.metrics["cost"])


def test_chosen_sets_that_are_absent_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(linkage, "loaded", lambda name: None)
    report = Report({})
    linkage.table(report, "quick", Chosen(sets=("vowel",), n_seeds=1))
    assert list(report.notes) == ["linkage"]
    assert "vowel" in capsys.readouterr().out
