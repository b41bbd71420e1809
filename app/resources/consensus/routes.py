"""One tree from several, and which trees agree on a node of it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from app.creation.creation import Draft, Headers, SubmissionDep, Work, mount_create
from app.http import threads
from app.http.addresses import address
from app.http.bodies import StrictRoute
from app.http.dependencies import NodeId, Service, ServiceDep, Tenant, TreeId, is_id
from app.http.etags import answer
from app.http.problems import ANYWHERE, Refused, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.resources.consensus.schemas import EXAMPLE, AgreementBody, ConsensusBody, ConsensusRequest
from models.errors import shown
from models.tree.walk import require_node
from workers.artifacts import results
from workers.kinds.consensus import ConsensusOptions
from workers.model import Record

router = APIRouter(prefix="/v1", tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN)

_OPTIONS = {"rule", "threshold", "match", "common", "support", "seed"}


@mount_create(
    router,
    "/consensus",
    "consensus",
    operation_id="make_consensus",
    summary="One tree from several",
    response_model=ConsensusBody,
    ended={"content": {"application/json": {"example": EXAMPLE}}},
)
async def make_consensus(submission: SubmissionDep, body: ConsensusRequest) -> Work:
    """The consensus of several trees over the same leaves or rows, as a tree like any other: each
    node has the share of the trees that agree on it (`support`, also in Newick), and the mean
    height at which its rows meet in the trees. With `reference`, a copy of that tree with the
    support of its nodes instead. Trees are compared as rooted ones: by the rows under nodes.
    """
    service, tenant, request = submission.service, submission.tenant, submission.request

    def draft() -> Draft:
        _require(service, tenant, body.trees, "trees")
        inputs: dict[str, Any] = {"trees": body.trees}
        options = body.model_dump(include=_OPTIONS)
        if body.reference is not None:
            _require(service, tenant, [body.reference], "reference")
            inputs["reference"] = body.reference
            options["rule"] = "reference"
        return Draft(ConsensusOptions.model_validate(options), inputs=inputs)

    async def result(done: Record, headers: Headers) -> Response:
        consensus = ConsensusBody.of(done, body.trees)
        own = {"Location": address(request, f"/v1/trees/{consensus.tree}")}
        return answer(request, consensus, status=201, headers={**own, **headers})

    return Work(draft, result)


@router.get(
    "/trees/{tree_id}/nodes/{node}/agreement",
    operation_id="get_agreement",
    summary="Which trees have a node",
    response_model=AgreementBody,
    responses=responses(*ANYWHERE, "not-found", "invalid-request"),
)
async def get_agreement(
    service: ServiceDep, tenant: Tenant, tree_id: TreeId, node: NodeId
) -> AgreementBody:
    """For a tree made by `POST /v1/consensus`: which of the given trees have a node of the same
    rows. The answer names them by id, whether they still exist or not.
    """
    record = await record_of(service, tenant, tree_id)

    def load() -> AgreementBody:
        require_node(tree_of(service, tenant, tree_id), node)
        path = service.trees.file(tenant, tree_id, results.AGREEMENT)
        job = None if record.job is None else service.ledger.get(tenant, record.job)
        if path is None or job is None:
            raise Refused(
                "not-found",
                f"Tree {tree_id!r} was not made from others by POST /v1/consensus.",
            )
        trees = job.inputs["trees"]
        has = results.load_agreement(path, node, len(trees))
        return AgreementBody(
            node=node,
            having=[tree for tree, each in zip(trees, has, strict=True) if each],
            lacking=[tree for tree, each in zip(trees, has, strict=True) if not each],
        )

    return await threads.run_sync(load)


def _require(service: Service, tenant: str, trees: list[str], member: str) -> None:
    """Raises Refused `unknown-input` for a tree that is not there."""
    known: set[str] = set()
    for tree_id in trees:
        if tree_id in known:
            continue
        if not is_id(tree_id, "tr") or service.trees.record(tenant, tree_id) is None:
            raise refused_at("unknown-input", f"There is no tree {shown(tree_id)}.", member)
        known.add(tree_id)
