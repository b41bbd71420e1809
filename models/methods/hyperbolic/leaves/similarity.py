"""Similarities of points: computed from features on demand, or read from a matrix; new points.

    'cosine'     (1 + x.y) / 2 = 1 - |x - y|^2 / 4 of rows of length one
    'rbf'        exp(-gamma |x - y|^2); the default of gamma is 1 over twice the mean of |x - y|^2
                 over all pairs

Both are functions of squared distances, so near points keep their digits in float32. Everything is
computed with points in an order of their values (`canonical`), so that a tree does not depend on
the order of rows.

`DasguptaCost` chooses among trees: exact for cosines of features, by sums over subtrees
(`models.metrics.costs`), and for all similarities up to `EXACT_POINTS` points; else from a fixed
sample of pairs.

Source: Chami et al., "From Trees to Continuous Embeddings and Back" (2020) ('cosine'); Dasgupta, "A
cost function for similarity-based hierarchical clustering" (2016), which they minimise.

Cost: O(D) a pair; features are held once in float32, a matrix is read in place. A tree's cost takes
O(N D) for cosines of D features, O(N^2) for few points, else O(N log N + pairs).

A new point in a tree over points goes to the leaf of the most similar point (`place`).

The probability of a leaf is a softmax of similarities over `temperature`, where a given matrix is
first divided by its largest magnitude; that of a node is the sum over the leaves below it.

The paper does not place new points. Cost: O(n N D) by one matrix product; the `CLOSE` nearest of
each row are measured again in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard

import numpy as np

from models.arrays import Array, Float, Int, Single, row_blocks
from models.errors import UsageError
from models.inputs.checks import require_squares, require_width
from models.inputs.data import Data, require_finite
from models.inputs.frames import NARROW, Aside, Frame
from models.method import Model, Predictions
from models.methods.hyperbolic.ball.placing import BlockPaths, predictions_of
from models.metrics.costs import PASSES, SUMS, dasgupta_cost
from models.metrics.lca_order import LeafOrder, PointOrder
from models.metrics.pairs import Cosine
from models.numerics.distances import flat
from models.numerics.rows import canonical
from models.tree.tree import Tree
from models.tree.walk import paths

if TYPE_CHECKING:
    from torch import Tensor


Affinity = Literal["cosine", "rbf"]

TOO_NARROW = 2.0**-12
"""Rows within such an angle, seen from 0, have cosines that are rounding."""


APART = ((1, -1, 0), (1, 0, -1), (0, 1, -1))
"""Rows: the differences ij, ik and jk of i, j and k."""


def combined(signs: Tensor, of_three: Tensor) -> Tensor:
    """(3, B, D) the sums of each row of `signs`, (3, 3), over three rows (3, B, D): exact but for
    the rounding of the sums."""
    return (signs @ of_three.reshape(3, -1)).view_as(of_three)


CACHED = 1 << 15
"""Values of points that a processor reads at a time."""


class Similarity(Protocol):
    """The similarity of every pair of points, in canonical order.

    order : (n_points,) row of each point in the input. n_columns : how many values are read of a
    point.
    """

    order: Int
    n_columns: int

    def of(self, triples: Tensor) -> Tensor:
        """(3, B) float64 similarities of ij, ik, jk; triples (3, B)."""
        ...

    def at(self, first: Int, second: Int) -> Float:
        """(n,) similarities of the pairs `first[i]`, `second[i]`."""
        ...


class FeatureSimilarity:
    """Similarities of rows of features.

    points : (n_points, D) float32: of length one ('cosine'), about their mean where they lie in
        nearly one direction; or about their mean and divided by 2^exponent ('rbf').
    gamma : of rows as they are given.
    """

    def __init__(
        self, features: Array, affinity: Affinity, gamma: float | None, device: str = "cpu"
    ) -> None:
        """Raises UsageError naming a row of zeros, for 'cosine'."""
        import torch

        self.affinity = affinity
        self.order = canonical(features)
        self.center, self.exponent = np.zeros(features.shape[1]), 0
        if affinity == "cosine":
            self.aside = Aside.of(features)
            if self.aside.share < NARROW:
                self.center = flat(features.astype(np.float64), "cosine").mean(axis=0)
        else:
            self.exponent = Frame.of(features).exponent
            # In canonical order, so that the last digit does not depend on the order of the input.
            for block in row_blocks(len(features), features.shape[1], 1 << 20):
                self.center += features[self.order[block]].sum(axis=0, dtype=np.float64)
            self.center /= len(features)
        # In the order of the input first, since an error names the row.
        rows = rows_of(features, affinity, self.center, self.exponent)
        self.points: Single = rows[self.order]
        self.n_columns = self.points.shape[1]
        self.gamma = gamma if gamma is not None else self._default_gamma()
        self._tensor = torch.from_numpy(self.points).to(device)
        self._signs = self._tensor.new_tensor(APART)

    def _default_gamma(self) -> float:
        if self.affinity == "cosine":
            return 0.0
        spread = 0.0
        for block in row_blocks(len(self.points), self.points.shape[1], 1 << 20):
            spread += float((self.points[block].astype(np.float64) ** 2).sum())
        mean = 2 * spread / (len(self.points) - 1)
        return float(np.ldexp(1 / (2 * mean), -2 * self.exponent)) if mean > 0 else 1.0

    @property
    def _scaled_gamma(self) -> float:
        return float(np.ldexp(self.gamma, 2 * self.exponent))

    def of(self, triples: Tensor) -> Tensor:
        import torch

        # A processor is faster where what is computed stays in its cache.
        size = triples.shape[1] if triples.is_cuda else max(1, CACHED // self.n_columns)
        blocks = torch.split(triples, size, dim=1)
        squares = torch.cat([self._squares(block) for block in blocks], dim=1)
        if self.affinity == "cosine":
            return squares.mul_(-0.25).add_(1)
        return squares.mul_(-self._scaled_gamma).exp_()

    def _squares(self, triples: Tensor) -> Tensor:
        return combined(self._signs, self._tensor[triples]).square_().sum(dim=-1).double()

    def at(self, first: Int, second: Int) -> Float:
        out = np.empty(len(first))
        for block in row_blocks(len(first), self.points.shape[1], 1 << 18):
            apart = self.points[first[block]].astype(np.float64) - self.points[second[block]]
            out[block] = self.of_squares(np.einsum("nd,nd->n", apart, apart))
        return out

    def of_squares(self, squares: Float) -> Float:
        return of_squares(squares, self.affinity, self._scaled_gamma)


class MatrixSimilarity:
    """Similarities given as a square matrix, symmetric up to rounding: the mean of both halves."""

    n_columns = 1

    def __init__(self, matrix: Array, device: str = "cpu") -> None:
        self.order = canonical(matrix, square=True)
        self.matrix = matrix
        self._device = device

    def of(self, triples: Tensor) -> Tensor:
        import torch

        i, j, k = triples.cpu().numpy()
        values = self.at(np.concatenate([i, i, j]), np.concatenate([j, k, k]))
        return torch.from_numpy(values.reshape(3, -1)).to(self._device)

    def at(self, first: Int, second: Int) -> Float:
        row, column = self.order[first], self.order[second]
        upper = self.matrix[row, column].astype(np.float64)
        mean: Float = (upper + self.matrix[column, row].astype(np.float64)) / 2
        return mean


def of_squares(squares: Float, affinity: Affinity, gamma: float) -> Float:
    """The similarities for squared distances."""
    return 1 - squares / 4 if affinity == "cosine" else np.exp(-gamma * squares)


def rows_of(features: Array, affinity: Affinity, center: Float, exponent: int) -> Single:
    """(n, D) rows in the form of `FeatureSimilarity.points`.

    Raises UsageError naming a row of zeros, for 'cosine'."""
    if affinity == "cosine":
        if center.any():
            return np.asarray(flat(features.astype(np.float64), "cosine") - center, np.float32)
        return flat(features, "cosine").astype(np.float32, copy=False)
    out = np.empty(features.shape, dtype=np.float32)
    for block in row_blocks(len(features), features.shape[1], 1 << 20):
        out[block] = np.ldexp(features[block] - center, -exponent)
    return out


def facts_of(similarity: Similarity) -> Mapping[str, Any]:
    """The facts of a model that describe how similarities are computed."""
    if isinstance(similarity, FeatureSimilarity):
        facts = {"affinity": similarity.affinity, "gamma": similarity.gamma}
        return {**facts, "exponent": similarity.exponent} if similarity.exponent else facts
    return {"affinity": "given"}


EXACT_POINTS = 1_500
"""Up to this many points all pairs are summed."""

PAIRS = 1 << 18
"""The number of pairs in a sample."""


class DasguptaCost:
    """The cost of trees over the same points, always from the same pairs.

    rng : draws the pairs if there are too many. exact : whether all pairs count.
    """

    def __init__(self, similarity: Similarity, rng: np.random.Generator) -> None:
        n_points = len(similarity.order)
        self._cosine: Cosine | None = None
        self.exact = True
        if _sums_over_subtrees(similarity):
            self._cosine = Cosine(similarity.points)
            return
        if n_points <= EXACT_POINTS:
            first, second = np.triu_indices(n_points, 1)
            self._scale = 1.0
        else:
            first = rng.integers(n_points, size=PAIRS)
            second = rng.integers(n_points - 1, size=PAIRS)
            second += second >= first
            self._scale = n_points * (n_points - 1) / 2 / PAIRS
            self.exact = False
        self._first, self._second = first, second
        self._weight = similarity.at(first, second) * self._scale

    def of(self, tree: Tree) -> float:
        """The cost of a tree over the points in canonical order."""
        order = PointOrder.of(tree, LeafOrder.of(tree))
        if self._cosine is not None:
            value = dasgupta_cost(tree, self._cosine, points=order, exact_points=0).value
            assert value is not None
            return value
        place = np.empty(tree.n_points, dtype=np.int64)
        place[order.order] = np.arange(tree.n_points)
        first, second = place[self._first], place[self._second]
        ancestor = order.topmost(np.minimum(first, second), np.maximum(first, second))
        return float(self._weight @ tree.size[ancestor])

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.exact:
            return ()
        return (
            f"Trees were compared by Dasgupta's cost over a sample of {PAIRS:,} pairs; "
            "'dasgupta_cost' is an estimate.",
        )


def _sums_over_subtrees(similarity: Similarity) -> TypeGuard[FeatureSimilarity]:
    """Whether the exact cost of cosines takes few passes over the features."""
    if not isinstance(similarity, FeatureSimilarity) or similarity.affinity != "cosine":
        return False
    n_points, n_columns = similarity.points.shape
    return bool(2 * n_points * n_columns <= PASSES * SUMS // 2)


CLOSE = 8


def place(model: Model, tree: Tree, data: Data) -> Predictions:
    """The leaf and the path of each row.

    Raises UsageError for the wrong input, a wrong number of columns, values that are not finite,
    and rows of zeros if similarities are cosines.
    """
    is_matrix = model.facts["affinity"] == "given"
    role = "similarity" if is_matrix else "features"
    if role not in data:
        raise UsageError(
            f"The model was fitted on the input {role!r}; new points must be of that role too.",
            code="wrong-input",
            role=role,
        )
    values = data.dense(role)
    require_width(values, tree.n_points if is_matrix else model.arrays["points"].shape[1], role)
    require_finite(values, role)
    if not is_matrix:
        require_squares(values)
        exponent = model.facts.get("exponent", 0)
        values = rows_of(values, model.facts["affinity"], model.arrays["center"], exponent)
    order = LeafOrder.of(tree)
    # Points in order of their leaves, one each.
    by_leaf = np.argsort(order.start[tree.leaf_of_point])
    parts = []
    for block in row_blocks(len(values), tree.n_points, 1 << 21):
        if is_matrix:
            similar = values[block].astype(np.float64)
            best = similar.argmax(axis=1)
            similar /= model.facts["scale"]
        else:
            similar, best = _similarities(values[block], model.arrays["points"], model.facts)
        leaf = tree.leaf_of_point[best].astype(np.int64)
        weight = similar[:, by_leaf] / model.facts["temperature"]
        parts.append(_block_paths(tree, order, leaf, weight))
    return predictions_of(parts)


def _similarities(rows: Array, points: Array, facts: Mapping[str, Any]) -> tuple[Float, Int]:
    """(n, N) similarities, and (n,) the most similar point of each row."""
    wide = rows.astype(np.float64)
    squares = (
        np.einsum("nd,nd->n", wide, wide)[:, None]
        + np.einsum("nd,nd->n", points, points, dtype=np.float64)
        - 2.0 * (rows @ points.T)
    )
    squares = np.maximum(squares, 0.0)
    n_close = min(CLOSE, len(points))
    close = np.sort(np.argpartition(squares, n_close - 1, axis=1)[:, :n_close], axis=1)
    apart = wide[:, None, :] - points[close]
    exact = np.einsum("nkd,nkd->nk", apart, apart)
    np.put_along_axis(squares, close, exact, axis=1)
    best = np.take_along_axis(close, exact.argmin(axis=1)[:, None], axis=1)[:, 0]
    gamma = float(np.ldexp(facts["gamma"], 2 * facts.get("exponent", 0)))
    return of_squares(squares, facts["affinity"], gamma), best


def _block_paths(tree: Tree, order: LeafOrder, leaf: Int, weight: Float) -> BlockPaths:
    """The paths of some rows to their leaf, with the probability of each node on them.

    leaf : (n,) leaf of each row. weight : (n, n_leaves) logarithms of the leaves' shares up to a
        constant, leaves from left to right.
    """
    share = np.exp(weight - weight.max(axis=1, keepdims=True))
    below = np.zeros((len(leaf), tree.n_leaves + 1))
    np.cumsum(share, axis=1, out=below[:, 1:])
    below /= below[:, -1:]
    start, nodes = paths(tree, leaf)
    length = np.diff(start)
    row = np.repeat(np.arange(len(leaf)), length)
    mass = below[row, order.end[nodes]] - below[row, order.start[nodes]]
    return leaf, length, nodes, mass
