r"""Each place that is shown for a new node may be answered, though nodes around it are gone.

            root                  New: X holds x1 and Y, Y holds y1 and y2. x1 lies among the leaves
      /    /  \    \              of a, so that X is left with Y alone, which it then is.
     a    b   ...   X
    /|\            / \
                 x1   Y
                     / \
                   y1   y2
"""

from __future__ import annotations

import numpy as np

from models.methods.labelled.hierarchy.answers import Answers
from models.methods.labelled.hierarchy.hanging import Hanging
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.new_nodes import NewNode


def hanging(seed: int) -> Hanging:
    rng = np.random.default_rng(seed)
    tops = 10.0 * np.eye(5)
    leaves = tops.repeat(4, axis=0)[:16] + 2.0 * rng.normal(size=(16, 5))
    new = np.array([tops[0], tops[4] + 2.0, tops[4] - 2.0])
    points = np.concatenate([leaves, new]).repeat(6, axis=0) + 0.2 * rng.normal(size=(114, 5))
    parent = np.concatenate([[-1, 0, 0, 0, 0], np.arange(1, 5).repeat(4)])
    leaf = np.arange(16).repeat(6) + 5
    names = ["root", *"abcd", *(f"leaf {own}" for own in range(16))]
    tree = KnownTree(parent, names, np.concatenate([leaf, np.zeros(18, dtype=np.int64)]))
    rows = np.arange(96, 114)
    nodes = [NewNode(rows, 0), NewNode(rows[6:], -1), NewNode(rows[:6], -1)]
    nodes += [NewNode(rows[6:12], -2), NewNode(rows[12:], -2)]
    return Hanging(tree, points, nodes, None, rng, None, 1, [None] * 5)


def test_every_place_that_is_shown_can_be_answered() -> None:
    moved = 0
    for seed in range(5):
        own = hanging(seed)
        hung = own.hung(Answers())
        moved += len(hung) == 4
        for node in hung:
            for label in node.label:
                own.answers([f"{node.row} not under {label}"] if len(node.label) > 1 else [])
    assert moved > 0
