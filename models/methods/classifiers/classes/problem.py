"""What a classifier is trained on: rows, their classes, and the structure over the classes.

`arranged` matches the labels of rows to the leaves of a hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Mask, Matrix
from models.errors import UsageError, listed
from models.inputs.checks import as_floats
from models.inputs.data import Data, require_finite
from models.inputs.label_sets import LabelSets, label_nodes, label_sets, with_own_leaves
from models.methods.classifiers.classes.coordinates import MODERATE, Coordinates, column_units
from models.methods.classifiers.classes.structure import ClassGraph, ClassTree
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


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows and their classes.

    design : (n_rows, n_columns) float64 features, the last column the constant 1 if there is an
        intercept.
    start, code : row i has the classes `code[start[i]:start[i + 1]]`, ascending.
    tree : over the classes; None if there is a graph, or neither.
    graph : over the classes; None if there is a tree, or neither.
    coordinates : of the design, None where they are the columns as they came.
    given : the design in the columns as they came, None where `design` is that.
    """

    design: Float | sp.csr_array
    start: Int
    code: Int
    n_classes: int
    tree: ClassTree | None = None
    graph: ClassGraph | None = None
    coordinates: Coordinates | None = None
    given: Float | sp.csr_array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.design.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.design.shape[1])

    @cached_property
    def one_each(self) -> bool:
        """Whether every row has exactly one class."""
        return bool((np.diff(self.start) == 1).all())

    @cached_property
    def uneven(self) -> bool:
        """Whether columns are far from 0 for their spread, or large. O(N D)."""
        if self.coordinates is not None:
            return True
        return bool(column_units(self.design).max(initial=1.0) > 2.0**MODERATE)

    @cached_property
    def row(self) -> Int:
        """The row of each of `code`."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))

    @cached_property
    def by_class(self) -> tuple[Int, Int]:
        """The rows of class k are `row[start[k]:start[k + 1]]`, ascending: (start, row)."""
        start = np.zeros(self.n_classes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.code, minlength=self.n_classes), out=start[1:])
        return start, self.row[np.argsort(self.code, kind="stable")]

    def signs(self, class_: int) -> Float:
        """(n_rows,) 1 for rows of the class, -1 for others."""
        start, row = self.by_class
        signs = np.full(self.n_rows, -1.0)
        signs[row[start[class_] : start[class_ + 1]]] = 1.0
        return signs

    def part(self, rows: Mask) -> Problem:
        """The problem of some rows, with the same classes."""
        times = np.diff(self.start)
        start = np.zeros(int(rows.sum()) + 1, dtype=np.int64)
        np.cumsum(times[rows], out=start[1:])
        code = self.code[np.repeat(rows, times)]
        places = np.flatnonzero(rows)
        given = None if self.given is None else self.given[places]
        return replace(self, design=self.design[places], start=start, code=code, given=given)

    @property
    def as_given(self) -> Float | sp.csr_array:
        """The design in the columns as they came."""
        return self.design if self.given is None else self.given


def label_sets_of(data: Data) -> LabelSets:
    """The labels by row; see `models.inputs.label_sets.label_sets`."""
    return label_sets(data.values["labels"], data.matrix("features").shape[0], data.names())


def arrangement_of(data: Data, leave_out_empty: bool) -> Arrangement:
    """The labels of labelled rows as classes; see `arranged`.

    Raises UsageError as `label_sets_of`, `flat` and `arranged`.
    """
    labels = label_sets_of(data)
    hierarchy = data.values.get("hierarchy")
    if isinstance(hierarchy, Tree):
        return arranged(labels, hierarchy, leave_out_empty)
    return flat(labels)


def require_features(features: Matrix) -> None:
    """Raises UsageError for a value that is not finite, and for sparse rows without any value.

    Such a row is an empty document.
    """
    require_finite(features, "features")
    if isinstance(features, sp.csr_array):
        n_values = np.diff(features.indptr)
        if features.data.size and not features.data.all():
            filled = np.add.reduceat(np.append(features.data != 0, False), features.indptr[:-1]) * (
                n_values > 0
            )
        else:
            filled = n_values
        empty = np.flatnonzero(filled == 0)
        if empty.size:
            raise UsageError(
                f"Input 'features' has no value at row {int(empty[0])} (counted from 0), and in "
                f"{empty.size} row(s) in all; nothing can be learned from an empty document. "
                "Leave such rows out.",
                code="wrong-input",
                role="features",
                row=int(empty[0]),
            )


def design_of(features: Matrix, intercept: bool) -> Float | sp.csr_array:
    """(n_rows, n_columns) float64 features, and the constant 1 as last column with `intercept`.

    Sparse features stay sparse. A copy: O(N D), or O(number of stored values).
    """
    n_rows, n_features = features.shape
    if not isinstance(features, sp.csr_array):
        design = np.empty((n_rows, n_features + intercept))
        design[:, :n_features] = features
        design[:, n_features:] = 1.0
        return design
    values = sp.csr_array(
        (features.data.astype(np.float64), features.indices, features.indptr), shape=features.shape
    )
    if not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    if intercept:
        constant = sp.csr_array(np.ones((n_rows, 1)))
        values = sp.csr_array(sp.hstack([values, constant], format="csr"))
    # With 32-bit indices where they suffice: products are bound by memory.
    return as_floats(values) if values.nnz < 2**31 else values


def design_bytes(features: Matrix, intercept: bool) -> int:
    """Bytes of `design_of`; sparse ones are copied twice."""
    n_rows, n_features = features.shape
    if isinstance(features, sp.csr_array):
        return 24 * (int(features.nnz) + int(n_rows))
    return 8 * int(n_rows) * (int(n_features) + intercept)


def has_constant(design: Float | sp.csr_array) -> bool:
    """Whether the last column is the constant 1."""
    last = design[:, [-1]]
    return bool((last == 1.0).sum() == design.shape[0])


def with_every_class(problem: Problem) -> tuple[Float | sp.csr_array, Int, Float | None]:
    """The rows, their classes and weights, for scikit-learn, whose classes are those that occur.

    Each class without an example gets a row of zeros that does not count.
    """
    times = np.bincount(problem.code, minlength=problem.n_classes)
    absent = np.flatnonzero(times == 0)
    if not absent.size:
        return problem.design, problem.code, None
    code = np.concatenate([problem.code, absent])
    counts = np.repeat([1.0, 0.0], [problem.n_rows, absent.size])
    zeros = (absent.size, problem.n_columns)
    if isinstance(problem.design, sp.csr_array):
        rows = sp.vstack([problem.design, sp.csr_array(zeros)], format="csr")
        return sp.csr_array(rows), code, counts
    return np.concatenate([problem.design, np.zeros(zeros)]), code, counts
