"""From features to scores of classes, as the trained weights say.

Start at `Scorer`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Matrix
from models.methods.classifiers.classes.answers import Scored, scores
from models.methods.classifiers.classes.class_tree import ClassTree, PathSums
from models.methods.classifiers.classes.coordinates import Center
from models.numerics.rows import log_softmax


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
