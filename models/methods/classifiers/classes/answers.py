"""From features to scores of classes, and from scores to labels, probabilities and paths.

Start at `Scorer`, which has the trained weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Mask, Matrix
from models.method import ClassAnswers, PredictionOptions, Predictions
from models.methods.classifiers.classes.coordinates import Center
from models.methods.classifiers.classes.structure import ClassTree, PathSums
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
    n_best : that many best classes are a row's labels; 0: another rule.
    thresholds : (n_classes,) the least scores of labels; None: another rule.
    at_least_one : whether a row has its best class where the rule gives none.
    """

    link: Link
    one_each: bool
    slope: float = 1.0
    cut: tuple[float, ...] = ()
    n_best: int = 0
    thresholds: Float | None = None
    at_least_one: bool = False


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
    n_rows: int,
    tree: Tree,
    node: Int,
    names: list[str],
    rule: Rule,
    options: PredictionOptions,
) -> Predictions:
    """Labels, leaves, paths and probabilities of rows.

    score_blocks : scores of the `n_rows` rows in order. node : (n_classes,) the leaf of each class.

    The leaf is that of the best class. The path leads to it, or as far as the probability of its
    nodes reaches the confidence. O(N (K + depth)) and the scores.
    """
    position = spans(tree).start[node].astype(np.int64)
    none = Scored(np.zeros((0, len(names))), np.zeros(0, dtype=np.int64))
    every = np.empty((n_rows, len(names))) if options.every else None
    blocks, filled = [], 0
    for scored in score_blocks:
        block, probability = _answered(scored, tree, node, position, rule, options)
        blocks.append(block)
        if every is not None:
            every[filled : filled + len(probability)] = probability
            filled += len(probability)
    if not blocks:
        blocks = [_answered(none, tree, node, position, rule, options)[0]]
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
            every=every,
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


def _answered(
    scored: Scored, tree: Tree, node: Int, position: Int, rule: Rule, options: PredictionOptions
) -> tuple[_Block, Float]:
    """And the probabilities of all classes."""
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
        of_row, labels = np.nonzero(_labelled(scored, probability, rule, options))
        order = np.lexsort((labels, -probability[of_row, labels], of_row))
        labels, n_labels = labels[order], np.bincount(of_row, minlength=n_rows)
    top = scored.top(min(options.top_k, n_classes))
    block = _Block(
        leaf=leaf,
        path=path,
        n_nodes=n_nodes,
        probability=along,
        labels=labels,
        n_labels=n_labels,
        top=top,
        top_score=np.take_along_axis(values, top, axis=1),
        top_probability=np.take_along_axis(probability, top, axis=1),
    )
    return block, probability


def _labelled(scored: Scored, probability: Float, rule: Rule, options: PredictionOptions) -> Mask:
    """(n_rows, n_classes) whether a class is one of the row's labels."""
    if options.threshold is not None:
        return probability >= options.threshold
    values = scored.values
    if rule.n_best:
        labelled = np.zeros(values.shape, dtype=bool)
        np.put_along_axis(labelled, scored.top(min(rule.n_best, values.shape[1])), True, axis=1)
    elif rule.thresholds is not None:
        labelled = values >= rule.thresholds
    elif rule.cut:
        labelled = values >= (cut_terms(values) @ np.array(rule.cut))[:, None]
    else:
        labelled = probability >= 0.5
    if rule.at_least_one:
        none = np.flatnonzero(~labelled.any(axis=1))
        labelled[none, scored.best[none]] = True
    return np.asarray(labelled)


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


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores rows of features in one of three ways.

    - Linear: weights (n_classes, n_columns), also compressed.
    - Top-down, where there is a `tree`: weights (n_nodes, n_columns) of its nodes. Where a row has
      one class, it goes from the root to the child of the largest score, down to a leaf; the value
      of a class is the logarithm of its probability, a product along the path of softmaxes over
      siblings. Where it may have several, it goes to all children of positive score; the value of a
      class is the smallest score on its path.
    - By draws of a posterior: weights (n_draws, n_classes, n_columns). The value of a class is the
      logarithm of its mean softmax probability.

    center : where columns are far from 0; the last column of weights is then the score there.
    """

    weights: Array | PathSums
    one_each: bool
    tree: ClassTree | None = None
    center: Center | None = None

    @classmethod
    def of_model(cls, arrays: Mapping[str, Array], one_each: bool) -> Scorer:
        """That of a model with the arrays of `arrays()`."""
        if "n_columns" in arrays:
            n_columns = int(arrays["n_columns"][0])
            return cls(PathSums.of_arrays(arrays, n_columns, "weights."), one_each)
        tree = None
        if "parent" in arrays:
            parent, leaf = np.asarray(arrays["parent"]), np.asarray(arrays["leaf"])
            tree = ClassTree(parent.astype(np.int64), leaf.astype(np.int64))
        center = None
        if "center" in arrays:
            center = Center(np.asarray(arrays["far"]), np.asarray(arrays["center"]))
        return cls(np.asarray(arrays["weights"]), one_each, tree, center)

    def arrays(self) -> Arrays:
        """The model's arrays: `weights`, for a tree `parent` by node and `leaf` by class, for a
        center `far` columns and `center`; or the arrays of `PathSums`, and `n_columns`."""
        if isinstance(self.weights, PathSums):
            n_columns = np.array([self.weights.n_columns])
            return {**self.weights.arrays("weights."), "n_columns": n_columns}
        arrays: dict[str, Array] = {"weights": self.weights}
        if self.tree is not None:
            arrays |= {"parent": self.tree.parent, "leaf": self.tree.node}
        if self.center is not None:
            arrays |= {"far": self.center.columns, "center": self.center.values}
        return arrays

    @property
    def width(self) -> int:
        """The number of values that a row takes at a time."""
        if isinstance(self.weights, PathSums):
            return self.weights.n_rows
        return int(self.weights.shape[-2])

    @property
    def dense(self) -> Array:
        """The weights, of a model whose weights are not compressed."""
        assert not isinstance(self.weights, PathSums)
        return self.weights

    def __call__(self, features: Matrix) -> Scored:
        """The scores of rows. O(N D W) for W rows of weights, or O(nnz W)."""
        if isinstance(self.weights, PathSums):
            return Scored.by_largest(self.weights.scores(features))
        if self.tree is not None:
            return _top_down(self.linear(features, self.weights), self.tree, self.one_each)
        if self.weights.ndim == 3:
            return Scored.by_largest(self._mean_over_draws(features, self.weights))
        return Scored.by_largest(self.linear(features, self.weights))

    def linear(self, features: Matrix, weights: Array) -> Float:
        """(n_rows, n_rows of weights) of a linear model."""
        if self.center is not None:
            return self.center.scores(features, weights)
        return scores(features, weights)

    def _mean_over_draws(self, features: Matrix, draws: Array) -> Float:
        total = np.zeros((features.shape[0], draws.shape[1]))
        for weights in draws:
            total += np.exp(log_softmax(self.linear(features, weights)))
        # Probabilities that underflow are ordered by class.
        return np.log(np.maximum(total / len(draws), np.finfo(np.float64).tiny))


def _top_down(values: Float, tree: ClassTree, one_each: bool) -> Scored:
    """values : (n_rows, n_nodes), the root's not read."""
    start, child = tree.children
    n_rows = values.shape[0]
    along = np.empty_like(values)
    along[:, 0] = 0.0 if one_each else np.inf
    following = np.zeros((n_rows, tree.n_nodes), dtype=np.int64)
    for node in range(tree.n_nodes):
        own = child[start[node] : start[node + 1]]
        if not own.size:
            following[:, node] = node
            continue
        following[:, node] = own[values[:, own].argmax(axis=1)]
        if one_each:
            along[:, own] = along[:, [node]] + log_softmax(values[:, own])
        else:
            along[:, own] = np.minimum(along[:, [node]], values[:, own])
    of_classes = along[:, tree.node]
    if not one_each:
        return Scored.by_largest(of_classes)
    return Scored(of_classes, _class_at(tree)[_followed(following, tree)])


def _followed(following: Int, tree: ClassTree) -> Int:
    """(n_rows,) the leaf that each row comes to, from the root on."""
    row = np.arange(following.shape[0])
    node = np.zeros(row.size, dtype=np.int64)
    for _ in range(int(tree.depth.max())):
        node = following[row, node]
    return node


def _class_at(tree: ClassTree) -> Int:
    """(n_nodes,) the class at each leaf."""
    classes = np.full(tree.n_nodes, -1, dtype=np.int64)
    classes[tree.node] = np.arange(tree.n_classes)
    return classes
