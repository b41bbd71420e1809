"""The classes that the labels of rows name."""

from __future__ import annotations

import numpy as np

from models.arrays import Int
from models.errors import UsageError
from models.inputs.data import listed
from models.inputs.label_sets import LabelSets
from models.tree.named import SEVERAL, NamedNodes
from models.tree.tree import Tree


def label_classes(labels: LabelSets, tree: Tree, node: Int) -> Int:
    """(n_rows,) the class of each row; -1 for rows that are not labelled.

    node : (n_classes,) of each class. A label is the name of a class's node, or its path of names;
    where no label is, all of them are numbers of classes, from 0.

    Raises UsageError for a row with several labels, and for a label that means no class, with its
    first row. O(n_nodes + length of the labels).
    """
    labels.require_at_most_one()
    class_of = np.full(tree.n_nodes, -1, dtype=np.int64)
    class_of[node] = np.arange(node.shape[0])
    nodes = NamedNodes(tree)
    occurs = np.flatnonzero(np.bincount(labels.code, minlength=len(labels.names)) > 0)
    found = np.full(len(labels.names), -1, dtype=np.int64)
    for number in occurs.tolist():
        found[number] = nodes.find(labels.names[number])
    if (found[occurs] == -1).all():
        numbers = {str(each): int(own) for each, own in enumerate(node.tolist())}
        for number in occurs.tolist():
            found[number] = numbers.get(labels.names[number], -1)
    own = np.where(found >= 0, class_of[np.maximum(found, 0)], -1)
    wrong = occurs[own[occurs] < 0]
    if wrong.size:
        number = int(wrong[0])
        first = int(np.argmax(labels.code == number))
        row = int(np.searchsorted(labels.start, first, side="right")) - 1
        why = "is no node of the tree"
        if found[number] == SEVERAL:
            why = "means several nodes of the tree"
        elif found[number] >= 0:
            why = "is an inner node of the tree"
        known = [f"node {at}" if tree.name[at] is None else tree.name[at] for at in node.tolist()]
        raise UsageError(
            f"Label {labels.names[number][:80]!r} at row {row} (counted from 0) {why}; "
            f"{wrong.size} label(s) are no class. Classes are {listed(known)}: a label is the name "
            f"of one, its path of names, or its number from 0 to {node.shape[0] - 1}.",
            code="unknown-label",
            role="labels",
            row=row,
        )
    label = np.full(labels.n_rows, -1, dtype=np.int64)
    times = np.diff(labels.start)
    label[times > 0] = own[labels.code]
    return label
