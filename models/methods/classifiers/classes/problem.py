"""What a classifier is trained on: rows, their classes, and the structure over the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Mask, Matrix
from models.errors import UsageError
from models.inputs.checks import as_floats
from models.inputs.data import Data, require_finite
from models.inputs.label_sets import LabelSets, label_sets
from models.methods.classifiers.classes.arrangement import Arrangement, arranged, flat
from models.methods.classifiers.classes.class_graph import ClassGraph
from models.methods.classifiers.classes.class_tree import ClassTree
from models.methods.classifiers.classes.coordinates import (
    MODERATE,
    Coordinates,
    column_units,
)
from models.tree.tree import Tree


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
    """The labels of labelled rows as classes; see `arrangement`.

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
