"""What routes ask for: the service's parts, the caller's tenant, ids, keys of idempotency."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Path, Request, Security
from fastapi.security import HTTPBearer
from redis import Redis
from starlette.convertors import Convertor, register_url_convertor

from app.http.addresses import path_of
from app.http.idempotency import Once
from app.http.job_ends import Wakes
from app.http.problems import not_found
from app.settings import Settings
from workers.artifacts.datasets import Datasets
from workers.artifacts.trees import Trees
from workers.artifacts.uploads import Parts
from workers.jobs.ledger import Ledger
from workers.stores.objects.blobs import Blobs


@dataclass(frozen=True)
class Service:
    """The parts below the API; threads may share them and every call blocks."""

    settings: Settings
    blobs: Blobs
    redis: Redis
    ledger: Ledger
    datasets: Datasets
    parts: Parts
    trees: Trees
    wakes: Wakes


async def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A key of the service; not needed where none is configured.",
)


async def _tenant(request: Request, _: Annotated[object, Security(_bearer)] = None) -> str:
    # `app.http.security.Gate` has checked the key before any route is looked for.
    tenant: str | None = request.scope["state"]["tenant"]
    if tenant is None:
        raise RuntimeError(f"{request.scope['path']} is open, yet its route asks for a tenant")
    return tenant


async def _request_id(request: Request) -> str:
    found: str = request.scope["state"]["request_id"]
    return found


ServiceDep = Annotated[Service, Depends(_service)]
Tenant = Annotated[str, Depends(_tenant)]
RequestId = Annotated[str, Depends(_request_id)]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="The same key and body give the first answer again for 24 hours.",
        examples=["a1b2c3"],
    ),
]


async def _once(
    request: Request, service: ServiceDep, tenant: Tenant, key: IdempotencyKey = None
) -> Once:
    return Once(
        service.redis,
        service.settings.key_prefix,
        tenant,
        f"{request.method} {path_of(request.scope)}",
        key,
        service.settings.idempotency_s,
    )


OnceDep = Annotated[Once, Depends(_once)]


class _Stem(Convertor[str]):
    """`{tree_id:stem}`: a part of a path up to its first dot, so that a suffix may have dots."""

    regex = "[^/.]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("stem", _Stem())

_SUFFIX = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")


def is_id(text: object, *prefixes: str) -> bool:
    """Whether `text` has the shape of an id with one of the prefixes (`ds`, `job`, `tr`, `md`)."""
    if not isinstance(text, str):
        return False
    prefix, _, suffix = text.partition("_")
    return prefix in prefixes and _SUFFIX.fullmatch(suffix) is not None


async def _dataset_id(
    dataset_id: Annotated[str, Path(description="A dataset.", examples=["ds_" + "0" * 26])],
) -> str:
    if not is_id(dataset_id, "ds"):
        raise not_found("dataset", dataset_id)
    return dataset_id


async def _job_id(
    job_id: Annotated[str, Path(description="A job.", examples=["job_" + "0" * 26])],
) -> str:
    if not is_id(job_id, "job"):
        raise not_found("job", job_id)
    return job_id


async def _comparison_id(
    comparison_id: Annotated[str, Path(description="A comparison.", examples=["cmp_" + "0" * 26])],
) -> str:
    if not is_id(comparison_id, "cmp"):
        raise not_found("comparison", comparison_id)
    return comparison_id


async def _tree_id(
    tree_id: Annotated[str, Path(description="A tree.", examples=["tr_" + "0" * 26])],
) -> str:
    if not is_id(tree_id, "tr"):
        raise not_found("tree", tree_id)
    return tree_id


async def _upload_id(
    upload_id: Annotated[str, Path(description="An upload.", examples=["up_" + "0" * 26])],
) -> str:
    if not is_id(upload_id, "up"):
        raise not_found("upload", upload_id)
    return upload_id


DatasetId = Annotated[str, Depends(_dataset_id)]
UploadId = Annotated[str, Depends(_upload_id)]


async def _model_id(
    model_id: Annotated[str, Path(description="A model.", examples=["md_" + "0" * 26])],
) -> str:
    if not is_id(model_id, "md"):
        raise not_found("model", model_id)
    return model_id


ModelId = Annotated[str, Depends(_model_id)]
ComparisonId = Annotated[str, Depends(_comparison_id)]
JobId = Annotated[str, Depends(_job_id)]
TreeId = Annotated[str, Depends(_tree_id)]
