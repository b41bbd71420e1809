"""A true hierarchy over the points of a tree: labels name its leaves, or its rows are these
points."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from models.arrays import Int
from models.errors import UsageError
from models.inputs.data import listed
from models.metrics.labels import Classes
from models.tree.named import NamedNodes
from models.tree.rows import matched
from models.tree.tree import Tree, sizes


def truth_over_points(
    hierarchy: Tree, classes: Classes | None, tree: Tree
) -> tuple[Tree, tuple[str, ...]]:
    """The hierarchy with the tree's points at its leaves, and warnings.

    Labels that are text name a leaf, or give its path of names such as `animal/cat/lion`, with or
    without the root's name. Integer labels name a leaf too, as text, or are row numbers of a
    hierarchy with one row per leaf. Without labels, with text that names no leaf and with integers,
    a hierarchy of as many rows as the tree has points is taken as one over these same points,
    matched by the leaves' names if both have the same (`rows.matched`), else in order.

    Raises UsageError `wrong-input` for a label that fits no leaf or several, `wrong-length` if
    there are no labels and the numbers of rows and points differ. O(n_nodes + n_points + length of
    the paths).
    """
    n_points = tree.n_points
    same_rows = hierarchy.n_points == n_points
    if classes is None:
        if not same_rows:
            raise UsageError(
                f"The hierarchy has {hierarchy.n_points} rows and the tree {n_points} points. "
                "Without labels both must be over the same points; with labels, each names a leaf "
                "of the hierarchy.",
                code="wrong-length",
                role="hierarchy",
                rows=hierarchy.n_points,
                n_points=n_points,
            )
        return matched(tree, hierarchy)[0], ()
    integers = bool(classes.name) and isinstance(classes.name[0], int)
    if same_rows and integers:
        return _over_rows(hierarchy, tree, "integers as labels")
    leaf, lost = _leaves_named(hierarchy, [str(name) for name in classes.name])
    if lost and integers and _counts_rows(hierarchy, classes.name):
        leaf, lost = hierarchy.leaf_of_point[np.array(classes.name)].astype(np.int64), []
    if lost:
        if same_rows:
            return _over_rows(hierarchy, tree, "labels that do not name its leaves")
        raise _no_leaf(hierarchy, lost)
    leaf_of_point = leaf[classes.code].astype(np.int32)
    return (
        replace(
            hierarchy,
            leaf_of_point=leaf_of_point,
            size=sizes(hierarchy.parent, leaf_of_point),
            extra={},
        ),
        (),
    )


def _over_rows(hierarchy: Tree, tree: Tree, why: str) -> tuple[Tree, tuple[str, ...]]:
    """The hierarchy as one over the tree's points, with the warning that it is taken so."""
    over, by_name = matched(tree, hierarchy)
    how = "matched by name" if by_name else "in order"
    return over, (f"With {why}, the hierarchy's rows are taken as the tree's own points, {how}.",)


def _counts_rows(hierarchy: Tree, names: list[int] | list[str]) -> bool:
    """Whether names are row numbers of a hierarchy with one row per leaf."""
    single = hierarchy.n_points == hierarchy.n_leaves and bool(
        (hierarchy.size[hierarchy.leaves] == 1).all()
    )
    return single and int(names[0]) >= 0 and int(names[-1]) < hierarchy.n_points


def _leaves_named(hierarchy: Tree, labels: list[str]) -> tuple[Int, list[str]]:
    """(n,) the leaf that each label names, and the labels that name none or several."""
    nodes = NamedNodes(hierarchy)
    leaves = np.fromiter(map(nodes.find, labels), dtype=np.int64, count=len(labels))
    lost = (leaves < 0) | (hierarchy.n_children[leaves] > 0)
    return leaves, [labels[number] for number in np.flatnonzero(lost)]


def _no_leaf(hierarchy: Tree, lost: list[str]) -> UsageError:
    names = [name for name in hierarchy.name[hierarchy.leaves].tolist() if name is not None]
    label = lost[0]
    n_such = Counter(names)[label]
    why = "names no leaf" if n_such == 0 else f"names {n_such} leaves"
    return UsageError(
        f"Label {label[:80]!r} {why} of the hierarchy; its leaves are {listed(names)}. A label "
        "names one leaf, or gives its path of names such as 'animal/cat/lion'.",
        code="wrong-input",
        role="hierarchy",
        label=label[:80],
    )
