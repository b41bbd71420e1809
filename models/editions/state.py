"""The operations of an edition, as they are sent and kept, and the differences that they make.

Everything here costs as much as the operation is long, and the children of the nodes that it names:
never a pass over the tree.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from models.errors import UsageError
from models.tree.tree import Tree

LONGEST_NAME = 1000
LONGEST_NOTE = 4000
MOST_NODES = 10_000
"""The most nodes that one operation lists."""


def _line(text: str) -> str:
    return _without_controls(text, "")


def _lines(text: str) -> str:
    return _without_controls(text, "\n\t")


def _without_controls(text: str, allowed: str) -> str:
    for place, character in enumerate(text):
        if unicodedata.category(character) in ("Cc", "Cs") and character not in allowed:
            raise PydanticCustomError(
                "text",
                "Character {place} is the control character or half pair U+{code}; text is {what}",
                {
                    "place": place,
                    "code": f"{ord(character):04X}",
                    "what": "lines without any but tabs" if allowed else "one line without any",
                },
            )
    if not text.strip():
        raise PydanticCustomError("text", "The text is blank; null takes it away")
    return text


Node = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1, description="A node's id.")]
NodeName = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_line)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(_lines)]
Colour = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$"), AfterValidator(str.lower)]


class _Op(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rename(_Op):
    """Give a node a name."""

    op: Literal["rename"]
    node: Node
    name: NodeName | None = Field(description="One line; null: the name that the tree gives it.")


class Annotate(_Op):
    """Write a note at a node."""

    op: Literal["note"]
    node: Node
    text: Note | None = Field(description="Any lines of text; null: no note.")


class Paint(_Op):
    """Colour a node and all that lies below it, up to nodes with colours of their own."""

    op: Literal["colour"]
    node: Node
    colour: Colour | None = Field(
        description="`#rrggbb`; null: the node inherits its colour.", examples=["#d55e00"]
    )


class Reorder(_Op):
    """Put the children of a node into another order."""

    op: Literal["reorder"]
    node: Node
    children: list[Node] = Field(
        min_length=1, max_length=MOST_NODES, description="All its children, from left to right."
    )


class Collapse(_Op):
    """Show an inner node folded, with what is below it hidden."""

    op: Literal["collapse"]
    node: Node


class Expand(_Op):
    """Show a collapsed node open again."""

    op: Literal["expand"]
    node: Node


class Merge(_Op):
    """Put siblings under one new inner node, where the first of them stood."""

    op: Literal["merge"]
    nodes: list[Node] = Field(
        min_length=2, max_length=MOST_NODES, description="Some, but not all, children of one node."
    )
    name: NodeName | None = Field(None, description="The name of the new node.")


class Dissolve(_Op):
    """Take an inner node out; its children take its place."""

    op: Literal["dissolve"]
    node: Node


Operation = Annotated[
    Rename | Annotate | Paint | Reorder | Collapse | Expand | Merge | Dissolve,
    Field(discriminator="op"),
]


@dataclass(slots=True)
class EditionState:
    """What operations have changed of `tree` so far. New nodes have the ids from n_nodes on.

    names, notes, colours : of nodes that have others than the tree gives them.
    collapsed : inner nodes shown folded.
    children : of nodes whose children or whose order differ from the tree's.
    parent : of nodes that lie below another node than in the tree, new ones included.
    gone : nodes that were dissolved.
    heights : of new nodes, by their number.
    """

    tree: Tree
    names: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    colours: dict[int, str] = field(default_factory=dict)
    collapsed: set[int] = field(default_factory=set)
    children: dict[int, list[int]] = field(default_factory=dict)
    parent: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    heights: list[float] = field(default_factory=list)

    @property
    def n_ids(self) -> int:
        """The number of ids, of the tree's nodes and of new ones."""
        return self.tree.n_nodes + len(self.heights)

    @property
    def reshaped(self) -> bool:
        """Whether nodes lie otherwise than in the tree."""
        return bool(self.children)

    def apply(self, operations: Iterable[Operation]) -> None:
        """Apply the operations in their order; after an error the state is of no use.

        Raises UsageError, which says which `operation` and `field`, for a node that is not there,
        children that are not the node's, a leaf or the root where an inner node is needed, and
        nodes that are not siblings.
        """
        for number, operation in enumerate(operations):
            try:
                self._apply(operation)
            except _Unfit as unfit:
                raise UsageError(
                    f"Operation {number} ({operation.op}): {unfit.detail}",
                    operation=number,
                    field=unfit.field,
                ) from None

    def shared_names(self) -> list[str]:
        """The names that leaves got here and that other leaves have too, in the order of the first
        of these leaves. O(n_leaves) where leaves were renamed."""
        n_children = self.tree.n_children
        renamed = {
            node: name
            for node, name in sorted(self.names.items())
            if node < self.tree.n_nodes and not n_children[node]
        }
        given = Counter(renamed.values())
        if renamed:
            leaves = self.tree.leaves
            for leaf, name in zip(leaves.tolist(), self.tree.name[leaves], strict=True):
                if name in given and leaf not in renamed:
                    given[name] += 1
        return [name for name, times in given.items() if times > 1]

    def children_of(self, node: int) -> list[int]:
        """The children of a node, from left to right."""
        own = self.children.get(node)
        if own is not None:
            return own
        if node >= self.tree.n_nodes:
            return []
        start, child = self.tree.children
        below: list[int] = child[start[node] : start[node + 1]].tolist()
        return below

    def parent_of(self, node: int) -> int:
        """The node above; -1 for the root."""
        own = self.parent.get(node)
        return int(self.tree.parent[node]) if own is None else own

    def height_of(self, node: int) -> float:
        n_nodes = self.tree.n_nodes
        return self.heights[node - n_nodes] if node >= n_nodes else float(self.tree.height[node])

    def _apply(self, operation: Operation) -> None:
        match operation:
            case Rename(node=node, name=text):
                self._say(self.names, node, text)
            case Annotate(node=node, text=text):
                self._say(self.notes, node, text)
            case Paint(node=node, colour=text):
                self._say(self.colours, node, text)
            case Collapse(node=node):
                self._require_inner(node, "collapsed")
                self.collapsed.add(node)
            case Expand(node=node):
                self._require(node)
                self.collapsed.discard(node)
            case Reorder(node=node, children=children):
                self._reorder(node, children)
            case Merge(nodes=nodes, name=name):
                self._merge(nodes, name)
            case Dissolve(node=node):
                self._dissolve(node)

    def _say(self, texts: dict[int, str], node: int, text: str | None) -> None:
        self._require(node)
        if text is None:
            texts.pop(node, None)
        else:
            texts[node] = text

    def _reorder(self, node: int, children: list[int]) -> None:
        self._require(node)
        own = self.children_of(node)
        if sorted(own) != sorted(children):
            there = set(own)
            odd = next((child for child in children if child not in there), None)
            wrong = (
                f"{odd} is none of them" if odd is not None else "some are left out or twice there"
            )
            raise _Unfit(
                "children",
                f"Node {node} has {len(own)} children, each to be listed once; {wrong}.",
            )
        self.children[node] = list(children)

    def _merge(self, nodes: list[int], name: str | None) -> None:
        for node in nodes:
            self._require(node, "nodes")
        together = set(nodes)
        if len(together) < len(nodes):
            raise _Unfit("nodes", "A node is listed twice.")
        parents = {self.parent_of(node) for node in nodes}
        if len(parents) > 1 or -1 in parents:
            raise _Unfit("nodes", "Only siblings can be merged: children of one node.")
        parent = parents.pop()
        siblings = self.children_of(parent)
        if len(together) == len(siblings):
            raise _Unfit(
                "nodes", f"These are all children of node {parent}, which has them together."
            )
        below = [node for node in siblings if node in together]
        merged = self.n_ids
        place = siblings.index(below[0])
        kept = [node for node in siblings if node not in together]
        self.children[parent] = [*kept[:place], merged, *kept[place:]]
        self.children[merged] = below
        self.parent[merged] = parent
        self.parent.update(dict.fromkeys(below, merged))
        # No pair was measured: halfway, so that a cut in between has them as one cluster.
        low, high = max(map(self.height_of, below)), self.height_of(parent)
        self.heights.append(low / 2 + high / 2)
        if self.tree.monotone:
            self.heights[-1] = min(max(low, self.heights[-1]), high)
        if name is not None:
            self.names[merged] = name

    def _dissolve(self, node: int) -> None:
        self._require_inner(node, "dissolved")
        below, parent = self.children_of(node), self.parent_of(node)
        siblings = self.children_of(parent)
        place = siblings.index(node)
        self.children[parent] = [*siblings[:place], *below, *siblings[place + 1 :]]
        self.children.pop(node, None)
        self.parent.update(dict.fromkeys(below, parent))
        self.collapsed.discard(node)
        self.gone.add(node)

    def _require(self, node: int, field: str = "node") -> None:
        if node >= self.n_ids:
            raise _Unfit(field, f"The tree has no node {node}.")
        if node in self.gone:
            raise _Unfit(field, f"Node {node} was dissolved before.")

    def _require_inner(self, node: int, done: str) -> None:
        self._require(node)
        if node == 0:
            raise _Unfit("node", f"Node 0 is the root, which cannot be {done}.")
        if not self.children_of(node):
            raise _Unfit("node", f"Node {node} has no children; only inner nodes can be {done}.")


class _Unfit(Exception):
    """Why an operation cannot be applied."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field
        self.detail = detail
