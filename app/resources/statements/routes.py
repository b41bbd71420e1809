"""Statements about a tree, as labels of its rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from app.creation.allowances import Allowance
from app.http import threads
from app.http.bodies import RowsRoute
from app.http.dependencies import (
    Caller,
    DatasetId,
    OnceDep,
    Service,
    ServiceDep,
    Tenant,
    TreeId,
)
from app.http.keyring import Access
from app.http.paging import LINK_HEADER, InOrder
from app.http.problems import ANYWHERE, not_found, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import in_turn, turn
from app.resources.datasets.routes import LOCATION, created
from app.resources.datasets.schemas import EXAMPLE, DatasetBody
from app.resources.datasets.submission import require_room
from app.resources.statements.schemas import (
    StatementKind,
    StatementsBody,
    StatementsPage,
    StatementsRequest,
)
from app.resources.statements.submission import labelled
from models.inputs.pairs import Known
from workers.artifacts.datasets import Dataset
from workers.artifacts.trees import TreeRecord
from workers.formats.json import MAX_JSON
from workers.model import new_id, now

router = APIRouter(route_class=RowsRoute, dependencies=ONLY_KNOWN)

_SUFFIX = ", known"
_LONGEST = 1000
_EXAMPLE = {
    **EXAMPLE,
    "name": "pets, known",
    "role": "labels",
    "format": "json",
    "shape": [50000],
    "dtype": "str",
    "bytes": 310021,
    "tree": "tr_01kamjx5w0n5zr4v8cqe2t7h3f",
}


@router.post(
    "/v1/trees/{tree_id}/labels",
    operation_id="label_tree",
    summary="Labels from statements about a tree",
    tags=["trees"],
    status_code=201,
    response_class=Response,
    responses={
        201: {
            "model": DatasetBody,
            "description": "The labels are a new dataset.",
            "headers": LOCATION,
            "content": {"application/json": {"example": _EXAMPLE}},
        },
        **responses(
            *ANYWHERE,
            "malformed",
            "not-found",
            "conflict",
            "too-large",
            "unsupported-format",
            "invalid-request",
            "wrong-input",
            "contradiction",
            "idempotency-mismatch",
            "quota-exceeded",
            "full",
        ),
    },
)
async def label_tree(
    request: Request,
    service: ServiceDep,
    caller: Caller,
    tree_id: TreeId,
    body: StatementsRequest,
    once: OnceDep,
) -> Response:
    """A new dataset with a label for each input row of the tree, null where no statement covers it:
    the input `labels` of methods that learn from known clusters.

    A statement is about nodes, each of which stands for all rows under it, or about `rows`. A node
    that is `known` is a cluster with a `name`; nodes `together` are one cluster, nodes `apart` are
    clusters of their own. Clusters that share a row, or a name, are one; those without a name are
    called 'cluster 1', .... A row has one label: a node known inside another one that is known
    under another name contradicts it, and so does one apart from a node around it.

    Statements that contradict each other are refused (`/problems/contradiction`), with
    `contradictions`: at most 100, by their places in the request, and the rows they share.
    """
    tenant = caller.tenant
    record = await record_of(service, tenant, tree_id)
    dataset_id = new_id("ds")

    async def make() -> Response:
        def label() -> Known:
            require_room(service, 0)
            return labelled(tree_of(service, tenant, tree_id), body.statements)

        known = await in_turn(label, turn(record, "look"))
        dataset = await _create(service, caller, record, dataset_id, known, body)
        return created(request, dataset)

    async def again(earlier_id: str) -> Response | None:
        earlier = await threads.run_sync(service.datasets.get, tenant, earlier_id)
        return None if earlier is None else created(request, earlier)

    return await once.answer(dataset_id, await request.body(), make, again)


@router.get(
    "/v1/datasets/{dataset_id}/statements",
    operation_id="get_dataset_statements",
    summary="The statements that labels were made from",
    tags=["datasets"],
    response_model=StatementsPage,
    response_model_exclude_unset=True,
    responses={200: {"headers": LINK_HEADER}, **responses(*ANYWHERE, "not-found")},
)
async def get_dataset_statements(
    response: Response,
    service: ServiceDep,
    tenant: Tenant,
    dataset_id: DatasetId,
    paging: InOrder,
    kind: Annotated[
        StatementKind | None, Query(description="Only statements of this kind.")
    ] = None,
) -> StatementsPage:
    """The statements in their order, and the tree that they are about. 404 for a dataset that was
    not made from statements."""
    content = await threads.run_sync(service.datasets.statements, tenant, dataset_id)
    if content is None:
        raise not_found("dataset made from statements", dataset_id)
    kept = StatementsBody.model_validate_json(content)
    page = paging.cut(
        response,
        (
            (number, each)
            for number, each in enumerate(kept.statements)
            if kind is None or getattr(each, kind) is not None
        ),
        lambda numbered: numbered[1],
        own=lambda numbered: f"{numbered[0]:09d}",
    )
    return StatementsPage(tree=kept.tree, **dict(page))


async def _create(
    service: Service,
    caller: Access,
    record: TreeRecord,
    dataset_id: str,
    known: Known,
    body: StatementsRequest,
) -> Dataset:
    """The labels as a dataset, with their statements beside them. On failure nothing remains."""
    tenant, datasets = record.tenant, service.datasets
    content, file_format = await threads.run_sync(_content, known)

    async def chunks() -> AsyncIterator[bytes]:
        yield content

    dataset = Dataset(
        id=dataset_id,
        tenant=tenant,
        name=body.name
        or (f"{record.name[: _LONGEST - len(_SUFFIX)]}{_SUFFIX}" if record.name else None),
        role="labels",
        status="ready",
        format=file_format,
        member=None,
        shape=known.code.shape,
        dtype="str",
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        created_at=now(),
        problem=None,
        tree=record.id,
        key=caller.key_id,
        tags=caller.tagged(()),
    )
    stored = StatementsBody(tree=record.id, statements=body.statements)
    kept = stored.model_dump_json(exclude_none=True).encode()
    async with Allowance(service, caller, datasets=1, stated=len(content), made=dataset_id):
        try:
            await datasets.receive(tenant, dataset_id, chunks())
            await threads.run_sync(datasets.keep_statements, tenant, dataset_id, kept)
        except BaseException:
            await threads.run_sync(datasets.discard, tenant, dataset_id)
            raise
        await threads.run_sync(datasets.create, dataset)
    return dataset


def _content(known: Known) -> tuple[bytes, str]:
    """The labels as JSON, or as JSON lines where they are longer than a JSON document may be."""
    texts = np.array([*map(json.dumps, known.names), "null"], dtype=object)[known.code].tolist()
    length = sum(map(len, texts)) + len(texts) + 1
    if length <= MAX_JSON:
        return f"[{','.join(texts)}]".encode(), "json"
    return "\n".join([*texts, ""]).encode(), "jsonl"
