"""Pairs of classes, and of sibling subtrees, that more data would tell apart better.

A part of what is taken for something else stays however many rows a model learns from, where
classes overlap by nature; the rest is error of the model, which shrinks as rows are added. Rows
held out bound what stays in two ways:

- What is expected. A model that knows how probable classes are expects its own confusions, the sum
  of P(a | x) over the rows that it takes for b, and is wrong exactly that often. One that learned
  from too few rows places the border between two classes wrongly and is sure of it, so it is wrong
  more often. The excess is the loss by calibration of Kull and Flach, "Novel decompositions of
  proper scoring rules for classification" (ECML PKDD 2015), counted in decisions and pair by pair,
  beyond what one temperature for all classes has mended.
- What is learned. A model that hedges, as one held back by a penalty, expects confusions that more
  rows would spare it (the grouping loss: Perez-Lebel, Le Morvan and Varoquaux, "Beyond
  calibration", ICLR 2023). So rows count that a classifier which learned from the other calibration
  rows (`relearned`) still does not answer rightly: more rows teach more.

The smaller of the two is what stays. The share of a pair's rows that are confused has a beta
distribution after k of n were: a priori its mean is that part, as if it had been seen in one row,
the weight of Jeffreys' prior. The gain is the mean of its excess, nothing where it falls short: an
excess seen in few rows counts for less. It is an estimate of what more rows could take away, not a
bound. The interval of the share is Jeffreys' (Brown, Cai and DasGupta, "Interval estimation for a
binomial proportion", 2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from models.answers.beside_tree import ClassScores
from models.arrays import Float, Int, Mask
from models.calibration.climbing import ClassTree, TreeProbabilities
from models.calibration.probabilities import probability_blocks
from models.calibration.relearning import relearned
from models.tree.tree import Tree
from models.tree.walk import lca

LEVEL = 0.95
"""The confidence level of the interval of a share."""


@dataclass(frozen=True, slots=True)
class PairNeeds:
    """Pairs with confused rows, by falling gain.

    node, other : (n_pairs,) nodes without a class in common, the earlier one first. meet :
    (n_pairs,) the lowest node over both. classes : (n_pairs,) whether both are a class, not sibling
    subtrees. n_rows : (n_pairs,) rows labelled as one of the two. n_confused : (n_pairs,) those
    taken for the other. rate, low, high : (n_pairs,) their share, and its 95 % interval. expected,
    learned : (n_pairs,) the share that the model expects, and that is left by what the other rows
    teach; NaN where they are not known. gain : (n_pairs,) the mean excess over the smaller one.
    sure : (n_pairs,) the probability that there is one.
    """

    node: Int
    other: Int
    meet: Int
    classes: Mask
    n_rows: Int
    n_confused: Int
    rate: Float
    low: Float
    high: Float
    expected: Float
    learned: Float
    gain: Float
    sure: Float


def pair_needs(tree: Tree, scores: ClassScores, label: Int, temperature: float) -> PairNeeds:
    """label : (n_rows,) classes, -1 for rows that are not labelled, which are left out.

    Subtrees are children of one node, of which at least one has several classes; a class at an
    inner node is in no child. Without probabilities (`ClassScores.by_edges`) it is not known what
    is expected. O(n (n_classes + depth) + n_pairs log n_pairs), and the time of `relearned`; below
    a node with many children a row counts once for each of those that its own is confused with.
    """
    classes = ClassTree.of(tree, scores.node)
    n_classes, known = scores.n_classes, label >= 0
    taken_for = _taken_for(tree, scores, temperature)
    wrong = known & (taken_for != label)
    of_classes = _Pairs.between(label[wrong], taken_for[wrong], n_classes)
    node, other, _ = _apart(classes, label[wrong], taken_for[wrong])
    of_subtrees = _Pairs.between(node, other, tree.n_nodes)
    learned = relearned(scores, label, temperature, tree.n_nodes)
    if learned is not None:
        # A row that is taken for a third class instead is not spared.
        wrong = np.flatnonzero((label >= 0) & (learned != label))
        row, of = np.tile(wrong, 2), np.tile(label[wrong], 2)
        either = np.append(taken_for[wrong], learned[wrong])
        row, of, either = (each[either != of] for each in (row, of, either))
        of_classes.learn(row, of, either, n_classes)
        node, other, apart = _apart(classes, of, either)
        of_subtrees.learn(row[apart], node, other, tree.n_nodes)
    if not scores.by_edges:
        of_classes.expected[:], of_subtrees.expected[:] = 0.0, 0.0
        for probability, block in probability_blocks(scores, temperature, tree.n_nodes):
            own = np.flatnonzero(known[block])
            rows = TreeProbabilities.of(classes, probability[own])
            of_classes.expect(own, taken_for[block][own], _cells(probability))
            for row, at, _ in rows.steps():
                of_subtrees.expect(row, at, rows.mass)
    count = np.bincount(label[known], minlength=n_classes)
    before = np.append(0, np.cumsum(count[classes.order]))
    under = before[classes.end] - before[classes.start]
    return _ranked(
        tree,
        np.concatenate([scores.node[of_classes.first], of_subtrees.first]),
        np.concatenate([scores.node[of_classes.second], of_subtrees.second]),
        np.repeat([True, False], [of_classes.n_pairs, of_subtrees.n_pairs]),
        np.concatenate(
            [
                count[of_classes.first] + count[of_classes.second],
                under[of_subtrees.first] + under[of_subtrees.second],
            ]
        ),
        np.concatenate([of_classes.n_confused, of_subtrees.n_confused]),
        np.concatenate([of_classes.expected, of_subtrees.expected]),
        np.concatenate([of_classes.learned, of_subtrees.learned]),
    )


def gains(n_confused: Int, n_rows: Int, stays: Float) -> tuple[Float, Float]:
    """(n,) the mean excess, and the probability of one: E max(0, s - e) and P(s > e), where the
    share s has the density Beta(k + e, n - k + 1 - e) and e is the share that stays.

    With m the mean of s and I the regularised incomplete beta function, the first is
    m (1 - I_e(k + e + 1, n - k + 1 - e)) - e (1 - I_e(k + e, n - k + 1 - e)).
    """
    from scipy.special import betainc

    a, b = n_confused + stays, n_rows - n_confused + 1.0 - stays
    # A share of 1 leaves no room for an excess, and of all rows no parameter.
    b = np.maximum(b, np.finfo(np.float64).tiny)
    sure = 1.0 - betainc(a, b, stays)
    gain = a / (n_rows + 1.0) * (1.0 - betainc(a + 1.0, b, stays)) - stays * sure
    return np.maximum(gain, 0.0), sure


def interval(n_confused: Int, n_rows: Int) -> tuple[Float, Float]:
    """(n,) the ends of Jeffreys' interval of a share: quantiles of Beta(k + 1/2, n - k + 1/2), but
    0 where k is 0 and 1 where it is n.
    """
    from scipy.special import betaincinv

    a, b, tail = n_confused + 0.5, n_rows - n_confused + 0.5, (1.0 - LEVEL) / 2
    low = np.where(n_confused == 0, 0.0, betaincinv(a, b, tail))
    return low, np.where(n_confused == n_rows, 1.0, betaincinv(a, b, 1.0 - tail))


def _apart(classes: ClassTree, label: Int, taken_for: Int) -> tuple[Int, Int, Mask]:
    """The sibling subtrees of the rows where they are, one of which has several classes; and of
    which rows they are.
    """
    tree = classes.tree
    node, other = classes.node[label], classes.node[taken_for]
    meet = lca(tree, node, other)
    node, other = _child_towards(tree, meet, node), _child_towards(tree, meet, other)
    apart = (node != meet) & (other != meet)
    apart &= (classes.n_under[node] > 1) | (classes.n_under[other] > 1)
    return node[apart], other[apart], apart


def _taken_for(tree: Tree, scores: ClassScores, temperature: float) -> Int:
    """(n_rows,) the most probable class of each row, of equal ones the first."""
    classes = [
        probability.argmax(axis=1)
        for probability, _ in probability_blocks(scores, temperature, tree.n_nodes)
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *classes])


def _cells(matrix: Float) -> Callable[[Int, Int], Float]:
    """The values of a matrix by row and column."""
    return lambda row, column: matrix[row, column]


def _child_towards(tree: Tree, above: Int, node: Int) -> Int:
    """(n,) the child of `above[i]` over `node[i]`, or `above[i]` if that is it. O(n depth)."""
    node = node.copy()
    climbs = np.flatnonzero(node != above)
    while climbs.size:
        climbs = climbs[tree.parent[node[climbs]] != above[climbs]]
        node[climbs] = tree.parent[node[climbs]]
    return node


@dataclass(slots=True)
class _Pairs:
    """Unordered pairs of classes or of nodes, and what is expected of them so far.

    first, second : (n_pairs,) the smaller number first. n_confused : (n_pairs,) rows. at, of, pair
        : (2 n_pairs,) a row taken for `at` counts by the probability of `of`; `at` rises.
    """

    first: Int
    second: Int
    n_confused: Int
    at: Int
    of: Int
    pair: Int
    expected: Float = field(init=False)
    learned: Float = field(init=False)

    def __post_init__(self) -> None:
        self.expected, self.learned = (np.full(self.n_pairs, np.nan) for _ in range(2))

    @property
    def n_pairs(self) -> int:
        return int(self.first.shape[0])

    @classmethod
    def between(cls, one: Int, other: Int, number: int) -> _Pairs:
        """one, other : (n,) what a confused row is and what it is taken for, below `number`."""
        pair, n_confused = np.unique(_key(one, other, number), return_counts=True)
        first, second = np.divmod(pair.astype(np.int64), number)
        at, of = np.append(first, second), np.append(second, first)
        order = np.argsort(at, kind="stable")
        return cls(first, second, n_confused, at[order], of[order], order % max(1, len(first)))

    def learn(self, row: Int, one: Int, other: Int, number: int) -> None:
        """Count what is confused after learning, as `between`, each of the rows once."""
        self.learned[:] = 0.0
        once = np.unique(np.stack([row, _key(one, other, number)]), axis=1)[1]
        pair, count = np.unique(once, return_counts=True)
        own = _key(self.first, self.second, number)
        at = np.minimum(np.searchsorted(own, pair), max(0, self.n_pairs - 1))
        known = own[at] == pair if self.n_pairs else np.zeros(len(pair), dtype=np.bool_)
        self.learned[at[known]] = count[known]

    def expect(self, row: Int, at: Int, mass: Callable[[Int, Int], Float]) -> None:
        """Count rows that are taken for `at`. mass : the probability of a class or node in rows."""
        begin = np.searchsorted(self.at, at)
        count = np.searchsorted(self.at, at, side="right") - begin
        total = np.repeat(begin - np.append(0, np.cumsum(count)[:-1]), count)
        entry = total + np.arange(len(total))
        self.expected += np.bincount(
            self.pair[entry], mass(np.repeat(row, count), self.of[entry]), self.n_pairs
        )


def _key(one: Int, other: Int, number: int) -> Int:
    """(n,) one number for each unordered pair."""
    return np.minimum(one, other) * number + np.maximum(one, other)


def _ranked(
    tree: Tree,
    node: Int,
    other: Int,
    classes: Mask,
    n_rows: Int,
    n_confused: Int,
    expected_rows: Float,
    learned_rows: Float,
) -> PairNeeds:
    expected, learned = (np.minimum(each / n_rows, 1.0) for each in (expected_rows, learned_rows))
    stays = np.nan_to_num(np.fmin(expected, learned))
    gain, sure = gains(n_confused, n_rows, stays)
    low, high = interval(n_confused, n_rows)
    rank = np.lexsort((other, node, ~classes, -gain))
    return PairNeeds(
        node=node[rank],
        other=other[rank],
        meet=lca(tree, node, other)[rank],
        classes=classes[rank],
        n_rows=n_rows[rank],
        n_confused=n_confused[rank],
        rate=(n_confused / n_rows)[rank],
        low=low[rank],
        high=high[rank],
        expected=expected[rank],
        learned=learned[rank],
        gain=gain[rank],
        sure=sure[rank],
    )
