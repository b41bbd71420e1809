"""The inputs of a method by role, already parsed; images among them as rows of a matrix.

The shape of images comes from the array or from a parameter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Array, Matrix
from models.errors import EmptyValue, UsageError, listed
from models.inputs.items import ItemTable
from models.inputs.label_sets import LabelSets
from models.inputs.reading import first_rounded, require_exact, rounded
from models.inputs.rows import ArrayRows, Rows
from models.roles import role_of
from models.tree.tree import Tree

Value: TypeAlias = (
    "npt.NDArray[Any] | sp.csr_array | Rows | Spaces | LabelSets | list[str] | Tree | Earlier"
    "| ItemTable"
)
Spaces: TypeAlias = "tuple[npt.NDArray[Any] | sp.csr_array | Rows, ...]"
"""Several matrices over the same points."""

Read = TypeVar("Read")

FILLED_BY = 'To fill empty values, put {"step": "missing"} first in preprocess.'


class Prepared(Protocol):
    """How the features of an earlier job were prepared; `models.preprocess.pipeline` makes them."""

    @property
    def n_features(self) -> int:
        """Columns that it takes; 0 where it takes documents."""

    def apply(self, rows: Matrix | list[str], first_row: int = 0) -> Matrix:
        """The rows prepared, (n, n_columns). Raises UsageError for rows of another width."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier job of the same method, to grow from: the value of the role `base`.

    params : its parameters.
    tree : its tree.
    state : the state that its fit kept (`Fitted.state`).
    rows : its inputs that were read by rows, and the same of the jobs that it grew from, by role,
        oldest first; None for a deleted one.
    prepared : how its features were prepared, a pipeline for each matrix; empty if they were not.
    """

    method: str
    params: Mapping[str, Any]
    tree: Tree
    state: Mapping[str, npt.NDArray[Any]]
    rows: Mapping[str, Sequence[Rows | None]]
    prepared: tuple[Prepared, ...] = ()


@dataclass(frozen=True, slots=True)
class Data:
    """The inputs of one job by role.

    `values` maps a role to what it holds: a matrix (n_points, n) dense (maybe memory-mapped,
    read-only), `Rows` for a role read by rows, or `scipy.sparse.csr_array`; labels as a vector of
    integers or of `str` objects, or as `LabelSets` if a row has several or none; a graph of labels
    as (n_edges, 2) integers or `str` objects; names as a list of `str`; a hierarchy as a `Tree`;
    `base` as an `Earlier`; a role that takes several as a tuple of matrices.

    pairwise : whether 'features' may have empty values, NaN, which distances leave out.
    read : what `once` has read.
    """

    values: Mapping[str, Value]
    pairwise: bool = False
    read: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __contains__(self, role: str) -> bool:
        return role in self.values

    def once(self, what: str, read: Callable[[], Read]) -> Read:
        """What `read` makes of these inputs, which a check and a fit read alike, the first time."""
        if what not in self.read:
            self.read[what] = read()
        made: Read = self.read[what]
        return made

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs that are arrays; of several matrices that of the first."""
        shapes = {}
        for role, value in self.values.items():
            first = value[0] if isinstance(value, tuple) and value else value
            if isinstance(first, (np.ndarray, sp.csr_array, Rows, LabelSets, ItemTable)):
                shapes[role] = tuple(first.shape)
        return shapes

    def is_sparse(self, role: str) -> bool:
        """Whether the input, or one of several, is a sparse matrix."""
        value = self.values[role]
        matrices = value if isinstance(value, tuple) else (value,)
        return any(isinstance(matrix, sp.csr_array) for matrix in matrices)

    def dense(self, role: str) -> npt.NDArray[Any]:
        """The matrix of `role` as stored, not copied.

        Raises UsageError if it is sparse or not numbers.
        """
        value = self.values[role]
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiub":
            raise UsageError(
                f"Input {role!r} must be a dense matrix of numbers, one row per point.",
                code="wrong-input",
                role=role,
            )
        return value

    def matrix(self, role: str) -> Matrix:
        """The matrix of `role` as stored, dense or sparse, not copied.

        Raises UsageError as `dense`.
        """
        value = self.values[role]
        if isinstance(value, sp.csr_array) and value.dtype.kind in "fiub":
            return value
        return self.dense(role)

    def rows(self, role: str) -> Rows:
        """The matrix of `role`, to be read by rows. Raises UsageError as `dense`."""
        value = self.values[role]
        return value if isinstance(value, Rows) else ArrayRows(self.dense(role))

    def spaces(self, role: str) -> list[Rows]:
        """The matrices of `role`, one or several, to be read by rows.

        Raises UsageError as `dense`, and where they differ in their number of rows.
        """
        value = self.values[role]
        several = value if isinstance(value, tuple) else (value,)
        spaces = [Data({role: matrix}).rows(role) for matrix in several]
        for number, rows in enumerate(spaces):
            if rows.shape[0] != spaces[0].shape[0]:
                raise UsageError(
                    f"Input {role!r}: matrix {number} (counted from 0) has {rows.shape[0]} rows, "
                    f"the first one {spaces[0].shape[0]}; all must have the same number.",
                    code="wrong-shape",
                    role=role,
                )
        return spaces

    def earlier(self) -> Earlier | None:
        """The job to grow from; None where there is none."""
        value = self.values.get("base")
        return value if isinstance(value, Earlier) else None

    def names(self, role: str = "names") -> list[str] | None:
        """The names of `role`, None where there are none.

        Raises UsageError for another kind of input.
        """
        value = self.values.get(role)
        if value is None:
            return None
        if isinstance(value, (Tree, Rows, Earlier, LabelSets, ItemTable, tuple, sp.csr_array)):
            raise UsageError(
                f"Input {role!r} must be a list of names.", code="wrong-input", role=role
            )
        return [str(item) for item in value]

    def leaf_names(self, n_leaves: int, leaf: str) -> list[str]:
        """The input `names`, or "0", "1", ... without it.

        leaf : what one name stands for, for the message.

        Raises UsageError for another number of names.
        """
        names = self.names()
        if names is None:
            return [str(index) for index in range(n_leaves)]
        if len(names) != n_leaves:
            raise UsageError(
                f"Input 'names' has {len(names)} names; {n_leaves} are needed, one for "
                f"each {leaf}.",
                code="wrong-shape",
                role="names",
            )
        return names


def doubled(names: list[str | None]) -> tuple[str, ...]:
    """A warning where names of leaves occur more than once, else nothing."""
    if len(set(names)) == len(names):
        return ()
    twice = [name for name, times in Counter(names).items() if times > 1 and name is not None]
    if not twice:
        return ()
    return (
        f"{len(twice)} name(s) occur more than once: {listed(twice)}; `?labels=id` writes node ids "
        "instead.",
    )


def require_two_axes(value: object, role: str) -> None:
    """Raises UsageError for an array of more than two dimensions, such as images."""
    if isinstance(value, np.ndarray) and value.ndim > 2:
        raise UsageError(
            f"Input {role!r} must be a matrix, one row per point; the array has {value.ndim} "
            f"dimensions, shape {value.shape}.",
            code="wrong-shape",
            role=role,
        )


def require_finite(values: Matrix, role: str, block: int = 1 << 22, first_row: int = 0) -> None:
    """Raises UsageError naming the row and column of the first value that is NaN or infinite;
    EmptyValue for a NaN in features; of features also as `require_exact`.

    first_row : the number of the first of these rows.

    Reads in blocks of about `block` values, so a memory-mapped array is never held whole. O(N D),
    for sparse rows O(number of stored values).
    """
    if values.dtype.kind != "f":
        if role == "features":
            _require_exact(values, role, block, first_row)
        return
    if isinstance(values, sp.csr_array):
        odd = np.flatnonzero(~np.isfinite(values.data))
        if odd.size:
            row = int(np.searchsorted(values.indptr, odd[0], side="right")) - 1
            _refuse(role, row, int(values.indices[odd[0]]), values.data[odd[0]])
        return
    rows = max(1, block // max(1, values.shape[1]))
    for start in range(0, values.shape[0], rows):
        part = values[start : start + rows]
        if _is_finite(part):
            continue
        bad = np.argwhere(~np.isfinite(part))
        if bad.size:
            row, column = int(bad[0, 0]), int(bad[0, 1])
            _refuse(role, first_row + row + start, column, part[row, column])


def require_filled(values: npt.NDArray[Any], role: str, *, pairwise: bool) -> None:
    """As `require_finite`; with `pairwise`, empty values (NaN) are none that it refuses."""
    if not pairwise:
        require_finite(values, role)
    elif values.dtype.kind == "f":
        infinite = np.argwhere(np.isinf(values))
        if infinite.size:
            row, column = int(infinite[0, 0]), int(infinite[0, 1])
            _refuse(role, row, column, float(values[row, column]))


def first_odd_row(values: Matrix | Rows, block: int = 1 << 22) -> int | None:
    """The first row with a value that is NaN or infinite; None where there is none.

    Reads in blocks of about `block` values. O(N D), for sparse rows O(number of stored values).
    """
    is_bfloat16 = isinstance(values, Rows) and values.bfloat16
    if values.dtype.kind != "f" and not is_bfloat16:
        return None
    if isinstance(values, sp.csr_array):
        places = np.flatnonzero(~np.isfinite(values.data))
        if not places.size:
            return None
        return int(np.searchsorted(values.indptr, places[0], side="right")) - 1
    rows = max(1, block // max(1, int(np.prod(values.shape[1:]))))
    for start in range(0, values.shape[0], rows):
        stop = start + rows
        part = values.values(start, stop) if isinstance(values, Rows) else values[start:stop]
        if part.dtype.kind == "f" and not _is_finite(part):
            odd = ~np.isfinite(part).reshape(len(part), -1).all(axis=1)
            if odd.any():
                return start + int(odd.argmax())
    return None


def from_row(error: UsageError, first_row: int) -> UsageError | None:
    """An error of `require_finite`, of rows that are alone, as that of rows from number `first_row`
    on; None for other errors."""
    row = error.where.get("row")
    at = f" at row {row}, "
    if error.code != "not-finite" or not isinstance(row, int) or at not in error.detail:
        return None
    detail = error.detail.replace(at, f" at row {first_row + row}, ", 1)
    return type(error)(detail, code=error.code, **{**error.where, "row": first_row + row})


def _is_finite(part: npt.NDArray[Any]) -> bool:
    """Whether the sum is finite, iff no term is NaN or infinite, short of overflow: one cheap
    pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(part.sum(dtype=np.float64)))


def _require_exact(values: Matrix, role: str, block: int, first_row: int) -> None:
    if isinstance(values, sp.csr_array):
        at = first_rounded(values.data)
        if at is not None:
            row = int(np.searchsorted(values.indptr, at, side="right")) - 1
            column = int(values.indices[at])
            raise rounded(int(values.data[at]), first_row + row, column, role=role)
        return
    rows = max(1, block // max(1, values.shape[1]))
    for start in range(0, values.shape[0], rows):
        require_exact(values[start : start + rows], role, first_row + start)


def _refuse(role: str, row: int, column: int, value: float) -> None:
    kind, error, advice = "infinite", UsageError, ""
    if np.isnan(value):
        kind = "NaN"
        if role_of(role).gaps:
            error, advice = EmptyValue, f" {FILLED_BY}"
    raise error(
        f"Input {role!r} has a value that is {kind} at row {row}, column {column} "
        f"(counted from 0); every value must be finite.{advice}",
        code="not-finite",
        role=role,
        row=row,
        column=column,
    )


ImageSize: TypeAlias = tuple[int, int, int]
"""Height, width and channels."""

CHANNELS = (1, 3)

V = TypeVar("V")


def size_of(shape: Sequence[int], image_shape: Sequence[int] | None) -> ImageSize | None:
    """The size of the images in an array of this shape; None if its rows are plain vectors.

    shape : (n_points, height, width), (n_points, height, width, channels), or (n_points, n_values)
        with images in C order.
    image_shape : [height, width] or [height, width, channels] of a matrix's rows.

    Raises UsageError for sizes that do not fit the array, and for numbers of channels other than 1
    and 3.
    """
    given = tuple(image_shape) if image_shape is not None else None
    own = tuple(shape[1:]) if len(shape) > 2 else None
    if given is None and own is None:
        return None
    height, width, n_channels = (*(own or given or ()), 1)[:3]
    size = (height, width, n_channels)
    if own is not None and given is not None and (*given, 1)[:3] != size:
        raise UsageError(
            f"'image_shape' is {list(given)}, but the array has images of shape {list(own)}. Leave "
            "it out, or give the array as a matrix with one image in each row.",
            code="wrong-parameter",
            parameter="image_shape",
        )
    if own is None and height * width * n_channels != shape[1]:
        raise UsageError(
            f"'image_shape' {list(given or ())} has {height * width * n_channels:,} values, but a "
            f"row has {shape[1]:,}.",
            code="wrong-parameter",
            parameter="image_shape",
        )
    if n_channels not in CHANNELS:
        raise UsageError(
            f"Images have {n_channels} channels; accepted are 1 (grey) and 3 (red, green, blue), "
            "as the last axis: (n_images, height, width, channels).",
            code="wrong-shape",
            role="features",
        )
    return size


def as_matrix(value: V) -> V | Array:
    """Images as a matrix with one in each row, not copied; anything else unchanged."""
    if isinstance(value, np.ndarray) and value.ndim > 2:
        return value.reshape(len(value), -1)
    return value


def image_rows(
    data: Data, role: str, image_shape: Sequence[int] | None
) -> tuple[Array, ImageSize | None]:
    """The matrix (n_points, n_values) of `role` as stored, an image in each row in C order, and the
    size of the images; None if rows are plain vectors.

    Raises UsageError as `size_of` and `Data.dense`.
    """
    values = data.values[role]
    if isinstance(values, np.ndarray) and values.ndim in (3, 4):
        size = size_of(values.shape, image_shape)
        return Data({role: as_matrix(values)}).dense(role), size
    matrix = data.dense(role)
    return matrix, size_of(matrix.shape, image_shape)
