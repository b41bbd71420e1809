"""Namings: names for the nodes of a tree, from what the rows under them have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response

from app.creation.creation import Draft, SubmissionDep, Work
from app.creation.inputs import ResolvedInputs, resolve
from app.creation.named import NamedJobs
from app.http.bodies import StrictRoute
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId
from app.http.forms import Form, mount
from app.http.problems import refused_at
from app.http.queries import ONLY_KNOWN
from app.http.stored import record_of
from app.http.tables import TABLE, documented_table
from app.resources.namings.schemas import (
    EXAMPLE,
    NAMES_EXAMPLE,
    NamingBody,
    NamingRequest,
    NodeNamesBody,
)
from models.node_names.by_input import NEEDED, NamingTerms
from workers.artifacts import results
from workers.artifacts.trees import TreeRecord
from workers.errors import Missing
from workers.kinds.name import NamingOptions
from workers.stores.objects import layout
from workers.stores.objects.job_files import read_request

if TYPE_CHECKING:
    pass

router = APIRouter(prefix="/v1", tags=["trees"], route_class=StrictRoute, dependencies=ONLY_KNOWN)
NAMINGS = NamedJobs("name", NamingBody)
NamingId = Annotated[str, NAMINGS.checked_id]

_ROLES = ("labels", "documents", "features", "feature_names", "names")
_PER_ROW = ("labels", "documents", "features", "names")


@NAMINGS.create(
    router,
    "/trees/{tree_id}/namings",
    EXAMPLE,
    operation_id="create_naming",
    summary="Name the nodes of a tree",
)
async def create_naming(submission: SubmissionDep, tree_id: TreeId, body: NamingRequest) -> Work:
    """Names the nodes by what their rows have in common, with a question that tells siblings apart.
    Forms of the tree show both with `names`. `routed` says how well names tell siblings apart.
    """
    service, tenant = submission.service, submission.tenant
    record = await record_of(service, tenant, tree_id)
    if body.by == "model" and not service.settings.naming_url:
        raise refused_at(
            "invalid-request",
            "This service has no language model: its operator sets one by UMBEL_NAMING_URL and "
            "UMBEL_NAMING_MODEL. Names by labels, terms, items or features need none.",
            "by",
        )
    for role in body.inputs:
        if role not in _ROLES:
            detail = f"Names are not made of an input {role!r}; there are {', '.join(_ROLES)}."
            raise refused_at("wrong-input", detail, "inputs", role)

    def draft() -> Draft:
        inputs = resolve(service, tenant, body.inputs, images={"features"})
        if "documents" not in inputs.refs:
            _of_fit(service, tenant, record, inputs, NEEDED[body.found_by])
        _require_rows(record, inputs, body.inputs)
        terms = body.model_dump(include=set(NamingTerms.model_fields), exclude_none=True)
        return Draft(
            options=NamingOptions(tree=tree_id, **terms),
            inputs=inputs.refs,
            inline=inputs.inline,
        )

    return Work(draft)


def _of_fit(
    service: Service,
    tenant: str,
    record: TreeRecord,
    inputs: ResolvedInputs,
    needed: Iterable[str],
) -> None:
    """Add the inputs that are needed and not given, as far as the fit of the tree had them and they
    are still there: of terms its documents in place of features that it had none of."""
    if record.job is None:
        return
    try:
        fit = read_request(service.blobs, tenant, record.job)
    except Missing:
        return
    roles = [role for role in needed if role not in inputs.refs]
    if "documents" in fit.inputs and "feature_names" in roles:
        roles = ["documents"]
    for role in roles:
        ref = fit.inputs.get(role)
        first = ref[0] if isinstance(ref, list) else ref
        if first is None:
            continue
        if first == "inline":
            try:
                content = service.blobs.get(layout.inline(tenant, record.job, role))
            except Missing:
                continue
            inputs.refs[role], inputs.inline[role] = "inline", content
        elif service.datasets.get(tenant, first) is not None:
            found = resolve(service, tenant, {role: first}, images={"features"})
            inputs.refs |= found.refs
            inputs.shapes |= found.shapes


def _require_rows(record: TreeRecord, inputs: ResolvedInputs, given: Iterable[str]) -> None:
    """Raises Refused for an input that is not one for each row, as far as its shape is known."""
    for role in _PER_ROW:
        shape = inputs.shapes.get(role)
        if shape is not None and shape[0] != record.n_points:
            what = f"Input {role!r} has {shape[0]} rows; the tree has {record.n_points}."
            if role in given:
                raise refused_at("wrong-shape", what, "inputs", role)
            raise refused_at(
                "wrong-shape", f"{what} It is that of the fit: give one for each row.", "inputs"
            )


NAMINGS.mount(router, EXAMPLE)


NAMINGS.mount_get(
    router, EXAMPLE, "The state of a naming, and what was sent to a language model, if anything."
)


@mount(
    router,
    "/namings/{naming_id}/names",
    TABLE,
    summary="Names of a naming",
    responses=documented_table(
        NodeNamesBody,
        "The nodes that have a name, with what it was made of.",
        NAMES_EXAMPLE,
        "node,parent,size,name,by,evidence,n_routed,routed,question,answered\r\n"
        '3,1,480,"goal, league",terms,"goal (0.31)",480,0.74,mentions goal?,0.81\r\n',
    ),
)
async def get_node_names(
    request: Request, service: ServiceDep, tenant: Tenant, naming_id: NamingId, form: Form[Any]
) -> Response:
    """The names of nodes with the evidence and the question of each."""
    return await NAMINGS.table(request, service, tenant, naming_id, form, results.NAMES)
