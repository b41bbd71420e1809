"""Fields of nodes as JSON: columns to texts for the writers, objects to columns for the reader.

With the names that JSON trees of other tools have for these fields: d3 and its collapsible trees,
Vega, ETE, Cassiopeia, newick.js, SciPy's nodes, Nextstrain.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.errors import InvalidTree, UsageError, listed, shown
from models.tree import dialects
from models.tree.dialects import KEYS, scaled
from models.tree.tree import Tree

FIELDS = ("id", "parent", "name", "height", "size", "children")
MAX_EXTRA = 64
MAX_LEVELS = 16

Column = Callable[[int, int], list[str]]
"""Returns the JSON texts of a column's rows `start` to `stop`."""


def columns_as_text(
    tree: Tree, ids: npt.NDArray[np.int64] | None, above: npt.NDArray[Any] | None
) -> tuple[list[str], list[Column]]:
    """Templates `"key":%s` of a node's fields, and the columns that fill them.

    ids : written instead of row numbers. above : ids of the parents; None leaves them out.
    Raises UsageError if an extra column has the name of a field.
    """
    taken = sorted(set(tree.extra) & set(FIELDS))
    if taken:
        raise UsageError(
            f"A tree cannot have an extra column {shown(taken[0])}: every node has one."
        )
    columns: dict[str, Column] = {
        "id": _row_numbers(tree.n_nodes) if ids is None else _texts(np.asarray(ids))
    }
    if above is not None:
        numbers = _texts(above)
        columns["parent"] = lambda start, stop: (
            ["null", *numbers(1, stop)] if start == 0 else numbers(start, stop)
        )
    columns["name"] = _texts(tree.name)
    columns["height"] = _texts(tree.height)
    columns["size"] = _texts(tree.size)
    columns.update({key: _texts(np.asarray(column)) for key, column in tree.extra.items()})
    templates = [json.dumps(key).replace("%", "%%") + ":%s" for key in columns]
    return templates, list(columns.values())


def _row_numbers(n_rows: int) -> Column:
    return lambda start, stop: list(map(str, range(start, min(stop, n_rows))))


def _texts(column: npt.NDArray[Any]) -> Column:
    kind = column.dtype.kind if column.ndim == 1 else "O"
    if kind in "iu":
        return lambda start, stop: list(map(str, column[start:stop].tolist()))
    if kind == "f":
        return lambda start, stop: _floats(column[start:stop])
    if kind == "b":
        return lambda start, stop: ["true" if x else "false" for x in column[start:stop].tolist()]
    return lambda start, stop: [
        "null" if value is None else json_text(value) for value in column[start:stop]
    ]


def _floats(values: npt.NDArray[Any]) -> list[str]:
    texts = list(map(repr, values.tolist()))
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        texts[row] = "null"
    return texts


def json_text(value: Any) -> str:
    """JSON text of an extra field's value: arrays as lists, NaN and infinities as null."""
    return _encode(value if type(value) is str else plain(value))


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def plain(value: Any) -> Any:
    """The JSON value of an extra field: arrays become lists, NumPy numbers plain ones, NaN None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def extra_columns(
    nodes: Sequence[Mapping[str, Any]], used: Collection[str] = ()
) -> dict[str, npt.NDArray[Any]]:
    """The fields of JSON nodes that are not a tree's own, as columns, without those in `used`.

    Integers, numbers and booleans give columns of their own type, numbers with NaN for nodes
    without one; anything else, and integers or booleans that are missing at some node, gives
    objects with None.

    Raises InvalidTree past 64 fields or 16 levels of lists within a value.
    """
    keys = dict.fromkeys(
        key for node in nodes for key in node if key not in FIELDS and key not in used
    )
    if len(keys) > MAX_EXTRA:
        raise InvalidTree(
            f"The nodes have {len(keys)} different extra fields; up to {MAX_EXTRA} are taken."
        )
    return {key: _column(key, [node.get(key) for node in nodes]) for key in keys}


def require_text(values: Sequence[Any], what: str) -> None:
    """Raises InvalidTree if a text among JSON values has half a surrogate pair, which is not
    text."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidTree(f"{what} holds half a surrogate pair, which is no character.") from None


def _column(key: str, values: list[Any]) -> npt.NDArray[Any]:
    types = set(map(type, values))
    if types == {bool}:
        return np.array(values, dtype=bool)
    if types == {int} and max(map(abs, values)) < 1 << 63:
        return np.array(values, dtype=np.int64)
    if float in types and types <= {float, int, type(None)}:
        with suppress(OverflowError):
            return np.array([math.nan if value is None else float(value) for value in values])
    column = np.empty(len(values), dtype=object)
    column[:] = values
    if not types <= {str, type(None)}:
        _require_shallow(key, values)
    require_text(values, f"The field {shown(key)}")
    return column


def _require_shallow(key: str, values: list[Any]) -> None:
    level = 0
    while values:
        if level > MAX_LEVELS:
            raise InvalidTree(f"The field {shown(key)} is nested past {MAX_LEVELS} levels.")
        level += 1
        inside = [value for value in values if isinstance(value, list | dict)]
        values = [
            item
            for value in inside
            for item in (value.values() if isinstance(value, dict) else value)
        ]


Node = Mapping[str, Any]

CHILDREN = ("children", "_children", "branchset", "values")
SIDES = ("left", "right")
"""Where the two children of a binary node are, an object each, as SciPy's nodes have them."""
PARENTS = ("parent", "parentId", "parent_id", "parentKey", "pid")
IDS = ("id", "key", "name")
NAMES = ("name", "label", "key", "id")
LENGTHS = (
    "length",
    "branch_length",
    "branchLength",
    "branch-length",
    "edge_length",
    "edgeLength",
    "dist",
    "distance",
)
_MAYBE_HEIGHTS = ("dist", "distance")
DOCUMENT = frozenset(
    (
        *("id", "job", "name", "description", "tags", "method", "kind", "monotone", "n_points"),
        *("n_leaves", "max_depth", "created_at", "warnings", "nodes", "root"),
    )
)
"""Fields that the service's own documents have beside their nodes."""


def children_of(node: Node, called: str) -> tuple[str | None, list[Any]]:
    """The children of a nested node, and the field that has them; None for none.

    called : the node, for errors. Raises InvalidTree for children that are not a list, and for
    several lists of them.
    """
    found: list[tuple[str, list[Any]]] = []
    for key in CHILDREN:
        value = node.get(key)
        if value is None or (key == "values" and not _are_objects(value)):
            continue
        if not isinstance(value, list):
            raise InvalidTree(f"The children of {called} are not a list.")
        if value:
            found.append((key, value))
    if len(found) > 1:
        keys = " and ".join(shown(key) for key, _ in found)
        raise InvalidTree(f"There are children of {called} under {keys}; one list is accepted.")
    sides = [node[side] for side in SIDES if type(node.get(side)) is dict]
    if found or not sides:
        return found[0] if found else (None, [])
    return SIDES[0], sides


def has_tree(document: Node) -> bool:
    """Whether an object may be a nested node: one with children, a name or a height."""
    below = any(
        key != "values" or _are_objects(document[key]) for key in CHILDREN if key in document
    )
    return below or not document.keys().isdisjoint({*NAMES, *SIDES, "height"})


def is_forest(nodes: list[Any]) -> bool:
    """Whether a list has nested nodes, not a flat list of nodes with parents."""
    return (
        _are_objects(nodes)
        and not any(key in node for node in nodes for key in PARENTS)
        and any(_are_objects(node.get(key)) for node in nodes for key in CHILDREN)
    )


def require_no_hidden_children(root: Node) -> None:
    """Raises InvalidTree for a node without children that has objects under another field, and for
    one without a name whose fields are names themselves: `{"animal": {"cat": {}}}`."""
    nameless = root.keys().isdisjoint({*NAMES, "height", "data"})
    for key, value in root.items():
        if _are_objects(value) or (nameless and isinstance(value, dict | list)):
            raise InvalidTree(
                f"The root has no children, but objects under {shown(key)}; children are read from "
                f"{', '.join(map(repr, CHILDREN))}."
            )


def first_of(keys: Sequence[str], nodes: Sequence[Node], every: bool = False) -> str | None:
    """The first of the keys that some node has, or every node."""
    quantifier = all if every else any
    return next((key for key in keys if quantifier(key in node for node in nodes)), None)


def numbered_leaves(nodes: Sequence[Node], inner: Collection[int]) -> dict[int, str]:
    """The ids of leaves as their names, where no node has a name and leaves have distinct whole
    numbers as ids, as SciPy's nodes have; else nothing."""
    if any(key in node for node in nodes for key in NAMES[:-1]):
        return {}
    ids = {row: node.get("id") for row, node in enumerate(nodes) if row not in inner}
    if any(type(each) is not int for each in ids.values()) or len(set(ids.values())) < len(ids):
        return {}
    return {row: str(each) for row, each in ids.items()}


def name_of(node: Node, nested: bool) -> tuple[str, Any] | None:
    """The field with a node's name, and the name; other fields count where there is no `name`, at
    last those within `data`, as D3's hierarchies have them."""
    if "name" in node:
        return "name", node["name"]
    for key in NAMES[1 : None if nested else -1]:
        if isinstance(node.get(key), str):
            return key, node[key]
    inside = node.get("data")
    if nested and isinstance(inside, dict):
        own = next((key for key in NAMES if isinstance(inside.get(key), str)), None)
        return None if own is None else (f"data.{own}", inside[own])
    return None


def heights_by_length(
    nodes: Sequence[Node], parent: Int, called: Sequence[int | str]
) -> tuple[Float, str, tuple[str, ...]] | None:
    """(n_nodes,) heights by branch lengths, the field that has these, and warnings; None where no
    node has a length.

    Heights are the greatest distance from the root to a leaf minus a node's own. A missing length
    is 1. Where `dist` is 0 at all leaves and grows towards the root, as in SciPy's nodes, it is a
    height itself.

    parent : (n_nodes,) the row of each node's parent, -1 for the root; any order, no cycle. called
    : the nodes, for errors. Raises InvalidTree for a length that is no finite number or negative.
    """
    branches = [nodes[row] for row in np.flatnonzero(parent >= 0).tolist()]
    key = first_of(LENGTHS, [node for node in branches if _has_length(node)] or branches)
    if key is None:
        return None
    lengths = np.full(len(nodes), np.nan)
    for row, node in enumerate(nodes):
        value = node.get(key)
        if value is None or value == "":
            continue
        number = _number(value)
        if number is None:
            raise InvalidTree(
                f"The field {shown(key)} of node {shown(called[row])} is not a finite number.",
                node=called[row],
            )
        lengths[row] = number
    if key in _MAYBE_HEIGHTS and _are_heights(lengths, parent):
        return (
            lengths,
            key,
            (f"The field {shown(key)} was read as the height, since it is 0 at leaves.",),
        )
    warnings = [f"Branch lengths were read from the field {shown(key)}."]
    missing = np.isnan(lengths) & (parent >= 0)
    if missing.any():
        warnings.append(f"{int(missing.sum())} node(s) have no {shown(key)}; 1 was taken.")
    root = parent < 0
    own = lengths[root]
    if np.isfinite(own).all() and own.any():
        warnings.append(f"The root's {shown(key)}, {float(own[0]):g}, was left out.")
    lengths[missing] = 1.0
    lengths[root] = 0.0
    lengths, n_forgiven = dialects.forgiven(lengths)
    negative = np.flatnonzero(lengths < 0)
    if negative.size:
        row = int(negative[0])
        raise InvalidTree(
            f"The field {shown(key)} of node {shown(called[row])} is negative ({lengths[row]:g}), "
            "which no height allows.",
            node=called[row],
        )
    warnings += dialects.counted(n_forgiven, "branch length")
    distance = _from_root(lengths, parent)
    if not np.isfinite(distance).all():
        raise InvalidTree("The sum of the branch lengths from the root to a leaf overflows.")
    return distance.max() - distance, key, tuple(warnings)


def support_of(
    nodes: Sequence[Node], called: Sequence[int | str], keys: Sequence[str] = KEYS
) -> tuple[Float | None, str, tuple[str, ...]] | None:
    """(n_nodes,) the support on one scale, the field that has it, and warnings; None where no node
    has any, and a column of None where the numbers are none.

    keys : the fields that may have it, in lower case. Raises InvalidTree for a `support` that is no
    number.
    """
    spelled: dict[str, str] = {}
    for node in nodes:
        for field in node:
            if field.lower() in keys:
                spelled.setdefault(field.lower(), field)
    for known in keys:
        if (key := spelled.get(known)) is None:
            continue
        values = [node.get(key) for node in nodes]
        numbers = [_number(value) for value in values]
        odd = [
            row
            for row, (value, number) in enumerate(zip(values, numbers, strict=True))
            if number is None and value is not None and value != ""
        ]
        if odd and known == "support":
            raise InvalidTree(
                f"The support of node {shown(called[odd[0]])} is not a finite number.",
                node=called[odd[0]],
            )
        column = np.array([math.nan if number is None else number for number in numbers])
        if odd or np.isnan(column).all():
            continue
        shares, sentence = scaled(column, f"the field {shown(key)}")
        plain = known == "support" and shares is column
        return shares, key, () if plain else (sentence,)
    return None


def kept_fields(keys: Sequence[str]) -> tuple[str, ...]:
    """A warning of fields that are kept as they are; none for none."""
    if not keys:
        return ()
    return (
        f"Fields of the nodes that are no name, length or height were kept as they are: "
        f"{listed(list(keys))}.",
    )


def _number(value: Any) -> float | None:
    """A finite number, also as text; None for anything else."""
    if type(value) is str:
        if "_" in value:
            return None
    elif type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _has_length(node: Node) -> bool:
    return any(_number(node.get(key)) is not None for key in LENGTHS)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is dict for item in value)


def _are_heights(values: Float, parent: Int) -> bool:
    inner = np.zeros(len(values), dtype=bool)
    inner[parent[parent >= 0]] = True
    below = parent >= 0
    return bool(
        np.isfinite(values).all()
        and not values[~inner].any()
        and values[inner].any()
        and (values[parent[below]] >= values[below]).all()
    )


def _from_root(lengths: Float, parent: Int) -> Float:
    """(n_nodes,) the distance from the root, whose own length is 0, by pointer doubling; anything
    on a cycle. O(n_nodes log depth)."""
    jump = np.where(parent < 0, np.arange(len(parent)), parent)
    distance = lengths.copy()
    with np.errstate(over="ignore"):
        for _ in range(len(parent).bit_length()):
            distance = distance + distance[jump]
            jump = jump[jump]
    return distance
