"""The OpenAPI document: generated from the routes, tidied, kept in `openapi/openapi.json`.

`text` is the committed document. The service serves the committed one, which a test keeps
equal to the routes, with the methods of its plug-ins: reading it takes a fortieth of the time that
making it takes. The page at
`/docs` (`app/dashboard/docs.html`) shows it.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, get_args

from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel

from app.http import problems
from app.http.compression import takes_gzip
from app.http.streaming import whole
from app.openapi import bases, form_paths, method_schemas, operations, shared

VERSION = "1"
DESCRIPTION = """Hierarchies as a service: logits, features or counts in; trees, evaluations, \
predictions and pictures out.

Upload a `dataset`, run a method on it as a `job`, read the resulting `tree`. Every error is a \
problem of RFC 9457. Lists are paged. A POST with an `Idempotency-Key` can be repeated safely.
"""
TAGS = [
    {"name": "methods", "description": "The methods that can be run."},
    {"name": "datasets", "description": "Uploaded arrays and tables."},
    {"name": "jobs", "description": "Runs of methods."},
    {"name": "trees", "description": "Results: hierarchies, and partitions as trees of depth one."},
    {"name": "evaluations", "description": "Metrics of a tree."},
    {"name": "comparisons", "description": "Several methods on the same inputs, in one table."},
    {"name": "models", "description": "Fitted models, as files."},
    {"name": "predictions", "description": "New rows placed in a tree."},
    {"name": "attachments", "description": "What the points of a tree are: items, beside it."},
    {"name": "heatmaps", "description": "Clusters of a tree as the rows of a matrix."},
    {"name": "maps", "description": "The points of a tree in the plane."},
    {"name": "figures", "description": "What a client has drawn, as a file for print."},
    {
        "name": "service",
        "description": "The version of the service, and what the caller uses of it.",
    },
    {"name": "operators", "description": "For whoever runs the service."},
    {"name": "health", "description": "Whether the service is up."},
]
_JSON = "application/json"

PATH = Path(__file__).parents[2] / "openapi" / "openapi.json"
OPENAPI_PATH = "/openapi.json"


def install(app: FastAPI, root_path: str = "") -> None:
    """Make `app.openapi` return the document: the committed one, else, where the package was
    installed without it, one made from the routes; with the methods of plug-ins.
    """

    @cache
    def document() -> dict[str, Any]:
        if PATH.is_file():
            made: dict[str, Any] = {
                **json.loads(PATH.read_bytes()),
                "servers": _servers(root_path),
            }
        else:
            made = _document_of(app, root_path)
        method_schemas.extend(made)
        return made

    @cache
    def content(packed: bool) -> bytes:
        plain = json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()
        return gzip.compress(plain, mtime=0) if packed else plain

    async def serve(request: Request) -> Response:
        packed = takes_gzip(request.headers)
        headers = {"Vary": "Accept-Encoding", **({"Content-Encoding": "gzip"} if packed else {})}
        return whole(await to_thread.run_sync(content, packed), "application/json", headers)

    app.openapi = document  # type: ignore[method-assign]
    # Not FastAPI's own route, which writes the document anew for each request, on the event loop.
    app.add_route(OPENAPI_PATH, serve, include_in_schema=False)


def text(app: FastAPI) -> str:
    """The document of `app` in its committed form, made from the routes."""
    document = _document_of(app, root_path="")
    for part in (document["paths"], document["components"]["schemas"]):
        entries = sorted(part.items())
        part.clear()
        part.update(entries)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _servers(root_path: str) -> list[dict[str, str]]:
    return [{"url": root_path or "/"}]


def _document_of(app: FastAPI, root_path: str) -> dict[str, Any]:
    document = get_openapi(
        title="Umbel",
        version=VERSION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=_servers(root_path),
    )
    document["security"] = operations.KEY_OR_NONE
    problems.add_schema(document)
    _restore_examples(document, app)
    # Until here its parts belong to the routes.
    document = dict(json.loads(json.dumps(document)))
    for path in document["paths"].values():
        for operation in path.values():
            operations.tidy(operation)
    form_paths.write_once(document)
    _restore_schema_examples(document)
    bases.join(document)
    method_schemas.add(document)
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _keep_used_tags(document)
    shared.share(document)
    return document


def _restore_examples(document: dict[str, Any], app: FastAPI) -> None:
    """Restore each response's example as written, since FastAPI drops every null in it.

    The example is that of the route, else that of the response's model.
    """
    for route in iter_route_contexts(app.routes):
        if not getattr(route, "include_in_schema", False):
            continue
        for method in route.methods or ():
            responses = document["paths"][route.path_format][method.lower()]["responses"]
            _put(responses, route.status_code or 200, _JSON, _examples_of(route.response_model))
            for status, response in route.responses.items():
                _put(responses, status, _JSON, _examples_of(response.get("model")))
                for media, content in response.get("content", {}).items():
                    _put(responses, status, media, content)


def _restore_schema_examples(document: dict[str, Any]) -> None:
    """Restore the examples of schemas, in which FastAPI drops every null, too."""
    schemas = document["components"]["schemas"]
    models = list(BaseModel.__subclasses__())
    while models:
        model = models.pop()
        models += model.__subclasses__()
        extra = model.model_config.get("json_schema_extra")
        schema = schemas.get(model.__name__, {})
        if isinstance(extra, dict) and "examples" in extra and "examples" in schema:
            schema["examples"] = extra["examples"]


def _put(responses: dict[str, Any], status: int | str, media: str, source: dict[str, Any]) -> None:
    examples = {key: source[key] for key in ("example", "examples") if key in source}
    content = responses.get(str(status), {}).get("content", {}).get(media)
    if examples and content is not None:
        for key in ("example", "examples"):  # Never both.
            content.pop(key, None)
        content.update(examples)


def _examples_of(model: Any) -> dict[str, Any]:
    """The first example in the configuration of a model, as a response's `example`; of a union
    that of its first model.
    """
    model = next(iter(get_args(model)), model)
    extra = getattr(model, "model_config", {}).get("json_schema_extra")
    examples = extra.get("examples") if isinstance(extra, dict) else None
    return {"example": examples[0]} if examples else {}


def _keep_used_tags(document: dict[str, Any]) -> None:
    used = {
        tag
        for path in document["paths"].values()
        for operation in path.values()
        for tag in operation.get("tags", ())
    }
    document["tags"] = [tag for tag in document["tags"] if tag["name"] in used]
