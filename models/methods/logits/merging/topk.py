"""A digest from only the best classes of each row, as services of closed models return them.

The missing classes of a row are bounded: none is more probable than the least probable class given,
and where probabilities are given, all missing classes together have the remainder to 1. Everything
else is as for whole rows, except that no row can be read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.errors import UsageError
from models.methods.logits.merging.empty_classes import Masses
from models.methods.logits.merging.engine import LogitsRead
from models.methods.logits.merging.logit_matrix import TOTAL, Kind, LogitMatrix
from models.methods.logits.merging.reference import TIE, UNDERFLOW
from models.methods.logits.merging.row_digest import Digest

_ROUNDING = 1e-5
"""The most by which the sum of rounded probabilities in float32 or float64 exceeds 1."""


@dataclass(frozen=True, slots=True)
class ProbabilityBounds:
    """Bounds on the probabilities of the n rows.

    least, most : (n, k) bounds for each class given, best first.
    missing : (n,) upper bound for a missing class.
    """

    least: Float
    most: Float
    missing: Float


def read(matrix: LogitMatrix, classes: npt.NDArray[Any], n_classes: int) -> LogitsRead:
    """The result of reading `matrix`, the values of the `classes`, both (n, k).

    Raises UsageError as `digest` does.
    """
    n = matrix.shape[0]
    values, rounding = matrix.rows.values(0, n), _rounding(matrix, n_classes)
    row_digest, bounds = digest(values, classes, n_classes, matrix.kind, matrix.scale, rounding)
    best_hosts, n_open = hosts(row_digest, bounds)
    no_classes = np.empty(0, dtype=np.int64)
    masses = Masses(no_classes, no_classes, np.empty((0, 0)))
    return LogitsRead(
        matrix, row_digest, best_hosts, masses, np.array([n]), n_open=n_open, readable_from=n
    )


def digest(
    values: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    n_classes: int,
    kind: Kind,
    scale: float,
    rounding: float = _ROUNDING,
) -> tuple[Digest, ProbabilityBounds]:
    """The digest, and bounds on the probabilities.

    values, classes : (n, k) numbers, and the class in [0, n_classes) of each; in any order.
    rounding : the most by which the probabilities of a whole row exceed 1 in sum.

    Raises UsageError as `_require_values` does. O(n k log k); holds 8 numbers for each value.
    """
    _require_values(values, classes, n_classes, kind)
    n, k = values.shape
    wide = values.astype(np.float64)
    if kind == "probs":
        with np.errstate(divide="ignore"):
            wide = np.log(wide)
    order = np.lexsort((classes, -wide), axis=1)
    wide = np.take_along_axis(wide, order, axis=1)
    sorted_classes = np.take_along_axis(classes, order, axis=1).astype(np.int32)

    n_missing = n_classes - k
    relative = _exponentials(wide, wide[:, :1], scale)
    n_listed = max(1, k - 1)
    listed = np.full((n, n_listed), n_classes, dtype=np.int32)
    weight = np.zeros((n, n_listed))
    if k > 1:
        listed[:] = sorted_classes[:, 1:]
        weight[:] = _exponentials(wide[:, 1:], wide[:, 1:2], scale)
    missing, tail = n_missing * relative[:, -1], n_missing * weight[:, -1]
    if kind != "logits" and scale == 1.0:
        rest = np.maximum(0.0, 1.0 + rounding - np.exp(wide).sum(axis=1))
        missing = np.minimum(missing, rest / np.exp(wide[:, 0]))
        if k > 1:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                tail = np.fmin(tail, rest / np.exp(wide[:, 1]))
    total = relative.sum(axis=1)
    surest, least_sure = 1.0 / total, 1.0 / (total + missing)
    label = sorted_classes[:, 0]
    points = np.bincount(label, minlength=n_classes)
    row_digest = Digest(
        label=label,
        listed=listed,
        weight=weight.astype(np.float32),
        tail=tail.astype(np.float32),
        second=_second(relative, least_sure),
        size=points,
        confidence=_sums(label, (surest + least_sure) / 2, n_classes),
        slack=_sums(label, (surest - least_sure) / 2, n_classes),
        masked=np.zeros(n_classes, dtype=np.int64),
        open_tail=True,
    )
    bounds = ProbabilityBounds(
        least=relative * least_sure[:, None],
        most=relative * surest[:, None],
        missing=np.minimum(missing, relative[:, -1]),
    )
    return row_digest, bounds


def _second(relative: Float, least_sure: Float) -> npt.NDArray[np.float32]:
    """(n,) lower bounds for the probability of the second class given; NaN where one is given."""
    if relative.shape[1] == 1:
        return np.full(len(relative), np.nan, dtype=np.float32)
    return (relative[:, 1] * least_sure).astype(np.float32)


def _rounding(matrix: LogitMatrix, n_classes: int) -> float:
    """The most by which the probabilities of a whole row exceed 1 in sum, for their stored type.

    The error of a probability is relative to it, that of a logarithm relative to the logarithm,
    whose mean over a row is the entropy.
    """
    if matrix.rows.dtype.kind != "f" and not matrix.rows.bfloat16:
        return _ROUNDING
    share = 2.0**-7 if matrix.rows.bfloat16 else float(np.finfo(matrix.rows.dtype).eps)
    return min(TOTAL, max(_ROUNDING, share * max(1.0, float(np.log(n_classes)))))


def hosts(digest: Digest, bounds: ProbabilityBounds) -> tuple[list[tuple[int, Int]], int]:
    """As `merging.empty_classes.hosts`, and how many of the choices the bounds leave open."""
    n_classes = len(digest.size)
    empty, filled = np.flatnonzero(digest.size == 0), np.flatnonzero(digest.size)
    column = np.full(n_classes + 1, -1)
    column[empty] = np.arange(len(empty))
    column_of_filled = np.zeros(n_classes, dtype=np.int64)
    column_of_filled[filled] = np.arange(len(filled))
    own = column_of_filled[digest.label]
    shape = (len(filled), len(empty))
    low, high = np.zeros(shape), np.zeros(shape)
    high += np.bincount(own, bounds.missing, minlength=len(filled))[:, None]
    for i in range(1, bounds.least.shape[1]):
        to = column[digest.listed[:, i - 1]]
        is_empty = to >= 0
        at = own[is_empty], to[is_empty]
        np.add.at(low, at, bounds.least[is_empty, i])
        np.add.at(high, at, bounds.most[is_empty, i] - bounds.missing[is_empty])
    size = digest.size[filled][:, None]
    low /= size
    high /= size
    best_hosts, n_open = [], 0
    for c, least, upper in zip(empty.tolist(), low.T, high.T, strict=True):
        near = upper >= least.max() * (1.0 - TIE)
        n_open += int(np.count_nonzero(near) > 1 and (upper > least)[near].any())
        best_hosts.append((c, filled[least >= least.max() * (1.0 - TIE)]))
    return best_hosts, n_open


def _sums(label: npt.NDArray[Any], values: Float, n_classes: int) -> Float:
    return np.bincount(label, values, n_classes).astype(np.float64)


def _exponentials(values: Float, base: Float, scale: float) -> Float:
    with np.errstate(invalid="ignore"):
        apart = (values - base) * scale
        return np.where(apart >= UNDERFLOW, np.exp(apart), 0.0)


def _require_values(
    values: npt.NDArray[Any], classes: npt.NDArray[Any], n_classes: int, kind: Kind
) -> None:
    """Raises UsageError for differing shapes, classes out of range or repeated in a row, and values
    that
    are NaN, infinite or no probabilities."""
    if values.shape != classes.shape:
        raise UsageError(
            f"Input 'top_classes' has the shape {classes.shape}, input 'logits' {values.shape}; "
            "they must be the same.",
            code="wrong-shape",
            role="top_classes",
        )
    if classes.dtype.kind not in "iu":
        raise UsageError(
            "Input 'top_classes' must hold integers, the class of each value of 'logits'.",
            code="wrong-input",
            role="top_classes",
        )
    odd = (classes < 0) | (classes >= n_classes)
    if odd.any():
        row, column = (int(i) for i in np.argwhere(odd)[0])
        raise UsageError(
            f"Input 'top_classes' names the class {classes[row, column]} at row {row}, column "
            f"{column} (counted from 0); classes are 0 to {n_classes - 1}.",
            code="wrong-input",
            role="top_classes",
            row=row,
            column=column,
        )
    ordered = np.sort(classes, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        row = int(np.argmax(twice))
        raise UsageError(
            f"Row {row} of input 'top_classes' (counted from 0) names a class twice.",
            code="wrong-input",
            role="top_classes",
            row=row,
        )
    wide = values.astype(np.float64)
    match kind:
        case "logits":
            bad = ~(wide < np.inf).all(axis=1) | (wide.max(axis=1) == -np.inf)
            what = "a value that is NaN or infinite, or nothing but -inf"
        case "log_probs":
            over = np.exp(np.minimum(wide, 1.0)).sum(axis=1) > 1.0 + TOTAL
            bad = np.isnan(wide).any(axis=1) | over | (wide.max(axis=1) == -np.inf)
            what = "what are no log-probabilities"
        case "probs":
            over = wide.sum(axis=1) > 1.0 + TOTAL
            bad = ~(wide >= 0).all(axis=1) | over | ~(wide > 0).any(axis=1)
            what = "what are no probabilities"
    if bad.any():
        row = int(np.argmax(bad))
        raise UsageError(
            f"Row {row} of input 'logits' (counted from 0) holds {what}.",
            code="not-finite" if kind == "logits" else "not-probabilities",
            role="logits",
            row=row,
        )
