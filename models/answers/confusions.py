"""Which classes of a tree's leaves are taken for which, as pairs of leaves with a mass.

From labels, the mass of a pair is the number of rows of one class that lie in the leaf of another:
the confusion matrix without its zeros. From a method alone (the hook `Method.confusions`), it is
the probability that rows of one class give to another, added up. Either way the cost of two classes
is symmetric: the mean of the shares of each one's rows that are taken for the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError, listed, shown
from models.tree.labels import Labels
from models.tree.named import NamedNodes
from models.tree.tree import Tree
from models.tree.walk import lca, spans


@dataclass(frozen=True, slots=True)
class Confusions:
    """Pairs of different leaves, by falling mass, then by node.

    leaf, taken_for : (n_pairs,) nodes of the class and of that which it is taken for.
    mass : (n_pairs,) rows, or the sum of probabilities.
    right : (n_nodes,) mass that each class gives itself; 0 at inner nodes.
    total : (n_nodes,) rows of each class; 0 at inner nodes.
    rest : mass of pairs that are not listed, of the whole tree.
    most : (n_nodes,) the most that one pair of each class lacks of its mass; None where `rest` is
        itself an upper bound, of which each class may have a part too.
    error : the most by which rounding changes a sum of masses.
    warnings : what is approximated.
    """

    leaf: Int
    taken_for: Int
    mass: Float
    right: Float
    total: Float
    rest: float = 0.0
    most: Float | None = None
    error: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def n_rows(self) -> float:
        return float(self.total.sum())

    @property
    def unlisted(self) -> Float:
        """(n_nodes,) mass of each class that neither it nor a listed pair of it has."""
        listed = np.bincount(self.leaf, self.mass, len(self.total))
        return np.maximum(self.total - self.right - listed, 0.0) if self.rest else 0.0 * self.total

    def under(self, tree: Tree, node: int) -> Confusions:
        """The confusions between classes under a node. O(n_pairs + n_nodes)."""
        at = spans(tree)
        begin, end = at.start[node], at.start[node] + at.count[node]
        inside = (at.start >= begin) & (at.start < end)
        kept = inside[self.leaf] & inside[self.taken_for]
        return replace(
            self,
            leaf=self.leaf[kept],
            taken_for=self.taken_for[kept],
            mass=self.mass[kept],
            right=np.where(inside, self.right, 0.0),
            total=np.where(inside, self.total, 0.0),
        )

    def by_node(self, tree: Tree) -> Float:
        """(n_nodes,) mass of the pairs that meet at each node: how much its children are taken for
        each other. O(n_nodes log n_nodes + n_pairs).
        """
        meet = lca(tree, self.leaf, self.taken_for)
        return np.bincount(meet, self.mass, tree.n_nodes).astype(np.float64)

    def costs(self) -> Float:
        """(n_pairs,) how alike the two classes of each pair are: half the sum of the share of the
        rows of each that is taken for the other; 0 for a class without rows. The same for both
        orders of a pair. O(n_pairs log n_pairs).
        """
        n_nodes = len(self.total)
        rows = self.total[self.leaf]
        share = np.divide(self.mass, rows, out=np.zeros(len(self.mass)), where=rows > 0)
        pair = self.leaf * n_nodes + self.taken_for
        order = np.argsort(pair)
        opposite = self.taken_for * n_nodes + self.leaf
        at = np.minimum(np.searchsorted(pair, opposite, sorter=order), len(pair) - 1)
        place = order[at]
        return (share + np.where(pair[place] == opposite, share[place], 0.0)) / 2

    def matrix(self, order: Int) -> Float:
        """(n, n) the masses between these leaves; row: the class, column: what it is taken for."""
        n_nodes = len(self.right)
        place = np.full(n_nodes, -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        row, column = place[self.leaf], place[self.taken_for]
        known = (row >= 0) & (column >= 0)
        matrix = np.zeros((len(order), len(order)))
        matrix[row[known], column[known]] = self.mass[known]
        np.fill_diagonal(matrix, self.right[order])
        return matrix


def ordered(
    leaf: Int,
    taken_for: Int,
    mass: Float,
    right: Float,
    total: Float,
    rest: float = 0.0,
    most: Float | None = None,
    error: float = 0.0,
    warnings: tuple[str, ...] = (),
) -> Confusions:
    """Confusions of pairs in any order, each once. O(n_pairs log n_pairs)."""
    order = np.lexsort((taken_for, leaf, -mass))
    pairs = leaf[order], taken_for[order], mass[order]
    return Confusions(*pairs, right, total, rest, most, error, warnings)


def of_labels(tree: Tree, labels: Labels) -> Confusions:
    """The confusions of rows with known classes: a row of class a in the leaf of class b is a taken
    for b. Rows without a label are left out.

    A label is the name of a leaf, its path of names, or, where no leaf has such a name, the number
    of a class: of the leaves in the order of their node ids, as the columns of logits.

    Raises UsageError `wrong-input` for labels that name no leaf or several, and for labels given
    per leaf. O(n_points + n_nodes).
    """
    if labels.of != "row":
        raise UsageError(
            "Confusions need a label for each row of the tree, not for each leaf.",
            code="wrong-shape",
            role="labels",
        )
    leaf = _leaves(tree, labels)
    known = labels.code >= 0
    true = leaf[labels.code[known]]
    placed = tree.leaf_of_point[known].astype(np.int64)
    n_nodes = tree.n_nodes
    total = np.bincount(true, minlength=n_nodes).astype(np.float64)
    right = np.bincount(true[true == placed], minlength=n_nodes).astype(np.float64)
    wrong = true != placed
    pair, mass = np.unique(true[wrong] * n_nodes + placed[wrong], return_counts=True)
    return ordered(pair // n_nodes, pair % n_nodes, mass.astype(np.float64), right, total)


def _leaves(tree: Tree, labels: Labels) -> Int:
    """(n_labels,) the leaf that each label means."""
    texts: list[str] = labels.text.to_pylist()
    nodes = NamedNodes(tree)
    leaf = np.fromiter(map(nodes.find, texts), dtype=np.int64, count=len(texts))
    lost = (leaf < 0) | (tree.n_children[leaf] > 0)
    if not lost.any():
        return leaf
    leaves = tree.leaves
    if all(text.isascii() and text.isdigit() and int(text) < len(leaves) for text in texts):
        numbered: Int = leaves[np.array([int(text) for text in texts])].astype(np.int64)
        return numbered
    names = [name for name in tree.name[leaves].tolist() if name is not None]
    text = texts[int(np.flatnonzero(lost)[0])]
    raise UsageError(
        f"Label {shown(text)} names no leaf of the tree, or several; its leaves are "
        f"{listed(names)}. A label is a leaf's name, its path of names, or the number of a class, "
        f"0 to {len(leaves) - 1}.",
        code="wrong-input",
        role="labels",
        label=text[:80],
    )
