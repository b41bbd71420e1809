"""Valid files of every format that is read, small, and with every feature that a reader knows."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from tests.workers.formats.files_kit import (
    MATRICES,
    as_lists,
    image_bytes,
    write,
    write_arrow,
    write_matrix,
    write_table,
)
from workers.formats.trees import FORMATS as TREES

ROLES = ("features", "labels", "logits", "items")
"""The roles in which each file is read; their readers differ."""

TREE = "tree "
"""The formats of trees are named with this before them."""

_TEXTS = {
    "csv": [
        "a,b,label\n1,2.5,x\n3,-4e3,\"y, z\"\n",
        *("1;2\n3;4\n", "1 2\n\t3 4\n", "\ufeff1,2\n,3\n"),
        "name,seen,n\nx,2024-01-01,nan\n\"y\nz\",2024-02-29T10:00:00Z,1e9\n",
    ],
    "libsvm": ["1 1:0.5 3:2e-3\n-1 2:1 # text\n", "1,2 qid:3 1:1\n0 4:nan\n"],
    "arff": [
        "% text\n@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z'}\n"
        "@data\n1,x\n?,'y z'\n",
        "@relation r\n@attribute a real\n@attribute s string\n@data\n{0 1.5, 1 'it\\'s'}\n{}\n",
    ],
    "json": [
        '[{"a": "x", "n": 1e300, "on": true}, {"a": null, "n": 2}]',
        *("[[1, 2.5], [3, -4e3]]", "[1,2,3]"),
        *('["x", "y", null]', '{"data": [[1]], "names": ["a"]}'),
    ],
    "jsonl": ["[1, 2]\n[3, 4]\n", '"x"\n["y", "z"]\nnull\n', '{"a": 1, "b": 2}\n{"a": 3}\n'],
    f"{TREE}newick": [
        "((a:1,b:2)90:1.5,'c d''e':3,[text]f)root;",
        "(((1,2),3),(4,(5,6)));",
        "(a[&&NHX:S=x]:1e-3,b:0);",
    ],
    f"{TREE}nexus": [
        "#NEXUS\nBEGIN TAXA;\nTAXLABELS a 'b c' d;\nEND;\nBEGIN TREES;\n"
        "TRANSLATE 1 a, 2 'b c', 3 d;\nTREE t = [&R] ((1:1,2:2):1,3:3);\nEND;\n",
        "#nexus begin trees; tree * 'x y' = (a,(b,c)); end;",
    ],
    f"{TREE}json": [
        '{"name": "r", "height": 2, "children": [{"name": "a"}, {"children": [{}, {}]}]}',
        '{"nodes": [{"id": 0, "parent": null}, {"id": 1, "parent": 0}, {"id": 2, "parent": 0}]}',
    ],
    f"{TREE}paths": ["a/b/c\na/b/d\na/e\n", "a>b\na>c\n"],
}  # fmt: skip


def corpus(folder: Path) -> dict[str, list[bytes]]:
    """The contents of files by format; `folder` is for their making."""
    files: dict[str, list[bytes]] = defaultdict(list)
    path = folder / "file"

    def keep(format: str) -> None:
        files[format].append(path.read_bytes())

    for layout, dtype in MATRICES:
        keep(write_matrix(path, layout, dtype)[0])
    array = np.arange(12, dtype="f4").reshape(4, 3)
    for format in ("npy", "npz", "safetensors", "arrow-stream", "arrow-file", "parquet"):
        write(format, path, array)
        keep(format.partition("-")[0])
    words = pa.table(
        {"n": [1, None, 3], "w": pa.array(["x", "y", None]).dictionary_encode(), "b": [True] * 3}
    )
    lists = pa.table({"labels": pa.array([["a"], [], None], pa.list_(pa.string()))})
    for table in (words, lists, as_lists(array)):
        write_arrow(path, table, compression="zstd")
        keep("arrow")
        write_table("parquet", path, table)
        keep("parquet")
    images = pa.table({"i": [image_bytes(), None], "d": pa.array([0, 2**40], pa.timestamp("s"))})
    write_table("parquet", path, images)
    keep("parquet")
    write("zip", path, array)
    keep("zip")
    for matrix in (sp.csr_array(np.eye(3)), sp.csc_array(np.eye(3)), sp.coo_array(np.eye(3))):
        buffer = io.BytesIO()
        sp.save_npz(buffer, matrix)
        files["npz"].append(buffer.getvalue())
    buffer = io.BytesIO()
    np.savez(buffer, features=array, labels=np.array(["x", "y", "x", "z"]))
    files["npz"].append(buffer.getvalue())
    for words_array in (np.array(["x", "yy"]), np.array([b"x", b"yy"]), np.arange(3)):
        buffer = io.BytesIO()
        np.save(buffer, words_array)
        files["npy"].append(buffer.getvalue())
    buffer = io.BytesIO()
    np.save(buffer, np.array([[0.0, 1, 1, 2], [2, 3, 2, 3]]))
    files[f"{TREE}linkage"].append(buffer.getvalue())
    for format, texts in _TEXTS.items():
        files[format] += [text.encode() for text in texts]
    assert {f"{TREE}{name}" for name in TREES.values()} <= set(files)
    assert all(json.loads(text) for text in _TEXTS["json"])
    return dict(files)
