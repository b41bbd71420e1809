"""Query parameters: those that a route does not have are refused."""

from __future__ import annotations

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.http import near
from app.http.pointers import QUERY
from app.http.problems import MOST_ERRORS, Refused
from models.errors import shown


async def refuse_unknown(request: Request) -> None:
    """A dependency of every route. Raises Refused `invalid-request`, which lists what there is."""
    if not request.scope["query_string"]:
        return
    accepted = names(request.scope["route"])
    unknown = [name for name in request.query_params if name not in accepted][:MOST_ERRORS]
    if not unknown:
        return
    there_are = f"it takes {', '.join(accepted)}" if accepted else "it takes none"
    details: list[str] = []
    for name in unknown:
        meant = near.meant(name, accepted) if len(details) < near.MOST else ""
        details.append(f"This path has no query parameter {shown(name)}; {there_are}.{meant}")
    entries = [
        {"detail": detail, "pointer": [QUERY, name[:80]]}
        for name, detail in zip(unknown, details, strict=True)
    ]
    raise Refused("invalid-request", details[0], errors=entries)


def names(route: APIRoute) -> list[str]:
    """The query parameters of a route and of what it depends on."""
    accepted: list[str] = []
    waiting = [route.dependant]
    for dependant in waiting:
        waiting += dependant.dependencies
        for field in dependant.query_params:
            kind = field.field_info.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                accepted += [inner.alias or name for name, inner in kind.model_fields.items()]
            else:
                accepted.append(field.alias)
    return list(dict.fromkeys(accepted))


ONLY_KNOWN = [Depends(refuse_unknown)]
"""The dependencies of a router whose routes refuse query parameters that they do not have."""
