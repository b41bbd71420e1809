"""The forms of flows between clusters: JSON, CSV, GraphML, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.http.forms import Chunks, Form
from app.http.json_parts import ITEMS, json_object, slices
from app.http.picture_forms import picture_forms
from app.http.problems import Refused
from app.pictures.palette import style
from app.pictures.sheet import Sheet
from app.resources.flows.schemas import FlowsQuery
from models.arrays import Array, Arrays
from models.clusterings.graph import ClusterGraph, graph_in, graph_of
from models.clusterings.levels import FEWEST, of_cuts, require_few
from models.errors import UsageError
from models.running.progress import silent
from models.tree.rows import matched
from models.tree.tree import Tree
from workers.formats.table_writers import Piece, csv_chunks, json_rows

METHOD = "clustree"
MOST_NODES = 2_000
"""The most clusters of a picture."""


@dataclass(frozen=True, slots=True)
class Flows:
    """A graph of clusters, and how it is written. shift : of the ids of nodes."""

    graph: ClusterGraph
    shift: int
    query: FlowsQuery
    sheet: Sheet
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_method(cls, tree: Tree, method: str, query: FlowsQuery, sheet: Sheet) -> Flows:
        """The graph that the tree's method has put into it. Raises Refused `not-found`."""
        if method != METHOD:
            raise Refused(
                "not-found",
                f"Only trees of {METHOD} have levels in them; give `levels`, the numbers of "
                "clusters of two or more cuts of this tree.",
            )
        return cls(graph_in(tree), int(tree.extra["level"][0] is None), query, sheet)

    @classmethod
    def of_cuts(cls, tree: Tree, other: Tree | None, query: FlowsQuery, sheet: Sheet) -> Flows:
        """The graph of cuts. Raises UsageError `wrong-shape` for trees of different rows, and
        `wrong-cut` for fewer than two cuts or one that there is not."""
        levels, warnings = of_cuts(tree, query.numbers())
        if other is not None:
            if other.n_points != tree.n_points:
                raise UsageError(
                    f"The trees have {tree.n_points} and {other.n_points} rows; flows need two "
                    "trees of the same rows.",
                    code="wrong-shape",
                )
            other, _ = matched(tree, other)
            further, others = of_cuts(other, query.numbers("other_levels"), "other: ")
            levels, warnings = [*levels, *further], [*warnings, *others]
        if len(levels) < FEWEST:
            raise UsageError(
                f"Flows need {FEWEST} levels or more.", code="wrong-cut", parameter="levels"
            )
        require_few(sum(len(level.labels) for level in levels))
        graph = graph_of(levels, silent)
        if graph.n_tied:
            warnings.append(
                f"{graph.n_tied:,} cluster(s) have as many rows from one cluster of the level "
                "before as from another; the parent is that of which they are the larger share, "
                "then the first."
            )
        return cls(graph, 0, query, sheet, tuple(warnings))

    def nodes(self) -> dict[str, Array]:
        """The columns of nodes; the parent of the first level is -1."""
        graph = self.graph
        names = _texts(graph.levels)
        return {
            "id": np.arange(graph.size.size) + self.shift,
            "level": names[graph.level],
            "cluster": _texts(graph.label),
            "size": graph.size,
            "noise": graph.noise,
            "stability": graph.stability,
            "parent": np.where(graph.parent < 0, -1, graph.parent + self.shift),
        }

    def edges(self) -> dict[str, Array]:
        """The columns of edges."""
        graph = self.graph
        return {
            "source": graph.source + self.shift,
            "target": graph.target + self.shift,
            "rows": graph.rows,
            "in_proportion": graph.in_proportion,
            "out_proportion": graph.out_proportion,
            "core": graph.core,
        }

    def json(self) -> Chunks:
        nodes = self.nodes()
        # JSON has null where there is no parent.
        parent = nodes["parent"].astype(object)
        parent[nodes["parent"] < 0] = None
        nodes = {**nodes, "parent": parent}
        yield from json_object(
            {
                "n_rows": int(self.graph.size[self.graph.level == 0].sum()),
                "levels": self.graph.levels,
                "nodes": json_rows(list(nodes), _pieces(nodes)),
                "edges": json_rows(list(self.edges()), _pieces(self.edges())),
                "warnings": list(self.warnings),
            }
        )
        yield b"\n"

    def csv(self) -> Chunks:
        columns = self.nodes() if self.query.table == "nodes" else self.edges()
        return csv_chunks(list(columns), _pieces(columns))

    def graphml(self) -> Chunks:
        from models.tree import graphml

        nodes, edges = self.nodes(), self.edges()
        node, source, target = nodes.pop("id"), edges.pop("source"), edges.pop("target")
        nodes.pop("parent")
        return map(str.encode, graphml.graph("flows", node, nodes, source, target, edges))

    def drawn(self) -> str:
        """The picture. Raises Refused `too-large` for more than `MOST_NODES` clusters."""
        from app.resources.flows import picture

        n_nodes, query, sheet = self.graph.size.size, self.query, self.sheet
        if n_nodes > MOST_NODES:
            raise Refused(
                "too-large",
                f"A picture has at most {MOST_NODES:,} clusters; here are {n_nodes:,}. Take .csv, "
                "or fewer or coarser levels.",
                limit=MOST_NODES,
            )
        own = style(query.theme, query.palette)
        return picture.svg(self.graph, own, px=sheet.width, font=sheet.font, title=query.title)


def _texts(texts: list[str]) -> Array:
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column


def _pieces(columns: Arrays) -> Iterator[Piece]:
    n_rows = len(next(iter(columns.values())))
    for rows in slices(np.arange(n_rows), ITEMS):
        yield [column[rows] for column in columns.values()]


FORMS: tuple[Form[Flows], ...] = (
    Form("json", "application/json", Flows.json),
    Form("csv", "text/csv", Flows.csv),
    Form("graphml", "application/graphml+xml", Flows.graphml),
    *picture_forms(Flows.drawn),
)
