"""Labels of rows as nodes of a hierarchy."""

from __future__ import annotations

import numpy as np

from models.arrays import Int
from models.errors import UsageError, listed, shown
from models.inputs.label_sets import LabelSets
from models.tree.build import from_parents
from models.tree.named import SEVERAL, NamedNodes
from models.tree.tree import Tree

_SLASH = (
    r" In class paths a slash that belongs to a name is written '\/'; Newick and JSON trees have "
    "such names as they are."
)


def label_nodes(labels: LabelSets, hierarchy: Tree) -> Int:
    """(n_labels,) the node of each label that occurs, -1 for others.

    Raises UsageError for a label that means no node or several, with its first row.
    O(n_nodes + length of the labels).
    """
    nodes = NamedNodes(hierarchy)
    occurs = np.bincount(labels.code, minlength=len(labels.names)) > 0
    node_of_label = np.full(len(labels.names), -1, dtype=np.int64)
    for number in np.flatnonzero(occurs).tolist():
        name = labels.names[number]
        node = nodes.find(name)
        if node < 0:
            first = int(np.argmax(labels.code == number))
            row = int(np.searchsorted(labels.start, first, side="right")) - 1
            known = [str(name) for name in hierarchy.name.tolist() if name is not None]
            why = "means several nodes" if node == SEVERAL else "is no node"
            raise UsageError(
                f"Label {shown(name)} at row {row} (counted from 0) {why} of the hierarchy, whose "
                f"nodes are {listed(known)}. A label is the name of one node, or its path of names "
                f"such as 'animal/cat/lion'.{_SLASH if '/' in name else ''}",
                code="wrong-input",
                role="labels",
                row=row,
            )
        node_of_label[number] = node
    return node_of_label


def with_own_leaves(hierarchy: Tree, inner: Int) -> Tree:
    """The hierarchy without its points, with a new leaf of the same name below each inner node.

    The leaf below `inner[i]` is node `n_nodes + i`. O(n_nodes log depth).
    """
    parent = np.concatenate([hierarchy.parent, inner.astype(np.int32)])
    return from_parents(
        parent,
        np.concatenate([hierarchy.height, np.minimum(hierarchy.height[inner], 0.0)]),
        np.concatenate([hierarchy.name, hierarchy.name[inner]]),
        np.zeros(0, dtype=np.int64),
        monotone=hierarchy.monotone,
    )
