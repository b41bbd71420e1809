"""JSON trees: the flat list of nodes, and d3's nested form.

The flat form suits any tree: one object per node, parents first. The nested form is for small
trees, since most JSON readers recurse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import InvalidTree, UsageError, listed, shown
from models.tree import dialects, json_fields, node_link
from models.tree.build import from_parents, levels_below
from models.tree.dialects import KEYS
from models.tree.json_fields import Column, columns_as_text, extra_columns, plain, require_text
from models.tree.tree import Tree
from models.tree.walk import preorder, require_node

MAX_DEPTH = 200
MAX_NODES = 50_000
_CHUNK = 4096


def flat_nodes(tree: Tree, *, ids: npt.NDArray[np.int64] | None = None) -> Iterator[str]:
    """The JSON array of a tree's nodes, in pieces of 4096 nodes, parents before children.

    Each node has `id`, `parent` (null at the root), `name` (null or text), `height`, `size` and the
    tree's extra columns. A number that is NaN or infinite becomes null.

    ids : (n_nodes,) the ids to write instead of row numbers, for a part of a tree.
    Raises UsageError if an extra column has the name of a field. O(n_nodes).
    """
    templates, columns = columns_as_text(tree, ids, _above(tree, ids))
    template = "{" + ",".join(templates) + "}"
    return _flat(template, columns, tree.n_nodes)


def write(tree: Tree, *, ids: npt.NDArray[np.int64] | None = None) -> Iterator[str]:
    """d3's nested form: `{"id", "name", "height", "size", extras, "children": [...]}`, in pieces.

    Leaves have no `children`. The root also has `"kind": "partition"` and `"monotone": false` if
    that is the case. `ids` is as in `flat_nodes`. The limits are checked at the call, not when the
    first piece is taken.

    Raises UsageError: code "too-deep" past 200 levels, "too-many-nodes" past 50,000 nodes.
    O(n_nodes).
    """
    instead = "Take the flat form (layout=flat), which has no such limit, or a part of the tree."
    if tree.n_nodes > MAX_NODES:
        raise UsageError(
            f"The nested form takes up to {MAX_NODES:,} nodes; this tree has {tree.n_nodes:,}. "
            + instead,
            code="too-many-nodes",
            parameter="layout",
        )
    if tree.max_depth > MAX_DEPTH:
        raise UsageError(
            f"The nested form takes up to {MAX_DEPTH} levels; this tree is {tree.max_depth} deep. "
            + instead,
            code="too-deep",
            parameter="layout",
        )
    templates, columns = columns_as_text(tree, ids, None)
    return _nested(tree, "{" + ",".join(templates), columns)


def node_fields(tree: Tree, node: int) -> dict[str, Any]:
    """One node as in `flat_nodes`, as plain JSON values. Raises UsageError for an unknown node."""
    require_node(tree, node)
    return {
        "id": node,
        "parent": int(tree.parent[node]) if node else None,
        "name": tree.name[node],
        "height": plain(tree.height[node]),
        "size": int(tree.size[node]),
        **{key: plain(column[node]) for key, column in tree.extra.items()},
    }


def read(document: Any) -> Tree:
    """Tree of a parsed JSON document. Its rows are the leaves, one each.

    Flat: a list of nodes, or an object with such a list as `nodes`. Each node has an `id` (or
    `key`, `name`), integer or text, and `parent`, the id of its parent (null, absent or empty at
    the root; also `parentId`), in any order. Rows are the leaves as they are listed. If parents
    come first, nodes are numbered as listed, else as by `build.from_parents`. A node with a text id
    and no name gets its id as name. `kind` and `monotone` of the object are kept.

    Nested: an object with `children` (or as `fields.CHILDREN` has it), a list of such objects, or
    with such objects as `left` and `right`; ids are not needed. Rows are in preorder. `kind` and
    `monotone` of the root hold for the tree. An object with such an object as `root` may also have
    them. A list of nested objects is a tree with a root above them.

    Graph: `nodes`, and edges between them as `links` or `edges` (`node_link`).

    `height` is a number for every node; if no node has one, heights follow from branch lengths
    (`fields.LENGTHS`), and without these a height is the most edges down to a leaf. Names are under
    `name`, else as `fields.NAMES`. `support` and fields like it are support, on one scale. `size`
    is not used: the rows are the leaves. Further fields become extra columns. What was decided or
    left out is in the tree's `warnings`.

    Raises InvalidTree naming the node: not an object, an id that is missing, duplicated or of
    another type, an unknown parent, no or several roots, a cycle, a name that is not text, a height
    that is missing, not a finite number, or falls from child to parent without `monotone: false`, a
    length that is negative. O(n_nodes log depth).
    """
    if isinstance(document, list):
        if not json_fields.is_forest(document):
            return _read_flat(document, {}, ())
        if len(document) == 1:
            return read(document[0])
        sentence = f"{len(document)} trees of the list were put below one root without a name."
        return _read_nested({"children": document}, (sentence,))
    if not isinstance(document, dict):
        raise InvalidTree(_WANTED)
    claims = {key: document[key] for key in ("kind", "monotone") if key in document}
    unknown = sorted(document.keys() - json_fields.DOCUMENT)
    graph = node_link.read(document)
    if graph is not None:
        return _read_flat(graph[0], claims, graph[1])
    if "nodes" in document:
        if not isinstance(document["nodes"], list):
            raise InvalidTree("The field 'nodes' must be a list of nodes.")
        return _read_flat(document["nodes"], document, _left_out(unknown))
    for key in ("root", "tree"):
        if isinstance(document.get(key), dict):
            unknown = [other for other in unknown if other != key]
            return _read_nested({**document[key], **claims}, _left_out(unknown))
    if not json_fields.has_tree(document):
        raise InvalidTree(_WANTED)
    return _read_nested(document, ())


def _left_out(keys: list[str]) -> tuple[str, ...]:
    return (f"Fields beside the tree were left out: {listed(keys)}.",) if keys else ()


_WANTED = (
    "A tree as JSON is a list of nodes with 'id' and 'parent', an object with such a list as "
    "'nodes' (or with edges as 'links' or 'edges'), nested objects with 'children', the outermost "
    "maybe as 'root', an hclust (merge, height, order, labels), a linkage (a list of rows of 4 "
    "numbers), or a list of class paths."
)


def _flat(template: str, columns: list[Column], n_nodes: int) -> Iterator[str]:
    for start in range(0, n_nodes, _CHUNK):
        stop = start + _CHUNK
        rows = zip(*(column(start, stop) for column in columns), strict=True)
        text = ",\n".join([template % row for row in rows])
        yield ("[" if start == 0 else ",\n") + text
    yield "]"


def _nested(tree: Tree, template: str, columns: list[Column]) -> Iterator[str]:
    rows = list(zip(*(column(0, tree.n_nodes) for column in columns), strict=True))
    above = tree.parent.tolist()
    left = tree.n_children.tolist()
    pieces: list[str] = []
    claims = "" if tree.kind == "hierarchy" else ',"kind":"partition"'
    claims += "" if tree.monotone else ',"monotone":false'
    for node in preorder(tree).tolist():
        pieces.append(template % rows[node] + (claims if node == 0 else ""))
        if left[node]:
            pieces.append(',"children":[')
            continue
        pieces.append("}")
        # Close every node that ends with this child.
        while node:
            node = above[node]
            left[node] -= 1
            if left[node]:
                pieces.append(",")
                break
            pieces.append("]}")
        if len(pieces) > _CHUNK:
            yield "".join(pieces)
            pieces.clear()
    yield "".join(pieces)


def _above(tree: Tree, ids: npt.NDArray[np.int64] | None) -> npt.NDArray[Any]:
    """(n_nodes,) ids of the parents; that of the root is meaningless. Copies nothing without `ids`:
    many documents of a tree may be open at a time."""
    return tree.parent if ids is None else ids[tree.parent]


def _read_flat(nodes: list[Any], document: dict[str, Any], warnings: tuple[str, ...]) -> Tree:
    for row, node in enumerate(nodes):
        if not isinstance(node, dict):
            raise InvalidTree(f"Node number {row} of the list is not an object.", node=row)
    id_key = json_fields.first_of(json_fields.IDS, nodes, every=True) or "id"
    parent_key = json_fields.first_of(json_fields.PARENTS, nodes) or "parent"
    row_of_id: dict[int | str, int] = {}
    for row, node in enumerate(nodes):
        own = node.get(id_key)
        if type(own) is not int and type(own) is not str:
            raise InvalidTree(
                f"Node number {row} of the list has no id that is an integer or text.", node=row
            )
        if own in row_of_id:
            raise InvalidTree(
                f"Two nodes have the id {_short(own)}; each node is listed once, with one parent.",
                node=own,
            )
        row_of_id[own] = row
    parents: list[int] = []
    for node in nodes:
        over = node.get(parent_key)
        if over is None or (over in ("", -1) and over not in row_of_id):
            parents.append(-1)
        elif type(over) in (int, str) and over in row_of_id:
            parents.append(row_of_id[over])
        else:
            raise InvalidTree(
                f"Node {_short(node[id_key])} has several parents; a node has one."
                if isinstance(over, list) and len(over) > 1
                else f"Node {_short(node[id_key])} has the parent {_short(over)}, which does not "
                "exist.",
                node=node[id_key],
            )
    leaves = np.setdiff1d(np.arange(len(nodes)), parents)
    listing = _Listing(nodes, parents, list(row_of_id), {id_key, parent_key}, nested=False)
    return _build(listing, document, warnings, leaves)


def _read_nested(root: dict[str, Any], warnings: tuple[str, ...]) -> Tree:
    nodes: list[dict[str, Any]] = []
    parents: list[int] = []
    below: set[str] = set()
    # The claims of the root belong to the tree; they are no extra columns.
    bare_root = {key: value for key, value in root.items() if key not in ("kind", "monotone")}
    waiting: list[tuple[Any, int]] = [(bare_root, -1)]
    while waiting:
        node, above = waiting.pop()
        row = len(nodes)
        if not isinstance(node, dict):
            raise InvalidTree(f"A child of node {above} (counted in preorder) is not an object.")
        key, children = json_fields.children_of(node, f"node {row} (counted in preorder)")
        if key is not None:
            below.add(key)
        nodes.append(node)
        parents.append(above)
        waiting.extend((child, row) for child in reversed(children))
    if json_fields.SIDES[0] in below:
        below.update(json_fields.SIDES)
    if len(nodes) == 1:
        json_fields.require_no_hidden_children(bare_root)
    other = sorted(below - {"children"})
    if other:
        warnings = (*warnings, f"Children were read from {listed(other)}.")
    used = below | {key for key in json_fields.CHILDREN if key != "values"}
    listing = _Listing(nodes, parents, range(len(nodes)), used, nested=True)
    return _build(listing, root, warnings)


@dataclass(frozen=True, slots=True)
class _Listing:
    """Nodes as a document has them. ids : for errors. used : fields that are read already."""

    nodes: list[dict[str, Any]]
    parents: list[int]
    ids: Sequence[int | str]
    used: set[str]
    nested: bool


def _build(
    listing: _Listing,
    document: Mapping[str, Any],
    given_warnings: tuple[str, ...],
    leaf_of_row: npt.NDArray[np.int64] | None = None,
) -> Tree:
    nodes, parents, ids = listing.nodes, listing.parents, listing.ids
    kind = document.get("kind", "hierarchy")
    if kind not in ("hierarchy", "partition"):
        raise InvalidTree("The field 'kind' must be 'hierarchy' or 'partition'.")
    monotone = document.get("monotone", True)
    if not isinstance(monotone, bool):
        raise InvalidTree("The field 'monotone' must be true or false.")
    warnings = [*given_warnings]
    used = set(listing.used)
    names = _names(listing, used, warnings)
    above = np.array(parents, dtype=np.int64)
    heights, bare = _heights(listing, above, used, warnings)
    # The service's own trees have heights, and columns of methods such as `confidence`.
    has_heights = any("height" in node for node in nodes)
    support = json_fields.support_of(nodes, ids, ("support",) if has_heights else KEYS)
    if support is not None:
        warnings += support[2]
        if support[0] is not None:
            used.add(support[1])
    extra = extra_columns(nodes, used)
    if support is not None and support[0] is not None:
        extra["support"] = support[0]
    elif "support" in extra:
        del extra["support"]
    if not has_heights or all(name is None for name in names):
        warnings += json_fields.kept_fields([key for key in extra if key != "support"])
    tree = from_parents(
        parents,
        heights,
        names,
        leaf_of_row,
        kind=kind,
        monotone=monotone and not _falls_by_rounding(heights, above),
        extra=extra,
        labels=ids,
    )
    if bare:
        tree = replace(tree, height=levels_below(tree.parent))
    elif monotone:
        tree, n_risen = dialects.risen(tree)
        warnings += dialects.counted(n_risen, "branch length")
    if _sizes_differ(listing, tree):
        warnings.append("The field 'size' of nodes was left out: each leaf is one row here.")
    return replace(tree, warnings=tuple(warnings))


def _names(listing: _Listing, used: set[str], warnings: list[str]) -> list[str | None]:
    """The name of each node; fields that gave names are added to `used`."""
    names: list[str | None] = []
    sources: dict[str, None] = {}
    lost = 0
    for node, own in zip(listing.nodes, listing.ids, strict=True):
        found = json_fields.name_of(node, listing.nested)
        if found is None:
            name = own if isinstance(own, str) else None
        else:
            source, name = found
            if type(name) is int:
                name = str(name)
            if name is not None and not isinstance(name, str):
                raise InvalidTree(
                    f"The name of node {_short(own)} is neither text, an integer nor null.",
                    node=own,
                )
            sources[source] = None
            text_id = node.get("id") if listing.nested else own
            lost += isinstance(text_id, str) and text_id != name
        names.append(name)
    if listing.nested and not sources:
        for row, name in json_fields.numbered_leaves(listing.nodes, set(listing.parents)).items():
            names[row] = name
            sources["id"] = None
    require_text(names, "A name")
    other = [key for key in sources if key != "name"]
    if other:
        warnings.append(f"Names were read from the field(s) {listed(other)}.")
        used.update(other)
    if lost:
        warnings.append(f"The ids of {lost} node(s) that also have a name were left out.")
    return names


def _heights(
    listing: _Listing, above: npt.NDArray[np.int64], used: set[str], warnings: list[str]
) -> tuple[npt.NDArray[np.float64], bool]:
    """The heights, and whether the nodes say nothing of them."""
    nodes, ids = listing.nodes, listing.ids
    given = [node.get("height") for node in nodes]
    if all(height is None for height in given):
        by_length = json_fields.heights_by_length(nodes, above, ids)
        if by_length is None:
            return np.zeros(len(nodes)), True
        heights, key, sentences = by_length
        used.add(key)
        warnings += sentences
        return heights, False
    heights = np.array([_height(value, own) for value, own in zip(given, ids, strict=True)])
    heights, n_forgiven = dialects.forgiven(heights)
    warnings += dialects.counted(n_forgiven, "height")
    return heights, False


def _falls_by_rounding(heights: npt.NDArray[np.float64], above: npt.NDArray[np.int64]) -> bool:
    """Whether heights fall from child to parent, and never by more than rounding."""
    below = (above >= 0) & (above < len(heights))
    lengths = heights[above[below]] - heights[below]
    falls = lengths < 0
    return bool(
        falls.any() and dialects.negligible(lengths, float(np.abs(heights).max()))[falls].all()
    )


def _sizes_differ(listing: _Listing, tree: Tree) -> bool:
    """Whether nodes have sizes other than their numbers of leaves."""
    given = [node["size"] for node in listing.nodes if "size" in node]
    return sorted(map(str, given)) != sorted(map(str, tree.size.tolist())) if given else False


def _height(value: Any, own: int | str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            height = float(value)
        except OverflowError:
            height = math.inf
        if math.isfinite(height):
            return height
    raise InvalidTree(f"The height of node {_short(own)} is not a finite number.", node=own)


def _short(value: Any) -> str:
    return shown(value) if isinstance(value, str | int) else f"of type {type(value).__name__}"
