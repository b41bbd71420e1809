"""A model in ONNX, opened by onnxruntime, and what a folder has beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from models.arrays import Array

_NORMALIZES = "sentence_transformers.models.Normalize"


class Unusable(Exception):
    """The folder has no model that can be used; the message says why.

    item : the place in the batch of the one item that the model does not take.
    """

    def __init__(self, message: str, item: int | None = None) -> None:
        super().__init__(message)
        self.item = item

    @classmethod
    def without(cls, error: ImportError) -> Unusable:
        """That a package is not installed."""
        return cls(f"It needs the package {error.name}: `pip install 'umbel[onnx]'`.")


def session_of(folder: Path, threads: int) -> Any:
    """The model of a folder, in memory. Raises Unusable, MemoryError."""
    try:
        import onnxruntime
    except ImportError as error:
        raise Unusable.without(error) from None
    path = path_of(folder, "model.onnx", "onnx/model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        _raise_memory(error)
        raise Unusable(f"model.onnx cannot be read: {shortened(error)}") from None


def run(session: Any, output: str, given: Mapping[str, Array]) -> Array:
    """An output of the model. Raises Unusable, MemoryError."""
    try:
        (values,) = session.run([output], dict(given))
    except Exception as error:
        _raise_memory(error)
        raise Unusable(f"model.onnx does not run: {shortened(error)}") from None
    return np.asarray(values)


def path_of(folder: Path, *names: str) -> Path:
    """The first of these files that is there. Raises Unusable."""
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise Unusable(f"The folder {folder.name} of the model has no file {names[0]}.")
    return found


def json_of(path: Path, default: Any) -> Any:
    """What a file has, of the default's type; the default where there is none. Raises Unusable."""
    if not path.is_file():
        return default
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        found = None
    if type(found) is not type(default):
        raise Unusable(f"{path.name} is not the JSON that goes with such a model.")
    return found


def is_normalized(folder: Path) -> bool:
    """Whether vectors have length 1: as `modules.json` says, without which they have."""
    modules = json_of(folder / "modules.json", [{"type": _NORMALIZES}])
    return any(isinstance(each, dict) and each.get("type") == _NORMALIZES for each in modules)


def normalized(vectors: Array) -> Array:
    """Vectors of length 1; one of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


def shortened(error: Exception) -> str:
    """The message of an error on one short line."""
    return " ".join(str(error).split())[:300]


def _raise_memory(error: Exception) -> None:
    if isinstance(error, MemoryError) or "bad_alloc" in str(error) or "allocat" in str(error):
        raise MemoryError from None
