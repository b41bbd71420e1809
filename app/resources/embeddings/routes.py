"""Embeddings: texts or images as vectors, by the operator's endpoint, as a new dataset."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.creation.creation import Draft, Headers, SubmissionDep, Work, mount_create
from app.creation.inputs import resolve
from app.http.bodies import StrictRoute
from app.http.problems import refused_at
from app.http.queries import ONLY_KNOWN
from app.resources.datasets.made import made_dataset
from app.resources.datasets.routes import LOCATION
from app.resources.datasets.schemas import EXAMPLE, DatasetBody
from app.resources.datasets.submission import require_room
from app.resources.embeddings.schemas import EmbeddingRequest
from workers.kinds.embed import IMAGES, TEXTS, EmbeddingOptions, embedding_models
from workers.model import Record

router = APIRouter(tags=["datasets"], route_class=StrictRoute, dependencies=ONLY_KNOWN)

_SUFFIX = ", embedded"
_EXAMPLE = {
    **EXAMPLE,
    "name": "animals, embedded",
    "role": "features",
    "format": "arrow-file",
    "shape": [1000, 384],
    "bytes": 1600128,
}


@mount_create(
    router,
    "/v1/embeddings",
    "embed",
    operation_id="create_embedding",
    summary="Embed texts or images",
    ended={
        "model": DatasetBody,
        "description": "The vectors are a new dataset.",
        "headers": LOCATION,
        "content": {"application/json": {"example": _EXAMPLE}},
    },
)
async def create_embedding(submission: SubmissionDep, body: EmbeddingRequest) -> Work:
    """A new dataset with a vector for each text or image, by the endpoint or the model that the
    operator has set (`embeds` of `GET /v1/usage`); `result.sent` of the job says what was sent.
    The dataset is a table of `features` (the vectors, float32), `text` and, where there are any,
    `id`, so that it is `features` and `documents` of fits, maps and namings at once. An embedder
    that gives no usable vectors is the problem `not-embedded` of the job.
    """
    service, tenant = submission.service, submission.tenant
    model = embedding_models(service.settings)
    if not any(model.values()):
        raise refused_at(
            "invalid-request",
            "This service has no embedder: its operator sets one by UMBEL_EMBEDDING_MODEL, and "
            "UMBEL_EMBEDDING_URL where it is an endpoint's. Embed the rows yourself and upload the "
            "vectors as features.",
            "inputs",
        )
    if len(body.inputs) != 1 or not body.inputs.keys() <= model.keys():
        detail = f"Either {TEXTS!r} or {IMAGES!r} is embedded, and nothing beside it."
        raise refused_at("wrong-input", detail, "inputs")
    (role,) = body.inputs
    if not model[role]:
        setting = "UMBEL_EMBEDDING_MODEL" if role == TEXTS else "UMBEL_EMBEDDING_IMAGE_MODEL"
        detail = f"The embedder of this service has no model for {role!r}; see {setting}."
        raise refused_at("invalid-request", detail, "inputs", role)

    def draft() -> Draft:
        inputs = resolve(service, tenant, body.inputs)
        require_room(service, 0)
        return Draft(
            EmbeddingOptions(),
            inputs=inputs.refs,
            inline=inputs.inline,
            name=inputs.names[role][:900] + _SUFFIX if role in inputs.names else None,
        )

    async def result(done: Record, headers: Headers) -> Response:
        return await made_dataset(submission, done, headers)

    return Work(draft, result)
