"""Why classes are called out of place: how alike classes are, and what they are taken for.

Likeness by the tree is minus the logarithm of the number of classes under the lowest node that
holds both. By a classifier's scores: rows are of the class with the highest score, scores are
centred over the classes, and two classes are as alike as the cosine of their mean scores once
variances within classes are 1 in all directions (`models.numerics.rows`). Both have the mean
0 and the variance 1 over pairs; where there are scores, the likeness is that of the scores and half
that of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from models.answers.beside_tree import ClassScores
from models.answers.confusions import Confusions
from models.arrays import Float, Int, Mask, row_blocks
from models.numerics.rows import whitened
from models.placements.placements import Fits, Groups, Shared, groups
from models.running.progress import Progress
from models.tree.tree import Tree

_TREE_SHARE = 0.5
_ROWS = 65_536
"""The most rows that give the covariance within classes, evenly spaced."""
_VALUES = 1 << 22


Blocks: TypeAlias = Iterator[tuple[Int, Float, Int]]


@dataclass(frozen=True, slots=True)
class ClassMeans:
    """The centred scores of the rows of each class, over the classes that are compared.

    column : (n,) the column of each class in the scores, -1 for none. n_rows : (n,) rows of each.
    mean : (n, n). within : (n, n) covariance within classes.
    """

    column: Int
    n_rows: Int
    mean: Float
    within: Float


def by_tree(tree: Tree, leaf: Int) -> Float:
    """(n, n) likeness of the classes at these leaves of a tree. O(n_nodes + n^2 depth)."""
    found = groups(tree, leaf)
    smallest = np.full((len(leaf), len(leaf)), float(len(leaf)))
    size = found.size
    for group in range(len(size)):
        inside = np.flatnonzero(found.member[group])
        smallest[np.ix_(inside, inside)] = size[group]
    return _standard(-np.log(smallest))


def by_scores(means: ClassMeans) -> Float:
    """(n, n) likeness of classes; 0, the average, for a class without rows. O(n^3)."""
    used = np.flatnonzero(means.n_rows > 0)
    likeness = np.zeros(means.mean.shape)
    if len(used) > 2:
        inside = np.ix_(used, used)
        likeness[inside] = _standard(whitened(means.mean[inside], means.within[inside]))
    return likeness


def likeness(tree: Tree, leaf: Int, means: ClassMeans | None) -> Float:
    """(n, n) how alike the classes are, symmetric."""
    shape = by_tree(tree, leaf)
    return shape if means is None else by_scores(means) + _TREE_SHARE * shape


def _standard(values: Float) -> Float:
    """With mean 0 and variance 1 over the pairs of different classes; 0 where all are equal."""
    apart = values[~np.eye(len(values), dtype=bool)]
    spread = float(apart.std())
    centred = values - apart.mean()
    return np.asarray(centred / spread if spread > 1e-12 else 0.0 * centred)


def class_means(scores: ClassScores, leaf: Int, progress: Progress) -> ClassMeans:
    """The means and the covariance of the scores of the classes at these leaves.

    Two reads of the scores: O(n_rows n) and, for the covariance, O(min(n_rows, 65,536) n^2).
    """
    node = {each: column for column, each in enumerate(scores.node.tolist())}
    column = np.array([node.get(each, -1) for each in leaf.tolist()], dtype=np.int64)
    n = len(leaf)
    n_rows, total = np.zeros(n, dtype=np.int64), np.zeros((n, n))
    for _, values, own in centred_rows(scores, column):
        np.add.at(total, own, values)
        n_rows += np.bincount(own, minlength=n)
    mean = total / np.maximum(n_rows, 1)[:, None]
    progress(0.5, "how classes vary")
    within, counted = np.zeros((n, n)), 0
    step = -(-scores.n_rows // _ROWS)
    for row, values, own in centred_rows(scores, column):
        kept = row % step == 0
        apart = values[kept] - mean[own[kept]]
        within += apart.T @ apart
        counted += int(kept.sum())
    return ClassMeans(column, n_rows, mean, within / max(counted - int((n_rows > 0).sum()), 1))


def centred_rows(scores: ClassScores, column: Int) -> Blocks:
    """Blocks of (numbers of rows, (b, n) centred scores, (b,) class of each row), of the rows whose
    best class is compared; a tie goes to the first."""
    known: Mask = column >= 0
    place = np.full(scores.n_classes, -1, dtype=np.int64)
    place[column[known]] = np.flatnonzero(known)
    for block in row_blocks(scores.n_rows, max(scores.n_classes, 1), _VALUES):
        values = np.asarray(scores.read(block.start, block.stop), dtype=np.float64)
        own = place[values.argmax(axis=1)]
        rows = np.flatnonzero(own >= 0)
        shown = np.zeros((len(rows), len(column)))
        chosen = values[np.ix_(rows, column[known])]
        shown[:, known] = chosen - chosen.mean(axis=1, keepdims=True)
        yield rows + block.start, shown, own[rows]


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
