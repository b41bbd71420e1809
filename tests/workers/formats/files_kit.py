"""Files of every format, written by the libraries that users use."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from PIL import Image
from safetensors.numpy import save_file
from sklearn.datasets import dump_svmlight_file

from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from tests.workers.formats.h5ad_kit import h5ad
from tests.workers.formats.workbooks_kit import workbook

MATRICES = [
    *(("npy", dtype) for dtype in ("?", "u1", "i4", "i8", "f2", "f4", "f8", ">f4", ">f8")),
    *(("npy-fortran", dtype) for dtype in ("i8", "f2", "f4", ">f8")),
    *(("safetensors", dtype) for dtype in ("?", "i4", "f2", "f4", "f8", "bf16")),
    *(("unaligned", dtype) for dtype in ("f2", "f4", "f8", "bf16")),
]
"""Layout and dtype of each kind of matrix file that can be read by rows."""
MATRIX = np.arange(12, dtype="f4").reshape(4, 3)
SHAPE = (23, 5)
"""The shape of every such matrix."""


def _arrow_file(path: Path, table: pa.Table, **options: Any) -> None:
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table)


def _arrow_stream(path: Path, table: pa.Table, **options: Any) -> None:
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table)


def as_table(array: np.ndarray) -> pa.Table:
    """One column per column of the matrix."""
    return pa.table({f"c{at}": column for at, column in enumerate(array.T)})


def as_lists(array: np.ndarray) -> pa.Table:
    """One column of lists of fixed size."""
    flat = pa.array(array.reshape(-1))
    return pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, array.shape[1])})


def write(format: str, path: Path, array: np.ndarray) -> None:
    """A dense matrix in any format; of `zip` an image for each row."""
    match format:
        case "npy":
            with path.open("wb") as file:
                np.save(file, array)
        case "npz":
            with path.open("wb") as file:
                np.savez_compressed(file, array)
        case "safetensors":
            save_file({"x": array}, path)
        case "arrow-stream":
            _arrow_stream(path, as_table(array))
        case "arrow-file":
            _arrow_file(path, as_table(array))
        case "parquet":
            pq.write_table(as_table(array), path)
        case "csv":
            np.savetxt(path, array, delimiter=",", fmt="%.17g")
        case "xlsx":
            book = openpyxl.Workbook()
            for row in array.tolist():
                book.active.append(row)
            book.save(path)
        case "ods" | "xls" | "xlsb":
            workbook(format, path, {"Sheet": array.astype(float).tolist()})
        case "h5ad":
            h5ad(path, array)
        case "libsvm":
            dump_svmlight_file(array, np.zeros(len(array)), str(path), zero_based=False)
        case "arff":
            put(path, arff_text(array, ["numeric"] * array.shape[1], [0] * len(array)))
        case "json":
            path.write_text(json.dumps(array.tolist()))
        case "zip":
            write_images(path, {f"{row}.png": image_bytes() for row in range(len(array))})


def image_bytes(form: str = "PNG") -> bytes:
    """A small image as a file."""
    content = io.BytesIO()
    Image.new("RGB", (3, 2), (200, 10, 10)).save(content, form)
    return content.getvalue()


def write_images(path: Path, members: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> None:
    """A zip archive."""
    with zipfile.ZipFile(path, "w", packing) as packed:
        for name, content in members.items():
            packed.writestr(name, content)


def arff_text(
    features: np.ndarray, kinds: list[str], classes: list[Any], class_kind: str = "numeric"
) -> str:
    """An ARFF file of dense rows: features of the given kinds, then the class."""
    attributes = [f"@attribute x{at} {kind}" for at, kind in enumerate(kinds)]
    rows = [
        ",".join(map(str, [*row, own])) for row, own in zip(features.tolist(), classes, strict=True)
    ]
    head = ["@relation test", *attributes, f"@attribute class {class_kind}", "@data"]
    return "\n".join([*head, *rows]) + "\n"


def write_arrow(path: Path, table: pa.Table, *, file: bool = True, **options: Any) -> None:
    (_arrow_file if file else _arrow_stream)(path, table, **options)


def put(path: Path, content: str | bytes) -> Path:
    """The path, with `content` written to it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def npy_bytes(array: Any) -> bytes:
    """The array as a .npy file, pickled where it holds objects."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def write_table(format: str, path: Path, table: pa.Table) -> None:
    """A table as Parquet or Arrow."""
    if format == "parquet":
        pq.write_table(table, path)
    else:
        write_arrow(path, table, file=format == "arrow-file")


def dense(value: Any) -> np.ndarray:
    return value.toarray() if isinstance(value, sp.csr_array) else value


def rows_of(sets: Any) -> list[list[str] | None]:
    """The labels of each row of label sets, in their order; None where they are unknown."""
    assert isinstance(sets, LabelSets)
    assert len(set(sets.names)) == len(sets.names)
    rows = [sets.code[a:b] for a, b in zip(sets.start[:-1], sets.start[1:], strict=True)]
    assert len(rows) == sets.n_rows
    assert all((np.diff(row) > 0).all() for row in rows)
    assert not any(len(row) for row, unknown in zip(rows, sets.unlabelled, strict=True) if unknown)
    return [
        None if unknown else [sets.names[code] for code in row]
        for row, unknown in zip(rows, sets.unlabelled, strict=True)
    ]


def refused(call: Callable[..., Any], *args: Any, **named: Any) -> UsageError:
    """The UsageError that a call raises; its detail reveals nothing about the machine."""
    with pytest.raises(UsageError) as caught:
        call(*args, **named)
    error = caught.value
    for word in ("/tmp", "site-packages", "Traceback", "0x7f"):
        assert word not in error.detail
    assert error.detail.endswith(".")
    return error


def survives(call: Callable[..., Any], *args: Any) -> None:
    """The call ends; what it raises, if anything, is a UsageError with a detail."""
    detail = "taken"
    try:
        call(*args)
    except UsageError as error:
        detail = error.detail
    assert detail


def bfloat16(values: np.ndarray) -> np.ndarray:
    """The nearest of each finite value, ties to even, as bits."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bfloat16_file(bits: np.ndarray) -> bytes:
    """A file of safetensors with one tensor, `x`."""
    shape, data = list(bits.shape), bits.astype("<u2").tobytes()
    header = {"x": {"dtype": "BF16", "shape": shape, "data_offsets": [0, len(data)]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def write_matrix(path: Path, layout: str, dtype: str) -> tuple[str, np.ndarray]:
    """Write a matrix of one kind of `MATRICES`; its format, and the rows that `Rows` must give."""
    values = np.random.default_rng(7).normal(size=SHAPE) * 50
    if layout.startswith("npy"):
        array = values.astype(dtype)
        stored = np.asfortranarray(array) if layout == "npy-fortran" else array
        with path.open("wb") as file:
            np.save(file, stored)
        return "npy", array.astype(array.dtype.newbyteorder("="))
    if dtype == "bf16":
        array = bfloat16(values)
        path.write_bytes(bfloat16_file(array))
    else:
        array = values.astype(dtype)
        save_file({"x": array}, path)
    if layout == "unaligned":
        # The format does not require aligned data.
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        text = json.dumps(json.loads(content[8 : 8 + size])).encode()
        text += b" " * (1 - len(text) % 2)
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    return "safetensors", array


def same_rows(rows: np.ndarray, expected: np.ndarray) -> None:
    """The rows equal those expected to the last bit, laid out as a method needs them."""
    assert rows.dtype == expected.dtype
    assert rows.shape == expected.shape
    assert rows.tobytes() == expected.tobytes()
    assert rows.flags.c_contiguous
    assert rows.flags.aligned
