"""A tree of a million leaves through every reader and writer."""

from __future__ import annotations

import json

import numpy as np
import pytest

from models.tree import columns, cut, linkage, nested, newick, nexus, walk
from models.tree.build import from_merges
from models.tree.tree import Tree

pytestmark = pytest.mark.slow

N_LEAVES = 1_000_000


@pytest.fixture(scope="module")
def tree() -> Tree:
    # Merge i joins the two oldest remaining parts, so the tree is as balanced as possible.
    ids = np.arange(2 * (N_LEAVES - 1)).reshape(-1, 2)
    return from_merges(ids[:, 0], ids[:, 1], np.arange(1, N_LEAVES, dtype=np.float64))


def test_newick(tree: Tree) -> None:
    again = newick.read("".join(newick.write(tree)))
    order = walk.preorder(tree)
    assert (again.height == tree.height[order]).all()
    assert again.name.tolist() == tree.name[order].tolist()


def test_nexus(tree: Tree) -> None:
    assert sum(piece.count("(") for piece in nexus.write(tree)) == N_LEAVES - 1


def test_linkage(tree: Tree) -> None:
    again = linkage.from_scipy(linkage.to_scipy(tree))
    assert (again.parent == tree.parent).all()
    assert sorted(linkage.to_hclust(tree)["order"]) == list(range(1, N_LEAVES + 1))


def test_flat_json(tree: Tree) -> None:
    again = nested.read(json.loads("".join(nested.flat_nodes(tree))))
    assert (again.parent == tree.parent).all()
    assert (again.height == tree.height).all()


def test_columns(tree: Tree) -> None:
    again = columns.from_table(columns.to_table(tree), tree.leaf_of_point)
    assert (again.parent == tree.parent).all()


def test_cut(tree: Tree) -> None:
    assert cut.cut(tree, k=1000).n_clusters == 1000
    assert walk.part(tree, 0, 10).tree.n_nodes == 2**11 - 1
