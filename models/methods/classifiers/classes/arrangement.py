"""Labels of rows matched to the leaves of a hierarchy: the classes and the tree over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Int, Mask
from models.errors import UsageError, listed
from models.inputs.label_sets import LabelSets, label_nodes, with_own_leaves
from models.tree.build import from_partition
from models.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The classes of the rows.

    tree : over the classes, without points. node : (n_classes,) the leaf of each class, ascending.
    names : (n_classes,) what the labels call each class: its name, or its path of names.
    start, code : row i has the classes `code[start[i]:start[i + 1]]`, ascending.
    unlabelled : (n_rows,) whether a row's labels are unknown.
    warnings : what was changed.
    """

    tree: Tree
    node: Int
    names: list[str]
    start: Int
    code: Int
    unlabelled: Mask
    warnings: tuple[str, ...] = ()


def flat(labels: LabelSets) -> Arrangement:
    """The labels that occur are the classes, under one root."""
    occurs = np.bincount(labels.code, minlength=len(labels.names)) > 0
    names = [name for name, occurring in zip(labels.names, occurs, strict=True) if occurring]
    _require_two(len(names))
    tree = from_partition(np.zeros(0, dtype=np.int64), len(names), names=names)
    code = (np.cumsum(occurs) - 1)[labels.code]
    return Arrangement(tree, tree.leaves, names, labels.start, code, labels.unlabelled)


def arranged(labels: LabelSets, hierarchy: Tree, leave_out_empty: bool) -> Arrangement:
    """The labels matched to the hierarchy.

    A label means the node of its name, or at the end of its path of names. Rows at an inner node
    get a leaf of that name below it. A label above another one of the same row is implied and left
    out.

    leave_out_empty : whether leaves without an example are never predicted; else they are refused.

    Raises UsageError for a label that means no node or several, with its first row; for leaves
    without an example; for fewer than two classes.
    O((n_labels + n_nodes) log n_nodes + depth).
    """
    node_of_label = label_nodes(labels, hierarchy)
    start, node, implied = _deepest(labels, node_of_label, hierarchy)
    inner = np.unique(node[hierarchy.n_children[node] > 0])
    whole = with_own_leaves(hierarchy, inner)
    moved = np.arange(whole.n_nodes)
    moved[inner] = hierarchy.n_nodes + np.arange(inner.size)
    node = moved[node]
    times = np.bincount(node, minlength=whole.n_nodes)
    classes = whole.leaves[times[whole.leaves] > 0]
    empty = whole.leaves[times[whole.leaves] == 0]
    warnings = []
    if empty.size:
        names = listed([str(whole.name[leaf]) for leaf in empty.tolist()])
        if not leave_out_empty:
            raise UsageError(
                f"{empty.size} class(es) of the hierarchy have no example among the labels: "
                f"{names}. Give examples, leave them out of the hierarchy, or set "
                "'empty_classes' to 'leave-out'.",
                code="too-few-points",
                role="labels",
            )
        warnings.append(f"{empty.size} class(es) have no example and are never predicted: {names}.")
    _require_two(classes.size)
    if inner.size:
        names = listed([str(hierarchy.name[at]) for at in inner.tolist()])
        warnings.append(
            f"Rows with the label of an inner node got a leaf of that name below it: {names}."
        )
    if implied:
        warnings.append(
            f"{implied} label(s) above another label of the same row are implied by it and were "
            "left out."
        )
    number = np.full(whole.n_nodes, -1, dtype=np.int64)
    number[classes] = np.arange(classes.size)
    return Arrangement(
        tree=whole,
        node=classes,
        names=_names(labels, node_of_label, moved, whole, classes),
        start=start,
        code=_ascending(start, number[node]),
        unlabelled=labels.unlabelled,
        warnings=tuple(warnings),
    )


def _names(
    labels: LabelSets, node_of_label: Int, moved: Int, whole: Tree, classes: Int
) -> list[str]:
    """What labels call each class: its name where one does, else the first that means it."""
    name_of_node: dict[int, str] = {}
    for name, node in zip(labels.names, node_of_label.tolist(), strict=True):
        if node >= 0 and (moved[node] not in name_of_node or name == whole.name[moved[node]]):
            name_of_node[int(moved[node])] = name
    return [name_of_node.get(leaf, str(whole.name[leaf])) for leaf in classes.tolist()]


def _require_two(n_classes: int) -> None:
    if n_classes < 2:
        raise UsageError(
            f"Input 'labels' has {n_classes} class(es); at least two are needed.",
            code="too-few-points",
            role="labels",
        )


def _deepest(labels: LabelSets, node_of_label: Int, hierarchy: Tree) -> tuple[Int, Int, int]:
    """The nodes of each row in compressed rows, distinct and none above another of its row.

    Returns `start`, `node` and the number of labels that were left out.
    """
    n_nodes = hierarchy.n_nodes
    row = np.repeat(np.arange(labels.n_rows), np.diff(labels.start))
    if row.size == labels.n_rows and (np.diff(labels.start) <= 1).all():
        return labels.start, node_of_label[labels.code], 0
    own = np.unique(row * n_nodes + node_of_label[labels.code])
    above = own
    implied = np.zeros(own.size, dtype=bool)
    parent = hierarchy.parent.astype(np.int64)
    while above.size:
        at_row, at_node = np.divmod(above, n_nodes)
        at_node = parent[at_node]
        above = np.unique((at_row * n_nodes + at_node)[at_node >= 0])
        implied |= np.isin(own, above, assume_unique=True)
    kept = own[~implied]
    start = np.zeros(labels.n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(kept // n_nodes, minlength=labels.n_rows), out=start[1:])
    return start, kept % n_nodes, int(implied.sum())


def _ascending(start: Int, code: Int) -> Int:
    """The codes of each row in ascending order."""
    row = np.repeat(np.arange(start.size - 1), np.diff(start))
    return code[np.lexsort((code, row))]
