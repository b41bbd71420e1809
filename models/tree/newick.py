"""Newick text: written in pieces, read without recursion.

Branch length = parent height - child height. Heights read back are the greatest distance from the
root to a leaf minus a node's own distance from the root, so lengths are kept up to rounding and
leaves may lie above 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree
from models.tree.build import from_parents
from models.tree.tree import Tree
from models.tree.walk import ranks

Labels = Literal["name", "id"]

_PLAIN = re.compile(r"[A-Za-z0-9.\-]+")
_CHUNK = 8192

# Blanks and comments have no group. Quotes hide their contents. Every character matches some group,
# so the text is never searched for the next match, which would be quadratic.
_TOKEN = re.compile(
    r"[ \t\r\n\f\v]+|\[[^\]]*+\]"
    r"|(?P<open>\()|(?P<close>\))|(?P<comma>,)|(?P<colon>:)|(?P<end>;)"
    r"|(?P<quoted>'[^']*+(?:''[^']*+)*+')"
    r"|(?P<word>[^ \t\r\n\f\v()\[\]',:;]+)"
    r"|(?P<alone>[\[\]'])"
)


def write(
    tree: Tree,
    *,
    labels: Labels = "name",
    ids: npt.NDArray[np.int64] | None = None,
    comments: npt.NDArray[np.object_] | None = None,
) -> Iterator[str]:
    """The tree as one line of Newick, in pieces of about 8,000 nodes.

    An empty label, or one with a character outside `[A-Za-z0-9.-]`, is put in single quotes, with
    `'` doubled. A node whose name is None has no label, except that an inner one shows its
    bootstrap support if the tree has the column `support`. Lengths are exact (`repr`); where
    heights fall from child to parent they are negative, which `read` refuses. The root has no
    length.

    labels : "name", or "id" for node ids at every node.
    ids : (n_nodes,) the ids to write instead of row numbers, for a part of a tree.
    comments : (n_nodes,) what follows a label in brackets, without them; None for nothing.

    O(n_nodes log depth) before the first piece, O(n_nodes) numbers of memory.
    """
    names = _with_support(tree)

    def labels_of(nodes: npt.NDArray[np.int64]) -> list[str]:
        if labels == "id":
            return [quoted_if_odd(str(i)) for i in (nodes if ids is None else ids[nodes]).tolist()]
        return ["" if name is None else quoted_if_odd(name) for name in names[nodes].tolist()]

    def comments_of(nodes: npt.NDArray[np.int64]) -> list[str]:
        if comments is None:
            return [""] * nodes.size
        return ["" if text is None else f"[{text}]" for text in comments[nodes].tolist()]

    order, opens, last = _postorder(tree)
    for start in range(0, tree.n_nodes - 1, _CHUNK):
        nodes = order[start : min(start + _CHUNK, tree.n_nodes - 1)]
        length = tree.height[tree.parent[nodes]] - tree.height[nodes]
        rows = zip(
            opens[nodes].tolist(),
            labels_of(nodes),
            comments_of(nodes),
            length.tolist(),
            last[nodes].tolist(),
            strict=True,
        )
        yield "".join(
            [
                f"{')' if n < 0 else '(' * n}{label}{comment}:{length!r}{'' if ends else ','}"
                for n, label, comment, length, ends in rows
            ]
        )
    root = labels_of(order[-1:])[0] + comments_of(order[-1:])[0]
    yield (")" if tree.n_nodes > 1 else "") + root + ";\n"


def _with_support(tree: Tree) -> npt.NDArray[np.object_]:
    """The names, with the bootstrap support for unnamed inner nodes, as is usual."""
    if "support" not in tree.extra:
        return tree.name
    support = np.asarray(tree.extra["support"], dtype=np.float64)
    names = tree.name.copy()
    for node in np.flatnonzero(np.isfinite(support) & (tree.n_children > 0)).tolist():
        if names[node] is None:
            names[node] = f"{support[node]:.4g}"
    return names


def quoted(label: str) -> str:
    """A label in single quotes with `'` doubled, as in Newick and Nexus."""
    return "'" + label.replace("'", "''") + "'"


def quoted_if_odd(label: str) -> str:
    """A label, in quotes unless it has only characters of `[A-Za-z0-9.-]`."""
    return label if _PLAIN.fullmatch(label) else quoted(label)


def read(text: str, begin: int = 0) -> Tree:
    """The one tree in a Newick text. Rows are its leaves from left to right, nodes in preorder.

    Labels may be quoted (`''` is a quote); underscores are kept, as in ete4 and unlike the default
    of DendroPy, which turns them into blanks. Names of inner nodes are kept; no label is None.
    Comments in `[]`, including a leading `[&R]`, and a byte-order mark are skipped. A missing
    length is 1; the root's is ignored.

    begin : where in the text the tree begins.

    Raises InvalidTree, naming the character counted from 1, for an empty text, brackets that do not
    match, a missing `;`, text after it, two labels in a row, an apostrophe within a label that has
    no quotes, and a length that is negative or not a finite number. O(len(text)).
    """
    rows = _Rows()
    # The bracket around the next node, the node just read, and what may come next.
    within = node = -1
    state = _NODE
    for kind, part, at in tokens(text, begin or int(text.startswith("\ufeff"))):
        if state == _DONE:
            raise _error("There is text after the tree's ';'", at)
        if state == _LENGTH:
            rows.length[node] = _length(kind, part, at)
            state = _END
        elif kind == "open":
            if state != _NODE:
                raise _error("A '(' stands where ',', ')' or ';' is expected", at)
            within = rows.add(within)
        elif state == _NODE and kind == "end" and not rows.parent:
            raise InvalidTree("The text holds no tree.", position=at + 1)
        else:
            # Any other token belongs to a node or ends one: a leaf begins here if none has.
            if state == _NODE:
                node = rows.add(within)
                state = _LABEL
            if kind in ("word", "quoted"):
                if state != _LABEL:
                    raise _error(
                        "A label stands where ',', ')' or ';' is expected (a label with blanks "
                        "needs single quotes)",
                        at,
                    )
                rows.name[node] = part
                state = _COLON
            elif kind == "colon":
                if state == _END:
                    raise _error("A node has two lengths", at)
                state = _LENGTH
            elif kind == "end":
                if within >= 0:
                    raise _error("A '(' is never closed: the tree ends", at)
                state = _DONE
            elif within < 0:
                raise _error(f"A {part!r} stands outside all brackets", at)
            elif kind == "comma":
                state = _NODE
            else:
                node, within = within, rows.parent[within]
                state = _LABEL
    if not rows.parent:
        raise InvalidTree("The text holds no tree.", position=1)
    if state != _DONE:
        raise _error("The tree does not end with ';': the text ends", len(text))
    return rows.tree()


# States, by what may come next: a node; a label or what follows it; a length or what follows it;
# the length itself; the end of the node; nothing.
_NODE, _LABEL, _COLON, _LENGTH, _END, _DONE = range(6)


class _Rows:
    """The nodes read so far."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.name: list[str | None] = []
        self.length: list[float] = []

    def add(self, parent: int) -> int:
        self.parent.append(parent)
        self.name.append(None)
        self.length.append(1.0)
        return len(self.parent) - 1

    def tree(self) -> Tree:
        distance = [0.0] * len(self.parent)
        for node in range(1, len(distance)):
            distance[node] = distance[self.parent[node]] + self.length[node]
        far = np.array(distance)
        if not math.isfinite(far.max()):
            raise InvalidTree("The sum of the branch lengths from the root to a leaf overflows.")
        return from_parents(self.parent, far.max() - far, self.name)


def _postorder(
    tree: Tree,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """The nodes in postorder, which is the order of labels in Newick.

    For each node (row) also the number of brackets that open right before it, -1 for an inner node,
    and whether it is a last child.
    """
    rank, weight = ranks(tree.parent)
    order = np.empty_like(rank)
    # All nodes of lower rank except its ancestors precede v, and so do all nodes below it.
    order[rank + weight - 1 - tree.depth] = np.arange(tree.n_nodes)
    opens = np.full(tree.n_nodes, -1, dtype=np.int32)
    leaves = order[tree.n_children[order] == 0]
    # In preorder, the nodes between two leaves are those whose first leaf is the second.
    opens[leaves] = np.diff(rank[leaves], prepend=-1) - 1
    end = rank + weight
    return order, opens, end == end[tree.parent]


def tokens(text: str, place: int) -> Iterator[tuple[str, str, int]]:
    """The kind, text (without the quotes of a label) and place of each significant token."""
    word_end = -1
    for match in _TOKEN.finditer(text, place):
        kind = match.lastgroup
        if kind is None:
            continue
        part = match.group()
        if part[0] == "'" and match.start() == word_end:
            raise _error(
                "An apostrophe within a label needs quotes around the label, with the apostrophe "
                "doubled, as in 'it''s'; one without stands",
                match.start(),
            )
        word_end = match.end() if kind == "word" else -1
        if kind == "alone":
            what = {"'": "A quote is never closed", "[": "A comment is never closed"}
            raise _error(what.get(part, "A ']' closes no comment"), match.start())
        if kind == "quoted":
            part = part[1:-1].replace("''", "'")
        yield kind, part, match.start()


def _length(kind: str, part: str, at: int) -> float:
    try:
        length = float(part) if kind == "word" and "_" not in part else math.nan
    except ValueError:
        length = math.nan
    if not math.isfinite(length):
        raise _error(f"A branch length must be a finite number, not {part[:40]!r}", at)
    if length < 0:
        raise _error(f"A branch length is negative ({part[:40]}), which no height allows", at)
    return length


def _error(what: str, at: int) -> InvalidTree:
    return InvalidTree(f"{what} at character {at + 1}.", position=at + 1)
