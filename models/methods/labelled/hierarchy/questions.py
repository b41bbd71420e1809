"""The questions whose answers would improve a completed tree most, and what it is unsure of.

"Under which node does X hang?" offers the likeliest places and 'none of these'. With places of
probability p_1 >= p_2 >= ... it is right with p_1 now. After the answer it is right with
p_1 + ... + p_4, or, where none of these is right, in its likeliest other place, p_5: the expected
gain is p_2 + ... + p_5 nodes more in the right place, by the probabilities that are served. A node
that was found may be none: its gain counts by the share of found ones that are not to be expected
by chance. A class that the user gave is one.

There is no question whether two new nodes are one: a logit learned from halves of known leaves held
35 pairs for one with .9 or more, and none was. A person may still answer it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import numpy.typing as npt

from models.errors import listed
from models.methods.labelled.hierarchy.completion import CompletedTree
from models.methods.labelled.hierarchy.hanging import Hung

MOST = 5
CHOICES = 4
LEAST_GAIN = 0.05


@dataclass(frozen=True, slots=True)
class Question:
    """node : the new node, by its place. gain : expected nodes more in the right place.
    answers : by choice the entries of `answers` that say so."""

    node: int
    text: str
    gain: float
    why: str
    answers: dict[str, list[str]]


def questions(hung: Sequence[Hung], names: Sequence[str], by_chance: float = 0.0) -> list[Question]:
    """At most `MOST`, the best first. names : of the new nodes. by_chance : found ones that are to
    be expected where there are none."""
    n_found = sum(own.name is None for own in hung)
    real = 1.0 - min(by_chance / max(n_found, 1), 1.0)
    found = [
        _of_place(place, own, names[place], 1.0 if own.name is not None else real)
        for place, own in enumerate(hung)
        if own.chance.size > 1
    ]
    useful = [own for own in found if own.gain >= LEAST_GAIN]
    return sorted(useful, key=lambda own: (-own.gain, own.node))[:MOST]


def _of_place(place: int, own: Hung, name: str, real: float) -> Question:
    labels = own.label[:CHOICES]
    answers = {label: [f"{own.row} under {label}"] for label in labels}
    if len(own.label) > CHOICES:
        refused = [f"{own.row} not under {label}" for label in labels]
        answers.setdefault("none of these", refused)
    chances = ", ".join(
        f"{label} {chance:.2f}" for label, chance in zip(labels, own.chance, strict=False)
    )
    return Question(
        place,
        f"Under which node does {name!r} hang ({own.rows.size} rows, such as row {own.row})?",
        real * float(own.chance[1 : CHOICES + 1].sum()),
        f"Probabilities: {chances}.",
        answers,
    )


def _rounded_down(chance: float) -> float:
    """Four digits, so that no chance is shown larger than it is and they sum to at most 1."""
    return floor(chance * 1e4) / 1e4


def uncertain(hung: Sequence[Hung]) -> list[int]:
    """New nodes whose place is no likelier than one half."""
    return [place for place, own in enumerate(hung) if own.chance.size and own.chance[0] <= 0.5]


def beside_nodes(
    done: CompletedTree,
) -> tuple[dict[str, npt.NDArray[np.object_]], list[str]]:
    """Columns of the completed tree's nodes, None where they have no value, and warnings.

    row : that stands for a new node, for `answers`. place_probability : of its place. places : the
    likeliest ones and their probabilities. question : with its rank, gain and answers.
    """
    nodes = list(done.hung)
    hung = [done.hung[node] for node in nodes]
    names = [str(done.name[node]) for node in nodes]
    row, chance, places, open_question = (
        np.full(done.n_nodes, None, dtype=object) for _ in range(4)
    )
    for node, own in zip(nodes, hung, strict=True):
        row[node] = own.row
        if own.chance.size:
            chance[node] = _rounded_down(float(own.chance[0]))
            best = zip(own.label[:CHOICES], own.chance.tolist(), strict=False)
            places[node] = {label: _rounded_down(share) for label, share in best}
    found = questions(hung, names, done.by_chance)
    for rank, question in enumerate(found, 1):
        node = nodes[question.node]
        open_question[node] = {
            "rank": rank,
            "text": question.text,
            "gain": round(question.gain, 4),
            "why": question.why,
            "answers": question.answers,
        }
    warnings = []
    unsure = [names[place] for place in uncertain(hung)]
    if unsure:
        warnings.append(
            f"The places of {len(unsure)} of {len(hung)} new node(s) are no likelier than one "
            f"half: {listed(unsure)}."
        )
    if done.not_kept_to:
        found_names = listed([str(done.name[node]) for node in done.not_kept_to])
        warnings.append(
            f"{len(done.not_kept_to)} new node(s) do not hang as answered, since no place is left "
            f"there: {found_names}."
        )
    if done.placing is not None and not done.placing.n_examples:
        warnings.append(
            "The known tree has too few nodes to learn from where new ones hang, so that they hang "
            "by the nearest means, and probabilities of places are no estimates."
        )
    warnings += [
        f"Question {rank}: {question.text} {question.why} In 'answers': "
        + "; ".join(f"{choice}: {entries}" for choice, entries in question.answers.items())
        + "."
        for rank, question in enumerate(found, 1)
    ]
    columns = {"row": row, "place_probability": chance, "places": places, "question": open_question}
    return columns, warnings
