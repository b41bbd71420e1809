"""How a CSV file is written: its separator, its header, its numbers.

It is found in the first lines, or given.

What is found: the separator (tab, comma, semicolon, bar or space); lines of comment before the
table; the encoding, UTF-8 or else Windows-1252; whether the first line is a header (`csv_header`);
and of each column how its numbers are written: with a decimal comma, in groups of thousands, as
percentages, as money or with a typographic minus, as yes and no.

Where the first line has one cell fewer than all the others, as R writes tables, the first column is
the names of the rows and has a blank name. A space is a separator where the cells of the first line
are quoted, as R writes them too, or all cells but the names of rows and columns are numbers;
several are one where columns are aligned. A first line `sep=;` gives the separator, as in Excel.

What could be read in two ways is decided and stands in `notes`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from models.errors import UsageError, listed
from workers.formats.csv_header import TRUTHS, header_of
from workers.formats.csv_spaces import with_one_space
from workers.formats.refusals import broken
from workers.formats.tables import NUMBER, is_empty, is_number

MAX_LINE = 16 << 20
"""The largest length of a line in bytes."""
MAX_COLUMNS = 100_000

Style: TypeAlias = Literal["plain", "grouped", "percent", "money", "signed", "truth"]
"""How the numbers of a column are written: as such, in groups of thousands, with a percent sign,
with the sign of one currency, with U+2212 for the minus, as yes and no."""

Delimiter: TypeAlias = Literal["\t", ",", ";", "|"]
Decimal: TypeAlias = Literal[".", ","]
Thousands: TypeAlias = Literal[",", ".", " ", "'"]

_MARKS = "\t;,|"
_SAMPLE_BYTES = 1 << 18
_SAMPLE_ROWS = 500
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
_CURRENCY = "$€£¥₹₩₽₺₫₪฿"
_MONEY = re.compile(
    rf"([+-]?)(?:([{_CURRENCY}])[ ]?)?([+-]?[\d.,' ]*\d[.,]?)[ ]?([{_CURRENCY}])?", re.ASCII
)
_COMMA = re.compile(r"[ \t]*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?[ \t]*%?[ \t]*", re.ASCII)
_GROUPS = {
    mark: re.compile(rf"[+-]?\d{{1,3}}({re.escape(mark)}\d{{3}})+([.,]\d+)?[ \t]*%?", re.ASCII)
    for mark in (",", ".", " ", "'")
}
_QUOTED = re.compile(r'"[^"]*"( "[^"]*")+')
_STATED = re.compile(rb"(?:\xef\xbb\xbf)?sep=([\t,;|])[^\n]{0,2}\n", re.IGNORECASE)
_PERCENT = re.compile(r"[ \t]*[+-]?[\d.,' ]*\d[.,]?[ \t]*%[ \t]*", re.ASCII)


class Written(BaseModel):
    """How the uploader says that a CSV file is written; None: as its first lines show.

    decimal : the mark before decimals. thousands : the mark between groups of three digits.
    """

    model_config = ConfigDict(frozen=True)

    delimiter: Delimiter | None = None
    decimal: Decimal | None = None
    thousands: Thousands | None = None
    header: bool | None = None


AS_FOUND = Written()


@dataclass(frozen=True, slots=True)
class Dialect:
    """The layout of a file.

    names : the cells of the header, None without a header. first : the cells of the first line.
    short : whether the first of them is not in the file, a blank name above the names of rows.
    start, end : byte range of the data, without line breaks at the end.
    line : number of the first line of data, from 1.
    begin, skipped : where the first line begins, and the number of lines before it.
    decimal : the mark before decimals. thousands : between groups of digits, "" for none.
    styles : of each column. notes : what was decided and could be read otherwise. aligned : whether
    several spaces are one separator, and those around a line none.
    """

    delimiter: str
    names: tuple[str, ...] | None
    first: tuple[str, ...]
    start: int
    line: int
    end: int
    begin: int = 0
    skipped: int = 0
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    styles: tuple[Style, ...] = ()
    notes: tuple[str, ...] = ()
    short: bool = False
    aligned: bool = False

    @property
    def n_columns(self) -> int:
        return len(self.first)

    @property
    def plain(self) -> bool:
        """Whether all numbers are written with a decimal point and nothing else."""
        return self.decimal == "." and set(self.styles) <= {"plain"}

    def positions(self, names: Sequence[str]) -> list[int]:
        """Where the columns of these names stand, of two of one name the first."""
        known: dict[str, int] = {}
        for at, name in enumerate(self.names or ()):
            known.setdefault(name, at)
        return [known[name] for name in names]

    def of_styles(self, chosen: Sequence[int]) -> tuple[str, ...]:
        """Notes on how the numbers of these columns were read."""
        names = self.names or [f"column {at}" for at in range(self.n_columns)]
        own: dict[Style, list[str]] = {}
        for at in chosen:
            own.setdefault(self.styles[at], []).append(names[at])
        notes = []
        if "percent" in own:
            notes.append(f"Percentages were divided by 100 in {listed(own['percent'], 20)}.")
        if "money" in own:
            notes.append(f"Signs of currencies were left out in {listed(own['money'], 20)}.")
        if "truth" in own:
            notes.append(
                f"True and yes were read as 1, false and no as 0 in {listed(own['truth'], 20)}."
            )
        return tuple(notes)

    def number(self, text: str, column: int) -> str | None:
        """A cell as a number with a decimal point; None where it is none. What stands for infinity
        and for no number stays."""
        return standard(text, self.styles[column], self.decimal, self.thousands)


def standard(text: str, style: Style, decimal: str, thousands: str) -> str | None:
    """A number as written, with a decimal point and nothing else; None for what is no number."""
    if style == "plain" and decimal == ".":
        return text if is_number(text) else None
    bare = text.translate(_SPACES).strip()
    if style == "truth":
        return TRUTHS.get(bare.lower())
    percent = style == "percent"
    if percent:
        if not bare.endswith("%"):
            return None
        bare = bare[:-1].rstrip()
    if style == "money":
        currency, bare = _amount(bare)
        if not currency:
            return None
    if thousands and thousands in bare:
        if not _GROUPS[thousands].fullmatch(bare):
            return None
        bare = bare.replace(thousands, "")
    if decimal == ",":
        if "." in bare:
            return None
        bare = bare.replace(",", ".")
    if not is_number(bare):
        return None
    return str(float(bare) / 100.0) if percent and NUMBER.fullmatch(bare) else bare


def _amount(bare: str) -> tuple[str, str]:
    """The sign of currency of an amount, "" if it has none, and the amount without it."""
    found = _MONEY.fullmatch(bare)
    if found is None or (found[2] and found[4]):
        return "", bare
    return found[2] or found[4] or "", found[1] + found[3]


def dialect_of(path: Path, written: Written) -> Dialect:
    """The dialect of a file.

    Raises UsageError `empty`, `invalid-file` and `too-large`.
    """
    with path.open("rb") as file:
        head = file.read(MAX_LINE)
        end = _end(file)
    begin = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise broken("The CSV file is not UTF-8 text but UTF-16; upload it again.")
    if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
        raise broken(
            "The lines of the CSV file end with a carriage return alone, as on old Macs; save it "
            "with line feeds."
        )
    if b"\0" in head[:1024]:
        raise broken("The CSV file is not UTF-8 text: it has a NUL in its first bytes.")
    begin, skipped, notes = _after_comments(head, begin)
    stated = _STATED.match(head) if not skipped else None
    if stated is not None:
        begin, skipped = stated.end(), 1
    if end <= begin:
        raise UsageError("The CSV file is empty.", code="empty")
    line, newline, _ = head[begin:].partition(b"\n")
    if not newline and len(head) == MAX_LINE:
        raise broken(f"The first line of the CSV file is longer than {MAX_LINE} bytes.")
    encoding = _encoding(head[begin : min(end, begin + _SAMPLE_BYTES)])
    if encoding != "utf-8":
        notes += ("The CSV file is not UTF-8; it was read as Windows-1252.",)
    sample = head[begin : min(end, begin + max(_SAMPLE_BYTES, len(line) + 1))]
    whole = begin + len(sample) >= end
    text = sample.decode(encoding, "replace") + "\n" * whole
    delimiter = written.delimiter or (
        _delimiter(line.decode(encoding, "replace"), text) if stated is None else stated[1].decode()
    )
    if aligned := delimiter == "," and written.delimiter is None and _is_aligned(text):
        delimiter, text = " ", with_one_space(text)
    first, n_lines = _first_row(text, delimiter, skipped)
    short = written.header is not False and _is_short(first, text, delimiter)
    if short:
        first = ("", *first)
    rows = _rows(text, delimiter, len(first), whole=whole)
    numbers = _Numbers.of(rows[1:] or rows, written, delimiter)
    header, more = header_of(first, rows[1:], numbers.reads, written.header)
    styles = _styles(len(first), rows[1:] if header else rows, numbers)
    start = begin
    if header:
        for _ in range(n_lines):
            after = head.find(b"\n", start)
            start = after + 1 if after >= 0 else len(head)
    return Dialect(
        delimiter,
        first if header else None,
        first,
        min(start, end),
        1 + skipped + (n_lines if header else 0),
        end,
        begin,
        skipped,
        encoding,
        numbers.decimal,
        numbers.thousands,
        styles,
        (*notes, *numbers.notes, *more),
        short,
        aligned,
    )


def _after_comments(head: bytes, begin: int) -> tuple[int, int, tuple[str, ...]]:
    """Where the table begins, and the number of lines of comment before it."""
    skipped = 0
    while head.startswith(b"#", begin) and (after := head.find(b"\n", begin)) >= 0:
        rest = head[begin + 1 : after]
        following = head[after + 1 : head.find(b"\n", after + 1)]
        if not skipped and rest and _width(rest) == _width(following) > 1:
            # A header whose first name begins with this sign.
            break
        begin, skipped = after + 1, skipped + 1
    note = f"{skipped} line(s) of comment before the table of the CSV file were left out."
    return begin, skipped, (note,) if skipped else ()


def _width(line: bytes) -> int:
    return 1 + max(line.count(mark.encode()) for mark in _MARKS)


def _encoding(sample: bytes) -> str:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        cut_off = error.reason == "unexpected end of data" and error.start >= len(sample) - 3
        if cut_off:
            return "utf-8"
        try:
            sample.decode("cp1252")
        except UnicodeDecodeError:
            return "utf-8"
        return "cp1252"
    return "utf-8"


def _delimiter(line: str, sample: str) -> str:
    """The separator of cells: a tab if the first line has one; a semicolon where the lines have the
    same number of cells by it and not by commas, or commas within cells are decimal; else a comma,
    a semicolon, a bar, whichever the first line has; else a space, see `_is_spaced`."""
    if "\t" in line:
        return "\t"
    if ";" in line:
        by_semicolon = _equal(sample, ";")
        if "," not in line:
            return ";"
        if by_semicolon:
            decimal = all(
                _COMMA.fullmatch(cell)
                for row in by_semicolon[1:]
                for cell in row
                if "," in cell and not re.search("[A-Za-z]", cell)
            )
            if not _equal(sample, ",") or decimal:
                return ";"
    if "," in line:
        return ","
    if "|" in line and _equal(sample, "|"):
        return "|"
    return " " if _is_spaced(line.strip(), sample) else ","


def _is_spaced(line: str, sample: str) -> bool:
    """Whether a space separates the cells: of a header in quotes, or of a table of numbers."""
    if " " not in line or _QUOTED.fullmatch(line):
        return " " in line
    rows = _below(sample, " ")
    first = next(_parsed(sample, " "), [])
    widths = {len(row) for row in rows}
    if len(widths) != 1 or not widths <= {len(first), len(first) + 1}:
        return False
    numbers = [is_number(cell) for cell in first]
    return (
        (all(numbers) or not any(numbers))
        and all(is_number(cell) for row in rows for cell in row[1:])
        and (_all_numbers(rows) or any("." in cell for row in rows for cell in row[1:]))
    )


def _is_aligned(sample: str) -> bool:
    """Whether the cells of a table of numbers are separated by several spaces."""
    if not any(map(sample.__contains__, ("  ", "\n ", " \n"))):
        return False
    plain = with_one_space(sample)
    first = plain.partition("\n")[0]
    return _is_spaced(first, plain) or (" " in first and _all_numbers([*_parsed(plain, " ")]))


def _all_numbers(rows: Sequence[Sequence[str]]) -> bool:
    return len(rows) > 1 and all(is_number(cell) for row in rows for cell in row)


def _is_short(first: Sequence[str], sample: str, delimiter: str) -> bool:
    """Whether a header lacks a cell above the names of rows, which differ. A cell at the end that
    is always blank is none; below a single name stand numbers, as texts may hold the separator."""
    rows = _below(sample, delimiter)
    return (
        len(rows) > 1
        and all(len(row) == len(first) + 1 for row in rows)
        and not any(map(is_number, first))
        and len({row[0] for row in rows}) == len(rows)
        and any(row[-1].strip() for row in rows)
        and (len(first) > 1 or all(is_number(row[1]) for row in rows))
    )


def _below(sample: str, delimiter: str) -> list[list[str]]:
    """The rows below the first, but the last one where it may be cut off."""
    rows = list(islice(_parsed(sample, delimiter), 1, 1 + _SAMPLE_ROWS))
    return rows[:-1] if len(rows) > 1 and not sample.endswith("\n") else rows


def _equal(sample: str, delimiter: str) -> list[list[str]]:
    """The rows, if they have one number of cells, and more than one; else none."""
    rows = list(islice(_parsed(sample, delimiter), 50))
    if 2 < len(rows) < 50 and not sample.endswith("\n"):
        # The last one may be cut off.
        rows = rows[:-1]
    widths = {len(row) for row in rows if row}
    return rows if len(widths) == 1 and min(widths) > 1 else []


def _parsed(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter)
    except csv.Error:
        return


def _rows(text: str, delimiter: str, n_columns: int, *, whole: bool) -> list[list[str]]:
    """The first rows, but the last one where it may be cut off; without rows of other lengths,
    which are refused where they are read."""
    rows = list(islice(_parsed(text, delimiter), _SAMPLE_ROWS + 1))
    if not whole and len(rows) <= _SAMPLE_ROWS:
        rows = rows[:-1] or rows
    return rows[:1] + [row for row in rows[1:] if len(row) == n_columns]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The marks within numbers."""

    decimal: str
    thousands: str
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]], written: Written, delimiter: str) -> _Numbers:
        """From the cells of some rows, where the uploader does not say."""
        if written.decimal is not None or written.thousands is not None:
            decimal = written.decimal or ("," if written.thousands == "." else ".")
            if decimal == written.thousands:
                raise UsageError(
                    f"The mark before decimals and the one between thousands are both {decimal!r}.",
                    code="wrong-input",
                )
            return cls(decimal, written.thousands or "")
        cells = _numeric_cells(rows)
        marked = [
            cell for cell in cells if any(mark in cell for mark in ",' ") or cell.count(".") > 1
        ]
        if not marked:
            return cls(".", "", _doubtful_amounts(rows))
        found = {mark: any(_GROUPS[mark].fullmatch(cell) for cell in marked) for mark in _GROUPS}
        # "1.234,5" or "1,5": the comma stands before decimals.
        joined = [re.sub(r"(?<=\d)[ '](?=\d{3})", "", cell) for cell in marked]
        comma = any(re.fullmatch(r"[^,]*\.\d{3},\d+[ %]*", cell) for cell in joined) or any(
            _COMMA.fullmatch(cell) and "," in cell and not _GROUPS[","].fullmatch(cell)
            for cell in joined
        )
        point = any(re.fullmatch(r"[^.]*,\d{3}\.\d+[ %]*", cell) for cell in marked) or any(
            NUMBER.fullmatch(cell.rstrip(" %")) and "." in cell for cell in cells
        )
        if not comma and not point and found[","]:
            # Each comma stands before three digits.
            several = any(cell.count(",") > 1 for cell in marked)
            if several or delimiter != ";":
                note = () if several else (_ambiguous("1,234", "1234", "decimal=,"),)
                return cls(".", ",", note)
            return cls(",", "", (_ambiguous("1,234", "1.234", "thousands=,"),))
        decimal = "," if comma else "."
        groups = [mark for mark in ("'", " ", "." if comma else ",") if found[mark]]
        return cls(decimal, groups[0] if groups else "")

    def reads(self, cell: str) -> bool:
        """Whether a cell is a number, so written."""
        return standard(cell, "plain", self.decimal, self.thousands) is not None


def _numeric_cells(rows: Sequence[Sequence[str]]) -> list[str]:
    """The cells of the columns without text: an id such as 1,5 among names is no number."""
    cells: list[str] = []
    for at in range(max((len(row) for row in rows), default=0)):
        column = [row[at].translate(_SPACES).strip() for row in rows if len(row) > at]
        own = [_amount(cell)[1] for cell in column if not is_empty(cell)]
        if not any(re.search("[^-+0-9.,' %eE]", cell) for cell in own):
            cells += own
    return cells


def _doubtful_amounts(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """A note where the amounts of money of a column have three digits behind the point, or none."""
    for at in range(max(map(len, rows), default=0)):
        cells = [row[at].translate(_SPACES).strip() for row in rows if len(row) > at]
        amounts = [bare for sign, bare in map(_amount, cells) if sign and "." in bare]
        if amounts and all(map(_GROUPS["."].fullmatch, amounts)):
            return (_ambiguous("1.234", "1.234", "thousands=."),)
    return ()


def _ambiguous(example: str, taken: str, other: str) -> str:
    return (
        f"Numbers like {example} were read as {taken}; upload with ?{other} if they are written "
        "otherwise."
    )


def _styles(n_columns: int, rows: Sequence[Sequence[str]], numbers: _Numbers) -> tuple[Style, ...]:
    styles: list[Style] = []
    for at in range(n_columns):
        written = [row[at] for row in rows if len(row) > at]
        cells = [cell.translate(_SPACES).strip() for cell in written]
        style = _style([cell for cell in cells if not is_empty(cell)], numbers)
        if style == "plain" and any("\u2212" in cell for cell in written):
            style = "signed"
        styles.append(style)
    return tuple(styles)


def _style(present: Sequence[str], numbers: _Numbers) -> Style:
    if not present:
        return "plain"
    currencies = {currency for currency, _ in map(_amount, present)}
    if len(currencies) == 1 and "" not in currencies:
        return "money"
    if {cell.lower() for cell in present} <= TRUTHS.keys():
        return "truth"
    if all(_PERCENT.fullmatch(cell) for cell in present):
        return "percent"
    grouped = _GROUPS.get(numbers.thousands)
    if grouped is not None and any(map(grouped.fullmatch, present)):
        return "grouped"
    return "plain"


def _first_row(text: str, delimiter: str, skipped: int) -> tuple[tuple[str, ...], int]:
    """The cells of the first row and its number of lines: a quoted cell may contain line breaks."""
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter)
    try:
        first = tuple(next(reader))
    except (csv.Error, StopIteration):
        raise broken("The first line of the CSV file cannot be read.") from None
    if not first:
        raise UsageError(
            "The first line of the CSV file is blank.", code="ragged", line=1 + skipped
        )
    if len(first) > MAX_COLUMNS:
        raise UsageError(
            f"The CSV file has {len(first)} columns; at most {MAX_COLUMNS} are accepted. Upload "
            "wider arrays as .npy, sparse ones as .npz or libsvm.",
            code="too-large",
            limit=MAX_COLUMNS,
        )
    return first, reader.line_num


def _end(file: IO[bytes]) -> int:
    """The end of the file, without trailing line breaks."""
    size = file.seek(0, io.SEEK_END)
    while size:
        step = min(size, 1 << 16)
        file.seek(size - step)
        kept = file.read(step).rstrip(b"\r\n")
        size -= step - len(kept)
        if kept:
            return int(size)
    return 0
