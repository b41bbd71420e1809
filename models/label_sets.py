"""Labels of rows where a row may have several, one or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.errors import UsageError


@dataclass(frozen=True, slots=True, eq=False)
class LabelSets:
    """The labels of each row.

    start : (n_rows + 1,) the labels of row i are `code[start[i]:start[i + 1]]`, ascending and
        distinct.
    code : (start[-1],) numbers of labels.
    names : the label that each code stands for, distinct; not each of them need occur.
    unlabelled : (n_rows,) whether a row's labels are unknown, which is not the same as no label.
        Such a row has none in `code`.
    """

    start: Int
    code: Int
    names: list[str]
    unlabelled: npt.NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        return int(self.unlabelled.shape[0])

    @property
    def shape(self) -> tuple[int]:
        return (self.n_rows,)

    def single(self, role: str = "labels") -> npt.NDArray[np.object_]:
        """(n_rows,) the label of each row.

        Raises UsageError naming the first row that has not exactly one.
        """
        times = np.diff(self.start)
        odd = np.flatnonzero(times != 1)
        if odd.size:
            row = int(odd[0])
            raise UsageError(
                f"Input {role!r} has {times[row]} labels at row {row} (counted from 0); exactly "
                "one for each row is needed here.",
                code="wrong-input",
                role=role,
                row=row,
            )
        return np.array(self.names, dtype=object)[self.code]

    @classmethod
    def of(cls, labels: npt.NDArray[Any]) -> LabelSets:
        """The label sets of a vector with one label a row; the integer -1 is no label.

        Names are in order: integers by number, text by its characters. O(N log N).
        """
        distinct, number = np.unique(labels.astype(str) if labels.dtype == object else labels,
                                     return_inverse=True)  # fmt: skip
        names = [str(name) for name in distinct.tolist()]
        unlabelled = np.zeros(labels.shape[0], dtype=bool)
        if labels.dtype.kind in "iu" and "-1" in names:
            place = names.index("-1")
            unlabelled = number == place
            number = number[~unlabelled] - (number[~unlabelled] > place)
            del names[place]
        start = np.zeros(labels.shape[0] + 1, dtype=np.int64)
        np.cumsum(~unlabelled, out=start[1:])
        return cls(start, number.astype(np.int64), names, unlabelled)
