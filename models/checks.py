"""Features as points: what every partition needs of them before any work.

Rows of features as points: what is refused, which of them coincide, where distances are sought.

Everything is by blocks of rows, so that a mapped file is never copied whole without need.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Matrix, row_blocks
from models.data import Data, require_finite
from models.errors import UsageError
from models.numerics.distances import Metric
from models.rows import Rows, widened

FLAT: tuple[Metric, ...] = ("euclidean", "sqeuclidean", "cosine", "correlation")
"""Metrics that rise with the Euclidean distance between rows as `flat` makes them."""


def require_points(data: Data, role: str = "features") -> Array:
    """The dense matrix of `role`, not copied. UsageError where it has no row or no column."""
    values = data.dense(role)
    n_points, n_columns = values.shape
    if n_points == 0 or n_columns == 0:
        raise UsageError(
            f"Input {role!r} has {n_points} rows and {n_columns} columns; at least one of each is "
            "needed.",
            code="wrong-shape",
            role=role,
        )
    return values


def require_squares(points: Array, role: str = "features") -> None:
    """Refuse finite values whose squares, summed, would overflow. O(N D)."""
    kind = np.float32 if points.dtype == np.float32 else np.float64
    bound = float(np.sqrt(np.finfo(kind).max / (8.0 * points.size + 8.0)))
    for block in row_blocks(len(points), points.shape[1], 1 << 22):
        part = points[block]
        if max(float(part.max()), -float(part.min())) > bound:
            row = block.start + int(np.argmax(np.abs(part.astype(np.float64)).max(axis=1) > bound))
            raise UsageError(
                f"Input {role!r} has a value beyond {bound:.0e} at row {row}; squared distances "
                "would overflow. Scale the input down.",
                code="too-large",
                role=role,
                row=row,
            )


def refuse_distance(
    metric: Metric, row: int, column: int, value: float, what: str = "rows"
) -> NoReturn:
    """UsageError: the distance between two rows is not a number, or too large for one."""
    raise UsageError(
        f"The {metric} distance between {what} {row} and {column} of input 'features' is {value}: "
        "it is not defined for rows of zeros (cosine, braycurtis) or of one value (correlation), "
        "and values must not be so large that it overflows.",
        code="no-distance",
        role="features",
        row=row,
    )


def distinct(points: Array) -> tuple[Int, Int]:
    """Which points coincide: (U,) row of the first point of each place, (N,) place of each point.

    Places are numbered in order of their first row. Rows are sorted by a 64-bit sum of their bits
    and neighbours with one sum compared value by value; a sum that two places share keeps them
    apart. O(N (D + log N)).
    """
    n_points, n_columns = points.shape
    sums = np.empty(n_points, dtype=np.uint64)
    odd = np.random.default_rng(0).integers(2**63, size=n_columns, dtype=np.uint64) * 2 + 1
    for block in row_blocks(n_points, n_columns, 1 << 20):
        # Adding 0 makes -0.0 equal 0.0 in bits too.
        bits = (points[block].astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(32)
        sums[block] = (bits * odd).sum(axis=1)
    order = np.argsort(sums, kind="stable")
    new = np.ones(n_points, dtype=bool)
    new[1:] = sums[order[1:]] != sums[order[:-1]]
    same = np.flatnonzero(~new)
    for block in row_blocks(same.size, n_columns, 1 << 20):
        at = same[block]
        new[at] = (points[order[at]] != points[order[at - 1]]).any(axis=1)
    first = order[new]
    # Places in order of their first row; within one sum the sort kept rows in order.
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(first.size)
    place = np.empty(n_points, dtype=np.int64)
    place[order] = rank[np.cumsum(new) - 1]
    return np.sort(first), place


def flat(points: Array, metric: Metric) -> Array:
    """Rows between which the Euclidean distance d gives `metric` by `as_metric`; maybe not a copy.

    'cosine': unit rows. 'correlation': unit rows about their own mean. Keeps float32.
    UsageError naming the row for which the metric is not defined.
    """
    kind = np.float32 if points.dtype == np.float32 else np.float64
    if metric in ("euclidean", "sqeuclidean"):
        return points if points.dtype == kind else points.astype(kind)
    out = np.empty(points.shape, dtype=kind)
    for block in row_blocks(len(points), points.shape[1], 1 << 20):
        rows = points[block].astype(np.float64)
        if metric == "correlation":
            # Rows of one value leave rounding of their mean.
            steady = rows.max(axis=1) == rows.min(axis=1)
            rows -= rows.mean(axis=1, keepdims=True)
            rows[steady] = 0.0
        top = np.abs(rows).max(axis=1, keepdims=True)
        odd = np.flatnonzero(top[:, 0] == 0)
        if odd.size:
            row = block.start + int(odd[0])
            what = "is all zeros" if metric == "cosine" else "has one value throughout"
            raise UsageError(
                f"Row {row} of input 'features' {what}; the {metric} distance to it is not "
                "defined.",
                code="no-distance",
                role="features",
                row=row,
            )
        rows /= top
        rows /= np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]
        out[block] = rows
    return out


def as_metric(euclidean: Float, metric: Metric) -> Float:
    """Distances by `metric` from those between rows of `flat`."""
    if metric == "euclidean":
        return euclidean
    squared = euclidean * euclidean
    return squared if metric == "sqeuclidean" else squared / 2


Points: TypeAlias = "Matrix | Rows"


def by_rows(data: Data, role: str = "features") -> sp.csr_array | Rows:
    """The matrix of `role`, to be read by rows unless it is sparse. UsageError as `Data.dense`."""
    value = data.values[role]
    return value if isinstance(value, sp.csr_array) else data.rows(role)


def take(features: Points, rows: Int) -> Matrix:
    """The rows of the given ascending numbers, copied."""
    if not isinstance(features, Rows):
        return features[rows]
    taken = features.take(rows)
    return widened(taken) if features.bfloat16 else taken


def require_usable(rows: Matrix, first_row: int, n_points: int) -> None:
    """UsageError for values that are not finite or whose squares, summed over all, overflow.

    rows : some of `n_points`, from number `first_row` on.
    """
    require_finite(rows, "features", first_row=first_row)
    require_row_squares(rows, n_points)


def blocks(features: Points, row_length: int = 0) -> Iterator[tuple[slice, Matrix]]:
    """The rows in order, by blocks, and where each block lies.

    row_length : values that a caller makes for each row, where they are more than the columns.
    """
    n_points, n_values = features.shape
    if isinstance(features, sp.csr_array):
        n_values = features.nnz // max(1, n_points) + 1
    for block in row_blocks(n_points, max(n_values, row_length)):
        if isinstance(features, Rows):
            yield block, features.values(block.start, block.stop)
        else:
            yield block, features[block]


def require_columns(features: Points) -> None:
    """UsageError where there is no column."""
    if features.shape[1] == 0:
        raise UsageError("Input 'features' has no columns.", code="wrong-shape", role="features")


def require_rows(features: Points, needed: int, parameter: str = "n_clusters") -> None:
    """UsageError naming `parameter` where there are fewer points than `needed`."""
    if features.shape[0] < needed:
        refuse_clusters(needed, features.shape[0], "point(s)", parameter)


def require_distinct(features: Points, needed: int, parameter: str = "n_clusters") -> None:
    """UsageError naming `parameter` where there are fewer distinct points than `needed`.

    Reads rows until enough are found.
    """
    distinct = count_distinct(features, needed)
    if distinct < needed:
        refuse_clusters(needed, distinct, "distinct point(s)", parameter)


def refuse_clusters(
    wanted: int, there: int, what: str, parameter: str, role: str = "features"
) -> NoReturn:
    raise UsageError(
        f"Parameter {parameter!r} is {wanted}, but input {role!r} has only {there} {what}.",
        code="too-few-points",
        parameter=parameter,
    )


def count_distinct(features: Points, enough: int) -> int:
    """Number of distinct rows, counted up to `enough`."""
    seen: set[bytes] = set()
    for _, rows in blocks(features):
        for row in _as_bytes(rows):
            seen.add(row)
            if len(seen) >= enough:
                return len(seen)
    return len(seen)


def _as_bytes(rows: Matrix) -> Iterator[bytes]:
    if isinstance(rows, sp.csr_array):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            yield rows.indices[start:end].tobytes() + b"|" + rows.data[start:end].tobytes()
        return
    # Adding 0 makes -0.0 equal 0.0 in bytes too.
    for row in np.ascontiguousarray(rows + rows.dtype.type(0)):
        yield row.tobytes()


def require_row_squares(values: Matrix, n_points: int) -> None:
    """UsageError where squares, summed over `n_points` rows and the columns, would overflow.

    values : some of the rows, or all.
    """
    kind = np.float32 if values.dtype == np.float32 else np.float64
    stored = values.data if isinstance(values, sp.csr_array) else values
    bound = float(np.sqrt(np.finfo(kind).max / (8.0 * n_points * values.shape[1] + 8.0)))
    if stored.size and max(float(stored.max()), -float(stored.min())) > bound:
        raise UsageError(
            f"Input 'features' has a value beyond {bound:.0e}, whose square would overflow. Scale "
            "the features down.",
            code="too-large",
            role="features",
        )


def require_width(features: Points, n_features: int, role: str = "features") -> None:
    """UsageError unless new rows have as many columns as the model was fitted on."""
    if features.shape[1] != n_features:
        raise UsageError(
            f"Input {role!r} has {features.shape[1]} columns; the model was fitted on "
            f"{n_features}.",
            code="wrong-shape",
            role=role,
        )


def as_floats(values: Matrix) -> Matrix:
    """Values as scikit-learn takes them: floats of 32 or 64 bits, sparse ones with 32-bit indices.

    Copies only what must change. UsageError for more stored values than such indices count.
    """
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if isinstance(values, sp.csr_array) and values.indices.dtype != np.int32:
        if values.nnz >= 2**31:
            raise UsageError(
                f"Input 'features' stores {values.nnz:,} values; a sparse matrix may have "
                f"{2**31 - 1:,} here.",
                code="too-large",
                role="features",
            )
        values = sp.csr_array(
            (values.data, values.indices.astype(np.int32), values.indptr.astype(np.int32)),
            shape=values.shape,
        )
    return values
