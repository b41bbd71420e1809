"""Known leaves held out: what is hidden, and what a completed tree scores."""

from __future__ import annotations

import numpy as np

from models.methods.labelled.hierarchy.completion import CompletedTree
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.validation import candidates_for_hold_out, scores
from models.running.progress import Progress, silent
from tests.models.methods.labelled.hierarchy.tree_kit import known_tree


def completed(tree: KnownTree, new_parent: int) -> CompletedTree:
    """All rows that are not labelled in one new child of a node."""
    done = CompletedTree(tree.row_node.copy())
    for node in range(tree.n_nodes):
        done.add(int(tree.parent[node]), tree.name[node], node, 0)
    done.leaf[tree.row_node == 0] = done.add(new_parent, "new 1", -1, 0)
    return done


def test_leaves_with_two_siblings_and_enough_rows_may_be_held_out() -> None:
    tree, _ = known_tree(0)
    assert candidates_for_hold_out(tree).tolist() == [4, 5, 6]


def test_a_new_node_scores_below_the_right_parent_alone() -> None:
    tree, points = known_tree(0)

    def right(known: KnownTree, rows: np.ndarray, progress: Progress) -> CompletedTree:
        assert known.is_leaf.sum() == 5
        assert "c" in known.name
        return completed(known, known.name.index("a"))

    def wrong(known: KnownTree, rows: np.ndarray, progress: Progress) -> CompletedTree:
        return completed(known, 0)

    table = scores(tree, points, [right, wrong], np.random.default_rng(0), silent)
    assert (table[1] == 0.0).all()
    # 9 rows held out, and about a quarter of the other 45.
    assert (table[0] > 2 * 9 / (9 + 9 + 30)).all()
    assert (table[0] < 1.0).all()
