"""The endings of files that are taken. Written by `make client` from `workers.formats.endings`."""

from __future__ import annotations

MEDIA_TYPES = {
    "npy": "application/x-npy",
    "npz": "application/x-npz",
    "safetensors": "application/safetensors",
    "parquet": "application/vnd.apache.parquet",
    "pq": "application/vnd.apache.parquet",
    "h5ad": "application/x-hdf5",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    "xls": "application/vnd.ms-excel",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "zip": "application/zip",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "tab": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "ndjson": "application/x-ndjson",
    "libsvm": "text/x-libsvm",
    "svm": "text/x-libsvm",
    "svmlight": "text/x-libsvm",
    "arff": "text/x-arff",
    "nwk": "text/x-nh",
    "newick": "text/x-nh",
    "nh": "text/x-nh",
    "nhx": "text/x-nh",
    "tree": "text/x-nh",
    "tre": "text/x-nh",
    "trees": "text/x-nh",
    "treefile": "text/x-nh",
    "contree": "text/x-nh",
    "dnd": "text/x-nh",
    "nex": "text/x-nexus",
    "nexus": "text/x-nexus",
    "nxs": "text/x-nexus",
}
"""The media type by the ending of a file; of others the service finds it out."""
TREES = frozenset(
    [
        "contree",
        "dnd",
        "newick",
        "nex",
        "nexus",
        "nh",
        "nhx",
        "nwk",
        "nxs",
        "tre",
        "tree",
        "treefile",
        "trees",
    ]
)
"""The endings of trees."""
PACKED = frozenset(["bz2", "gz", "xz", "zst"])
"""Endings of packed files, behind that of what is inside."""
