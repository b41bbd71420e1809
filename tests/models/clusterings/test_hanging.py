"""The graph as a tree: exact for nested clusterings; of others, what it loses is counted."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from models.clusterings.graph import ClusterGraph, Hanging, graph_in, graph_of, hang
from models.clusterings.levels import Level, of_table
from models.running.progress import silent
from models.tree.columns import from_table, to_table
from models.tree.tree import Tree
from tests.models.clusterings.tables_kit import random_labels, table


def hung(labels: list[list[Any]]) -> tuple[Hanging, ClusterGraph, list[Level]]:
    columns = {f"K{number}": column for number, column in enumerate(labels)}
    levels, _ = of_table(table(columns), list(columns))
    graph = graph_of(levels, silent)
    return hang(levels, graph), graph, levels


def rows_under(tree: Tree) -> list[set[int]]:
    rows: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for row, leaf in enumerate(tree.leaf_of_point.tolist()):
        node = leaf
        while node >= 0:
            rows[node].add(row)
            node = int(tree.parent[node])
    return rows


def nested_labels(rng: np.random.Generator, n_rows: int, n_levels: int) -> list[list[int]]:
    """Labels of which each level refines the one before, under names in no order."""
    labels = [rng.integers(rng.integers(1, 4), size=n_rows)]
    for _ in range(n_levels - 1):
        finer = labels[-1] * 3 + rng.integers(3, size=n_rows)
        _, code = np.unique(finer, return_inverse=True)
        labels.append(rng.permutation(code.max() + 1)[code])
    return [column.tolist() for column in labels]


@pytest.mark.parametrize("seed", range(40))
def test_nested_clusterings_give_the_exact_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = nested_labels(rng, int(rng.integers(1, 40)), int(rng.integers(2, 5)))
    hanging, graph, _ = hung(labels)
    tree = hanging.tree
    assert (hanging.n_apart, hanging.n_bare, graph.n_tied) == (0, 0, 0)
    shift = tree.n_nodes - graph.size.size
    assert shift == (len(set(labels[0])) > 1)
    for node, rows in enumerate(rows_under(tree)):
        if node < shift:
            assert rows == set(range(tree.n_points))
            continue
        column = labels[graph.level[node - shift]]
        assert rows == {
            row for row, own in enumerate(column) if str(own) == graph.label[node - shift]
        }
        assert tree.height[node] == len(labels) - 1 - graph.level[node - shift]
    assert (tree.extra["rows"] == tree.size).all()


@pytest.mark.parametrize("seed", range(40))
def test_rows_that_fit_nowhere_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = random_labels(rng, int(rng.integers(2, 25)), int(rng.integers(2, 5)))
    hanging, graph, _ = hung(labels)
    tree, shift = hanging.tree, hanging.tree.n_nodes - graph.size.size
    node_of = {
        (level, label): node + shift
        for node, (level, label) in enumerate(zip(graph.level.tolist(), graph.label, strict=True))
    }
    apart = 0
    for row in range(tree.n_points):
        node, path = int(tree.leaf_of_point[row]), []
        while node >= shift:
            path.append(node)
            node = int(tree.parent[node])
        own = [node_of[level, str(labels[level][row])] for level in range(len(labels))]
        assert path[0] == own[-1]
        apart += path[::-1] != own
    assert hanging.n_apart == apart
    last = len(labels) - 1
    bare = [node for node in tree.leaves.tolist() if graph.level[node - shift] < last]
    assert hanging.n_bare == len(bare)
    assert (tree.size[bare] == 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_graph_is_found_again_in_the_stored_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = random_labels(rng, int(rng.integers(1, 25)), int(rng.integers(2, 5)))
    labels = [[None if rng.random() < 0.1 else own for own in column] for column in labels]
    labels = [
        column if any(own is not None for own in column) else [0] * len(column) for column in labels
    ]
    hanging, graph, _ = hung(labels)
    tree = hanging.tree
    again = graph_in(from_table(to_table(tree), tree.leaf_of_point))
    order = np.lexsort((again.source, again.target))
    for field in fields(ClusterGraph):
        found, expected = getattr(again, field.name), getattr(graph, field.name)
        if field.name in ("source", "target", "rows"):
            found = found[order]
        if field.name != "n_tied":
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(20))
def test_neither_the_order_of_rows_nor_the_names_of_labels_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 30))
    labels = random_labels(rng, n_rows, 3)
    hanging, graph, _ = hung(labels)
    order = rng.permutation(n_rows)
    moved, moved_graph, _ = hung([[column[row] for row in order] for column in labels])
    np.testing.assert_array_equal(moved_graph.parent, graph.parent)
    np.testing.assert_array_equal(moved.tree.leaf_of_point, hanging.tree.leaf_of_point[order])
    # Other names in the same order change nothing; in another order, only ties may change.
    renamed, _, _ = hung([[own * 7 + 3 for own in column] for column in labels])
    np.testing.assert_array_equal(renamed.tree.parent, hanging.tree.parent)
    shuffled, shuffled_graph, _ = hung([[(-own) % 97 + 1 for own in column] for column in labels])
    assert shuffled_graph.n_tied == graph.n_tied
    assert sorted(shuffled_graph.stability.round(12)) == sorted(graph.stability.round(12))
    if not graph.n_tied:
        assert shuffled.n_apart == hanging.n_apart
        assert {
            (frozenset(rows), height)
            for rows, height in zip(
                rows_under(shuffled.tree), shuffled.tree.height.tolist(), strict=True
            )
        } == {
            (frozenset(rows), height)
            for rows, height in zip(
                rows_under(hanging.tree), hanging.tree.height.tolist(), strict=True
            )
        }


def test_clusters_under_noise_are_counted() -> None:
    # root: K0 a -> K1 x; K0 noise -> K1 y.
    hanging, _, _ = hung([["a", "a", None, None], ["x", "x", "y", "y"]])
    assert hanging.n_under_noise == 1
    assert hanging.tree.name.tolist() == [None, "K0 a", "K0 noise", "K1 x", "K1 y"]
    assert hanging.tree.extra["noise"].tolist() == [False, False, True, False, False]
