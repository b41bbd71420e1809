"""Transformations: rows transformed by a model, as a new dataset."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.creation.creation import Draft, Headers, SubmissionDep, Work, mount_create
from app.creation.fields import Inputs
from app.creation.inputs import resolve
from app.http.bodies import StrictRoute
from app.http.dependencies import ModelId, Service
from app.http.queries import ONLY_KNOWN
from app.http.stored import model_tree_record
from app.resources.datasets.made import made_dataset
from app.resources.datasets.routes import LOCATION
from app.resources.datasets.schemas import EXAMPLE, DatasetBody
from app.resources.datasets.submission import require_room
from app.resources.models.transformations.schemas import TransformationRequest
from models.errors import UsageError
from models.registry import known, methods
from workers.artifacts.trees import TreeRecord
from workers.kinds.transform import TransformationOptions
from workers.model import Record

router = APIRouter(tags=["models"], route_class=StrictRoute, dependencies=ONLY_KNOWN)

_SUFFIX = ", transformed"
_LONGEST = 1000
_EXAMPLE = {
    **EXAMPLE,
    "name": "train, transformed",
    "role": "features",
    "shape": [50000, 9],
    "bytes": 1800128,
}


@mount_create(
    router,
    "/v1/models/{model_id}/transformations",
    "transform",
    operation_id="transform_with_model",
    summary="Transform rows with a model",
    ended={
        "model": DatasetBody,
        "description": "The transformed rows are a new dataset.",
        "headers": LOCATION,
        "content": {"application/json": {"example": _EXAMPLE}},
    },
)
async def transform_with_model(
    submission: SubmissionDep,
    model_id: ModelId,
    body: TransformationRequest,
) -> Work:
    """A new dataset with the rows, given as inputs that the model takes, under the
    transformation that its method learned (`outputs` in the catalogue has `transformation`). They
    are prepared as the fit's rows were. The dataset is npy or, where rows have ids, an
    Arrow file with `id` and `features` (a vector a row); float32 if the rows
    are. It expires with the job, if at all, and stays when job or model are removed. What takes
    longer becomes a job whose `result.dataset` is the dataset's id.
    """
    service, tenant = submission.service, submission.tenant
    record = await model_tree_record(service, tenant, model_id)
    _require_transformation(model_id, record.method)

    def draft() -> Draft:
        inputs = resolve(service, tenant, body.inputs)
        require_room(service, 0)
        return Draft(
            TransformationOptions(model=model_id),
            record.method,
            inputs.refs,
            inputs.inline,
            name=_name(service, record, body.inputs),
        )

    async def result(done: Record, headers: Headers) -> Response:
        return await made_dataset(submission, done, headers)

    return Work(draft, result)


def _require_transformation(model_id: str, method_id: str) -> None:
    used = known(method_id)
    if used is None or not used.transforms:
        transforming = ", ".join(name for name, method in methods().items() if method.transforms)
        raise UsageError(
            f"Model {model_id!r} of method {method_id!r} has no transformation of rows; methods "
            f"that learn one are {transforming}.",
            code="cannot-transform",
        )


def _name(service: Service, model: TreeRecord, inputs: Inputs) -> str | None:
    """The name of the transformed rows: after their dataset, else after the model; None if neither
    has a name. Blocks."""
    for given in inputs.values():
        dataset = service.datasets.get(model.tenant, given) if isinstance(given, str) else None
        if dataset is not None and dataset.name:
            return _named_after(dataset.name)
    return _named_after(model.name) if model.name else None


def _named_after(name: str) -> str:
    return name[: _LONGEST - len(_SUFFIX)] + _SUFFIX
