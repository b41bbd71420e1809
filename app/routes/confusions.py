"""Which classes of a tree are taken for which."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.forms.coloring import by_labels
from app.forms.confusions import FORMS, Confused, Source, model_confusions
from app.forms.form import Form, mount, respond
from app.forms.stored import record_of, tree_of
from app.http.dependencies import ServiceDep, Tenant, TreeId
from app.http.etags import etag_of
from app.http.problems import ANYWHERE, Refused, responses
from app.http.streaming import turn
from app.schemas.confusions import ConfusionsBody, ConfusionsQuery
from models import registry
from models.confusions import of_labels
from models.tree.walk import require_node

router = APIRouter(prefix="/v1/trees", tags=["trees"])

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ConfusionsBody,
        "description": "The pairs of classes, those with the largest mass first.",
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "node,name,taken_for,taken_for_name,mass,share,cost,meet,height\r\n"
                "3,Danish,4,Norwegian,7,0.07,0.05,1,2\r\n",
            },
            "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
        },
    },
    304: {"description": "The client has the current version."},
    **responses(
        *ANYWHERE,
        *("not-found", "not-acceptable", "invalid-request", "wrong-shape", "too-large"),
        "unusable-input",
    ),
}


@mount(
    router,
    "/{tree_id}/confusions",
    FORMS,
    summary="Which classes are taken for which",
    responses=_DOCUMENTED,
)
async def get_confusions(
    request: Request,
    service: ServiceDep,
    tenant: Tenant,
    tree_id: TreeId,
    form: Form[Confused],
    query: Annotated[ConfusionsQuery, Query()],
) -> Response:
    """With `labels`, the rows of each class that lie in the leaf of another; without, what the
    method found by itself: of `l2h` the softmax probability that rows of one class, whose largest
    logit it is, give to another, added up; `share` is then its mean, the expected confusion. Pairs
    are ordered by mass, classes as in the tree; `nodes` adds up the pairs that meet at each node.
    CSV has all pairs, the matrix (row: the class, column: what it is taken for) all classes in the
    order of `classes`.
    """
    record = await record_of(service, tenant, tree_id)

    def load() -> tuple[Confused, dict[str, str]]:
        tree = tree_of(service, tenant, tree_id)
        warnings: tuple[str, ...] = ()
        if query.labels is not None:
            categories = by_labels(service, tenant, tree_id, tree, query.labels, "labels")
            assert categories.labels is not None
            confusions, warnings = of_labels(tree, categories.labels), categories.warnings
        else:
            known = model_confusions(service, tenant, tree_id, tree)
            if known is None:
                confusing = [name for name, each in registry.methods().items() if each.confuses]
                if record.method in confusing:
                    raise Refused(
                        "not-found",
                        f"This tree of {record.method} was fitted without what shows which classes "
                        "are taken for which: by an earlier version, or from one class a row. Fit "
                        "it again, or give `labels`, a dataset with the class of each row.",
                    )
                raise Refused(
                    "not-found",
                    f"Without labels, only trees of {', '.join(confusing)} know which classes are "
                    "taken for which; give `labels`, a dataset with the class of each row.",
                )
            confusions, warnings = known, known.warnings
        if query.root:
            require_node(tree, query.root)
            confusions = confusions.under(tree, query.root)
        source: Source = "logits" if query.labels is None else "labels"
        return Confused(tree, confusions, source, query.limit, warnings), {}

    # A dataset never changes, but it may be removed.
    etag = None if query.labels else etag_of(f"{record.etag} {form.suffix} {query}".encode())
    return await respond(request, form, load, turn(record, "export"), etag=etag)
