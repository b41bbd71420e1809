"""Sets of classes that hold the label, named by the fewest nodes.

These are the sets of flat conformal prediction: `lac` (Sadinle, Lei and Wasserman, "Least ambiguous
set-valued classifiers with bounded error levels", 2019) takes all classes of at least some
probability, and is smallest on average; `aps` (Romano, Sesia and Candes, "Classification with valid
and adaptive coverage", NeurIPS 2020) takes the most probable classes up to some sum. Naming a set
by the topmost nodes all of whose classes are in it changes nothing in it, so its guarantee stays;
no other nodes name it with fewer.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.arrays import Array, Float, Int, Mask
from models.calibration.climbing import ClassTree

SetScore = Literal["lac", "aps"]


def class_scores(probability: Array, score: SetScore) -> Float:
    """(n, n_classes) score of each class in each row; a class is in the set up to the threshold.

    `lac`: 1 - p. `aps`: the sum of all probabilities that are at least as large, not randomised,
    and the same for equal probabilities: sets are conservative. O(n n_classes log n_classes).
    """
    if score == "lac":
        return np.asarray(1.0 - probability, dtype=np.float64)
    order = np.argsort(-probability, axis=1, kind="stable")
    falling = np.take_along_axis(probability, order, axis=1).astype(np.float64)
    total = np.cumsum(falling, axis=1)
    last = np.ones(falling.shape, dtype=np.bool_)
    last[:, :-1] = falling[:, :-1] > falling[:, 1:]
    tied = np.where(last, total, np.inf)
    tied = np.minimum.accumulate(tied[:, ::-1], axis=1)[:, ::-1]
    result = np.empty_like(total)
    np.put_along_axis(result, order, tied, axis=1)
    return result


def class_sets(probability: Array, scores: Float, threshold: Array | float) -> Mask:
    """(n, n_classes) which classes are in the set of each row.

    threshold : one, or (n_classes,) one a class. The most probable class is always in, so that no
    set is empty: that can only add to what the sets hold.
    """
    within: Mask = scores <= threshold
    within[np.arange(within.shape[0]), probability.argmax(axis=1)] = True
    return within


def fewest_nodes(classes: ClassTree, within: Mask) -> tuple[Int, Int]:
    """The nodes that name each row's set: row i has `node[start[i]:start[i + 1]]`.

    within : (n, n_classes). A node is taken if all classes under it are in the set and not all
    under its parent are; of a chain with the same classes, the deepest. A class at an inner node
    that is in the set without the classes below cannot be named exactly, and its node is taken.
    O(n n_nodes).
    """
    n_rows = within.shape[0]
    total = np.zeros((n_rows, classes.n_classes + 1), dtype=np.int64)
    np.cumsum(within[:, classes.order], axis=1, out=total[:, 1:])
    full: Mask = total[:, classes.end] - total[:, classes.start] == classes.n_under
    full[:, classes.n_under == 0] = False
    own = np.zeros((n_rows, classes.tree.n_nodes), dtype=np.bool_)
    for each, node in enumerate(classes.node.tolist()):
        own[:, node] |= within[:, each]
    full |= own
    covered = np.zeros_like(full)
    for node in range(1, classes.tree.n_nodes):
        up = classes.tree.parent[node]
        covered[:, node] = covered[:, up] | full[:, up]
    topmost = full & ~covered
    # Down a chain that holds the same classes.
    for node in range(1, classes.tree.n_nodes):
        up = int(classes.tree.parent[node])
        if classes.n_under[node] == classes.n_under[up]:
            topmost[:, node] |= topmost[:, up]
            topmost[:, up] = False
    row, node_of = np.nonzero(topmost)
    start = np.searchsorted(row, np.arange(n_rows + 1)).astype(np.int64)
    return start, node_of.astype(np.int64)
