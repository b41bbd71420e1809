"""Checks of a client's inputs: distances, similarities, features, and true classes.

True classes are numbered from 0: the input of every metric with labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Matrix
from models.errors import UsageError
from models.inputs.data import require_finite
from models.inputs.label_sets import LabelSets
from models.metrics.pairs import MatrixPairs, SparsePairs

ASYMMETRY = 1e-5
"""The largest accepted difference of a matrix from its transpose, relative to its largest value."""


def distances_of(matrix: Any, n_points: int) -> MatrixPairs:
    """A checked distance matrix: square, finite, symmetric, not negative, diagonal 0. O(N^2)."""
    _require_square(matrix, n_points, "distances")
    if sp.issparse(matrix):
        raise UsageError(
            "Input 'distances' must be a dense matrix: a sparse one does not say how far the pairs "
            "that it leaves out are apart.",
            code="wrong-input",
            role="distances",
        )
    if _lowest(matrix) < 0:
        raise UsageError(
            "Input 'distances' has negative values; every distance must be 0 or more.",
            code="wrong-input",
            role="distances",
        )
    own = np.abs(np.diagonal(matrix))
    # As far from 0 as rounding brings the distance of a row to itself.
    apart = np.flatnonzero(
        own > float(np.sqrt(np.finfo(np.float32).eps)) * float(np.max(matrix, initial=0))
    )
    if apart.size:
        row = int(apart[0])
        raise UsageError(
            f"Input 'distances' says that row {row} (counted from 0) is {own[row]:g} from itself; "
            "the diagonal of a matrix of distances is 0.",
            code="wrong-input",
            role="distances",
            row=row,
        )
    return MatrixPairs(matrix)


def similarity_of(matrix: Any, n_points: int) -> MatrixPairs | SparsePairs:
    """A checked similarity matrix, dense or sparse: square, finite, symmetric. O(N^2)."""
    _require_square(matrix, n_points, "similarity")
    warnings: tuple[str, ...] = ()
    negative = _lowest(matrix) < 0
    if negative:
        warnings = (
            "The similarity has negative values; costs are meant for similarities of 0 or more.",
        )
    if sp.issparse(matrix):
        return SparsePairs(matrix, warnings, negative=negative)
    return MatrixPairs(matrix, warnings, negative=negative)


def features_of(features: Any, n_points: int) -> Matrix:
    """Checked features: one row of finite numbers per point. O(N D)."""
    sparse = sp.issparse(features)
    if not sparse and (
        not isinstance(features, np.ndarray)
        or features.ndim != 2
        or features.dtype.kind not in "fiub"
    ):
        raise UsageError(
            "Input 'features' must be a matrix of numbers, one row per point.",
            code="wrong-input",
            role="features",
        )
    if features.shape[0] != n_points:
        raise UsageError(
            f"There are {features.shape[0]} rows of features for the {n_points} points of the "
            "tree; one row per point is needed, in the order of the input rows.",
            code="wrong-length",
            role="features",
            rows=int(features.shape[0]),
            n_points=n_points,
        )
    if sparse:
        features = sp.csr_array(features)
        _require_finite_sparse(features, "features")
    else:
        require_finite(features, "features")
    return features


def _require_square(matrix: Any, n_points: int, role: str) -> None:
    sparse = sp.issparse(matrix)
    if not sparse and (not isinstance(matrix, np.ndarray) or matrix.dtype.kind not in "fiub"):
        raise UsageError(
            f"Input {role!r} must be a matrix of numbers.", code="wrong-input", role=role
        )
    if matrix.shape != (n_points, n_points):
        got = " x ".join(str(length) for length in matrix.shape)
        raise UsageError(
            f"Input {role!r} is {got}; the tree has {n_points} points, so it must be "
            f"{n_points} x {n_points}.",
            code="wrong-length",
            role=role,
            shape=list(matrix.shape),
            n_points=n_points,
        )
    if sparse:
        _require_finite_sparse(matrix, role)
    else:
        require_finite(matrix, role)
    if not _symmetric(matrix):
        raise UsageError(
            f"Input {role!r} is not symmetric; the value of a pair must not depend on its order.",
            code="wrong-input",
            role=role,
        )


def _require_finite_sparse(matrix: Any, role: str) -> None:
    coo = matrix.tocoo()
    bad = np.flatnonzero(~np.isfinite(coo.data))
    if bad.size:
        row, column = int(coo.row[bad[0]]), int(coo.col[bad[0]])
        raise UsageError(
            f"Input {role!r} has a value that is not finite at row {row}, column {column} (counted "
            "from 0); every value must be finite.",
            code="not-finite",
            role=role,
            row=row,
            column=column,
        )


def _symmetric(matrix: Any) -> bool:
    if sp.issparse(matrix):
        largest = float(abs(matrix).max()) if matrix.nnz else 0.0
        return bool(abs(matrix - matrix.T).max() <= ASYMMETRY * largest) if largest else True
    step = 1024
    largest = apart = 0.0
    for top in range(0, matrix.shape[0], step):
        for left in range(top, matrix.shape[0], step):
            tile = matrix[top : top + step, left : left + step].astype(np.float64)
            other = matrix[left : left + step, top : top + step].astype(np.float64).T
            largest = max(largest, float(np.abs(tile).max()))
            apart = max(apart, float(np.abs(tile - other).max()))
    return apart <= ASYMMETRY * largest


def _lowest(matrix: Any) -> float:
    if sp.issparse(matrix):
        return float(matrix.min()) if matrix.shape[0] else 0.0
    return float(matrix.min(initial=0))


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of n_points points.

    code : (n_points,) int64, the class of each point, 0 .. n_classes - 1.
    name : the class that each code stands for, in sorted order; one entry per class that occurs.
    """

    code: npt.NDArray[np.int64]
    name: list[int] | list[str]

    @property
    def n_classes(self) -> int:
        return len(self.name)


def classes_of(labels: npt.NDArray[Any] | Sequence[Any] | LabelSets, n_points: int) -> Classes:
    """Number the classes. Every distinct label is a class, including -1 and the empty string.

    labels : (n_points,) integers (or bool), or strings; label sets only with one label a row.

    Raises
    ------
    UsageError : `wrong-length` for another number of labels than points, `wrong-input` for labels
        that are neither all integers nor all strings, and for a row with several or none.

    O(N log N) for integers, O(N + C log C) for strings.
    """
    if isinstance(labels, LabelSets):
        labels = labels.single()
    if not isinstance(labels, np.ndarray):
        labels = np.array(labels, dtype=object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise _wrong(f"have the shape {labels.shape}")
    if labels.shape[0] != n_points:
        raise UsageError(
            f"There are {labels.shape[0]} labels for the {n_points} points of the tree; one label "
            "per point is needed, in the order of the input rows.",
            code="wrong-length",
            role="labels",
            labels=int(labels.shape[0]),
            n_points=n_points,
        )
    if labels.dtype.kind in "biu":
        return _from_integers(labels)
    if labels.dtype.kind == "U":
        return _from_strings(labels.tolist())
    if labels.dtype.kind != "O":
        raise _wrong(f"are of type {labels.dtype}")
    values = labels.tolist()
    kinds = set(map(type, values))
    if all(issubclass(kind, str) for kind in kinds):
        return _from_strings(values)
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        try:
            return _from_integers(np.array(values, dtype=np.int64))
        except OverflowError:
            raise _wrong("hold an integer past 64 bits") from None
    raise _wrong("mix types (" + ", ".join(sorted(kind.__name__ for kind in kinds)) + ")")


def _from_integers(values: npt.NDArray[Any]) -> Classes:
    name, code = np.unique(values, return_inverse=True)
    return Classes(code.astype(np.int64, copy=False), [int(item) for item in name])


def _from_strings(values: list[str]) -> Classes:
    names = sorted(set(values))
    number = {name: code for code, name in enumerate(names)}
    code = np.fromiter((number[value] for value in values), dtype=np.int64, count=len(values))
    return Classes(code, names)


def _wrong(how: str) -> UsageError:
    return UsageError(
        f"The labels {how}; a vector of integers or of strings is needed, one per point.",
        code="wrong-input",
        role="labels",
    )
