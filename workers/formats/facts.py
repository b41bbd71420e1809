"""What is known of a file of arrays, and the bounds that hold while one is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.errors import UsageError

CONVERT = (
    "Pickled content is never opened. Save plain arrays instead: numpy.save(file, array, "
    "allow_pickle=False) for .npy, or safetensors.torch.save_file({'logits': tensor}, file)."
)


@dataclass(frozen=True, slots=True)
class Member:
    """One array of a file that holds several."""

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
    """

    shape: tuple[int, ...]
    dtype: str
    sparse: bool = False
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a file may become when it is opened.

    max_bytes : bound on the arrays in memory and on an archive's members taken together.
    max_members : bound on the number of arrays in one file.
    max_ratio : an archive that grows past `ratio_floor` bytes may grow by this factor at most.
    """

    max_bytes: int = 8 << 30
    max_members: int = 1024
    max_ratio: int = 200
    ratio_floor: int = 64 << 20

    def require(self, n_bytes: int) -> None:
        """Raise UsageError `too-large` where an opened file would take more than `max_bytes`."""
        if n_bytes > self.max_bytes:
            raise UsageError(
                f"The file would take {n_bytes} bytes in memory; at most {self.max_bytes} are "
                "accepted.",
                code="too-large",
                bytes=n_bytes,
                limit=self.max_bytes,
            )


DEFAULT = Bounds()


def choose(members: Sequence[Member], member: str | None) -> int:
    """Position of the array to read: the one named, or the only one.

    Raises UsageError `member-needed` listing the arrays where none is chosen or none has that
    name, `empty` where there is none at all.
    """
    if not members:
        raise UsageError("The file holds no array.", code="empty")
    if member is None and len(members) == 1:
        return 0
    for position, one in enumerate(members):
        if one.name == member:
            return position
    said = (
        "The file holds several arrays; choose one with ?member=."
        if member is None
        else f"The file holds no array named {shown(member)}."
    )
    listed = "; ".join(str(one) for one in members[:20])
    more = f"; and {len(members) - 20} more" if len(members) > 20 else ""
    raise UsageError(
        f"{said} It holds: {listed}{more}.",
        code="member-needed",
        members=[
            {"name": one.name, "shape": list(one.shape), "dtype": one.dtype} for one in members[:20]
        ],
    )


def shown(text: str, limit: int = 60) -> str:
    """A foreign text as it may stand in a sentence: quoted, escaped and shortened."""
    return ascii(text if len(text) <= limit else text[:limit] + "...")


def unsupported(detail: str) -> UsageError:
    """A file whose format is not taken."""
    return UsageError(detail, code="unsupported-format")


def broken(detail: str) -> UsageError:
    """A file that is not what its format says."""
    return UsageError(detail, code="invalid-file")
