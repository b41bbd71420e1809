"""True classes of the points, numbered from 0: the input of every metric with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import UsageError
from models.inputs.label_sets import LabelSets


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of n_points points.

    code : (n_points,) int64, the class of each point, 0 .. n_classes - 1.
    name : the class that each code stands for, in sorted order; one entry per class that occurs.
    """

    code: npt.NDArray[np.int64]
    name: list[int] | list[str]

    @property
    def n_classes(self) -> int:
        return len(self.name)


def classes_of(labels: npt.NDArray[Any] | Sequence[Any] | LabelSets, n_points: int) -> Classes:
    """Number the classes. Every distinct label is a class, including -1 and the empty string.

    labels : (n_points,) integers (or bool), or strings; label sets only with one label a row.

    Raises
    ------
    UsageError : `wrong-length` for another number of labels than points, `wrong-input` for labels
        that are neither all integers nor all strings, and for a row with several or none.

    O(N log N) for integers, O(N + C log C) for strings.
    """
    if isinstance(labels, LabelSets):
        labels = labels.single()
    if not isinstance(labels, np.ndarray):
        labels = np.array(labels, dtype=object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise _wrong(f"have the shape {labels.shape}")
    if labels.shape[0] != n_points:
        raise UsageError(
            f"There are {labels.shape[0]} labels for the {n_points} points of the tree; one label "
            "per point is needed, in the order of the input rows.",
            code="wrong-length",
            role="labels",
            labels=int(labels.shape[0]),
            n_points=n_points,
        )
    if labels.dtype.kind in "biu":
        return _from_integers(labels)
    if labels.dtype.kind == "U":
        return _from_strings(labels.tolist())
    if labels.dtype.kind != "O":
        raise _wrong(f"are of type {labels.dtype}")
    values = labels.tolist()
    kinds = set(map(type, values))
    if all(issubclass(kind, str) for kind in kinds):
        return _from_strings(values)
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        try:
            return _from_integers(np.array(values, dtype=np.int64))
        except OverflowError:
            raise _wrong("hold an integer past 64 bits") from None
    raise _wrong("mix types (" + ", ".join(sorted(kind.__name__ for kind in kinds)) + ")")


def _from_integers(values: npt.NDArray[Any]) -> Classes:
    name, code = np.unique(values, return_inverse=True)
    return Classes(code.astype(np.int64, copy=False), [int(item) for item in name])


def _from_strings(values: list[str]) -> Classes:
    names = sorted(set(values))
    number = {name: code for code, name in enumerate(names)}
    code = np.fromiter((number[value] for value in values), dtype=np.int64, count=len(values))
    return Classes(code, names)


def _wrong(how: str) -> UsageError:
    return UsageError(
        f"The labels {how}; a vector of integers or of strings is needed, one per point.",
        code="wrong-input",
        role="labels",
    )
