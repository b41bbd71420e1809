"""Attachments, calibrations, comparisons, drifts, heatmaps, maps, namings: jobs with ids and lists
of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Query, Request, Response

from app.creation.creation import OF_TREE, Endpoint, mount_create
from app.creation.lists import Filters, ReadList, mount_list
from app.creation.named_schemas import NamedJobBody
from app.http import threads
from app.http.dependencies import Service, ServiceDep, Tenant, TreeId, checked, is_id
from app.http.etags import IfMatch, answer, body_etag, etag_of, require_match
from app.http.forms import Form, respond
from app.http.pointers import QUERY
from app.http.problems import Refused, not_found, refused_at, responses
from app.http.stored import record_of
from app.http.streaming import Turn
from app.http.tables import mapped
from models.errors import shown
from workers.kinds.kind import NamedKind
from workers.kinds.registry import kind_of
from workers.model import Record, Status, sibling
from workers.stores.redis.pages import Listing

if TYPE_CHECKING:
    import pyarrow as pa

Body = TypeVar("Body", bound=NamedJobBody)


_Status = Annotated[Status | None, Query(description="Only those with this status.")]


async def _with_status(status: _Status = None) -> Filters:
    return {"status": status}


OfTreeQuery = Annotated[
    str | None,
    Query(
        max_length=100,
        description="Only what was made for this tree, also if it has been removed.",
        examples=["tr_01kamjx5w0ahwbcuvh3mqsx4fb"],
    ),
]


async def _with_tree(
    tree: OfTreeQuery = None,
    status: _Status = None,
) -> Filters:
    return {"tree": tree, "status": status}


async def _of_this_tree(
    service: ServiceDep, tenant: Tenant, tree_id: TreeId, status: _Status = None
) -> Filters:
    """Raises Refused `not-found` for the tree."""
    await record_of(service, tenant, tree_id)
    return {"tree": tree_id, "status": status}


@dataclass(frozen=True, slots=True)
class Named:
    """The jobs of one kind, each with its own id and address.

    kind_name : of the job, which is also what the job has as its method.
    """

    kind_name: str

    @property
    def kind(self) -> NamedKind[Any]:
        found = kind_of(self.kind_name)
        assert isinstance(found, NamedKind)
        return found

    @property
    def noun(self) -> str:
        """What one is called; the list of them is at `/v1/<noun>s`."""
        return self.kind.noun

    @property
    def path(self) -> str:
        return f"/v1/{self.noun}s"

    @property
    def checked_id(self) -> Any:
        """Checks the id of one in a path."""
        return checked(self.noun, self.kind.prefix)

    def record(self, service: Service, tenant: str, own_id: str) -> Record | None:
        """The job of one; None if there is none. Blocks."""
        if not is_id(own_id, self.kind.prefix):
            return None
        record = service.ledger.get(tenant, sibling(own_id, "job"))
        return record if record is not None and record.kind == self.kind_name else None

    async def find(self, service: Service, tenant: str, own_id: str) -> Record:
        """Raises Refused `not-found`."""
        record = await threads.run_sync(self.record, service, tenant, own_id)
        if record is None:
            raise not_found(self.noun, own_id)
        return record

    async def succeeded(self, service: Service, tenant: str, own_id: str) -> Record:
        """Raises Refused `not-found`, and `conflict` for one without results."""
        record = await self.find(service, tenant, own_id)
        if record.status != "succeeded":
            raise Refused(
                "conflict",
                f"{self.noun.capitalize()} {own_id!r} is {record.status}; it has no results.",
            )
        return record

    def file(self, service: Service, tenant: str, own_id: str, name: str) -> Path:
        """A file that it left. Blocks. Raises Refused `not-found`."""
        path = service.trees.file(tenant, own_id, name)
        if path is None:
            raise not_found(self.noun, own_id)
        return path

    def require_of_tree(
        self, service: Service, tenant: str, own_id: str, tree_id: str, *pointer: str
    ) -> None:
        """Blocks. Raises Refused, with the pointer, for one that is not there, has not succeeded,
        or is of another tree."""
        record, noun = self.record(service, tenant, own_id), self.noun
        if record is None:
            raise refused_at("unknown-input", f"There is no {noun} {shown(own_id)}.", *pointer)
        if record.status != "succeeded" or record.result is None:
            raise refused_at(
                "wrong-input",
                f"{noun.capitalize()} {own_id!r} is {record.status}; it must have succeeded.",
                *pointer,
            )
        made_for = record.result["tree"]
        if made_for != tree_id:
            raise refused_at(
                "wrong-input",
                f"{noun.capitalize()} {own_id!r} is of tree {made_for!r}, not of {tree_id!r}.",
                *pointer,
            )


@dataclass(frozen=True, slots=True)
class NamedJobs(Named, Generic[Body]):
    """The same, with their list.

    body : the state of one over the wire. of_tree : whether each is of one tree, by which the list
    is filtered.
    """

    body: type[Body]
    of_tree: bool = True

    async def table(
        self,
        request: Request,
        service: Service,
        tenant: str,
        own_id: str,
        form: Form[pa.Table],
        name: str,
    ) -> Response:
        """A table that it left, which never changes. Raises Refused as `succeeded` and `file`."""
        await self.succeeded(service, tenant, own_id)

        def load() -> tuple[pa.Table, dict[str, str]]:
            return mapped(self.file(service, tenant, own_id, name)), {}

        etag = etag_of(f"{own_id} {name} {form.suffix}".encode())
        return await respond(request, form, load, Turn("export", waits=False), etag=etag)

    def create(
        self,
        router: APIRouter,
        path: str,
        example: dict[str, Any],
        *,
        operation_id: str,
        summary: str,
        refusals: tuple[str, ...] = (),
    ) -> Callable[[Endpoint], Endpoint]:
        """A decorator: the POST that makes one for a tree; see `mount_create`."""
        return mount_create(
            router,
            path,
            self.kind_name,
            operation_id=operation_id,
            summary=summary,
            ended={"content": {"application/json": {"example": example}}},
            resource=self,
            response_model=self.body,
            refusals=(*OF_TREE, *refusals),
        )

    def mount_get(self, router: APIRouter, example: dict[str, Any], description: str) -> None:
        """Add the route of one, for those that have one form."""
        own_id_of = self.checked_id

        @router.get(
            f"{self.path}/{{{self.noun}_id}}".removeprefix(router.prefix),
            operation_id=f"get_{self.noun}",
            summary=f"One {self.noun}",
            description=description,
            response_model=self.body,
            responses={
                200: {"content": {"application/json": {"example": example}}},
                304: {"description": "Unchanged since the ETag in If-None-Match."},
                **responses("unauthenticated", "forbidden", "not-found", "unavailable"),
            },
        )
        async def get(
            request: Request, service: ServiceDep, tenant: Tenant, own_id: str = own_id_of
        ) -> Response:
            return answer(request, self.body.of(await self.find(service, tenant, own_id)))

    def mount_of_tree(self, router: APIRouter, example: dict[str, Any]) -> None:
        """Add the route of the list of one tree. The document has it once, as the list of all with
        the filter `tree`."""
        self._mount_list(
            router,
            f"/v1/trees/{{tree_id}}/{self.noun}s",
            example,
            _of_this_tree,
            operation_id=f"list_{self.noun}s_of_tree",
            is_documented=False,
            refusals=("not-found",),
            description=f"The {self.noun}s of the tree, with those that are being made and that "
            "failed. They share names and tags with their jobs (`PATCH /v1/jobs/{job_id}`).",
        )

    def _mount_list(
        self,
        router: APIRouter,
        path: str,
        example: dict[str, Any],
        only: Callable[..., Awaitable[Filters]],
        **documented: Any,
    ) -> None:
        mount_list(
            router,
            path.removeprefix(router.prefix),
            self.noun,
            self.body,
            self.body.of,
            example,
            self._listing,
            only=only,
            **documented,
        )

    def mount(
        self,
        router: APIRouter,
        example: dict[str, Any],
        etags: Callable[[Body], list[str]] = lambda body: [body_etag(body)],
    ) -> None:
        """Add the routes of the list and of removal.

        etags : those that one has now, in its forms.
        """
        own_id_of = self.checked_id
        self._mount_list(
            router,
            self.path,
            example,
            _with_tree if self.of_tree else _with_status,
            description=f"One page of the caller's {self.noun}s. They share names and tags with "
            "their jobs (`PATCH /v1/jobs/{job_id}`).",
        )

        @router.delete(
            f"{self.path}/{{{self.noun}_id}}".removeprefix(router.prefix),
            operation_id=f"delete_{self.noun}",
            summary=f"Remove {'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}",
            description=f"Removes the {self.noun} and its job, which is cancelled first if it is "
            "running. What was made with it stays.",
            status_code=204,
            responses={
                204: {"description": f"The {self.noun} was removed."},
                **responses(
                    "unauthenticated",
                    "forbidden",
                    "not-found",
                    "precondition-failed",
                    "unavailable",
                ),
            },
        )
        async def delete(
            service: ServiceDep,
            tenant: Tenant,
            own_id: str = own_id_of,
            if_match: IfMatch = None,
        ) -> Response:
            body = self.body.of(await self.find(service, tenant, own_id))
            if if_match is not None:
                require_match(if_match, *etags(body))
            await threads.run_sync(service.ledger.delete, tenant, body.job)
            return Response(status_code=204)

    def _listing(self, service: Service) -> ReadList[Record]:
        def read(tenant: str, *, tree: str | None = None, **filters: Any) -> Listing[Record]:
            require_tree_id(tree)
            return service.ledger.listing(tenant, method=self.kind_name, tree=tree, **filters)

        return read


def require_tree_id(tree: str | None) -> None:
    """Raises Refused `invalid-request` for what a list cannot be filtered by."""
    if tree is not None and not is_id(tree, "tr"):
        raise refused_at(
            "invalid-request", f"tree {shown(tree)} is not the id of a tree.", QUERY, "tree"
        )
