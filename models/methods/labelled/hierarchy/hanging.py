"""New nodes hung where they most likely belong: below known nodes, or below other new ones.

Each new leaf, and each new node right below a known one, is placed by what `placing` learned. The
candidates are the known inner nodes and, for leaves, the new inner ones; all are placed twice, the
second time in the tree of the first. A new inner node that is left with one node below it is that
node; one that is left with none is a leaf of the rows that are left to it. What a person answered
is kept to, and nodes beside which others were hung by answers count as their siblings.

`texts_of` makes tf-idf weights of texts, a second space in which clusters are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Float, Int, Mask
from models.methods.labelled.hierarchy.answers import Answers, Places, read_answers
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.new_nodes import NewNode
from models.methods.labelled.hierarchy.placing import (
    Cluster,
    Family,
    Placing,
    features,
    learned,
)
from models.preprocess.documents import numbered, tokens, vocabulary, word_counts
from models.tree import parents

MOST_WORDS = 2000
PASSES = 2
TOP = "the root"
LONGEST = 1000
"""Characters of a node's path: answers have to name it."""


@dataclass(frozen=True, eq=False)
class Texts:
    """weight : (n_rows, V) tf-idf, rows of length 1 or 0. column : of each word."""

    weight: sp.csr_array
    column: dict[str, int]

    def words(self, name: str | None) -> Int:
        """The columns of the words of a name."""
        found = {self.column[word] for word in tokens(name or "") if word in self.column}
        return np.array(sorted(found), dtype=np.int64)


def texts_of(documents: Sequence[str]) -> Texts | None:
    """The weights log(1 + n) log(N / n_documents) of the most frequent words; None where no word
    occurs twice or all texts have the same words."""
    if not any(tokens(text) for text in documents):
        return None
    known = vocabulary(documents, 1, MOST_WORDS)
    counts = sp.csr_array(word_counts(numbered(documents, known.words), len(known.words)))
    times = np.bincount(counts.indices, minlength=len(known.words))
    weight = counts.astype(np.float64)
    rarity = np.log(len(documents) / np.maximum(times, 1))
    weight.data = np.log1p(weight.data) * rarity[weight.indices]
    length = np.sqrt(np.asarray(weight.power(2).sum(axis=1)).ravel())
    if not length.any():
        return None
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    weight = sp.csr_array(sp.diags_array(scale) @ weight)
    return Texts(weight, {word: number for number, word in enumerate(known.words)})


@dataclass(frozen=True, eq=False)
class Hung:
    """A new node in its place.

    rows : all at or below it. above : as of `NewNode`. name : None where it is to be numbered.
    row : that stands for it. label, chance : (n_candidates,) of its candidates, the likeliest
        first; none for a node that is where the new node around it is.
    """

    rows: Int
    above: int
    name: str | None
    row: int
    label: list[str]
    chance: Float


class Hanging:
    """New nodes of one known tree.

    `fixed` are what is known: names of new nodes that the user gave, by their number.
    """

    def __init__(
        self,
        tree: KnownTree,
        points: Array,
        new_nodes: Sequence[NewNode],
        texts: Texts | None,
        rng: np.random.Generator,
        max_depth: int | None,
        least_size: int,
        names: Sequence[str | None],
    ) -> None:
        self._tree, self._points, self._texts = tree, points, texts
        self._max_depth, self._least_size = max_depth, least_size
        inner_first = _inner_first(new_nodes)
        self._nodes = [new_nodes[number] for number in inner_first]
        new_number = {old: new for new, old in enumerate(inner_first)}
        self._above = [
            node.above if node.above >= 0 else -1 - new_number[-1 - node.above]
            for node in self._nodes
        ]
        self._name = [names[number] for number in inner_first]
        self._center = points.mean(axis=0, dtype=np.float64)
        self._background = _present(texts, np.arange(points.shape[0]))
        self._known = self._family_of_known()
        self.placing: Placing = learned(self._known, rng)
        self.row = self._representatives()
        self._label_of_known = labels_of(tree)

    def _vectors(self, rows: Int) -> tuple[list[Float], Float]:
        means = [self._points[rows].mean(axis=0, dtype=np.float64) - self._center]
        if self._texts is None:
            return means, np.zeros(0)
        means.append(np.asarray(self._texts.weight[rows].mean(axis=0)).ravel())
        return means, _present(self._texts, rows) - self._background

    def _family_of_known(self) -> Family:
        tree = self._tree
        n_words = self._background.size
        spaces = [np.zeros((tree.n_nodes, self._points.shape[1]))]
        if self._texts is not None:
            spaces.append(np.zeros((tree.n_nodes, n_words)))
        rates = np.zeros((tree.n_nodes, n_words))
        order = np.argsort(tree.row_node, kind="stable")
        start = np.searchsorted(tree.row_node[order], np.arange(tree.n_nodes + 1))
        for leaf in np.flatnonzero(tree.is_leaf).tolist():
            means, rates[leaf] = self._vectors(order[start[leaf] : start[leaf + 1]])
            for space, mean in zip(spaces, means, strict=True):
                space[leaf] = mean
        is_own = np.array(
            [
                node > 0 and tree.name[node] is not None and tree.name[node] == tree.name[above]
                for node, above in enumerate(tree.parent.tolist())
            ]
        )
        words = [
            self._texts.words(name) if self._texts is not None else np.zeros(0, dtype=np.int64)
            for name in tree.name
        ]
        return Family(tree.parent, spaces, is_own & tree.is_leaf, words, rates)

    def _representatives(self) -> list[int]:
        """For each new node its row nearest to its mean, the leaves' first; none stands for two."""
        taken: set[int] = set()
        row = [-1] * len(self._nodes)
        for number in range(len(self._nodes) - 1, -1, -1):
            rows = self._nodes[number].rows
            away = self._points[rows] - self._points[rows].mean(axis=0)
            order = np.argsort(np.square(away).sum(axis=1), kind="stable")
            row[number] = next(
                (own for own in rows[order].tolist() if own not in taken), int(rows[order[0]])
            )
            taken.add(row[number])
        return row

    def answers(self, texts: Sequence[str]) -> Answers:
        """Raises UsageError as `read_answers`."""
        leaf = self._tree.is_leaf.tolist()
        inner = [number for number in range(len(self._nodes)) if self._is_inner(number)]
        places = Places(
            {own: number for number, own in enumerate(self.row)},
            frozenset(
                own for own, ends in zip(self._label_of_known, leaf, strict=True) if not ends
            ),
            frozenset(inner),
            frozenset(_label_of_new(self.row[number]) for number in inner),
            frozenset(number for number in inner if self._above[number] < 0),
        )
        return read_answers(texts, places)

    def not_kept_to(self, hung: Sequence[Hung], answers: Answers) -> list[int]:
        """Places of new nodes that do not hang as was answered, since nothing was left there."""
        node_of_row = {own: number for number, own in enumerate(self.row)}
        found = []
        for place, own in enumerate(hung):
            number = node_of_row[own.row]
            up = own.above
            label = self._label_of_known[up] if up >= 0 else _label_of_new(hung[-1 - up].row)
            wanted = answers.under.get(number, label)
            if wanted != label or label in answers.not_under.get(number, set()):
                found.append(place)
        return found

    def _is_inner(self, number: int) -> bool:
        return -1 - number in self._above

    def hung(self, answers: Answers) -> list[Hung]:
        """All new nodes, parents before children."""
        above = list(self._above)
        rows = self._left_rows()
        gone = self._merged(answers, above, rows)
        found: dict[int, tuple[list[str], Float]] = {}
        for _ in range(PASSES):
            family = self._family(above, rows, gone)
            moved = list(above)
            for number in range(len(above)):
                # As answers see it: what was an inner node is one, even with nothing left below.
                is_inner = self._is_inner(number)
                if number in gone or (is_inner and self._above[number] < 0):
                    continue
                labels, chance, parents = self._placed(family, number, is_inner, answers)
                if chance.size:
                    found[number] = (labels, chance)
                    moved[number] = parents[0]
            above = moved
            self._contract(above, rows, gone)
        return self._result(above, rows, gone, found)

    def _left_rows(self) -> list[Int]:
        """For each new node the rows that are in none below it."""
        rows = [node.rows for node in self._nodes]
        for number, above in enumerate(self._above):
            if above < 0:
                rows[-1 - above] = np.setdiff1d(rows[-1 - above], self._nodes[number].rows)
        return rows

    def _merged(self, answers: Answers, above: list[int], rows: list[Int]) -> set[int]:
        for first, second in answers.same:
            rows[first] = np.union1d(rows[first], rows[second])
            above[second] = 0
        return set(answers.stands_for)

    def _family(self, above: list[int], rows: list[Int], gone: set[int]) -> Family:
        """The known tree with the new nodes, of which number n is node n_known + n; nodes that are
        gone hang below the root without rows. New nodes count for no level of known ones."""
        known, first = self._known, self._tree.n_nodes
        parent = [
            0 if number in gone else (own if own >= 0 else first - 1 - own)
            for number, own in enumerate(above)
        ]
        spaces = [
            np.vstack([space, np.zeros((len(above), space.shape[1]))]) for space in known.mean
        ]
        rates = np.vstack([known.rates, np.zeros((len(above), known.rates.shape[1]))])
        for number in range(len(above)):
            if number not in gone and rows[number].size:
                means, rates[first + number] = self._vectors(rows[number])
                for space, mean in zip(spaces, means, strict=True):
                    space[first + number] = mean
        return Family(
            np.concatenate([known.parent, np.array(parent, dtype=np.int64)]),
            spaces,
            np.concatenate([known.is_own, [own >= 0 for own in above]]),
            [*known.words, *[np.zeros(0, dtype=np.int64)] * len(above)],
            rates,
        )

    def _placed(
        self, family: Family, number: int, is_inner: bool, answers: Answers
    ) -> tuple[list[str], Float, list[int]]:
        """Labels, probabilities and parents of a new node's candidates, the likeliest first."""
        first = self._tree.n_nodes
        node = first + number
        live = ~family.below(node)
        live[first:] &= family.mean[0][first:].any(axis=1) | ~family.is_leaf[first:]
        nodes, values = features(family, live, [Cluster.of(family, node)])
        label = [
            self._label_of_known[own] if own < first else _label_of_new(self.row[own - first])
            for own in nodes.tolist()
        ]
        allowed = self._allowed(family, node, nodes, is_inner)
        refused = answers.not_under.get(number, set())
        allowed &= np.array([own not in refused for own in label], dtype=bool)
        wanted = answers.under.get(number)
        if wanted in label:
            allowed = np.array([own == wanted for own in label])
        chance = np.where(allowed, self.placing.probability(values[0]), 0.0)
        if not chance.sum() > 0.0:
            return [], np.zeros(0), []
        order = np.argsort(-chance, kind="stable")
        order = order[chance[order] > 0.0]
        parents = [own if own < first else first - 1 - own for own in nodes[order].tolist()]
        return [label[own] for own in order.tolist()], chance[order] / chance.sum(), parents

    def _allowed(self, family: Family, node: int, nodes: Int, is_inner: bool) -> Mask:
        allowed = np.ones(nodes.size, dtype=bool)
        if is_inner:
            allowed &= nodes < self._tree.n_nodes
        if self._max_depth is not None:
            above = family.parent.astype(np.int32)
            depth = parents.along(above, np.ones(above.size, dtype=np.int64)) - 1
            allowed &= depth[nodes] + 1 + int(family.levels[node]) <= self._max_depth
        return allowed

    def _contract(self, above: list[int], rows: list[Int], gone: set[int]) -> None:
        """New inner nodes that are left with one node below them, or none."""
        for number in range(len(above) - 1, -1, -1):
            below = [own for own, up in enumerate(above) if up == -1 - number]
            if number in gone or not self._is_inner(number) or len(below) > 1:
                continue
            if below:
                rows[below[0]] = np.union1d(rows[below[0]], rows[number])
                above[below[0]] = above[number]
            if below or rows[number].size < self._least_size:
                above[number] = 0
                gone.add(number)

    def _result(
        self,
        above: list[int],
        rows: list[Int],
        gone: set[int],
        found: dict[int, tuple[list[str], Float]],
    ) -> list[Hung]:
        kept = [number for number in range(len(above)) if number not in gone]
        place = {number: own for own, number in enumerate(kept)}
        every = list(rows)
        for number in reversed(kept):
            if above[number] < 0:
                every[-1 - above[number]] = np.union1d(every[-1 - above[number]], every[number])
        hung = []
        for number in kept:
            up = above[number] if above[number] >= 0 else -1 - place[-1 - above[number]]
            label, chance = found.get(number, ([], np.zeros(0)))
            hung.append(
                Hung(
                    every[number],
                    up,
                    self._name[number],
                    self.row[number],
                    label,
                    chance,
                )
            )
        return hung


def _inner_first(new_nodes: Sequence[NewNode]) -> list[int]:
    """Their numbers, inner nodes before leaves, so that leaves may move below any of them."""
    inner = {-1 - node.above for node in new_nodes if node.above < 0}
    return sorted(range(len(new_nodes)), key=lambda number: (number not in inner, number))


def _present(texts: Texts | None, rows: Int) -> Float:
    """(n_words,) the share of rows that have each word."""
    if texts is None:
        return np.zeros(0)
    some = texts.weight[rows]
    times = np.bincount(some.indices[some.data > 0], minlength=some.shape[1])
    return np.asarray(times / max(rows.size, 1))


def labels_of(tree: KnownTree) -> list[str]:
    """The path of each node, from a number on where a node has no name or it would be longer than
    `LONGEST`, and with its number where another node has that path."""
    path = [TOP]
    labels, taken = [TOP], {TOP}
    for node in range(1, tree.n_nodes):
        above, name = int(tree.parent[node]), tree.name[node]
        own = f"node {node}" if name is None else name
        whole = f"{path[above]}/{own}" if above else own
        path.append(whole if len(whole) <= LONGEST else f"node {node}")
        labels.append(path[node] if path[node] not in taken else f"{path[node]} (node {node})")
        taken.add(labels[node])
    return labels


def _label_of_new(row: int) -> str:
    return f"the new node of row {row}"
