"""libsvm (SVMlight): one row a line, `label index:value index:value ...`, `#` begins a comment.

As a matrix the file gives the sparse features, as a column the labels. Indices count from 1 as in
libsvm, unless some index is 0; they ascend within a row.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.errors import UsageError
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.refusals import broken, shown
from workers.formats.tables import Table, Want

_BLOCK = 16 << 20
_MAX_INDEX = 2**31 - 1
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PAIR = re.compile(r"(\d{1,19}):(\S+)", re.ASCII)
LINE = re.compile(r"[+-]?[\d.]\S*([ \t]+qid:\d+)?([ \t]+\d+:[+-]?[\d.]\S*)+[ \t]*(#.*)?", re.ASCII)
"""The pattern of an ordinary line, by which an undeclared file is recognised."""


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the features; the file is read whole."""
    features, _ = _parsed(path, bounds)
    _require_features(features)
    return Facts(features.shape, "float64", sparse=True)


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The features as `csr_array` of float64, or the labels as a column of float64."""
    features, labels = _parsed(path, bounds)
    if want == "column":
        return labels
    _require_features(features)
    return features


def _require_features(features: sp.csr_array) -> None:
    if features.nnz == 0:
        raise UsageError("The libsvm file has no index:value pair.", code="empty")


def _parsed(path: Path, bounds: Bounds) -> tuple[sp.csr_array, npt.NDArray[Any]]:
    from sklearn.datasets import load_svmlight_file

    _check_sizes(path, bounds)
    try:
        features, labels = load_svmlight_file(str(path), dtype=np.float64, zero_based="auto")
    except (ValueError, OverflowError, IndexError, TypeError):
        _explain(path)
    if features.shape[0] == 0:
        raise UsageError("The libsvm file has no rows.", code="empty")
    finite = np.isfinite(features.data).all() and np.isfinite(labels).all()
    if not finite or features.shape[1] > _MAX_INDEX:
        _explain(path)
    bounds.require(8 * sum(features.shape))
    return sp.csr_array(features), labels


def _check_sizes(path: Path, bounds: Bounds) -> None:
    """Bound rows and values by counting marks before anything is parsed."""
    pairs = lines = 0
    with path.open("rb") as file:
        while part := file.read(_BLOCK):
            if b"\0" in part:
                raise broken("The libsvm file is not text.")
            pairs += part.count(b":")
            lines += part.count(b"\n")
    if path.stat().st_size == 0:
        raise UsageError("The libsvm file is empty.", code="empty")
    bounds.require(16 * pairs + 16 * lines)


def _explain(path: Path) -> NoReturn:
    """Raise UsageError naming the first line that is wrong."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line, raw in enumerate(file, start=1):
            words = raw.partition("#")[0].split()
            if words:
                _require_line(words, line)
    raise broken("The libsvm file cannot be read.")


def _require_line(words: list[str], line: int) -> None:
    label, *rest = words
    if "," in label:
        raise _wrong(f"has several labels, {shown(label, 40)}; one is accepted", line)
    _require_number(label, "label", line)
    last = -1
    for position, word in enumerate(rest):
        if position == 0 and word.startswith("qid:"):
            continue
        pair = _PAIR.fullmatch(word)
        if not pair:
            raise _wrong(f"has {shown(word, 40)} where index:value is expected", line)
        index = int(pair[1])
        if index > _MAX_INDEX:
            raise _wrong(f"has the index {index}; at most {_MAX_INDEX} is accepted", line)
        if index <= last:
            raise _wrong(f"has index {index} after {last}; indices must ascend", line)
        last = index
        _require_number(pair[2], "value", line)


def _require_number(word: str, what: str, line: int) -> None:
    if not _NUMBER.fullmatch(word):
        raise _wrong(f"has the {what} {shown(word, 40)}, which is not a finite number", line)
    if not np.isfinite(float(word)):
        raise _wrong(f"has the {what} {shown(word, 40)}, which is too large", line)


def _wrong(what: str, line: int) -> UsageError:
    return UsageError(f"Line {line} of the libsvm file {what}.", code="invalid-file", line=line)
