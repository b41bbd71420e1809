"""The dependencies of routes: the service, the caller and its tenant, ids of the path, idempotency
keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Security
from fastapi.security import HTTPBearer
from redis import Redis
from starlette.convertors import Convertor, register_url_convertor

from app.http.addresses import path_of
from app.http.auditing import Audit
from app.http.events import Feeds
from app.http.idempotency import Once, Reservations
from app.http.job_ends import JobEnds
from app.http.keyring import Access, Keyring
from app.http.problems import Refused, not_found
from app.http.rates import Rates
from app.http.reached import Reached
from app.http.sharing import SharedLinks
from app.http.sign_in.people import People
from app.settings import Settings
from workers.artifacts.aliases import Aliases
from workers.artifacts.annotations import Annotations
from workers.artifacts.datasets import Datasets
from workers.artifacts.editions import Editions
from workers.artifacts.shares import Shares
from workers.artifacts.trees import Trees
from workers.artifacts.uploads import Parts
from workers.embedding.meaning import Meaning
from workers.jobs.ledger import Ledger
from workers.stores.objects.blobs import Blobs
from workers.stores.redis.usage import Usage


@dataclass(frozen=True)
class Service:
    """The parts below the API; threads may share them and every call blocks."""

    settings: Settings
    blobs: Blobs
    redis: Redis
    reservations: Reservations
    ledger: Ledger
    datasets: Datasets
    parts: Parts
    trees: Trees
    annotations: Annotations
    editions: Editions
    shares: Shares
    aliases: Aliases
    links: SharedLinks
    job_ends: JobEnds
    feeds: Feeds
    keyring: Keyring
    usage: Usage
    rates: Rates
    audit: Audit
    reached: Reached
    meaning: Meaning
    people: People | None

    def ended(self, access: Access) -> bool:
        """Whether a caller's key or session is not valid any more."""
        signed_out = self.people is not None and self.people.ended(access)
        return signed_out or self.keyring.ended(access)


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A key of the service; not needed if no keys are configured.",
)


async def _tenant(request: Request, _: Annotated[object, Security(_bearer)] = None) -> str:
    # `app.http.security.Gate` has checked the key before routing.
    tenant: str | None = request.scope["state"]["tenant"]
    if tenant is None:
        raise RuntimeError(f"{request.scope['path']} is open, yet its route depends on a tenant")
    return tenant


async def _caller(request: Request, tenant: Annotated[str, Depends(_tenant)]) -> Access:
    access: Access = request.scope["state"]["access"]
    return access


async def _request_id(request: Request) -> str:
    request_id: str = request.scope["state"]["request_id"]
    return request_id


ServiceDep = Annotated[Service, Depends(_service)]
Tenant = Annotated[str, Depends(_tenant)]
Caller = Annotated[Access, Depends(_caller)]
RequestId = Annotated[str, Depends(_request_id)]


async def _operator(service: ServiceDep, caller: Caller) -> Access:
    """Raises Refused `forbidden` for keys that are not an administrator's: what tenants share is
    not theirs."""
    if caller.role == "admin" and (caller.key is not None or service.keyring.keyless):
        return caller
    raise Refused(
        "forbidden",
        "Pauses and workers concern all tenants: use a key of the role `admin` (`umbel keys new "
        "--role admin`).",
    )


Operator = Annotated[Access, Depends(_operator)]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="The same key and body get the first answer again for 24 hours.",
        examples=["a1b2c3"],
    ),
]


async def _once(
    request: Request, service: ServiceDep, caller: Caller, key: IdempotencyKey = None
) -> Once:
    # A limited key must not get what another one was answered.
    apart = "" if caller.reach is None else f" {caller.key_id}"
    route = f"{request.method} {path_of(request.scope)}{apart}"
    return service.reservations.once(caller.tenant, route, key)


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
_BESIDE = frozenset({"ed", "sh"})
"""The prefixes of ids that begin with their tree's id: they are twice as long."""


def is_id(text: object, *prefixes: str) -> bool:
    """Whether `text` has the shape of an id with one of the prefixes (`ds`, `job`, `tr`, `md`)."""
    if not isinstance(text, str):
        return False
    prefix, _, suffix = text.partition("_")
    n_parts = 2 if prefix in _BESIDE else 1
    parts = [suffix[start : start + 26] for start in range(0, len(suffix), 26)]
    return prefix in prefixes and len(parts) == n_parts and all(map(_SUFFIX.fullmatch, parts))


_NAMED = frozenset({"tree", "model", "job"})
_OR_ALIAS = ", by its id or by `@` and an alias"


def checked(what: str, prefix: str) -> Any:
    """An id in the path as a dependency. Raises Refused `not-found` for one of another form."""
    name = f"{what}_id"
    article = "An" if what[0] in "aeiou" else "A"
    in_path = Path(
        alias=name,
        description=f"{article} {what}{_OR_ALIAS if what in _NAMED else ''}.",
        examples=[f"{prefix}_{'0' * (52 if prefix in _BESIDE else 26)}"],
    )

    async def checked(text: str = in_path) -> str:
        if not is_id(text, prefix):
            raise not_found(what, text)
        return text

    return Depends(checked)


DatasetId = Annotated[str, checked("dataset", "ds")]
UploadId = Annotated[str, checked("upload", "up")]
JobId = Annotated[str, checked("job", "job")]
TreeId = Annotated[str, checked("tree", "tr")]
ModelId = Annotated[str, checked("model", "md")]
EditionId = Annotated[str, checked("edition", "ed")]
ShareId = Annotated[str, checked("share", "sh")]


NodeId = Annotated[int, Path(ge=0, le=2**31 - 1, description="A node's id.", examples=[0])]
