"""The one list of the files that are taken: how their names end, their media type, what they are.

The Python client and its command line have the list as `make client` writes it; the page has it in
`app/dashboard/js/forms/file_guess.js`, which a test compares, as it compares the list with the
formats that are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    """media_type : of a file whose name ends so. what : it is, for people. tree : whether it is a
    tree by its name. binary : whether its first bytes say its format. declared : whether a
    sender states the type; of Arrow, whose files and streams are called alike, the bytes decide."""

    media_type: str
    what: str
    tree: bool = False
    binary: bool = True
    declared: bool = True


_CSV = Ending("text/csv", "CSV", binary=False)
_TSV = Ending("text/tab-separated-values", "CSV with tabs", binary=False)
_JSON = Ending("application/json", "JSON", binary=False)
_JSONL = Ending("application/x-ndjson", "JSON lines", binary=False)
_LIBSVM = Ending("text/x-libsvm", "libsvm", binary=False)
_ARFF = Ending("text/x-arff", "ARFF", binary=False)
_ARROW = Ending("application/vnd.apache.arrow.file", "an Arrow file", declared=False)
_PARQUET = Ending("application/vnd.apache.parquet", "Parquet")
_NEWICK = Ending("text/x-nh", "a Newick tree", tree=True, binary=False)
_NEXUS = Ending("text/x-nexus", "a Nexus tree", tree=True, binary=False)

ENDINGS: Mapping[str, Ending] = {
    "npy": Ending("application/x-npy", "an array of NumPy"),
    "npz": Ending("application/x-npz", "arrays of NumPy, or a sparse matrix of SciPy"),
    "safetensors": Ending("application/safetensors", "safetensors"),
    **dict.fromkeys(("parquet", "pq"), _PARQUET),
    **dict.fromkeys(("arrow", "feather", "ipc"), _ARROW),
    "arrows": Ending("application/vnd.apache.arrow.stream", "an Arrow stream", declared=False),
    "h5ad": Ending("application/x-hdf5", "AnnData"),
    "xlsx": Ending(
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "an Excel workbook"
    ),
    "xlsb": Ending("application/vnd.ms-excel.sheet.binary.macroEnabled.12", "a binary workbook"),
    "xls": Ending("application/vnd.ms-excel", "a workbook of Excel before 2007"),
    "ods": Ending("application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument workbook"),
    "zip": Ending("application/zip", "images, or one packed table"),
    "csv": _CSV,
    **dict.fromkeys(("tsv", "tab"), _TSV),
    "json": _JSON,
    **dict.fromkeys(("jsonl", "ndjson"), _JSONL),
    **dict.fromkeys(("libsvm", "svm", "svmlight"), _LIBSVM),
    "arff": _ARFF,
    **dict.fromkeys(
        ("nwk", "newick", "nh", "nhx", "tree", "tre", "trees", "treefile", "contree", "dnd"),
        _NEWICK,
    ),
    **dict.fromkeys(("nex", "nexus", "nxs"), _NEXUS),
}
"""How the name of a file ends, without the point -> what it is."""

PACKED: Mapping[str, str] = {"gz": "gzip", "zst": "zstd", "bz2": "bzip2", "xz": "xz"}
"""Endings behind these, as in table.csv.gz -> how the file is packed; its type is that of what is
inside."""


def media_type_of(name: str) -> str | None:
    """The media type that a sender states of a file by its name; None where its bytes decide."""
    parts = name.lower().split(".")[1:]
    if parts and parts[-1] in PACKED:
        parts.pop()
    known = ENDINGS.get(parts[-1]) if parts else None
    return known.media_type if known is not None and known.declared else None
