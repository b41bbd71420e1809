"""The content of a picture: the folded part of a tree with its positions, labels and colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.pictures.lettering import readable
from app.pictures.palette import Style, mix
from app.pictures.strips import Column, Strip, strip
from models.arrays import Int
from models.tree import walk
from models.tree.cluster_names import called, telling_names
from models.tree.labels import Categories, shared, words
from models.tree.layout import Layout, Scale, layout, readable_scale
from models.tree.noise import NAME
from models.tree.tree import Tree
from models.tree.walk import leaf_counts, path, spans
from models.tree.window import fold, tip_weight


@dataclass(frozen=True, slots=True)
class PicturedTree:
    """The shown nodes in preorder, ready to be drawn; every column has n_shown entries.

    parent : position of the parent, -1 for the first.
    tip : whether no child is shown.
    folded : whether a tip stands for a subtree.
    colour : of the branch above the node.
    label : uncut text; "" for none. An inner node has the name that it was given. Coloured by
        labels, a tip of several rows also has the most frequent one with its share.
    called : uncut text for each inner node: its name, or one after what is below it.
    named : whether a node below the root with nodes below it, shown or not, was given a name.
    plain : whether no node is folded.
    support : in [0, 1], NaN where there is none; None for a tree without support.
    legend : colour and text per category, largest first.
    style : the picture's colours.
    strips : the columns beside the tips, from the inside out.
    unseen : the names of inner nodes that lie in folded parts, as they were given, the largest
        first.
    """

    parent: npt.NDArray[np.int64]
    tip: npt.NDArray[np.bool_]
    folded: npt.NDArray[np.bool_]
    n_leaves: npt.NDArray[np.int64]
    height: npt.NDArray[np.float64]
    place: Layout
    scale: Scale
    colour: list[str]
    label: list[str]
    called: list[str]
    named: npt.NDArray[np.bool_]
    support: npt.NDArray[np.float64] | None
    legend: list[tuple[str, str]]
    style: Style
    strips: tuple[Strip, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        return not bool(self.folded.any())

    @property
    def n_tips(self) -> int:
        return int(self.tip.sum())

    def text_colour(self, row: int) -> str:
        """The colour of the label beside a tip."""
        own = self.colour[row]
        return self.style.text if own == self.style.ink else self.style.legible(own)


def take(
    tree: Tree,
    root: int,
    *,
    max_tips: int,
    max_depth: int | None,
    categories: Categories | None,
    style: Style,
    labels: Literal["name", "id"],
    proportional: bool = False,
    scale: Scale | None = None,
    ids: Int | None = None,
    closed: Int | None = None,
    painted: Mapping[int, str] | None = None,
    strips: Sequence[Column] = (),
) -> PicturedTree:
    """Fold, place, colour and name. `proportional` makes a tip as wide as its number of leaves.

    ids : of rows, None for the rows. closed : rows that stay folded. painted : colours of rows, for
    all below them too. strips : columns by id.
    """
    shown = fold(
        tree, root, max_nodes=4 * max_tips, max_tips=max_tips, max_depth=max_depth, closed=closed
    )
    node, parent, counts = shown.node, shown.parent, shown.n_leaves
    height = tree.height[node]
    lowest = float(tree.height.min()) if shown.hidden.any() else None
    rest = int(shown.hidden[0]) if len(node) > 1 else 0
    if rest:
        # The root's children that do not fit form one further tip.
        left_out = int(counts[0] - counts[parent == 0].sum())
        node = np.append(node, -1)
        parent = np.append(parent, 0)
        counts = np.append(counts, left_out)
        height = np.append(height, tree.height.min())
    tip = np.bincount(parent[1:], minlength=len(parent)) == 0
    folded = tip & (counts > 1)
    chosen = scale or readable_scale(parent, height)
    weight = counts.astype(np.float64) if proportional else tip_weight(counts)
    place = layout(parent, height, scale=chosen, lowest=lowest, weight=weight)
    colour, legend = [style.ink] * len(node), list[tuple[str, str]]()
    if categories is not None:
        hue, legend = hues(tree, root, categories, style)
        colour = _colours(tree, categories, node, folded, hue, style)
    if painted:
        colour = _painted(tree, node, parent, colour, painted)
    named = _called(tree, node, counts, labels, ids)
    common: list[str | None] = [None] * len(node)
    if categories is not None and labels == "name":
        common = words(tree, categories, node, parent, readable)
        named = [
            own if word is None or (row >= 0 and tree.name[row]) else word
            for row, own, word in zip(node.tolist(), named, common, strict=True)
        ]
    known = node if ids is None else np.where(node < 0, -1, ids[np.maximum(node, 0)])
    label = _labels(tree, node, tip, counts, labels, ids, named, common)
    return PicturedTree(
        parent, tip, folded, counts, height, place, chosen, colour, label, named,
        _named(tree, node) if labels == "name" else np.zeros(len(node), dtype=bool),
        _support(tree, node, tip), legend, style,
        tuple(strip(column, known[tip], style) for column in strips),
        _unseen(tree, root, node) if labels == "name" else (),
    )  # fmt: skip


def _named(tree: Tree, node: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    own = np.maximum(node, 0)
    named = np.array([bool(name) for name in tree.name[own].tolist()], dtype=np.bool_)
    named &= (node >= 0) & (tree.n_children[own] > 0)
    named[0] = False
    return named


def _unseen(tree: Tree, root: int, node: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """The names of inner nodes under `root` that are not among `node`. O(n_nodes)."""
    below = np.arange(tree.n_nodes) if root == 0 else walk.part(tree, root).node
    inner = below[tree.n_children[below] > 0]
    unseen = np.setdiff1d(inner, node)
    named = np.array([row for row in unseen.tolist() if tree.name[row]], dtype=np.int64)
    largest = np.argsort(-leaf_counts(tree)[named], kind="stable")
    return tuple(tree.name[named[largest]].tolist())


def _support(
    tree: Tree, node: npt.NDArray[np.int64], tip: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64] | None:
    if "support" not in tree.extra:
        return None
    support = np.asarray(tree.extra["support"], dtype=np.float64)
    return np.where(tip | (node < 0), np.nan, support[np.maximum(node, 0)])


def _called(
    tree: Tree,
    node: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    labels: Literal["name", "id"],
    ids: Int | None,
) -> list[str]:
    """What each node is called: by its name or its id, else as `called` has it; "" for nothing."""
    if labels == "id":
        known = node if ids is None else ids[np.maximum(node, 0)]
        return [str(own) for own in known.tolist()]
    text = [readable(tree.name[row] or "") if row >= 0 else "" for row in node.tolist()]
    own = np.maximum(node, 0)
    for place, name in enumerate(called(tree, own, np.where(node < 0, 0, counts))):
        if name is not None:
            text[place] = readable(name)
    return text


def _labels(
    tree: Tree,
    node: npt.NDArray[np.int64],
    tip: npt.NDArray[np.bool_],
    counts: npt.NDArray[np.int64],
    labels: Literal["name", "id"],
    ids: Int | None,
    names: list[str],
    common: list[str | None],
) -> list[str]:
    """common : what the rows under each node are, which stands after the name of a tip."""
    text: list[str] = []
    for place, (row, end, leaves) in enumerate(
        zip(node.tolist(), tip.tolist(), counts.tolist(), strict=True)
    ):
        word = common[place]
        if row < 0:
            text.append(f"{leaves:,} more")
        elif end and leaves > 1:
            count, name = f" ({leaves:,})", names[place]
            if word is not None and name != word:
                name = _beside(name.removesuffix(count), word)
            text.append(name.removesuffix(count) + count if name else f"{leaves:,} leaves")
        elif end and word is not None:
            text.append(word if names[place] == word else _beside(names[place], word))
        elif end and not tree.name[row]:
            text.append(str(row if ids is None else int(ids[row])))
        else:
            text.append(names[place] if end or (labels == "name" and tree.name[row]) else "")
    return text


def _beside(name: str, word: str) -> str:
    """A name and the label that most rows have; once where they are the same."""
    return word if word.rpartition(" ")[0] == name else f"{name}: {word}"


def hues(
    tree: Tree, root: int, categories: Categories, style: Style
) -> tuple[dict[int, str], list[tuple[str, str]]]:
    """The colour of each category, and the legend of those under `root`.

    A category has the same colour whatever part of the tree is drawn: the most frequent labels
    have colours, the others grey; clusters have `Style.cluster_colours`; noise is grey.
    """
    ranges = spans(tree)
    begin = int(ranges.start[root])
    of_leaf = categories.of_leaf[begin : begin + int(ranges.count[root])]
    times = np.bincount(of_leaf + 1, minlength=categories.n_categories + 1)
    without, here = bool(times[0]), np.flatnonzero(times[1:]).tolist()
    if categories.node is not None:
        hue = dict(enumerate(style.cluster_colours(categories.size)))
        noise = [(style.other, NAME)] if without and categories.noise is not None else []
        rank = {colour: place for place, colour in enumerate(style.colours)}
        strong = sorted((c for c in here if hue[c] in rank), key=lambda c: rank[hue[c]])
        names = telling_names(tree, categories.node[strong])
        named = [(hue[c], name) for c, name in zip(strong, names, strict=True) if name]
        named = named if len(named) == len(strong) else []
        n_pale = len(here) - len(strong)
        pale = [] if not n_pale else [(style.pale[0], "1 smaller cluster, in a pale colour")]
        if n_pale > 1:
            pale = [(style.pale[0], f"{n_pale:,} smaller clusters, in pale colours by turns")]
        return hue, [*named, *pale, *noise]
    hue = dict(enumerate(style.colours[: categories.n_categories]))
    texts = categories.texts(tree, len(hue))
    legend = [(hue[category], texts[category]) for category in here if category in hue]
    n_others = len(here) - len(legend)
    if n_others:
        others = f"{n_others} others"
        legend.append((style.other, f"{others} or none" if without else others))
    elif without:
        legend.append((style.other, "none"))
    return hue, legend


def _colours(
    tree: Tree,
    categories: Categories,
    node: npt.NDArray[np.int64],
    folded: npt.NDArray[np.bool_],
    hue: dict[int, str],
    style: Style,
) -> list[str]:
    """The colours of nodes: a subtree of one category has its colour; mixed folded tips fade."""
    shown, share = shared(tree, categories, np.maximum(node, 0), folded & (node >= 0))
    colour = []
    for row, category, part in zip(node.tolist(), shown.tolist(), share.tolist(), strict=True):
        if row < 0 or part == 0.0:
            colour.append(style.ink)
        else:
            colour.append(mix(style.ink, hue.get(category, style.other), part))
    return colour


def _painted(
    tree: Tree,
    node: npt.NDArray[np.int64],
    parent: npt.NDArray[np.int64],
    colour: list[str],
    painted: Mapping[int, str],
) -> list[str]:
    """The colours; painted nodes also colour all below them. `node` is in preorder."""
    above = (painted.get(row) for row in reversed(path(tree, int(node[0])).tolist()))
    own = [next((paint for paint in above if paint is not None), None)]
    for row, over in zip(node[1:].tolist(), parent[1:].tolist(), strict=True):
        own.append(painted.get(row, own[over]))
    return [plain if paint is None else paint for paint, plain in zip(own, colour, strict=True)]
