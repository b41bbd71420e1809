"""Newick text: written in pieces, read without recursion.

Branch length = parent height - child height. Heights read back are the greatest distance from the
root to a leaf minus a node's own distance from the root, so lengths are kept up to rounding and
leaves may lie above 0.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, TextIO

import numpy as np
import numpy.typing as npt

from models.arrays import Float
from models.errors import InvalidTree, shown
from models.tree import dialects
from models.tree.build import from_parents
from models.tree.dialects import (
    NAME,
    Comments,
    SortedLabels,
    are_node_ids,
    has_support,
    is_support,
    sorted_labels,
)
from models.tree.tree import Tree
from models.tree.walk import ranks

Labels = Literal["name", "id"]

_HYBRID = re.compile(r"#(H|LGT|R)\d+$")
_PLAIN = re.compile(r"[A-Za-z0-9.\-]+")
_CHUNK = 8192
PIECE = 1 << 20
"""Characters of a file that are read at a time."""

# Blanks have no group. Quotes hide their contents. Every character matches something, so that the
# text is never searched for the next match, which would be quadratic.
_TOKEN = re.compile(
    r"[ \t\r\n\f\v]+|(?P<comment>\[[^\]]*+\])"
    r"|(?P<open>\()|(?P<close>\))|(?P<comma>,)|(?P<colon>:)|(?P<end>;)"
    r"|(?P<quoted>'[^']*+(?:''[^']*+)*+')|(?P<double>\"[^\"]*+\"(?=[ \t\r\n\f\v()\[,:;]|\Z))"
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
    `'` doubled; so is the name of an inner node that is a number, which would be read as support,
    and one such as `100:a` is followed by `[&name]`. A node whose name is None has no label.

    The column `support` is shown as the labels of inner nodes where none of these has a name and no
    leaf has support, else as `[&support=0.98]` after the labels; not with `labels="id"`. Lengths
    and support are exact (`repr`); where heights fall from child to parent lengths are negative,
    which `read` refuses. The root has no length.

    labels : "name", or "id" for node ids at every node.
    ids : (n_nodes,) the ids to write instead of row numbers, for a part of a tree.
    comments : (n_nodes,) what follows a label in brackets, without them; None for nothing.

    O(n_nodes log depth) before the first piece, O(n_nodes) numbers of memory.
    """
    comments = comments if labels == "id" else _annotated(tree, comments)
    support = None if labels == "id" else _shown_support(tree)

    def labels_of(nodes: npt.NDArray[np.int64]) -> list[str]:
        if labels == "id":
            return [quoted_if_odd(str(i)) for i in (nodes if ids is None else ids[nodes]).tolist()]
        if support is not None:
            return [
                _shortest(share) if share == share else _label(name, False)
                for name, share in zip(
                    tree.name[nodes].tolist(), support[nodes].tolist(), strict=True
                )
            ]
        inner = (tree.n_children[nodes] > 0).tolist()
        return list(map(_label, tree.name[nodes].tolist(), inner))

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


def _support(tree: Tree) -> npt.NDArray[np.float64] | None:
    """(n_nodes,) the support of the nodes; None for a tree in which none has any."""
    if "support" not in tree.extra:
        return None
    support = np.asarray(tree.extra["support"], dtype=np.float64)
    finite = np.isfinite(support)
    return np.where(finite, support, np.nan) if finite.any() else None


def _shown_support(tree: Tree) -> npt.NDArray[np.float64] | None:
    """The support where the labels of inner nodes can be it; else None."""
    support = _support(tree)
    if support is None:
        return None
    leaf = tree.n_children == 0
    named = any(name is not None for name in tree.name[~leaf].tolist())
    return None if named or np.isfinite(support[leaf]).any() else support


def _annotated(
    tree: Tree, comments: npt.NDArray[np.object_] | None
) -> npt.NDArray[np.object_] | None:
    """The comments with what the labels do not show: support, and that a label is a name."""
    support = _support(tree)
    inner = np.flatnonzero(tree.n_children).tolist()
    marked = [node for node in inner if tree.name[node] and has_support(tree.name[node])]
    if not marked and (support is None or _shown_support(tree) is not None):
        return comments
    texts = np.full(tree.n_nodes, None, dtype=object) if comments is None else comments.copy()
    for node in marked:
        texts[node] = _both(texts[node], f"&{NAME}")
    if support is not None and _shown_support(tree) is None:
        for node in np.flatnonzero(np.isfinite(support)).tolist():
            texts[node] = _both(texts[node], f"&support={_shortest(float(support[node]))}")
    return texts


def _shortest(number: float) -> str:
    return repr(number).removesuffix(".0")


def _both(comment: str | None, another: str) -> str:
    """Two annotations as one."""
    return another if comment is None else f"{comment},{another[1:]}"


def _label(name: str | None, inner: bool) -> str:
    """A name as a label; that of an inner node in quotes if it could be support."""
    if name is None:
        return ""
    return quoted(name) if inner and is_support(name) else quoted_if_odd(name)


def quoted(label: str) -> str:
    """A label in single quotes with `'` doubled, as in Newick and Nexus."""
    return "'" + label.replace("'", "''") + "'"


def quoted_if_odd(label: str) -> str:
    """A label, in quotes unless it has only characters of `[A-Za-z0-9.-]`."""
    return label if _PLAIN.fullmatch(label) else quoted(label)


def read(text: str, begin: int = 0) -> Tree:
    """The one tree in a Newick text. Rows are its leaves from left to right, nodes in preorder.

    Labels may be in single quotes (`''` is a quote), or in double ones; underscores are kept, as in
    ete4 and unlike the default of DendroPy, which turns them into blanks. No label is None. Labels
    of inner nodes are names, or, where all of them are numbers without quotes, the column `support`
    (`annotations.sorted_labels`); else support is read from comments. A byte-order mark is skipped.
    A missing length is 1; the root's is left out, and one below 0 by rounding is 0.

    What was decided or left out is in the tree's `warnings`.

    begin : where in the text the tree begins.

    Raises InvalidTree, naming the character counted from 1, for an empty text, brackets that do not
    match, a missing `;`, text after it, two labels in a row, an apostrophe within a label that has
    no quotes, a length that is not a finite number, one of a leaf that is negative; for lengths
    with decimal commas, and for a network. The length of an inner node may be negative, in a tree
    that is not monotone. O(len(text)).
    """
    return _read(_Source(text), begin)


def read_file(file: TextIO) -> Tree:
    """As `read`, of a text that is read piece by piece: memory holds the nodes, about 20 bytes and
    a name each, and no more of the text than a piece, or the longest label or comment twice."""
    return _read(_Source(file.read(PIECE), file.read), 0)


def _read(source: _Source, begin: int) -> Tree:
    rows = _Rows()
    parent = rows.parent
    # The bracket around the next node, the node just read, and what may come next.
    within = node = -1
    state = _NODE
    for kind, part, at in source.tokens(begin or int(source.text.startswith("\ufeff"))):
        if kind == "comment":
            rows.comments.add(-1 if state in (_NODE, _DONE) else node, part)
        elif state == _DONE:
            raise _error(
                "There is text after the tree's ';' (one tree is accepted; import several one by "
                "one)",
                at,
            )
        elif state == _LENGTH:
            rows.set_length(node, _length(kind, part, at), at)
            state = _END
        elif kind == "open":
            if state != _NODE:
                raise _error("A '(' stands where ',', ')' or ';' is expected", at)
            within = rows.add(within)
        elif state == _NODE and kind == "end" and not parent:
            raise InvalidTree("The text holds no tree.", position=at + 1)
        else:
            # Any other token belongs to a node or ends one: a leaf begins here if none has.
            if state == _NODE:
                node = rows.add(within)
                state = _LABEL
            if kind in ("word", "quoted", "double"):
                if state != _LABEL:
                    raise _error(
                        "A label stands where ',', ')' or ';' is expected (a label with blanks "
                        "needs single quotes)",
                        at,
                    )
                rows.name[node] = part
                if kind != "word":
                    rows.quoted[node] = 1
                    rows.n_double += kind == "double"
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
                node, within = within, parent[within]
                state = _LABEL
    if not parent:
        raise InvalidTree("The text holds no tree.", position=1)
    if state != _DONE:
        raise _error("The tree does not end with ';': the text ends", source.length)
    return rows.tree()


# States, by what may come next: a node; a label or what follows it; a length or what follows it;
# the length itself; the end of the node; nothing.
_NODE, _LABEL, _COLON, _LENGTH, _END, _DONE = range(6)


_DECIMALS = re.compile(r"\d+([eE][+-]?\d+)?", re.ASCII)

_MISSING = 1.0
"""The length of a branch that has none."""


def _is_broken(length: float) -> bool:
    return not length.is_integer()


class _Rows:
    """The nodes read so far."""

    def __init__(self) -> None:
        self.parent = array("i")
        self.name: list[str | None] = []
        self.length = array("d")
        self.quoted = bytearray()
        self._bare = bytearray()
        self.comments = Comments()
        self.n_double = 0
        self._n_given = self._n_falls = 0
        self._below_zero: dict[int, int] = {}

    def add(self, parent: int) -> int:
        self.parent.append(parent)
        self.name.append(None)
        self.length.append(_MISSING)
        self.quoted.append(0)
        self._bare.append(1)
        return len(self.parent) - 1

    def set_length(self, node: int, length: float, at: int) -> None:
        self.length[node] = length
        self._bare[node] = 0
        self._n_given += node > 0
        if length < 0 and node > 0:
            self._below_zero[node] = at

    def tree(self) -> Tree:
        """The tree, once: what it is made from is let go on the way.

        Raises InvalidTree for a negative length of a leaf, for lengths too large together, and for
        a network.
        """
        self._refuse_network()
        self._refuse_decimal_commas()
        warnings = self._lengths()
        height = self._distances()
        farthest = height.max()
        if not math.isfinite(farthest):
            raise InvalidTree("The sum of the branch lengths from the root to a leaf overflows.")
        np.subtract(farthest, height, out=height)
        support, decided = self._support()
        name, self.name = self.name, []
        above = np.frombuffer(self.parent, np.intc)
        tree = from_parents(above, height, name, monotone=not self._n_falls)
        return replace(
            tree,
            extra={} if support is None else {"support": support},
            warnings=(*decided, *self.comments.left_out(), *warnings),
        )

    def _refuse_network(self) -> None:
        """Raises InvalidTree for a node with two parents, which stands in the text twice, as
        extended Newick (Cardona et al. 2008) writes it."""
        seen: set[str] = set()
        for node, name in enumerate(self.name):
            hybrid = _HYBRID.search(name) if name is not None and "#" in name else None
            if hybrid is None or self.quoted[node]:
                continue
            if hybrid.group() in seen:
                raise InvalidTree(
                    f"The label {shown(hybrid.group())} stands at two nodes: it marks a hybrid "
                    "node of a network (extended Newick), which has two parents; a tree is "
                    "accepted. Put the labels in single quotes if they are plain names."
                )
            seen.add(hybrid.group())

    def _refuse_decimal_commas(self) -> None:
        """Raises InvalidTree where each node without a length is a leaf that follows another node
        and is called as the digits behind a comma, and all lengths are whole numbers."""
        n_missing = len(self.parent) - 1 - self._n_given
        if not n_missing or not self._n_given or any(map(_is_broken, self.length)):
            return
        found = [
            node
            for node, name in enumerate(self.name)
            if self._bare[node] and not self.quoted[node] and _DECIMALS.fullmatch(name or "")
        ]
        if len(found) != n_missing:
            return
        inner = set(self.parent)
        if not any(node in inner or self.parent[node] == node - 1 for node in found):
            name = self.name[found[0]]
            raise InvalidTree(
                f"The lengths seem to have decimal commas: {n_missing} leaf or leaves, the first "
                f"called {shown(str(name))}, have no length and stand behind a whole number. Write "
                "0.5, not 0,5; or give these leaves lengths, if they are some."
            )

    def _distances(self) -> Float:
        """(n_nodes,) from the root; the lengths go."""
        distance, parent = self.length, self.parent
        distance[0] = 0.0
        for node in range(1, len(distance)):
            distance[node] += distance[parent[node]]
        self.length = array("d")
        return np.frombuffer(distance)

    def _lengths(self) -> tuple[str, ...]:
        """Lengths below 0 by rounding become 0; warnings."""
        lengths = np.array(self.length[1:] if self._below_zero else [])
        scale = float(np.abs(lengths).max(initial=0.0))
        inner = set(self.parent) if self._below_zero else set()
        for node, at in self._below_zero.items():
            if -self.length[node] <= dialects.RELATIVE * scale:
                self.length[node] = 0.0
            elif node in inner:
                self._n_falls += 1
            else:
                raise _error(
                    f"The branch length of a leaf is negative ({self.length[node]!r}), which no "
                    "height allows",
                    at,
                )
        warnings = dialects.counted(len(self._below_zero) - self._n_falls, "branch length")
        if self.n_double:
            warnings += (f"{self.n_double} label(s) in double quotes were read without these.",)
        n_missing = len(self.parent) - 1 - self._n_given
        if n_missing and self._n_given:
            warnings += (f"{n_missing} node(s) have no branch length; 1 was taken.",)
        if self.length[0] not in (0.0, _MISSING):
            warnings += (f"The root's branch length, {self.length[0]:g}, was left out.",)
        return warnings

    def _support(self) -> tuple[npt.NDArray[np.float64] | None, tuple[str, ...]]:
        """The support that labels or comments give, and what was decided; labels that are support
        are no names."""
        n_nodes = len(self.parent)
        inner = np.zeros(n_nodes, dtype=bool)
        inner[np.frombuffer(self.parent, np.intc)[1:]] = True
        names = self.comments.names
        labels = {
            node: name
            for node in np.flatnonzero(inner).tolist()
            if (name := self.name[node]) is not None and node not in names
        }
        quoted = {node for node in labels if self.quoted[node]}
        numbered = bool(labels) and are_node_ids(self.name, self.parent)
        # One name that is certain makes names of all.
        known = (
            SortedLabels({}, None, ())
            if names
            else sorted_labels(labels, quoted, n_nodes, numbered)
        )
        for node, name in known.name.items():
            self.name[node] = name
        own, decided = self.comments.support(inner if known.support is None else None, n_nodes)
        return own if known.support is None else known.support, (*known.warnings, *decided)


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


class _Source:
    """A text, and what is read of it only later.

    text : its beginning. more : gives about so many further characters, none at the end.
    length : of the whole, once all is read.
    """

    def __init__(self, text: str, more: Callable[[int], str] | None = None) -> None:
        self.text = text
        self.length = len(text)
        self._more = more

    def tokens(self, place: int) -> Iterator[tuple[str, str, int]]:
        """The kind, text (without the quotes of a label or the brackets of a comment) and place of
        each token."""
        text, before, word_end = self.text, 0, -1
        if place == len(text):
            # The first piece was a byte-order mark.
            text, place, before = self._following(0), 0, place
        while place < len(text):
            stop = len(text) if self._more is not None else -1
            for match in _TOKEN.finditer(text, place):
                kind = match.lastgroup
                start, end = match.span()
                # A word may begin with a quote that is closed further on.
                is_cut = (
                    end == stop
                    or kind == "alone"
                    or (text[start] == '"' and text.find('"', start + 1) < 0)
                )
                if is_cut and (following := self._following(stop - start)):
                    # The token may go on: it is read again, with what follows.
                    text, place, before = text[start:] + following, 0, before + start
                    break
                if kind is None:
                    continue
                part = match.group()
                at = before + start
                if part[0] == "'" and at == word_end:
                    raise _error(
                        "An apostrophe within a label needs quotes around the label, with the "
                        "apostrophe doubled, as in 'it''s'; one without stands",
                        at,
                    )
                word_end = before + end if kind == "word" else -1
                if kind == "alone":
                    what = {"'": "A quote is never closed", "[": "A comment is never closed"}
                    raise _error(what.get(part, "A ']' closes no comment"), at)
                if kind == "quoted":
                    part = part[1:-1].replace("''", "'")
                elif kind in ("comment", "double"):
                    part = part[1:-1]
                yield kind, part, at
            else:
                return

    def _following(self, n_read: int) -> str:
        """What follows, at least as much as is read again; none at the end."""
        if self._more is None:
            return ""
        following = self._more(max(PIECE, n_read))
        if following:
            self.text = ""
            self.length += len(following)
        else:
            self._more = None
        return following


def tokens(text: str, place: int) -> Iterator[tuple[str, str, int]]:
    """The kind, text and place of each token, as of `_Source.tokens`."""
    return _Source(text).tokens(place)


def _length(kind: str, part: str, at: int) -> float:
    try:
        length = float(part) if kind == "word" and "_" not in part else math.nan
    except ValueError:
        length = math.nan
    if not math.isfinite(length):
        raise _error(f"A branch length must be a finite number, not {shown(part, 40)}", at)
    return length


def _error(what: str, at: int) -> InvalidTree:
    return InvalidTree(f"{what} at character {at + 1}.", position=at + 1)
