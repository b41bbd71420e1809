"""The catalogue of methods."""

from __future__ import annotations

from functools import cache

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from app.http.dependencies import Tenant
from app.http.etags import answer
from app.http.paging import Page, example_page
from app.http.problems import not_found, responses
from app.http.queries import ONLY_KNOWN
from app.resources.methods.schemas import EXAMPLE, MethodBody
from models.registry import known, methods

router = APIRouter(prefix="/v1/methods", tags=["methods"], dependencies=ONLY_KNOWN)


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
async def list_methods(request: Request, _: Tenant) -> Response:
    """The whole catalogue on one page: inputs, parameters and outputs of each method."""
    return answer(request, await to_thread.run_sync(catalogue))


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
    """One entry of the catalogue."""
    method = await to_thread.run_sync(known, method_id)
    if method is None:
        raise not_found("method", method_id)
    return answer(request, MethodBody.of(method))


@cache
def catalogue() -> Page[MethodBody]:
    """All methods; imports, the first time, the module of each of them."""
    return Page[MethodBody](
        items=[MethodBody.of(method) for method in methods().values()], next_cursor=None
    )
