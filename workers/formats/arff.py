"""ARFF: declared attributes, then rows, dense (`1,2.5,a`) or sparse (`{1 2.5, 7 a}`).

One attribute is the class, the last or the one that `member` names; the others are the features,
and so is the last one where it is numeric, not called as classes are, and no `member` is named. As
a matrix the file gives the features that are numeric, or nominal and declared as {0, 1}; other
features are left out, with a note. As
labels it gives the class, which may also be nominal, text, or `hierarchical`: class paths, several
of a row joined by '@', as Clus writes them (`2@2/1@2/1/3`); a path that another of the same row
continues is left out. A class of '?' is unknown. As class paths it gives the declared ones that no
other continues, and those that rows have.

Libraries do not read such files: SciPy's refuses sparse rows, text and hierarchical classes;
liac-arff, without a release since 2020, hierarchical ones. Format:
https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/, and for `hierarchical` the
manual of Clus.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from operator import lt
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError, listed, shown
from models.roles import Want
from workers.formats.column_roles import is_label_name
from workers.formats.facts import DEFAULT, Bounds, Facts, Member, choose
from workers.formats.refusals import broken, missing
from workers.formats.tables import NUMBER, LabelRows, Table, text_array

MAX_LINE = 16 << 20
"""The largest length of a line in bytes."""
MAX_ATTRIBUTES = 1_000_000

BEGINS = re.compile(r"(?:[ \t]*+(?:%[^\n]*+)?\r?\n)*+[ \t]*+@relation\b", re.IGNORECASE)
"""The beginning of a file, by which an undeclared one is recognised."""

_BYTES = 8
"""A row or value takes at most this many times its length in the file; so do classes that are
numbers."""
_BYTES_OF_CELL = 256
"""What a distinct cell with other classes takes besides its characters."""
_BYTES_OF_CLASS = 64
"""The same of each of its classes."""

_QUOTED = r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)\""""
_CELL = re.compile(rf"[ \t]*+(?:(?:{_QUOTED})[ \t]*+|([^,'\"%]*+))(,|$|%)")
_ENTRY = re.compile(rf"[ \t]*+(\d{{1,9}})[ \t]++(?:(?:{_QUOTED})[ \t]*+|([^,'\"%]*+))(,|$)")
_NAME = re.compile(rf"@attribute[ \t]++(?:{_QUOTED}|([^\s{{'\"%]++))[ \t]*+(.*)", re.IGNORECASE)
_COMMENT = re.compile(rf"((?:{_QUOTED}|[^%'\"])*+)%.*")
_PLAIN = re.compile(r"(?:\d{1,9}[ \t]++[^,'\"%?\s]++(?:[ \t]*+,[ \t]*+(?=\d)|$))++")
_ESCAPE = re.compile(r"\\(.)")
_MARKS = re.compile(r"['\"%]")

Kind = Literal["numeric", "nominal", "text", "hierarchical"]
_KINDS: dict[str, Kind] = {
    "numeric": "numeric",
    "real": "numeric",
    "integer": "numeric",
    "string": "text",
    "date": "text",
    "hierarchical": "hierarchical",
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute. values : those declared, in order; of `hierarchical` the paths."""

    name: str
    kind: Kind
    values: dict[str, None]

    @property
    def is_number(self) -> bool:
        return self.kind == "numeric" or list(self.values) == ["0", "1"]


@dataclass(slots=True)
class _Rows:
    """The rows as they are read.

    sparse : None before the first row. line : of each row. times : classes of each row, -1 unknown.
    """

    sparse: bool | None = None
    line: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))
    column: array[int] = field(default_factory=lambda: array("q"))
    start: array[int] = field(default_factory=lambda: array("q", [0]))
    times: array[int] = field(default_factory=lambda: array("q"))
    classes: list[Any] = field(default_factory=list)


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the features; of the class where there are no features that are numbers."""
    file = _File(path, member, bounds)
    if file.features:
        matrix = file.matrix()
        return Facts(matrix.shape, "float64", sparse=isinstance(matrix, sp.csr_array))
    return Facts((len(file.labels().unlabelled),), "str")


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The features as float64, dense or `csr_array` as the rows are written; or the class."""
    file = _File(path, member, bounds)
    match want:
        case "labels":
            return file.labels()
        case "paths":
            return file.paths()
        case "column":
            return file.labels().one_each()
    return file.matrix()


def notes(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> tuple[str, ...]:
    """What was decided about the attributes of a file whose features are read."""
    return _File(path, member, bounds).notes()


class _File:
    """An opened file: its header has been read."""

    def __init__(self, path: Path, member: str | None, bounds: Bounds) -> None:
        self._path, self._bounds = path, bounds
        size = path.stat().st_size
        if size == 0:
            raise UsageError("The ARFF file is empty.", code="empty")
        self._n_bytes = _BYTES * size
        bounds.require(self._n_bytes)
        with path.open("rb") as file:
            self.attributes, self._line = _header(file)
            self._data = file.tell()
        members = [Member(attribute.name, (), "") for attribute in self.attributes]
        last = len(members) - 1
        self._at = last if member is None else choose(members, member)
        self._class = self.attributes[self._at]
        self._chosen = member is not None
        self._apart = (
            self._chosen
            or len(members) == 1
            or self._class.kind != "numeric"
            or is_label_name(self._class.name)
        )
        own = range(len(members))
        apart = {self._at} if self._apart else set[int]()
        self._places = [at for at in own if at not in apart and self.attributes[at].is_number]
        self._column = {at: column for column, at in enumerate(self._places)}
        self.features = [self.attributes[at] for at in self._places]
        self._others = [self.attributes[at] for at in own if at not in {*apart, *self._places}]
        self._classes: dict[str, list[str]] = {}
        self._declared = sorted(self._class.values)

    def matrix(self) -> npt.NDArray[np.float64] | sp.csr_array:
        """The features."""
        if not self.features:
            raise UsageError(
                f"The ARFF file has no attribute of numbers but its class, "
                f"{shown(self._class.name)}: features are numeric, or nominal with the values "
                "{0, 1}.",
                code="wrong-input" if self._others else "empty",
            )
        rows = self._rows(features=True)
        values = np.asarray(rows.value)
        shape = (len(rows.line), len(self.features))
        nominal = np.array([attribute.kind == "nominal" for attribute in self.features])
        if not rows.sparse:
            dense = values.reshape(shape)
            odd = np.argwhere(self._is_odd(dense, nominal))
            if odd.size:
                self._refuse_value(rows, dense, int(odd[0, 0]), int(odd[0, 1]))
            return dense
        sparse = sp.csr_array((values, np.asarray(rows.column), np.asarray(rows.start)), shape)
        of_nominal = nominal[sparse.indices]
        at = np.flatnonzero(self._is_odd(values, of_nominal))
        if at.size:
            row = int(np.searchsorted(sparse.indptr, at[0], side="right")) - 1
            self._refuse_value(rows, sparse, row, int(sparse.indices[at[0]]))
        return sparse

    def _is_odd(
        self, values: npt.NDArray[np.float64], nominal: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """Where a value is none that its attribute may have. nominal : of {0, 1}, broadcast."""
        odd: npt.NDArray[np.bool_] = nominal & (values != 0) & (values != 1)
        odd |= ~np.isfinite(values)
        return odd & ~np.isnan(values) if self._bounds.gaps else odd

    def notes(self) -> tuple[str, ...]:
        """What was decided of the attributes where the features are read."""
        return (*self._left_out_notes(), *self._class_notes())

    def _left_out_notes(self) -> Iterator[str]:
        if self._others:
            own = listed([attribute.name for attribute in self._others], 20)
            yield (
                "Attributes of the ARFF file that are neither numbers nor of the values {0, 1} "
                f"were left out: {own}. Encode them as numbers if they are to count."
            )

    def _class_notes(self) -> tuple[str, ...]:
        own = shown(self._class.name, 40)
        if self._chosen or len(self.attributes) == 1:
            return ()
        if self._apart:
            return (
                f"Attribute {own} of the ARFF file is taken as the class, and is not among the "
                "features; ?member= of the upload names another.",
            )
        return (
            f"Attribute {own} of the ARFF file, the last, is numeric and among the features; if it "
            "is the class, name it by ?member= of the upload.",
        )

    def labels(self) -> LabelRows:
        """The classes of each row."""
        rows = self._rows(features=False)
        times = np.asarray(rows.times)
        if self._class.kind == "numeric":
            value = np.array(rows.classes, dtype=np.float64)
        else:
            value = text_array(rows.classes)
        return LabelRows.of(np.maximum(times, 0), value, times < 0)

    def paths(self) -> list[str] | LabelRows:
        """The declared classes that none continues, in order, and those that rows have."""
        classes = self.labels()
        if self._class.kind not in ("nominal", "hierarchical"):
            return classes
        leaves = _uncontinued(self._class.values)
        return list(dict.fromkeys([*leaves, *classes.value.tolist()]))

    def _refuse_value(self, rows: _Rows, matrix: Any, row: int, column: int) -> NoReturn:
        value, attribute = float(matrix[row, column]), self.features[column]
        allowed = "0 or 1" if attribute.kind == "nominal" else "a finite number"
        _refuse(
            rows.line[row],
            f"has {value:g} as attribute {shown(attribute.name)}, which must be {allowed}",
            code="wrong-input" if np.isfinite(value) else "not-finite",
            row=row,
            column=column,
        )

    def _rows(self, *, features: bool) -> _Rows:
        """The rows. features : whether the features are read, or else the classes."""
        rows = _Rows()
        with self._path.open("rb") as file:
            file.seek(self._data)
            for line, text in _lines(file, self._line):
                row = len(rows.line)
                sparse = text.startswith("{")
                if rows.sparse is None:
                    rows.sparse = sparse
                elif rows.sparse != sparse:
                    _refuse(
                        line, "is dense, others sparse" if rows.sparse else "is sparse, not dense"
                    )
                cells, index, at = self._cells_of(text, line, row, sparse=sparse)
                rows.line.append(line)
                if features:
                    self._add_features(rows, cells, index, text)
                else:
                    self._add_classes(rows, cells[at] if at >= 0 else self._left_out(line), line)
        if not rows.line:
            raise UsageError("The ARFF file has no rows.", code="empty")
        return rows

    def _cells_of(
        self, text: str, line: int, row: int, *, sparse: bool
    ) -> tuple[list[Any], list[int], int]:
        """The cells of a row; their attributes if it is sparse; the place of the class, or -1."""
        n_attributes = len(self.attributes)
        if sparse:
            index, entries = _entries(text, line, n_attributes)
            at = bisect_left(index, self._at)
            return entries, index, at if at < len(index) and index[at] == self._at else -1
        quoted = _MARKS.search(text) is not None
        cells: list[Any] = _cells(text, line) if quoted else text.split(",")
        if len(cells) != n_attributes:
            _refuse(
                line,
                f"has {len(cells)} values; the ARFF file declares {n_attributes} attributes",
                code="ragged",
                row=row,
            )
        if not quoted:
            cells[self._at] = _bare(cells[self._at])
        return cells, [], self._at

    def _add_features(self, rows: _Rows, cells: list[Any], index: list[int], text: str) -> None:
        if rows.sparse:
            kept = [at for at, place in enumerate(index) if place in self._column]
            index = [self._column[index[at]] for at in kept]
            cells = [cells[at] for at in kept]
            rows.column.extend(index)
        else:
            cells = [cells[at] for at in self._places]
        if self._bounds.gaps:
            cells = ["nan" if _is_missing(cell) else cell for cell in cells]
        try:
            rows.value.extend(map(float, cells))
        except (ValueError, TypeError):
            self._explain(rows, cells, index)
        # `float` takes more than a number of the format.
        if ("_" in text or not text.isascii()) and not all(map(self._is_number, cells)):
            self._explain(rows, cells, index)
        rows.start.append(len(rows.value))

    def _is_number(self, cell: str | None) -> bool:
        """Whether a feature may be written so."""
        return _is_number(cell) or (self._bounds.gaps and cell == "nan")

    def _add_classes(self, rows: _Rows, cell: str | None, line: int) -> None:
        if cell is None:
            rows.times.append(-1)
            return
        if self._class.kind == "numeric":
            if not _is_number(cell) or not np.isfinite(float(cell)):
                _refuse(line, f"has {shown(cell, 40)} as its class, which is not a finite number")
            rows.classes.append(float(cell))
            rows.times.append(1)
            return
        classes = self._classes.get(cell)
        if classes is None:
            classes = self._classes[cell] = self._parsed(cell, line)
            own = sum(_BYTES_OF_CLASS + len(name) for name in classes)
            self._n_bytes += _BYTES_OF_CELL + len(cell) + own
            self._bounds.require(self._n_bytes)
        rows.classes += classes
        rows.times.append(len(classes))

    def _parsed(self, cell: str, line: int) -> list[str]:
        """The classes in a cell, without those that others continue."""
        paths = [cell]
        if self._class.kind == "hierarchical":
            paths = [path.strip() for path in cell.split("@")]
        if "" in paths:
            _refuse(line, "has an empty class", code="missing-value")
        if self._class.kind != "text":
            unknown = [path for path in paths if not self._is_known(path)]
            if unknown:
                _refuse(
                    line,
                    f"has the class {shown(unknown[0], 40)}, which attribute "
                    f"{shown(self._class.name)} does not declare",
                )
        if self._class.kind != "hierarchical":
            return paths
        return _uncontinued(paths)

    def _is_known(self, path: str) -> bool:
        """Whether the class is declared, or a declared one continues it."""
        if path in self._class.values:
            return True
        return self._class.kind == "hierarchical" and _is_continued(path, self._declared)

    def _left_out(self, line: int) -> str:
        """The class of a sparse row that leaves it out: 0, or the first declared value."""
        if self._class.kind not in ("numeric", "nominal"):
            _refuse(line, f"leaves out its class, {shown(self._class.name)}")
        return next(iter(self._class.values), "0")

    def _explain(self, rows: _Rows, cells: list[Any], index: list[int]) -> NoReturn:
        """Refuse the first feature of the last row that is not a number.

        index : the columns of the cells, if the row is sparse.
        """
        row, line = len(rows.line) - 1, rows.line[-1]
        for place, cell in enumerate(cells):
            column = index[place] if index else place
            if _is_missing(cell):
                raise missing(row, column, line=line)
            if not self._is_number(cell):
                name = shown(self.features[column].name)
                _refuse(
                    line,
                    f"has {shown(cell.strip(), 40)} as attribute {name}, which is not a number",
                    code="wrong-input",
                    row=row,
                    column=column,
                )
        raise broken(f"Line {line} of the ARFF file cannot be read.")


def _header(file: IO[bytes]) -> tuple[list[Attribute], int]:
    """The attributes, and the number of the line `@data`, after which the file stands."""
    attributes: list[Attribute] = []
    begun = False
    for line, text in _lines(file, 0):
        word = text.split(None, 1)[0].lower()
        if not begun and word != "@relation":
            _refuse(line, "is not @relation, with which an ARFF file begins")
        begun = True
        if word == "@data":
            break
        if word == "@attribute":
            if len(attributes) == MAX_ATTRIBUTES:
                _refuse(line, f"is past {MAX_ATTRIBUTES} attributes", code="too-large")
            attributes.append(_attribute(text, line))
        elif word != "@relation":
            _refuse(line, f"has {shown(word, 40)} where @attribute or @data is expected")
    else:
        raise broken("The ARFF file has no @data.")
    if not attributes:
        raise UsageError("The ARFF file declares no attribute.", code="empty")
    names = {attribute.name for attribute in attributes}
    if len(names) < len(attributes):
        raise broken("The ARFF file declares two attributes of the same name.")
    return attributes, line


def _attribute(text: str, line: int) -> Attribute:
    comment = _COMMENT.fullmatch(text)
    match = _NAME.fullmatch(comment[1] if comment else text)
    if match is None or not match[4].strip():
        _refuse(line, "is not '@attribute name type'")
    name, kind = _text(match, 1), match[4].strip()
    if kind.startswith("{") and kind.endswith("}"):
        return Attribute(name, "nominal", _declared(kind[1:-1], line))
    word, *rest = kind.split(None, 1)
    known = _KINDS.get(word.lower())
    if known is None or (rest and word.lower() not in ("hierarchical", "date")):
        _refuse(
            line,
            f"declares the type {shown(kind, 40)}; accepted are numeric, real, integer, string, "
            "date, {nominal values} and hierarchical",
            code="unsupported-format",
        )
    values = _declared("".join(rest), line) if known == "hierarchical" else {}
    if any("" in path.split("/") for path in values):
        _refuse(line, "declares a class path with an empty part")
    return Attribute(name, known, values)


def _declared(text: str, line: int) -> dict[str, None]:
    values = _cells(text, line)
    if None in values or "" in values:
        _refuse(line, "declares a missing value")
    return dict.fromkeys(values)


def _lines(file: IO[bytes], line: int) -> Iterator[tuple[int, str]]:
    """The lines after number `line` with their numbers, stripped; no comments and no blank ones.

    They are read one by one, so that the file's position is known.
    """
    while raw := file.readline(MAX_LINE + 1):
        line += 1
        if len(raw) > MAX_LINE:
            _refuse(line, f"is longer than {MAX_LINE} bytes", code="too-large")
        raw = (raw.removeprefix(b"\xef\xbb\xbf") if line == 1 else raw).strip()
        if not raw or raw.startswith(b"%"):
            continue
        try:
            text = raw.decode("utf-8").strip()
        except UnicodeDecodeError:
            _refuse(line, "is not UTF-8")
        # Blank may also be what is so in Unicode alone.
        if text:
            yield line, text


def _cells(text: str, line: int) -> list[Any]:
    """The cells of a row with quotes or a comment: a `str` each, None for a missing value."""
    cells: list[str | None] = []
    at = 0
    while True:
        match = _CELL.match(text, at)
        if match is None:
            _refuse(line, f"has a misplaced quote after value {len(cells)}")
        cells.append(_text(match, 1) if match[3] is None else _bare(match[3]))
        at = match.end()
        if match[4] != ",":
            return cells


def _entries(text: str, line: int, n_attributes: int) -> tuple[list[int], list[Any]]:
    """The attributes and values of a sparse row, ascending."""
    end = text.rfind("}")
    after = text[end + 1 :].strip()
    if end < 0 or (after and not after.startswith("%")):
        _refuse(line, "is a sparse row that does not end with '}'")
    inside = text[1:end].strip()
    if _PLAIN.fullmatch(inside):
        words = inside.replace(",", " ").split()
        index, cells = [int(word) for word in words[::2]], list[Any](words[1::2])
        if index[-1] < n_attributes and all(map(lt, index, index[1:])):
            return index, cells
    index, cells, at = [], [], 0
    while inside and (not index or at < len(inside) or inside[at - 1] == ","):
        match = _ENTRY.match(inside, at)
        if match is None:
            _refuse(line, f"is a sparse row without 'index value' after entry {len(index)}")
        place = int(match[1])
        if place >= n_attributes:
            _refuse(
                line,
                f"has the index {place}; the ARFF file declares {n_attributes} attributes, "
                f"0 to {n_attributes - 1}",
            )
        if index and place <= index[-1]:
            _refuse(line, f"has index {place} after {index[-1]}; indices must ascend")
        index.append(place)
        cells.append(_text(match, 2) if match[4] is None else _bare(match[4]))
        at = match.end()
    return index, cells


def _is_missing(cell: str | None) -> bool:
    return cell is None or cell.strip() in ("", "?")


def _bare(cell: str) -> str | None:
    """A cell without quotes; None for a missing value."""
    text = cell.strip()
    return None if text == "?" else text


def _text(match: re.Match[str], group: int) -> str:
    """The text of a match: in single quotes, in double quotes, or bare, in this order."""
    quoted = match[group] if match[group] is not None else match[group + 1]
    if quoted is None:
        return match[group + 2]
    return _ESCAPE.sub(r"\1", quoted)


def _uncontinued(paths: Collection[str]) -> list[str]:
    """The paths that no other continues, in their order."""
    ordered = sorted(paths)
    return [path for path in paths if not _is_continued(path, ordered)]


def _is_continued(path: str, ordered: Sequence[str]) -> bool:
    """Whether one of the sorted paths continues `path`.

    The beginnings of paths are not listed: for one path they take the square of its length.
    """
    beginning = f"{path}/"
    at = bisect_left(ordered, beginning)
    return at < len(ordered) and ordered[at].startswith(beginning)


def _is_number(cell: str | None) -> bool:
    return cell is not None and NUMBER.fullmatch(cell) is not None


def _refuse(line: int, what: str, *, code: str = "invalid-file", **place: int) -> NoReturn:
    raise UsageError(
        f"Line {line} of the ARFF file {what}.", code=code, line=line, **place
    ) from None
