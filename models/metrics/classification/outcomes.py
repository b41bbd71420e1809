"""What a classifier answers for each row, and the row's true labels as nodes of its tree.

`NodeSets` hold a set of nodes for each row, and the paths from the root to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Mask, row_blocks
from models.errors import UsageError, listed, shown
from models.inputs.label_sets import LabelSets
from models.method import ClassAnswers, PredictionOptions, Predictions
from models.running.progress import Progress, silent
from models.tree import walk
from models.tree.named import NONE, SEVERAL, NamedNodes
from models.tree.parents import under
from models.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class NodeSets:
    """Distinct pairs of a row and a node of its set, by row, then in preorder.

    In preorder, the paths of two neighbours share what the later one shares with all before it, so
    that paths are counted from neighbours alone: no cost depends on the depth of the tree.
    """

    tree: Tree
    n_rows: int
    row: Int
    node: Int

    @classmethod
    def of(cls, tree: Tree, n_rows: int, row: Int, node: Int) -> NodeSets:
        """The sets of pairs in any order, which may occur more than once. O(n_pairs log n_pairs)"""
        rank, _ = walk.ranks(tree.parent)
        order = np.empty_like(rank)
        order[rank] = np.arange(rank.size)
        rows, ranks = np.divmod(np.unique(row * tree.n_nodes + rank[node]), tree.n_nodes)
        return cls(tree, n_rows, rows, order[ranks])

    @cached_property
    def key(self) -> Int:
        """(n_pairs,) a number that stands for the pair."""
        return self.row * self.tree.n_nodes + self.node

    @cached_property
    def n_each(self) -> Int:
        """(n_rows,) size of each set."""
        return np.bincount(self.row, minlength=self.n_rows)

    @cached_property
    def path_sizes(self) -> Int:
        """(n_rows,) number of nodes that are in the set or above one of it, without the root."""
        row, meet = self._meets
        depth = self.tree.depth
        longer = np.bincount(self.row, depth[self.node], minlength=self.n_rows)
        return (longer - np.bincount(row, depth[meet], minlength=self.n_rows)).astype(np.int64)

    @cached_property
    def n_through(self) -> Int:
        """(n_nodes,) number of rows whose set has the node or one below it."""
        _, meet = self._meets
        n_nodes = self.tree.n_nodes
        ends = np.bincount(self.node, minlength=n_nodes) - np.bincount(meet, minlength=n_nodes)
        return under(self.tree.parent, ends)

    def union(self, other: NodeSets) -> NodeSets:
        """The union of both sets of each row."""
        row = np.concatenate([self.row, other.row])
        return NodeSets.of(self.tree, self.n_rows, row, np.concatenate([self.node, other.node]))

    def has(self, row: Int, node: Int) -> Mask:
        """Whether the node of each pair is in the set of its row."""
        return np.isin(row * self.tree.n_nodes + node, self.key)

    def deepest(self) -> NodeSets:
        """The sets without nodes that lie above another one of theirs."""
        rank, weight = walk.ranks(self.tree.parent)
        own, following = rank[self.node[:-1]], rank[self.node[1:]]
        above = np.zeros(self.row.size, dtype=bool)
        above[:-1] = (self.row[:-1] == self.row[1:]) & (following < own + weight[self.node[:-1]])
        return NodeSets(self.tree, self.n_rows, self.row[~above], self.node[~above])

    @cached_property
    def _meets(self) -> tuple[Int, Int]:
        """Row and lowest common ancestor of every two neighbours in one set."""
        same = np.flatnonzero(self.row[1:] == self.row[:-1])
        return self.row[same], walk.lca(self.tree, self.node[same], self.node[same + 1])


@dataclass(frozen=True, eq=False)
class TrueLabels:
    """The labels of the labelled rows.

    row : (n_labelled,) numbers of these rows among all. sets : their labels as nodes.
    tree : the classifier's; each label that is no node of it is a further child of the root, after
        the classifier's nodes.
    n_known : number of the classifier's nodes.
    warnings : what is odd about the labels.
    """

    row: Int
    sets: NodeSets
    tree: Tree
    n_known: int
    warnings: tuple[str, ...]


def true_labels(labels: LabelSets, tree: Tree, class_node: Int) -> TrueLabels:
    """The labels matched to the nodes of the tree.

    A label means the node of its name, or at the end of its path of names. A label above another
    one of the same row is implied and left out.

    class_node : (n_classes,) the leaves that the classifier can predict.

    Raises UsageError for a label that means several nodes, and where no row is labelled.
    O((n_labels + n_nodes) log n_nodes).
    """
    labelled = np.flatnonzero(~labels.unlabelled)
    if not labelled.size:
        raise UsageError("No row is labelled.", code="wrong-input", role="labels")
    node_of_label, unknown = _nodes_of(labels, tree)
    whole = _with_children(tree, unknown)
    times = np.diff(labels.start)[labelled]
    row = np.repeat(np.arange(labelled.size), times)
    named = NodeSets.of(whole, labelled.size, row, node_of_label[labels.code])
    sets = named.deepest()
    warnings = []
    if labels.unlabelled.any():
        warnings.append(
            f"{int(labels.unlabelled.sum())} row(s) are not labelled and were left out."
        )
    if n_implied := named.row.size - sets.row.size:
        warnings.append(
            f"{n_implied} label(s) above another label of the same row are implied by it and were "
            "left out."
        )
    return TrueLabels(
        labelled, sets, whole, tree.n_nodes, (*warnings, *_foreign(sets, tree.n_nodes, class_node))
    )


def _nodes_of(labels: LabelSets, tree: Tree) -> tuple[Int, list[str]]:
    """(n_labels,) the node of each label that occurs, and the labels that have none.

    The latter have nodes from `n_nodes` on.
    """
    nodes = NamedNodes(tree)
    occurs = np.bincount(labels.code, minlength=len(labels.names)) > 0
    node_of_label = np.full(len(labels.names), NONE, dtype=np.int64)
    unknown: list[str] = []
    for number in np.flatnonzero(occurs).tolist():
        name = labels.names[number]
        node = nodes.find(name)
        if node == SEVERAL:
            first = int(np.argmax(labels.code == number))
            row = int(np.searchsorted(labels.start, first, side="right")) - 1
            raise UsageError(
                f"Label {shown(name)} at row {row} (counted from 0) means several nodes of the "
                "classifier's tree; write its path of names, such as 'animal/cat/lion'.",
                code="wrong-input",
                role="labels",
                row=row,
            )
        if node == NONE:
            node = tree.n_nodes + len(unknown)
            unknown.append(name)
        node_of_label[number] = node
    return node_of_label, unknown


def _with_children(tree: Tree, names: list[str]) -> Tree:
    """The tree without its points, with a further child of the root for each name."""
    n_nodes = tree.n_nodes + len(names)
    return Tree(
        parent=np.append(tree.parent, np.zeros(len(names), dtype=np.int32)),
        height=np.zeros(n_nodes),
        size=np.zeros(n_nodes, dtype=np.int64),
        name=np.append(tree.name, np.array(names, dtype=object)),
        leaf_of_point=np.zeros(0, dtype=np.int32),
    )


def _foreign(sets: NodeSets, n_known: int, class_node: Int) -> list[str]:
    """Warnings of labels that the classifier cannot predict."""
    tree = sets.tree
    used = np.unique(sets.node)
    used = used[~np.isin(used, class_node)]
    unknown = used[used >= n_known]
    known = used[used < n_known]
    inner = known[tree.n_children[known] > 0]
    empty = known[tree.n_children[known] == 0]
    warnings = []
    for nodes, what in (
        (unknown, "no class of the model: {}; they count as errors."),
        (empty, "leaves without an example in the training: {}; they count as errors."),
        (
            inner,
            "inner nodes and no class: {}; they count as errors, but in the table by level and in "
            "the hierarchical metrics as far down as they lead.",
        ),
    ):
        if nodes.size:
            n_rows = np.unique(sets.row[np.isin(sets.node, nodes)]).size
            names = listed([str(tree.name[node]) for node in nodes.tolist()])
            warnings.append(f"{nodes.size} label(s) of {n_rows} row(s) are {what.format(names)}")
    return warnings


VALUES = 1 << 22
"""Probabilities that are held at a time (32 MiB)."""
EPSILON = float(np.finfo(np.float64).eps)
"""Probabilities are taken to be at least this far from 0 and 1 in logarithms."""

Predict = Callable[[Int, PredictionOptions], Predictions]
"""The predictions of the rows of these numbers."""

Span = tuple[int, int]
"""Rows from the first to the second number."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """True labels among the best classes, each (n_rows,).

    hits : the share of the `top_k` best classes (of all, where there are fewer) that are true.
    r_hits : the share of the R best that are true, for a row of R labels; NaN without labels.
    gain, ideal : the sum of the true labels' gains among the `top_k` best, and the largest possible
        one.
    """

    hits: Float
    r_hits: Float
    gain: Float
    ideal: Float


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The answers for the labelled rows, as nodes of `truth.tree`.

    given : the labels given to each row.
    row, node : the same pairs, the labels of a row from the most probable on.
    right : (n_rows,) whether the best class is a true label. confidence : (n_rows,) its
        probability.
    in_top : (n_rows,) whether a true label is among the `top_k` best classes; None without any.
    ranked : how many true labels are among the best; None unless requested.
    loss : (n_rows,) negative log-likelihood of the true labels, NaN where it is not defined; None
        if it was not requested.
    one_each : whether the classifier gives each row one label.
    """

    truth: TrueLabels
    given: NodeSets
    row: Int
    node: Int
    right: Mask
    confidence: Float
    in_top: Mask | None
    ranked: Ranked | None
    loss: Float | None
    one_each: bool

    @property
    def n_rows(self) -> int:
        return self.truth.sets.n_rows


Spread = Callable[[Sequence[Span], Callable[[Span], Arrays]], Iterable[tuple[int, Arrays]]]
"""Calls a function of some rows for all of several spans; each span's number and what it gave, in
any order."""


def one_by_one(progress: Progress) -> Spread:
    """By this process, in order."""

    def spread(
        spans: Sequence[Span], of_span: Callable[[Span], Arrays]
    ) -> Iterator[tuple[int, Arrays]]:
        for number, span in enumerate(spans):
            progress(number / len(spans), "predicting")
            yield number, of_span(span)

    return spread


def outcomes(
    truth: TrueLabels,
    n_classes: int,
    predict: Predict,
    *,
    top_k: int = 0,
    threshold: float | None = None,
    with_loss: bool = False,
    gain: Float | None = None,
    progress: Progress = silent,
) -> Outcomes:
    """The outcomes of the `Answers` of these terms."""
    wanted = Answers(truth, n_classes, predict, top_k, threshold, with_loss, gain)
    return wanted.outcomes(one_by_one(progress))


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Predictions of the labelled rows, by blocks that hold `VALUES` probabilities.

    top_k, threshold : as in `PredictionOptions`. gain : (n_nodes,) what a true label among the best
        counts; `ranked` is computed with it. with_loss : whether `loss` is computed, for which
        every probability is needed.
    """

    truth: TrueLabels
    n_classes: int
    predict: Predict
    top_k: int = 0
    threshold: float | None = None
    with_loss: bool = False
    gain: Float | None = None

    def outcomes(self, spread: Spread) -> Outcomes:
        """The time and memory of the predictions, O(n_rows (n_classes + labels)) for the loss."""
        truth = self.truth
        n_rows = truth.sets.n_rows
        spans = [(each.start, each.stop) for each in row_blocks(n_rows, self._n_held, VALUES)]
        blocks: list[Arrays] = [{} for _ in spans]
        for number, found in spread(spans, self.block):
            blocks[number] = found

        def of(name: str) -> Any:
            return np.concatenate([block[name] for block in blocks])

        row, node = of("row"), of("node")
        return Outcomes(
            truth=truth,
            given=NodeSets.of(truth.tree, n_rows, row, node),
            row=row,
            node=node,
            right=of("right"),
            confidence=of("confidence"),
            in_top=of("in_top") if self.top_k else None,
            ranked=None if self.gain is None else _ranked(truth, self.top_k, self.gain, of),
            loss=of("loss") if self.with_loss else None,
            one_each=bool(blocks[-1]["one_each"]) if blocks else True,
        )

    def block(self, span: Span) -> Arrays:
        """What is known of the labelled rows from one number to another."""
        options = PredictionOptions(self._width, self.threshold, every=self.with_loss)
        block = slice(*span)
        classes = self.predict(self.truth.row[block], options).classes
        assert classes is not None, "the method classifies"
        return _block(self.truth, block, classes, self.with_loss, self.top_k, self.gain)

    @property
    def _width(self) -> int:
        width = max(1, self.top_k)
        if self.gain is not None:
            most = int(self.truth.sets.n_each.max(initial=0))
            width = max(width, min(self.n_classes, most))
        return width

    @property
    def _n_held(self) -> int:
        return self.n_classes if self.with_loss else self._width


def _ranked(truth: TrueLabels, top_k: int, gain: Float, of: Callable[[str], Any]) -> Ranked:
    parts = of("ranked")
    sets = truth.sets
    order = np.lexsort([-gain[sets.node], sets.row])
    row = sets.row[order]
    within = np.arange(row.size) - (np.cumsum(sets.n_each) - sets.n_each)[row]
    best = within < top_k
    ideal = np.bincount(row[best], gain[sets.node[order]][best], minlength=sets.n_rows)
    return Ranked(parts[:, 0], parts[:, 1], parts[:, 2], ideal.astype(np.float64))


def _block(
    truth: TrueLabels,
    block: slice,
    classes: ClassAnswers,
    with_loss: bool,
    top_k: int,
    gain: Float | None,
) -> dict[str, Array]:
    first, n_rows = block.start, block.stop - block.start
    top = classes.node[classes.top]
    of_row = np.repeat(np.arange(first, block.stop), top.shape[1])
    hits = truth.sets.has(of_row, top.ravel()).reshape(top.shape)
    among = hits[:, : max(1, top_k)]
    ranked = np.zeros((n_rows, 3))
    if gain is not None:
        n_labels = truth.sets.n_each[block]
        upto = (hits & (np.arange(top.shape[1]) < n_labels[:, None])).sum(axis=1)
        ranked[:, 0] = among.mean(axis=1)
        ranked[:, 1] = np.divide(upto, n_labels, out=np.full(n_rows, np.nan), where=n_labels > 0)
        ranked[:, 2] = (among * gain[top[:, : among.shape[1]]]).sum(axis=1)
    return {
        "row": first + np.repeat(np.arange(n_rows), np.diff(classes.start)),
        "node": classes.node[classes.code],
        "right": hits[:, 0],
        "confidence": classes.probability[:, 0],
        "in_top": np.asarray(among.any(axis=1)),
        "ranked": ranked,
        "loss": _losses(truth, block, classes) if with_loss else np.zeros(0),
        "one_each": np.asarray(classes.one_each),
    }


def _losses(truth: TrueLabels, block: slice, classes: ClassAnswers) -> Float:
    """(n,) negative log-likelihood of the true labels of the rows.

    Where a row has one class, that of its label, NaN for another number of labels. Else the sum
    over all classes of whether it is a label. A label that is no class has the probability 0.
    """
    sets, every = truth.sets, classes.every
    assert every is not None, "every probability was requested"
    n_rows = block.stop - block.start
    number = np.full(truth.tree.n_nodes, -1, dtype=np.int64)
    number[classes.node] = np.arange(classes.node.size)
    pairs = slice(*np.searchsorted(sets.row, [block.start, block.stop]))
    row, code = sets.row[pairs] - block.start, number[sets.node[pairs]]
    likelihood = np.where(code >= 0, every[row, code], 0.0)
    likelihood = np.clip(likelihood, EPSILON, 1.0 - EPSILON)
    if classes.one_each:
        loss = np.bincount(row, -np.log(likelihood), minlength=n_rows).astype(np.float64)
        loss[sets.n_each[block] != 1] = np.nan
        return loss
    loss = np.zeros(n_rows)
    for part in row_blocks(n_rows, every.shape[1]):
        loss[part] = -np.log1p(-np.clip(every[part], EPSILON, 1.0 - EPSILON)).sum(axis=1)
    # What the sum over all classes took for no label is one.
    taken = np.where(code >= 0, np.log1p(-likelihood), 0.0)
    return np.asarray(loss + np.bincount(row, taken - np.log(likelihood), minlength=n_rows))
