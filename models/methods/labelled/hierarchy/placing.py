"""Where a cluster hangs in a tree: a choice among its inner nodes, learned from the tree itself.

A fifth of the known nodes is hidden, `N_DRAWS` times, as new ones are hidden from the user. What
tells the right parent of each hidden node from the other inner nodes that are left is learned as a
multinomial logit (McFadden 1974) with a ridge, chosen among `RIDGES` by its
likelihood of nodes that it was not learned from: P(u | c) is proportional to exp(w . f(c, u)). The
features f of a cluster c, which has as many levels as it has nodes above its leaves, and a node u:

- in each space, the cosine of the cluster's mean with u's, and with the nearest of u's children: a
  node's mean is the mean over its leaves of the means of their rows;
- whether a child of u has as many levels as c, and the share of its children that have;
- with texts: how much more often a word of u's name occurs in the cluster's rows than in all rows.

Spaces are the rows' columns and, with texts, tf-idf weights of their words. A leaf for the rows
that stop at its parent is never hidden, and counts for no level. Source: the self-supervision is
that of taxonomy expansion (Shen et al., TaxoExpan, 2020), with features of few weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Mask
from models.tree import parents
from models.tree.build import levels_below
from models.tree.walk import ranks

HIDDEN = 1 / 5
N_DRAWS = 20
RIDGES = (0.03, 0.3, 3.0)
FEWEST_EXAMPLES = 10
"""Hidden nodes to learn from, below which the weights are `PRIOR`."""

PRIOR = (6.0, 2.0)
"""Weights of the first space's cosines where too little is known to learn any."""

MOST_OF_DRAW, MOST_CANDIDATES = 1_000_000, 4_000_000
"""Candidates of all hidden nodes of a draw, and of all draws: of larger trees fewer are taken."""

LARGEST = 0.25
"""Share of the leaves above which a node is not hidden."""


@dataclass(frozen=True, eq=False)
class Family:
    """A tree as placing sees it: nodes, parents before children; node 0 is the root.

    parent : (n,) int64. mean : in each space (n, d) of leaves; rows of inner nodes are not read.
    is_own : (n,) nodes that count for no level of their parent: leaves for the rows that stop
        there, which are not hidden either, and new nodes.
    words : of each node the columns of `rates` that are words of its name. rates : (n, n_words) of
        leaves, the share of its rows that have each word, less the share of all rows.
    """

    parent: Int
    mean: list[Float]
    is_own: Mask
    words: list[Int]
    rates: Float

    @property
    def n_nodes(self) -> int:
        return int(self.parent.size)

    @cached_property
    def is_leaf(self) -> Mask:
        return np.asarray(np.bincount(self.parent[1:], minlength=self.n_nodes) == 0)

    @cached_property
    def levels(self) -> Int:
        """(n,) the most edges from a node down to a leaf."""
        return levels_below(self.parent.astype(np.int32)).astype(np.int64)

    @cached_property
    def _ranks(self) -> tuple[Int, Int]:
        return ranks(self.parent.astype(np.int32))

    def above_sum(self, values: Float) -> Float:
        """Values of leaves summed over each node, (n,) or (n, d)."""
        return parents.under(self.parent.astype(np.int32), values, _gathered)

    def below(self, node: int) -> Mask:
        """(n,) the node and all below it."""
        rank, weight = self._ranks
        return np.asarray((rank >= rank[node]) & (rank < rank[node] + weight[node]))


def _gathered(into: Float, at: Int, values: Float) -> None:
    """As `np.add.at`, of rows."""
    shape = (into.shape[0], at.size)
    into += sp.csc_array((np.ones(at.size), at, np.arange(at.size + 1)), shape=shape) @ values


@dataclass(frozen=True, eq=False)
class Cluster:
    """What is to be placed. mean : (d,) in each space. rates : (n_words,). levels : below it."""

    mean: list[Float]
    rates: Float
    levels: int

    @classmethod
    def of(cls, family: Family, node: int) -> Cluster:
        """A node of the tree."""
        leaves = family.below(node) & family.is_leaf
        means = [space[leaves].mean(axis=0) for space in family.mean]
        return cls(means, family.rates[leaves].mean(axis=0), int(family.levels[node]))


def candidates(family: Family, live: Mask) -> Int:
    """Inner nodes with a leaf that is live."""
    has = family.above_sum((live & family.is_leaf).astype(np.float64)) > 0
    return np.flatnonzero(has & ~family.is_leaf)


def features(family: Family, live: Mask, clusters: Sequence[Cluster]) -> tuple[Int, Float]:
    """The candidates, and (n_clusters, n_candidates, n_features).

    live : (n,) nodes that are there. O(nodes x clusters x columns).
    """
    leaf = live & family.is_leaf
    count = family.above_sum(leaf.astype(np.float64))
    there = count > 0
    nodes = np.flatnonzero(there & ~family.is_leaf)
    child = np.flatnonzero(there[1:]) + 1
    above = family.parent[child]
    columns: list[Float] = []
    for place, space in enumerate(family.mean):
        means = (
            family.above_sum(np.where(leaf[:, None], space, 0.0)) / np.maximum(count, 1)[:, None]
        )
        own = np.array([cluster.mean[place] for cluster in clusters])
        cosine = _unit(own) @ _unit(means).T
        nearest = np.full(cosine.T.shape, -1.0)
        np.maximum.at(nearest, above, cosine.T[child])
        columns += [cosine[:, nodes], nearest.T[:, nodes]]
    shown = child[~family.is_own[child]]
    levels = family.levels
    n_same = np.zeros((family.n_nodes, len(clusters)))
    of_level = levels[shown][:, None] == np.array([cluster.levels for cluster in clusters])
    np.add.at(n_same, family.parent[shown], of_level.astype(np.float64))
    n_children = np.bincount(family.parent[shown], minlength=family.n_nodes)
    same = n_same.T / np.maximum(n_children, 1)
    columns += [(same[:, nodes] > 0).astype(np.float64), same[:, nodes]]
    if family.rates.shape[1]:
        rates = np.array([cluster.rates for cluster in clusters])
        columns.append(
            np.stack(
                [
                    rates[:, family.words[node]].max(axis=1)
                    if family.words[node].size
                    else np.zeros(len(clusters))
                    for node in nodes.tolist()
                ],
                axis=1,
            )
        )
    return nodes, np.stack(columns, axis=2)


def _unit(rows: Float) -> Float:
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(length, np.finfo(np.float64).tiny))


@dataclass(frozen=True, slots=True)
class Placing:
    """The weights of a choice. n_examples : it was learned from; 0 where it was not.

    center, scale, weight : (n_features,).
    """

    center: Float
    scale: Float
    weight: Float
    n_examples: int

    def probability(self, values: Float) -> Float:
        """(..., n_candidates) of features (..., n_candidates, n_features)."""
        score = (values - self.center) / self.scale @ self.weight
        chance = np.exp(score - score.max(axis=-1, keepdims=True))
        return np.asarray(chance / chance.sum(axis=-1, keepdims=True))


def learned(family: Family, rng: np.random.Generator) -> Placing:
    """The weights under which hidden nodes of the tree hang where they are known to.

    O(draws x hidden nodes x nodes x columns), of draws until `MOST_CANDIDATES`.
    """
    examples: list[tuple[Float, int]] = []
    of_node: list[int] = []
    n_seen = 0
    for _ in range(N_DRAWS):
        if n_seen >= MOST_CANDIDATES:
            break
        hidden, live = _hidden(family, rng)
        if not hidden:
            continue
        hidden = hidden[:: 1 + len(hidden) * candidates(family, live).size // MOST_OF_DRAW]
        clusters = [Cluster.of(family, node) for node in hidden]
        nodes, values = features(family, live, clusters)
        n_seen += values.shape[0] * values.shape[1]
        right = np.searchsorted(nodes, family.parent[hidden])
        if nodes.size > 1:
            examples += list(zip(values, right.tolist(), strict=True))
            of_node += hidden
    if len(examples) < FEWEST_EXAMPLES:
        n_features = 2 * len(family.mean) + 2 + (family.rates.shape[1] > 0)
        weight = np.zeros(n_features)
        weight[: len(PRIOR)] = PRIOR
        return Placing(np.zeros(n_features), np.ones(n_features), weight, 0)
    # Which of two halves each hidden node is in.
    hidden_nodes, at = np.unique(of_node, return_inverse=True)
    half = (rng.permutation(hidden_nodes.size) % 2)[at]
    loss = [
        sum(
            _loss(
                fitted([examples[own] for own in np.flatnonzero(half != side)], ridge),
                [examples[own] for own in np.flatnonzero(half == side)],
            )
            for side in (0, 1)
        )
        if hidden_nodes.size > 1
        else -ridge
        for ridge in RIDGES
    ]
    return fitted(examples, RIDGES[int(np.argmin(loss))])


def _loss(placing: Placing, examples: Sequence[tuple[Float, int]]) -> float:
    """Minus the log likelihood."""
    tiny = np.finfo(np.float64).tiny
    chances = (placing.probability(values)[place] for values, place in examples)
    return -sum(float(np.log(max(chance, tiny))) for chance in chances)


def fitted(examples: Sequence[tuple[Float, int]], ridge: float) -> Placing:
    """The logit that minimises minus the log likelihood of the right candidates, plus `ridge` times
    the squares of the weights of standardized features.

    examples : (n_candidates, n_features) and the place of the right candidate.
    """
    from scipy.optimize import minimize

    every = np.concatenate([values for values, _ in examples])
    center, spread = every.mean(axis=0), every.std(axis=0)
    scale = np.where(spread > 1e-9, spread, 1.0)
    rows = (every - center) / scale
    start = np.cumsum([0, *(values.shape[0] for values, _ in examples)])
    right = start[:-1] + np.array([place for _, place in examples])
    begin, times = start[:-1], np.diff(start)

    def loss(weight: Float) -> tuple[float, Float]:
        score = rows @ weight
        score -= np.repeat(np.maximum.reduceat(score, begin), times)
        chance = np.exp(score)
        total = np.add.reduceat(chance, begin)
        chance /= np.repeat(total, times)
        value = float(np.log(total).sum() - score[right].sum() + ridge * weight @ weight)
        slope = rows.T @ chance - rows[right].sum(axis=0) + 2.0 * ridge * weight
        return value, slope

    found = minimize(loss, np.zeros(every.shape[1]), jac=True, method="L-BFGS-B")
    return Placing(center, scale, np.asarray(found.x, dtype=np.float64), len(examples))


def _hidden(family: Family, rng: np.random.Generator) -> tuple[list[int], Mask]:
    """Nodes hidden at random, each with all below it, and (n,) what is left.

    Inner nodes first, then leaves; a parent keeps two children.
    """
    n_leaves = family.above_sum(family.is_leaf.astype(np.float64))
    n_children = np.bincount(family.parent[1:], minlength=family.n_nodes)
    live = np.ones(family.n_nodes, dtype=bool)
    holds_hidden = np.zeros(family.n_nodes, dtype=bool)
    hidden: list[int] = []
    for kind in (~family.is_leaf, family.is_leaf & ~family.is_own):
        some = np.flatnonzero(kind[1:]) + 1
        left = max(1, round(HIDDEN * some.size))
        for node in rng.permutation(some).tolist():
            above = int(family.parent[node])
            fits = n_children[above] > 2 and n_leaves[node] <= LARGEST * n_leaves[0]
            if not (left and fits and live[node]) or holds_hidden[node]:
                continue
            hidden.append(node)
            live &= ~family.below(node)
            n_children[above] -= 1
            left -= 1
            while above >= 0:
                holds_hidden[above] = True
                above = int(family.parent[above])
    return hidden, live
