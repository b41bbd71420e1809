"""The cluster of each input row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from app.forms.form import Chunks, Form, mount, respond, warning
from app.forms.parts import IDS, ITEMS, json_object, slices
from app.forms.stored import record_of, tree_of
from app.forms.tree import npy_chunks
from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.problems import ANYWHERE, responses
from app.http.streaming import turn
from app.schemas.queries import CutQuery
from app.schemas.trees import Assignments
from models.tree.cut import Cut, cut
from models.tree.tree import Tree
from workers.formats.table_writers import (
    Piece,
    arrow_chunks,
    csv_chunks,
    json_columns,
    json_list,
    json_rows,
)

router = APIRouter(prefix="/v1/trees", tags=["trees"])


@dataclass(frozen=True, slots=True)
class Assigned:
    """The rows of a tree in the clusters of a cut.

    query : the cut as requested. columns : further columns of the rows, by name.
    """

    tree: Tree
    query: dict[str, Any]
    cut: Cut
    columns: dict[str, Any]

    def clusters(self) -> Iterator[Piece]:
        """Number, node, size and name of each cluster."""
        numbers = np.arange(self.cut.n_clusters)
        for some in slices(numbers, ITEMS):
            nodes = self.cut.nodes[some]
            yield [some, nodes, self.cut.sizes[some], self.tree.name[nodes]]

    def rows(self) -> Iterator[Piece]:
        """Number, cluster, node, name and further columns of each row."""
        for start in range(0, self.tree.n_points, IDS):
            some = slice(start, min(start + IDS, self.tree.n_points))
            clusters = self.cut.cluster_of_point[some]
            nodes = self.cut.nodes[clusters]
            further = [values[some] for values in self.columns.values()]
            yield [range(some.start, some.stop), clusters, nodes, self.tree.name[nodes], *further]


def _json(assigned: Assigned) -> Chunks:
    fields: dict[str, Any] = {
        "cut": assigned.query,
        "clusters": json_rows(["id", "node", "size", "name"], assigned.clusters()),
        "assignments": json_list(
            some.tolist() for some in slices(assigned.cut.cluster_of_point, IDS)
        ),
    }
    if assigned.columns:
        fields["columns"] = json_columns(assigned.columns)
    fields["warnings"] = [assigned.cut.warning] if assigned.cut.warning else []
    yield from json_object(fields)
    yield b"\n"


def _csv(assigned: Assigned) -> Chunks:
    return csv_chunks(["row", "cluster", "node", "name", *assigned.columns], assigned.rows())


def _npy(assigned: Assigned) -> Chunks:
    return npy_chunks(assigned.cut.cluster_of_point.astype(np.int64, copy=False))


def _arrow(assigned: Assigned) -> Chunks:
    import pyarrow as pa

    clusters = assigned.cut.cluster_of_point
    columns = {"cluster": clusters, "node": assigned.cut.nodes[clusters], **assigned.columns}
    return arrow_chunks(pa.table(columns))


FORMS: tuple[Form[Assigned], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
    Form("npy", "application/x-npy", _npy),
    Form("arrow", "application/vnd.apache.arrow.file", _arrow),
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Assignments,
        "description": "The clusters, and the cluster of every input row.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "row,cluster,node,name\r\n0,0,1,rose\r\n",
            },
            "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
            "application/vnd.apache.arrow.file": {"schema": {"type": "string", "format": "binary"}},
        },
        "headers": {
            "Warning": {
                "description": "Why there are fewer clusters than `k`.",
                "schema": {"type": "string"},
            }
        },
    },
    304: {"description": "The client has the current version."},
    **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request"),
}


@mount(
    router,
    "/{tree_id}/assignments",
    FORMS,
    summary="The cluster of every row",
    responses=_DOCUMENTED,
)
async def get_assignments(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[Assigned],
    query: Annotated[CutQuery, Query()],
) -> Response:
    """The flat clustering of a cut by `k`, `height` or `level`; without a cut, of the leaves."""
    record = await record_of(service, tenant, tree_id)
    bounds = query.model_dump(exclude_none=True)

    def load() -> tuple[Assigned, dict[str, str]]:
        tree = tree_of(service, tenant, tree_id)
        columns = service.trees.points(tenant, tree_id)
        assigned = Assigned(tree, bounds, cut(tree, **bounds), columns)
        return assigned, warning(assigned.cut.warning)

    etag = etag_of(f"{record.etag} assignments {form.suffix} {bounds}".encode())
    return await respond(request, form, load, turn(record, "export"), etag=etag)
