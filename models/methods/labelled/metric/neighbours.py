"""Large margins: each row nearer to its target neighbours than to rows of other clusters.

Target neighbours of a row i are its nearest rows j of the same cluster before anything is learned.
With squared distances d under A the loss is, for each pair of a row and a target neighbour,

    (1 - mu) d(i, j) + mu sum over rows l of other clusters of h(1 + d(i, j) - d(i, l)),

averaged over these pairs. A row l that counts is an impostor. h(z) is max(z, 0), rounded off where
it has its kink: z^2 / (2 s) for z between 0 and s = `SMOOTH`, z - s / 2 above. The loss is thus
convex with a continuous gradient, and at most mu s / 2 below the printed one for each impostor.

Source: Weinberger and Saul, "Distance Metric Learning for Large Margin Nearest Neighbor
Classification" (2009), eq. 11 to 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, row_blocks

SMOOTH = 0.1
REACH = 0.2
"""Impostors are sought for all metrics within this share of the one they are sought at."""

BLOCK = 1 << 20
NO_TARGET = -1
NOWHERE = -1e300
"""The margin of a target that is not there; no row is nearer."""


def target_neighbours(points: Array, code: Int, n_neighbors: int) -> Int:
    """(N, k) the nearest rows of the same cluster, in no order; `NO_TARGET` where it has fewer.

    k : `n_neighbors`, or one less than the rows of the largest cluster. O(D sum of squared sizes).
    """
    sizes = np.bincount(code)
    targets = np.full((code.size, min(n_neighbors, int(sizes.max()) - 1)), NO_TARGET)
    for cluster in np.flatnonzero(sizes > 1):
        own = np.flatnonzero(code == cluster)
        rows = points[own]
        squares = np.einsum("nd,nd->n", rows, rows)
        n_nearest = min(n_neighbors, own.size - 1)
        for block in row_blocks(own.size, own.size, BLOCK):
            away = squares - 2.0 * (rows[block] @ rows.T)
            away[np.arange(away.shape[0]), np.arange(own.size)[block]] = np.inf
            nearest = np.argpartition(away, n_nearest - 1, axis=1)[:, :n_nearest]
            targets[own[block], :n_nearest] = own[nearest]
    return targets


class LargeMargin:
    """points : (N, D). code : (N,) the cluster of each. targets : (N, k), see `target_neighbours`;
    at least one is there. mu : the weight of impostors against targets.

    A value costs O(P (D + k)) for P pairs of a row and one of another cluster that can be an
    impostor under metrics near the last ones, and O(N^2 D) where the metric has left their
    neighbourhood, so that the pairs are sought anew; no impostor is missed. Memory: about 60 P
    bytes, P at most N^2.
    """

    def __init__(self, points: Array, code: Int, targets: Int, mu: float) -> None:
        self._points = points.astype(np.float64)
        self._code = code
        self._mu = mu
        self._row, self._place = np.nonzero(targets != NO_TARGET)
        self._target = targets[self._row, self._place]
        self._n_targets = targets.shape[1]
        self._active: ActivePairs | None = None

    def of_matrix(self, matrix: Float) -> tuple[float, Float]:
        """The loss of A and its symmetric (D, D) gradient."""
        image = self._points @ matrix
        to_target = self._distances(image, self._row, self._target)
        margin = self._margins(to_target)
        row, other = self._impostors(matrix)
        away = self._distances(image, row, other)
        near = away < margin.max(axis=1)[row]
        row, other, away = row[near], other[near], away[near]
        pushed, slope_of_target, slope_of_impostor = _hinges(margin, row, away)
        weight = np.concatenate(
            [
                1.0 - self._mu + self._mu * slope_of_target[self._row, self._place],
                -self._mu * slope_of_impostor,
            ]
        )
        gradient = self._scatter(
            np.concatenate([self._row, row]), np.concatenate([self._target, other]), weight
        )
        value = (1.0 - self._mu) * float(to_target.sum()) + self._mu * pushed
        return value / self._row.size, gradient / self._row.size

    def _margins(self, to_target: Float) -> Float:
        """(N, k) 1 + d(i, j)."""
        margin = np.full((self._code.size, self._n_targets), NOWHERE)
        margin[self._row, self._place] = 1.0 + to_target
        return margin

    def _impostors(self, matrix: Float) -> tuple[Int, Int]:
        """Pairs of a row and one of another cluster, those that count under A among them."""
        if self._active is None or not self._active.holds(matrix):
            lower, upper, scale = bounds(matrix)
            to_target = self._distances(self._points @ upper, self._row, self._target)
            pairs = self._nearer(lower, self._margins(to_target).max(axis=1))
            self._active = ActivePairs(matrix, scale, *pairs)
        return self._active.row, self._active.other

    def _nearer(self, metric: Float, margin: Float) -> tuple[Int, Int]:
        """The pairs of rows i, l of different clusters with d(i, l) below the margin of i."""
        image = self._points @ metric
        squares = np.einsum("nd,nd->n", image, self._points)
        pairs = []
        for block in row_blocks(self._code.size, self._code.size, BLOCK):
            away = squares[block, None] + squares - 2.0 * (image[block] @ self._points.T)
            near = away < margin[block, None]
            near &= self._code[block, None] != self._code
            row, other = np.nonzero(near)
            pairs.append((row + block.start, other))
        rows, others = zip(*pairs, strict=True)
        return np.concatenate(rows), np.concatenate(others)

    def _distances(self, image: Float, row: Int, other: Int) -> Float:
        """Squared distances of pairs, from (N, D) the rows times the metric."""
        squares: Float = np.einsum("nd,nd->n", image, self._points)
        away: Float = squares[row] + squares[other]
        for block in row_blocks(row.size, image.shape[1], BLOCK):
            product = np.einsum("pd,pd->p", image[row[block]], self._points[other[block]])
            away[block] -= 2.0 * product
        return away

    def _scatter(self, row: Int, other: Int, weight: Float) -> Float:
        """(D, D) the sum of weight (x - y)(x - y)' over pairs."""
        n_rows = self._code.size
        weights = sp.csr_array((weight, (row, other)), shape=(n_rows, n_rows))
        degree = np.bincount(row, weight, n_rows) + np.bincount(other, weight, n_rows)
        cross = np.asarray(self._points.T @ (weights @ self._points))
        total = np.asarray(self._points.T @ (degree[:, None] * self._points))
        return np.asarray(total - cross - cross.T)


def _hinges(margin: Float, row: Int, away: Float) -> tuple[float, Float, Float]:
    """The sum of h over (target, impostor) of one row, and its slopes summed for each.

    margin : (N, k). row : (P,) ascending. away : (P,).
    """
    of_target, of_impostor, total = np.zeros_like(margin), np.empty_like(away), 0.0
    for block in row_blocks(row.size, margin.shape[1]):
        short = margin[row[block]] - away[block, None]
        slope = np.clip(short / SMOOTH, 0.0, 1.0)
        short -= 0.5 * SMOOTH * slope
        total += float(np.einsum("pk,pk->", slope, short))
        of_impostor[block] = slope.sum(axis=1)
        first = np.flatnonzero(np.diff(row[block], prepend=-1))
        of_target[row[block][first]] += np.add.reduceat(slope, first, axis=0)
    return total, of_target, of_impostor


@dataclass(frozen=True, slots=True)
class ActivePairs:
    """Pairs of which the second row can be an impostor of the first, under metrics near one.

    center : that metric. scale : (D, D) maps differences from it to shares, see `descent.hold`.
    row, other : (P,) rows in ascending order.
    """

    center: Float
    scale: Float
    row: Int
    other: Int

    def holds(self, metric: Float) -> bool:
        """Whether the metric is near enough: between the two `bounds` of the center, in the order
        of semidefinite matrices. O(D^3)."""
        share = self.scale @ (metric - self.center) @ self.scale.T
        return bool(np.abs(np.linalg.eigvalsh(share)).max() <= REACH)


def bounds(metric: Float) -> tuple[Float, Float, Float]:
    """A - `REACH` B, A + `REACH` B, and R with R B R' = I, where B is A plus a hundredth of its
    mean eigenvalue in all directions.

    A squared distance under a metric between the first two lies between those under the two.
    """
    eigenvalues, vectors = np.linalg.eigh(metric)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    eigenvalues += max(0.01 * float(eigenvalues.mean()), 1e-12)
    width = REACH * (vectors * eigenvalues) @ vectors.T
    return metric - width, metric + width, (vectors / np.sqrt(eigenvalues)).T
