"""What items are ranked by: a row of the tree's fit for each of its points, if it is still there.

Blocks (Redis, the store); call it in a thread.
"""

from __future__ import annotations

from app.creation.fit_rows import fit_rows
from app.http.dependencies import Service
from workers.artifacts.trees import TreeRecord
from workers.kinds.attach import AttachmentOptions
from workers.model import sibling


def options_of(service: Service, tree: TreeRecord) -> AttachmentOptions:
    """Options of the job; where there is nothing to rank by, `unranked` is the reason."""
    fit = fit_rows(service, tree)
    role, why = fit.role, ""
    if role is None:
        why = "the tree was made without features, documents or logits with a row for each point."
    elif any(
        each != "inline" and service.datasets.get(tree.tenant, each) is None for each in fit.inputs
    ):
        role, why = None, f"the {role} of the fit were deleted."
    steps = [] if role in (None, "logits") else fit.preprocess
    return AttachmentOptions(
        tree=tree.id,
        of_fit=role,
        preprocess=tuple(steps),
        unranked=why,
        image_shape=_image_shape(service, tree),
    )


def _image_shape(service: Service, tree: TreeRecord) -> tuple[int, ...] | None:
    """The parameter of the fit that says which images its rows are."""
    job = service.ledger.get(tree.tenant, sibling(tree.id, "job"))
    shape = None if job is None or job.kind != "fit" else job.params.get("image_shape")
    return None if shape is None else tuple(shape)
