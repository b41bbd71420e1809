"""The features that tell a tree's nodes apart, as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from app.forms import parts
from app.forms import tree as forms
from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.problems import responses
from app.routes.trees import ANYWHERE, loaded
from app.schemas.looks import FeaturesBody
from models.tree.features import DistinctiveFeature, distinctive_features
from models.tree.tree import Tree

router = APIRouter(prefix="/v1/trees", tags=["trees"])

_ROWS = 4096
"""Rows that are written at a time."""


def _parts(tree: Tree) -> Iterator[list[DistinctiveFeature]]:
    rows = distinctive_features(tree)
    while part := list(islice(rows, _ROWS)):
        yield part


def _csv(tree: Tree) -> Iterator[bytes]:
    yield ",".join(DistinctiveFeature._fields).encode() + b"\r\n"
    for part in _parts(tree):
        text = io.StringIO()
        csv.writer(text).writerows(
            ["" if one is None else forms.cell(one) if isinstance(one, str) else one for one in row]
            for row in part
        )
        yield text.getvalue().encode()


def _json(tree: Tree) -> Iterator[bytes]:
    yield b'{"items": '
    yield from parts.listed([row._asdict() for row in part] for part in _parts(tree))
    yield b"}"


FORMS: tuple[forms.Form[Tree], ...] = (
    forms.Form("csv", "text/csv", _csv),
    forms.Form("json", "application/json", _json),
)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": FeaturesBody,
        "description": "A row for each number.",
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
    "/{tree_id}/features.{suffix}",
    operation_id="get_tree_features",
    summary="The features that tell nodes apart",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def get_tree_features(
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    suffix: Annotated[str, Path(description="csv or json.", examples=["csv"])],
) -> Response:
    """What the method tells of each node by features, the most telling first: weights, their cost,
    probabilities. No rows where it tells none.
    """
    form = forms.by_suffix(suffix, FORMS)
    which = await parts.look_turn(service, tenant, tree_id)

    def rows() -> Iterator[bytes]:
        yield from form.write(loaded(service, tenant, tree_id))

    answer = await parts.written(rows(), which, form.media)
    answer.headers["Content-Disposition"] = f'attachment; filename="{tree_id}-features.{suffix}"'
    return answer
