"""Small workbooks in the formats for which no library of the tests writes them, by their
specifications: [MS-XLSB], [MS-XLS] within [MS-CFB], and OpenDocument."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

Row = Sequence[str | float]

_ODS = "application/vnd.oasis.opendocument.spreadsheet"
_NAMES = "urn:oasis:names:tc:opendocument:xmlns"
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_STREAM = 1 << 13


def workbook(format: str, path: Path, sheets: dict[str, Sequence[Row]]) -> Path:
    """A workbook of `ods`, `xlsb` or `xls` with these rows of numbers and texts."""
    write = {"ods": ods, "xlsb": xlsb, "xls": xls}[format]
    path.write_bytes(write(sheets))
    return path


def ods(sheets: dict[str, Sequence[Row]], more: str = "") -> bytes:
    """more : elements after the rows of each sheet."""
    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>{''.join(map(_ods_row, rows))}{more}"
        "</table:table>"
        for name, rows in sheets.items()
    )
    spaces = " ".join(f'xmlns:{own}="{_NAMES}:{own}:1.0"' for own in ("office", "table", "text"))
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    content = f"<office:document-content {spaces}>{body}</office:document-content>"
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("mimetype", _ODS)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def _ods_row(row: Row) -> str:
    return f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>"


def _ods_cell(cell: str | float) -> str:
    if isinstance(cell, str):
        text = f"<text:p>{escape(cell)}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'
    return f'<table:table-cell office:value-type="float" office:value="{cell!r}"/>'


def xlsb(sheets: dict[str, Sequence[Row]]) -> bytes:
    links, book = "", b""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for number, name in enumerate(sheets, 1):
            kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
            target = f"worksheets/sheet{number}.bin"
            links += f'<Relationship Id="r{number}" Type="{kind}" Target="{target}"/>'
            book += _record(0x9C, struct.pack("<2I", 0, number) + _wide(f"r{number}") + _wide(name))
        archive.writestr("xl/workbook.bin", book + _record(0x90, b"") + _record(0x9D, bytes(26)))
        names = "http://schemas.openxmlformats.org/package/2006/relationships"
        archive.writestr(
            "xl/_rels/workbook.bin.rels", f'<Relationships xmlns="{names}">{links}</Relationships>'
        )
        for number, rows in enumerate(sheets.values(), 1):
            archive.writestr(f"xl/worksheets/sheet{number}.bin", xlsb_sheet(rows))
    return sink.getvalue()


def xlsb_sheet(rows: Sequence[Row]) -> bytes:
    size = struct.pack("<4I", 0, len(rows) - 1, 0, len(rows[0]) - 1)
    records = [_record(0x94, size), _record(0x91, b"")]
    for at, row in enumerate(rows):
        records.append(_record(0, struct.pack("<I", at) + bytes(12)))
        for column, cell in enumerate(row):
            place = struct.pack("<2I", column, 0)
            if isinstance(cell, str):
                records.append(_record(6, place + _wide(cell)))
            else:
                records.append(_record(5, place + struct.pack("<d", cell)))
    return b"".join([*records, _record(0x92, b"")])


def _record(kind: int, content: bytes) -> bytes:
    head = [kind] if kind < 0x80 else [kind & 0x7F | 0x80, kind >> 7]
    size = len(content)
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*head, size]) + content


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xls(sheets: dict[str, Sequence[Row]]) -> bytes:
    parts = [_sheet_records(rows) for rows in sheets.values()]
    begin = _biff(0x809, struct.pack("<4H2I", 0x600, 5, 0, 0, 0, 0))
    length = len(begin) + sum(12 + len(name) for name in sheets) + 4
    for name, part in zip(sheets, parts, strict=True):
        place = struct.pack("<IBBBB", length, 0, 0, len(name), 0)
        begin += _biff(0x85, place + name.encode("latin-1"))
        length += len(part)
    stream = (begin + _biff(0x0A, b"") + b"".join(parts)).ljust(_STREAM, b"\0")
    assert len(stream) == _STREAM, "the workbook is too long for its only chain"
    n = _STREAM // 512
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<5H6x9I", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, _END, 0, _END, 0)
    head += struct.pack("<109I", 0, *[_FREE] * 108)
    fat = [_FAT, _END, *range(3, 2 + n), _END]
    table = struct.pack("<128I", *fat, *[_FREE] * (128 - len(fat)))
    folder = _entry("Root Entry", 5, 1, _END, 0) + _entry("Workbook", 2, _FREE, 2, _STREAM)
    return head + table + folder.ljust(512, b"\0") + stream


def _sheet_records(rows: Sequence[Row]) -> bytes:
    records = [_biff(0x809, struct.pack("<4H2I", 0x600, 0x10, 0, 0, 0, 0))]
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            place = struct.pack("<3H", at, column, 0)
            if isinstance(cell, str):
                text = struct.pack("<HB", len(cell), 0) + cell.encode("latin-1")
                records.append(_biff(0x204, place + text))
            else:
                records.append(_biff(0x203, place + struct.pack("<d", cell)))
    return b"".join([*records, _biff(0x0A, b"")])


def _biff(kind: int, content: bytes) -> bytes:
    return struct.pack("<2H", kind, len(content)) + content


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = (name + "\0").encode("utf-16-le")
    return (
        text.ljust(64, b"\0")
        + struct.pack("<HBB3I", len(text), kind, 1, _FREE, _FREE, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )
