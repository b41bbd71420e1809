"""AnnData (`.h5ad`, of version 0.7 or later): a matrix with the names of its rows and columns, and
columns beside it.

The matrix is `X`, or the one that `member` names: `layers/counts`, `obsm/X_pca`, `obsp/distances`,
`raw/X`; dense, or sparse by rows or by columns. The index of `var` names the columns of X, of
layers and, that of `raw/var`, of `raw/X`; other matrices are a column of vectors. The index of
`obs` is the ids of the rows, its other columns stand beside the features, in the order of the
alphabet: the labels, or features where they are chosen. One that is also called as a column of the
matrix is `obs/NAME`. What else is in the file is not read, which a note says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError, listed, shown
from models.roles import Want
from workers.formats import batches, hdf5, npz
from workers.formats.batches import Batches
from workers.formats.column_roles import Seen
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, choose
from workers.formats.refusals import broken, unsupported
from workers.formats.tables import Columns, Table, require_filled

MEDIA_TYPES = ("application/x-hdf5", "application/x-hdf", "application/x-h5ad")
NEEDS = ("h5py",)

_BATCH_ROWS = 1 << 14
_FOLDERS = ("layers", "obsm", "obsp")
_UNREAD = ("uns", "varm", "varp")
_SPARSE = {"csr_matrix": "csr", "csc_matrix": "csc"}
_NULLABLE = frozenset({"nullable-integer", "nullable-boolean", "nullable-string-array"})
_OLD = (
    "The file is of AnnData before 0.7, whose tables are compound arrays; open it with a newer "
    "anndata and write it again: anndata.read_h5ad(file).write(file)."
)
_FOREIGN = (
    "The HDF5 file is not of AnnData: it needs the groups obs and var beside a matrix. Upload "
    "an array of another HDF5 file as .npy, a table as Parquet."
)

Block: TypeAlias = "npt.NDArray[Any] | sp.csr_array"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of the file. part : the array, or the group of a sparse one. form : "csr", "csc", or
    "dense"."""

    name: str
    part: Any
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    form: str


@dataclass(frozen=True, slots=True)
class Annotated:
    """An open file.

    obs : its index and columns. variables : the names of the columns of the matrix; None: it is a
        column of vectors. bounds : of what is read. notes : what is not read. column : the one that
        was chosen, if any.
    """

    obs: Batches
    matrix: Matrix
    variables: tuple[str, ...] | None
    bounds: Bounds
    notes: tuple[str, ...]
    column: str | None = None

    def seen(self) -> list[Seen]:
        """The columns of the matrix."""
        if self.variables is None:
            return [Seen(self.matrix.name, "vector")]
        return [Seen(name, "number") for name in self.variables]

    def values(self, names: Sequence[str]) -> Block:
        """(n_rows, n) the columns of these names in this order, of the matrix and of `obs`."""
        if self.variables is None and tuple(names) == (self.matrix.name,):
            return self._whole()
        place = {name: at for at, name in enumerate(self.variables or ())}
        own = [name for name in names if name in place]
        beside = [name for name in names if name not in place]
        if not own:
            return batches.columns(self.obs, beside, self.bounds)
        found = self._whole() if len(own) == len(place) else None
        places = [place[name] for name in own]
        if found is None:
            parts = list(self._blocks(places))
            is_sparse = isinstance(parts[0], sp.csr_array)
            found = sp.csr_array(parts[0]) if is_sparse else np.concatenate(parts)
        elif places != list(range(len(places))):
            found = found[:, places]
        if not beside:
            return found
        others = batches.columns(self.obs, beside, self.bounds)
        order = [[*own, *beside].index(name) for name in names]
        if isinstance(found, sp.csr_array):
            return sp.csr_array(sp.csr_array(sp.hstack([found, sp.csr_array(others)]))[:, order])
        return np.concatenate([found, others], axis=1)[:, order]

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """What `values` gives, as blocks of rows; a sparse matrix is one."""
        place = {name: at for at, name in enumerate(self.variables or ())}
        if self.variables is None and tuple(names) == (self.matrix.name,):
            yield from self._blocks(None)
        elif all(name in place for name in names):
            yield from self._blocks([place[name] for name in names])
        else:
            yield self.values(names)

    def _blocks(self, places: list[int] | None) -> Iterator[Block]:
        """places : the columns; None: all."""
        if self.matrix.form != "dense":
            whole = _sparse(self.matrix, self.bounds)
            yield whole if places is None else sp.csr_array(whole[:, places])
            return
        hdf5.require_readable(self.matrix.part, self.bounds)
        for start, stop in hdf5.steps(self.matrix.part):
            block = hdf5.rows(self.matrix.part, self.matrix.dtype, start, stop)
            yield block if places is None else block[:, places]

    def _whole(self) -> Block:
        if self.matrix.form != "dense":
            return _sparse(self.matrix, self.bounds)
        part = self.matrix.part
        hdf5.require_readable(part, self.bounds)
        found = np.empty(self.matrix.shape, dtype=self.matrix.dtype)
        for start, stop in hdf5.steps(part):
            hdf5.into(part, found[start:stop], start)
        return found


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the column that `member` names, or else of the matrix, whose values are read."""
    with opened(path, bounds, member) as found:
        if found.column is not None and found.column in found.obs.schema.names:
            return batches.facts(found.obs, found.column, bounds)
        if found.column is not None:
            return Facts((found.matrix.shape[0],), str(found.matrix.dtype))
        shape, form = found.matrix.shape, found.matrix.form
        for _ in found.blocks(found.variables or (found.matrix.name,)):
            pass
        return Facts(shape, str(found.matrix.dtype), sparse=form != "dense")


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The column that `member` names, or else the matrix."""
    if want == "table":
        raise UsageError(
            "Items are tables, and a file of AnnData is a matrix with columns beside it; write "
            "these alone: adata.obs.to_csv(file).",
            code="wrong-input",
        )
    with opened(path, bounds, member) as found:
        if found.column is not None and found.column in found.obs.schema.names:
            return batches.read(found.obs, found.column, want, bounds)
        if found.column is not None:
            column = found.values([found.column])
            plain = column.toarray() if isinstance(column, sp.csr_array) else column
            return plain if want == "matrix" else plain[:, 0]
        if want in ("matrix", "edges"):
            return found.values(found.variables or (found.matrix.name,))
        return Columns(found.obs.schema.names)


@contextmanager
def opened(path: Path, bounds: Bounds, member: str | None = None) -> Iterator[Annotated]:
    """The file with X, or with the matrix that `member` names. A `member` that names none is a
    column beside X or of it, `MATRIX!COLUMN` one of another matrix.

    Raises UsageError `unsupported-format` for other HDF5 files, AnnData before 0.7, links and
    values in other files; `invalid-file`, `too-large`, `archive-bomb`, `empty`; `member-needed` for
    a matrix that is not there.
    """
    with hdf5.opened(path) as root:
        obs, var = _frame(root, "obs"), _frame(root, "var")
        n_rows = _index(obs).shape[0]
        matrices, odd = _matrices(root)
        members = [Member(each.name, each.shape, str(each.dtype)) for each in matrices]
        matrix, column = _chosen(members, member)
        own = matrices[matrix]
        require_filled(own.shape)
        holder = _frame(hdf5.member(root, "raw"), "var") if own.name == "raw/X" else var
        named = own.name in ("X", "raw/X") or own.name.startswith("layers/")
        index = _index(holder)
        columns = index.shape[0] if named else own.shape[1]
        if own.name.startswith("obsp/"):
            columns = n_rows
        if own.shape != (n_rows, columns):
            raise broken(
                f"Matrix {shown(own.name)} of the AnnData file has the shape {own.shape}; its "
                f"tables have {n_rows} rows and {columns} columns."
            )
        variables = tuple(_texts(index, bounds)) if named else None
        table, left_out, renamed = _table(obs, n_rows, set(variables or (own.name,)), bounds)
        notes = _notes(root, members, member, own.name, holder, (*odd, *left_out), renamed)
        known = {*table.schema.names, *(variables or ())}
        if column is not None and column not in known:
            choose(members, column)
        yield Annotated(table, own, variables, bounds, notes, column)


def _chosen(members: Sequence[Member], member: str | None) -> tuple[int, str | None]:
    """The place of the matrix, and the name of the column."""
    names = [each.name for each in members]
    first = names.index("X") if "X" in names else 0
    if member is None:
        return (first if "X" in names else choose(members, None)), None
    if member in names or not names:
        return choose(members, member), None
    matrix, mark, column = member.partition("!")
    if mark and matrix in names:
        return names.index(matrix), column
    return first, member


def _notes(
    root: Any,
    members: Sequence[Member],
    member: str | None,
    matrix: str,
    var: Any,
    odd: Sequence[str],
    renamed: Sequence[str],
) -> tuple[str, ...]:
    notes: list[str] = []
    if len(members) > 1 and member is None:
        notes.append(
            f"The AnnData file has {len(members)} matrices "
            f"({listed([each.name for each in members], 20)}); {shown(matrix)} is read, ?member= "
            "chooses another."
        )
    unread = [shown(name) for name in _UNREAD if _is_filled(root, name)]
    own = {"__categories", hdf5.attribute(var, "_index") or "_index"}
    columns = [name for name in hdf5.names(var) if name not in own]
    if columns:
        unread.append(f"the columns of var ({listed(columns, 20)})")
    if unread:
        notes.append(f"Not read of the AnnData file: {', '.join(unread)}.")
    if odd:
        notes.append(
            f"Left out of the AnnData file, being of kinds that are not read: {listed(odd, 20)}."
        )
    if renamed:
        notes.append(
            "Columns of obs that are called as a column of the matrix are read as obs/NAME: "
            f"{listed(renamed, 20)}."
        )
    return tuple(notes)


def _is_filled(root: Any, name: str) -> bool:
    found = hdf5.member(root, name) if name in hdf5.names(root) else None
    return found is not None and (hdf5.is_array(found) or bool(hdf5.names(found)))


def _frame(group: Any, name: str) -> Any:
    """A table of the file, which is a group of columns."""
    found = None if group is None or hdf5.is_array(group) else hdf5.member(group, name)
    if found is None:
        raise unsupported(_FOREIGN)
    if hdf5.is_array(found):
        raise unsupported(_OLD)
    return found


def _index(frame: Any) -> Any:
    """The names of the rows of a table, as an array of texts or integers."""
    name = hdf5.attribute(frame, "_index") or "_index"
    found = hdf5.member(frame, name) if isinstance(name, str) and "/" not in name else None
    if found is None or not hdf5.is_array(found):
        raise unsupported(_FOREIGN)
    if hdf5.type_of(found) is None:
        raise unsupported(
            f"The index {shown(found.name)} of the AnnData file must be text or numbers."
        )
    hdf5.require_length(found, None)
    return found


def _texts(array: Any, bounds: Bounds) -> list[str]:
    dtype = hdf5.require_readable(array, bounds)
    if dtype.kind == "U":
        return hdf5.texts(array, 0, array.shape[0])
    return [str(each) for each in hdf5.vector(array, bounds).tolist()]


def _matrices(root: Any) -> tuple[list[Matrix], list[str]]:
    """The matrices with a row for each of `obs`, and the names of what stands in their places and
    is none."""
    found: list[Matrix] = []
    odd: list[str] = []
    places = [("X", root, "X")]
    for folder in ("raw", *_FOLDERS):
        group = hdf5.member(root, folder)
        if group is None:
            continue
        if hdf5.is_array(group):
            raise unsupported(_OLD)
        inside = ["X"] if folder == "raw" else hdf5.names(group)
        places += [(f"{folder}/{name}", group, name) for name in inside]
    for called, group, name in places:
        part = hdf5.member(group, name)
        matrix = None if part is None else _matrix(called, part)
        if matrix is not None:
            found.append(matrix)
        elif part is not None and hdf5.attribute(part, "encoding-type") != "null":
            odd.append(called)
    return found, odd


def _matrix(name: str, part: Any) -> Matrix | None:
    """A member as a matrix; None if it is none."""
    if hdf5.is_array(part):
        dtype = hdf5.type_of(part)
        if dtype is None or dtype.kind == "U" or len(part.shape) != 2:
            return None
        return Matrix(name, part, part.shape, dtype, "dense")
    if hdf5.attribute(part, "h5sparse_format") is not None:
        raise unsupported(_OLD)
    form = _SPARSE.get(str(hdf5.attribute(part, "encoding-type")))
    if form is None:
        return None
    shape = hdf5.attribute(part, "shape")
    data = hdf5.member(part, "data")
    if not isinstance(shape, tuple) or len(shape) != 2 or min(shape) < 0 or max(shape) >= 1 << 40:
        raise broken(f"The sparse matrix {shown(name)} of the AnnData file has no shape.")
    dtype = hdf5.type_of(data) if data is not None and hdf5.is_array(data) else None
    if dtype is None or dtype.kind == "U":
        raise broken(f"The sparse matrix {shown(name)} of the AnnData file must hold numbers.")
    # SciPy has no sparse matrices of float16.
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    return Matrix(name, part, (shape[0], shape[1]), wide, form)


def _sparse(matrix: Matrix, bounds: Bounds) -> sp.csr_array:
    """The matrix by rows; one by columns is turned in memory."""
    parts = {name: hdf5.member(matrix.part, name) for name in ("data", "indices", "indptr")}
    for name, part in parts.items():
        if part is None or not hdf5.is_array(part) or hdf5.type_of(part) is None:
            raise broken(f"The sparse matrix {shown(matrix.name)} has no array {name}.")
        if name != "data" and hdf5.type_of(part).kind not in "iu":  # type: ignore[union-attr]
            raise broken(f"The {name} of sparse matrix {shown(matrix.name)} must be integers.")
        hdf5.require_length(part, None)
    n_values, copies = parts["data"].shape[0], 2 if matrix.form == "csc" else 1
    hdf5.require_length(parts["indices"], n_values)
    lines = matrix.shape[0] if matrix.form == "csr" else matrix.shape[1]
    hdf5.require_length(parts["indptr"], lines + 1)
    bounds.require(copies * n_values * (matrix.dtype.itemsize + 8) + 8 * sum(matrix.shape))
    data = hdf5.vector(parts["data"], bounds).astype(matrix.dtype, copy=False)
    indices, indptr = (
        hdf5.vector(parts[name], bounds).astype(np.int64, copy=False)
        for name in ("indices", "indptr")
    )
    with npz.consistent():
        if indptr[-1] != n_values:
            raise ValueError(f"indptr ends at {indptr[-1]}, and there are {n_values} values")
        found: sp.csr_array = npz.assembled(
            matrix.form, data, [indices, indptr], matrix.shape
        ).tocsr()
        found.sum_duplicates()
        found.check_format(full_check=True)
    return found


Part: TypeAlias = Callable[[int, int], Any]


def _table(
    frame: Any, n_rows: int, taken: set[str], bounds: Bounds
) -> tuple[Batches, list[str], list[str]]:
    """The index and the columns of `obs`, the names of those that are of no known kind, and of
    those that are called otherwise, as their name is `taken`."""
    import pyarrow as pa

    index = _index(frame)
    file_name = hdf5.attribute(frame, "_index") or "_index"
    called = {file_name: "index" if file_name == "_index" else str(file_name)}
    parts: list[tuple[str, Any, Part]] = []
    left_out: list[str] = []
    renamed: list[str] = []
    for name in (str(file_name), *(each for each in hdf5.names(frame) if each != file_name)):
        if name == "__categories":
            continue
        own = index if name == file_name else hdf5.member(frame, name)
        kind = _column(frame, name, own, n_rows, bounds)
        if kind is None:
            left_out.append(f"obs/{name}")
            continue
        known = called.get(name, name)
        if known in taken:
            renamed.append(known)
            known = f"obs/{known}"
        parts.append((known, *kind))
    schema = pa.schema([pa.field(name, type) for name, type, _ in parts]).with_metadata(
        {"pandas": f'{{"index_columns": [{_quoted(parts[0][0])}]}}'}
    )

    def read(columns: list[int]) -> Iterator[Any]:
        chosen = sorted(columns)
        own = pa.schema([schema.field(at) for at in chosen])
        for start in range(0, n_rows, _BATCH_ROWS):
            stop = min(n_rows, start + _BATCH_ROWS)
            arrays = [parts[at][2](start, stop) for at in chosen]
            yield pa.RecordBatch.from_arrays(arrays, schema=own)

    return Batches(schema, n_rows, read), left_out, renamed


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)


def _column(
    frame: Any, name: str, part: Any, n_rows: int, bounds: Bounds
) -> tuple[Any, Part] | None:
    """The Arrow type of a column, and what reads its rows; None for one of another kind."""
    if hdf5.is_array(part):
        categories = hdf5.member(frame, "__categories")
        if categories is not None and not hdf5.is_array(categories):
            # As AnnData 0.7 wrote it, beside a reference.
            own = hdf5.member(categories, name)
            if own is not None:
                return _categorical(part, own, n_rows, bounds)
        plain = "categories" not in part.attrs and hdf5.type_of(part) is not None
        return _plain(part, None, n_rows, bounds) if plain else None
    encoding = hdf5.attribute(part, "encoding-type")
    if encoding == "categorical":
        return _categorical(
            hdf5.member(part, "codes"), hdf5.member(part, "categories"), n_rows, bounds
        )
    if encoding in _NULLABLE:
        values, mask = hdf5.member(part, "values"), hdf5.member(part, "mask")
        if all(each is not None and hdf5.is_array(each) for each in (values, mask)):
            return _plain(values, mask, n_rows, bounds)
    return None


def _plain(values: Any, mask: Any, n_rows: int, bounds: Bounds) -> tuple[Any, Part] | None:
    """mask : where no value is; None: nowhere."""
    import pyarrow as pa

    dtype = hdf5.type_of(values)
    if dtype is None or (mask is not None and hdf5.type_of(mask) != np.bool_):
        return None
    for array in (values,) if mask is None else (values, mask):
        hdf5.require_length(array, n_rows)
    type = pa.large_string() if dtype.kind == "U" else pa.from_numpy_dtype(dtype)

    def read(start: int, stop: int) -> Any:
        hdf5.require_readable(values, bounds)
        missing = None
        if mask is not None:
            missing = hdf5.rows(mask, hdf5.require_readable(mask, bounds), start, stop)
        if dtype.kind == "U":
            own: Any = np.array(hdf5.texts(values, start, stop), dtype=object)
        else:
            own = hdf5.rows(values, dtype, start, stop)
        return pa.array(own, type, mask=missing)

    return type, read


def _categorical(
    codes: Any, categories: Any, n_rows: int, bounds: Bounds
) -> tuple[Any, Part] | None:
    import pyarrow as pa

    if any(part is None or not hdf5.is_array(part) for part in (codes, categories)):
        return None
    dtype, kind = hdf5.type_of(categories), hdf5.type_of(codes)
    if dtype is None or kind is None or kind.kind not in "iu":
        return None
    hdf5.require_length(codes, n_rows)
    hdf5.require_length(categories, None)
    n_categories = categories.shape[0]
    is_text = dtype.kind == "U"
    type = pa.large_string() if is_text else pa.from_numpy_dtype(dtype)

    @cache
    def words() -> Any:
        if not is_text:
            return pa.array(hdf5.vector(categories, bounds), type)
        return pa.array(_texts(categories, bounds), type)

    def read(start: int, stop: int) -> Any:
        code = hdf5.rows(codes, hdf5.require_readable(codes, bounds), start, stop)
        wrong = np.flatnonzero((code < -1) | (code >= n_categories))
        if wrong.size:
            raise broken(
                f"Column {shown(codes.name)} of the AnnData file has the code {code[wrong[0]]} at "
                f"row {start + int(wrong[0])} (counted from 0); it has {n_categories} categories."
            )
        places = pa.array(code.astype(np.int32), mask=code == -1)
        if not is_text:
            return words().take(places)
        return pa.DictionaryArray.from_arrays(places, words())

    return (pa.dictionary(pa.int32(), type) if is_text else type), read
