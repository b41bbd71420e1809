"""The formats, how the format of a file is recognised, and how each is read.

The declared media type decides; if none or an unknown one is declared, the first bytes do. A
declared type that contradicts the bytes is refused. Pickles are refused under any name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from models.errors import UsageError, shown
from models.inputs.data import Value
from models.roles import Want, role_of
from models.running import packages
from workers.formats import (
    arff,
    arrow,
    column_roles,
    csv,
    encodings,
    excel,
    h5ad,
    hdf5,
    image_zip,
    json,
    jsonl,
    labels,
    libsvm,
    npy,
    npz,
    parquet,
    raw,
    roles,
    safetensors,
    table_files,
    tree_documents,
)
from workers.formats.column_roles import COLUMN_OF, UNCHOSEN, Choice, Column
from workers.formats.facts import DEFAULT, Bounds, Facts, Member
from workers.formats.gaps import Gaps
from workers.formats.raw import Content, Layout
from workers.formats.recognition import refuse_foreign, text_format
from workers.formats.refusals import by_curl, texts_refused, unsupported
from workers.formats.tables import Columns, Indicator, Table

__all__ = [
    "ACCEPTED",
    "FORMATS",
    "LABELLED",
    "RAW",
    "SEVERAL",
    "Bounds",
    "Facts",
    "Format",
    "Member",
    "format_of",
    "inspect",
    "load",
    "locate",
    "peek",
    "rows",
]


MAPPED_BYTES = 256 << 20
"""The size of a table from which on what is read by rows is not held."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format and its reader.

    media_types : the main one first, then other names for it. binary : whether its first bytes
        identify it.
    inspect : gives the facts of a file. read : gives its plain table, for `roles.value`; `member`
        chooses an array.
    locate : gives the position of an array, for formats that store it uncompressed.
    by_role : whether a file may hold what only a role of that is read `by_role` takes, so that its
        facts depend on the role.
    labelled : whether a file holds features and labels at once; its facts are of the features.
    needs : the optional packages that read it.
    """

    id: str
    media_types: tuple[str, ...]
    binary: bool
    inspect: Callable[[Path, str | None, Bounds], Facts]
    read: Callable[[Path, str | None, Want, Bounds], Table]
    locate: Callable[[Content, str | None, Bounds], Layout] | None = None
    by_role: bool = False
    labelled: bool = False
    needs: tuple[str, ...] = ()


_ALL = (
    Format("npy", ("application/x-npy",), True, npy.inspect, npy.read, npy.locate),
    Format("npz", ("application/x-npz",), True, npz.inspect, npz.read),
    Format(
        "safetensors",
        ("application/safetensors", "application/vnd.safetensors"),
        True,
        safetensors.inspect,
        safetensors.read,
        safetensors.locate,
    ),
    Format(
        "arrow-stream",
        ("application/vnd.apache.arrow.stream",),
        True,
        arrow.inspect_stream,
        arrow.read_stream,
        by_role=True,
    ),
    Format(
        "arrow-file",
        ("application/vnd.apache.arrow.file",),
        True,
        arrow.inspect_file,
        arrow.read_file,
        by_role=True,
    ),
    Format(
        "parquet",
        ("application/vnd.apache.parquet", "application/x-parquet"),
        True,
        parquet.inspect,
        parquet.read,
        by_role=True,
    ),
    Format(
        "zip",
        ("application/zip", "application/x-zip-compressed"),
        True,
        image_zip.inspect,
        image_zip.read,
        by_role=True,
    ),
    *(
        Format(id, (media_type,), True, excel.inspect, excel.read, by_role=True)
        for id, media_type in excel.MEDIA_TYPES.items()
    ),
    Format("h5ad", h5ad.MEDIA_TYPES, True, h5ad.inspect, h5ad.read, by_role=True, needs=h5ad.NEEDS),
    Format(
        "csv",
        ("text/csv", "text/tab-separated-values"),
        False,
        csv.inspect,
        csv.read,
        by_role=True,
    ),
    Format("libsvm", ("text/x-libsvm",), False, libsvm.inspect, libsvm.read, labelled=True),
    Format(
        "arff",
        ("text/x-arff", "application/x-arff"),
        False,
        arff.inspect,
        arff.read,
        labelled=True,
    ),
    Format("json", ("application/json",), False, json.inspect, json.read, by_role=True),
    Format(
        "jsonl",
        ("application/x-ndjson", "application/jsonl", "application/x-jsonlines"),
        False,
        jsonl.inspect,
        jsonl.read,
        by_role=True,
    ),
    *(
        Format(id, (media_type,), False, tree_documents.inspect, tree_documents.read, by_role=True)
        for id, media_type in tree_documents.MEDIA_TYPES.items()
    ),
)

FORMATS = {format.id: format for format in _ALL}
RAW = frozenset(format.id for format in _ALL if format.locate is not None)
"""Formats that store arrays uncompressed, so that parts can be read."""

LABELLED = frozenset(format.id for format in _ALL if format.labelled)
"""Formats that hold features and labels at once."""
SEVERAL = frozenset({"npz"}) | {
    format.id for format in _ALL if (format.by_role or format.labelled) and format.id != "csv"
}
"""Formats in which a row may have several labels."""

ACCEPTED = tuple(format.media_types[0] for format in _ALL)
TEXTS = frozenset(each for format in _ALL if not format.binary for each in format.media_types)
"""The media types of formats of text, which their first bytes do not tell."""
_BY_TYPE = {each.lower(): format for format in _ALL for each in format.media_types}

_SHEETS = frozenset({*excel.MEDIA_TYPES, "h5ad"})
"""The formats in which `member` chooses a table, or what stands for one, not a column."""

_LISTED = f"Accepted are {', '.join(ACCEPTED)}."


def format_of(media_type: str | None, head: bytes, role: str | None = None) -> str:
    """The id of a file's format, by its declared type and its first bytes.

    Parameters
    ----------
    media_type : the Content-Type as sent, with or without parameters; None if none was sent.
    head : the first bytes, 64 KiB or the whole file.
    role : what the file is uploaded as; a tree as text is a dataset in one role alone.

    Raises UsageError `unsupported-format`, naming what is accepted, for pickles, for unknown
    content and if type and content disagree; `empty` for an empty file.
    """
    if not head:
        raise UsageError("The file is empty.", code="empty")
    stated = (media_type or "").partition(";")[0].strip().lower()
    if stated.startswith("multipart/"):
        raise unsupported(
            "The body must be the file itself, not a form that holds the file: with curl "
            f"`--data-binary @FILE` and not `-F`. {_LISTED}"
        )
    declared = _BY_TYPE.get(stated)
    is_hierarchy = role == tree_documents.ROLE
    refuse_foreign(head, _LISTED)
    binary = _binary(head)
    if declared is not None and {declared.id, binary} <= excel.MEDIA_TYPES.keys():
        # Systems know one type for all workbooks.
        return str(binary)
    if declared is not None:
        _require_agreement(declared, binary, head)
        if declared.id in tree_documents.MEDIA_TYPES and not is_hierarchy:
            raise tree_documents.as_another()
        return declared.id
    if binary is not None:
        return binary
    text = text_format(head)
    if text is None:
        tree = _tree_format(head)
        if tree is not None and is_hierarchy:
            return tree
        if tree is not None:
            raise tree_documents.as_another()
        named = f" {shown(media_type)}" if media_type else ""
        raise unsupported(
            "The content is of no format known here, or of several possible ones, and its media "
            f"type{named} does not decide{by_curl(stated)}. Text must be declared by its type. "
            f"{_LISTED}"
        )
    return text


def _tree_format(head: bytes) -> str | None:
    """Newick or Nexus, if a file begins so."""
    from models.tree import dialects

    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    return dialects.text_format(text)


def require_reader(format: str) -> None:
    """Raise UsageError `unsupported-format` where a package that reads the format is missing."""
    what = f"A file of format {format!r}"
    packages.require(
        what, _format(format).needs, code="unsupported-format", parameter="Content-Type"
    )


def text_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32, if a file of text begins so; None for UTF-8 and for binary formats."""
    return None if _binary(head) is not None else encodings.encoding_of(head)


def peek(format: str, head: bytes, length: int) -> Facts | None:
    """Facts of an npy file from its first 64 KiB and its length; None for text that goes on after
    them, and for every other format.

    Raises UsageError: `truncated`, `invalid-file`, `unsupported-format`, `wrong-shape` (neither one
    nor two dimensions), `empty` (no rows or no columns); `too-large` for JSON past what is read.
    Allocates nothing for the array. O(1).
    """
    if format == "json":
        json.require_length(length)
    return npy.peek(head, length) if format == "npy" else None


def inspect(
    format: str,
    path: Path,
    member: str | None = None,
    bounds: Bounds = DEFAULT,
    role: str | None = None,
    choice: Choice = UNCHOSEN,
) -> Facts:
    """The facts of a file. role : what it was uploaded as, if that is known. choice : the columns
    that the uploader chose; the others of a table are used as `column_roles` proposes.

    The shape of a table is that of its features; of one without features, of what it has instead.

    For a worker's child, never for the API process. Only headers are read of numbers in npy, npz
    and safetensors, else every value. Raises UsageError: `member-needed` if the file holds
    several arrays and `member` names none of them, `archive-bomb`, `too-large`, `truncated`,
    `invalid-file`, `empty`, `ragged`, `missing-value`, `not-finite`, `wrong-input`.
    """
    if role == tree_documents.ROLE and _is_tree(format, path):
        return roles.facts(json.read(path, None, "paths"), role)
    columns, warnings = table_columns(format, path, member, bounds, choice)
    bounds = _gapped(bounds, role)
    found = _facts(_format(format), path, member, bounds, role, columns)
    of_matrix = len(found.shape) == 2 and found.dtype not in ("str", "table")
    notes = reading_notes(format, path, member, bounds, columns if of_matrix else None)
    return replace(found, columns=columns, warnings=(*notes, *warnings, *found.warnings))


def _is_tree(format: str, path: Path) -> bool:
    """Whether a file of a hierarchy is a tree as JSON, whose objects are no rows of a table."""
    return (
        format == "json" and tree_documents.document_of(json.read(path, None, "paths")) is not None
    )


def _gapped(bounds: Bounds, role: str | None) -> Bounds:
    """The bounds for a file of this role; one without a role may be features or logits."""
    own = None if role is None else role_of(role)
    return replace(bounds, gaps=own is None or own.gaps, masks=own is None or own.masks)


def table_columns(
    format: str, path: Path, member: str | None, bounds: Bounds, choice: Choice = UNCHOSEN
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns of a table with their roles, and what was decided of them that nobody chose; none
    where the columns of the file have no names.

    Only the first rows are read. Raises UsageError `wrong-input` for a choice that the table does
    not have.
    """
    sheet = member if format in _SHEETS else None
    whole = member is None or sheet is not None
    seen = table_files.seen(format, path, bounds, sheet) if whole else []
    if choice and not seen:
        raise UsageError(
            "Columns are chosen by name, and this file has none; accepted are tables with a header "
            f"or named columns ({', '.join(sorted(table_files.TABULAR))}).",
            code="wrong-input",
        )
    columns = column_roles.propose(seen, choice)
    return columns, column_roles.warnings(columns, choice, seen)


def reading_notes(
    format: str, path: Path, member: str | None, bounds: Bounds, columns: Sequence[Column] | None
) -> tuple[str, ...]:
    """What was decided of how a file is read. columns : of a table, where its features are read;
    none if they have no names; None where no matrix is read."""
    if format == "arff":
        return () if columns is None else arff.notes(path, member, bounds)
    names = column_roles.features(columns or ()) if columns is None or columns else None
    sheet = member if format in _SHEETS else None
    return table_files.notes(format, path, names, bounds, sheet)


def _facts(
    format: Format,
    path: Path,
    member: str | None,
    bounds: Bounds,
    role: str | None,
    columns: Sequence[Column],
) -> Facts:
    if format.by_role and role is not None and (role_of(role).by_role or role_of(role).blank):
        return roles.facts(_read(format, path, member, role, bounds, columns), role)
    if not columns:
        found = format.inspect(path, member, bounds)
        if role is None or roles.wanted(role) != "matrix" or found.dtype != "str":
            return found
        with texts_refused(format.id, role):
            return roles.facts(_read(format, path, member, role, bounds, columns), role)
    names = column_roles.features(columns)
    if role is not None and role_of(role).column:
        own = _member(member, columns, role, sheets=format.id in _SHEETS)
        return format.inspect(path, own, bounds)
    if not names:
        if role is not None:
            notes = reading_notes(format.id, path, member, bounds, ())
            raise column_roles.no_features(columns, role, notes)
        single = _member(None, columns, "documents") or _member(None, columns, "labels")
        return format.inspect(path, single, bounds)
    n_rows, width, dtypes, sparse = 0, 0, {np.dtype(np.float64)}, False
    sheet = member if format.id in _SHEETS else None
    gaps = Gaps()
    for number, block in enumerate(table_files.blocks(format.id, path, names, bounds, sheet)):
        n_rows += block.shape[0]
        width = block.shape[1]
        dtypes = {block.dtype} | (dtypes if number else set())
        sparse = isinstance(block, sp.csr_array)
        if not isinstance(block, sp.csr_array):
            gaps.add(block)
    dtype = str(np.result_type(*dtypes))
    if gaps.first is None:
        return Facts((n_rows, width), dtype, sparse=sparse)
    line = table_files.line_of(format.id, path, gaps.first[0], bounds, sheet)
    of_columns = names if len(names) == width else ()
    return Facts((n_rows, width), dtype, warnings=gaps.warnings(of_columns, line))


def _member(
    member: str | None, columns: Sequence[Column], role: str, *, sheets: bool = False
) -> str | None:
    """The column that is the value of a role which takes one. sheets : whether it is a sheet."""
    if (member is not None and not sheets) or not role_of(role).column or not columns:
        return member
    kind = COLUMN_OF.get(role)
    name = None if kind is None else column_roles.of_role(columns, kind)
    own = columns[0].name if len(columns) == 1 else name
    return own if member is None or own is None else _within(member, own)


def _within(member: str, column: str) -> str:
    """A column of what `member` chooses, which may be this column itself."""
    return member if member == column or member.endswith(f"!{column}") else f"{member}!{column}"


def texts(
    format: str, path: Path, column: str, bounds: Bounds = DEFAULT, member: str | None = None
) -> list[str]:
    """A column of a table as texts, numbers as they are written. Raises the errors of `load`."""
    if format in _SHEETS and member is not None:
        column = _within(member, column)
    if format == "csv":
        return csv.texts(path, column, bounds)
    found = load(format, path, column, "names", bounds)
    assert isinstance(found, list)
    return found


def load(
    format: str,
    path: Path,
    member: str | None,
    role: str,
    bounds: Bounds = DEFAULT,
    columns: Sequence[Column] = (),
) -> Value:
    """The input of `role` in a file, as described at `roles.value`.

    columns : of a table, with their roles. A matrix is its features, in this order;
    labels, names and documents are the column that has that role.

    For a worker's child. A matrix is mapped read-only if the file allows it: npy, safetensors, an
    uncompressed list column of Arrow. Raises the errors of `inspect` and `roles.value`.
    """
    want = roles.wanted(role)
    bounds = _gapped(bounds, role)
    sheet = member if format in _SHEETS else None
    if want == "matrix" and (member is None or sheet is not None) and columns:
        names = column_roles.features(columns)
        if not names:
            notes = reading_notes(format, path, member, bounds, ())
            raise column_roles.no_features(columns, role, notes)
        return roles.value(table_files.matrix(format, path, names, bounds, sheet), role)
    return roles.value(_read(_format(format), path, member, role, bounds, columns), role)


def _read(
    format: Format,
    path: Path,
    member: str | None,
    role: str,
    bounds: Bounds,
    columns: Sequence[Column] = (),
) -> Table:
    """The table of a file. Labels in several columns, of which none is chosen, are a matrix if they
    are an indicator."""
    sheet = member if format.id in _SHEETS else None
    member = _member(member, columns, role, sheets=format.id in _SHEETS)
    names = column_roles.features(columns)
    classes = len(names) > 1 and all(column.role in ("feature", "id") for column in columns)
    if role == "labels" and member == sheet and classes:
        try:
            named = table_files.matrix(format.id, path, names, bounds, sheet)
        except UsageError:
            named = np.empty(0)
        if isinstance(named, np.ndarray) and labels.is_indicator(named):
            return Indicator(named, names)
    try:
        table = format.read(path, member, roles.wanted(role), bounds)
        several: UsageError | None = None
    except UsageError as error:
        if error.code != "member-needed":
            raise
        several = error
    if role == "labels" and member is None and (several or isinstance(table, Columns)):
        try:
            matrix = format.read(path, None, "matrix", bounds)
        except UsageError:
            matrix = []
        if isinstance(matrix, np.ndarray) and labels.is_indicator(matrix):
            return matrix
    if several is not None:
        raise several
    return table


def rows(
    format: str,
    path: Path,
    member: str | None,
    role: str,
    bounds: Bounds = DEFAULT,
    columns: Sequence[Column] = (),
) -> Value:
    """As `load` for a matrix that is read by rows: `Rows` if the format is one of `RAW`, of which
    nothing is copied, whatever the dtype and the byte order.

    The features of a table from `MAPPED_BYTES` on are mapped from a temporary file.
    """
    locate = _format(format).locate
    if locate is None:
        names = column_roles.features(columns)
        is_matrix = roles.wanted(role) == "matrix" and member is None and bool(names)
        if is_matrix and path.stat().st_size >= MAPPED_BYTES:
            matrix = table_files.mapped(format, path, names, _gapped(bounds, role))
            if matrix is not None:
                return roles.value(matrix, role)
        return load(format, path, member, role, bounds, columns)
    return raw.rows(path, locate(raw.LocalContent(path), member, DEFAULT), role)


def locate(format: str, content: Content, member: str | None = None) -> Layout:
    """The position of the array in a file of a format of `RAW`, local or remote.

    Reads only the header. Raises the errors of `inspect`.
    """
    locate = _format(format).locate
    if locate is None:
        raise unsupported(f"A file of format {shown(format)} cannot be read in parts.")
    return locate(content, member, DEFAULT)


def _format(format_id: str) -> Format:
    format = FORMATS.get(format_id)
    if format is None:
        raise unsupported(f"There is no format {shown(format_id)}; there are {', '.join(FORMATS)}.")
    return format


def _binary(head: bytes) -> str | None:
    """The binary format to which the first bytes belong."""
    if head.startswith(npy.MAGIC):
        return "npy"
    if head.startswith(hdf5.MAGIC):
        return "h5ad"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        first = _first_member(head)
        workbook = excel.begins(head, first)
        if workbook is not None:
            return workbook
        return "zip" if image_zip.begins(first) else "npz"
    if head.startswith(excel.LEGACY):
        return "xls"
    if head.startswith(arrow.MAGIC):
        return "arrow-file"
    if head.startswith(parquet.MAGIC):
        return "parquet"
    size = int.from_bytes(head[:8], "little")
    if len(head) > 8 and 2 <= size <= safetensors.MAX_HEADER and head[8:9] == b"{":
        return "safetensors"
    if head.startswith(b"\xff\xff\xff\xff") and len(head) >= 8:
        metadata = int.from_bytes(head[4:8], "little")
        if 0 < metadata < 1 << 28 and metadata % 8 == 0:
            return "arrow-stream"
    return None


def _first_member(head: bytes) -> str:
    """The name of the first member of a zip archive; "npz" where it has none."""
    n_name = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + n_name].decode("utf-8", "replace") or "npz"


def _require_agreement(declared: Format, binary: str | None, head: bytes) -> None:
    if binary == declared.id or (binary is None and not declared.binary):
        return
    if binary is None and len(head) < 10:
        raise UsageError(
            f"The file of {len(head)} bytes is too short to be {declared.id}.",
            code="truncated",
            actual=len(head),
        )
    if binary is None and declared.id in ("safetensors", "arrow-stream"):
        # These have hardly any magic bytes: the reader's own error says more.
        return
    if binary:
        raise unsupported(
            f"The content was declared as {declared.id}, but it begins as {binary}. Send it as "
            "that, or save it anew."
        )
    raise unsupported(
        f"The content was declared as {declared.id}, but such a file begins with other bytes: it "
        "is damaged or of another kind. Save it anew, or send it as what it is."
    )
