"""The catalogue of methods."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.http import threads
from app.http.dependencies import Tenant
from app.http.etags import answer
from app.http.late import LateRoute
from app.http.paging import Page, Paging, Words, example_page, having, paging
from app.http.problems import Refused, responses
from app.http.queries import ONLY_KNOWN
from app.resources.methods.schemas import EXAMPLE, MethodBody
from models import registry
from models.errors import UsageError

router = APIRouter(
    prefix="/v1/methods", tags=["methods"], dependencies=ONLY_KNOWN, route_class=LateRoute
)


@router.get(
    "",
    operation_id="list_methods",
    summary="All methods",
    response_model=Page[MethodBody],
    responses={
        200: example_page(EXAMPLE),
        **responses("unauthenticated", "forbidden", "invalid-request"),
    },
)
async def list_methods(
    request: Request,
    response: Response,
    paging: Annotated[Paging, paging("name", limit=200)],
    family: Annotated[
        str | None,
        Query(pattern=r"^[a-z-]{1,60}$", description="Only methods of this family."),
    ] = None,
    q: Words = None,
) -> Response:
    """The catalogue: inputs, parameters and outputs of each method."""
    methods = await threads.run_sync(catalogue)
    page = paging.cut(
        response,
        (
            method
            for method in methods
            if family in (None, method.family)
            and having(q, method.id, method.title, method.description)
        ),
        lambda method: method,
        own=lambda method: method.id,
        name=lambda method: method.id,
    )
    return answer(request, page, headers=dict(response.headers))


@router.get(
    "/{method_id}",
    operation_id="get_method",
    summary="One method",
    response_model=MethodBody,
    responses={
        200: {"content": {"application/json": {"example": EXAMPLE}}},
        **responses("unauthenticated", "forbidden", "not-found", "invalid-request"),
    },
)
async def get_method(request: Request, method_id: str, _: Tenant) -> Response:
    """One entry of the catalogue. 404 names the nearest one."""
    try:
        method = await threads.run_sync(registry.method, method_id)
    except UsageError as error:
        raise Refused("not-found", error.detail) from None
    return answer(request, MethodBody.of(method))


@cache
def catalogue() -> list[MethodBody]:
    """All methods; imports, the first time, the module of each of them."""
    return [MethodBody.of(method) for method in registry.methods().values()]
