"""Files of AnnData, written by hand in the layouts of its versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


def tagged(found: Any, encoding: str, **attributes: Any) -> Any:
    """A group or an array with its encoding, as AnnData 0.8 marks it."""
    found.attrs["encoding-type"] = encoding
    found.attrs["encoding-version"] = "0.2.0"
    found.attrs.update(attributes)
    return found


def put_texts(group: Any, name: str, texts: list[str]) -> Any:
    import h5py

    return tagged(group.create_dataset(name, data=texts, dtype=h5py.string_dtype()), "string-array")


def put_matrix(group: Any, name: str, matrix: Any, **options: Any) -> Any:
    """A matrix, dense, or of SciPy by rows or columns."""
    if isinstance(matrix, np.ndarray):
        return tagged(group.create_dataset(name, data=matrix, **options), "array")
    found = tagged(group.create_group(name), f"{matrix.format}_matrix", shape=matrix.shape)
    for part in ("data", "indices", "indptr"):
        found.create_dataset(part, data=getattr(matrix, part), **options)
    return found


def put_categories(group: Any, name: str, codes: list[int], categories: Any) -> Any:
    found = tagged(group.create_group(name), "categorical", ordered=False)
    found.create_dataset("codes", data=np.array(codes, dtype="i1"))
    if isinstance(categories, list):
        put_texts(found, "categories", categories)
    else:
        found.create_dataset("categories", data=categories)
    return found


def put_nullable(group: Any, name: str, kind: str, values: Any, mask: list[bool]) -> Any:
    found = tagged(group.create_group(name), f"nullable-{kind}")
    if isinstance(values, list):
        put_texts(found, "values", values)
    else:
        found.create_dataset("values", data=values)
    found.create_dataset("mask", data=np.array(mask))
    return found


def put_frame(root: Any, name: str, index: list[str], called: str = "_index") -> Any:
    found = tagged(root.create_group(name), "dataframe", _index=called)
    found.attrs["column-order"] = np.array([], dtype="S1")
    put_texts(found, called, index)
    return found


def h5ad(
    path: Path,
    matrix: Any,
    *,
    act: Callable[[Any], object] | None = None,
    others: Mapping[str, Any] | None = None,
    **options: Any,
) -> Path:
    """A file with X, the cells `c0`, ... and the genes `g0`, ..., and other matrices by name;
    `act` changes it before it is closed. options : of the arrays of X."""
    import h5py

    with h5py.File(path, "w") as root:
        tagged(root, "anndata")
        n_rows, n_columns = matrix.shape
        put_frame(root, "obs", [f"c{row}" for row in range(n_rows)])
        put_frame(root, "var", [f"g{at}" for at in range(n_columns)])
        put_matrix(root, "X", matrix, **options)
        for name, other in (others or {}).items():
            folder, _, own = name.partition("/")
            put_matrix(root.require_group(folder), own, other)
        if act is not None:
            act(root)
    return path


def sparse(matrix: np.ndarray, form: str = "csr") -> Any:
    return (sp.csr_array if form == "csr" else sp.csc_array)(matrix)
