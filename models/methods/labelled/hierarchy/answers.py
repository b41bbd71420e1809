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
class Answers:
    """By new node, where it hangs and where it does not; pairs of new nodes that are one.

    Nodes are labels of candidates.
    """

    under: dict[int, str] = field(default_factory=dict)
    not_under: dict[int, set[str]] = field(default_factory=dict)
    same: list[tuple[int, int]] = field(default_factory=list)


def read_answers(texts: Sequence[str], node_of_row: dict[int, int], labels: set[str]) -> Answers:
    """The answers, of which each names a row that a question shows.

    node_of_row : the new node that each such row stands for. labels : of nodes that new ones may
    hang under.

    Raises UsageError for a sentence of another form, a row that stands for no new node, a node that
    is none, and answers that contradict each other.
    """
    answers = Answers()
    for place, text in enumerate(texts):
        match = _FORM.fullmatch(text)
        if match is None:
            raise _refused(place, text, f"has none of the forms {FORMS}")
        node = _node(match[1], node_of_row, place, text)
        if match[2].endswith("under"):
            if match[3] not in labels:
                raise _refused(
                    place,
                    text,
                    f"names no node that a new one may hang under: {listed(sorted(labels))}",
                )
            if match[2] == "under":
                if answers.under.setdefault(node, match[3]) != match[3]:
                    raise _refused(place, text, "contradicts an earlier one of the same node")
            else:
                answers.not_under.setdefault(node, set()).add(match[3])
            if answers.under.get(node) in answers.not_under.get(node, set()):
                raise _refused(place, text, "contradicts an earlier one of the same node")
            continue
        other = _node(match[3], node_of_row, place, text)
        answers.same.append((node, other))
    return answers


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
