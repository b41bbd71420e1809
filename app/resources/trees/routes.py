"""Trees: lists, forms, removal."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.creation.annotations import mount_patch
from app.creation.lists import Filters, mount_list
from app.http import threads
from app.http.aliased import removed_unnamed
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId, checked
from app.http.etags import IfMatch, require_match
from app.http.forms import Form, mount, respond, warning
from app.http.late import LateRoute
from app.http.picture_queries import FormQuery
from app.http.pointers import QUERY
from app.http.problems import ANYWHERE, not_found, refused_at, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.http.streaming import turn
from app.resources.trees.documented import documented_forms
from app.resources.trees.forms import FORMS, WRITTEN, TreeExport, form_etag, lost
from app.resources.trees.item_columns import strip_columns
from app.resources.trees.schemas import TREE_EXAMPLE, TreeSummary
from app.resources.trees.shown import categories_of, shown_etag, shown_tree_of
from app.resources.trees.steps.routes import step_form
from workers.artifacts.trees import TreeRecord
from workers.model import sibling

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)


async def _of_method(
    method: Annotated[
        str | None, Query(pattern=r"^[a-z0-9-]{1,60}$", description="Only trees of this method.")
    ] = None,
) -> Filters:
    return {"method": method}


mount_list(
    router,
    "",
    "tree",
    TreeSummary,
    TreeSummary.of,
    TREE_EXAMPLE,
    lambda service: service.trees.listing,
    description="One page of the caller's trees, results of jobs and imported ones, without their "
    "nodes. `method=consensus` has what `POST /v1/consensus` made, `method=import` what was "
    "imported.",
    only=_of_method,
)


@mount(
    router,
    "/{tree_id:stem}",
    FORMS,
    summary="A tree",
    responses=documented_forms(),
)
async def get_tree(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[TreeExport],
    query: Annotated[FormQuery, Query()],
) -> Response:
    """The tree, or with `root` and `depth` a part of it, in the form that Accept prefers: JSON,
    Newick, Nexus, SciPy linkage, R hclust, Arrow, CSV, Parquet, GraphML, SVG, PNG or PDF. Node ids
    refer to the whole tree. Text forms have leaves and names, but not which rows a leaf holds:
    a tree of named points that is imported again has its rows in the order of the leaves.
    Evaluations match rows by name.

    With `step` one of the trees that its fit had on its way; `id` and other facts are the result's.
    Nodes of a step have numbers that say nothing about nodes of other steps; rows are the same.
    With `color_by` a cut is of the result, so that its clusters can be followed from step to step.
    """
    if query.step is not None:
        _require_alone(query)
        return await step_form(request, service, tenant, tree_id, query.step, form, query)
    record = await record_of(service, tenant, tree_id)

    def load() -> tuple[TreeExport, dict[str, str]]:
        shown = shown_tree_of(service, tenant, tree_id, query.names, query.edition)
        categories = None
        if form.drawn:
            categories = categories_of(service, tenant, tree_id, shown, query.color_by)
        export = TreeExport(
            record,
            shown,
            **{**query.model_dump(include=set(WRITTEN)), "root": shown.row(query.root)},
            sheet=query.sheet(service.settings.fonts),
            categories=categories,
            strips=strip_columns(service, tenant, tree_id, query.strips) if form.drawn else (),
        )
        return export, warning(lost(form, shown.tree))

    etag = form_etag(record, form, query)
    etag = await shown_etag(service, tenant, tree_id, None, query.edition, etag)
    return await respond(request, form, load, turn(record, "export"), etag=etag)


@router.delete(
    "/{tree_id:stem}",
    status_code=204,
    operation_id="delete_tree",
    summary="Remove a tree",
    responses=responses(*ANYWHERE, "not-found", "conflict", "precondition-failed"),
)
async def delete_tree(
    service: ServiceDep, tenant: Tenant, tree_id: TreeId, if_match: IfMatch = None
) -> None:
    """Removes the tree, its model, maps, heatmaps and attachments; the job's record stays. 409
    while an alias names it. `If-Match` takes the ETag of any form of the whole tree.
    """
    if if_match is not None:
        record = await record_of(service, tenant, tree_id)
        require_match(if_match, *(form_etag(record, each) for each in FORMS))
    remove = service.trees.delete
    if not await threads.run_sync(removed_unnamed, service.aliases, tenant, tree_id, remove):
        raise not_found("tree", tree_id)
    await threads.run_sync(service.ledger.delete_companions, tenant, sibling(tree_id, "job"))


def _require_alone(query: FormQuery) -> None:
    """Raises Refused for what belongs to the tree itself, beside a step."""
    for name in ("names", "edition", "strips"):
        if getattr(query, name) is not None:
            detail = f"{name!r} is of the tree itself, not of a step on its way."
            raise refused_at("invalid-request", detail, QUERY, name)


def _look(service: Service, tenant: str, tree_id: str) -> TreeRecord:
    record = service.trees.record(tenant, tree_id)
    if record is None:
        raise not_found("tree", tree_id)
    return record


mount_patch(
    router,
    "tree",
    checked("tree", "tr"),
    TreeSummary,
    TREE_EXAMPLE,
    _look,
    more="Answers without the nodes; the ETag is that of the whole tree as JSON, and `If-Match` "
    "takes that of any form of the whole tree.",
    path="/{tree_id:stem}",
    etags_of=lambda record: [form_etag(record, form) for form in FORMS],
    body_of=TreeSummary.of,
)
