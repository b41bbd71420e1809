"""An edition as nested nodes, changed in place: the oracle of operations."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

from models.editions.edited import EditedTree
from models.tree.tree import Tree


@dataclass
class Node:
    """A node with all that an edition may say of it."""

    id: int
    name: str | None
    height: float
    points: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    note: str | None = None
    colour: str | None = None
    collapsed: bool = False


class Nested:
    """A tree of `Node`, and the names that nodes had at first."""

    def __init__(self, tree: Tree) -> None:
        self.names = dict(enumerate(tree.name.tolist()))
        nodes = [Node(i, tree.name[i], float(tree.height[i])) for i in range(tree.n_nodes)]
        for i in range(1, tree.n_nodes):
            nodes[tree.parent[i]].children.append(nodes[i])
        for point, leaf in enumerate(tree.leaf_of_point.tolist()):
            nodes[leaf].points.append(point)
        self.root = nodes[0]
        self.n_ids = tree.n_nodes

    def copy(self) -> Nested:
        return deepcopy(self)

    def all(self) -> list[tuple[Node, Node | None]]:
        """Each node and its parent, in preorder."""
        listed: list[tuple[Node, Node | None]] = []
        waiting: list[tuple[Node, Node | None]] = [(self.root, None)]
        while waiting:
            node, parent = waiting.pop()
            listed.append((node, parent))
            waiting += [(child, node) for child in reversed(node.children)]
        return listed

    def find(self, own_id: int) -> tuple[Node, Node | None]:
        return next((node, parent) for node, parent in self.all() if node.id == own_id)

    def rename(self, own_id: int, name: str | None) -> None:
        self.find(own_id)[0].name = self.names[own_id] if name is None else name

    def reorder(self, own_id: int, children: list[int]) -> None:
        self.find(own_id)[0].children.sort(key=lambda child: children.index(child.id))

    def merge(self, ids: list[int], name: str | None) -> None:
        parent = self.find(ids[0])[1]
        assert parent is not None
        below = [child for child in parent.children if child.id in ids]
        height = max(child.height for child in below) / 2 + parent.height / 2
        merged = Node(self.n_ids, name, height, children=below)
        self.names[self.n_ids] = None
        self.n_ids += 1
        parent.children[parent.children.index(below[0])] = merged
        parent.children = [child for child in parent.children if child.id not in ids]

    def dissolve(self, own_id: int) -> None:
        node, parent = self.find(own_id)
        assert parent is not None
        place = parent.children.index(node)
        parent.children[place : place + 1] = node.children


def outline_of(nested: Nested) -> list[tuple[object, ...]]:
    """Each node in preorder with its annotation, and the points under it."""
    rows = []
    for node, parent in nested.all():
        below, waiting = list[int](), [node]
        while waiting:
            at = waiting.pop()
            below += at.points
            waiting += at.children
        annotation = (node.note, node.colour, node.collapsed)
        above = None if parent is None else parent.id
        rows.append((node.id, above, node.name, node.height, *annotation, sorted(below)))
    return rows


def outline(shown: EditedTree) -> list[tuple[object, ...]]:
    """The same of an edited tree, from its columns."""
    tree = shown.tree
    start, child = tree.children
    rows, waiting = [], [0]
    while waiting:
        row = waiting.pop()
        waiting += reversed(child[start[row] : start[row + 1]].tolist())
        below, inner = list[int](), [row]
        while inner:
            at = inner.pop()
            inner += child[start[at] : start[at + 1]].tolist()
            below += [p for p, leaf in enumerate(tree.leaf_of_point.tolist()) if leaf == at]
        annotation = (shown.note(row), shown.colours.get(row), shown.collapsed(row))
        above = shown.id(int(tree.parent[row])) if row else None
        own = (shown.id(row), above, tree.name[row], float(tree.height[row]))
        rows.append((*own, *annotation, sorted(below)))
    return rows
