"""What other tools write in trees, and what of it is read: support, comments, heights below 0.

Programs write support in many places: as the label of an inner node (`98`, or several values as
`98/0.95`), as a number in brackets (`:1[98]`), or under a key of an annotation
(`[&posterior=0.98]`, `[&&NHX:B=98]`). Here it is on one scale, the share of runs from 0 to 1. What
is not support has no place in a tree here, and is counted.

Heights may be negative by rounding alone: a subtraction leaves -1e-16 for 0. And a text may be
Newick or Nexus for certain, whatever it was sent as.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from models.arrays import Float, Mask
from models.errors import listed, shown
from models.tree.parents import under
from models.tree.tree import Tree

KEYS = (
    "support",
    "posterior",
    "posterior_probability",
    "prob",
    "probability",
    "pp",
    "bootstrap",
    "bootstrap_support",
    "bootstraps",
    "ufboot",
    "sh_alrt",
    "sh-alrt",
    "alrt",
    "bs",
    "confidence",
    "confidence_values",
)
"""Names of fields and annotations that are support, the most telling first; in lower case."""


def scaled(values: Float, where: str) -> tuple[Float | None, str]:
    """The support as shares, or None where the values are neither shares nor percent, and a
    warning of what was decided.

    values : (n_nodes,) with NaN for nodes without one. where : what they were read from, for the
    warning. The whole tree has one scale: percent if any value is above 1.
    """
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    if low < 0 or high > 100:
        return None, (
            f"{known.size} number(s) from {where}, {low:g} to {high:g}, are neither shares nor "
            "percent, and were not read as support."
        )
    how = (
        f"as percent, since the greatest is {high:g}, and divided by 100"
        if high > 1
        else "as shares from 0 to 1, since none is greater than 1"
    )
    return (
        values / 100 if high > 1 else values,
        f"The support of {known.size} node(s) was read from {where} {how}.",
    )


NAME = "name"
"""The annotation `[&name]` marks a label of an inner node that is a name, whatever it looks
like."""

# Possessive, so that long labels are not gone through again and again.
_NUMBER = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?+"
_SUPPORT = re.compile(rf"\s*+({_NUMBER})%?\s*+(?:/\s*+{_NUMBER}%?\s*+)*+", re.ASCII)
_WITH_NAME = re.compile(rf"({_NUMBER}):(.+)", re.ASCII | re.DOTALL)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_FIELD = re.compile(r'([^=,{}"]+)(?:=(\{[^{}]*\}|"[^"]*"|[^,]*))?')
_NHX, _BRACKET = "NHX B", "the brackets [...]"
_ORDER = (*KEYS, "label", _NHX, _BRACKET)


def is_support(label: str) -> bool:
    """Whether a label looks like support: a number, also in percent, or several with `/`."""
    return _SUPPORT.fullmatch(label) is not None


def has_support(label: str) -> bool:
    """Whether a label looks like support before a name: `100.0:d__Bacteria`."""
    return _WITH_NAME.fullmatch(label) is not None


@dataclass(frozen=True, slots=True)
class SortedLabels:
    """Labels of inner nodes, sorted into names and support.

    name : of each labelled node, None where the label is support alone. support : (n_nodes,) on one
    scale, NaN where there is none; None for a tree without. warnings : what was decided.
    """

    name: Mapping[int, str | None]
    support: Float | None
    warnings: tuple[str, ...]


class Comments:
    """The comments of a tree, sorted while it is read."""

    def __init__(self) -> None:
        self._values: dict[str, dict[int, float]] = {}
        self._left_out: Counter[str] = Counter()
        self._plain: list[str] = []
        self._n_plain = 0
        self._unrooted = False
        self.names: set[int] = set()
        """Nodes whose label is a name for certain."""

    def add(self, node: int, text: str) -> None:
        """A comment, without its brackets, after a node; -1 where it is none's."""
        if text[:5].upper() == "&&NHX":
            for part in text[5:].split(":"):
                key, _, value = part.partition("=")
                name = key.strip()
                if name:
                    self._field(node, name if name.lower() in KEYS else f"NHX {name}", value)
        elif text[:1] == "&":
            self._annotation(node, text[1:])
        elif node >= 0 and (number := _number(text)) is not None:
            self._values.setdefault(_BRACKET, {})[node] = number
        elif text.strip():
            self._n_plain += 1
            if len(self._plain) < 3:
                self._plain.append(text.strip())

    def _annotation(self, node: int, text: str) -> None:
        word = text.strip().lower()
        if word == "r":
            return
        if word == "u":
            self._unrooted = True
        else:
            for match in _FIELD.finditer(text):
                if match[0].strip() == NAME:
                    self.names.add(node)
                else:
                    self._field(node, match[1].strip(), match[2] or "")

    def _field(self, node: int, key: str, value: str) -> None:
        known = key if key == _NHX else key.lower()
        number = _number(value.strip('"')) if node >= 0 and known in _ORDER else None
        if number is None:
            self._left_out[key] += 1
        else:
            self._values.setdefault(known, {})[node] = number

    def support(self, inner: Mask | None, n_nodes: int) -> tuple[Float | None, tuple[str, ...]]:
        """(n_nodes,) the support that annotations give, None for none; and what was decided.

        The first of the known keys that inner nodes have is read; what leaves have under another
        key than `support` is left out, since a leaf is in every tree. inner : (n_nodes,) which
        nodes are inner ones; None: what the comments have is not needed.
        """
        warnings: list[str] = []
        column: Float | None = None
        for key in _ORDER:
            of_node = self._values.get(key)
            if of_node is None:
                continue
            kept = {
                node: number
                for node, number in of_node.items()
                if inner is not None and (inner[node] or key == "support")
            }
            if column is None and kept:
                values = np.full(n_nodes, np.nan)
                values[list(kept)] = list(kept.values())
                where = key if key == _BRACKET else f"the annotation {shown(key)}"
                column, sentence = scaled(values, where)
                warnings.append(sentence)
                if column is not None:
                    if len(kept) < len(of_node):
                        warnings.append(
                            f"The annotation {shown(key)} of {len(of_node) - len(kept)} leaf or "
                            "leaves was left out."
                        )
                    continue
            self._left_out[key] += len(of_node)
        return column, tuple(warnings)

    def left_out(self, where: str = "the tree") -> tuple[str, ...]:
        """Warnings of what is read nowhere; after `support`."""
        warnings = []
        if self._unrooted:
            warnings.append(
                "The tree says that it is unrooted ([&U]); the node that its text begins with was "
                "taken as the root."
            )
        if self._left_out:
            total = sum(self._left_out.values())
            warnings.append(
                f"{total} value(s) of annotations were left out: {listed(sorted(self._left_out))}."
            )
        if self._n_plain:
            warnings.append(
                f"{self._n_plain} comment(s) in {where} were left out: {listed(self._plain, 1)}."
                if self._n_plain == 1
                else f"{self._n_plain} comment(s) in {where} were left out, the first "
                f"{listed(self._plain[:1])}."
            )
        return tuple(warnings)


def sorted_labels(
    labels: Mapping[int, str], quoted: Collection[int], n_nodes: int, numbered: bool
) -> SortedLabels:
    """Decide whether the labels of inner nodes are names or support, for all of them together.

    They are support if each is a number without quotes, several numbers as `98/0.95` (the first is
    taken), or a number and a name as `100:Bacteria`; a root may have a name beside. Numbers that
    are neither shares nor percent are names.

    labels : of inner nodes, without those that are names for certain. quoted : nodes with a label
    in quotes. numbered : whether every node has a whole number, greater than its parent's, as node
    ids are; these are names.
    """
    below = {node: label for node, label in labels.items() if node != 0 or is_support(label)}
    supporting = {
        node: label
        for node, label in below.items()
        if (is_support(label) and node not in quoted) or has_support(label)
    }
    if not supporting:
        return SortedLabels({}, None, ())
    if numbered:
        sentence = (
            "Every node is called by a whole number, greater than its parent's: these were taken "
            "as names."
        )
        return SortedLabels({}, None, (sentence,))
    numbers = [label for label in supporting.values() if is_support(label)]
    if len(supporting) < len(below):
        sentence = (
            f"{len(numbers)} of {len(below)} labels of inner nodes are numbers, "
            f"{listed(numbers, 3)}; since others are not, all were kept as names."
        )
        return SortedLabels({}, None, (sentence,) if numbers else ())
    values = np.full(n_nodes, np.nan)
    name: dict[int, str | None] = {}
    several = 0
    for node, label in supporting.items():
        with_name = _WITH_NAME.fullmatch(label)
        name[node] = None if with_name is None else with_name[2].strip()
        match = with_name or _SUPPORT.fullmatch(label)
        assert match is not None, "the label was seen to be support"
        number = float(match[1])
        values[node] = number if math.isfinite(number) else 1e300
        several += with_name is None and "/" in label
    column, sentence = scaled(values, "labels of inner nodes (all are numbers)")
    if column is None:
        return SortedLabels({}, None, (f"{sentence} The labels were kept as names.",))
    warnings = [sentence]
    if several:
        warnings.append(
            f"{several} label(s) have several values with '/' between them; the first of each was "
            "read as support, the others were left out."
        )
    if len(numbers) < len(supporting):
        warnings.append(
            f"{len(supporting) - len(numbers)} label(s) are a number and a name with ':' between "
            "them; the number was read as support."
        )
    return SortedLabels(name, column, tuple(warnings))


def are_node_ids(labels: Sequence[str | None], parent: Sequence[int]) -> bool:
    """Whether every node has a whole number as its label, greater than its parent's."""
    numbers: list[int] = []
    for label, above in zip(labels, parent, strict=True):
        if label is None or not _WHOLE.fullmatch(label):
            return False
        number = int(label)
        if above >= 0 and number <= numbers[above]:
            return False
        numbers.append(number)
    return True


def _number(text: str) -> float | None:
    match = _SUPPORT.fullmatch(text)
    if match is None:
        return None
    number = float(match[1])
    return number if math.isfinite(number) else None


RELATIVE = 1e-9
"""How far below 0 rounding may lead, relative to the largest absolute value."""


def negligible(values: Float, scale: float) -> Mask:
    """Which values are below 0 by no more than `RELATIVE` of the scale."""
    below: Mask = (values < 0) & (values >= -RELATIVE * scale)
    return below


def forgiven(values: Float) -> tuple[Float, int]:
    """The values with 0 for those that are negligibly negative, and how many these are.

    The scale is the largest absolute value. Others stay as they are. O(n).
    """
    if not values.size or not (values < 0).any():
        return values, 0
    some = negligible(values, float(np.abs(values).max()))
    return np.where(some, 0.0, values), int(some.sum())


def counted(number: int, what: str) -> tuple[str, ...]:
    """The warning of values set to 0; none for none. what : `branch length`, `height`."""
    if not number:
        return ()
    noun = f"{what} was" if number == 1 else f"{what}s were"
    return (f"{number} {noun} below 0 by rounding alone and became 0.",)


def risen(tree: Tree) -> tuple[Tree, int]:
    """The tree with each node as high as the highest below it, if none needs more than rounding,
    and how many nodes rose; else the tree unchanged, and 0. O(n_nodes log depth)."""
    above = tree.parent[1:]
    lengths = tree.height[above] - tree.height[1:]
    falls = lengths < 0
    if not falls.any():
        return tree, 0
    if not negligible(lengths, float(np.abs(tree.height).max()))[falls].all():
        return tree, 0
    height = under(tree.parent, tree.height, np.maximum.at)
    return replace(tree, height=height, monotone=True), int((height != tree.height).sum())


_LEADING_COMMENTS = re.compile(r"(?:\s*+\[[^\]]*+\])*+\s*+")
_OPENS = re.compile(_LEADING_COMMENTS.pattern + r"\(")


def opens(text: str) -> bool:
    """Whether a text begins with a bracket, after comments: then it is Newick if it ends with `;`
    or a comment."""
    return _OPENS.match(text) is not None


def text_format(text: str) -> Literal["newick", "nexus"] | None:
    """The format that a text shows for certain: `newick` or `nexus`; None for another.

    Newick begins with a bracket, after comments, and either ends with `;` or has no slash; also
    where words come first, as in `tree one = (a,b);`, so that its reader says what is wrong.
    O(len(text)).
    """
    begin = _LEADING_COMMENTS.match(text)
    lead = text[begin.end() if begin else 0 :]
    if text.lstrip()[:6].upper() == "#NEXUS":
        return "nexus"
    ends = text.rstrip().endswith((";", "]"))
    brackets = "(" in lead and "," in lead and ")" in lead and "/" not in lead
    if lead.startswith("("):
        return "newick" if ends or brackets else None
    return "newick" if ends and brackets and lead.count(";") == 1 else None
