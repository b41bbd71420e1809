"""Which classes are taken for which: as JSON with the largest pairs, CSV, a matrix, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from app.http.dependencies import Service
from app.http.forms import Chunks, Form, npy_chunks
from app.http.json_parts import ITEMS, json_object, slices
from app.http.picture_forms import picture_forms
from app.http.problems import Refused
from app.pictures.palette import style
from app.pictures.sheet import Sheet
from app.resources.confusions.schemas import ConfusionsQuery
from app.resources.trees.coloring import by_labels
from models import registry
from models.answers.confusions import Confusions, of_labels
from models.arrays import Int
from models.tree.tree import Tree
from models.tree.walk import lca, spans
from workers.artifacts import results
from workers.formats.table_writers import Piece, csv_chunks, json_rows
from workers.model import sibling

MOST_CLASSES = 4096
"""The most classes of a matrix: 128 MiB."""

ConfusionSource: TypeAlias = Literal["labels", "logits"]

PAIR = ["node", "name", "taken_for", "taken_for_name", "mass", "share", "cost", "meet", "height"]


def model_confusions(service: Service, tenant: str, tree_id: str, tree: Tree) -> Confusions | None:
    """What the tree's method knows of confusions without labels; None where it knows nothing.
    Blocks.
    """
    record = service.trees.record(tenant, tree_id)
    method = None if record is None else registry.known(record.method or "")
    if method is None or not method.confuses:
        return None
    path = service.trees.file(tenant, sibling(tree_id, "md"), results.MODEL)
    if path is None:
        return None
    stage = results.map_stage(path, -1)
    return method.confusions(stage.model, tree) if stage.method == method.id else None


def confusions_of(
    service: Service, tenant: str, tree_id: str, tree: Tree, labels: str | None
) -> tuple[Confusions, ConfusionSource, tuple[str, ...]]:
    """The confusions by `labels`, the id of a dataset, or by the tree's method; and warnings.
    Blocks. Raises Refused `not-found` for a dataset that is not there, and where the method knows
    nothing.
    """
    if labels is not None:
        categories = by_labels(service, tenant, tree_id, tree, labels, "labels")
        assert categories.labels is not None
        return of_labels(tree, categories.labels), "labels", tuple(categories.warnings)
    known = model_confusions(service, tenant, tree_id, tree)
    if known is None:
        confusing = [name for name, each in registry.methods().items() if each.confuses]
        record = service.trees.record(tenant, tree_id)
        if record is not None and record.method in confusing:
            raise Refused(
                "not-found",
                f"This tree of {record.method} was fitted without what shows which classes are "
                "taken for which: by an earlier version, or from one class a row. Fit it again, or "
                "give `labels`, a dataset with the class of each row.",
            )
        raise Refused(
            "not-found",
            f"Without labels, only trees of {', '.join(confusing)} know which classes are taken "
            "for which; give `labels`, a dataset with the class of each row.",
        )
    return known, "logits", known.warnings


@dataclass(frozen=True, slots=True)
class Confused:
    """The confusions of a tree, and how they are written: of the largest the JSON form lists
    `limit`."""

    tree: Tree
    confusions: Confusions
    source: ConfusionSource
    query: ConfusionsQuery
    sheet: Sheet
    warnings: tuple[str, ...] = ()

    def json(self) -> Chunks:
        tree, confusions = self.tree, self.confusions
        order = self._order()
        total, right = confusions.total, confusions.right
        by_node = confusions.by_node(tree)
        largest = np.lexsort((np.arange(tree.n_nodes), -by_node))
        largest = largest[by_node[largest] > 0][: self.query.limit]
        n_rows = confusions.n_rows
        fields: dict[str, Any] = {
            "source": self.source,
            "n_rows": n_rows,
            "right": _share(float(right.sum()), n_rows),
            "n_pairs": len(confusions.mass),
            "rest": confusions.rest,
            "pairs": json_rows(PAIR, self._pairs(self.query.limit)),
            "nodes": [
                {
                    "node": node,
                    "name": tree.name[node],
                    "mass": float(by_node[node]),
                    "share": _share(float(by_node[node]), n_rows),
                }
                for node in largest.tolist()
            ],
            "classes": json_rows(
                ["node", "name", "n_rows", "right"],
                (
                    [some, tree.name[some], total[some], _shares(right[some], total[some])]
                    for some in slices(order, ITEMS)
                ),
            ),
            "warnings": list(self.warnings),
        }
        yield from json_object(fields)
        yield b"\n"

    def csv(self) -> Chunks:
        return csv_chunks(PAIR, self._pairs(None))

    def npy(self) -> Chunks:
        return npy_chunks(self.confusions.matrix(self._some()))

    def drawn(self) -> str:
        """The matrix as a picture: of each class the share of its rows."""
        from app.resources.confusions import picture as matrix

        order, query, sheet = self._some(), self.query, self.sheet
        total = self.confusions.total[order]
        masses = self.confusions.matrix(order)
        share = np.divide(
            masses, total[:, None], out=np.zeros_like(masses), where=total[:, None] > 0
        )
        names = [
            str(node) if name is None else name
            for node, name in zip(order.tolist(), self.tree.name[order].tolist(), strict=True)
        ]
        drawn = matrix.Matrix(
            names,
            share,
            rows="class",
            columns="taken for",
            caption=f"share of each class's rows; {self.confusions.n_rows:,.0f} rows",
        )
        own = style(query.theme, query.palette)
        return matrix.svg(drawn, own, px=sheet.width, font=sheet.font, title=query.title)

    def _some(self) -> Int:
        """The order of a matrix. Raises Refused for too many classes."""
        order = self._order()
        if len(order) > MOST_CLASSES:
            raise Refused(
                "too-large",
                f"The matrix has at most {MOST_CLASSES} classes; here are {len(order)}. Take .csv, "
                "or a part by `root`.",
                limit=MOST_CLASSES,
            )
        return order

    def _order(self) -> Int:
        """The leaves with rows, or that rows are taken for, from left to right in the tree."""
        confusions = self.confusions
        present = confusions.total > 0
        present[confusions.taken_for] = True
        leaves = np.flatnonzero(present)
        ordered: Int = leaves[np.argsort(spans(self.tree).start[leaves])]
        return ordered

    def _pairs(self, most: int | None) -> Iterator[Piece]:
        tree, confusions = self.tree, self.confusions
        costs = confusions.costs()
        for some in slices(np.arange(len(confusions.mass))[:most], ITEMS):
            leaf, other, mass = (
                confusions.leaf[some],
                confusions.taken_for[some],
                confusions.mass[some],
            )
            meet = lca(tree, leaf, other)
            share = _shares(mass, confusions.total[leaf])
            yield [
                *(leaf, tree.name[leaf], other, tree.name[other]),
                *(mass, share, costs[some], meet, tree.height[meet]),
            ]


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _shares(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


FORMS: tuple[Form[Confused], ...] = (
    Form("json", "application/json", lambda confused: confused.json()),
    Form("csv", "text/csv", lambda confused: confused.csv()),
    Form("npy", "application/x-npy", lambda confused: confused.npy()),
    *picture_forms(Confused.drawn),
)
