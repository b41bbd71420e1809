"""Sums over subtrees and paths, nearest nodes and places against walks from node to node."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.tree import parents
from models.tree.tree import Tree
from tests.models.tree.strategies_kit import SMALL_TREES, chain, random_tree


def up(tree: Tree, node: int) -> list[int]:
    """The node and its ancestors, root last."""
    nodes = [node]
    while nodes[-1]:
        nodes.append(int(tree.parent[nodes[-1]]))
    return nodes


def below(tree: Tree, node: int) -> list[int]:
    return [other for other in range(tree.n_nodes) if node in up(tree, other)]


def agree(tree: Tree, value: list[int], marked: list[bool]) -> None:
    parent, nodes = tree.parent, range(tree.n_nodes)
    values = np.array(value)
    start, child = parents.children(parent)
    assert [child[start[v] : start[v + 1]].tolist() for v in nodes] == [
        [u for u in nodes if u and parent[u] == v] for v in nodes
    ]
    under = parents.under(parent, values)
    assert under.dtype == values.dtype
    assert under.tolist() == [sum(value[u] for u in below(tree, v)) for v in nodes]
    greatest = parents.under(parent, values, np.maximum.at)
    assert greatest.tolist() == [max(value[u] for u in below(tree, v)) for v in nodes]
    assert parents.along(parent, values).tolist() == [
        sum(value[u] for u in up(tree, v)) for v in nodes
    ]
    assert parents.nearest(parent, np.array(marked)).tolist() == [
        next((u for u in up(tree, v) if marked[u]), -1) for v in nodes
    ]
    width = np.abs(values)
    places, total = parents.places(parent, width)
    free = 0
    waiting = [0]
    while waiting:
        node = waiting.pop()
        assert places[node] == free
        free += int(width[node])
        waiting += np.flatnonzero(parent == node)[::-1].tolist()
    assert total.tolist() == parents.under(parent, width).tolist()


def test_every_shape_up_to_7_leaves() -> None:
    rng = np.random.default_rng(0)
    for tree in SMALL_TREES:
        n = tree.n_nodes
        agree(tree, rng.integers(-5, 5, n).tolist(), (rng.random(n) < 0.4).tolist())


@given(random_tree(), st.data())
def test_any_tree(tree: Tree, data: st.DataObject) -> None:
    n = tree.n_nodes
    value = data.draw(st.lists(st.integers(-1000, 1000), min_size=n, max_size=n))
    agree(tree, value, data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))


def test_a_chain_of_100_000_leaves() -> None:
    # Merge i is node L - 2 - i: inner nodes 0, 1, ... are a chain.
    tree = chain(100_000)
    one = np.ones(tree.n_nodes)
    inner = np.arange(99_999)
    assert (parents.along(tree.parent, one)[inner] == inner + 1).all()
    assert (parents.under(tree.parent, one)[inner] == 199_999 - 2 * inner).all()
    top = np.arange(tree.n_nodes) == 70_000
    nearest = parents.nearest(tree.parent, top)
    assert (nearest[:70_000] == -1).all()
    assert (nearest[70_000:99_999] == 70_000).all()


def test_places_in_another_order() -> None:
    #     0          its children listed as 3, 1, 2
    #   / | \
    #  1  2  3
    parent = np.array([-1, 0, 0, 0], dtype=np.int32)
    first, child = np.array([0, 3, 3, 3, 3]), np.array([3, 1, 2])
    start, total = parents.places_of(parent, first, child, np.array([1.0, 2.0, 4.0, 8.0]))
    assert start.tolist() == [0.0, 9.0, 11.0, 1.0]
    assert total.tolist() == [15.0, 2.0, 4.0, 8.0]


def test_trees_need_no_compiler() -> None:
    """The API imports `parents`, and loading numba takes most of a second."""
    code = (
        "import pkgutil, sys, importlib, models.tree\n"
        "for module in pkgutil.iter_modules(models.tree.__path__, 'models.tree.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(sorted({'numba', 'torch', 'pyarrow'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
