"""Coordinates of the columns in which linear classifiers are well posed for solvers.

A column that lies far from 0 for its spread (a date, all values + 1e6) is nearly parallel to the
constant column, and its values lose digits when products with it cancel. Weights are penalised
alike in all directions, so any rotation of the columns (the constant among them) leaves the problem
what it is. `Coordinates` is the rotation that turns the direction of the centre of the far columns
into one column, large and nearly constant, and makes the others small: solvers never see the
offset. The solution is that of the problem as it came; scores come from the distance to the centre
and the score there, so that nothing cancels in predictions either.

The rotation is a chain of Givens rotations of exactly centred columns, by ascending centre: with r
the length of the centre so far and y the spread along it, a column of centre m and deviations x
becomes (r x - m y) / hypot(r, m), and y becomes (r y + m x) / hypot(r, m). Its terms are as large
as what they give, where a projection on all columns at once would cancel.

`column_units` are sizes of columns, powers of 2, so that dividing by them rounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix, row_blocks

FAR = 32.0
"""Columns are far whose mean is this many times their standard deviation; a constant one, which
only repeats the intercept, if it is beyond this."""

LOST = 4096.0
"""Deviations of this many roundings of the mean or fewer are hardly left in the numbers."""


@dataclass(frozen=True, eq=False)
class Center:
    """Where far columns are measured from.

    columns : (n_far,). values : (n_far,).
    """

    columns: Int
    values: Float

    def scores(self, features: Matrix, weights: Array) -> Float:
        """(n_rows, n_classes) of a linear model: distances times weights, plus the score at the
        centre.

        weights : (n_classes, n_features + 1), the score at the centre last. O(N D K), for sparse
        rows O(nnz K).
        """
        near = weights[:, :-1].T.astype(np.float64)
        far = near[self.columns]
        near[self.columns] = 0.0
        values = np.asarray(features @ near)
        values += self.distances(features) @ far
        values += weights[:, -1].astype(np.float64)
        return values

    def distances(self, features: Matrix) -> Float:
        """(n_rows, n_far) float64."""
        return dense_columns(features, self.columns) - self.values

    def centered(self, features: Matrix) -> Float:
        """(n_rows, n_features + 1) dense distances from the centre, and the constant 1."""
        n_rows, n_features = features.shape
        rows = np.ones((n_rows, n_features + 1))
        rows[:, :-1] = features.toarray() if isinstance(features, sp.csr_array) else features
        rows[:, self.columns] = self.distances(features)
        return rows


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Columns of a design, those that are far turned.

    center : its columns by ascending size. deviation : (n_far,) the standard deviations of these.
    n_features : the columns before the constant one.
    intercept : whether there is a constant column; else the first far column is what is turned
        into the direction of the centre.
    """

    center: Center
    deviation: Float
    n_features: int
    intercept: bool

    @property
    def furthest(self) -> tuple[int, float, float]:
        """The column that is furthest for its spread: its number, mean and standard deviation."""
        place = int(np.argmin(self.deviation / np.abs(self.center.values)))
        columns, values = self.center.columns, self.center.values
        return int(columns[place]), float(values[place]), float(self.deviation[place])

    @cached_property
    def _along(self) -> int:
        """The column that has the direction of the centre."""
        return self.n_features if self.intercept else int(self.center.columns[0])

    def _turns(self) -> list[tuple[int, float, float]]:
        """For each far column: its number, and r and m over hypot(r, m)."""
        turns, length = [], 1.0 if self.intercept else 0.0
        for column, value in zip(
            self.center.columns.tolist(), self.center.values.tolist(), strict=True
        ):
            longer = float(np.hypot(length, value))
            turns.append((column, length / longer, value / longer))
            length = longer
        return turns

    @property
    def _length(self) -> float:
        return float(np.sqrt(float(self.intercept) + np.square(self.center.values).sum()))

    def turned(self, design: Float | sp.csr_array) -> Float | sp.csr_array:
        """The design in these coordinates. O(N) for each far column, besides a copy."""
        far = self.center.distances(design)
        spread = np.zeros(len(far))
        for place, (_, own, other) in enumerate(self._turns()):
            deviation = far[:, place].copy()
            far[:, place] = own * deviation - other * spread
            spread = own * spread + other * deviation
        along = spread + self._length
        columns = self.center.columns
        if not self.intercept:
            far[:, 0] = along
        if isinstance(design, np.ndarray):
            turned = design.copy()
            turned[:, columns] = far
            turned[:, self._along] = along
            return turned
        if self.intercept:
            columns = np.append(columns, np.int64(self._along))
            far = np.column_stack([far, along])
        kept = np.ones(design.shape[1])
        kept[columns] = 0.0
        others = sp.csr_array(design @ sp.diags_array(kept))
        others.eliminate_zeros()
        column = np.tile(columns, len(far))
        row = np.repeat(np.arange(len(far)), columns.size)
        some = sp.csr_array((far.ravel(), (row, column)), shape=design.shape)
        return sp.csr_array(others + some)

    def turned_weights(self, weights: Float) -> Float:
        """(n, n_columns) in these coordinates, of weights of the columns as they came."""
        turned = weights.copy()
        along = weights[:, -1].copy() if self.intercept else np.zeros(len(weights))
        for column, own, other in self._turns():
            turned[:, column] = own * weights[:, column] - other * along
            along = own * along + other * weights[:, column]
        turned[:, self._along] = along
        return turned

    def plain(self, weights: Array) -> Float:
        """(..., n_features + 1) the weights of the features as they came, and the score at the
        centre.

        weights : (..., n_columns) in these coordinates.
        """
        plain = np.zeros((*weights.shape[:-1], self.n_features + 1))
        plain[..., : self.n_features] = weights[..., : self.n_features]
        along = np.array(weights[..., self._along], dtype=np.float64)
        plain[..., -1] = self._length * along
        for column, own, other in reversed(self._turns()):
            # The first column without an intercept is all along: it has no weight besides.
            turned = np.array(plain[..., column]) if own else np.zeros_like(along)
            plain[..., column] = own * turned + other * along
            along = own * along - other * turned
        return plain


def coordinates_of(
    design: Float | sp.csr_array, n_features: int, precision: float
) -> tuple[Coordinates | None, tuple[str, ...]]:
    """The coordinates of a design, None where no column is far, and warnings.

    design : (n_rows, n_columns), with a constant column if that is more than `n_features`.
    precision : relative, of the features as they came.

    A warning names columns whose spread is nearly lost in their offset. O(N D).
    """
    columns, mean, deviation = _moments(design, n_features)
    far = np.abs(mean) > FAR * np.where(deviation > 0.0, deviation, 1.0)
    if not far.any():
        return None, ()
    lost = np.flatnonzero(far & (deviation > 0) & (deviation < LOST * precision * np.abs(mean)))
    order = np.flatnonzero(far)
    order = order[np.argsort(np.abs(mean[order]), kind="stable")]
    center = Center(columns[order], mean[order])
    intercept = design.shape[1] > n_features
    return Coordinates(center, deviation[order], n_features, intercept), tuple(
        f"Column {columns[one]} (counted from 0) of input 'features' varies by "
        f"{deviation[one]:.2g} around {mean[one]:.6g}: little of that is left in numbers of "
        f"{-np.log10(precision):.0f} digits. Subtract the offset before the numbers are stored."
        for one in lost[:3]
    )


def _moments(design: Float | sp.csr_array, n_features: int) -> tuple[Int, Float, Float]:
    """Columns that may be far, with their means and standard deviations, 0 exactly for constants.

    Plain sums rule out most columns; of a sparse design all in which not nearly every row has a
    value, since these vary too much.
    """
    n_rows = design.shape[0]
    if isinstance(design, sp.csr_array):
        times = np.bincount(design.indices, minlength=design.shape[1])[:n_features]
        columns = np.flatnonzero(times > (1.0 - FAR**-2) * n_rows)
    else:
        mean = (np.ones(n_rows) @ design)[:n_features] / n_rows
        squares = np.einsum("ij,ij->j", design, design)[:n_features] / n_rows
        columns = np.flatnonzero(mean * mean > (1.0 - 2.0 * FAR**-2) * squares)
    if not columns.size:
        return columns, np.zeros(0), np.zeros(0)
    first = dense_columns(design[:1], columns)[0]
    total, squares = np.zeros(columns.size), np.zeros(columns.size)
    for block in row_blocks(n_rows, columns.size):
        away = dense_columns(design[block], columns) - first
        total += away.sum(axis=0)
        squares += np.einsum("ij,ij->j", away, away)
    shift = total / n_rows
    return columns, first + shift, np.sqrt(np.maximum(squares / n_rows - shift * shift, 0.0))


def dense_columns(design: Matrix, columns: Int) -> Float:
    """(n_rows, n_chosen) float64."""
    chosen = design[:, columns]
    dense = chosen.toarray() if isinstance(chosen, sp.csr_array) else chosen
    return np.asarray(dense, dtype=np.float64)


TINY = 1e-300

MODERATE = 6
"""Units of 2 to the power of at most this, up or down, are taken as 1."""


def column_units(design: Float | sp.csr_array, least: float = 0.0) -> Float:
    """(n_columns,) the sizes of columns, powers of 2: about the root mean square of their values
    that are not 0. Ones where all are moderate. O(N D).

    least : columns that are smaller have this unit.
    """
    if isinstance(design, sp.csr_array):
        squares = np.bincount(design.indices, design.data**2, minlength=design.shape[1])
        times = np.bincount(design.indices, design.data != 0, minlength=design.shape[1])
    else:
        squares = np.einsum("ij,ij->j", design, design)
        times = np.full(design.shape[1], len(design))
        # Squares may be small for many zeros.
        few = np.flatnonzero(squares * 4.0**MODERATE < times)
        times[few] = np.count_nonzero(design[:, few], axis=0)
    sizes = np.sqrt(squares / np.maximum(times, 1))
    sizes = np.where(sizes > 0.0, np.maximum(sizes, least), 1.0)
    exponent = np.rint(np.log2(sizes))
    if (np.abs(exponent) <= MODERATE).all():
        return np.ones(sizes.size)
    return np.asarray(np.exp2(exponent))


def in_units(design: Float | sp.csr_array, units: Float) -> Float | sp.csr_array:
    """The design with columns divided by their units; the same object if these are 1."""
    if (units == 1.0).all():
        return design
    if isinstance(design, sp.csr_array):
        values = design.data / units[design.indices]
        return sp.csr_array((values, design.indices, design.indptr), shape=design.shape)
    return design / units


def inverted(matrix: Float) -> Float:
    """The inverse of a symmetric, positive definite matrix whose columns may be of any sizes.

    Where rounding has made it singular a share of 1e-6 is added to its diagonal.
    """
    units = np.exp2(np.rint(0.5 * np.log2(np.maximum(np.diagonal(matrix), TINY))))
    scale = units[:, None] * units
    even = matrix / scale
    try:
        return np.asarray(np.linalg.inv(even) / scale)
    except np.linalg.LinAlgError:
        even[np.diag_indices_from(even)] *= 1.0 + 1e-6
        return np.asarray(np.linalg.inv(even) / scale)


LEAST_HEARD = 0.1
"""Scores that differ by less than this between rows tell hardly anything of classes."""


CLEAR = 1e-6
"""The share of their squares by which rows differ that plain sums tell for sure."""


def unheard(design: Float | sp.csr_array, n_features: int, C: float) -> tuple[str, ...]:
    """A warning where features vary so little that the penalty keeps scores of all rows alike.

    design : as it came. C : weight of the loss. Weights are about C times the sum of what rows
    differ by at most, and scores differ by that times what a row does. O(N D).
    """
    n_rows = design.shape[0]
    if isinstance(design, sp.csr_array):
        squares = np.bincount(design.indices, design.data**2, minlength=design.shape[1])
    else:
        squares = np.einsum("ij,ij->j", design, design)
    squares = squares[:n_features]
    mean = np.asarray(np.ones(n_rows) @ design)[:n_features] / n_rows
    vary = np.maximum(squares - n_rows * mean * mean, 0.0)
    if C * vary.sum() >= max(LEAST_HEARD, CLEAR * C * squares.sum()):
        return ()
    for column in np.flatnonzero(vary < CLEAR * squares):
        away = dense_columns(design, np.array([column]))[:, 0] - mean[column]
        vary[column] = float(away @ away)
    if C * vary.sum() >= LEAST_HEARD:
        return ()
    spread = float(np.sqrt(vary.max(initial=0.0) / n_rows))
    return (
        f"No column of input 'features' varies by more than {spread:.2g}: with C = {C:g} the "
        "penalty of weights then keeps the scores of all rows nearly alike. Scale the columns, for "
        "instance by the 'preprocess' step standardize, or raise 'C'.",
    )


def hardest(design: Float | sp.csr_array, n_features: int) -> tuple[int, str] | None:
    """The column that makes a problem hard, and a sentence with its size; None where none does.

    design : as it came.
    """
    columns, mean, deviation = _moments(design, n_features)
    units = column_units(design)[:n_features]
    ratio = np.abs(mean) / np.where(deviation > 0.0, deviation, np.inf)
    if ratio.size and ratio.max() > FAR:
        place = int(np.argmax(ratio))
        column = int(columns[place])
        size = f"varies by {deviation[place]:.2g} around {mean[place]:.6g}"
    elif (units != 1.0).any():
        away = np.abs(np.log2(units) - np.median(np.log2(units)))
        column = int(np.argmax(away if away.any() else np.abs(np.log2(units))))
        size = f"has values of about {units[column]:.2g}"
    else:
        return None
    return column, (
        f"Column {column} (counted from 0) of input 'features' {size}, which makes the problem "
        "hard: scale the columns, for instance by the 'preprocess' step standardize."
    )
