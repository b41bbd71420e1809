"""Checks of matrices of points before any work, and reading them by rows.

A matrix of points has one row per point: dense, sparse, or `Rows` that are read from a file.
`require_...` raises a UsageError if a check fails, `refuse_...` always raises. Everything works by
blocks of rows, so that a mapped file is not copied whole without need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Int, Matrix, read_only, row_blocks
from models.errors import UsageError
from models.inputs.data import Data, require_finite
from models.inputs.rows import Rows, widened

Points: TypeAlias = "Matrix | Rows"

TILE = 1024  # rows and columns of a dense matrix that are compared with their transpose at a time


def require_points(data: Data, role: str = "features") -> Array:
    """The dense matrix of `role`, not copied. Raises UsageError if it has no row or no column."""
    values = data.dense(role)
    _require_some(values.shape, role)
    return values


def require_point_rows(data: Data, role: str = "features") -> Rows:
    """As `require_points`, to be read by rows."""
    rows = data.rows(role)
    _require_some(rows.shape, role)
    return rows


def _require_some(shape: tuple[int, ...], role: str) -> None:
    n_points, n_columns = shape
    if n_points == 0 or n_columns == 0:
        raise UsageError(
            f"Input {role!r} has {n_points} rows and {n_columns} columns; at least one of each is "
            "needed.",
            code="wrong-shape",
            role=role,
        )


def require_role(data: Data, role: str) -> Data:
    """The data, if the input that a model was fitted on is there. Raises UsageError if not."""
    if role not in data:
        raise UsageError(
            f"The model was fitted on the input {role!r}; new points need it too.",
            code="wrong-input",
            role=role,
        )
    return data


def require_columns(features: Points) -> None:
    """Raises UsageError if there is no column."""
    if features.shape[1] == 0:
        raise UsageError("Input 'features' has no columns.", code="wrong-shape", role="features")


def require_width(features: Points, n_features: int, role: str = "features") -> None:
    """Raises UsageError unless new rows have as many columns as the model was fitted on."""
    if features.shape[1] != n_features:
        raise UsageError(
            f"Input {role!r} has {features.shape[1]} columns; the model was fitted on "
            f"{n_features}.",
            code="wrong-shape",
            role=role,
        )


def require_rows(features: Points, needed: int, parameter: str = "n_clusters") -> None:
    """Raises UsageError naming `parameter` if there are fewer points than `needed`."""
    if features.shape[0] < needed:
        refuse_clusters(needed, features.shape[0], "point(s)", parameter)


def require_two(n_points: int, role: str = "features", what: str = "point") -> None:
    """Raises UsageError if an input has a single point, or one of `what` it has."""
    if n_points < 2:
        raise UsageError(
            f"Input {role!r} has only one {what}; a tree over {what}s needs two or more.",
            code="too-few-points",
            role=role,
        )


def require_distinct(features: Points, needed: int, parameter: str = "n_clusters") -> None:
    """Raises UsageError naming `parameter` if there are fewer distinct points than `needed`.

    Reads rows until enough are found.
    """
    n_distinct = count_distinct(features, needed)
    if n_distinct < needed:
        refuse_clusters(needed, n_distinct, "distinct point(s)", parameter)


def refuse_clusters(
    n_clusters: int, available: int, what: str, parameter: str, role: str = "features"
) -> NoReturn:
    """UsageError: `parameter` is `n_clusters`, and the input has only `available` of `what`."""
    raise UsageError(
        f"Parameter {parameter!r} is {n_clusters}, but input {role!r} has only {available} {what}.",
        code="too-few-points",
        parameter=parameter,
    )


def require_usable(rows: Matrix, first_row: int, n_points: int) -> None:
    """Raises UsageError for values that are not finite or whose squares, summed over all, overflow.

    rows : some of `n_points`, from number `first_row` on.
    """
    require_finite(rows, "features", first_row=first_row)
    require_squares(rows, n_points=n_points, first_row=first_row)


def require_squares(
    values: Matrix, role: str = "features", *, n_points: int | None = None, first_row: int = 0
) -> None:
    """Raises UsageError naming the first row with a value whose square, summed over all, would
    overflow, and its column.

    values : finite rows from number `first_row` on, out of `n_points`; None: all of them.

    O(N D), for sparse rows O(number of stored values).
    """
    n_rows, n_columns = values.shape
    if n_points is None:
        n_points = n_rows
    kind = np.float32 if values.dtype == np.float32 else np.float64
    bound = float(np.sqrt(np.finfo(kind).max / (8.0 * n_points * n_columns + 8.0)))
    if isinstance(values, sp.csr_array):
        if values.nnz and max(float(values.data.max()), -float(values.data.min())) > bound:
            position = int(np.argmax(np.abs(values.data.astype(np.float64)) > bound))
            row = int(np.searchsorted(values.indptr, position, side="right")) - 1
            _refuse_square(role, first_row + row, int(values.indices[position]), bound)
        return
    if not n_columns:
        return
    for block in row_blocks(n_rows, n_columns, 1 << 22):
        part = values[block]
        if max(float(part.max()), -float(part.min())) > bound:
            large = np.abs(part.astype(np.float64)) > bound
            row, column = (int(at) for at in np.argwhere(large)[0])
            _refuse_square(role, first_row + block.start + row, column, bound)


def _refuse_square(role: str, row: int, column: int, bound: float) -> NoReturn:
    raise UsageError(
        f"Input {role!r} has a value beyond {bound:.0e} at row {row}, column {column} (counted "
        "from 0); sums of squares would overflow. Scale the input down.",
        code="too-large",
        role=role,
        row=row,
        column=column,
    )


def require_square(values: Matrix, role: str = "similarity") -> None:
    """Raises UsageError unless there are as many rows as columns."""
    if values.shape[0] != values.shape[1]:
        raise UsageError(
            f"Input {role!r} has {values.shape[0]} rows and {values.shape[1]} columns; it must be "
            "square.",
            code="wrong-shape",
            role=role,
        )


def require_symmetric(values: Matrix, role: str = "similarity") -> None:
    """Raises UsageError unless the matrix is square and symmetric up to rounding.

    Rounding is at most the square root of the type's precision times the largest magnitude.
    O(N^2), by tiles; for sparse matrices O(number of stored values).
    """
    require_square(values, role)
    kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    relative = float(np.sqrt(np.finfo(kind).eps))
    if isinstance(values, sp.csr_array):
        wide = values.astype(np.float64)
        if not wide.nnz:
            return
        difference = abs(wide - wide.T).tocoo()
        slack = relative * float(np.abs(wide.data).max())
        apart = np.flatnonzero(difference.data > slack)
        if apart.size:
            row, column = int(difference.row[apart[0]]), int(difference.col[apart[0]])
            _refuse_halves(role, wide[row, column], wide[column, row], row, column)
        return
    tiles = [slice(first, first + TILE) for first in range(0, len(values), TILE)]
    largest = max(max(float(values[tile].max()), -float(values[tile].min())) for tile in tiles)
    for number, top in enumerate(tiles):
        for west in tiles[number:]:
            upper = values[top, west].astype(np.float64)
            lower = values[west, top].astype(np.float64).T
            pairs = np.argwhere(np.abs(upper - lower) > relative * largest)
            if pairs.size:
                i, j = (int(index) for index in pairs[0])
                _refuse_halves(role, upper[i, j], lower[i, j], top.start + i, west.start + j)


def _refuse_halves(role: str, value: float, across: float, row: int, column: int) -> NoReturn:
    raise UsageError(
        f"Input {role!r} has the value {value:g} at row {row}, column {column} (counted from 0): "
        f"the value across the diagonal is {across:g}; the matrix must be symmetric.",
        code="not-similarities",
        role=role,
        row=row,
        column=column,
    )


def distinct(points: Array | Rows) -> tuple[Int, Int]:
    """The coinciding points: (U,) row of the first point of each place, (N,) place of each point.

    Places are numbered in order of their first row. Rows are sorted by a 64-bit sum of their bits
    and neighbours with one sum compared value by value; a sum that two places share keeps them
    apart. O(N (D + log N)).
    """
    n_points, n_columns = points.shape
    sums = np.empty(n_points, dtype=np.uint64)
    odd_weights = np.random.default_rng(0).integers(2**63, size=n_columns, dtype=np.uint64) * 2 + 1
    for block in row_blocks(n_points, n_columns, 1 << 20):
        # Adding 0 makes -0.0 equal 0.0 in bits too.
        rows = values_of(points, block)
        bits = (rows.astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(32)
        sums[block] = (bits * odd_weights).sum(axis=1)
    order = np.argsort(sums, kind="stable")
    new = np.ones(n_points, dtype=bool)
    new[1:] = sums[order[1:]] != sums[order[:-1]]
    same = np.flatnonzero(~new)
    for block in row_blocks(same.size, n_columns, 1 << 20):
        at = same[block]
        new[at] = (scattered(points, order[at]) != scattered(points, order[at - 1])).any(axis=1)
    first = order[new]
    # Places in order of their first row; within one sum the sort kept rows in order.
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(first.size)
    place = np.empty(n_points, dtype=np.int64)
    place[order] = rank[np.cumsum(new) - 1]
    return np.sort(first), place


def count_distinct(features: Points, enough: int) -> int:
    """Number of distinct rows, counted up to `enough`."""
    return count_up_to(enough, (key for _, rows in blocks(features) for key in row_bytes(rows)))


def count_up_to(enough: int, keys: Iterable[bytes]) -> int:
    """Number of distinct keys; stops reading after the first `enough` of them."""
    distinct_keys: set[bytes] = set()
    for key in keys:
        distinct_keys.add(key)
        if len(distinct_keys) >= enough:
            break
    return len(distinct_keys)


def row_bytes(rows: Matrix) -> Iterator[bytes]:
    """Bytes for each row, equal exactly for equal rows; sparse rows must be of one matrix."""
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


def by_rows(data: Data, role: str = "features") -> sp.csr_array | Rows:
    """The matrix of `role`, to be read by rows unless it is sparse.

    Raises UsageError as `Data.dense`.
    """
    value = data.values[role]
    return value if isinstance(value, sp.csr_array) else data.rows(role)


def take(features: Points, rows: Int) -> Matrix:
    """The rows of the given ascending numbers, copied."""
    if not isinstance(features, Rows):
        return features[rows]
    taken = features.take(rows)
    return widened(taken) if features.bfloat16 else taken


def scattered(features: Array | Rows, rows: Int) -> Array:
    """The rows of the given numbers in any order, copied. Rows that are read are read once each."""
    if not isinstance(features, Rows):
        return features[rows]
    numbers, place = np.unique(rows, return_inverse=True)
    return np.asarray(take(features, numbers))[place]


def values_of(features: Array | Rows, block: slice) -> Array:
    """The rows of a block, not copied if they need not be."""
    return (
        features.values(block.start, block.stop) if isinstance(features, Rows) else features[block]
    )


def blocks(features: Points, row_length: int = 0) -> Iterator[tuple[slice, Matrix]]:
    """The rows in order, by blocks, with the position of each block.

    row_length : values that a caller computes per row, if they are more than the columns.
    """
    n_points, n_values = features.shape
    if isinstance(features, sp.csr_array):
        n_values = features.nnz // max(1, n_points) + 1
    for block in row_blocks(n_points, max(n_values, row_length)):
        if isinstance(features, Rows):
            yield block, features.values(block.start, block.stop)
        else:
            yield block, features[block]


def for_loops(points: Array) -> Array:
    """Rows for compiled loops: contiguous floats of 32 or 64 bits that cannot be written."""
    return read_only(np.ascontiguousarray(as_floats(points)))


def as_floats(values: Matrix) -> Matrix:
    """Values in the form for scikit-learn: floats of 32 or 64 bits, sparse ones with 32-bit
    indices.

    Copies only what must change. Raises UsageError for more stored values than such indices count.
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
