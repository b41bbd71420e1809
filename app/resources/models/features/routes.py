"""The features that distinguish a tree's nodes, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.forms import Chunks, Form, by_suffix, documented, respond
from app.http.json_parts import json_object
from app.http.late import LateRoute
from app.http.problems import ANYWHERE, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import look_turn, tree_of
from app.resources.models.features.schemas import FeaturesBody
from models.tree.cluster_names import DistinctiveFeature, distinctive_features
from models.tree.tree import Tree
from workers.formats.table_writers import Piece, csv_chunks, json_rows, pieces_of_rows

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

_ROWS = 4096
"""The number of rows written at a time."""


def _rows(tree: Tree) -> Iterator[Piece]:
    return pieces_of_rows(distinctive_features(tree), piece_rows=_ROWS)


def _csv(tree: Tree) -> Chunks:
    return csv_chunks(DistinctiveFeature._fields, _rows(tree))


def _json(tree: Tree) -> Chunks:
    return json_object({"items": json_rows(DistinctiveFeature._fields, _rows(tree))})


FORMS: tuple[Form[Tree], ...] = (
    Form("csv", "text/csv", _csv),
    Form("json", "application/json", _json),
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": FeaturesBody,
        "description": "One row for each number.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": ",".join(DistinctiveFeature._fields)
                + "\r\n0,,split_features,1,petal length,weight,1,0.25\r\n",
            }
        },
    },
    **responses(*ANYWHERE, "not-found", "not-acceptable"),
}


@router.get(
    "/{tree_id}/features.{form}",
    operation_id="get_tree_features",
    summary="The features that distinguish nodes",
    response_class=Response,
    responses=_DOCUMENTED,
    openapi_extra=documented(FORMS),
)
async def get_tree_features(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Annotated[str, Path(description="csv or json.", examples=["csv"])],
) -> Response:
    """The features that the method reports for each node, the most distinctive first, with weights,
    penalties or probabilities. No rows if it reports none.
    """
    chosen = by_suffix(form, FORMS)
    turn = await look_turn(service, tenant, tree_id)
    name = f"{tree_id}-features.{form}"

    def load() -> tuple[Tree, dict[str, str]]:
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return tree_of(service, tenant, tree_id), headers

    return await respond(request, chosen, load, turn)
