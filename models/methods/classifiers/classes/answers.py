"""From the scores of classes to labels, probabilities and paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Array, Float, Int, Mask, Matrix
from models.method import ClassAnswers, PredictionOptions, Predictions
from models.numerics.rows import log_softmax
from models.tree.tree import Tree
from models.tree.walk import paths, spans

Link: TypeAlias = Literal["softmax", "logistic"]
"""How scores become probabilities: over all classes at once, or of each class against the rest."""

BLOCK = 1 << 21
"""Scores that are computed at a time (16 MiB)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How scores become answers.

    one_each : whether a row has exactly one class.
    slope : scores are multiplied by it before the link.
    cut : where a row may have several labels, coefficients of `cut_terms`, whose sum is the least
        score of its labels; empty for a probability of one half.
    """

    link: Link
    one_each: bool
    slope: float = 1.0
    cut: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of rows.

    values : (n_rows, n_classes). best : (n_rows,) the class of each row, if it has one; that of the
        largest value, but for classifiers that decide from the root down.
    """

    values: Float
    best: Int

    @classmethod
    def by_largest(cls, values: Float) -> Scored:
        return cls(values, values.argmax(axis=1))

    def top(self, n_best: int) -> Int:
        """(n_rows, n_best) the best class, then the columns of the largest values; ties by column.

        The best is first even if its value is not the largest.
        """
        values = self.values
        if n_best and (self.best != values.argmax(axis=1)).any():
            values = values.copy()
            values[np.arange(self.best.size), self.best] = np.inf
        return best_scores(values, n_best)


N_CUT_SCORES = 10


def cut_terms(values: Float) -> Float:
    """(n_rows, 1 + n_best) the constant 1 and the best scores of each row, the best first."""
    best = best_scores(values, min(values.shape[1], N_CUT_SCORES))
    return np.column_stack([np.ones(values.shape[0]), np.take_along_axis(values, best, axis=1)])


def scores(features: Matrix, weights: Array) -> Float:
    """(n_rows, n_classes) of a linear model.

    weights : (n_classes, n_features) or, with the intercept last, (n_classes, n_features + 1).

    O(N D K), for sparse rows O(nnz K).
    """
    n_features = features.shape[1]
    values = np.asarray(features @ weights[:, :n_features].T.astype(np.float64))
    if weights.shape[1] > n_features:
        values = values + weights[:, n_features].astype(np.float64)
    return values


def probabilities(scores: Float, link: Link, one_each: bool) -> Float:
    """(n_rows, n_classes) of each class; they sum to 1 where a row has one class.

    Logistic ones are then shares of their sum.
    """
    if link == "softmax":
        return np.exp(log_softmax(scores))
    log_odds = -np.logaddexp(0.0, -scores)
    return np.exp(log_softmax(log_odds)) if one_each else np.exp(log_odds)


def answers(
    score_blocks: Iterable[Scored],
    tree: Tree,
    node: Int,
    names: list[str],
    rule: Rule,
    options: PredictionOptions,
) -> Predictions:
    """Labels, leaves, paths and probabilities of rows.

    score_blocks : scores of the rows in order. node : (n_classes,) the leaf of each class.

    The leaf is that of the best class. The path leads to it, or as far as the probability of its
    nodes reaches the confidence. O(N (K + depth)) and the scores.
    """
    position = spans(tree).start[node].astype(np.int64)
    none = Scored(np.zeros((0, len(names))), np.zeros(0, dtype=np.int64))
    blocks = [
        _answered(scored, tree, node, position, rule, options) for scored in score_blocks
    ] or [_answered(none, tree, node, position, rule, options)]
    return Predictions(
        leaf=np.concatenate([block.leaf for block in blocks]),
        start=_starts([block.n_nodes for block in blocks]),
        node=np.concatenate([block.path for block in blocks]),
        probability=np.concatenate([block.probability for block in blocks]),
        classes=ClassAnswers(
            name=names,
            node=node,
            start=_starts([block.n_labels for block in blocks]),
            code=np.concatenate([block.labels for block in blocks]),
            top=np.concatenate([block.top for block in blocks]),
            score=np.concatenate([block.top_score for block in blocks]),
            probability=np.concatenate([block.top_probability for block in blocks]),
            one_each=rule.one_each,
            every=np.concatenate([block.every for block in blocks]) if options.every else None,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Block:
    leaf: Int
    path: Int
    n_nodes: Int
    probability: Float
    labels: Int
    n_labels: Int
    top: Int
    top_score: Float
    top_probability: Float
    every: Float


def _answered(
    scored: Scored, tree: Tree, node: Int, position: Int, rule: Rule, options: PredictionOptions
) -> _Block:
    values, best = scored.values, scored.best
    n_rows, n_classes = values.shape
    probability = probabilities(rule.slope * values, rule.link, rule.one_each)
    leaf = node[best]
    start, path = paths(tree, leaf)
    row = np.repeat(np.arange(n_rows), np.diff(start))
    placed = np.zeros((n_rows, tree.n_leaves))
    placed[:, position] = probability
    along = _under(tree, placed, row, path, rule.one_each)
    along[start[:-1]] = 1.0
    if options.confidence is not None:
        # Probabilities never rise along a path, so what reaches the confidence is its beginning.
        reached = (along >= options.confidence) | (path == 0)
        row, path, along = row[reached], path[reached], along[reached]
    n_nodes = np.bincount(row, minlength=n_rows)
    if options.threshold is None and rule.one_each:
        labels, n_labels = best, np.ones(n_rows, dtype=np.int64)
    else:
        of_row, labels = np.nonzero(_labelled(values, probability, rule, options))
        order = np.lexsort((labels, -probability[of_row, labels], of_row))
        labels, n_labels = labels[order], np.bincount(of_row, minlength=n_rows)
    top = scored.top(min(options.top_k, n_classes))
    return _Block(
        leaf=leaf,
        path=path,
        n_nodes=n_nodes,
        probability=along,
        labels=labels,
        n_labels=n_labels,
        top=top,
        top_score=np.take_along_axis(values, top, axis=1),
        top_probability=np.take_along_axis(probability, top, axis=1),
        every=probability if options.every else probability[:, :0],
    )


def _labelled(values: Float, probability: Float, rule: Rule, options: PredictionOptions) -> Mask:
    """(n_rows, n_classes) whether a class is one of the row's labels."""
    if options.threshold is not None:
        return probability >= options.threshold
    if rule.cut:
        least = cut_terms(values) @ np.array(rule.cut)
        return np.asarray(values >= least[:, None])
    return probability >= 0.5


def best_scores(values: Float, n_best: int) -> Int:
    """(n_rows, n_best) the columns of the largest values, the largest first; ties by column."""
    if n_best == 0:
        return np.zeros((values.shape[0], 0), dtype=np.int64)
    if 4 * n_best < values.shape[1]:
        some = np.sort(np.argpartition(-values, n_best - 1, axis=1)[:, :n_best], axis=1)
        order = np.argsort(-np.take_along_axis(values, some, axis=1), axis=1, kind="stable")
        return np.take_along_axis(some, order, axis=1)
    return np.argsort(-values, axis=1, kind="stable")[:, :n_best]


def _under(tree: Tree, placed: Float, row: Int, node: Int, one_each: bool) -> Float:
    """The probability of each (row, node) pair along paths, root first.

    It is the sum over the leaves under the node, or the largest where a row may have several
    classes, and never rises along a path.

    placed : (n_rows, n_leaves) probabilities of leaves from left to right.
    """
    ranges = spans(tree)
    first = ranges.start[node].astype(np.int64)
    stop = first + ranges.count[node]
    n_leaves = placed.shape[1]
    if not one_each:
        ends = np.stack([row * n_leaves + first, row * n_leaves + stop], axis=1).ravel()
        # One value more, so that a range may end where the last row does.
        return np.asarray(np.maximum.reduceat(np.append(placed.ravel(), 0.0), ends)[::2])
    total = np.zeros((placed.shape[0], n_leaves + 1))
    np.cumsum(placed, axis=1, out=total[:, 1:])
    # Sums never fall along the leaves, so these differences never rise along a path.
    return np.asarray(np.minimum(total[row, stop] - total[row, first], 1.0))


def _starts(counts: list[Int]) -> Int:
    """The running sum of counts, from 0."""
    return np.concatenate([[0], np.cumsum(np.concatenate(counts))])
