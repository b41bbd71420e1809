"""The forms of two trees side by side: JSON, what moved as CSV, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.http.forms import Chunks, Form
from app.http.json_parts import ITEMS, json_object, slices
from app.http.picture_forms import picture_forms
from app.pictures.palette import style
from app.pictures.sheet import MM, Sheet
from app.resources.tangles.pairs import PairedTrees, moved_leaves
from app.resources.tangles.schemas import TangleQuery
from models.arrays import Int
from models.tree.cluster_names import called
from models.tree.tangle import links, tangle, visible_ends
from models.tree.tree import Tree
from models.tree.window import fold, scene
from workers.formats.table_writers import csv_chunks, json_list

MOST_LINKS = 20_000
MOST_MOVED = 200
"""The most leaves that the JSON form lists; CSV has all."""

MOST_MM = 230.0
"""The most height of a picture whose height was not chosen: what a journal takes, mm."""

Nodes = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TangleExport:
    """Two trees laid out, and how they are drawn.

    facts : of the whole tangle. left, right : the nodes that are shown. triples : an end of the
    left, one of the right and how many points they share, those with most points first. moved :
    the leaves that moved, the farthest first. trees : the left and the right.
    """

    facts: dict[str, Any]
    left: Nodes
    right: Nodes
    triples: list[tuple[int, int, int]]
    moved: list[dict[str, Any]]
    query: TangleQuery
    sheet: Sheet
    trees: tuple[Tree, Tree]

    @classmethod
    def of(cls, left: Tree, right: Tree, query: TangleQuery, sheet: Sheet) -> TangleExport:
        """Raises UsageError `wrong-shape` for trees of different rows that share fewer than three
        names."""
        most, ends_most = query.max_nodes, most_ends(sheet)
        pair = PairedTrees.of(left, right, query.match)
        order = tangle(pair.left, pair.right, rotate=query.rotate)
        left_shown = fold(left, max_nodes=most, max_tips=ends_most, place=order.left)
        right_shown = fold(right, max_nodes=most, max_tips=ends_most, place=order.right)
        joined = links(pair.left, left_shown, pair.right, right_shown, order)
        kept = slice(MOST_LINKS)
        triples = zip(
            left_shown.node[joined.left[kept]].tolist(),
            right_shown.node[joined.right[kept]].tolist(),
            joined.n_points[kept].tolist(),
            strict=True,
        )
        found = moved_leaves(left, right, pair)
        ends = [visible_ends(*side) for side in ((left, left_shown), (right, right_shown))]
        moved = [{**move, "ends": _ends(move, *ends)} for move in found.moved]
        facts = {
            "other": query.other,
            "n_points": pair.left.n_points,
            "matched_by": pair.by,
            "left_only": pair.left_only,
            "right_only": pair.right_only,
            "max_nodes": most,
            "entanglement": order.entanglement,
            "entanglement_before": order.before,
            "crossings": joined.crossings,
            "links_left_out": len(joined.n_points[MOST_LINKS:]),
            "points_left_out": int(joined.n_points[MOST_LINKS:].sum()),
            "n_groups": found.n_groups,
            "n_kept": found.n_kept,
            "n_moved": len(moved),
            "warnings": [*pair.warnings, *found.warnings],
        }
        sides = (
            _laid_out(left, most, ends_most, order.left),
            _laid_out(right, most, ends_most, order.right),
        )
        return cls(facts, *sides, list(triples), moved, query, sheet, (left, right))


def most_ends(sheet: Sheet) -> int | None:
    """The most ends of a side with room in a picture by millimetres without a height; None: no
    limit."""
    from app.resources.tangles import picture

    if not sheet.physical or sheet.height is not None:
        return None
    most: int = picture.ends_within(MOST_MM * MM, sheet.width, sheet.font)
    return most


def _ends(move: dict[str, Any], left: Int, right: Int) -> list[int]:
    return [int(left[move["left"]]), int(right[move["right"]])]


def _laid_out(tree: Tree, max_nodes: int, max_tips: int | None, place: Int) -> Nodes:
    """The nodes of one side, their leaves in the order of `place`."""
    return scene(tree, 0, max_nodes, scale="auto", place=place, max_tips=max_tips).nodes


def _folded(tree: Tree, nodes: Nodes) -> int:
    """The leaves of a side that are not drawn, since they are folded into an end."""
    drawn = sum(1 for node in nodes if node["n_leaves"] == 1)
    return int(tree.n_leaves) - drawn


def _json(export: TangleExport) -> Chunks:
    def listed(items: list[Any]) -> Iterator[bytes]:
        return json_list(slices(items, ITEMS))

    yield from json_object(
        {
            **export.facts,
            "left": listed(export.left),
            "right": listed(export.right),
            "links": listed(export.triples),
            "moved": listed(export.moved[:MOST_MOVED]),
        }
    )


def _csv(export: TangleExport) -> Chunks:
    """All leaves that moved."""
    columns = ["name", "share", "left", "right"]
    columns += [f"{way}_{what}" for way in ("from", "to") for what in ("node", "name", "with")]

    def row(move: dict[str, Any]) -> list[Any]:
        groups = [move["from"] or _NOWHERE, move["to"] or _NOWHERE]
        cells = [[group["node"], group["name"], "; ".join(group["names"])] for group in groups]
        return [move["name"], move["share"], move["left"], move["right"], *cells[0], *cells[1]]

    rows = list(zip(*map(row, export.moved), strict=True)) or [()] * len(columns)
    return csv_chunks(columns, [[list(column) for column in rows]])


_NOWHERE: dict[str, Any] = {"node": None, "name": None, "names": []}


def _named(tree: Tree, nodes: Nodes) -> Nodes:
    """The nodes, those without a name called after what is below them."""
    rows = np.array([node["id"] for node in nodes], dtype=np.int64)
    names = called(tree, rows, np.array([node["n_leaves"] for node in nodes], dtype=np.int64))
    return [
        {**node, "name": name if node["name"] is None else node["name"]}
        for node, name in zip(nodes, names, strict=True)
    ]


def _drawn(export: TangleExport) -> str:
    from app.resources.tangles import picture

    query, sheet, facts = export.query, export.sheet, export.facts
    noun = "shared names" if facts["matched_by"] == "name" else "points"
    caption = f"{facts['n_points']:,} {noun}, entanglement {facts['entanglement']:.3g}"
    if facts["n_moved"]:
        caption += f"; {facts['n_moved']:,} moved, drawn dark"
    if facts["links_left_out"]:
        caption += f"; {facts['links_left_out']:,} thin links left out"
    folded = [
        _folded(*side) for side in zip(export.trees, (export.left, export.right), strict=True)
    ]
    if most_ends(sheet) is not None and any(folded):
        caption += f"; {folded[0]:,} and {folded[1]:,} leaves are folded into ends"
    moved = {(left, right) for left, right in (move["ends"] for move in export.moved)}
    left, right = map(_named, export.trees, (export.left, export.right))
    return picture.svg(
        picture.Facing(left, right, export.triples, caption, moved),
        style(query.theme, query.palette),
        px=sheet.width,
        height=sheet.height,
        font=sheet.font,
        title=query.title,
    )


FORMS: tuple[Form[TangleExport], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
    *picture_forms(_drawn),
)
