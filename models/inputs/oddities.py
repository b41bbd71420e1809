"""Warnings of features: rows far from all others, and columns that are likely not meant so.

Beside a row that is far enough all others may seem to be one: distances by products, sums about a
mean and bandwidths lose what is small beside the largest row. `Most` says where most rows of a fit
lie and how far apart, by scattered rows; all rows are compared with it, in the fit and, since
models keep it, at predictions. Where no single row is far, groups of many rows may be, each close
together.

O(N D) for rows at hand, about what a sum over them costs; sparse rows O(stored values).

Columns are odd that have one value, equal another, are an id, or so wide that others hardly count.
They are sought in a sample, and those found there are compared with all rows. O(sample), and a pass
over the rows where something was found. All stored values of sparse rows are looked at, a few times
each; columns with few values, which are equal by chance, are not called so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int
from models.errors import listed
from models.inputs.checks import Points, blocks, take
from models.inputs.data import Data
from models.inputs.frames import sampled, scattered_places, typical
from models.inputs.reading import note
from models.inputs.rows import Rows

FARTHEST = 2.0**20
"""How many times as far from the medians as most rows one may lie."""

MIDDLE, SPREAD, ANY_FAR = "rows.middle", "rows.spread", "rows.any_far"
"""The names in a model of what `Most` keeps."""

_FEWEST = 3
"""Stored values of a column of sparse rows that tell its size."""


@dataclass(frozen=True, slots=True)
class Far:
    """The first row beyond `FARTHEST`, the column that shows it, and how many times as far as most
    rows it lies there."""

    row: int
    column: int
    times: float


@dataclass(frozen=True, slots=True)
class Most:
    """Where most rows lie. middle : (D,) half the medians, which differ from halves of finite
    values without overflow. spread : the largest of the columns' typical distances from them.
    any_far : whether the fit had rows or groups further apart than `FARTHEST` times that.
    """

    middle: Float
    spread: float
    any_far: bool = False

    @classmethod
    def of(cls, points: Points) -> Most | None:
        """Dense or sparse rows, or rows that are read; None where most are equal or some are not
        finite."""
        sample = take(points, scattered_places(points.shape[0]))
        middle = np.zeros(points.shape[1])
        if isinstance(sample, sp.csr_array):
            spread = _spread_of_sparse(sample)
        else:
            half = sample.astype(np.float64) / 2
            middle = _median(half)
            spread = float(typical(np.abs(half - middle)).max(initial=0.0))
        return cls(middle, spread) if 0 < FARTHEST * spread < np.inf else None

    @property
    def arrays(self) -> Mapping[str, Array]:
        """What a model keeps."""
        return {
            MIDDLE: self.middle,
            SPREAD: np.array([self.spread]),
            ANY_FAR: np.array([self.any_far]),
        }

    @classmethod
    def kept(cls, arrays: Mapping[str, Array]) -> Most | None:
        """What a model has kept; None where it has nothing."""
        if MIDDLE not in arrays:
            return None
        return cls(arrays[MIDDLE], float(arrays[SPREAD][0]), bool(arrays[ANY_FAR][0]))

    def first_far(self, points: Points) -> Far | None:
        """The first row that lies too far away, if there is one."""
        if points.shape[1] != self.middle.size:
            return None
        room, most = FARTHEST * self.spread, float(np.abs(self.middle).max(initial=0.0))
        if isinstance(points, sp.csr_array):
            if _largest(points.data) / 2 + most <= room:
                return None
            apart = np.abs(points.data / 2.0 - self.middle[points.indices])
            place = int(np.argmax(apart > room))
            row = int(np.searchsorted(points.indptr, place, side="right")) - 1
            found = Far(row, int(points.indices[place]), float(apart[place]) / self.spread)
            return found if apart[place] > room else None
        for block, part in blocks(points):
            assert isinstance(part, np.ndarray)
            if _largest(part) / 2 + most <= room:
                continue
            apart = np.abs(part / 2.0 - self.middle)
            row, column = divmod(int(np.argmax(apart > room)), apart.shape[1])
            if apart[row, column] > room:
                return Far(block.start + row, column, float(apart[row, column]) / self.spread)
        return None


def _largest(values: Array) -> float:
    """The largest magnitude; 0 of none."""
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def _median(rows: Float) -> Float:
    """(D,) the lower median of each column."""
    middle = (len(rows) - 1) // 2
    lower: Float = np.partition(rows, middle, axis=0)[middle]
    return lower


def _spread_of_sparse(rows: sp.csr_array) -> float:
    """Half the largest of the columns' typical sizes of stored values, of columns that have a few;
    of all values where none has."""
    stored = rows.data != 0
    size, column = np.abs(rows.data[stored].astype(np.float64)) / 2, rows.indices[stored]
    if not size.size or not np.isfinite(size).all():
        return 0.0
    order = np.lexsort((size, column))
    size, column = size[order], column[order]
    first = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    count = np.diff(np.append(first, size.size))
    middle = size[first + (count - 1) // 2]
    enough = count >= _FEWEST
    return float(middle[enough].max() if enough.any() else np.median(size))


def most_of(data: Data) -> tuple[Mapping[str, Array], tuple[str, ...]]:
    """(what a model keeps of where most rows of the features lie, a warning as `far_warnings`).

    Features of several spaces and rows of which every reading is a download are not looked at.
    """
    rows = _looked_at(data)
    most = None if rows is None else Most.of(rows)
    if rows is None or most is None:
        return {}, ()
    notes = _warnings(most, rows)
    return Most(most.middle, most.spread, any_far=bool(notes)).arrays, notes


def far_warnings(points: Points) -> tuple[str, ...]:
    """A sentence on the first row that does not lie where most do, or on groups of rows."""
    most = Most.of(points)
    return () if most is None else _warnings(most, points)


def _warnings(most: Most, points: Points) -> tuple[str, ...]:
    far = most.first_far(points)
    if far is None:
        return _group_warnings(points)
    return (
        f"Row {far.row} lies {far.times:.0e} times as far away as most rows, in column "
        f"{far.column} (both counted from 0): beside such rows, distances between the others may "
        "be lost to rounding. Leave these out, or clip the column.",
    )


def note_new_rows(arrays: Mapping[str, Array], data: Data) -> None:
    """Note the first new row too far from the rows of the fit, and a fit that had such rows.

    arrays : of the model.
    """
    most, rows = Most.kept(arrays), _looked_at(data)
    if most is None or rows is None:
        return
    far = most.first_far(rows)
    if far is not None:
        note(
            f"Row {far.row} lies {far.times:.0e} times as far away as most rows of the fit, in "
            f"column {far.column} (both counted from 0): what is nearest to such a row may be lost "
            "to rounding."
        )
    if most.any_far:
        note(
            f"Rows of the model's fit lay more than {FARTHEST:.0e} times as far apart as most: "
            "distances between the others may have been lost to rounding."
        )


def _looked_at(data: Data) -> Points | None:
    rows = data.values.get("features")
    if isinstance(rows, np.ndarray) and rows.ndim > 2:  # images
        rows = rows.reshape(len(rows), -1)
    if not isinstance(rows, (np.ndarray, Rows, sp.csr_array)) or len(rows.shape) != 2:
        return None
    if 0 in rows.shape or (isinstance(rows, Rows) and rows.far):
        return None
    if not isinstance(rows, Rows) and rows.dtype.kind not in "fiub":
        return None
    return rows


def _group_warnings(points: Points) -> tuple[str, ...]:
    """A sentence where scattered rows lie more than `FARTHEST` times as far apart as neighbours
    among them."""
    sample = take(points, scattered_places(points.shape[0]))
    if isinstance(sample, sp.csr_array):
        size = np.abs(sample.data[sample.data != 0])
        if not size.size or size.max() < size.min() * FARTHEST / 4:
            return ()
        sample = sample[:, np.unique(sample.indices)].toarray()
    rows = sample.astype(np.float64) / 2
    if not np.isfinite(rows).all():
        return ()
    rows -= _median(rows)
    reach = np.abs(rows).max(axis=0)
    widest = float(reach.max(initial=0.0))
    # Without a column that is narrow, or has narrow gaps where it is widest, none lie so close.
    gaps = np.diff(np.sort(rows[:, int(reach.argmax())]))
    gaps = gaps[gaps > 0]
    narrow = min(reach[reach > 0].min(initial=widest), np.median(gaps) if gaps.size else widest)
    if not narrow * FARTHEST / 4 < widest < np.inf:
        return ()
    rows = np.unique(rows / widest, axis=0)
    squares = np.einsum("nd,nd->n", rows, rows)
    apart = squares[:, None] + squares - 2 * (rows @ rows.T)
    np.fill_diagonal(apart, np.inf)
    near = rows - rows[apart.argmin(axis=1)]
    gap = float(np.median(np.sqrt(np.einsum("nd,nd->n", near, near))))
    times = float(np.sqrt(squares.max())) / gap if gap > 0 else 0.0
    if times <= FARTHEST:
        return ()
    column = int(np.abs(rows).max(axis=0).argmax())
    return (
        f"Rows lie in groups about {times:.0e} times as far apart as neighbours within them, most "
        f"of all in column {column} (counted from 0): distances within a group may be lost to "
        "rounding. Leave the rows of one group out, or clip or scale the column.",
    )


WIDEST = 1e12
"""How many times as wide as every other a column is that alone counts."""

HEAVY = 0.99
"""The share of squared distances from which on a few columns alone count."""

MANY_EACH = 3
"""One in so many columns may be among these few; a single one always."""

FEWEST = 20
"""Fewer rows are in sequence by chance."""

FEWEST_STORED = 5
"""Columns with fewer stored values are equal by chance."""


def odd_columns(
    features: object,
    names: Sequence[str] | None,
    id_like: Callable[[str], bool],
    distances: bool = False,
) -> tuple[str, ...]:
    """One sentence for each kind of odd columns of a matrix, of one alone whether it varies.

    names : of the columns; None: their numbers, from 0. id_like : whether a name is that of ids.
    distances : whether distances between rows count, of which few columns may have nearly all.
    """
    if not isinstance(features, (np.ndarray, Rows, sp.csr_array)) or len(features.shape) != 2:
        return ()
    n_rows, n_columns = features.shape
    if n_columns < 1 or n_rows < 2:
        return ()
    likely = {at for at in range(n_columns) if id_like(names[at])} if names else set()
    if isinstance(features, sp.csr_array):
        if not np.isfinite(features.data).all():
            return ()
        found = _of_sparse(features, likely)
    else:
        sample = sampled(features)
        if not np.isfinite(sample).all():
            return ()
        found = _of_dense(features, sample, likely)

    def named(columns: Sequence[int]) -> str:
        return listed([str(at) if names is None else names[at] for at in columns])

    notes = []
    if len(found.constant) == n_columns:
        return ("No row differs from another: every column has one value.",)
    if n_columns == 1:
        return ()
    if found.constant:
        notes.append(f"{len(found.constant)} column(s) have one value: {named(found.constant)}.")
    if found.twins:
        notes.append(
            f"{len(found.twins)} column(s) equal one before them, and so count twice: "
            f"{named(found.twins)}."
        )
    if found.ids:
        notes.append(
            f"{len(found.ids)} column(s) look like numbers of the rows and are measured as "
            f"features: {named(found.ids)}. Leave them out, or choose ids by ?id_column=."
        )
    widest = int(found.reach.argmax())
    others = np.delete(found.reach, widest)
    if (others > 0).any() and found.reach[widest] / WIDEST > others.max():
        notes.append(
            f"Column {named([widest])} spreads more than {WIDEST:.0e} times as much as any "
            'other, so that it alone counts. `preprocess: [{"step": "standardize"}]` gives all one '
            "spread."
        )
    elif distances and (heavy := _heavy(found.squares, found.reach)):
        share = 100 * float(found.squares[heavy].sum() / found.squares.sum())
        notes.append(
            f"{len(heavy)} of {n_columns} column(s) make {share:.1f}% of the squared distances "
            f"between rows, so that the others hardly count: {named(heavy)}. Unless that is meant, "
            '`preprocess: [{"step": "standardize"}]` gives all one spread.'
        )
    return tuple(notes)


def _heavy(squares: Float, reach: Float) -> list[int]:
    """The fewest columns that have `HEAVY` of the squared distances, of which that of two rows is
    the sum of twice the columns' variances, if they are one or at most one in `MANY_EACH` of those
    that vary, and have as much of the squares of typical distances, which no far row moves.

    squares : (D,) variances. reach : (D,) typical distances from the median. O(D log D).
    """
    order = np.argsort(-squares, kind="stable")
    n_varying = int(np.count_nonzero(reach > 0))
    total = float(squares.sum())
    if n_varying < 2 or not 0 < total < np.inf:
        return []
    n_heavy = int(np.searchsorted(np.cumsum(squares[order]), HEAVY * total)) + 1
    heavy = order[:n_heavy]
    typical_squares = (reach / reach.max(initial=1e-300)) ** 2
    if n_heavy > max(1, n_varying // MANY_EACH) or n_heavy == n_varying:
        return []
    if typical_squares[heavy].sum() < HEAVY * typical_squares.sum():
        return []
    return [int(column) for column in np.sort(heavy)]


@dataclass(frozen=True, slots=True)
class _Found:
    """The columns of one value, equal to one before, and that number the rows; (D,) of each the
    typical distance from the median, and the variance in units of one square for all."""

    constant: list[int]
    twins: list[int]
    ids: list[int]
    reach: Float
    squares: Float


def _of_dense(features: Points, sample: Float, likely: set[int]) -> _Found:
    constant = _everywhere(features, _constant(sample), _constant)
    twins: list[int] = []
    ids: list[int] = []
    reach = typical(np.abs(sample / 2 - np.sort(sample / 2, axis=0)[(len(sample) - 1) // 2]))
    if sample.shape[1] > len(constant):
        twins = _everywhere(features, [at for at in _twins(sample) if at not in constant], _twins)
    if features.shape[0] >= FEWEST:
        ids = _everywhere(features, _rising(sample, likely), lambda rows: _rising(rows, likely))
    top = float(np.abs(sample).max(initial=0.0)) or 1.0
    return _Found(constant, twins, ids, reach, (sample / top).var(axis=0))


def _of_sparse(features: sp.csr_array, likely: set[int]) -> _Found:
    """O(stored values + D)."""
    n_rows, n_columns = features.shape
    stored = features.data != 0
    column, value = features.indices[stored], features.data[stored].astype(np.float64)
    count = np.bincount(column, minlength=n_columns)
    one = np.zeros(n_columns)
    one[column] = value
    varies = np.zeros(n_columns, dtype=bool)
    varies[column[value != one[column]]] = True
    constant = np.flatnonzero(~varies & ((count == 0) | (count == n_rows)))
    # Equal columns have equal sums of products with any numbers of the rows, to the last bit.
    top = float(np.abs(value).max(initial=0.0)) or 1.0
    draw = np.random.default_rng(0).random(n_rows)
    row = np.repeat(np.arange(n_rows), np.diff(features.indptr))[stored]
    sums = np.bincount(column, draw[row] * (value / top), n_columns)
    many = np.flatnonzero((count >= FEWEST_STORED) & (varies | (count < n_rows)))
    _, number, times = np.unique(sums[many], return_inverse=True, return_counts=True)
    twins = _equal(features, many[times[number] > 1])
    mean = np.bincount(column, value / top, n_columns) / n_rows
    squares = np.bincount(column, (value / top - mean[column]) ** 2, n_columns)
    reach = np.sqrt((squares + (n_rows - count) * mean**2) / n_rows)
    reach[constant] = 0.0
    ids: list[int] = []
    if n_rows >= FEWEST:
        # At most one of rising numbers is 0, which need not be stored.
        full = np.flatnonzero((count >= n_rows - 1) & varies)
        own = {at for at, one in enumerate(full.tolist()) if one in likely}
        first = features[:FEWEST][:, full].toarray().astype(np.float64)
        rising = full[_rising(first, own)] if full.size else full
        own = {at for at, one in enumerate(rising.tolist()) if one in likely}
        part = features[:, rising].toarray().astype(np.float64)
        ids = [int(rising[at]) for at in _rising(part, own)] if rising.size else []
    return _Found(constant.tolist(), twins, ids, reach, reach**2)


def _equal(features: sp.csr_array, columns: Int) -> list[int]:
    """The columns among these that equal one before them."""
    if not columns.size:
        return []
    part = sp.csc_array(features[:, columns])
    part.sum_duplicates()
    part.eliminate_zeros()
    ends = zip(part.indptr[:-1], part.indptr[1:], strict=True)
    first: dict[bytes, int] = {}
    keys = [part.indices[a:b].tobytes() + part.data[a:b].tobytes() for a, b in ends]
    return [int(columns[at]) for at, key in enumerate(keys) if first.setdefault(key, at) != at]


def _everywhere(
    features: Points, found: list[int], test: Callable[[Float], list[int]]
) -> list[int]:
    """The columns of `found` that pass the test in all rows; each block begins with the last row of
    the one before it."""
    if not found:
        return found
    last: Float | None = None
    for _, rows in blocks(features):
        wide = np.asarray(rows).astype(np.float64)
        part = wide if last is None else np.vstack([last, wide])
        passed = test(part) if len(part) > 1 else found
        found = [at for at in found if at in passed]
        if not found:
            break
        last = wide[-1:]
    return found


def _constant(rows: Float) -> list[int]:
    return [int(at) for at in np.flatnonzero((rows == rows[0]).all(axis=0))]


def _twins(rows: Float) -> list[int]:
    """The columns that equal one before them."""
    first: dict[bytes, int] = {}
    columns = np.ascontiguousarray(rows.T + 0.0)
    return [at for at, column in enumerate(columns) if first.setdefault(column.tobytes(), at) != at]


def _rising(rows: Float, likely: set[int]) -> list[int]:
    """The columns of integers that rise from row to row: by 1, or by any step where their name is
    that of ids. Between stretches of a sample they may rise by more."""
    step = np.diff(rows, axis=0)
    whole = (rows == np.trunc(rows)).all(axis=0)
    by_one = np.median(step, axis=0) == 1
    return [
        int(at)
        for at in np.flatnonzero(whole & (step > 0).all(axis=0))
        if by_one[at] or int(at) in likely
    ]
