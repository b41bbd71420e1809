"""Labels of rows, where a row may have several, one or none; and labels as nodes of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.errors import UsageError, listed, shown
from models.tree.build import from_parents
from models.tree.named import SEVERAL, NamedNodes
from models.tree.tree import Tree

if TYPE_CHECKING:
    pass


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

    def taken(self, rows: Int) -> LabelSets:
        """The labels of these rows, in this order."""
        start = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(np.diff(self.start)[rows], out=start[1:])
        # The place of each label of the result among the labels of its row, and so in `code`.
        place = np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))
        code = self.code[np.repeat(self.start[rows], np.diff(start)) + place]
        return LabelSets(start, code, self.names, self.unlabelled[rows])

    def require_at_most_one(self) -> None:
        """Raises UsageError naming the first row that has several."""
        times = np.diff(self.start)
        several = np.flatnonzero(times > 1)
        if several.size:
            row = int(several[0])
            raise UsageError(
                f"Input 'labels' has {times[row]} labels at row {row} (counted from 0); at most "
                "one for each row is accepted here.",
                code="wrong-input",
                role="labels",
                row=row,
            )

    @classmethod
    def of(cls, labels: npt.NDArray[Any]) -> LabelSets:
        """The label sets of a vector with one label a row; the integer -1 is no label.

        Names are in order: integers by number, text by its characters. O(N log N).
        """
        number: Int
        if labels.dtype == object:
            # An array of texts in place of objects gives each the length of the longest.
            texts = list(map(str, labels.tolist()))
            names = sorted(set(texts))
            place_of = {name: place for place, name in enumerate(names)}
            number = np.fromiter(map(place_of.__getitem__, texts), np.int64, len(texts))
        else:
            distinct, number = np.unique(labels, return_inverse=True)
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


def label_sets(value: object, n_rows: int, names: list[str] | None) -> LabelSets:
    """The input `labels` by row; where labels are numbers and names are given, `names[label]`.

    Raises UsageError for another kind of input, another number of labels than rows, and a label
    that has no name.
    """
    if isinstance(value, LabelSets):
        labels = value
    elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iuOU":
        labels = LabelSets.of(value)
    else:
        raise UsageError(
            "Input 'labels' must have one label a row, an integer or text, or a list of labels.",
            code="wrong-input",
            role="labels",
        )
    if labels.n_rows != n_rows:
        raise UsageError(
            f"There are {labels.n_rows} labels for {n_rows} rows of features; one for each row is "
            "needed.",
            code="wrong-shape",
            role="labels",
        )
    return labels if names is None else _named(labels, names)


def _named(labels: LabelSets, names: list[str]) -> LabelSets:
    number_of = {str(number): number for number in range(len(names))}
    numbers = [number_of.get(name, -1) for name in labels.names]
    wrong = [name for name, number in zip(labels.names, numbers, strict=True) if number < 0]
    if wrong or len(set(names)) < len(names):
        what = f"label {shown(wrong[0])} is none of them" if wrong else "a name occurs twice"
        raise UsageError(
            f"Input 'names' has {len(names)} names, one for each of the labels 0, 1, ...; {what}.",
            code="wrong-input",
            role="names",
        )
    return LabelSets(
        labels.start, labels.code, [names[number] for number in numbers], labels.unlabelled
    )


def at_most_one(sets: LabelSets) -> npt.NDArray[np.object_]:
    """(n_rows,) the label of each row, None where there is none.

    Raises UsageError naming the first row that has several.
    """
    sets.require_at_most_one()
    column = np.full(sets.n_rows, None, dtype=object)
    column[np.diff(sets.start) == 1] = np.array(sets.names, dtype=object)[sets.code]
    return column


_SLASH = (
    r" In class paths a slash that belongs to a name is written '\/'; Newick and JSON trees have "
    "such names as they are."
)


def label_nodes(labels: LabelSets, hierarchy: Tree) -> Int:
    """(n_labels,) the node of each label that occurs, -1 for others.

    Raises UsageError for a label that means no node or several, with its first row.
    O(n_nodes + length of the labels).
    """
    nodes = NamedNodes(hierarchy)
    occurs = np.bincount(labels.code, minlength=len(labels.names)) > 0
    node_of_label = np.full(len(labels.names), -1, dtype=np.int64)
    for number in np.flatnonzero(occurs).tolist():
        name = labels.names[number]
        node = nodes.find(name)
        if node < 0:
            first = int(np.argmax(labels.code == number))
            row = int(np.searchsorted(labels.start, first, side="right")) - 1
            known = [str(name) for name in hierarchy.name.tolist() if name is not None]
            why = "means several nodes" if node == SEVERAL else "is no node"
            raise UsageError(
                f"Label {shown(name)} at row {row} (counted from 0) {why} of the hierarchy, whose "
                f"nodes are {listed(known)}. A label is the name of one node, or its path of names "
                f"such as 'animal/cat/lion'.{_SLASH if '/' in name else ''}",
                code="wrong-input",
                role="labels",
                row=row,
            )
        node_of_label[number] = node
    return node_of_label


def with_own_leaves(hierarchy: Tree, inner: Int) -> Tree:
    """The hierarchy without its points, with a new leaf of the same name below each inner node.

    The leaf below `inner[i]` is node `n_nodes + i`. O(n_nodes log depth).
    """
    parent = np.concatenate([hierarchy.parent, inner.astype(np.int32)])
    return from_parents(
        parent,
        np.concatenate([hierarchy.height, np.minimum(hierarchy.height[inner], 0.0)]),
        np.concatenate([hierarchy.name, hierarchy.name[inner]]),
        np.zeros(0, dtype=np.int64),
        monotone=hierarchy.monotone,
    )
