"""A person's answers to the questions of an earlier fit: where new nodes hang, which are the same.

A new node is meant by a row that it holds, as questions show it: its name may change with answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from models.errors import UsageError, listed, shown

_FORM = re.compile(r"\s*(\d{1,12}) (not under|under|same as) (.*\S)\s*", re.DOTALL)

FORMS = "'ROW under NODE', 'ROW not under NODE', 'ROW same as ROW'"


@dataclass(frozen=True, slots=True)
class Places:
    """What answers may speak of.

    node_of_row : the new node that each shown row stands for. labels : of known nodes that new
    leaves and new inner nodes may hang under. inner : new nodes with others below them. labels_new
    : of these. within : new inner nodes that are in another one, and hang where it does.
    """

    node_of_row: dict[int, int] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    inner: frozenset[int] = frozenset()
    labels_new: frozenset[str] = frozenset()
    within: frozenset[int] = frozenset()

    def of(self, node: int) -> frozenset[str]:
        """Labels that a new node may hang under."""
        return self.labels if node in self.inner else self.labels | self.labels_new


@dataclass(frozen=True, slots=True)
class Answers:
    """By new node, where it hangs and where it does not; pairs of new leaves that are one.

    Nodes are labels of candidates. What was answered of a leaf that is one with an earlier one is
    at that one.
    """

    under: dict[int, str] = field(default_factory=dict)
    not_under: dict[int, set[str]] = field(default_factory=dict)
    same: list[tuple[int, int]] = field(default_factory=list)
    stands_for: dict[int, int] = field(default_factory=dict)

    def end(self, node: int) -> int:
        """The node that it is one with."""
        while node in self.stands_for:
            node = self.stands_for[node]
        return node

    def contradicts(self, node: int, labels: frozenset[str]) -> bool:
        """Whether no place of those labelled so is left for it."""
        refused = self.not_under.get(node, set())
        return self.under.get(node) in refused or labels <= refused


def read_answers(texts: Sequence[str], places: Places) -> Answers:
    """The answers, of which each names a row that a question shows.

    Raises UsageError for a sentence of another form, a row that stands for no new node, a node that
    is none or that holds others where a leaf is needed, and answers that contradict each other or
    leave no place.
    """
    answers = Answers()
    for place, text in enumerate(texts):
        match = _FORM.fullmatch(text)
        if match is None:
            raise _refused(place, text, f"has none of the forms {FORMS}")
        node = answers.end(_node(match[1], places.node_of_row, place, text))
        if match[2] == "same as":
            other = answers.end(_node(match[3], places.node_of_row, place, text))
            _unite(answers, node, other, places, place, text)
        else:
            _hang(answers, node, match[2] == "under", match[3], places, place, text)
        if answers.contradicts(node, places.of(node)):
            raise _refused(place, text, _CONTRADICTS)
    return answers


_CONTRADICTS = "contradicts earlier ones of the same node, or refuses its last place"


def _hang(
    answers: Answers, node: int, is_under: bool, label: str, places: Places, place: int, text: str
) -> None:
    if node in places.within:
        raise _refused(place, text, "is of a node within another new one: it hangs where that does")
    if label not in places.of(node):
        known = listed(sorted(places.of(node)))
        what = "this new node, which holds others," if node in places.inner else "a new one"
        raise _refused(place, text, f"names no node that {what} may hang under: {known}")
    if not is_under:
        answers.not_under.setdefault(node, set()).add(label)
    elif answers.under.setdefault(node, label) != label:
        raise _refused(place, text, _CONTRADICTS)


def _unite(answers: Answers, node: int, other: int, places: Places, place: int, text: str) -> None:
    if node in places.inner or other in places.inner:
        raise _refused(place, text, "joins a node that holds others: only new leaves can be one")
    if node == other:
        return
    answers.same.append((node, other))
    answers.stands_for[other] = node
    wanted = answers.under.pop(other, None)
    if wanted is not None and answers.under.setdefault(node, wanted) != wanted:
        raise _refused(place, text, _CONTRADICTS)
    refused = answers.not_under.pop(other, set())
    if refused:
        answers.not_under.setdefault(node, set()).update(refused)


def _node(row: str, node_of_row: dict[int, int], place: int, text: str) -> int:
    node = node_of_row.get(int(row)) if re.fullmatch(r"\d{1,12}", row) else None
    if node is None:
        rows = listed([str(some) for some in sorted(node_of_row)])
        raise _refused(
            place,
            text,
            f"names row {shown(row)}, which stands for no new node of this fit; the rows that do "
            f"are {rows or 'none'}. Other data, parameters or seeds give other new nodes",
        )
    return node


def _refused(place: int, text: str, why: str) -> UsageError:
    return UsageError(
        f"Entry {place} (counted from 0) of 'answers', {shown(text)}, {why}.",
        code="wrong-parameter",
        parameter="answers",
    )
