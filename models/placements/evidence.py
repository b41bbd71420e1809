"""Why classes are called out of place: what they are like, taken for, and which rows show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.answers.beside_tree import ClassScores
from models.answers.confusions import Confusions
from models.arrays import Float, Int
from models.placements.groups import Groups, Shared
from models.placements.likeness import centred_rows
from models.placements.placements import Fits

MOST = 3
"""Classes and rows that are shown for each class."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """By class, at most `MOST` each.

    alike : the classes it is most like, best first. taken_for : classes that it is taken for, and
    the share of its rows or of their probability. examples : rows of the class whose scores lean
    most towards its best place and away from its own.
    """

    alike: list[list[int]]
    taken_for: list[list[tuple[int, float]]]
    examples: list[list[int]]


def most_alike(likeness: Float) -> list[list[int]]:
    """By class, the most like it first. O(n^2 log n)."""
    others = np.where(np.eye(len(likeness), dtype=bool), np.inf, -likeness)
    order = np.argsort(others, axis=1, kind="stable")[:, : min(MOST, len(likeness) - 1)]
    return [list(map(int, row)) for row in order]


def confused(shared: Shared, confusions: Confusions | None) -> list[list[tuple[int, float]]]:
    """By class, what it is taken for most. O(n_pairs)."""
    found: list[list[tuple[int, float]]] = [[] for _ in shared.name]
    if confusions is None:
        return found
    place = {leaf: number for number, leaf in enumerate(shared.leaf.tolist())}
    pairs = zip(
        confusions.leaf.tolist(),
        confusions.taken_for.tolist(),
        confusions.mass.tolist(),
        strict=True,
    )
    for leaf, other, mass in pairs:
        own, instead = place.get(leaf), place.get(other)
        if own is not None and instead is not None and len(found[own]) < MOST:
            total = float(confusions.total[leaf])
            found[own].append((instead, mass / total if total else 0.0))
    return found


def leaning_rows(scores: ClassScores, column: Int, groups: Groups, fits: Fits) -> list[list[int]]:
    """By class, the rows of it with the largest difference between the mean score of the classes of
    its best place and of the other classes where it hangs; none for a class that is not judged. One
    read of the scores."""
    n = len(column)
    lean = np.zeros((n, n))
    for own in np.flatnonzero(fits.best >= 0).tolist():
        there = groups.member[fits.best[own]].astype(np.float64)
        here = groups.member[groups.own[own]].astype(np.float64)
        here[own] = 0.0
        lean[own] = there / there.sum() - here / max(here.sum(), 1.0)
    blocks = [
        (row, own, np.einsum("rc,rc->r", values, lean[own]))
        for row, values, own in centred_rows(scores, column)
    ]
    found: list[list[int]] = [[] for _ in range(n)]
    if not blocks:
        return found
    row, owner, leaning = (np.concatenate(part) for part in zip(*blocks, strict=True))
    for at in np.lexsort((row, -leaning, owner)).tolist():
        number = int(owner[at])
        if fits.best[number] >= 0 and len(found[number]) < MOST:
            found[number].append(int(row[at]))
    return found
