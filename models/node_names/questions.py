"""A question for each node: whether a row of its parent lies under it, not under a sibling.

A question is a condition on rows, made of what the node is named by:

- terms: the row has one of at most `MOST_TERMS` terms of the name;
- features: the row is above, or below, a threshold in one feature of the name; of a feature with no
  values but 0 and 1, it has it or not.

It is the one with the largest difference between the share of the node's rows that meet it and the
share of its siblings' rows that do (Youden, "Index for rating diagnostic
tests", 1950); terms are added one by one while this grows. Without a difference above 0 there is no
question.

It is checked as names are (`models.node_names.routing`): each part of the rows answers questions
that were made without it. `right` is balanced, the mean of the shares of the node's rows and of its
siblings' rows that are answered rightly: .5 is the share of a draw, however many siblings there
are. The terms to choose from are of the other rows too; the features are the name's, which all rows
had a part in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.arrays import Array, Float, Int, Mask, Matrix
from models.node_names.routing import Below, TermsOf, children_above, dealt, rows_under
from models.node_names.terms import of_presence
from models.tree.cut import finest_cut, rows_at
from models.tree.tree import Tree

MOST_TERMS = 3
"""The most terms of a question."""


@dataclass(frozen=True, slots=True)
class Condition:
    """text : the question. met : from rows to whether each answers yes."""

    text: str
    met: Callable[[Int], Mask]


@dataclass(frozen=True, slots=True)
class Question:
    """right : the balanced share, from 0 to 1, of rows that are answered rightly by questions which
    they had no part in; None where rows of the node or of its siblings are missing."""

    text: str
    right: float | None


Seeker = Callable[[int, Int, Mask], Condition | None]
"""From a node, the rows under its parent, and which of them lie under the node."""

Finder = Callable[[Int], Seeker]
"""From the rows that terms may be made of."""


def questions(tree: Tree, n_clusters: int, finder: Finder) -> dict[int, Question]:
    """The questions of the nodes of the cut into `n_clusters`, and of all above it but the root;
    chosen and checked by at most `models.node_names.routing.MOST_ROWS` rows.

    Cost: `finder` for each part of the rows and for all, and its condition for each row at each
    sibling of each node above it.
    """
    cover = finest_cut(tree, n_clusters).cover
    at = cover[rows_at(tree, cover)]
    below = children_above(tree, cover)
    parts = dealt(tree)
    drawn = np.concatenate([part for _, part in parts])
    found = _sought(below, rows_under(below, drawn, at), finder(np.arange(tree.n_points)))
    made = {node: condition for node, _, condition in found}
    right = {node: np.zeros((2, 2)) for node in made}
    for others, part in parts if len(parts) > 1 else ():
        held = rows_under(below, part, at)
        known = rows_under(below, np.setdiff1d(drawn, part), at)
        for node, parent, condition in _sought(below, known, finder(others)):
            if node not in right or parent not in held:
                continue
            own = np.isin(held[parent], held.get(node, ()))
            is_right = condition.met(held[parent]) == own
            right[node] += [[is_right[own].sum(), own.sum()],
                            [is_right[~own].sum(), (~own).sum()]]  # fmt: skip
    return {node: Question(each.text, _balanced(right[node])) for node, each in made.items()}


def of_terms(
    present: Matrix, terms: Sequence[str], terms_of: TermsOf, verb: str = "mentions"
) -> Finder:
    """Whether a row has one of the terms; where values count, more of it than the column's mean.

    present : (n_points, D) as `models.node_names.terms.presence` gives it. terms : (D,).
    """
    least = 0.0 if of_presence(present) else 1.0

    def has(rows: Int, columns: Sequence[int]) -> Mask:
        own: Any = present[rows][:, list(columns)]
        values = own if isinstance(own, np.ndarray) else own.toarray()
        return np.asarray(values > least)

    def finder(known: Int) -> Seeker:
        names = terms_of(known)

        def seek(node: int, rows: Int, own: Mask) -> Condition | None:
            columns = [column for column, _ in names.get(node, ())]
            chosen = [columns[each] for each in _together(has(rows, columns), own)]
            if not chosen:
                return None
            text = f"{verb} {' or '.join(terms[column] for column in chosen)}?"
            return Condition(text, lambda given: np.asarray(has(given, chosen).any(axis=1)))

        return seek

    return finder


def of_features(
    features: Matrix, names: Sequence[str], differ: Mapping[int, Sequence[tuple[int, float]]]
) -> Finder:
    """Whether a row lies beyond a threshold in one of the node's features.

    features : (n_points, D). names : (D,). differ : the columns of each node, as
    `models.node_names.differences.distinctive_features` gives them.
    """

    def value(rows: Int, column: int) -> Float:
        own: Any = features[rows][:, [column]]
        return np.asarray(own if isinstance(own, np.ndarray) else own.toarray(), float)[:, 0]

    def seek(node: int, rows: Int, own: Mask) -> Condition | None:
        best: tuple[float, Condition] | None = None
        for column, effect in differ.get(node, ()):
            values = value(rows, column)
            difference, threshold = _threshold(values if effect > 0 else -values, own)
            if difference > 0 and (best is None or difference > best[0]):
                is_yes_no = bool(((values == 0) | (values == 1)).all())
                best = difference, _beyond(column, effect > 0, threshold, is_yes_no)
        return None if best is None else best[1]

    def _beyond(column: int, above: bool, threshold: float, is_yes_no: bool) -> Condition:
        limit = threshold if above else -threshold
        text = f"{names[column]} {'over' if above else 'under'} {_written(limit)}?"
        if is_yes_no:
            text = f"{names[column]}?" if above else f"not {names[column]}?"
        if above:
            return Condition(text, lambda given: value(given, column) > limit)
        return Condition(text, lambda given: value(given, column) < limit)

    return lambda known: seek


def _sought(
    below: Below, under: Mapping[int, Int], seek: Seeker
) -> Iterator[tuple[int, int, Condition]]:
    """(node, its parent, the condition) of each node that has one, by the rows under nodes."""
    for parent, children in below.items():
        sizes = [under[child].size if child in under else 0 for child in children]
        if sum(size > 0 for size in sizes) < 2:
            continue
        place = np.repeat(np.arange(len(children)), sizes)
        for number, child in enumerate(children):
            if not sizes[number]:
                continue
            condition = seek(child, under[parent], place == number)
            if condition is not None:
                yield child, parent, condition


def _together(has: Mask, own: Mask) -> list[int]:
    """The columns, at most `MOST_TERMS`, of which the node's rows have one more often than the
    others do; added one by one, of equals the first.

    has : (n_rows, n_columns).
    """
    chosen: list[int] = []
    most, met = 0.0, np.zeros(own.size, dtype=bool)
    while len(chosen) < MOST_TERMS and has.shape[1]:
        either = has | met[:, None]
        difference = np.round(either[own].mean(axis=0) - either[~own].mean(axis=0), 12)
        column = int(np.argmax(difference))
        if difference[column] <= most:
            break
        chosen.append(column)
        most, met = float(difference[column]), either[:, column]
    return chosen


def _threshold(values: Float, own: Mask) -> tuple[float, float]:
    """(difference of the shares above, the threshold): the middle between two values, of equals
    the highest."""
    order = np.argsort(-values, kind="stable")
    falling, inside = values[order], own[order]
    of_own = np.cumsum(inside) / max(int(own.sum()), 1)
    of_rest = np.cumsum(~inside) / max(int((~own).sum()), 1)
    difference = np.round((of_own - of_rest)[:-1], 12)
    difference[falling[:-1] == falling[1:]] = 0.0
    if not difference.size:
        return 0.0, 0.0
    place = int(np.argmax(difference))
    return float(difference[place]), _between(falling[place + 1], falling[place])


def _between(low: float, high: float) -> float:
    """A number from low, less than high, with as few digits as possible near their middle."""
    middle = low / 2 + high / 2
    for digits in range(1, 7):
        short = float(f"{middle:.{digits}g}")
        if low <= short < high:
            return short
    return float(low)


def _written(number: float) -> str:
    short = f"{number:.6g}"
    return short if float(short) == number else repr(number)


def _balanced(right: Array) -> float | None:
    """right : (2, 2), of the node's rows and of the others, those answered rightly and all."""
    if not right[:, 1].all():
        return None
    return float((right[:, 0] / right[:, 1]).mean())
