"""libsvm (SVMlight): one row a line, `label index:value index:value ...`, `#` begins a comment.

As a matrix the file gives the sparse features, as a column the labels. A row may have several
labels, `3,7 1:0.5`, or none: its line begins with a pair. Indices count from 1 as in libsvm, unless
some index is 0 (`0:0` says so as well); they ascend within a row. The number of features is that of
the largest index, or `Bounds.n_features` where it is declared.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from models.errors import UsageError, shown
from models.roles import Want
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.refusals import broken
from workers.formats.tables import LabelRows, Table

_BLOCK = 16 << 20
_MAX_INDEX = 2**31 - 1
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PAIR = re.compile(r"(\d{1,19}):(\S+)", re.ASCII)
LINE = re.compile(
    r"([+-]?[\d.][^\s:]*+)?([ \t]+qid:\d+)?([ \t]+\d+:[+-]?[\d.]\S*)+[ \t]*(#.*)?", re.ASCII
)
"""The pattern of an ordinary line, by which an undeclared file is recognised."""


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Facts of the features; the file is read whole."""
    features, _ = _parsed(path, bounds)
    _require_features(features)
    return Facts(features.shape, "float64", sparse=True)


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The features as `csr_array` of float64, or the labels as float64."""
    features, labels = _parsed(path, bounds)
    if want in ("labels", "paths"):
        return labels
    if want == "column":
        return labels.one_each()
    _require_features(features)
    return features


def _require_features(features: sp.csr_array) -> None:
    if features.nnz == 0:
        raise UsageError("The libsvm file has no index:value pair.", code="empty")


def _parsed(path: Path, bounds: Bounds) -> tuple[sp.csr_array, LabelRows]:
    from sklearn.datasets import load_svmlight_file

    _check_sizes(path, bounds)
    try:
        rows, several = load_svmlight_file(
            str(path), dtype=np.float64, zero_based=True, multilabel=True
        )
    except (ValueError, OverflowError, IndexError, TypeError):
        _explain(path)
    n_rows, width = rows.shape
    if n_rows == 0:
        raise UsageError("The libsvm file has no rows.", code="empty")
    times = np.fromiter(map(len, several), dtype=np.int64, count=n_rows)
    labels = np.fromiter(chain.from_iterable(several), dtype=np.float64, count=int(times.sum()))
    if not (np.isfinite(rows.data).all() and np.isfinite(labels).all()) or width > _MAX_INDEX:
        _explain(path)
    first = 1 if rows.nnz and rows.indices.min() > 0 else 0
    n_features = max(0, width - first) if bounds.n_features is None else bounds.n_features
    if rows.nnz and width - first > n_features:
        _explain(path, first, n_features)
    bounds.require(8 * (n_rows + n_features))
    features = sp.csr_array((rows.data, rows.indices - first, rows.indptr), (n_rows, n_features))
    rows = LabelRows.of(times, labels, np.zeros(n_rows, dtype=bool))
    return features, replace(rows, are_sets=True)


def _check_sizes(path: Path, bounds: Bounds) -> None:
    """Bound rows and values by counting marks before anything is parsed."""
    pairs = lines = commas = 0
    with path.open("rb") as file:
        while part := file.read(_BLOCK):
            if b"\0" in part:
                raise broken("The libsvm file is not text.")
            pairs += part.count(b":")
            lines += part.count(b"\n")
            commas += part.count(b",")
    if path.stat().st_size == 0:
        raise UsageError("The libsvm file is empty.", code="empty")
    # The parser gives the labels of a row as a tuple of objects.
    bounds.require(16 * pairs + 96 * lines + 32 * commas)


def _explain(path: Path, first: int = 0, n_features: int | None = None) -> NoReturn:
    """Raise UsageError naming the first line that is wrong.

    first : the index of the first feature. n_features : the declared number of them.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        for line, raw in enumerate(file, start=1):
            words = raw.partition("#")[0].split()
            if words:
                _require_line(words, line, None if n_features is None else first + n_features - 1)
    raise broken("The libsvm file cannot be read.")


def _require_line(words: list[str], line: int, last_declared: int | None) -> None:
    rest = words
    if ":" not in words[0]:
        rest = words[1:]
        for label in words[0].split(","):
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
        if last_declared is not None and index > last_declared:
            raise _wrong(
                f"has the index {index}; the last declared feature has the index {last_declared} "
                "(n_features)",
                line,
            )
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
