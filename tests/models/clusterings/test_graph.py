"""The graph of clusters against its definitions, written out."""

from __future__ import annotations

import numpy as np
import pytest

from models.clusterings import graph as graph_module
from models.clusterings.graph import ClusterGraph, graph_of
from models.clusterings.levels import Level, of_table
from models.errors import UsageError
from models.running.progress import silent
from tests.models.clusterings.tables_kit import random_labels, table

SEEDS = range(60)


def levels_of(labels: list[list[int]]) -> list[Level]:
    names = [f"K{number}" for number in range(len(labels))]
    return of_table(table(dict(zip(names, labels, strict=True))), names)[0]


def stability(labels: list[list[int]], level: int, cluster: int) -> float:
    """`calc_sc3_stability_single` of clustree, by sets of rows."""
    rows = {row for row, label in enumerate(labels[level]) if label == cluster}
    total = 0.0
    for other, column in enumerate(labels):
        if other == level:
            continue
        met = {column[row] for row in rows}
        for label in met:
            theirs = {row for row, own in enumerate(column) if own == label}
            total += len(rows & theirs) / (len(theirs) * len(met) ** 2)
    return total / len(labels)


def rows_of(graph: ClusterGraph, labels: list[list[int]], node: int) -> set[int]:
    column = labels[graph.level[node]]
    return {row for row, label in enumerate(column) if str(label) == graph.label[node]}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cells", [0, 1 << 22], ids=["sorted", "counted"])
def test_nodes_edges_and_stability_are_as_defined(
    seed: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_module, "_CELLS", cells)
    rng = np.random.default_rng(seed)
    labels = random_labels(rng, int(rng.integers(1, 30)), int(rng.integers(2, 6)))
    graph = graph_of(levels_of(labels), silent)
    expected = [(level, label) for level, own in enumerate(labels) for label in sorted(set(own))]
    assert [
        (level, int(label)) for level, label in zip(graph.level, graph.label, strict=True)
    ] == expected
    rows = [rows_of(graph, labels, node) for node in range(len(expected))]
    assert graph.size.tolist() == list(map(len, rows))
    for node, (level, label) in enumerate(expected):
        assert graph.stability[node] == pytest.approx(stability(labels, level, label), abs=1e-12)
    edges = {
        (source, target): len(rows[source] & rows[target])
        for target in range(len(rows))
        for source in range(len(rows))
        if graph.level[target] == graph.level[source] + 1 and rows[source] & rows[target]
    }
    found = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    assert dict(zip(found, graph.rows.tolist(), strict=True)) == edges
    for edge, count in enumerate(graph.rows.tolist()):
        source, target = graph.source[edge], graph.target[edge]
        assert graph.in_proportion[edge] == count / len(rows[target])
        assert graph.out_proportion[edge] == count / len(rows[source])
        assert graph.core[edge] == (graph.parent[target] == source)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_parent_has_most_rows_then_is_the_smaller_then_the_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = random_labels(rng, int(rng.integers(2, 12)), 3)
    graph = graph_of(levels_of(labels), silent)
    rows = [rows_of(graph, labels, node) for node in range(graph.size.size)]
    n_tied = 0
    for node, own in enumerate(rows):
        before = [
            other for other in range(len(rows)) if graph.level[other] == graph.level[node] - 1
        ]
        if not before:
            assert graph.parent[node] == -1
            continue
        best = min(before, key=lambda other: (-len(rows[other] & own), len(rows[other]), other))
        assert graph.parent[node] == best
        most = max(len(rows[other] & own) for other in before)
        n_tied += sum(len(rows[other] & own) == most for other in before) > 1
    assert graph.n_tied == n_tied


def test_a_tie_goes_to_the_cluster_of_which_the_rows_are_the_larger_share() -> None:
    # K0: 0 has 3 rows, 1 has 2; in K1, 5 takes two rows of each.
    levels = levels_of([[0, 0, 0, 1, 1], [4, 5, 5, 5, 5]])
    graph = graph_of(levels, silent)
    assert graph.label == ["0", "1", "4", "5"]
    assert (graph.parent.tolist(), graph.n_tied) == ([-1, -1, 0, 1], 1)


def test_identical_levels_are_as_stable_as_can_be() -> None:
    """In clustree the index of such clusters is (n - 1) / n."""
    graph = graph_of(levels_of([[0, 0, 1]] * 4), silent)
    np.testing.assert_allclose(graph.stability, 0.75)


def test_too_many_edges_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "MOST_EDGES", 3)
    graph_of(levels_of([[0, 0, 1], [0, 1, 2]]), silent)
    with pytest.raises(UsageError) as caught:
        graph_of(levels_of([[0, 0, 1, 1], [0, 1, 0, 1]]), silent)
    assert caught.value.code == "too-large"
