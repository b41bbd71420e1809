"""Workbooks of Excel (.xlsx, .xlsb, .xls) and OpenDocument (.ods): one sheet as a table, whose
first line may name the columns.

The archive is checked before it is opened, and the places of cells before they are: a reader makes
room for all cells between the first and the last. Blank lines and columns around the table are left
out. Formulas count as the values that Excel saved; an error such as #N/A is a missing cell.

The first line is a header if none of its cells is a number, if one is text above numbers alone, or
if the numbers or dates in it follow names and are such as years, one after the other. The first
name may be blank, above an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from models.errors import UsageError, listed, shown
from models.roles import Want
from workers.formats import archives, batches, sheet_sizes
from workers.formats.archives import ArchiveKind
from workers.formats.batches import Batches
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, choose
from workers.formats.refusals import broken, unsupported
from workers.formats.tables import Table, is_empty

MEDIA_TYPES = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    "xls": "application/vnd.ms-excel",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
}
"""The formats of workbooks."""
LEGACY = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a file of Office of before 2007 begins, and one that is protected by a password."""
MOST_MEMBERS = 10_000
MOST_COLUMNS = 1 << 14

_BYTES_OF_CELL = 96
"""Memory for a cell between the first and the last, in the reader and as a Python object."""
_BATCH_ROWS = 1 << 14
_FIRST_MEMBERS = ("[Content_Types].xml", "_rels/", "docProps/", "xl/", "word/", "ppt/")
_OTHERS = ((b"word/", "a Word document"), (b"ppt/", "a PowerPoint presentation"))
_ADVICE = "Save it again as .xlsx in Excel, or as CSV UTF-8."


def begins(head: bytes, first_member: str) -> str | None:
    """The format of a zip archive that is a workbook, by its first members; None for another.

    Raises UsageError `unsupported-format` for other documents of Office.
    """
    if first_member == "mimetype":
        if MEDIA_TYPES["ods"].encode() in head[:128]:
            return "ods"
        raise unsupported("The content is a document; a table is read from .ods, .xlsx or CSV.")
    if not first_member.startswith(_FIRST_MEMBERS):
        return None
    for folder, what in _OTHERS:
        if folder in head and b"xl/" not in head:
            raise unsupported(f"The content is {what}; a table is read from Excel (.xlsx) or CSV.")
    return "xlsb" if b"xl/workbook.bin" in head else "xlsx"


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of a sheet, the first or that named `member`, after reading every cell."""
    with opened(path, bounds, member) as sheet:
        if sheet.column is None:
            _require_kinds(sheet)
        return batches.facts(sheet.table, sheet.column, bounds)


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The columns of a sheet, the first or that named `member`; or one column, see `opened`."""
    with opened(path, bounds, member) as sheet:
        if want == "matrix" and sheet.column is None:
            _require_kinds(sheet)
        return batches.read(sheet.table, sheet.column, want, bounds)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet as an Arrow table.

    named : whether its first line names the columns. changes : by column, the first row (from 0)
        whose cell is of another kind than those above; such a column is text. first_line : the line
        of row 0 in Excel. notes : what was left out. column : the one that was chosen, if any.
    name : of the sheet. end : the line and the column, from 1, of its last cell.
    """

    table: Batches
    named: bool
    changes: dict[int, int]
    first_line: int
    notes: tuple[str, ...]
    column: str | None = None
    name: str = ""
    end: tuple[int, int] = (0, 0)


@contextmanager
def opened(path: Path, bounds: Bounds, member: str | None = None) -> Iterator[Sheet]:
    """A sheet: the first, or that named `member`. A `member` that names no sheet is a column of the
    first one, which is then the only column; `Sheet!column`, as in Excel, is a column of another.

    Raises UsageError `archive-bomb`, `too-large`, `invalid-file`, `empty`,
    `member-needed` for a sheet or a column that is not there, `wrong-input` for merged cells and
    for a header with gaps."""
    import python_calamine as calamine

    _require_sizes(path, bounds)
    try:
        with calamine.CalamineWorkbook.from_path(str(path)) as workbook:
            names = list(workbook.sheet_names)
            at, column = _chosen(names, member)
            sheet = workbook.get_sheet_by_index(at)
            _require_unmerged(sheet)
            rows = [list(row) for row in sheet.iter_rows()]
            first_line = 1 + (sheet.start[0] if sheet.start is not None else 0)
            line, at_most = sheet.end or (-1, -1)
            end = line + 1, at_most + 1
    except UsageError:
        raise
    except calamine.PasswordError:
        raise unsupported(
            "The Excel workbook is protected by a password; save it without."
        ) from None
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        # A panic of the reader is no Exception.
        raise broken(f"The Excel workbook is damaged or cut short. {_ADVICE}") from None
    notes: tuple[str, ...] = ()
    if len(names) > 1 and member is None:
        listed = ", ".join(shown(name) for name in names[:10])
        notes = (
            f"The workbook has {len(names)} sheets ({listed}); the first is read, "
            "?member= chooses another.",
        )
    try:
        found = replace(_sheet(rows, first_line, notes), name=names[at], end=end)
        yield found if column is None else _of_column(found, column, names, at)
    except UsageError as error:
        # What is wrong may be the sheet that nobody chose.
        detail = " ".join((error.detail, *notes))
        raise UsageError(detail, code=error.code, **error.where) from None


def _chosen(names: Sequence[str], member: str | None) -> tuple[int, str | None]:
    """The place of the sheet, and the name of the column."""
    if member is None or member in names or not names:
        sheets = [Member(name, (), "sheet") for name in names]
        return (0 if member is None and names else choose(sheets, member)), None
    sheet, mark, column = member.partition("!")
    if mark and sheet in names:
        return names.index(sheet), column
    return 0, member


def _of_column(sheet: Sheet, column: str, names: Sequence[str], at: int) -> Sheet:
    """The sheet with this column alone. Raises UsageError `member-needed` where it has none."""
    import pyarrow as pa

    own = sheet.table.schema.names
    if not sheet.named or column not in own:
        raise UsageError(
            f"The workbook has no sheet {shown(column)}, and its sheet {shown(names[at])} has no "
            f"column of this name. Its sheets are {listed(names, 10)}; the columns of "
            f"{shown(names[at])} are {listed(own, 20) if sheet.named else 'without names'}.",
            code="member-needed",
        )
    place = own.index(column)
    field = sheet.table.schema.field(place)
    table = Batches(pa.schema([field]), sheet.table.n_rows, lambda _: sheet.table.read([place]))
    changes = {0: sheet.changes[place]} if place in sheet.changes else {}
    return replace(sheet, table=table, changes=changes, column=column)


def _require_sizes(path: Path, bounds: Bounds) -> None:
    """Check the archive, and the room between the first and the last cell of every sheet."""
    with path.open("rb") as file:
        if file.read(len(LEGACY)) == LEGACY:
            bounds.require(_BYTES_OF_CELL * sheet_sizes.LEGACY_CELLS)
            return
    with archives.opened(path, _KIND, bounds, MOST_MEMBERS) as archive:
        for info in archive.infolist():
            name = info.filename
            if not name.endswith((".xml", ".rels", ".bin")) and name.startswith("xl/media"):
                continue
            count = sheet_sizes.of_xml
            if name == "content.xml":
                count = sheet_sizes.of_open_document
            elif name.lower().startswith("xl/worksheets/") and name.lower().endswith(".bin"):
                count = sheet_sizes.of_records
            with archives.member(archive, info, _KIND) as member:
                bounds.require(_BYTES_OF_CELL * count(member))


def _require_unmerged(sheet: Any) -> None:
    merged = sheet.merged_cell_ranges
    if merged:
        (top, left), (bottom, right) = merged[0]
        raise UsageError(
            f"The Excel sheet {shown(sheet.name)} has merged cells, {_name(top, left)}:"
            f"{_name(bottom, right)} first. A table has one cell for each column and row, and its "
            "first line names the columns; remove title rows and unmerge.",
            code="wrong-input",
            line=top + 1,
            column=left,
        )


def _name(row: int, column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


def _sheet(rows: list[list[Any]], first_line: int, notes: tuple[str, ...]) -> Sheet:
    while rows and _is_blank(rows[-1]):
        rows.pop()
    while rows and _is_blank(rows[0]):
        del rows[0]
        first_line += 1
    if not rows:
        raise UsageError("The Excel sheet is empty.", code="empty")
    cells = [list(column) for column in zip_longest(*rows, fillvalue="")]
    filled = [column for column in cells if not _is_blank(column)]
    if len(filled) < len(cells):
        dropped = len(cells) - len(filled)
        notes += (f"{dropped} blank column{'s' * (dropped > 1)} of the sheet left out.",)
    first = [column[0] for column in filled]
    below = [column[1:] for column in filled]
    named = _is_header(first, below)
    if not named and _has_places(first, below):
        named = True
        notes += ("The first line of the sheet was taken as its header, not as a row.",)
    if not named and _are_places(first):
        notes += (
            f"The first line of the sheet is {listed([_text(cell) for cell in first], 3)}...: it "
            "was taken as a row. Write it as texts if it is the header.",
        )
    if named:
        _require_header([column[0] for column in filled], first_line)
        names = ["" if _is_blank(column[:1]) else _text(column[0]) for column in filled]
        for column in filled:
            del column[0]
        first_line += 1
    else:
        names = [f"column {at}" for at in range(len(filled))]
    if not filled[0]:
        raise UsageError("The Excel sheet has a header and no rows.", code="empty")
    return _typed(names, filled, named, first_line, notes)


def _is_blank(cells: Sequence[Any]) -> bool:
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells)


def _is_header(first: Sequence[Any], below: Sequence[Sequence[Any]]) -> bool:
    kinds = [_kind(cell) for cell in first]
    if not {"number", "boolean", "date"} & {*kinds}:
        return True
    return any(
        kind == "text" and _kinds(column) in ({"number"}, {"boolean"}, {"date"})
        for kind, column in zip(kinds, below, strict=True)
    )


def _has_places(first: Sequence[Any], below: Sequence[Sequence[Any]]) -> bool:
    """Whether the first line is names, or the corner above an index, and then years or days, or
    other integers that follow each other, above numbers: a header, if not surely."""
    kinds = [_kind(cell) for cell in first]
    apart = next(at for at, kind in enumerate(kinds) if kind not in ("text", None))
    places = first[apart:]
    return (
        apart > 0
        and len(places) > 1
        and (apart == 1 or None not in kinds[:apart])
        and all(_kinds(column) == {"number"} for column in below[apart:])
        and ({*kinds[apart:]} == {"date"} or _follow(places))
    )


def _are_places(first: Sequence[Any]) -> bool:
    """Whether three cells or more are all integers that follow each other, as in a header."""
    return len(first) > 2 and _follow(first)


def _follow(cells: Sequence[Any]) -> bool:
    """Whether the cells are integers that follow each other, such as years."""
    whole = [cell for cell in cells if _kind(cell) == "number" and float(cell).is_integer()]
    return len(whole) == len(cells) and all(b - a == 1 for a, b in pairwise(whole))


def _require_header(first: Sequence[Any], line: int) -> None:
    for column, cell in enumerate(first):
        if _is_blank([cell]) and (column or len(first) == 1):
            raise UsageError(
                f"The first line of the Excel table (line {line} of the sheet) must name every "
                f"column; column {column} (counted from 0) has no name. Remove titles above the "
                "table.",
                code="wrong-input",
                line=line,
                column=column,
            )


def _kind(cell: Any) -> str | None:
    match cell:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case date() | time() | timedelta():
            return "date"
        case str() if cell.strip():
            return "text"
    return None


def _kinds(cells: Sequence[Any]) -> set[str]:
    """What the cells hold; a text among numbers that stands for no value is none."""
    kinds = {kind for kind in map(_kind, cells) if kind is not None}
    if kinds == {"number", "text"} and all(map(is_empty, filter(_is_text, cells))):
        return {"number"}
    return kinds


def _is_text(cell: Any) -> bool:
    return isinstance(cell, str)


def _text(cell: Any) -> str:
    """A cell as text: whole numbers without decimals, truths in small letters."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, (date, time)) else str(cell)


def _typed(
    names: Sequence[str],
    cells: list[list[Any]],
    named: bool,
    first_line: int,
    notes: tuple[str, ...],
) -> Sheet:
    import pyarrow as pa

    changes: dict[int, int] = {}
    arrays: list[pa.Array] = []
    for at, column in enumerate(cells):
        kinds = _kinds(column)
        present = [None if _kind(cell) is None else cell for cell in column]
        if kinds == {"number"}:
            present = [None if isinstance(x, str) else x for x in present]
            whole = all(x is None or (abs(x) < 2**53 and x == int(x)) for x in present)
            kind, convert = (pa.int64(), int) if whole else (pa.float64(), float)
            arrays.append(pa.array([None if x is None else convert(x) for x in present], kind))
        elif kinds == {"boolean"}:
            arrays.append(pa.array(present, pa.bool_()))
        elif kinds == {"date"} and all(x is None or isinstance(x, date) for x in present):
            moments = [x if x is None or isinstance(x, datetime) else _midnight(x) for x in present]
            arrays.append(pa.array(moments, pa.timestamp("us")))
        else:
            if len(kinds) > 1:
                first = next(kind for kind in map(_kind, column) if kind is not None)
                changes[at] = next(
                    row for row, cell in enumerate(column) if _kind(cell) not in (None, first)
                )
            texts = [None if x is None else _text(x) for x in present]
            arrays.append(pa.array(texts, pa.large_string()))
        column.clear()
    table = pa.Table.from_arrays(arrays, list(names))

    def read(columns: list[int]) -> Iterator[Any]:
        return iter(table.select(sorted(columns)).to_batches(max_chunksize=_BATCH_ROWS))

    opened = Batches(table.schema, table.num_rows, read)
    return Sheet(opened, named, changes, first_line, notes)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


def _require_kinds(sheet: Sheet) -> None:
    """Refuse a matrix for the first cell that changes what a column holds."""
    for column, row in sorted(sheet.changes.items(), key=lambda item: item[::-1]):
        name = sheet.table.schema.names[column]
        raise UsageError(
            f"Column {shown(name)} of the Excel sheet is of one kind above row {row} (counted from "
            f"0; line {sheet.first_line + row} of the sheet) and of another there; a matrix holds "
            "numbers only.",
            code="wrong-input",
            row=row,
            column=column,
            line=sheet.first_line + row,
        )


_KIND = ArchiveKind(
    noun="Excel (.xlsx)",
    packed_by="stored and deflated members",
    advice="Upload the sheet as CSV or Parquet.",
    most_directory=8 << 20,
    require=lambda name: None,
)
