"""Files of every format, written by the libraries that users write them with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from safetensors.numpy import save_file
from sklearn.datasets import dump_svmlight_file

from models.errors import UsageError

Write = Callable[[Path, Any], None]


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
    """A dense matrix in any format."""
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
        case "libsvm":
            dump_svmlight_file(array, np.zeros(len(array)), str(path), zero_based=False)
        case "json":
            import json

            path.write_text(json.dumps(array.tolist()))


def write_arrow(path: Path, table: pa.Table, *, file: bool = True, **options: Any) -> None:
    (_arrow_file if file else _arrow_stream)(path, table, **options)


def dense(value: Any) -> np.ndarray:
    return value.toarray() if isinstance(value, sp.csr_array) else value


def refused(call: Callable[..., Any], *args: Any, **named: Any) -> UsageError:
    """The UsageError that a call raises; its detail tells nothing of the machine."""
    with pytest.raises(UsageError) as caught:
        call(*args, **named)
    error = caught.value
    for word in ("/tmp", "site-packages", "Traceback", "0x7f"):
        assert word not in error.detail
    assert error.detail.endswith(".")
    return error


def survives(call: Callable[..., Any], *args: Any) -> None:
    """The call ends, and if it raises it is a UsageError that says something."""
    said = "taken"
    try:
        call(*args)
    except UsageError as error:
        said = error.detail
    assert said
