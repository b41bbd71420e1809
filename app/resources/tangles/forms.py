"""The forms of two trees side by side: JSON, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.http.forms import Chunks, Form
from app.http.json_parts import ITEMS, json_object, slices
from app.http.picture_forms import picture_forms
from app.pictures.palette import style
from app.pictures.sheet import Sheet
from app.resources.tangles.schemas import TangleQuery
from models.arrays import Int
from models.tree.rows import matched
from models.tree.tangle import links, tangle
from models.tree.tree import Tree
from models.tree.window import fold, scene
from workers.formats.table_writers import json_list

MOST_LINKS = 20_000

Nodes = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TangleExport:
    """Two trees laid out, and how they are drawn.

    facts : of the whole tangle. left, right : the nodes that are shown. triples : an end of the
    left, one of the right and how many points they share, those with most points first.
    """

    facts: dict[str, Any]
    left: Nodes
    right: Nodes
    triples: list[tuple[int, int, int]]
    query: TangleQuery
    sheet: Sheet

    @classmethod
    def of(cls, left: Tree, right: Tree, query: TangleQuery, sheet: Sheet) -> TangleExport:
        """Raises UsageError `wrong-shape` for trees of different rows."""
        most = query.max_nodes
        right, by_name = matched(left, right)
        order = tangle(left, right, rotate=query.rotate)
        left_shown = fold(left, max_nodes=most, place=order.left)
        right_shown = fold(right, max_nodes=most, place=order.right)
        joined = links(left, left_shown, right, right_shown, order)
        kept = slice(MOST_LINKS)
        triples = zip(
            left_shown.node[joined.left[kept]].tolist(),
            right_shown.node[joined.right[kept]].tolist(),
            joined.n_points[kept].tolist(),
            strict=True,
        )
        facts = {
            "other": query.other,
            "n_points": left.n_points,
            "matched_by": "name" if by_name else "row",
            "max_nodes": most,
            "entanglement": order.entanglement,
            "entanglement_before": order.before,
            "crossings": joined.crossings,
            "links_left_out": len(joined.n_points[MOST_LINKS:]),
            "points_left_out": int(joined.n_points[MOST_LINKS:].sum()),
        }
        sides = (_laid_out(left, most, order.left), _laid_out(right, most, order.right))
        return cls(facts, *sides, list(triples), query, sheet)


def _laid_out(tree: Tree, max_nodes: int, place: Int) -> Nodes:
    """The nodes of one side, their leaves in the order of `place`."""
    return scene(tree, 0, max_nodes, scale="auto", place=place).nodes


def _json(export: TangleExport) -> Chunks:
    def listed(items: list[Any]) -> Iterator[bytes]:
        return json_list(slices(items, ITEMS))

    yield from json_object(
        {
            **export.facts,
            "left": listed(export.left),
            "right": listed(export.right),
            "links": listed(export.triples),
        }
    )


def _drawn(export: TangleExport) -> str:
    from app.resources.tangles import picture

    query, sheet, facts = export.query, export.sheet, export.facts
    caption = f"{facts['n_points']:,} points, entanglement {facts['entanglement']:.3g}"
    if facts["links_left_out"]:
        caption += f"; {facts['links_left_out']:,} thin links left out"
    return picture.svg(
        picture.Facing(export.left, export.right, export.triples, caption),
        style(query.theme, query.palette),
        px=sheet.width,
        height=sheet.height,
        font=sheet.font,
        title=query.title,
    )


FORMS: tuple[Form[TangleExport], ...] = (
    Form("json", "application/json", _json),
    *picture_forms(_drawn),
)
