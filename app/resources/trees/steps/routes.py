"""Steps of a learned tree: their list, and each as a tree."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Query, Request, Response

from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.forms import Form, mount, respond, warning
from app.http.late import LateRoute
from app.http.picture_queries import PartQuery
from app.http.problems import ANYWHERE, Refused, responses
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of, tree_of
from app.http.streaming import in_turn, turn
from app.resources.trees.coloring import coloring
from app.resources.trees.documented import documented_forms
from app.resources.trees.forms import FORMS, WRITTEN, TreeExport, form_etag, lost
from app.resources.trees.steps.schemas import TreeStepBody, TreeStepsBody
from models.answers.learned_steps import MOST_STEPS
from models.editions.edited import EditedTree
from models.tree.labels import Categories, labels, of_labels
from models.tree.tree import Tree
from models.tree.walk import spans
from workers.artifacts import results
from workers.model import sibling

router = APIRouter(
    prefix="/v1/trees", tags=["trees"], dependencies=ONLY_KNOWN, route_class=LateRoute
)

Number = Annotated[
    int, Path(ge=0, le=MOST_STEPS, description="`number` of the list.", examples=[0])
]


@router.get(
    "/{tree_id}/steps",
    operation_id="list_tree_steps",
    summary="The trees that a fit had on its way",
    response_model=TreeStepsBody,
    responses=responses(*ANYWHERE, "not-found"),
)
async def list_tree_steps(service: ServiceDep, tenant: Tenant, tree_id: TreeId) -> TreeStepsBody:
    """A few states of a tree that was learned by steps, each of lower cost than the one before, and
    the tree itself as the last one; without any where the parameter `keep_steps` of its fit was 0
    or its method has none.
    """
    record = await record_of(service, tenant, tree_id)

    def listed() -> TreeStepsBody:
        known = _facts(service, tenant, tree_id)
        items = []
        for number, facts in enumerate(known):
            tree = _step_of(service, tenant, tree_id, number)
            items.append(
                TreeStepBody(number=number, **facts, n_nodes=tree.n_nodes, n_leaves=tree.n_leaves)
            )
        last = _last(service, tenant, tree_id) if known else None
        if last is not None:
            counts = {"n_nodes": record.n_nodes, "n_leaves": record.n_leaves}
            items.append(TreeStepBody(number=len(known), **last, **counts))
        return TreeStepsBody(items=items)

    return await in_turn(listed, turn(record, "look"))


@mount(
    router,
    "/{tree_id}/steps/{number}/tree",
    FORMS,
    summary="A tree that a fit had on its way",
    responses=documented_forms("wrong-shape"),
    is_documented=False,
)
async def get_tree_step(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    number: Number,
    form: Form[TreeExport],
    query: Annotated[PartQuery, Query()],
) -> Response:
    """As `step` of `GET /v1/trees/{tree_id}`."""
    return await step_form(request, service, tenant, tree_id, number, form, query)


async def step_form(
    request: Request,
    service: Service,
    tenant: str,
    tree_id: str,
    number: int,
    form: Form[TreeExport],
    query: PartQuery,
) -> Response:
    """One of the steps in a form of trees."""
    record = await record_of(service, tenant, tree_id)

    def load() -> tuple[TreeExport, dict[str, str]]:
        tree = _step_of(service, tenant, tree_id, number)
        categories = None
        if form.drawn and query.color_by is not None:
            final = tree_of(service, tenant, tree_id)
            found = coloring(service, tenant, tree_id, final, query.color_by)
            assert found is not None
            categories = _followed(found, final, tree)
        export = TreeExport(
            record,
            EditedTree(tree),
            **query.model_dump(include=set(WRITTEN)),
            sheet=query.sheet(service.settings.fonts),
            categories=categories,
        )
        return export, warning(lost(form, tree))

    etag = etag_of(f"{form_etag(record, form, query)} step {number}".encode())
    return await respond(request, form, load, turn(record, "export"), etag=etag)


def _followed(categories: Categories, final: Tree, tree: Tree) -> Categories:
    """The categories of the rows of a tree, for another tree of the same rows. O(n_points)."""
    code = categories.of_leaf[spans(final).start[final.leaf_of_point]]
    texts = categories.texts(final, categories.n_categories)
    # Clusters may have equal names.
    apart = len(set(texts)) == len(texts)
    named = [text if apart else f"{text} ({at + 1})" for at, text in enumerate(texts)]
    own = np.array([*named, None], dtype=object)[code]
    return of_labels(tree, labels(tree, own))


def _facts(service: Service, tenant: str, tree_id: str) -> list[dict[str, Any]]:
    path = service.trees.file(tenant, tree_id, results.STEPS)
    return [] if path is None else json.loads(path.read_text())


def _last(service: Service, tenant: str, tree_id: str) -> dict[str, Any] | None:
    """The facts of the result: its step and cost, as its job measured them."""
    job = service.ledger.get(tenant, sibling(tree_id, "job"))
    if job is None or job.result is None:
        return None
    metrics = job.result["metrics"]
    step = int(metrics["best_step"])
    # What a method measures at its end alone has no curve.
    cost = metrics.get("cost")
    if "cost" in job.result["curves"]:
        cost = dict(job.result["curves"]["cost"]).get(step)
    return None if cost is None else {"step": step, "cost": cost}


def _step_of(service: Service, tenant: str, tree_id: str, number: int) -> Tree:
    """The tree of a step; the one after the last is the result. Blocks. Raises Refused `not-found`
    where there is no such step."""
    n_steps = len(_facts(service, tenant, tree_id))
    if n_steps and number == n_steps:
        return tree_of(service, tenant, tree_id)
    columns, leaves = (
        service.trees.file(tenant, tree_id, name) for name in results.step_files(number)
    )
    if columns is None or leaves is None:
        raise Refused(
            "not-found",
            f"Tree {tree_id!r} has {n_steps or 'no'} earlier steps"
            + (
                f", numbered from 0 to {n_steps}, the tree itself."
                if n_steps
                else "; fits keep them with the parameter 'keep_steps'."
            ),
        )
    return results.load_tree(columns, leaves)
