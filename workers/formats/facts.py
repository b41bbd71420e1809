"""Facts of a file of arrays, and the limits that apply while one is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.errors import UsageError, shown
from workers.formats.column_roles import Column
from workers.formats.csv_dialect import AS_FOUND, Written

_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class Member:
    """One of several arrays in a file."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{shown(self.name)} {self.shape} {self.dtype}" if self.dtype else shown(self.name)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file holds.

    shape : (n_rows, n_columns), or (n_rows,) of a column.
    dtype : NumPy's name ("float32", ">f4" where big-endian), "bfloat16", or "str" for text.
    sparse : whether it loads as `scipy.sparse.csr_array`.
    members : every array of the file, where the format can hold several.
    columns : of a table, with their roles; empty where they have no names.
    warnings : what was decided about the file, and what of it is not used.
    """

    shape: tuple[int, ...]
    dtype: str
    sparse: bool = False
    members: tuple[Member, ...] = ()
    columns: tuple[Column, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on a file that is opened.

    max_bytes : limit on the arrays in memory and on the total size of an archive's members.
    max_members : limit on the number of arrays in a file.
    max_ratio : limit on the ratio of unpacked to packed size of an archive, if it unpacks to more
        than `ratio_floor` bytes.
    n_features : the declared number of columns of sparse rows whose format does not say it
        (libsvm); None for that of the largest index. csv : how the uploader says that a CSV file is
        written.
    gaps : whether cells of a matrix of text or columns may be empty; they are NaN. masks : whether
        they may be -inf.
    """

    max_bytes: int = 8 << 30
    max_members: int = 1024
    max_ratio: int = 200
    ratio_floor: int = 64 << 20
    n_features: int | None = None
    csv: Written = AS_FOUND
    gaps: bool = False
    masks: bool = False

    def require(self, n_bytes: int) -> None:
        """Raise UsageError `too-large` if an opened file would take more than `max_bytes`."""
        if n_bytes > self.max_bytes:
            raise UsageError(
                f"The file would take {n_bytes} bytes in memory; at most {self.max_bytes} are "
                "accepted.",
                code="too-large",
                bytes=n_bytes,
                limit=self.max_bytes,
            )


DEFAULT = Bounds()


def choose(members: Sequence[Member], name: str | None) -> int:
    """Position of the array to read: the one called `name`, or the only one.

    Raises UsageError `member-needed` listing the arrays if none is chosen or none has that name,
    `empty` if the file holds no array.
    """
    if not members:
        raise UsageError("The file holds no array.", code="empty")
    if name is None and len(members) == 1:
        return 0
    for position, member in enumerate(members):
        if member.name == name:
            return position
    problem = (
        "The file holds several arrays; choose one with ?member=."
        if name is None
        else f"The file holds no array named {shown(name)}."
    )
    listed = members[:_MOST_LISTED]
    more = f"; and {len(members) - _MOST_LISTED} more" if len(members) > _MOST_LISTED else ""
    raise UsageError(
        f"{problem} It holds: {'; '.join(map(str, listed))}{more}.",
        code="member-needed",
        members=[
            {"name": member.name, "shape": list(member.shape), "dtype": member.dtype}
            for member in listed
        ],
    )
