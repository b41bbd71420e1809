"""The forms in which a tree is served: JSON, Newick, Nexus, linkages, tables of its nodes, GraphML,
pictures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from app.http.etags import etag_of
from app.http.forms import Chunks, Form, npy_chunks
from app.http.json_parts import json_object
from app.http.picture_forms import picture_forms
from app.http.picture_queries import PartQuery
from app.http.tables import mapped, table_csv
from app.pictures.palette import Palette, Theme
from app.pictures.sheet import Picture, Sheet
from app.pictures.strips import Column as StripColumn
from models.editions.edited import EditedTree, comments
from models.tree import walk
from models.tree.cluster_names import is_number
from models.tree.labels import Categories
from models.tree.tree import Tree
from models.tree.walk import relabelled
from workers.artifacts.trees import TreeRecord
from workers.formats.table_writers import Column, arrow_chunks, json_columns, parquet_chunks

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class TreeExport:
    """A stored tree as shown, and how to write it; each form uses the fields relevant to it.

    root, depth : the part to write, from a row on. categories : the colours of a picture.
    strips : the columns beside its tips.
    """

    record: TreeRecord
    shown: EditedTree
    root: int = 0
    depth: int | None = None
    layout: Literal["flat", "nested"] = "flat"
    labels: Literal["name", "id"] = "name"
    shape: Literal["circular", "rectangular", "icicle"] = "circular"
    sheet: Sheet = field(default_factory=Sheet)
    palette: Palette = "okabe-ito"
    theme: Theme = "light"
    title: str | None = None
    categories: Categories | None = None
    strips: tuple[StripColumn, ...] = ()

    @property
    def tree(self) -> Tree:
        return self.shown.tree

    def part(self) -> tuple[Tree, npt.NDArray[np.int64] | None]:
        """The tree or its part, and the ids of the part's nodes in the whole tree."""
        if self.root == 0 and self.depth is None:
            return self.tree, self.shown.ids
        part = walk.part(self.tree, self.root, self.depth)
        return part.tree, self.shown.ids_of(part.node)


def _json(export: TreeExport) -> Chunks:
    from models.tree import nested

    tree, ids = export.part()
    record = export.record
    fields: dict[str, Any] = {
        "id": record.id,
        "job": record.job,
        "name": record.name,
        "description": record.description,
        "tags": list(record.tags),
        "method": record.method,
        "kind": tree.kind,
        "monotone": tree.monotone,
        "n_points": tree.n_points,
        "n_leaves": tree.n_leaves,
        "max_depth": tree.max_depth,
        "created_at": record.created_at,
        "warnings": list(record.warnings),
    }
    if export.layout == "nested":
        fields["root"] = map(str.encode, nested.write(tree, ids=ids))
    else:
        fields["nodes"] = map(str.encode, nested.flat_nodes(tree, ids=ids))
    yield from json_object(fields)
    yield b"\n"


def _newick(export: TreeExport) -> Chunks:
    from models.tree import newick

    tree, ids = export.part()
    notes = comments(tree) if export.shown.annotated else None
    return map(str.encode, newick.write(tree, labels=export.labels, ids=ids, comments=notes))


def _nexus(export: TreeExport) -> Chunks:
    from models.tree import nexus

    tree, ids = export.part()
    notes = comments(tree) if export.shown.annotated else None
    return map(str.encode, nexus.write(tree, labels=export.labels, ids=ids, comments=notes))


def _linkage(export: TreeExport) -> Chunks:
    from models.tree import linkage

    return npy_chunks(linkage.to_scipy(export.part()[0]))


def _hclust(export: TreeExport) -> Chunks:
    from models.tree import linkage

    hclust = linkage.hclust(export.part()[0])
    columns: dict[str, Column] = {
        "merge": hclust.merge,
        "height": hclust.height,
        "order": hclust.order,
        "labels": hclust.labels,
    }
    yield from json_columns(columns)
    yield b"\n"


def _arrow(export: TreeExport) -> Chunks:
    from models.tree import columns

    tree, ids = export.part()
    if export.shown.ids is not None and ids is not None:
        tree = replace(tree, extra={**tree.extra, "node": ids})
    return arrow_chunks(columns.to_table(tree))


def _drawn(export: TreeExport) -> Picture:
    from app.pictures.svg import svg

    return svg(
        export.tree,
        root=export.root,
        depth=export.depth,
        shape=export.shape,
        px=export.sheet.width,
        height=export.sheet.height,
        font=export.sheet.font,
        categories=export.categories,
        palette=export.palette,
        theme=export.theme,
        title=export.title,
        labels=export.labels,
        ids=export.shown.ids,
        closed=export.shown.closed,
        painted=export.shown.colours,
        strips=export.strips,
    )


def _nodes(export: TreeExport) -> pa.Table:
    """A row for each node, with its id and that of its parent in the whole tree."""
    import pyarrow as pa

    from models.tree import columns

    tree, ids = export.part()
    node = np.arange(tree.n_nodes) if ids is None else ids
    table = columns.to_table(tree).drop_columns("parent")
    above = pa.array(node[tree.parent], mask=tree.parent < 0)
    return table.add_column(0, "parent", above).add_column(0, "id", pa.array(node))


def _csv(export: TreeExport) -> Chunks:
    return table_csv(_nodes(export))


def _parquet(export: TreeExport) -> Chunks:
    return parquet_chunks(_nodes(export))


def _graphml(export: TreeExport) -> Chunks:
    from models.tree import graphml

    tree, ids = export.part()
    return map(str.encode, graphml.write(tree, ids=ids))


FORMS: tuple[Form[TreeExport], ...] = (
    Form("json", "application/json", _json),
    Form("nwk", "text/x-nh", _newick),
    Form("nex", "text/x-nexus", _nexus),
    Form("linkage.npy", "application/x-npy", _linkage),
    Form("hclust.json", "application/vnd.umbel.hclust+json", _hclust),
    Form("arrow", "application/vnd.apache.arrow.file", _arrow),
    Form("csv", "text/csv", _csv),
    Form("parquet", "application/vnd.apache.parquet", _parquet),
    Form("graphml", "application/graphml+xml", _graphml),
    *picture_forms(_drawn),
)


WRITTEN = frozenset({"root", "depth", "layout", "labels", "shape", "palette", "theme", "title"})
"""What an export has as its query does."""

_WITHOUT_HEIGHTS = frozenset({"linkage.npy", "hclust.json"})
"""Forms in which all leaves have height 0."""


def lost(form: Form[TreeExport], tree: Tree) -> str | None:
    """What this form cannot represent of the tree; None if it represents everything."""
    if form.suffix in _WITHOUT_HEIGHTS and bool(np.any(tree.height[tree.leaves] != 0)):
        return "leaf heights other than 0 are not kept in this form"
    return None


_renamed: WeakKeyDictionary[Tree, tuple[Path, Tree]] = WeakKeyDictionary()


def renamed(tree: Tree, path: Path) -> Tree:
    """The tree with the names of a naming, leaves that have names keep them, and with its questions
    as the column `question`. O(n_nodes), then kept until another naming is requested."""
    of, kept_tree = _renamed.get(tree, (None, tree))
    if of == path:
        return kept_tree
    table = mapped(path)
    node = table.column("node").to_numpy()
    leaf = tree.n_children[node] == 0
    kept = leaf & np.array([not is_number(name) for name in tree.name[node].tolist()], dtype=bool)
    name = tree.name.copy()
    name[node[~kept]] = np.array(table.column("name").to_pylist(), dtype=object)[~kept]
    extra = dict(tree.extra)
    # Namings of before have no questions.
    given = table.column("question") if "question" in table.column_names else None
    if given is not None and given.null_count < len(given):
        extra["question"] = np.full(tree.n_nodes, None, dtype=object)
        extra["question"][node] = np.array(given.to_pylist(), dtype=object)
    named = relabelled(tree, name, extra)
    _renamed[tree] = path, named
    return named


def form_etag(record: TreeRecord, form: Form[TreeExport], query: PartQuery | None = None) -> str:
    """The ETag of a form of a tree; without a query, of the whole tree by default.

    The tree itself never changes, its name and what else a user says of it may.
    """
    requested = "{}" if query is None else query.model_dump_json(exclude_defaults=True)
    changed = f" {record.revision}" if record.revision else ""
    return etag_of(f"{record.etag}{changed} {form.suffix} {requested}".encode())
