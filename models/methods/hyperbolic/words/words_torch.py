"""Words learned together with a tree over them: points of the ball with a GloVe loss.

A word is a point of the Poincaré ball, and that point is its GloVe vector; contexts and biases are
not in the ball. Triples are a word, one of its nearest words by angle about the mean (searched
again every `REFRESHED` rounds), and any other. Eq. 21 adds to the tree's loss the mean of f (w.c +
b + a - log X)^2 over a batch of pairs. Words move by Riemannian Adam; contexts and biases by Adam
with one length per row, contexts with steps as long relative to them as the words' steps are in the
ball.

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §5 and §6.1.

Cost: O(V D + B D) a step for V words and batches of B triples and pairs; neighbours as in
`models.graphs.neighbours`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from models.arrays import Array, Arrays, Float, Int, Int32
from models.graphs.neighbours import nearest
from models.inputs.checks import distinct
from models.methods.hyperbolic.ball.decoding import PoolTreeCost
from models.methods.hyperbolic.ball.descent import Descent, prefixed, unprefixed
from models.methods.hyperbolic.ball.points import Pool
from models.methods.hyperbolic.ball.triples import draw_triples
from models.methods.hyperbolic.words.pairs import WordPairs
from models.methods.hyperbolic.words.vectors import WordVectors
from models.running.progress import Progress, silent

if TYPE_CHECKING:
    from torch import Tensor


REFRESHED = 10
"""The number of rounds for which neighbours are used."""

MOST_PAIRS = 1 << 16
"""The number of pairs in a step; less if a round of `ROUND` steps then still covers all pairs."""

ROUND = 100

_FIRST, _SECOND, _LEAST = 0.9, 0.999, 1e-8


class LearnedWords:
    """Words as a `TripleSource`: learned together with the nodes, also by GloVe's loss.

    points, contexts : (V, D). bias, context_bias : (V, 1). kept : the four tensors at the time of
        the best nodes. near : (V, k) the neighbours of each word. first : a word of each place.
    """

    def __init__(
        self,
        pairs: WordPairs,
        vectors: WordVectors,
        *,
        n_neighbors: int,
        batch_size: int,
        weight: float,
        learning_rate: float,
        max_norm: float,
        device: str,
        seed: int,
        threads: int,
    ) -> None:
        def tensor(values: Float) -> Tensor:
            return torch.from_numpy(values.astype(np.float32)).to(device)

        self.points, self.contexts = tensor(vectors.words), tensor(vectors.contexts)
        self.bias = tensor(vectors.bias[:, None])
        self.context_bias = tensor(vectors.context_bias[:, None])
        self.learned: Sequence[Tensor] = (
            self.points,
            self.contexts,
            self.bias,
            self.context_bias,
        )
        for learned in self.learned:
            learned.requires_grad_()
        self.kept = [learned.detach().clone() for learned in self.learned]
        length = float(self.contexts.detach().square().sum(dim=1).mean().sqrt()) or 1.0
        self._movers: list[Descent | _RowAdam] = [
            Descent(self.points, "adam", learning_rate, max_norm),
            _RowAdam(self.contexts, learning_rate * length),
            _RowAdam(self.bias, learning_rate),
            _RowAdam(self.context_bias, learning_rate),
        ]
        self._row, self._column = (
            torch.from_numpy(side).to(device) for side in (pairs.row, pairs.column)
        )
        self._log_count, self._weight = tensor(pairs.log_count), tensor(weight * pairs.weight)
        self._n_pairs = min(MOST_PAIRS, max(batch_size, -(-pairs.n_pairs // ROUND)))
        self._batch_size, self._n_neighbors = batch_size, n_neighbors
        self._seed, self._threads = seed, threads
        self._rng = np.random.default_rng(seed)
        self.near, self.first = self._neighbours(silent)
        self._n_refreshed = 0

    def pool(self) -> Pool:
        """The current words, with their neighbours."""
        return Pool(self.points.detach(), self.near, self.first)

    def begin_round(self, number: int, progress: Progress) -> None:
        if number // REFRESHED != self._n_refreshed:
            self.near, self.first = self._neighbours(progress)
            self._n_refreshed = number // REFRESHED
        self._rng = np.random.default_rng([self._seed, 1, number])

    def draw(self) -> Tensor:
        numbers = draw_triples(self.near, self._batch_size, self._rng)
        return self.points[torch.from_numpy(numbers).to(self.points.device)]

    def own_loss(self) -> Tensor | None:
        drawn = self._rng.integers(len(self._row), size=self._n_pairs)
        at = torch.from_numpy(drawn).to(self._row.device)
        row, column = self._row[at].long(), self._column[at].long()
        product = (self.points[row] * self.contexts[column]).sum(dim=1)
        expected = product + self.bias[row, 0] + self.context_bias[column, 0]
        residual = expected - self._log_count[at]
        return (self._weight[at] * residual * residual).mean()

    def learn(self, gradients: Sequence[Tensor]) -> None:
        for mover, gradient in zip(self._movers, gradients, strict=True):
            mover.step(gradient)

    def keep(self) -> None:
        for kept, learned in zip(self.kept, self.learned, strict=True):
            kept.copy_(learned.detach())

    def vectors(self) -> WordVectors:
        """The vectors that belong to the best nodes."""
        words, contexts, bias, context_bias = (kept.double().cpu().numpy() for kept in self.kept)
        return WordVectors(words, contexts, bias[:, 0], context_bias[:, 0])

    def arrays(self) -> Arrays:
        arrays: dict[str, Array] = {"near": self.near, "first": self.first}
        arrays["sought"] = np.array(self._n_refreshed)
        for number, mover in enumerate(self._movers):
            arrays[f"{number}.now"] = self.learned[number].detach().cpu().numpy()
            arrays[f"{number}.kept"] = self.kept[number].cpu().numpy()
            arrays |= prefixed(mover.arrays(), f"{number}.")
        return arrays

    def restore(self, arrays: Arrays) -> None:
        self.near, self.first = arrays["near"].copy(), arrays["first"].copy()
        self._n_refreshed = int(arrays["sought"])
        for number, mover in enumerate(self._movers):
            with torch.no_grad():
                self.learned[number].copy_(torch.from_numpy(arrays[f"{number}.now"].copy()))
                self.kept[number].copy_(torch.from_numpy(arrays[f"{number}.kept"].copy()))
            mover.restore(unprefixed(arrays, f"{number}."))

    def _neighbours(self, progress: Progress) -> tuple[Int32, Int]:
        """(V, k) nearest words by angle about the mean, and the first word at each place."""
        points = self.points.detach().double().cpu().numpy()
        points -= points.mean(axis=0)
        length = np.sqrt(np.einsum("vd,vd->v", points, points))[:, None]
        points = (points / np.where(length > 0, length, 1.0)).astype(np.float32)
        first, place = distinct(points)
        n_near = min(self._n_neighbors, len(first) - 1)
        if not n_near:
            return np.empty((len(points), 0), dtype=np.int32), first
        neighbours = nearest(points[first], n_near, "euclidean", self._threads, progress)
        return first[neighbours.index].astype(np.int32)[place], first


class WordTreeCost:
    """The cost of trees over the current words, with the initial neighbours."""

    def __init__(self, words: LearnedWords, seed: int) -> None:
        self._words, self._seed = words, seed
        self._near, self._first = words.near, words.first
        self.n_pairs = self._now().n_pairs

    def of(self, nodes: Tensor) -> float:
        return self._now().of(nodes)

    def _now(self) -> PoolTreeCost:
        pool = Pool(self._words.points.detach(), self._near, self._first)
        return PoolTreeCost(pool, np.random.default_rng(self._seed))


class _RowAdam:
    """Adam on rows (n, D), in place, with one mean of squares per row."""

    def __init__(self, rows: Tensor, learning_rate: float) -> None:
        self._rows, self._learning_rate, self._n_steps = rows, learning_rate, 0
        self._first = torch.zeros_like(rows)
        self._second = rows.new_zeros((len(rows), 1))

    def step(self, gradient: Tensor) -> None:
        with torch.no_grad():
            self._n_steps += 1
            self._first.lerp_(gradient, 1 - _FIRST)
            self._second.lerp_(gradient.square().sum(dim=1, keepdim=True), 1 - _SECOND)
            root = (self._second / (1 - _SECOND**self._n_steps)).sqrt_().add_(_LEAST)
            slope = self._first / (1 - _FIRST**self._n_steps) / root
            self._rows.sub_(slope, alpha=self._learning_rate)

    def arrays(self) -> Arrays:
        return {
            "first": self._first.cpu().numpy(),
            "second": self._second.cpu().numpy(),
            "n_steps": np.array(self._n_steps),
        }

    def restore(self, arrays: Arrays) -> None:
        self._first.copy_(torch.from_numpy(arrays["first"].copy()))
        self._second.copy_(torch.from_numpy(arrays["second"].copy()))
        self._n_steps = int(arrays["n_steps"])
