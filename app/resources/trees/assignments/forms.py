"""The forms of the clusters of input rows: of one cut, or of several nested ones.

The cluster of noise is -1 in each; its node is the leaf of noise, its name "noise".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from app.http.forms import Chunks, Form, npy_chunks
from app.http.json_parts import IDS, ITEMS, json_object, slices
from models.arrays import Int
from models.editions.edited import EditedTree
from models.tree.cluster_names import cluster_names
from models.tree.cut import Cut, rows_at
from models.tree.noise import NAME
from models.tree.parents import nearest
from models.tree.tree import Tree
from models.tree.walk import spans
from workers.formats.table_writers import (
    Piece,
    arrow_chunks,
    csv_chunks,
    json_columns,
    json_list,
    json_rows,
)

if TYPE_CHECKING:
    import pyarrow as pa


class Assigned(Protocol):
    """Clusters of rows that write themselves in each form; warning : None, or why they differ from
    what was requested."""

    @property
    def warning(self) -> str | None: ...

    def json(self) -> Chunks: ...

    def csv(self) -> Chunks: ...

    def npy(self) -> Chunks: ...

    def arrow(self) -> Chunks: ...


@dataclass(frozen=True, slots=True)
class OneCut:
    """The rows of a tree in the clusters of a cut.

    query : the cut as requested. columns : further columns of the rows, by name. ids : of the
    rows, where they have any.
    """

    shown: EditedTree
    query: dict[str, Any]
    cut: Cut
    columns: dict[str, Any]
    ids: pa.Array | None = None

    @property
    def warning(self) -> str | None:
        return self.cut.warning

    def json(self) -> Chunks:
        fields: dict[str, Any] = {
            "cut": self.query,
            "clusters": json_rows(["id", "node", "size", "name"], _clusters(self.shown, self.cut)),
            "n_noise": self.cut.n_noise,
            "assignments": json_list(
                some.tolist() for some in slices(self.cut.cluster_of_point, IDS)
            ),
        }
        if self.ids is not None:
            fields["ids"] = json_list(_texts(self.ids))
        if self.columns:
            fields["columns"] = json_columns(self.columns)
        fields["warnings"] = [self.cut.warning] if self.cut.warning else []
        yield from json_object(fields)
        yield b"\n"

    def csv(self) -> Chunks:
        own = ["row", *_id_column(self.ids), "cluster", "node", "name", *self.columns]
        return csv_chunks(own, self._rows())

    def npy(self) -> Chunks:
        return npy_chunks(self.cut.cluster_of_point.astype(np.int64, copy=False))

    def arrow(self) -> Chunks:
        import pyarrow as pa

        columns = {
            **_id_column(self.ids),
            "cluster": self.cut.cluster_of_point,
            "node": _nodes(self.shown, self.cut),
            **self.columns,
        }
        return arrow_chunks(pa.table(columns))

    def _rows(self) -> Iterator[Piece]:
        tree = self.shown.tree
        names, nodes = _names(tree, self.cut), _nodes(self.shown, self.cut)
        for some in _spans(tree.n_points):
            clusters = self.cut.cluster_of_point[some]
            further = [_or_none(values[some]) for values in self.columns.values()]
            own = [range(some.start, some.stop), *_ids_at(self.ids, some)]
            yield [*own, clusters, nodes[some], names[clusters], *further]


def _or_none(values: Any) -> list[float | None]:
    """The values of points, None for a point without one."""
    return [None if value != value else value for value in values.tolist()]


@dataclass(frozen=True, slots=True)
class LeavesOfCut:
    """The leaves of a tree, from left to right, in the clusters of a cut: of a tree of classes,
    which class is in which cluster.

    query : the cut as requested.
    """

    shown: EditedTree
    query: dict[str, Any]
    cut: Cut

    @property
    def warning(self) -> str | None:
        return self.cut.warning

    def json(self) -> Chunks:
        yield from json_object(
            {
                "cut": self.query,
                "clusters": json_rows(
                    ["id", "node", "size", "name"], _clusters(self.shown, self.cut)
                ),
                "n_noise": self.cut.n_noise,
                "leaves": json_rows(self._columns(), self._rows()),
                "warnings": [self.cut.warning] if self.cut.warning else [],
            }
        )
        yield b"\n"

    def csv(self) -> Chunks:
        return csv_chunks(self._columns(), self._rows())

    def npy(self) -> Chunks:
        return npy_chunks(self._clusters()[0])

    def arrow(self) -> Chunks:
        import pyarrow as pa

        columns: list[list[Any]] = [[] for _ in self._columns()]
        for piece in self._rows():
            for column, values in zip(columns, piece, strict=True):
                column.extend(values)
        return arrow_chunks(pa.table(dict(zip(self._columns(), columns, strict=True))))

    def _columns(self) -> list[str]:
        own = ["leaf", "leaf_name", "leaf_size", "cluster", "node", "name"]
        return [*own, "support"] if "support" in self.shown.tree.extra else own

    def _leaves(self) -> Int:
        """(n_leaves,) the leaves from left to right."""
        tree = self.shown.tree
        ordered: Int = tree.leaves[np.argsort(spans(tree).start[tree.leaves])]
        return ordered

    def _clusters(self) -> tuple[Int, Int]:
        """(n_leaves,) the cluster of each leaf, -1 for noise, and the row of its part."""
        tree = self.shown.tree
        is_part = np.zeros(tree.n_nodes, dtype=bool)
        is_part[self.cut.cover] = True
        part = nearest(tree.parent, is_part)[self._leaves()]
        place = np.searchsorted(self.cut.nodes, part).clip(max=max(0, self.cut.n_clusters - 1))
        in_cluster = self.cut.nodes[place] == part if self.cut.n_clusters else part < 0
        return np.where(in_cluster, place, -1).astype(np.int64), part

    def _rows(self) -> Iterator[Piece]:
        tree, names = self.shown.tree, _names(self.shown.tree, self.cut)
        leaves = self._leaves()
        clusters, parts = self._clusters()
        for some in slices(np.arange(leaves.size), ITEMS):
            leaf, cluster, part = leaves[some], clusters[some], parts[some]
            own: list[Any] = [self.shown.ids_of(leaf), tree.name[leaf], tree.size[leaf]]
            own += [cluster, self.shown.ids_of(part), names[cluster]]
            if "support" in tree.extra:
                own.append(np.asarray(tree.extra["support"], dtype=np.float64)[part])
            yield own


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The rows of a tree in the clusters of several cuts, the coarsest first.

    Clusters of a cut are nested in the clusters of the cuts before it, since all cuts open the
    same nodes in the same order. k : the numbers of clusters as requested, rising. ids : of the
    rows, where they have any.
    """

    shown: EditedTree
    k: Sequence[int]
    cuts: Sequence[Cut]
    ids: pa.Array | None = None

    @property
    def warning(self) -> str | None:
        return next((cut.warning for cut in self.cuts if cut.warning), None)

    def json(self) -> Chunks:
        fields: dict[str, Any] = {
            "cut": {"levels": list(self.k)},
            "levels": self._levels(),
            "assignments": json_list(
                rows.tolist() for rows in (self._assignments(some) for some in self._spans())
            ),
            **({} if self.ids is None else {"ids": json_list(_texts(self.ids))}),
            "warnings": [cut.warning for cut in self.cuts if cut.warning],
        }
        yield from json_object(fields)
        yield b"\n"

    def csv(self) -> Chunks:
        names = [f"{part}_{k}" for k in self.k for part in ("cluster", "node", "name")]
        return csv_chunks(["row", *_id_column(self.ids), *names], self._rows())

    def npy(self) -> Chunks:
        return npy_chunks(self._assignments(slice(None)))

    def arrow(self) -> Chunks:
        import pyarrow as pa

        columns = _id_column(self.ids)
        for k, cut in zip(self.k, self.cuts, strict=True):
            columns[f"cluster_{k}"] = cut.cluster_of_point
            columns[f"node_{k}"] = _nodes(self.shown, cut)
        return arrow_chunks(pa.table(columns))

    def _spans(self) -> Iterator[slice]:
        return _spans(self.shown.tree.n_points)

    def _assignments(self, some: slice) -> Int:
        """(n_rows, n_levels) cluster of each row at each level."""
        return np.stack([cut.cluster_of_point[some] for cut in self.cuts], axis=1)

    def _levels(self) -> Chunks:
        lead = b"["
        for number, (k, cut) in enumerate(zip(self.k, self.cuts, strict=True)):
            pieces = (
                [*piece, parents]
                for piece, parents in zip(
                    _clusters(self.shown, cut), self._parents(number), strict=True
                )
            )
            clusters = json_rows(["id", "node", "size", "name", "parent"], pieces)
            yield lead
            yield from json_object({"k": k, "clusters": clusters})
            lead = b", "
        yield b"]"

    def _parents(self, number: int) -> Iterator[Sequence[int | None]]:
        """The number of the cluster, one level above, that each cluster of a level is part of."""
        cut = self.cuts[number]
        if not number:
            yield from ([None] * len(some) for some in slices(cut.nodes, ITEMS))
            return
        above = self.cuts[number - 1]
        tree = self.shown.tree
        is_above = np.zeros(tree.n_nodes, dtype=bool)
        is_above[above.nodes] = True
        holder = nearest(tree.parent, is_above)[cut.nodes]
        parents = np.searchsorted(above.nodes, holder)
        yield from (some.tolist() for some in slices(parents, ITEMS))

    def _rows(self) -> Iterator[Piece]:
        names = [_names(self.shown.tree, cut) for cut in self.cuts]
        nodes = [_nodes(self.shown, cut) for cut in self.cuts]
        for some in self._spans():
            columns: list[Any] = [range(some.start, some.stop), *_ids_at(self.ids, some)]
            for cut, of_cluster, of_row in zip(self.cuts, names, nodes, strict=True):
                clusters = cut.cluster_of_point[some]
                columns += [clusters, of_row[some], of_cluster[clusters]]
            yield columns


def _id_column(ids: pa.Array | None) -> dict[str, Any]:
    """The column of ids, if there is one."""
    return {} if ids is None else {"id": ids}


def _ids_at(ids: pa.Array | None, some: slice) -> list[list[str]]:
    """The ids of some rows as a column, if there is one."""
    return [] if ids is None else [ids[some].to_pylist()]


def _texts(ids: pa.Array) -> Iterator[list[str]]:
    return (ids[some].to_pylist() for some in _spans(len(ids)))


def _spans(n_points: int) -> Iterator[slice]:
    return (slice(start, min(start + IDS, n_points)) for start in range(0, n_points, IDS))


def _names(tree: Tree, cut: Cut) -> npt.NDArray[np.object_]:
    """(n_clusters + 1,) the name of each cluster or None, and last that of noise."""
    return np.array([*cluster_names(tree, cut.nodes), NAME], dtype=object)


def _nodes(shown: EditedTree, cut: Cut) -> Int:
    """(n_points,) the node of the cluster, or of the noise, of each row."""
    part = rows_at(shown.tree, cut.cover) if cut.noise.size else cut.cluster_of_point
    return shown.ids_of(cut.cover)[part]


def _clusters(shown: EditedTree, cut: Cut) -> Iterator[Piece]:
    """Number, node, size and name of each cluster."""
    for some in slices(np.arange(cut.n_clusters), ITEMS):
        nodes = cut.nodes[some]
        names = cluster_names(shown.tree, nodes)
        yield [some, shown.ids_of(nodes), cut.sizes[some], names]


FORMS: tuple[Form[Assigned], ...] = (
    Form("json", "application/json", lambda assigned: assigned.json()),
    Form("csv", "text/csv", lambda assigned: assigned.csv()),
    Form("npy", "application/x-npy", lambda assigned: assigned.npy()),
    Form("arrow", "application/vnd.apache.arrow.file", lambda assigned: assigned.arrow()),
)
