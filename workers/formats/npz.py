"""NumPy's `.npz`: a zip archive of `.npy` members, also the form of SciPy's sparse matrices.

The directory is checked (number, sizes, ratio, encryption, names) before anything is unpacked, and
each member is read only as far as the directory says.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import shown
from models.roles import Want
from workers.formats import archives, npy
from workers.formats.archives import ArchiveKind
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, choose
from workers.formats.raw import Layout
from workers.formats.refusals import CONVERT, broken, unsupported
from workers.formats.tables import Table, dtype_name, require_filled

_HEAD = 12_000
_BLOCK = 4 << 20
_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}


@dataclass(frozen=True, slots=True)
class _Unpacked:
    """The bytes of a member, which is read from its start to its end."""

    file: IO[bytes]
    length: int

    def read(self, start: int, stop: int) -> bytes:
        self.file.seek(start)
        return self.file.read(stop - start)


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the chosen array, of which only the header is read, but text, or of the sparse
    matrix.

    A sparse matrix is read whole, so that what is not consistent is refused here and not by the
    jobs that use it; its positions are held in memory, its values are not.
    """
    with _archive(path, bounds) as archive:
        members = _members(archive)
        if member is None and _is_sparse(members):
            form, shape = _form(archive, members, bounds)
            data = next(member for member in members if member.name == "data")
            require_filled(shape)
            _require_consistent(archive, members, form, shape)
            return Facts(shape, data.dtype, sparse=True, members=members)
        chosen = members[choose(members, member)]
        require_filled(chosen.shape)
        info = archive.getinfo(f"{chosen.name}.npy")
        layout = _header(archive, info)
        with _member(archive, info) as file:
            npy.require_text(_Unpacked(file, info.file_size), layout)
        return Facts(chosen.shape, chosen.dtype, members=members)


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The chosen array, unpacked into memory, or the sparse matrix as `csr_array`."""
    with _archive(path, bounds) as archive:
        members = _members(archive)
        if member is None and _is_sparse(members):
            return _sparse(archive, members, bounds)
        chosen = members[choose(members, member)]
        require_filled(chosen.shape)
        return _array(archive, chosen.name)


def _require(name: str) -> None:
    if name.endswith((".pkl", ".pickle", ".pt", ".pth")):
        raise unsupported(f"The archive holds the pickle {shown(name)}. {CONVERT}")
    if not name.endswith(".npy"):
        raise unsupported(
            f"Member {shown(name)} of the archive is not a .npy array; an .npz holds nothing "
            "else, neither folders nor archives."
        )


_KIND = ArchiveKind(
    noun=".npz",
    packed_by="numpy.savez and numpy.savez_compressed",
    advice="Upload such an array as .npy, or a sparse matrix by scipy.sparse.save_npz.",
    most_directory=1 << 20,
    require=_require,
)


def _archive(path: Path, bounds: Bounds) -> AbstractContextManager[zipfile.ZipFile]:
    return archives.opened(path, _KIND, bounds, bounds.max_members)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> AbstractContextManager[IO[bytes]]:
    return archives.member(archive, info, _KIND)


def _members(archive: zipfile.ZipFile) -> tuple[Member, ...]:
    members = []
    for info in archive.infolist():
        layout = _header(archive, info)
        name = info.filename.removesuffix(".npy")
        members.append(Member(name, layout.shape, dtype_name(layout.dtype)))
    return tuple(members)


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Layout:
    with _member(archive, info) as file:
        head = file.read(min(_HEAD, info.file_size))
    name = shown(info.filename)
    if head.startswith(b"PK\x03\x04"):
        raise unsupported(f"Member {name} of the archive is itself an archive.")
    return npy.header(head, info.file_size, f"Member {name}")


def _array(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """A member unpacked into memory, in blocks. Raises EOFError if it ends early."""
    info = archive.getinfo(f"{name}.npy")
    layout = _header(archive, info)
    array = np.empty(layout.shape[::-1] if layout.fortran else layout.shape, dtype=layout.dtype)
    if array.size:
        view = array.reshape(-1).view(np.uint8).data
        n_read = 0
        with _member(archive, info) as file:
            file.read(layout.offset)
            while n_read < len(view):
                block = file.read(min(_BLOCK, len(view) - n_read))
                if not block:
                    raise EOFError
                view[n_read : n_read + len(block)] = block
                n_read += len(block)
    return array.T if layout.fortran else array


def _is_sparse(members: tuple[Member, ...]) -> bool:
    names = {member.name for member in members}
    return {"format", "shape", "data"} <= names and any(
        set(parts) <= names for parts in (*_PARTS.values(), ("coords",))
    )


def _form(
    archive: zipfile.ZipFile, members: tuple[Member, ...], bounds: Bounds
) -> tuple[str, tuple[int, int]]:
    by_name = {member.name: member for member in members}
    if by_name["format"].shape != () or by_name["shape"].shape not in ((2,), (1,)):
        raise broken("The sparse matrix in the archive must have two dimensions and a format.")
    item = _array(archive, "format").item()
    form = item.decode("ascii", "replace") if isinstance(item, bytes) else str(item)
    lengths = _array(archive, "shape").tolist()
    if form not in _PARTS or len(lengths) != 2 or not all(isinstance(n, int) for n in lengths):
        raise unsupported(
            f"A sparse matrix of format {shown(form)} and shape {lengths} is not accepted; "
            f"accepted are two dimensions and {', '.join(_PARTS)}."
        )
    n_rows, n_columns = lengths
    if n_rows < 0 or n_columns < 0:
        raise broken(f"The sparse matrix claims the shape {tuple(lengths)}.")
    bounds.require(8 * (n_rows + n_columns))
    return form, (n_rows, n_columns)


def _sparse(archive: zipfile.ZipFile, members: tuple[Member, ...], bounds: Bounds) -> sp.csr_array:
    form, shape = _form(archive, members, bounds)
    parts = _positions(archive, members, form)
    data = _array(archive, "data")
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if data.dtype.itemsize == 2 and data.dtype.kind == "f":
        data = data.astype(np.float32)
    with consistent():
        matrix = assembled(form, data, parts, shape).tocsr()
        matrix.sum_duplicates()
        matrix.check_format(full_check=True)
    return matrix


def _require_consistent(
    archive: zipfile.ZipFile, members: tuple[Member, ...], form: str, shape: tuple[int, int]
) -> None:
    """Raise what `_sparse` raises. O(file), in blocks but for the positions."""
    parts = _positions(archive, members, form)
    data = next(member for member in members if member.name == "data")
    with consistent():
        assembled(form, np.broadcast_to(np.zeros(1, np.int8), data.shape), parts, shape)
    with _member(archive, archive.getinfo("data.npy")) as file:
        # The archive's checksum is compared at the end.
        while file.read(_BLOCK):
            pass


def _positions(
    archive: zipfile.ZipFile, members: tuple[Member, ...], form: str
) -> list[npt.NDArray[np.int64]]:
    """The arrays that say where the values of the sparse matrix are."""
    dtypes = {member.name: member.dtype for member in members}
    needed = _PARTS[form]
    if form == "coo" and "coords" in dtypes:
        needed = ("data", "coords")
    if not set(needed) <= set(dtypes):
        raise broken(f"A sparse matrix of format {form} needs the members {', '.join(needed)}.")
    kinds = [np.dtype(dtypes[name]).kind for name in needed]
    if kinds[0] not in "biuf" or any(kind not in "iu" for kind in kinds[1:]):
        raise broken("The sparse matrix must hold numbers, its positions integers.")
    return [_array(archive, name).astype(np.int64, copy=False) for name in needed[1:]]


def assembled(
    form: str,
    data: npt.NDArray[Any],
    parts: list[npt.NDArray[np.int64]],
    shape: tuple[int, int],
) -> Any:
    """The sparse array of this form. Raises SciPy's errors unless its parts are consistent."""
    if form == "coo":
        row, column = parts if len(parts) == 2 else parts[0]
        return sp.coo_array((data, (row, column)), shape=shape)
    if form == "dia":
        return sp.dia_array((data, parts[0]), shape=shape)
    kind = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[form]
    _require_rising(parts[1], len(parts[0]))
    if form == "bsr":
        _require_blocks(data.shape, shape)
    compressed = kind((data, parts[0], parts[1]), shape=shape)
    compressed.check_format(full_check=True)
    return compressed


def _require_rising(indptr: npt.NDArray[np.int64], n_indices: int) -> None:
    """Raise ValueError unless these are bounds of slices of the indices, one after the other.

    SciPy checks that only where the last one is above 0, and reads outside its arrays otherwise.
    """
    if indptr.ndim != 1 or not indptr.size or indptr[0] != 0 or indptr[-1] > n_indices:
        raise ValueError(f"indptr must be a row of bounds from 0 to at most {n_indices}")
    if (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr must not fall")


def _require_blocks(data: tuple[int, ...], shape: tuple[int, int]) -> None:
    """Raise ValueError unless blocks of this many values make up the matrix."""
    if len(data) != 3 or 0 in data[1:] or shape[0] % data[1] or shape[1] % data[2]:
        raise ValueError(f"a matrix of shape {shape} cannot have the blocks of data {data}")


@contextmanager
def consistent() -> Iterator[None]:
    """Errors of SciPy about a sparse matrix as the user's."""
    try:
        yield
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise broken(f"The sparse matrix is not consistent: {_first_line(error)}.") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:120].rstrip(".") or type(error).__name__
